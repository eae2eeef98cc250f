"""The floating-point types: their constants, and taking numbers apart and together."""

from __future__ import annotations

from typing import NamedTuple

from eqsat.codegen.math.number import Number, muladd


class Format(NamedTuple):
    """ln2_head + ln2_tail = ln 2, few bits in the head, so that its products with exponents are exact; e^x is infinite above
    and zero below `exp_range`."""

    mantissa: int
    bias: int
    ln2_head: float
    ln2_tail: float
    sqrt_half_bits: int
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
    "float": Format(23, 127, 0.693359375, -0.00021219444170128554, 0x3F3504F3, 2.0**-126, (-104.0, 89.0)),
    "double": Format(52, 1023, 0.6931471806019545, -4.2009150726810846e-11, 0x3FE6A09E667F3BCD, 2.0**-1022, (-746.0, 710.0)),
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


def scaled(x: Number, power: Number) -> Number:
    """x * 2^power for 0.5 <= |x| < 4, correct also where the result is infinite, denormal or zero.

    Where the host does not scale in one instruction the power is applied in two halves, so that only the last multiplication can round.
    """
    b = x.b
    if b.abilities.scales:
        return Number(b, b.scale(x.value, power.value if power.type == "i32" else b.cast("trunc", power.value, "i32")))
    doubled = power + 2 * format_of(x).bias
    first = doubled >> 1
    return x * power_of_two(first) * power_of_two(doubled - first)


class Parts(NamedTuple):
    """(1 + fraction) * 2^exponent, sqrt(1/2) <= 1 + fraction < sqrt(2)."""

    fraction: Number
    exponent: Number


def parts(x: Number) -> Parts:
    """A positive normal number taken apart."""
    form = format_of(x)
    shifted = x.bits + ((form.bias << form.mantissa) - form.sqrt_half_bits)
    mantissa = ((shifted & ((1 << form.mantissa) - 1)) + form.sqrt_half_bits).as_real
    return Parts(mantissa - 1, to_real(shifted >> form.mantissa, form.bias))


def to_real(x: Number, less: int = 0) -> Number:
    """A small non-negative integer as a number, less another, without the conversion of 64-bit integers that AVX2 lacks."""
    form = FORMATS["float" if x.type == "i32" else "double"]
    return (x | (form.bias + form.mantissa << form.mantissa)).as_real - (2.0**form.mantissa + less)
