"""What short rows share, spread over all of them, so that several rows are one loop along memory.

    out[i, c, j] = x[i, c, j] * s[c]      ->     r[c, j] = s[c], and out[i, cj] = x[i, cj] * r[cj]

Rows of a few elements fill no vector, and begin and end again and again.  What does not vary with the outer loops, but keeps the inner ones
from being one, is computed once for each place of them: a row that stays in the first cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Var
from eqsat.ir.loops import over
from eqsat.ir.tensor import Build, Position, Read, Scalar, axes, has_fold, operands, reindexed, scalars
from eqsat.lowering.nest import Free, Stages, free_variables, largest
from eqsat.lowering.products.product import VECTOR_BYTES

# elements of a row, and of all that become one; how often that is gone through at least
LONGEST_ROW, MOST_ELEMENTS, LEAST_TIMES = 48, 1024, 32


def spread(build: Build) -> tuple[Stages, Build] | None:
    """What is spread, computed together, and the build over it; None where rows are long, or are one loop as they are."""
    loops, shape = axes(build.shape), build.shape
    first = next((k for k in range(1, len(shape) - 1) if prod(shape[k:]) <= MOST_ELEMENTS), None)
    if first is None or shape[-1] > LONGEST_ROW or prod(shape[:first]) < LEAST_TIMES:
        return None
    if has_fold(build.body):
        return None
    free, inner = free_variables(build.body), tuple(v for v in loops[first:] if v.extent > 1)
    found = _invariant(build.body, free, frozenset(inner))
    row = _row(inner, [free[term] for term in scalars(*found) if not operands(term)])
    if not found or row > LONGEST_ROW or row * itemsize(build.dtype) % VECTOR_BYTES == 0:  # of whole vectors it stays in registers
        return None
    places = dict(zip(loops[first:], axes(shape[first:]), strict=True))
    made = {term: Build(shape[first:], reindexed(term, places)) for term in found}
    reads = {term: Read(one, loops[first:]) for term, one in made.items()}
    return (tuple(dict.fromkeys(made.values())),), Build(shape, over(build.body, {}, reads))


def _row(inner: Sequence[Var], free: Sequence[frozenset[Var]]) -> int:
    """How many elements of the innermost loops are one loop as they are, where all of these vary with all of them or with none."""
    rows = (inner[k:] for k in range(len(inner)))
    alike = (row for row in rows if len(row) < 2 or all(one.isdisjoint(row) or one.issuperset(row) for one in free))
    return prod(v.extent for v in next(alike, ()))


def _invariant(root: Scalar, free: Free, inner: frozenset[Var]) -> list[Scalar]:
    """The largest terms that vary with inner loops alone and keep these from being one."""
    apart = set[Scalar]()
    for term in free:
        within = inner.issuperset(free[term])
        if within and (_is_apart(term, free, inner) or any(arg in apart for arg in operands(term))):
            apart.add(term)
    return largest(root, apart)


def _is_apart(term: Scalar, free: Free, inner: frozenset[Var]) -> bool:
    """Whether an element varies with some of the inner loops, or says where they are."""
    return bool(free[term]) and (isinstance(term, Position) or (isinstance(term, Read) and free[term] < inner))
