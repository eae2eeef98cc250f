"""log."""

from __future__ import annotations

from eqsat.codegen.builder import Builder, Value, bits_of, integer, real
from eqsat.codegen.math.parts import FORMATS, Format, polynomial, to_real


def log(b: Builder, x: Value) -> Value:
    """Natural logarithm for float32 or float64; log(0) = -inf, log(negative) = nan; denormal numbers are scaled first.

    log(2^e m) = e ln 2 + log(m) with sqrt(1/2) <= m < sqrt(2).
    """
    form, type, bits = FORMATS[x.type], x.type, bits_of(x.type)
    tiny = b.compare("olt", x, real(form.least_normal, type))
    scaled = b.select(tiny, b.binary("fmul", x, real(2.0**form.mantissa, type)), x)
    shifted = b.binary("add", b.cast("bitcast", scaled, bits), integer((form.bias << form.mantissa) - form.sqrt_half_bits, bits))
    exponent = to_real(b, b.binary("lshr", shifted, integer(form.mantissa, bits)), form, type)
    offset = b.select(tiny, real(form.bias + form.mantissa, type), real(form.bias, type))
    exponent = b.binary("fsub", exponent, offset)
    fraction = b.binary("and", shifted, integer((1 << form.mantissa) - 1, bits))
    mantissa = b.cast("bitcast", b.binary("add", fraction, integer(form.sqrt_half_bits, bits)), type)
    result = _log_mantissa(b, b.binary("fsub", mantissa, real(1.0, type)), exponent, form)
    result = b.select(b.compare("olt", x, real(float("inf"), type)), result, x)
    zero = real(0.0, type)
    special = b.select(b.compare("oeq", x, zero), real(float("-inf"), type), real(float("nan"), type))
    return b.select(b.compare("ugt", x, zero), result, special)


def _log_mantissa(b: Builder, f: Value, exponent: Value, form: Format) -> Value:
    """exponent * ln 2 + log(1 + f).

    float32: log(1 + f) = f - f^2/2 + f^3 P(f).  float64, where P would need 20 terms: with s = f/(2 + f),
    log(1 + f) = f - (f^2/2 - s (f^2/2 + s^2 L(s^2))), L(z) = (log((1 + s)/(1 - s))/s - 2)/z  (W. J. Cody; also fdlibm).
    """
    type = f.type
    square = b.binary("fmul", f, f)
    if type == "float":
        rest = b.binary("fmul", b.binary("fmul", f, square), polynomial(b, f, form.log))
        rest = b.intrinsic("fmuladd", exponent, real(form.ln2_tail, type), rest)
        rest = b.intrinsic("fmuladd", square, real(-0.5, type), rest)
        return b.intrinsic("fmuladd", exponent, real(form.ln2_head, type), b.binary("fadd", f, rest))
    half = b.binary("fmul", square, real(0.5, type))
    s = b.binary("fdiv", f, b.binary("fadd", f, real(2.0, type)))
    z = b.binary("fmul", s, s)
    inner = b.intrinsic("fmuladd", z, polynomial(b, z, form.log), half)
    rest = b.intrinsic("fmuladd", s, inner, b.binary("fmul", exponent, real(form.ln2_tail, type)))
    return b.intrinsic("fmuladd", exponent, real(form.ln2_head, type), b.binary("fsub", f, b.binary("fsub", half, rest)))
