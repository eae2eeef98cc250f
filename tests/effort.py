"""How much the tests try.  The command of the README takes a part of the long lists and of the random cases, so that it ends soon; with
`EQSAT_TESTS=thorough`, as in `.ci/run`, they try all random cases and more of the lists, with `EQSAT_TESTS=all` everything."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")

LEVEL = os.environ.get("EQSAT_TESTS", "")
THOROUGH = LEVEL in ("thorough", "all")
# of tests with more cases than so many one of every so many, and no fewer
MOST_CASES, EVERY = (12, 2) if THOROUGH else (8, 3)

# of tests that take many seconds, of which a shorter one checks the most
thorough = pytest.mark.skipif(not THOROUGH, reason="runs with EQSAT_TESTS=thorough")


def examples(count: int, every: int = 4, least: int = 8) -> int:
    """The number of random cases to try: all, or one of every so many, but no fewer than the least."""
    return count if THOROUGH else max(count // every, min(count, least))


def some(cases: Iterable[T], every: int = 3) -> list[T]:
    """All cases, or the first of every so many.

    Of a product of lists all values come where `every` has no factor in common with the length of the last list.
    """
    return list(cases)[:: 1 if THOROUGH else every]


def left_out(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The cases of long lists that are not tried, always the same: which ones their names say, so that no value of a product of lists is
    left out as a whole."""
    if LEVEL == "all":
        return []
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    found: list[pytest.Item] = []
    for several in cases.values():
        in_any_order = sorted(several, key=lambda item: zlib.crc32(item.nodeid.encode()))
        found += in_any_order[max(MOST_CASES, len(several) // EVERY) :]
    return found
