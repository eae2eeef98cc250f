"""exp, log and tanh as straight-line code that LLVM vectorizes in whatever loop surrounds it.

No calls, no branches, no tables; every instruction is written without fast-math flags (the reductions of the argument rely
on the order of operations), multiply-adds go through llvm.fmuladd: fused where the machine can, exact enough where not.
Coefficients: minimax polynomials of the remainders named below for the relative error of the function, by the Remez
exchange in 60-digit arithmetic, each rounded to the type.  Errors measured by tests/codegen/test_math.py: below 2 ulp.
The reductions are those of W. J. Cody and W. Waite, Software Manual for the Elementary Functions (1980): a period split
into a head of few bits, whose multiples are exact, and a tail.
"""

from __future__ import annotations

from typing import NamedTuple

from eqsat.codegen.builder import Builder, Value, bits_of, integer, real


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


def exp(b: Builder, x: Value) -> Value:
    """e^x for float32 or float64, correct also where the result is infinite, denormal or zero.

    e^x = 2^n (1 + r + r^2 Q(r)) with n = round(x / ln 2).  Where the host does not scale in one instruction the power of
    two is applied in two halves, so that only the last multiplication can round.
    """
    form = FORMATS[x.type]
    bits = bits_of(x.type)
    low, high = (real(end, x.type) for end in form.exp_range)
    x = b.select(b.compare("ogt", x, high), high, x)
    x = b.select(b.compare("olt", x, low), low, x)
    power, mantissa = _exp_parts(b, x, form)
    if b.scales:
        return b.scale(mantissa, power if bits == "i32" else b.cast("trunc", power, "i32"))
    doubled = b.binary("add", power, integer(2 * form.bias, bits))
    first = b.binary("lshr", doubled, integer(1, bits))
    second = b.binary("sub", doubled, first)
    return b.binary("fmul", b.binary("fmul", mantissa, _power_of_two(b, first, x.type)), _power_of_two(b, second, x.type))


def log(b: Builder, x: Value) -> Value:
    """Natural logarithm for float32 or float64; log(0) = -inf, log(negative) = nan; denormal numbers are scaled first.

    log(2^e m) = e ln 2 + log(m) with sqrt(1/2) <= m < sqrt(2).
    """
    form, type, bits = FORMATS[x.type], x.type, bits_of(x.type)
    tiny = b.compare("olt", x, real(form.least_normal, type))
    scaled = b.select(tiny, b.binary("fmul", x, real(2.0**form.mantissa, type)), x)
    shifted = b.binary("add", b.cast("bitcast", scaled, bits), integer((form.bias << form.mantissa) - form.sqrt_half_bits, bits))
    exponent = _to_real(b, b.binary("lshr", shifted, integer(form.mantissa, bits)), form, type)
    offset = b.select(tiny, real(form.bias + form.mantissa, type), real(form.bias, type))
    exponent = b.binary("fsub", exponent, offset)
    fraction = b.binary("and", shifted, integer((1 << form.mantissa) - 1, bits))
    mantissa = b.cast("bitcast", b.binary("add", fraction, integer(form.sqrt_half_bits, bits)), type)
    result = _log_mantissa(b, b.binary("fsub", mantissa, real(1.0, type)), exponent, form)
    result = b.select(b.compare("olt", x, real(float("inf"), type)), result, x)
    zero = real(0.0, type)
    special = b.select(b.compare("oeq", x, zero), real(float("-inf"), type), real(float("nan"), type))
    return b.select(b.compare("ugt", x, zero), result, special)


def tanh(b: Builder, x: Value) -> Value:
    """Hyperbolic tangent for float32 or float64: x + x z T(z) below 0.625, else 1 - 2/(e^2|x| + 1), with the sign of x."""
    form, type, bits = FORMATS[x.type], x.type, bits_of(x.type)
    size = b.intrinsic("fabs", x)
    capped = b.select(b.compare("ogt", size, real(form.tanh_one, type)), real(form.tanh_one, type), size)
    power, mantissa = _exp_parts(b, b.binary("fadd", capped, capped), form)
    scale = _power_of_two(b, b.binary("add", power, integer(form.bias, bits)), type)
    one = real(1.0, type)
    divisor = b.binary("fadd", b.binary("fmul", mantissa, scale), one)
    large = b.binary("fsub", one, b.binary("fdiv", real(2.0, type), divisor))
    square = b.binary("fmul", size, size)
    small = b.intrinsic("fmuladd", b.binary("fmul", size, square), _polynomial(b, square, form.tanh), size)
    return b.intrinsic("copysign", b.select(b.compare("olt", size, real(0.625, type)), small, large), x)


