"""Numbers under construction: arithmetic on them writes the instructions of a builder, without fast-math flags."""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from eqsat.codegen.builder import Builder, Value, bits_of, integer, is_real, real

REAL_OF_BITS = {"i32": "float", "i64": "double"}


class Number:
    """A float, an integer or a truth value; Python numbers beside it become constants of its type."""

    __slots__ = ("b", "value")

    def __init__(self, b: Builder, value: Value) -> None:
        self.b = b
        self.value = value

    @property
    def type(self) -> str:
        return self.value.type

    def constant(self, value: float) -> Number:
        """A constant of the same type."""
        return Number(self.b, real(value, self.type) if is_real(self.type) else integer(int(value), self.type))

    def _lift(self, other: Number | float) -> Value:
        return other.value if isinstance(other, Number) else self.constant(other).value

    def _binary(self, on_reals: str, on_integers: str, other: Number | float) -> Number:
        return Number(self.b, self.b.binary(on_reals if is_real(self.type) else on_integers, self.value, self._lift(other)))

    def _compare(self, on_reals: str, on_integers: str, other: Number | float) -> Number:
        return Number(self.b, self.b.compare(on_reals if is_real(self.type) else on_integers, self.value, self._lift(other)))

    def __add__(self, other: Number | float) -> Number:
        return self._binary("fadd", "add", other)

    def __radd__(self, other: float) -> Number:
        return self.constant(other) + self

    def __sub__(self, other: Number | float) -> Number:
        return self._binary("fsub", "sub", other)

    def __rsub__(self, other: float) -> Number:
        return self.constant(other) - self

    def __mul__(self, other: Number | float) -> Number:
        return self._binary("fmul", "mul", other)

    def __rmul__(self, other: float) -> Number:
        return self.constant(other) * self

    def __truediv__(self, other: Number | float) -> Number:
        return self._binary("fdiv", "", other)

    def __rtruediv__(self, other: float) -> Number:
        return self.constant(other) / self

    def __neg__(self) -> Number:
        return Number(self.b, self.b.negate(self.value))

    def __and__(self, other: Number | int) -> Number:
        return self._binary("", "and", other)

    def __or__(self, other: Number | int) -> Number:
        return self._binary("", "or", other)

    def __xor__(self, other: Number | int) -> Number:
        return self._binary("", "xor", other)

    def __invert__(self) -> Number:
        return self ^ -1

    def __lshift__(self, other: Number | int) -> Number:
        return self._binary("", "shl", other)

    def __rshift__(self, other: Number | int) -> Number:
        return self._binary("", "lshr", other)

    def __lt__(self, other: Number | float) -> Number:
        return self._compare("olt", "slt", other)

    def __le__(self, other: Number | float) -> Number:
        return self._compare("ole", "sle", other)

    def __gt__(self, other: Number | float) -> Number:
        return self._compare("ogt", "sgt", other)

    def __ge__(self, other: Number | float) -> Number:
        return self._compare("oge", "sge", other)

    def equals(self, other: Number | float) -> Number:
        return self._compare("oeq", "eq", other)

    @property
    def is_nan(self) -> Number:
        return self._compare("uno", "", self)

    @property
    def known(self) -> float | None:
        """The value of a constant."""
        pattern = self.value.text.removeprefix("splat (").removesuffix(")").rpartition(" ")[2]
        return struct.unpack("<d", bytes.fromhex(pattern[2:])[::-1])[0] if re.fullmatch("0x[0-9A-F]{16}", pattern) else None

    @property
    def bits(self) -> Number:
        """The pattern of a float as an integer."""
        return Number(self.b, self.b.cast("bitcast", self.value, bits_of(self.type)))

    @property
    def as_real(self) -> Number:
        """The float of this pattern."""
        return Number(self.b, self.b.cast("bitcast", self.value, REAL_OF_BITS[self.type]))

    def to(self, type: str) -> Number:
        """The same float, rounded where `type` is narrower."""
        if type == self.type:
            return self
        return Number(self.b, self.b.cast("fpext" if type == "double" else "fptrunc", self.value, type))

    def function(self, name: str, *others: Number | float) -> Number:
        """An intrinsic of LLVM."""
        return Number(self.b, self.b.intrinsic(name, self.value, *(self._lift(other) for other in others)))


def where(condition: Number, yes: Number | float, no: Number | float) -> Number:
    """One of the two, of which one at least is no Python number."""
    like = yes if isinstance(yes, Number) else no
    assert isinstance(like, Number)
    both = (one if isinstance(one, Number) else like.constant(one) for one in (yes, no))
    return Number(condition.b, condition.b.select(condition.value, *(one.value for one in both)))


def magnitude(x: Number) -> Number:
    return x.function("fabs")


def with_sign(x: Number, sign: Number) -> Number:
    """x with the sign of another."""
    return x.function("copysign", sign)


def signed(size: Number, sign: Number) -> Number:
    """with_sign of what has no sign itself, in one operation less."""
    bits = sign.bits
    return (size.bits | (bits & (-1 << (31 if bits.type == "i32" else 63)))).as_real


def root(x: Number) -> Number:
    return x.function("sqrt")


def muladd(a: Number, b: Number | float, c: Number | float) -> Number:
    """a * b + c, rounded once where the host has an instruction for it."""
    return a.function("fmuladd", b, c)


def fused(a: Number, b: Number | float, c: Number | float) -> Number:
    """a * b + c, rounded once."""
    return a.function("fma", b, c)


def polynomial(x: Number, coefficients: tuple[float, ...]) -> Number:
    """Horner's scheme: vectorized loops are bound by throughput, not by its chain, and shorter chains cost up to an ulp."""
    result = x.constant(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = muladd(result, x, coefficient)
    return result


class Pair(NamedTuple):
    """An unevaluated sum, `low` below the last place of `high`."""

    high: Number
    low: Number


def product(a: Number, b: Number) -> Pair:
    """a * b without error."""
    high = a * b
    return Pair(high, fused(a, b, -high))


def ordered_sum(a: Number | float, b: Number) -> Pair:
    """a + b without error, for |a| >= |b| or a = 0 (T. J. Dekker, 1971)."""
    high = a + b
    return Pair(high, b - (high - a))


def sum_of(a: Number | float, b: Number) -> Pair:
    """a + b without error (D. E. Knuth)."""
    high = a + b
    part = high - a
    return Pair(high, (a - (high - part)) + (b - part))
