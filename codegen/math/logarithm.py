"""log, log2, log10, log1p and the inverse hyperbolic functions: x = 2^e (1 + f), log x = e ln 2 + log(1 + f).

log(1 + f) = f - (f^2/2 - R): float32, R = f^3 P(f); float64, where P would need 20 terms, R = s (f^2/2 + s^2 L(s^2)) with
s = f/(2 + f), L(z) = (log((1 + s)/(1 - s))/s - 2)/z  (W. J. Cody; also fdlibm).
"""

from __future__ import annotations

import math

from eqsat.codegen.math import native
from eqsat.codegen.math.coefficients import ARCSINH, LOG32, LOG64
from eqsat.codegen.math.formats import denormal_parts, format_of, parts, power_of_two, quotient, quotient_of_sum
from eqsat.codegen.math.number import (
    Number,
    Pair,
    magnitude,
    muladd,
    ordered_sum,
    polynomial,
    root,
    signed,
    sum_of,
    where,
    with_sign,
)

# heads of half the bits, so that their products with numbers of half the bits are exact
LOG2_E = {"float": (1.4423828125, 0.00031222839606925845), "double": (1.4426950216293335, 1.9259629911266175e-08)}
LOG10_E = {"float": (0.4342041015625, 9.038033749675378e-05), "double": (0.4342944771051407, 4.798111141615973e-09)}
# heads of 15 and 41 bits, so that their products with exponents are exact
LOG10_2 = {"float": (0.301025390625, 4.605039066518657e-06), "double": (0.30102999566383914, 1.42050232272661e-13)}


def split(x: Number) -> tuple[Number, Number]:
    """f and e of a positive number (1 + f) 2^e."""
    mantissa, exponent = denormal_parts(x)
    return mantissa - 1, exponent


def defined(result: Number, x: Number) -> Number:
    """The result where x is positive and finite; infinity of infinity, -infinity of zero, else NaN.

    Sums with zero and bits beside bits, for processors choose between numbers where they multiply, but add and combine bits elsewhere.
    Where single instructions take numbers apart the result is right as it is.
    """
    if x.b.abilities.scales:
        return result
    result = result + where(x < math.inf, 0.0, x) + where(x.equals(0), x.constant(-math.inf), 0.0)
    none = result.bits.constant(0)
    return (result.bits | where(x < 0, none.constant(-1), none)).as_real


def log(x: Number) -> Number:
    """Natural logarithm; log(0) = -inf, log(negative) = nan."""
    f, e = split(x)
    square, form = f * f, format_of(x)
    if x.type == "float" and x.b.abilities.fuses:  # one ln 2 of 24 bits is near enough where its product is not rounded
        return defined(muladd(e, math.log(2), muladd(square, muladd(f, polynomial(f, LOG32), -0.5), f)), x)
    rest = muladd(e, form.ln2_tail, _rest(f, square))
    return defined(muladd(e, form.ln2_head, f - (square * 0.5 - rest)), x)


def _rest(f: Number, square: Number) -> Number:
    """log(1 + f) - f + f^2/2."""
    if f.type == "float":
        return f * square * polynomial(f, LOG32)
    s = quotient(f, f + 2)
    z = s * s
    return s * muladd(z, polynomial(z, LOG64), square * 0.5)


def log2(x: Number) -> Number:
    """e + log(1 + f) log2(e), whose large part may cancel with e and is not rounded before."""
    f, e = split(x)
    head = LOG2_E[x.type][0]
    large, rest = _times(f, LOG2_E[x.type])
    product = large * head
    return defined((e + product) + (muladd(large, head, -product) + rest), x)


def log10(x: Number) -> Number:
    """e log10(2) + log(1 + f) log10(e)."""
    f, e = split(x)
    head, tail = LOG10_2[x.type]
    large, rest = _times(f, LOG10_E[x.type])
    return defined(muladd(e, head, muladd(e, tail, muladd(large, LOG10_E[x.type][0], rest))), x)


def _times(f: Number, factor: tuple[float, float]) -> tuple[Number, Number]:
    """g and h with g * head + h = log(1 + f) * (head + tail), where g is f, or so much of it that its product with the head is exact."""
    square = f * f
    head, tail = factor
    small = muladd(f, tail, (_rest(f, square) - square * 0.5) * (head + tail))
    if f.b.abilities.fuses:
        return f, small
    large = (f.bits & -1 << format_of(f).mantissa // 2 + 1).as_real
    return large, (f - large) * head + small


def log1p(x: Number) -> Number:
    """log(1 + x)."""
    result = _log1p(Pair(x, x.constant(0)))
    result = where(x < math.inf, result, x)
    result = where(x > -1, result, where(x.equals(-1), x.constant(-math.inf), x.constant(math.nan)))
    return with_sign(result, x)


def _log1p(x: Pair) -> Number:
    """log(1 + x) for x > -1: 1 + x = u + c, and log(u + c) = log(u) + c/u."""
    u, c = sum_of(1.0, x.high)
    form = format_of(u)
    mantissa, e = parts(u)
    f = mantissa - 1
    square = f * f
    rest = muladd(e, form.ln2_tail, muladd(c + x.low, _rough_reciprocal(f, e), _rest(f, square)))
    return muladd(e, form.ln2_head, f - (square * 0.5 - rest))


def _rough_reciprocal(f: Number, e: Number) -> Number:
    """2^-e / (1 + f), the better the smaller f is."""
    near = muladd(f, f - 1, 1.0)
    if f.b.abilities.scales:
        return native.scale(near, -e)
    form = format_of(f)
    biased = form.bias - ((e + form.rounder).bits - form.rounder_bits)
    return near * power_of_two(where(biased > 0, biased, 0))


def _large(x: Number) -> Number:
    """Whether x + 1 is x, and sqrt(x^2 + 1)."""
    return x > 8.0 * 2.0 ** format_of(x).mantissa


def arcsinh(x: Number) -> Number:
    """x + x z A(z) below 1/2, else log1p(x + x^2 / (1 + sqrt(x^2 + 1))), and log(x) + ln 2 for large x."""
    size = magnitude(x)
    square = size * size
    large = _large(size)
    inner = ordered_sum(size, where(large, size.constant(0), quotient(square, root(square + 1) + 1)))
    result = _log1p(inner) + where(large, size.constant(math.log(2)), 0)
    result = where(size < 0.5, muladd(size * square, polynomial(square, ARCSINH[x.type]), size), result)
    return signed(where(size < math.inf, result, size), x)


def arccosh(x: Number) -> Number:
    """log1p(t + sqrt(t (t + 2))), t = x - 1; log(x) + ln 2 for large x, NaN below one."""
    large = _large(x)
    t = x - 1
    inner = ordered_sum(where(large, x, root(muladd(t, t, t + t))), where(large, x.constant(0), t))
    result = _log1p(inner) + where(large, x.constant(math.log(2)), 0)
    result = where(x < math.inf, result, x)
    return where(x >= 1, result, x.constant(math.nan))


def arctanh(x: Number) -> Number:
    """log1p(2x / (1 - x)) / 2; NaN beyond one."""
    size = magnitude(x)
    result = _log1p(quotient_of_sum(size + size, ordered_sum(1.0, -size))) * 0.5
    result = where(size < 1, result, where(size.equals(1), size.constant(math.inf), size.constant(math.nan)))
    return with_sign(where(size.equals(0), size, result), x)
