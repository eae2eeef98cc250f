"""log, log2, log10, log1p and the inverse hyperbolic functions: x = 2^e (1 + f), log x = e ln 2 + log(1 + f).

float64, where a polynomial in f would need 20 terms: with s = f/(2 + f), log(1 + f) = f - (f^2/2 - s (f^2/2 + s^2 L(s^2))),
L(z) = (log((1 + s)/(1 - s))/s - 2)/z  (W. J. Cody; also fdlibm).  log of float32 is computed in float32, the others in float64.
"""

from __future__ import annotations

import math

from eqsat.codegen.math.coefficients import ARCSINH, LOG, LOG32, LOG64
from eqsat.codegen.math.formats import FORMATS, Parts, format_of, parts, power_of_two
from eqsat.codegen.math.number import (
    Number,
    Pair,
    fused,
    magnitude,
    muladd,
    ordered_sum,
    polynomial,
    product,
    root,
    sum_of,
    where,
    with_sign,
)

LOG2_E = (1.4426950408889634, 2.0355273740931033e-17)
LOG10_E = (0.4342944819032518, 1.098319650216765e-17)
# the head has 41 bits, so that its products with exponents are exact
LOG10_2 = (0.30102999566383914, 1.42050232272661e-13)
# from here on x + 1 is x, and sqrt(x^2 + 1)
LARGE = 2.0**54


def split(x: Number) -> Parts:
    """The parts of a positive number; denormal ones are scaled first."""
    form = format_of(x)
    tiny = x < form.least_normal
    offset = where(tiny, x.constant(form.bias + form.mantissa), x.constant(form.bias))
    return parts(where(tiny, x * 2.0**form.mantissa, x), offset)


def defined(result: Number, x: Number) -> Number:
    """The result where x is positive and finite; infinity of infinity, -infinity of zero, else NaN."""
    result = where(x < math.inf, result, x)
    return where(x > 0, result, where(x.equals(0), x.constant(-math.inf), x.constant(math.nan)))


def log(x: Number) -> Number:
    """Natural logarithm; log(0) = -inf, log(negative) = nan."""
    f, e = split(x)
    form = format_of(x)
    if x.type == "float":
        square = f * f
        rest = f * square * polynomial(f, LOG32)
        rest = muladd(e, form.ln2_tail, rest)
        rest = muladd(square, -0.5, rest)
        return defined(muladd(e, form.ln2_head, f + rest), x)
    half, rest = _quotient_terms(f)
    rest = muladd(e, form.ln2_tail, rest)
    return defined(muladd(e, form.ln2_head, f - (half - rest)), x)


def _quotient_terms(f: Number) -> tuple[Number, Number]:
    """f^2/2 and s (f^2/2 + s^2 L(s^2)): their difference is f - log(1 + f)."""
    half = f * f * 0.5
    s = f / (f + 2)
    z = s * s
    return half, s * muladd(z, polynomial(z, LOG64), half)


def log2(x: Number) -> Number:
    """e + log(1 + f) log2(e)."""
    if x.type == "float":
        wide = x.to("double")
        f, e = parts(wide)
        return defined(muladd(_short(f), LOG2_E[0], e).to("float"), x)
    f, e = split(x)
    high, low = _product(_logarithm(f), LOG2_E)
    total = ordered_sum(e, high)
    return defined(total.high + (total.low + low), x)


def log10(x: Number) -> Number:
    """e log10(2) + log(1 + f) log10(e)."""
    if x.type == "float":
        wide = x.to("double")
        f, e = parts(wide)
        return defined(muladd(_short(f), LOG10_E[0], e * math.log10(2)).to("float"), x)
    f, e = split(x)
    high, low = _product(_logarithm(f), LOG10_E)
    total = ordered_sum(e * LOG10_2[0], high)
    return defined(total.high + (total.low + muladd(e, LOG10_2[1], low)), x)


def _short(f: Number) -> Number:
    """log(1 + f) in float64, as exact as float32 needs it."""
    return f * polynomial(f, LOG["float"])


