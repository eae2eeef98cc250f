"""How much the tests try.  The command of the README takes a part of the longest lists and of the random cases, so that it ends soon;
with `EQSAT_TESTS=thorough`, as in `.ci/run`, they try everything."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

import pytest

T = TypeVar("T")

THOROUGH = os.environ.get("EQSAT_TESTS") == "thorough"

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
