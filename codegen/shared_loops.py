"""The loops of a kernel that threads share."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

from eqsat.ir.index import Index, substitute
from eqsat.ir.loops import Bind, Fold, For, Kernel, Let, Stmt, Store, bound_in, loaded, statements
from eqsat.ir.monomials import sum_of, term_of

# a fold before the loops that does no more than such a part of all, and which every thread computes again
PART = 64
# so many pairs of stores are compared at the most
MOST_PAIRS = 1024
Bounds = tuple[int, int]


@dataclass(frozen=True)
class Share:
    """A loop that threads share, and how many units of the kernel's work each of its iterations is."""

    loop: For
    units: int = 1

    @property
    def extent(self) -> int:
        """The units of all iterations."""
        return max(self.loop.variable.extent, 0) * self.units


def shares(kernel: Kernel) -> tuple[Share, ...]:
    """The loops that are most of a kernel and may be split over threads, in order.  Of several none reads what another one writes, and
    each writes elsewhere; an iteration that does more is more units.  Of parts of loops to sizes it is the longest.  What else is written
    is so by the thread that does the first unit; values are computed by all of them."""
    loops = tuple(stmt for stmt in kernel.body if isinstance(stmt, For))
    folds = sum(_steps(stmt) for stmt in kernel.body if isinstance(stmt, Fold))
    if not loops or not all(loop.kind == "parallel" for loop in loops) or folds * PART > sum(map(_steps, loops)):
        return ()
    if kernel.parts:
        return (Share(max(loops, key=_steps)),)
    if len(loops) == 1 and all(isinstance(stmt, Let | Bind | Fold) for stmt in kernel.body[:-1]) and kernel.body[-1] is loops[0]:
        return (Share(loops[0]),)
    if kernel.sizes or not _are_apart(kernel):
        return ()
    each = [max(1, _steps(loop) // max(loop.variable.extent, 1)) for loop in loops]
    return tuple(Share(loop, steps // min(each)) for loop, steps in zip(loops, each, strict=True))


def _steps(loop: For | Fold) -> int:
    """How often the innermost statements of a loop are carried out, all together."""
    inside = sum(_steps(stmt) for stmt in loop.body if isinstance(stmt, For | Fold))
    return max(loop.variable.extent, 0) * max(inside, 1)


def _are_apart(kernel: Kernel) -> bool:
    """Whether loops and single stores may be carried out in any order: by the places that they write, and scratch memory that each has
    alone."""
    own = {buffer.name for buffer in kernel.scratch}
    apart = [(stmt,) for stmt in kernel.body if isinstance(stmt, For | Store)]
    mentioned = list(map(_mentioned, apart))
    before = _mentioned(tuple(stmt for stmt in kernel.body if not isinstance(stmt, For | Store)))
    if any(sum(name in names for names in (before, *mentioned)) > 1 for name in own):
        return False
    values = bound_in(statements(kernel.body))
    written: list[dict[str, list[Index]]] = []
    for one in apart:
        written.append({})
        for stmt in statements(one):
            if isinstance(stmt, Store) and stmt.buffer not in own:
                if stmt.combine is not None:
                    return False
                written[-1].setdefault(stmt.buffer, []).append(substitute(stmt.index, values))
    if not loaded(kernel.body).isdisjoint(itertools.chain(*written)):
        return False
    pairs = [
        (one, other)
        for here, there in itertools.combinations(written, 2)
        for name in here.keys() & there.keys()
        for one, other in itertools.product(here[name], there[name])
    ]
    return len(pairs) <= MOST_PAIRS and all(_are_different(one, other) for one, other in pairs)


def _mentioned(body: tuple[Stmt, ...]) -> set[str]:
    """The buffers that statements read or write."""
    return {stmt.buffer for stmt in statements(body) if isinstance(stmt, Store)} | loaded(body)


def _are_different(one: Index, other: Index) -> bool:
    """Whether two places, each anywhere in its loops, are never the same: by their bounds, or by those of what is left of them within
    steps of one size, such as rows."""
    if _miss(one.bounds, other.bounds):
        return True
    steps = {abs(k) for index in (one, other) for k, _ in sum_of(index)[1]} - {0, 1}
    left = ((_within(one, step), _within(other, step)) for step in steps)
    return any(here is not None and there is not None and _miss(here, there) for here, there in left)


def _miss(one: Bounds, other: Bounds) -> bool:
    return one[1] < other[0] or other[1] < one[0]


@functools.lru_cache(maxsize=4096)
def _within(index: Index, step: int) -> Bounds | None:
    """The bounds of an index modulo a step, where what is no multiple of it stays within one; else None."""
    constant, parts = sum_of(index)
    low, high = term_of(constant, [part for part in parts if part[0] % step]).bounds
    return (low % step, high % step) if low // step == high // step else None


def parallel_extent(kernel: Kernel) -> int | None:
    """The units of work of the outermost loops, one iteration of a loop or more, if these are the whole kernel and may be split over
    threads, else None."""
    found = shares(kernel)
    return sum(share.extent for share in found) if found else None
