"""exp and tanh."""

from __future__ import annotations

from eqsat.codegen.builder import Builder, Value, bits_of, integer, real
from eqsat.codegen.math.parts import FORMATS, Format, polynomial, power_of_two


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
    return b.binary("fmul", b.binary("fmul", mantissa, power_of_two(b, first, x.type)), power_of_two(b, second, x.type))


def tanh(b: Builder, x: Value) -> Value:
    """Hyperbolic tangent for float32 or float64: x + x z T(z) below 0.625, else 1 - 2/(e^2|x| + 1), with the sign of x."""
    form, type, bits = FORMATS[x.type], x.type, bits_of(x.type)
    size = b.intrinsic("fabs", x)
    capped = b.select(b.compare("ogt", size, real(form.tanh_one, type)), real(form.tanh_one, type), size)
    power, mantissa = _exp_parts(b, b.binary("fadd", capped, capped), form)
    scale = power_of_two(b, b.binary("add", power, integer(form.bias, bits)), type)
    one = real(1.0, type)
    divisor = b.binary("fadd", b.binary("fmul", mantissa, scale), one)
    large = b.binary("fsub", one, b.binary("fdiv", real(2.0, type), divisor))
    square = b.binary("fmul", size, size)
    small = b.intrinsic("fmuladd", b.binary("fmul", size, square), polynomial(b, square, form.tanh), size)
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
    tail = b.intrinsic("fmuladd", b.binary("fmul", r, r), polynomial(b, r, form.exp), r)
    return power, b.binary("fadd", tail, real(1.0, x.type))
