"""Short loops that stay loops, so that LLVM makes vectors of them.

It writes a short innermost loop out, then joins iterations of the loop around it into vectors.  That is right where these are
neighbours in memory, and few enough elements that it may load all of them and sort them in registers.  Else it gathers them one by one,
which takes 2 to 7 times as long as the short loop in vectors of its own (x[i, j] * w[j] over rows of 10 to 32 numbers, sums of such rows,
blocks that move).
"""

from __future__ import annotations

from collections.abc import Iterator

from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.loops import Bind, Fold, For, Kernel, Load, Pick, Stmt, Store, value_of
from eqsat.ir.tensor import scalars

# iterations: shorter loops fill no vector, longer ones are not written out
SHORTEST, LONGEST, LONGEST_FOLD = 3, 32, 76
# where so many lines of the loop around are neighbours in memory, LLVM sorts so few elements of each in registers
LINES, SORTED, SORTED_FOLD, SORTED_BYTES = 16, 4, 8, 64
# loops over elements of two bytes or one; their folds are left to LLVM
NARROW, NARROW_SHORTEST, NARROW_LONGEST = 2, 6, 16
# vectors of a fold that are folded side by side, at most
SIDE_BY_SIDE = 4


def rolled_loops(kernel: Kernel) -> frozenset[For | Fold]:
    """The short innermost loops and folds that go through memory element by element in everything that they load and store."""
    return frozenset(_rolled(kernel.body, None, {}))


def side_by_side(dtype: str, terms: int, vector_bytes: int) -> int:
    """How many vectors of a short fold are folded side by side: a power of two that leaves no rest."""
    lanes, count = vector_bytes // itemsize(dtype), 1
    while count < SIDE_BY_SIDE and terms % (2 * count * lanes) == 0:
        count *= 2
    return count


def _rolled(body: tuple[Stmt, ...], around: Var | None, bound: dict[Var, Index]) -> Iterator[For | Fold]:
    for stmt in body:
        if isinstance(stmt, Bind):
            bound = {**bound, stmt.variable: substitute(stmt.value, bound)}
        elif isinstance(stmt, For | Fold):
            if around is not None and _stays(stmt, around, bound):
                yield stmt
            yield from _rolled(stmt.body, stmt.variable, bound)


def _stays(loop: For | Fold, around: Var, bound: dict[Var, Index]) -> bool:
    fold, extent = isinstance(loop, Fold), loop.variable.extent
    accesses = _accesses(loop, bound) if SHORTEST <= extent <= (LONGEST_FOLD if fold else LONGEST) else None
    if not accesses:
        return False
    along = [coefficient(place, loop.variable) for place, _ in accesses]
    if 1 not in along or any(step not in (0, 1) for step in along):
        return False
    widest = max(itemsize(dtype) for _, dtype in accesses)
    if widest <= NARROW:
        return not fold and NARROW_SHORTEST <= extent <= NARROW_LONGEST
    lines = (coefficient(place, around) for (place, _), step in zip(accesses, along, strict=True) if step == 1)
    neighbours = around.extent >= LINES and all(line in (0, extent) for line in lines)
    return not neighbours or extent > (SORTED_FOLD if fold else SORTED) or extent * widest >= SORTED_BYTES


def _accesses(loop: For | Fold, bound: dict[Var, Index]) -> list[tuple[Index, str]] | None:
    """Where a loop loads and stores, and elements of which dtype; None for one with loops in it, with gathers, or written as a tile."""
    if isinstance(loop, For) and loop.kind != "parallel":
        return None
    found: list[tuple[Index, str]] = []
    for stmt in (*loop.body, *([loop] if isinstance(loop, Fold) else [])):
        if isinstance(stmt, For | Fold) and stmt is not loop:
            return None
        if isinstance(stmt, Bind):
            bound = {**bound, stmt.variable: substitute(stmt.value, bound)}
        terms = list(scalars(value)) if (value := value_of(stmt)) is not None else []
        if any(isinstance(term, Pick) for term in terms):
            return None
        found += [(substitute(term.index, bound), term.dtype) for term in terms if isinstance(term, Load)]
        if isinstance(stmt, Store):
            found.append((substitute(stmt.index, bound), stmt.value.dtype))
    return found
