"""How tiles are divided: rows and vectors of rows, a few of which are computed together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import TypeVar

from eqsat.ir.index import Var

T = TypeVar("T")
# operations that are begun before the first of them is done
BEGUN = 4
# numbers for all lanes of a vector, and vectors, that are loaded in a cycle
LOADED = 1.5


def pieces_of(lane: Var, lanes: int, again: bool = True) -> Iterator[tuple[int, int]]:
    """(first, width) of full vectors, and then of one that ends with the loop, if iterations may be done again, or of smaller ones.

    What adds to memory may be done again in one block only: there all is read before any of it is written.
    """
    first, width = lane.lo, lanes
    while first <= lane.hi:
        if again and first + width > lane.hi + 1 >= lane.lo + width:
            first = lane.hi + 1 - width
        while first + width > lane.hi + 1:
            width //= 2
        yield first, width
        first += width


def parts_of(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[k : k + size] for k in range(0, len(items), size))


def turned_part_shape(rows: int, pieces: int, sums: int, square: int) -> tuple[int, int]:
    """The shape of parts where so many rows are turned together: whole squares, as many as there are sums for."""
    if rows * pieces <= sums:
        return rows, pieces
    high = min(rows, sums)
    high -= high % square if high > square else 0
    return high, max(1, sums // high)


def part_shape(rows: int, pieces: int, sums: int) -> tuple[int, int]:
    """Of how many rows and vectors of a row parts of a tile are made, so that their sums stay in registers and all parts take least."""
    if _fits(rows, pieces, sums):
        return rows, pieces
    shapes = [(h, w) for h, w in product(range(1, rows + 1), range(1, pieces + 1)) if _fits(h, w, sums)]

    def cycles(shape: tuple[int, int]) -> float:
        high, wide = (Counter(map(len, parts_of(range(extent), size))) for extent, size in zip((rows, pieces), shape, strict=True))
        return sum(high[h] * wide[w] * _step_cycles(h, w) for h, w in product(high, wide))

    return min(shapes, key=lambda shape: (cycles(shape), -shape[0]))


def _fits(high: int, wide: int, sums: int) -> bool:
    """Whether a part finds registers for its sums, a vector of every column and one number of a row: two more than for sums alone."""
    return high * wide <= sums and high * wide + wide <= sums + 2


def _step_cycles(high: int, wide: int) -> float:
    """What a step of a part of a tile takes: multiply-adds, two at a time, or as long as one takes where there are few; or what is loaded
    for rows and columns, three in two cycles; or all that is begun, four at a time, counting included.  Columns come from farther away
    than rows."""
    return max(high * wide / 2, BEGUN, (high + wide) / LOADED, (high * wide + high + wide + 2) / 4) + wide / 4
