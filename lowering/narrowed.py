"""Whole numbers in 32 bits where that says the same: a vector holds twice as many.

int64(x) == k, for x of int32 and a place k in its range  ->  x == int32(k)
"""

from __future__ import annotations

from eqsat.ir.interval import within
from eqsat.ir.tensor import Call, Literal, Position, Scalar, as_dtype, operands, rebuild, scalars
from eqsat.ir.value_bounds import limits, scalar_bounds

WIDE, NARROW = "int64", "int32"
COMPARISONS = frozenset(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))


def narrowed(root: Scalar) -> Scalar:
    """An element with comparisons in 32 bits of what has no more."""
    done: dict[Scalar, Scalar] = {}
    for term in scalars(root):
        args = tuple(done[arg] for arg in operands(term))
        if isinstance(term, Call) and term.op in COMPARISONS and all(map(_is_narrow, args)) and any(isinstance(arg, Call) for arg in args):
            args = tuple(narrow(arg) for arg in args)
        done[term] = rebuild(term, args)
    return done[root]


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
    return as_dtype(value, NARROW)
