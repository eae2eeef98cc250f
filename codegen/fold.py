"""How a Fold accumulates: what its loop carries, one step, and the result.

Sums of many float32 lose digits in a running sum (0.5 % at 4 million elements), so they are cut into blocks whose sums are
added in float64.  Maxima and minima of floats carry a plain extremum, which LLVM vectorizes because it may assume that no
value is NaN, and beside it whether one was: the extremum is undefined only where it is not used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from eqsat.codegen.builder import LLVM_TYPES, Builder, Value, integer, is_real, real, truth
from eqsat.codegen.scalar import CODE
from eqsat.ir.errors import InternalError
from eqsat.ir.ops import REDUCE_OPS, identity_of

Numerics = Literal["exact", "default", "fast"]
Carried = tuple[Value, ...]
BLOCK = 2048
LONG_OUTER_FOLD = 512


class Flags(NamedTuple):
    """Fast-math flags of arithmetic and of accumulation; `ignore_nan`: folds to an extremum need not propagate NaN."""

    arithmetic: str
    fold: str
    ignore_nan: bool = False


FLAGS: dict[Numerics, Flags] = {
    "exact": Flags("", ""),
    "default": Flags("contract", "reassoc contract"),
    "fast": Flags("reassoc nsz arcp contract afn", "reassoc nsz arcp contract afn", ignore_nan=True),
}


class Accumulator(NamedTuple):
    """`initial` enters the loop, `step` makes the next iteration's values, `result` reads the last ones."""

    initial: Carried
    step: Callable[[Builder, Carried, Value], Carried]
    result: Callable[[Builder, Carried], Value]


def accumulator(op: str, dtype: str, flags: Flags, wide: bool) -> Accumulator:
    """How to fold values of `dtype`; `wide`: sums of floats are carried in float64.  InternalError for an unknown fold."""
    if op not in REDUCE_OPS or (op in ("sum", "prod") and dtype == "bool"):
        raise InternalError(f"codegen: found a fold {op} of {dtype}, expected one of {', '.join(REDUCE_OPS)} (sum, prod: of numbers)")
    type = LLVM_TYPES[dtype]
    if not is_real(type):
        start = identity_of(op, dtype)
        code = CODE[REDUCE_OPS[op].step]
        first = truth(bool(start)) if dtype == "bool" else integer(int(start), type)
        return Accumulator((first,), lambda b, carried, value: (code(b, (carried[0], value), ""),), _carried)
    if op == "sum":
        return _sum("double" if wide else type, type, flags.fold)
    if op == "prod":
        first = real(1.0, type)
        return Accumulator((first,), lambda b, carried, value: (b.binary("fmul", carried[0], value, flags.fold),), _carried)
    return _extremum(op, type, float(identity_of(op, dtype)), flags)


def _carried(_b: Builder, carried: Carried) -> Value:
    return carried[0]


def _sum(carrier: str, type: str, flags: str) -> Accumulator:
    widened = carrier != type

    def step(b: Builder, carried: Carried, value: Value) -> Carried:
        return (b.binary("fadd", carried[0], b.cast("fpext", value, carrier) if widened else value, flags),)

    def result(b: Builder, carried: Carried) -> Value:
        return b.cast("fptrunc", carried[0], type) if widened else carried[0]

    return Accumulator((real(0.0, carrier),), step, result)


def _extremum(op: str, type: str, start: float, flags: Flags) -> Accumulator:
    def step(b: Builder, carried: Carried, value: Value) -> Carried:
        better = b.emit("i1", f"fcmp nnan nsz {'ogt' if op == 'max' else 'olt'} {value}, {carried[0].text}")
        best = b.emit(type, f"select nnan nsz {better}, {value}, {carried[0]}")
        return (best,) if flags.ignore_nan else (best, b.binary("or", carried[1], b.compare("uno", value, value)))

    def result(b: Builder, carried: Carried) -> Value:
        return carried[0] if flags.ignore_nan else b.select(carried[1], real(float("nan"), type), carried[0])

    first = real(start, type)
    return Accumulator((first,) if flags.ignore_nan else (first, truth(False)), step, result)
