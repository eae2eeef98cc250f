"""Short folds written out: the loop around them is then innermost, and runs in vectors.

sum over p < 2 of f(i, p)  ->  f(i, 0) + f(i, 1)
"""

from __future__ import annotations

from eqsat.ir.dtypes import carrier, is_inexact
from eqsat.ir.index import Const, Var
from eqsat.ir.loops import rebuilt
from eqsat.ir.ops import REDUCE_OPS
from eqsat.ir.tensor import Call, Reduce, Scalar, operands, scalars
from eqsat.lowering.affine import Forms
from eqsat.lowering.blocks import over_forms
from eqsat.lowering.nest import Nest, free_variables

MOST_TERMS = 32
MOST_NODES = 400


def unrolled(nest: Nest) -> Nest:
    """The nest without the innermost folds that have few terms; sums of what is carried in another dtype than its own stay folds."""
    forms = Forms()
    done: dict[Scalar, Scalar] = {}
    terms: dict[Scalar, int] = {}
    for term in scalars(nest.body):
        args = tuple(done[arg] for arg in operands(term))
        terms[term] = max((terms[arg] for arg in operands(term)), default=1)
        if isinstance(term, Reduce):
            terms[term] *= term.variable.extent
            short = terms[term] <= MOST_TERMS and term.variable.extent * sum(1 for _ in scalars(args[0])) <= MOST_NODES
            apart = short and _adds_up(term) and not _copies_a_fold(term.variable, args[0])
            done[term] = _written_out(term, args[0], forms) if apart else Reduce(term.op, term.variable, args[0])
        else:
            done[term] = rebuilt(term, args, lambda index: index)
    return Nest(nest.loops, done[nest.body], nest.index)


def _adds_up(term: Reduce) -> bool:
    return term.op in ("max", "min") or not is_inexact(term.dtype) or carrier(term.dtype) == term.dtype


def _copies_a_fold(variable: Var, body: Scalar) -> bool:
    """Whether a fold that stays would be another one for each value of the variable, all over the same variable of their own."""
    free = free_variables(body)
    return any(isinstance(term, Reduce) and variable in needed for term, needed in free.items())


def _written_out(fold: Reduce, body: Scalar, forms: Forms) -> Scalar:
    total: Scalar | None = None
    for value in range(fold.variable.lo, fold.variable.hi + 1):
        term = over_forms(body, {fold.variable: Const(value)}, forms)
        total = term if total is None else Call(REDUCE_OPS[fold.op].step, (total, term), fold.dtype)
    assert total is not None
    return total