def _exp_parts(b: Builder, x: Value, form: Format) -> tuple[Value, Value]:
    """n = round(x / ln 2) as an integer and e^(x - n ln 2).

    Adding 1.5 * 2^mantissa rounds to an integer and leaves n in the low bits of the sum.
    """
    bits = bits_of(x.type)
    magic = 1.5 * 2.0**form.mantissa
    rounded = b.intrinsic("fmuladd", x, real(1.4426950408889634, x.type), real(magic, x.type))
    magic_bits = (form.bias + form.mantissa) << form.mantissa | 1 << form.mantissa - 1
    power = b.binary("sub", b.cast("bitcast", rounded, bits), integer(magic_bits, bits))
    n = b.binary("fsub", rounded, real(magic, x.type))
    r = b.intrinsic("fmuladd", n, real(-form.ln2_head, x.type), x)
    r = b.intrinsic("fmuladd", n, real(-form.ln2_tail, x.type), r)
    tail = b.intrinsic("fmuladd", b.binary("fmul", r, r), _polynomial(b, r, form.exp), r)
    return power, b.binary("fadd", tail, real(1.0, x.type))


def _log_mantissa(b: Builder, f: Value, exponent: Value, form: Format) -> Value:
    """exponent * ln 2 + log(1 + f).

    float32: log(1 + f) = f - f^2/2 + f^3 P(f).  float64, where P would need 20 terms: with s = f/(2 + f),
    log(1 + f) = f - (f^2/2 - s (f^2/2 + s^2 L(s^2))), L(z) = (log((1 + s)/(1 - s))/s - 2)/z  (W. J. Cody; also fdlibm).
    """
    type = f.type
    square = b.binary("fmul", f, f)
    if type == "float":
        rest = b.binary("fmul", b.binary("fmul", f, square), _polynomial(b, f, form.log))
        rest = b.intrinsic("fmuladd", exponent, real(form.ln2_tail, type), rest)
        rest = b.intrinsic("fmuladd", square, real(-0.5, type), rest)
        return b.intrinsic("fmuladd", exponent, real(form.ln2_head, type), b.binary("fadd", f, rest))
    half = b.binary("fmul", square, real(0.5, type))
    s = b.binary("fdiv", f, b.binary("fadd", f, real(2.0, type)))
    z = b.binary("fmul", s, s)
    inner = b.intrinsic("fmuladd", z, _polynomial(b, z, form.log), half)
    rest = b.intrinsic("fmuladd", s, inner, b.binary("fmul", exponent, real(form.ln2_tail, type)))
    return b.intrinsic("fmuladd", exponent, real(form.ln2_head, type), b.binary("fsub", f, b.binary("fsub", half, rest)))


def _polynomial(b: Builder, x: Value, coefficients: tuple[float, ...]) -> Value:
    """Horner's scheme: vectorized loops are bound by throughput, not by its chain."""
    result = real(coefficients[-1], x.type)
    for coefficient in reversed(coefficients[:-1]):
        result = b.intrinsic("fmuladd", result, x, real(coefficient, x.type))
    return result


def _power_of_two(b: Builder, biased: Value, type: str) -> Value:
    """The number whose exponent field is `biased`."""
    return b.cast("bitcast", b.binary("shl", biased, integer(FORMATS[type].mantissa, biased.type)), type)


def _to_real(b: Builder, value: Value, form: Format, type: str) -> Value:
    """A small non-negative integer as a number, without the conversion of 64-bit integers that AVX2 lacks."""
    magic = form.bias + form.mantissa << form.mantissa
    number = b.cast("bitcast", b.binary("or", value, integer(magic, value.type)), type)
    return b.binary("fsub", number, real(2.0**form.mantissa, type))
