"""Long reductions in two: parts that threads can share, and the reduction of the parts.

s = g(sum over k < n of f(k))   ->   t[p] = sum over k < n / P of f(p * n / P + k), and s = g(sum over p < P of t[p])
"""

from __future__ import annotations

from eqsat.ir.dtypes import carrier
from eqsat.ir.index import Var
from eqsat.ir.tensor import Build, Read, Reduce, Scalar, as_dtype, axis, operands, rebuild, reduction, reindexed, scalars
from eqsat.lowering.nest import chains

# of a result of so few elements, each of at least so many terms
MOST_ELEMENTS = 2
LEAST_TERMS = 1 << 17
MOST_PARTS, LEAST_PARTS = 64, 8
WIDER = {"float32": "float64", "complex64": "complex128"}


def in_parts(build: Build) -> tuple[Build, Build] | None:
    """The parts, and the build over them; None where there is no one long reduction that can be divided evenly."""
    folds = [chain[0] for chain in chains(build.body)]
    found = [fold for fold in folds if not any(fold in scalars(other.body) for other in folds if other is not fold)]
    if build.size > MOST_ELEMENTS or len(found) != 1 or carrier(found[0].dtype) != found[0].dtype:
        return None
    outer, inside = found[0], found[0].body
    extent = outer.variable.extent
    if outer.variable.lo or _terms(outer) < LEAST_TERMS:
        return None
    parts = next((n for n in range(MOST_PARTS, LEAST_PARTS - 1, -1) if extent % n == 0), None)
    if parts is None:
        return None
    each, place = extent // parts, axis(len(build.shape), parts)
    term = Var(outer.variable.name, 0, each - 1)
    body: Scalar = reindexed(inside, {outer.variable: place * each + term if each > 1 else place})
    value = Reduce(outer.op, term, body) if each > 1 else body
    wide = WIDER.get(value.dtype, value.dtype) if outer.op in ("sum", "prod") else value.dtype
    made = Build((*build.shape, parts), as_dtype(value, wide))
    part = reduction(0, parts)
    whole = as_dtype(Reduce(outer.op, part, Read(made, (*(axis(k, n) for k, n in enumerate(build.shape)), part))), value.dtype)
    done: dict[Scalar, Scalar] = {outer: whole}
    for one in scalars(build.body):
        if one not in done:
            done[one] = rebuild(one, tuple(done[arg] for arg in operands(one)))
    return made, Build(build.shape, done[build.body])


def _terms(fold: Reduce) -> int:
    """How many elements a fold goes through, those of folds within it included."""
    inner = [_terms(term) for term in scalars(fold.body) if isinstance(term, Reduce)]
    return fold.variable.extent * max(inner, default=1)
