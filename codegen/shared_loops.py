"""The loops of a kernel that threads share."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

from eqsat.codegen.divided_loops import are_different, divided, nested, steps
from eqsat.ir.index import substitute
from eqsat.ir.loops import Bind, Fold, For, Kernel, Let, Load, Pick, Stmt, Store, bound_in, loaded, statements, values_of
from eqsat.ir.tensor import scalars

# a fold before the loops that does no more than such a part of all, and which every thread computes again
PART = 64
# so many pairs of stores are compared at the most
MOST_PAIRS = 1024
# loops of so many iterations are not divided
ENOUGH = 64
# a thread that another process slows down then holds back one piece, not its whole share
PIECES_PER_THREAD = 4


@dataclass(frozen=True)
class Share:
    """A loop that threads share.

    loops   it, and loops in it each of which is all there is in the one before, if their iterations are shared
    units   how many units of the kernel's work an iteration is
    inside  the loops in an iteration of each of which a unit is a part, if several threads may share it
    again   whether each of them does the rest of the iteration for itself
    """

    loops: tuple[For, ...]
    units: int = 1
    inside: tuple[For, ...] = ()
    again: bool = False

    @property
    def loop(self) -> For:
        """The outermost loop."""
        return self.loops[0]

    @property
    def iterations(self) -> int:
        return prod(max(loop.variable.extent, 0) for loop in self.loops)

    @property
    def extent(self) -> int:
        """The units of all iterations."""
        return self.iterations * self.units

    @property
    def is_divided(self) -> bool:
        """Whether a unit may begin within an iteration of the outermost loop."""
        return len(self.loops) > 1 or bool(self.inside)


class Units(NamedTuple):
    """The work of a kernel that threads share.

    extent  its units
    whole   the units of which none is begun by one thread and ended by another where that takes more than one thread would
    """

    extent: int
    whole: int

    def pieces(self, threads: int) -> int:
        """In how many pieces so many threads do it: of whole units if these are shared evenly, or begin and end nothing else."""
        found = min(PIECES_PER_THREAD * threads, self.whole)
        return found if self.whole == self.extent or found % threads == 0 else min(threads, self.extent)


def shares(kernel: Kernel) -> tuple[Share, ...]:
    """The loops that are most of a kernel and may be split over threads, in order.  Of several none reads what another one writes, and
    each writes elsewhere; an iteration that does more is more units.  Of parts of loops to sizes it is the longest.  What else is written
    is so by the thread that does the first unit; values are computed by all of them."""
    loops = tuple(stmt for stmt in kernel.body if isinstance(stmt, For))
    folds = tuple(stmt for stmt in kernel.body if isinstance(stmt, Fold))
    if not loops or not all(loop.kind == "parallel" for loop in loops) or steps(folds) * PART > steps(loops):
        return ()
    if kernel.parts:
        return (Share((max(loops, key=_steps),)),)
    if len(loops) == 1 and all(isinstance(stmt, Let | Bind | Fold) for stmt in kernel.body[:-1]) and kernel.body[-1] is loops[0]:
        return (_divided(kernel, loops[0]),)
    if kernel.sizes or not _are_apart(kernel):
        return ()
    each = [max(1, _steps(loop) // max(loop.variable.extent, 1)) for loop in loops]
    return tuple(Share((loop,), number // min(each)) for loop, number in zip(loops, each, strict=True))


def _divided(kernel: Kernel, loop: For) -> Share:
    """A loop of few iterations, in parts of these where that may be."""
    if kernel.sizes or loop.variable.extent >= ENOUGH:
        return Share((loop,))
    share = Share(nested(loop, ENOUGH))
    inside, again = divided(kernel, share.loops) if share.iterations < ENOUGH else ((), False)
    return replace(share, units=max(inside, key=_steps).variable.extent, inside=inside, again=again) if inside else share


def _steps(loop: For) -> int:
    return steps((loop,))


def _are_apart(kernel: Kernel) -> bool:
    """Whether loops and single stores may be carried out in any order: by the places that they write, and read of what others write, and
    scratch memory that each has alone."""
    own = {buffer.name for buffer in kernel.scratch}
    apart = [(stmt,) for stmt in kernel.body if isinstance(stmt, For | Store)]
    before = tuple(stmt for stmt in kernel.body if not isinstance(stmt, For | Store))
    mentioned = [_mentioned(before), *map(_mentioned, apart)]
    several = {name for name in set().union(*mentioned) if sum(name in names for names in mentioned) > 1}
    written = [[stmt for stmt in statements(one) if isinstance(stmt, Store) and stmt.buffer in several] for one in apart]
    changed = {store.buffer for stores in written for store in stores}
    if not own.isdisjoint(several) or any(store.combine is not None for stores in written for store in stores):
        return False
    terms = [scalars(*values_of(statements(one))) for one in apart]
    read = [[term for term in some if isinstance(term, Load | Pick) and term.buffer in changed] for some in terms]
    if not changed.isdisjoint(mentioned[0]) or any(isinstance(term, Pick) for some in read for term in some):
        return False
    values = bound_in(statements(kernel.body))
    accesses = [
        [(one.buffer, substitute(one.index, values), isinstance(one, Store)) for one in (*stores, *loads) if not isinstance(one, Pick)]
        for stores, loads in zip(written, read, strict=True)
    ]
    pairs = [
        (here, there)
        for some, others in itertools.combinations(accesses, 2)
        for (name, here, stores), (buffer, there, also) in itertools.product(some, others)
        if name == buffer and (stores or also)
    ]
    return len(pairs) <= MOST_PAIRS and all(are_different(one, other) for one, other in pairs)


def _mentioned(body: tuple[Stmt, ...]) -> set[str]:
    """The buffers that statements read or write."""
    return {stmt.buffer for stmt in statements(body) if isinstance(stmt, Store)} | loaded(body)


def shared_units(kernel: Kernel) -> Units | None:
    """The units of work of the outermost loops if these are the whole kernel and may be split over threads, else None."""
    found = shares(kernel)
    return units_of(found) if found else None


def units_of(found: Sequence[Share]) -> Units:
    """The units of all loops that threads share."""
    extent = sum(share.extent for share in found)
    return Units(extent, found[0].iterations if found[0].again else extent)


def parallel_extent(kernel: Kernel) -> int | None:
    """The units of work that threads share of a kernel, one iteration of an outermost loop or more, or less; None if there are none."""
    units = shared_units(kernel)
    return None if units is None else units.extent
