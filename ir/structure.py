"""The nested containers that a traced function takes and returns, apart from the arrays in them.

structure ::= int                              position in the outputs of a Program, or among the leaves of a call
            | Container(kind, items, keys)     kind: "tuple", "list" or "dict"; keys: of a dict or a named tuple, in order
"""

from __future__ import annotations

import functools
import itertools
from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal as Choice

from eqsat.ir.errors import UsageError


@dataclass(frozen=True)
class Container:
    """A tuple, list or dict of results."""

    kind: Choice["tuple", "list", "dict"]
    items: tuple[Structure, ...]
    keys: tuple[str, ...] = ()


Structure = int | Container


def positions(structure: Structure) -> tuple[int, ...]:
    """The output positions that occur, left to right, with repetitions."""
    if isinstance(structure, int):
        return (structure,)
    return tuple(position for item in structure.items for position in positions(item))


def each_by_itself(structure: Structure) -> Structure:
    """The same containers with a position of its own for each array in them, left to right."""
    numbers = itertools.count()

    def numbered(part: Structure) -> Structure:
        if isinstance(part, int):
            return next(numbers)
        return Container(part.kind, tuple(numbered(item) for item in part.items), part.keys)

    return numbered(structure)


def flatten_result(result: Any, place: Callable[[Any, str], int], where: str = "result") -> Structure:
    """The structure of what a function returned, or takes; `place(leaf, where)` stores a leaf and gives its position.

    Of a named tuple the fields are kept, not the class.  Raises UsageError for dict keys that are no strings; other leaves are judged by
    `place`.
    """
    fields = getattr(result, "_fields", ()) if isinstance(result, tuple) else ()
    if type(result) is tuple or type(result) is list or fields:
        items = tuple(flatten_result(item, place, f"{where}[{k}]") for k, item in enumerate(result))
        return Container("list" if type(result) is list else "tuple", items, fields)
    if type(result) is dict:
        for key in result:
            if type(key) is not str:
                raise UsageError(f"{where}: found the dict key {key!r}, expected strings")
        items = tuple(flatten_result(item, place, f"{where}[{key!r}]") for key, item in result.items())
        return Container("dict", items, tuple(result))
    return place(result, where)


def rebuild_result(structure: Structure, arrays: Sequence[Any]) -> Any:
    """The containers again, filled with the arrays of a Program's outputs; what occurs twice is copied."""
    if isinstance(structure, int):
        return arrays[structure]
    used: set[int] = set()

    def fill(part: Structure) -> Any:
        if isinstance(part, int):
            array = arrays[part].copy() if part in used else arrays[part]
            used.add(part)
            return array
        filled = [fill(item) for item in part.items]
        if part.kind == "dict":
            return dict(zip(part.keys, filled, strict=True))
        if part.keys:
            return named(part.keys)(*filled)
        return tuple(filled) if part.kind == "tuple" else filled

    return fill(structure)


@functools.cache
def named(fields: tuple[str, ...]) -> type[Any]:
    """The class of named tuples with these fields."""
    return namedtuple("Result", fields)  # fields are known only now
