"""Small blocks of elements that change places: the vectors of memory that hold them, and which lanes go where.

for j < 9: for i < 7: out[63*n + 7*j + i] = f(a[63*n + 9*i + j])        four vectors of a, four of out
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import NamedTuple

from eqsat.ir.affine import coefficient, distance
from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Const, Index, Var, substitute
from eqsat.ir.loops import For, Load, Store, loads, nested_loops
from eqsat.ir.tensor import scalars
from eqsat.ir.vectorizable import LANES, is_joint

# elements of a block: of fewer there is no use, and of more no registers
FEWEST, MOST = 8, 128
# elements that lie side by side, on the average
LEAST_RUN = 4
# an element of a vector that is loaded is at most so far behind the one before
FARTHEST = 4
# lanes of a vector, at most: LLVM takes forever over some shuffles of 64 bytes
MOST_LANES = 16
# rows and columns of a block that is turned by changing halves, quarters and so on
LEAST_SQUARE = 8
# lanes of a vector, if there are as many elements in a row
LEAST_WIDTH = 4
# the values of the loops of a block in one of its iterations
Point = tuple[int, ...]


class Part(NamedTuple):
    """A vector in memory: how far it begins from where all loops are zero, and how many elements are in it."""

    begin: int
    width: int


# the number of a vector, and the lane in it
Place = tuple[int, int]


@dataclass(frozen=True)
class Shuffle:
    """results  the vectors of what a block stores
    order    the iterations whose elements are their lanes
    sources  those of what it loads, by one of the loads of each buffer that lie in the same ones, from which they are counted
    found    that load for every load, and at which lane of which of the vectors each iteration finds its element"""

    loops: tuple[Var, ...]
    store: Store
    results: tuple[Part, ...]
    order: tuple[tuple[Point, ...], ...]
    sources: Mapping[Load, tuple[Part, ...]]
    found: Mapping[Load, tuple[Load, Mapping[Point, Place]]]

    def joined(self, load: Load) -> int:
        """How many vectors all results are put together from."""
        places = self.found[load][1]
        return sum(len({places[point][0] for point in lanes}) for lanes in self.order)


def block_of(outer: For) -> tuple[tuple[Var, ...], Store] | None:
    """Tile loops in each other, and what the innermost one stores, if that is all."""
    loops = nested_loops(outer)
    store, *others = loops[-1].body
    return (tuple(loop.variable for loop in loops), store) if isinstance(store, Store) and not others else None


def shuffle_of(loops: tuple[Var, ...], store: Store, lanes: int) -> Shuffle | None:
    """How a block is computed in vectors of so many lanes; None where it is too large, or too much of it is alone in memory, where all that
    it loads lies as what it stores, and where it takes parts of complex numbers."""
    points = list(product(*(range(v.lo, v.hi + 1) for v in loops)))
    single = all(load.dtype in LANES for load in loads(store.value))
    if not FEWEST <= len(points) <= MOST or store.combine is not None or not is_joint(store) or not single:
        return None
    offsets = {index: _offsets(index, loops, points) for index in (store.index, *(load.index for load in loads(store.value)))}
    varying = [load for load in loads(store.value) if (own := offsets[load.index]) is None or len(set(own)) > 1]
    stored = offsets[store.index]
    read = [offsets[load.index] for load in varying]
    if stored is None or None in read or len(set(stored)) < len(points) or all(one == stored for one in read):
        return None
    if any(_is_square(load.index, loops) for load in varying):
        return None
    lanes = min(lanes, MOST_LANES)
    results, where = _vectors(stored, lanes, 1)
    point_at = dict(zip(stored, points, strict=True))
    order = tuple(tuple(point_at[offset] for offset in range(part.begin, part.begin + part.width)) for part in results)
    sources: dict[Load, tuple[Part, ...]] = {}
    found: dict[Load, tuple[Load, Mapping[Point, Place]]] = {}
    for base, apart in _together(varying, loops):
        reached = {load: [offset + far for offset in offsets[load.index] or ()] for load, far in apart.items()}
        sources[base], where = _vectors({offset for places in reached.values() for offset in places}, lanes, FARTHEST)
        found |= {load: (base, {point: where[at] for point, at in zip(points, reached[load], strict=True)}) for load in apart}
    alone = any(part.width == 1 for parts in (results, *sources.values()) for part in parts)
    least = LEAST_RUN * max(len(parts) for parts in (results, *sources.values()))
    return Shuffle(loops, store, results, order, sources, found) if least <= len(points) and not alone else None


def _together(loaded: Sequence[Load], loops: Sequence[Var]) -> Iterator[tuple[Load, Mapping[Load, int]]]:
    """Loads of one buffer that are known distances apart where all loops are zero, by the first of them, each with how far it is."""
    zero: dict[Var, Index] = dict.fromkeys(loops, Const(0))
    rest = {load: substitute(load.index, zero) for load in loaded}
    while rest:
        base, start = next(iter(rest.items()))
        apart = {load: far for load, at in rest.items() if load.buffer == base.buffer and (far := distance(at, start)) is not None}
        yield base, apart
        rest = {load: at for load, at in rest.items() if load not in apart}


def shuffle_in(outer: For, vector_bytes: int) -> Shuffle | None:
    """How tile loops in each other are computed in such vectors, if they are a block of elements that change places."""
    block = block_of(outer)
    return shuffle_of(*block, vector_bytes // max(itemsize(term.dtype) for term in scalars(block[1].value))) if block else None


def _is_square(index: Index, loops: Sequence[Var]) -> bool:
    """Whether squares of what is read across memory are turned in fewer steps."""
    *around, lane = loops
    down = around[-1] if around else lane
    square = down.extent >= LEAST_SQUARE and down.extent & (down.extent - 1) == 0 and lane.extent % down.extent == 0
    return square and coefficient(index, down) == 1 and abs(coefficient(index, lane) or 0) >= down.extent


def _offsets(index: Index, loops: Sequence[Var], points: Sequence[Point]) -> list[int] | None:
    """How far an access goes from where all loops are zero, for every iteration; None where that is not linear."""
    steps = [coefficient(index, v) for v in loops]
    known = [step for step in steps if step is not None]
    return [sum(step * at for step, at in zip(known, point, strict=True)) for point in points] if len(known) == len(steps) else None


def _vectors(offsets: Collection[int], lanes: int, farthest: int) -> tuple[tuple[Part, ...], dict[int, Place]]:
    """Vectors that hold the elements at these offsets, and where each is.  The last one of a run ends with it, and is no wider than it
    needs to be.  A run may leave out less elements than lie side by side before, and goes on at most so far behind."""
    used, ends, beside = sorted(set(offsets)), [0], 0
    for here, (one, other) in enumerate(pairwise(used), 1):
        beside += 1
        if other - one > 1:
            if other - one > min(beside, farthest):
                ends.append(here)
            beside = 0
    parts: list[Part] = []
    where: dict[int, Place] = {}
    for start, end in pairwise((*ends, len(used))):
        run = range(used[start], used[end - 1] + 1)
        for begin in range(0, len(run), lanes):
            width = min(lanes, max(LEAST_WIDTH, 1 << (len(run) - begin - 1).bit_length()))
            piece = run[max(0, min(begin, len(run) - width)) : begin + lanes]
            for lane, offset in enumerate(piece):
                where.setdefault(offset, (len(parts), lane))
            parts.append(Part(piece[0], len(piece)))
    return tuple(parts), where
