"""What a command has to say, as a value: parts for readers, and keys and values for scripts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any


@dataclass(frozen=True)
class Facts:
    """Names with values, one a line."""

    title: str
    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    """Rows under columns; `right` names those columns whose cells stand at their right edge."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Text:
    """A text that is printed as it is."""

    title: str
    body: str


Part = Facts | Table | Text


@dataclass(frozen=True)
class Answer:
    """The parts, the values of `--json`, and the exit status."""

    parts: tuple[Part, ...]
    data: Mapping[str, Any] = field(default_factory=dict)
    status: int = 0


def finite(value: float) -> float | None:
    """A number of JSON, which has no infinities."""
    return value if isfinite(value) else None
