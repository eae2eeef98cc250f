"""The floating-point types: their constants, and taking numbers apart and together."""

from __future__ import annotations

from typing import NamedTuple

from eqsat.codegen.math import native
from eqsat.codegen.math.number import Number, Pair, fused, muladd, where


class Format(NamedTuple):
    """ln2_head + ln2_tail = ln 2, few bits in the head, so that its products with exponents are exact (of float64 it is below ln 2, so that
    infinite multiples of both are of one sign); e^x is infinite above and zero below `exp_range`."""

    mantissa: int
    bias: int
    ln2_head: float
    ln2_tail: float
    three_quarters_bits: int
    least_normal: float
    exp_range: tuple[float, float]

    @property
    def sign_bit(self) -> int:
        return 31 if self.mantissa == 23 else 63

    @property
    def rounder(self) -> float:
        """A number to which adding another rounds that to an integer."""
        return 1.5 * 2.0**self.mantissa

    @property
    def rounder_bits(self) -> int:
        return (self.bias + self.mantissa) << self.mantissa | 1 << self.mantissa - 1


FORMATS = {
    "float": Format(23, 127, 0.693359375, -0.00021219444170128554, 0x3F400000, 2.0**-126, (-104.0, 89.0)),
    "double": Format(52, 1023, 0.6931471805582987, 1.6465949582897082e-12, 0x3FE8000000000000, 2.0**-1022, (-746.0, 710.0)),
}


def format_of(x: Number) -> Format:
    return FORMATS[x.type]


class Rounded(NamedTuple):
    """An integer as a float and in binary."""

    real: Number
    binary: Number


def rounded(x: Number, factor: float, plus: float = 0.0) -> Rounded:
    """The integer next to factor * x + plus, which must be small: the sum with the rounder leaves it in the lowest bits."""
    form = format_of(x)
    shifted = muladd(x, factor, form.rounder) if not plus else muladd(x, factor, plus) + form.rounder
    return Rounded(shifted - form.rounder, shifted.bits - form.rounder_bits)


def power_of_two(biased: Number) -> Number:
    """The float whose exponent field is `biased`."""
    mantissa = FORMATS["float" if biased.type == "i32" else "double"].mantissa
    return (biased << mantissa).as_real


def scaled(x: Number, power: Rounded) -> Number:
    """x * 2^power for 0.5 <= |x| < 4, correct also where the result is infinite, denormal or zero.

    Where the host does not scale in one instruction the power is applied in two halves, so that only the last multiplication can round.
    """
    if x.b.abilities.scales:
        return native.scale(x, power.real)
    doubled = power.binary + 2 * format_of(x).bias
    first = doubled >> 1
    return x * power_of_two(first) * power_of_two(doubled - first)


class Parts(NamedTuple):
    """mantissa * 2^exponent, 3/4 <= mantissa < 3/2."""

    mantissa: Number
    exponent: Number


def parts(x: Number) -> Parts:
    """A positive normal number taken apart.

    In single instructions, where the host has them, any number: 0 is 1 * 2^-infinity, infinity 1 * 2^infinity, and NaN stands for the
    mantissa of a negative number.
    """
    if x.b.abilities.scales:
        mantissa = native.mantissa(x)
        return Parts(mantissa, native.exponent(x) - native.exponent(mantissa))
    form = format_of(x)
    shifted = x.bits + ((form.bias << form.mantissa) - form.three_quarters_bits)
    mantissa = ((shifted & ((1 << form.mantissa) - 1)) + form.three_quarters_bits).as_real
    return Parts(mantissa, to_real(shifted >> form.mantissa, form.bias))


def denormal_parts(x: Number) -> Parts:
    """The parts of a positive number, which may be denormal."""
    if x.b.abilities.scales:
        return parts(x)
    form = format_of(x)
    tiny = x < form.least_normal
    mantissa, exponent = parts(where(tiny, x * 2.0**form.mantissa, x))
    return Parts(mantissa, exponent - where(tiny, x.constant(form.mantissa), 0.0))


def near_reciprocal(x: Number) -> Number:
    """1 / x to half of its places and more, for what is far from the ends of the type."""
    if not x.b.abilities.scales:
        return 1 / x
    near = native.reciprocal(x)
    return near if x.type == "float" else muladd(near, fused(-near, x, 1.0), near)


def quotient(a: Number, b: Number) -> Number:
    """a / b within an ulp, far from the ends of the type: divisions of vectors take as long as many other operations."""
    if not a.b.abilities.scales:
        return a / b
    inverse = near_reciprocal(b)
    near = a * inverse
    return muladd(fused(-near, b, a), inverse, near)


def quotient_by_sum(a: Number, b: Pair) -> Number:
    """a / (b.high + b.low) within an ulp, far from the ends of the type."""
    inverse = near_reciprocal(b.high)
    near = a * inverse
    return muladd(muladd(-near, b.low, fused(-near, b.high, a)), inverse, near)


def quotient_of_sum(a: Number, b: Pair) -> Pair:
    """a / (b.high + b.low) without error, far from the ends of the type."""
    high = quotient(a, b.high)
    return Pair(high, (fused(-high, b.high, a) - high * b.low) * near_reciprocal(b.high))


def to_real(x: Number, less: int = 0) -> Number:
    """A small non-negative integer as a number, less another, without the conversion of 64-bit integers that AVX2 lacks."""
    form = FORMATS["float" if x.type == "i32" else "double"]
    return (x | (form.bias + form.mantissa << form.mantissa)).as_real - (2.0**form.mantissa + less)
