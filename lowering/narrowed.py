"""Whole numbers in 32 bits where that says the same: a vector holds twice as many.

int64(x) == k, for x of int32 and a place k in its range  ->  x == int32(k)
sum of int64(x > t), of fewer than 2^31 elements          ->  int64(sum of int32(x > t))
sum of float64(x), of bytes                               ->  float64(sum of int32(x)), which is exact as the sum of floats was
"""

from __future__ import annotations

from eqsat.ir.index import Var
from eqsat.ir.interval import within
from eqsat.ir.tensor import Call, Literal, Position, Reduce, Scalar, as_dtype, operands, rebuild, scalars
from eqsat.ir.value_bounds import is_whole, limits, scalar_bounds, sum_bounds

WIDE, NARROW = "int64", "int32"
# up to here floats hold all whole numbers, so that no order of adding such rounds
EXACT_TO = {"float32": 1 << 24, "float64": 1 << 53}
# what a sum of 32 bits has in place of the same operation with 64
RING = frozenset(("add", "subtract", "multiply", "negative"))
COMPARISONS = frozenset(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))


def narrowed(root: Scalar) -> Scalar:
    """An element with comparisons and sums in 32 bits of what has no more."""
    done: dict[Scalar, Scalar] = {}
    for term in scalars(root):
        args = tuple(done[arg] for arg in operands(term))
        if isinstance(term, Call) and term.op in COMPARISONS and all(map(_is_narrow, args)) and any(isinstance(arg, Call) for arg in args):
            args = tuple(narrow(arg) for arg in args)
        done[term] = rebuild(term, args)
        if isinstance(term, Reduce) and term.op == "sum":
            done[term] = _narrow_sum(term.variable, *args) or done[term]
    return done[root]


def _narrow_sum(variable: Var, term: Scalar) -> Scalar | None:
    """The sum of a term, carried in 32 bits, if these hold it and whatever it passes through; None where they do not."""
    whole = term
    if term.dtype in EXACT_TO and isinstance(term, Call) and term.op == "astype":
        (whole,) = term.args
    elif term.dtype not in ("int64", "uint64"):
        return None
    if not is_whole(whole.dtype):
        return None
    found = sum_bounds(variable, scalar_bounds(whole))
    most = limits(NARROW) if whole is term else (-EXACT_TO[term.dtype], EXACT_TO[term.dtype])
    if not (within(found, limits(NARROW)) and within(found, most)):
        return None
    return as_dtype(Reduce("sum", variable, narrow(whole)), term.dtype)


def _is_narrow(value: Scalar) -> bool:
    """Whether a number of 64 bits was one of 32, or is chosen from such, or a place or a number in their range."""
    known = value.op in ("astype", "where") if isinstance(value, Call) else isinstance(value, Position | Literal)
    return known and value.dtype == WIDE and within(scalar_bounds(value), limits(NARROW))


def narrow(value: Scalar) -> Scalar:
    """A value that 32 bits hold in them, without casts where it is chosen from places and numbers, or was one of 32 bits."""
    if isinstance(value, Position):
        return Position(value.index, NARROW)
    if isinstance(value, Literal):
        return Literal(value.value, NARROW)
    if isinstance(value, Call) and value.op == "astype" and within(limits(value.args[0].dtype), limits(NARROW)):
        return as_dtype(value.args[0], NARROW)
    if isinstance(value, Call) and value.op == "where":
        condition, *branches = value.args
        return Call("where", (condition, *map(narrow, branches)), NARROW)
    if isinstance(value, Call) and value.op in RING and all(within(scalar_bounds(arg), limits(NARROW)) for arg in value.args):
        return Call(value.op, tuple(map(narrow, value.args)), NARROW)
    return as_dtype(value, NARROW)