def _logarithm(f: Number) -> Pair:
    """log(1 + f) to some bits more than float64 has."""
    square = product(f, f)
    s = f / (f + 2)
    z = s * s
    head = ordered_sum(f, square.high * -0.5)
    rest = s * muladd(z, polynomial(z, LOG64), square.high * 0.5)
    return Pair(head.high, head.low + muladd(square.low, -0.5, rest))


def _product(a: Pair, b: tuple[float, float]) -> Pair:
    exact = product(a.high, a.high.constant(b[0]))
    return Pair(exact.high, muladd(a.low, b[0], muladd(a.high, b[1], exact.low)))


def log1p(x: Number) -> Number:
    """log(1 + x)."""
    wide = x.to("double")
    result = _log1p(Pair(wide, wide.constant(0)), x.type).to(x.type)
    result = where(x < math.inf, result, x)
    result = where(x > -1, result, where(x.equals(-1), x.constant(-math.inf), x.constant(math.nan)))
    return where(x.equals(0), x, result)


def _log1p(x: Pair, precision: str) -> Number:
    """log(1 + x) of a float64 > -1: 1 + x = u + c, and log(u + c) = log(u) + c/u."""
    u, c = sum_of(1.0, x.high)
    f, e = parts(u)
    if precision == "float":
        # beyond two what 1 + x lost is nothing, and need not be divided by it where it is not
        return muladd(e, math.log(2), _short(f) + where(u < 2, c, 0))
    form = FORMATS["double"]
    half, rest = _quotient_terms(f)
    # c / u = 2^-e c / (1 + f), of which few bits suffice: 1/(1 + f) = (1 - s)/(1 + s) with s = f / (2 + f)
    biased = form.bias - ((e + form.rounder).bits - form.rounder_bits)
    s = f * muladd(f, -0.25, 0.5)
    small = (c + x.low) * power_of_two(where(biased > 0, biased, 0)) * (1 - 2 * s * (1 - s))
    rest = muladd(e, form.ln2_tail, rest + small)
    return muladd(e, form.ln2_head, f - (half - rest))


def arcsinh(x: Number) -> Number:
    """x + x z A(z) below 1/2, else log1p(x + x^2 / (1 + sqrt(x^2 + 1))), and log(x) + ln 2 for large x."""
    size = magnitude(x).to("double")
    square = size * size
    large = size > LARGE
    inner = ordered_sum(size, where(large, size.constant(0), square / (root(square + 1) + 1)))
    result = _log1p(inner, x.type) + where(large, size.constant(math.log(2)), 0)
    result = where(size < 0.5, muladd(size * square, polynomial(square, ARCSINH[x.type]), size), result)
    return with_sign(where(size < math.inf, result, size).to(x.type), x)


def arccosh(x: Number) -> Number:
    """log1p(t + sqrt(t (t + 2))), t = x - 1; log(x) + ln 2 for large x, NaN below one."""
    wide = x.to("double")
    large = wide > LARGE
    t = wide - 1
    inner = ordered_sum(where(large, wide, root(muladd(t, t, t + t))), where(large, wide.constant(0), t))
    result = _log1p(inner, x.type) + where(large, wide.constant(math.log(2)), 0)
    result = where(wide < math.inf, result, wide)
    return where(wide >= 1, result, wide.constant(math.nan)).to(x.type)


def arctanh(x: Number) -> Number:
    """log1p(2x / (1 - x)) / 2; NaN beyond one."""
    size = magnitude(x).to("double")
    divisor = ordered_sum(1.0, -size)
    inverse = 1 / divisor.high
    quotient = (size + size) * inverse
    low = (fused(-quotient, divisor.high, size + size) - quotient * divisor.low) * inverse
    result = _log1p(Pair(quotient, low), x.type) * 0.5
    result = where(size < 1, result, where(size.equals(1), size.constant(math.inf), size.constant(math.nan)))
    return with_sign(where(size.equals(0), size, result).to(x.type), x)
