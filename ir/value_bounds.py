"""What integer elements of a tensor may be, as far as a look at its terms tells: a place that is in range needs no check.

A bound is a pair of integers, the least and the greatest value.  Where nothing is known it is the range of the dtype.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from eqsat.ir import interval
from eqsat.ir.dtypes import is_integer
from eqsat.ir.index import Var
from eqsat.ir.tensor import (
    Arg,
    Build,
    Call,
    Constant,
    Gather,
    Generic,
    Input,
    Literal,
    Position,
    Read,
    Reduce,
    Scalar,
    StepResult,
    Tensor,
    scalars,
)

Bounds = interval.Interval
# how many tensors above the one that is asked for are looked at
DEPTH = 8
# bits of the widest integers: shifted by more, nothing is left of them either
MOST_SHIFTED = 64
_KNOWN: weakref.WeakKeyDictionary[Tensor, Bounds] = weakref.WeakKeyDictionary()


def tensor_bounds(tensor: Tensor, depth: int = DEPTH) -> Bounds:
    """Bounds of the elements of a tensor of integers or bool."""
    if tensor in _KNOWN:
        return _KNOWN[tensor]
    found = limits(tensor.dtype)
    if depth and tensor.size and is_whole(tensor.dtype):
        if isinstance(tensor, Input) and tensor.most is not None:
            found = 0, tensor.most
        elif isinstance(tensor, Constant):
            found = int(tensor.data.min()), int(tensor.data.max())
        elif isinstance(tensor, StepResult):
            found = tensor.step.bounds(tensor.position) or found
        elif isinstance(tensor, Build):
            found = scalar_bounds(tensor.body, (), depth)
        elif isinstance(tensor, Generic) and tensor.combine in (None, "max", "min"):
            found = scalar_bounds(tensor.block, tensor.operands, depth)
    if depth == DEPTH:
        _KNOWN[tensor] = found
    return found


@functools.cache
def limits(dtype: str) -> Bounds:
    """The range of a dtype; of one that has fractions that of int64, for nothing asks what such an element is."""
    if dtype == "bool":
        return 0, 1
    info = np.iinfo(dtype if is_whole(dtype) else "int64")
    return int(info.min), int(info.max)


def is_whole(dtype: str) -> bool:
    """Whether it is one of integers, or bool."""
    return dtype == "bool" or is_integer(dtype)


def scalar_bounds(root: Scalar, operands: Sequence[Tensor] = (), depth: int = DEPTH) -> Bounds:
    """Bounds of an element; `operands` are those of the Generic whose block it is."""
    return bounds_below(root, operands, depth)[root]


def bounds_below(root: Scalar, operands: Sequence[Tensor] = (), depth: int = DEPTH) -> dict[Scalar, Bounds]:
    """Bounds of an element and of all that it is made of."""
    done: dict[Scalar, Bounds] = {}
    for term in scalars(root):
        found = limits(term.dtype)
        if isinstance(term, Literal) and isinstance(term.value, int):
            found = int(term.value), int(term.value)
        elif isinstance(term, Position):
            found = (0, 1) if term.dtype == "bool" else _within(term.index.bounds, term.dtype)
        elif isinstance(term, Read | Gather):
            found = tensor_bounds(term.tensor, depth - 1)
        elif isinstance(term, Arg):
            found = tensor_bounds(operands[term.position], depth - 1)
        elif isinstance(term, Reduce) and term.op in ("max", "min"):
            found = done[term.body]
        elif isinstance(term, Reduce) and term.op == "sum" and is_whole(term.dtype):
            found = _within(sum_bounds(term.variable, done[term.body]), term.dtype)
        elif isinstance(term, Call) and is_whole(term.dtype):
            found = _call(term, done)
        done[term] = found
    return done


def needs_32_bits(op: str, value: Scalar) -> bool:
    """Whether a fold of 64-bit integers may be carried in 32 bits: the least or greatest of some places."""
    wide = value.dtype in ("int64", "uint64") and op in ("max", "min")
    return wide and interval.within(scalar_bounds(value), limits("int32"))


def sum_bounds(variable: Var, term: Bounds) -> Bounds:
    """Bounds of a sum over all of a variable, or over the first of its values, and of every sum of some of the terms."""
    count = max(variable.extent, 0)
    return min(count * term[0], 0), max(count * term[1], 0)


def _within(found: Bounds, dtype: str) -> Bounds:
    """Bounds of values of a dtype; where they leave it, values wrap round, so nothing is known."""
    return found if interval.within(found, limits(dtype)) else limits(dtype)


def _call(term: Call, done: Mapping[Scalar, Bounds]) -> Bounds:
    if term.op not in CALLS or any(not is_whole(arg.dtype) for arg in term.args):
        return limits(term.dtype)
    return _within(CALLS[term.op](*(done[arg] for arg in term.args)), term.dtype)


CALLS: dict[str, Callable[..., Bounds]] = {
    "add": interval.add,
    "subtract": interval.sub,
    "multiply": interval.mul,
    "negative": interval.neg,
    "minimum": interval.minimum,
    "maximum": interval.maximum,
    "where": interval.where,
    "remainder": lambda a, b: interval.mod(a, b) if b[0] > 0 else limits("int64"),
    "floor_divide": lambda a, b: interval.floordiv(a, b) if b[0] > 0 else limits("int64"),
    "absolute": interval.absolute,
    "bitwise_and": interval.bitand,
    "bitwise_or": interval.bitor,
    "bitwise_xor": interval.bitxor,
    "right_shift": lambda a, b: interval.shr(a, (min(b[0], MOST_SHIFTED), min(b[1], MOST_SHIFTED))) if b[0] >= 0 else limits("int64"),
    "astype": lambda a: a,
}
