"""The loops of a kernel that threads share."""

from __future__ import annotations

import itertools

from eqsat.ir.loops import Bind, Fold, For, Kernel, Let, Load, Pick, Store, statements, values_of
from eqsat.ir.tensor import scalars

# a fold before the loops that does no more than such a part of all, and which every thread computes again
PART = 64


def outer_loops(kernel: Kernel) -> tuple[For, ...]:
    """The loops that are the whole kernel, but for values computed before them, and may be split over threads: their iterations are those
    of the kernel, in this order.  Of several none reads what another one writes, and each writes elsewhere."""
    loops = tuple(stmt for stmt in kernel.body if isinstance(stmt, For))
    if not loops or kernel.body[-1] is not loops[-1] or not all(isinstance(stmt, For | Let | Bind | Fold) for stmt in kernel.body):
        return ()
    folds = sum(_iterations(stmt) for stmt in kernel.body if isinstance(stmt, Fold))
    if folds * PART > sum(map(_iterations, loops)):
        return ()
    alone = len(loops) == 1 or (not kernel.scratch and not kernel.sizes and _are_apart(kernel, loops))
    return loops if alone and all(loop.kind == "parallel" for loop in loops) else ()


def _iterations(loop: For | Fold) -> int:
    """How often the innermost statements of a loop are carried out, all together."""
    inside = sum(_iterations(stmt) for stmt in loop.body if isinstance(stmt, For | Fold))
    return max(loop.variable.extent, 0) * max(inside, 1)


def _are_apart(kernel: Kernel, loops: tuple[For, ...]) -> bool:
    """Whether loops may run in any order: by the bounds of the places that they write."""
    written: dict[str, list[tuple[int, int]]] = {}
    for loop in loops:
        stores = [stmt for stmt in statements(loop.body) if isinstance(stmt, Store)]
        if any(stmt.combine is not None for stmt in stores):
            return False
        for buffer in {stmt.buffer for stmt in stores}:
            bounds = [stmt.index.bounds for stmt in stores if stmt.buffer == buffer]
            written.setdefault(buffer, []).append((min(low for low, _ in bounds), max(high for _, high in bounds)))
    values = values_of(statements(kernel.body))
    if any(isinstance(term, Load | Pick) and term.buffer in written for value in values for term in scalars(value)):
        return False
    return all(before[1] < after[0] for ranges in written.values() for before, after in itertools.pairwise(sorted(ranges)))


def parallel_extent(kernel: Kernel) -> int | None:
    """Iterations of the outermost loops if these are the whole kernel and may be split over threads, else None."""
    split = outer_loops(kernel)
    return sum(max(loop.variable.extent, 0) for loop in split) if split else None
