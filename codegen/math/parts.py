"""What the functions share: the constants of a floating-point type, polynomials, powers of two."""

from __future__ import annotations

from typing import NamedTuple

from eqsat.codegen.builder import Builder, Value, integer, real


class Format(NamedTuple):
    """Constants of a floating-point type; coefficients in ascending powers.

    ln2_head + ln2_tail = ln 2; exp: (e^r - 1 - r)/r^2 on |r| <= ln(2)/2; log: see `_log_mantissa`; tanh: (tanh(x)/x - 1)/z,
    z = x^2, on |x| <= 0.625; exp_range: exp is infinite above and zero below; tanh is one from tanh_one on.
    """

    mantissa: int
    bias: int
    ln2_head: float
    ln2_tail: float
    sqrt_half_bits: int
    least_normal: float
    exp_range: tuple[float, float]
    tanh_one: float
    exp: tuple[float, ...]
    log: tuple[float, ...]
    tanh: tuple[float, ...]


FORMATS = {
    "float": Format(
        mantissa=23,
        bias=127,
        ln2_head=0.693359375,
        ln2_tail=-0.00021219444170128554,
        sqrt_half_bits=0x3F3504F3,
        least_normal=2.0**-126,
        exp_range=(-104.0, 89.0),
        tanh_one=10.0,
        exp=(0.4999999403953552, 0.1666652113199234, 0.04166838899254799, 0.008368716575205326, 0.0013814611593261361),
        log=(
            *(0.3333333134651184, -0.250008225440979, 0.20001226663589478, -0.16623356938362122),
            *(0.14201751351356506, -0.13160184025764465, 0.12761621177196503, -0.07634547352790833),
        ),
        tanh=(-0.3333328366279602, 0.13331490755081177, -0.05374349653720856, 0.020650584250688553, -0.005717041436582804),
    ),
    "double": Format(
        mantissa=52,
        bias=1023,
        ln2_head=0.6931471806019545,
        ln2_tail=-4.2009150726810846e-11,
        sqrt_half_bits=0x3FE6A09E667F3BCD,
        least_normal=2.0**-1022,
        exp_range=(-746.0, 710.0),
        tanh_one=20.0,
        exp=(
            *(0.5000000000000011, 0.16666666666666413, 0.04166666666653016, 0.008333333333494555, 0.0013888888943629745),
            *(0.00019841269506377436, 2.480149309891094e-05, 2.7557586548670366e-06, 2.7630248485211643e-07, 2.500000833243082e-08),
        ),
        log=(
            *(0.6666666666666734, 0.39999999999414654, 0.28571428742391597, 0.2222219857284058, 0.18183564342216418),
            *(0.1531405016237555, 0.1479595352397251),
        ),
        tanh=(
            *(-0.33333333333332876, 0.13333333333264918, -0.05396825393248354, 0.021869487601993937, -0.008863221319634724),
            *(0.0035919915736044136, -0.0014549704905234726, 0.0005863525303343115, -0.00022863333239210693),
            *(7.721928036474851e-05, -1.610759417784638e-05),
        ),
    ),
}


def polynomial(b: Builder, x: Value, coefficients: tuple[float, ...]) -> Value:
    """Horner's scheme: vectorized loops are bound by throughput, not by its chain."""
    result = real(coefficients[-1], x.type)
    for coefficient in reversed(coefficients[:-1]):
        result = b.intrinsic("fmuladd", result, x, real(coefficient, x.type))
    return result


def power_of_two(b: Builder, biased: Value, type: str) -> Value:
    """The number whose exponent field is `biased`."""
    return b.cast("bitcast", b.binary("shl", biased, integer(FORMATS[type].mantissa, biased.type)), type)


def to_real(b: Builder, value: Value, form: Format, type: str) -> Value:
    """A small non-negative integer as a number, without the conversion of 64-bit integers that AVX2 lacks."""
    magic = form.bias + form.mantissa << form.mantissa
    number = b.cast("bitcast", b.binary("or", value, integer(magic, value.type)), type)
    return b.binary("fsub", number, real(2.0**form.mantissa, type))
