"""Short folds written out: the loop around them is then innermost, and runs in vectors.

sum over p < 2 of f(i, p)  ->  f(i, 0) + f(i, 1)
"""

from __future__ import annotations

from collections.abc import Collection

from eqsat.ir.dtypes import carrier, is_inexact
from eqsat.ir.index import Const, Var
from eqsat.ir.interval import within
from eqsat.ir.ops import REDUCE_OPS
from eqsat.ir.tensor import Call, Literal, Position, Reduce, Scalar, as_dtype, operands, rebuild, scalars
from eqsat.ir.value_bounds import limits, scalar_bounds
from eqsat.lowering.affine import Forms
from eqsat.lowering.blocks import over_forms
from eqsat.lowering.folds.narrow_integers import NARROW_INTEGER, WIDE_INTEGER, narrow
from eqsat.lowering.nest import Nest, free_variables

# terms of a fold that is written out, and operations and loads in all of them: beyond that LLVM takes longer than the loop is worth
MOST_TERMS, MOST_NODES = 32, 400


def unrolled(nest: Nest, markers: Collection[int] = ()) -> Nest:
    """The nest without the innermost folds that have few terms; sums of what is carried in another dtype than its own stay folds, and so do
    those whose extents are `markers` of sizes known at run time."""
    forms, free = Forms(), free_variables(nest.body)
    done: dict[Scalar, Scalar] = {}
    terms: dict[Scalar, int] = {}
    for term in scalars(nest.body):
        args = tuple(done[arg] for arg in operands(term))
        if isinstance(term, Reduce):
            copied = (terms[below] for below in scalars(term.body) if below in terms and term.variable in free[below])
            terms[term] = term.variable.extent * max(copied, default=1)
            known = term.variable.extent not in markers
            short = known and terms[term] <= MOST_TERMS and term.variable.extent * _new(term.variable, args[0]) <= MOST_NODES
            apart = short and _adds_up(term) and not _copies_a_fold(term.variable, args[0])
            done[term] = _written_out(term, args[0], forms) if apart else Reduce(term.op, term.variable, args[0])
        else:
            done[term] = rebuild(term, args)
    return Nest(nest.loops, done[nest.body], nest.index)


def _new(variable: Var, body: Scalar) -> int:
    """How many terms there are for each value of a variable."""
    return sum(variable in needed for needed in free_variables(body).values())


def _adds_up(term: Reduce) -> bool:
    return term.op in ("max", "min") or not is_inexact(term.dtype) or carrier(term.dtype) == term.dtype


def _copies_a_fold(variable: Var, body: Scalar) -> bool:
    """Whether a fold that stays would be another one for each value of the variable, all over the same variable of their own."""
    free = free_variables(body)
    return any(isinstance(term, Reduce) and variable in needed for term, needed in free.items())


def _written_out(fold: Reduce, body: Scalar, forms: Forms) -> Scalar:
    """The terms one after the other; the least or greatest of places in 32 bits, of which vectors have twice as many."""
    places = fold.dtype == WIDE_INTEGER and fold.op in ("max", "min") and within(scalar_bounds(body), limits(NARROW_INTEGER))
    term = narrow(body) if places else body
    total: Scalar | None = None
    for value in range(fold.variable.lo, fold.variable.hi + 1):
        here = _with_numbers(over_forms(term, {fold.variable: Const(value)}, forms))
        total = here if total is None else Call(REDUCE_OPS[fold.op].step, (total, here), term.dtype)
    assert total is not None
    return as_dtype(total, fold.dtype)


def _with_numbers(root: Scalar) -> Scalar:
    """A value with numbers for places that are known, and of choices what is chosen, where that is."""
    done: dict[Scalar, Scalar] = {}
    for term in scalars(root):
        chooser = term.args[0] if isinstance(term, Call) and term.op == "where" else None
        if isinstance(term, Position) and isinstance(term.index, Const) and term.dtype != "bool":
            done[term] = Literal(term.index.value, term.dtype)
        elif isinstance(chooser, Position) and (known := chooser.index.bounds)[0] == known[1]:
            done[term] = done[operands(term)[1 if known[0] else 2]]
        else:
            done[term] = rebuild(term, tuple(done[arg] for arg in operands(term)))
    return done[root]
