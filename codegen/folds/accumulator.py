"""How a Fold accumulates: what its loop carries, one step, and the result.

Sums of many float32 lose digits in a running sum (0.5 % at 4 million elements), so they are cut into blocks whose sums are
added in float64.  Maxima and minima of floats carry a plain extremum, which LLVM vectorizes because it may assume that no
value is NaN, and beside it whether one was: the extremum is undefined only where it is not used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal as Choice, NamedTuple

from eqsat.codegen.builder import LLVM_TYPES, Builder, Value, bits_of, integer, real, truth
from eqsat.codegen.elements.casts import convert
from eqsat.codegen.scalar import code_of, literal
from eqsat.ir.dtypes import carrier, is_complex, is_float, part_of
from eqsat.ir.errors import InternalError
from eqsat.ir.ops import REDUCE_OPS, identity_of
from eqsat.ir.tensor import Literal

Numerics = Choice["exact", "default", "fast"]
Carried = tuple[Value, ...]
# terms of the blocks that a long sum is cut into, and of a fold around folds that needs more digits than they have
SUM_BLOCK, LONG_OUTER_FOLD = 2048, 512
# the patterns of infinities
INFINITE = {"float": 0x7F800000, "double": 0x7FF0000000000000}


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
    """`initial` enters the loop, `step` makes the next iteration's values, `result` reads the last ones.

    A step takes the values so far and another one; extrema of floats also that one with all that LLVM may see of it, so that it knows
    whether there can be NaN (see folds)."""

    initial: Carried
    step: Callable[..., Carried]
    result: Callable[[Builder, Carried], Value]


def accumulator(
    op: str, dtype: str, flags: Flags, wide: bool, narrow: bool = False, masks: bool = False, across: bool = False
) -> Accumulator:
    """How to fold values of `dtype`; `wide`: sums of floats are carried in float64, of complex numbers in complex128; `narrow`: extrema of
    integers, of one at least, are carried in int32, which holds them all; `masks`: see Abilities; `across`: vectors are of folds beside
    each other, so that extrema of floats are what operations on elements make.  InternalError for an unknown fold."""
    if op not in REDUCE_OPS or (op in ("sum", "prod") and dtype == "bool"):
        raise InternalError(f"codegen: found a fold {op} of {dtype}, expected one of {', '.join(REDUCE_OPS)} (sum, prod: of numbers)")
    if is_float(dtype) and op in ("max", "min") and not across:
        return _extremum(op, dtype, flags, masks)
    inside = ("int32" if narrow else dtype) if op in ("max", "min") else widest(dtype) if wide else carrier(dtype)
    code = code_of(REDUCE_OPS[op].step, inside)

    def step(b: Builder, carried: Carried, value: Value) -> Carried:
        return b.parts(code(b, (b.joined(carried), convert(b, value, dtype, inside)), flags.fold))

    def result(b: Builder, carried: Carried) -> Value:
        return convert(b, b.joined(carried), inside, dtype)

    return Accumulator(_first(op, inside), step, result)


def widest(dtype: str) -> str:
    """The dtype with the most digits of the kind of a float or complex dtype."""
    return "complex128" if is_complex(dtype) else "float64"


def _first(op: str, dtype: str) -> Carried:
    """What a fold starts from, part by part."""
    start = identity_of(op, dtype).item()
    parts = (start.real, start.imag) if is_complex(dtype) else (start,)
    return tuple(literal(Literal(part, part_of(dtype))) for part in parts)


def _extremum(op: str, dtype: str, flags: Flags, masks: bool) -> Accumulator:
    """What has 16 bits is carried in float32."""
    inside = carrier(dtype)
    type, start = LLVM_TYPES[inside], float(identity_of(op, dtype))
    nan = None if flags.ignore_nan else _nan_by_mask() if masks else _nan_by_bits(type)

    def step(b: Builder, carried: Carried, value: Value, shown: Value | None = None) -> Carried:
        shown = convert(b, value if shown is None else shown, dtype, inside)
        value = convert(b, value, dtype, inside)
        fenced = b.emit(type, f"freeze {value}")
        better = b.emit("i1", f"fcmp nnan nsz {'ogt' if op == 'max' else 'olt'} {fenced}, {carried[0].text}")
        best = b.emit(type, f"select nnan nsz {better}, {fenced}, {carried[0]}")
        return (best,) if nan is None else (best, *nan.step(b, carried[1:], shown))

    def result(b: Builder, carried: Carried) -> Value:
        best = b.opaque(carried[0])  # a freeze of it would go back into the loop, and take from LLVM that nothing in it is NaN
        if nan is not None:
            best = b.select(nan.result(b, carried[1:]), real(float("nan"), type), best)
        return convert(b, best, inside, dtype)

    return Accumulator((real(start, type), *(nan.initial if nan is not None else ())), step, result)


def _nan_by_mask() -> Accumulator:
    """Whether a number was NaN, as a truth value."""

    def step(b: Builder, carried: Carried, value: Value) -> Carried:
        return (b.binary("or", carried[0], b.compare("uno", value, value)),)

    return Accumulator((truth(False),), step, lambda b, carried: carried[0])


def _nan_by_bits(type: str) -> Accumulator:
    """Whether a number was NaN: then its pattern without the sign is above that of infinity.

    LLVM packs truth values after every comparison where vectors have no masks.  Where the largest of several patterns takes two
    instructions, as of 64 bits, the signs of differences serve.
    """
    bits = bits_of(type)
    none, infinite, all_but_sign = (integer(pattern, bits) for pattern in (0, INFINITE[type], (1 << int(bits[1:]) - 1) - 1))

    def step(b: Builder, carried: Carried, value: Value) -> Carried:
        pattern = b.binary("and", b.cast("bitcast", value, bits), all_but_sign)
        if type == "float":
            return (b.intrinsic("smax", carried[0], pattern),)
        return (b.binary("or", carried[0], b.binary("sub", infinite, pattern)),)

    def result(b: Builder, carried: Carried) -> Value:
        return b.compare("sgt", carried[0], infinite) if type == "float" else b.compare("slt", carried[0], none)

    return Accumulator((none,), step, result)
