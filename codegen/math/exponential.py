"""exp, exp2, expm1 and the hyperbolic functions: 2^n e^r with a small r."""

from __future__ import annotations

from collections.abc import Callable

from eqsat.codegen.math.coefficients import EXP, EXP2, EXP_OF_POSITIVE, SINH
from eqsat.codegen.math.formats import Rounded, format_of, power_of_two, quotient_by_sum, rounded, scaled
from eqsat.codegen.math.number import Number, magnitude, muladd, ordered_sum, polynomial, signed, where, with_sign

# from here on tanh is one; below expm1 is -1
TANH_ONE = {"float": 10.0, "double": 20.0}
EXPM1_LOW = {"float": -20.0, "double": -40.0}


def between(x: Number, low: float, high: float) -> Number:
    """x, or the bound that it lies beyond; NaN stays."""
    x = where(x > high, high, x)
    return where(x < low, low, x)


def reduced(x: Number) -> tuple[Rounded, Number]:
    """n = round(x / ln 2) and r = x - n ln 2."""
    form = format_of(x)
    n = rounded(x, 1.4426950408889634)
    r = muladd(n.real, -form.ln2_head, x)
    return n, muladd(n.real, -form.ln2_tail, r)


def exponential_less_one(r: Number) -> Number:
    """e^r - 1 = r + r^2 Q(r) for |r| <= ln(2)/2."""
    return muladd(r * r, polynomial(r, EXP[r.type]), r)


def exp(x: Number) -> Number:
    """e^x, correct also where the result is infinite, denormal or zero."""
    low, high = format_of(x).exp_range

    def inside(x: Number) -> Number:
        n, r = reduced(where(x > high, high, x))
        return scaled(exponential_less_one(r) + 1, n)

    return _or_zero(x, low, inside)


def exp2(x: Number) -> Number:
    """2^x = 2^n (1 + r Q(r)) with n = round(x)."""
    form = format_of(x)

    def inside(x: Number) -> Number:
        x = where(x > form.bias + 2.0, form.bias + 2.0, x)
        n = rounded(x, 1.0)
        return scaled(power_of_fraction(x - n.real, x.type), n)

    return _or_zero(x, -form.bias - form.mantissa - 3.0, inside)


def _or_zero(x: Number, low: float, function: Callable[[Number], Number]) -> Number:
    """f(x), zero below `low`: the processor takes 25 times as long where a result underflows, and masked scores are full of them.

    A scaling in one instruction is masked by the choice itself; elsewhere what vanishes must not be computed.
    """
    vanishes = x < low
    return where(vanishes, 0, function(x if x.b.abilities.scales else where(vanishes, 0, x)))


def power_of_fraction(r: Number, precision: str) -> Number:
    """2^r for |r| <= 1/2."""
    return muladd(r, polynomial(r, EXP2[precision]), 1.0)


def expm1(x: Number) -> Number:
    """e^x - 1 = 2^n (e^r - 1 + (1 - 2^-n)), where only the small terms are rounded before the last sum."""
    form = format_of(x)
    n, r = reduced(between(x, EXPM1_LOW[x.type], form.exp_range[1]))
    biased = form.bias - n.binary
    total = ordered_sum(1 - power_of_two(where(biased > 0, biased, 0)), r)
    more = muladd(r * r, polynomial(r, EXP[x.type]), total.low)
    return with_sign(scaled(total.high + more, n), x)


def _half_exponential(size: Number) -> Number:
    """e^x / 2, which overflows later than e^x."""
    n, r = reduced(where(size > format_of(size).exp_range[1] + 1, format_of(size).exp_range[1] + 1, size))
    return scaled(exponential_less_one(r) + 1, Rounded(n.real - 1, n.binary - 1))


def sinh(x: Number) -> Number:
    """x + x z S(z) below 1, else h - 1/(4h) with h = e^|x| / 2."""
    size = magnitude(x)
    half = _half_exponential(size)
    square = size * size
    small = muladd(size * square, polynomial(square, SINH[x.type]), size)
    return signed(where(size < 1, small, half - 0.25 / half), x)


def cosh(x: Number) -> Number:
    half = _half_exponential(magnitude(x))
    return half + 0.25 / half


def tanh(x: Number) -> Number:
    """e / (e + 2) with e = e^2|x| - 1 = 2^n (e^r - 1) + 2^n - 1, 0 <= r < ln 2 (of terms of both signs it would lose bits)."""
    form = format_of(x)
    size = magnitude(x)
    doubled = 2 * where(size > TANH_ONE[x.type], TANH_ONE[x.type], size)
    n = (doubled * 1.4426950408889634).function("floor")
    r = muladd(n, -form.ln2_tail, muladd(n, -form.ln2_head, doubled))
    power = power_of_two((n + (form.rounder + form.bias)).bits)
    e = muladd(muladd(r * r, polynomial(r, EXP_OF_POSITIVE[x.type]), r), power, power - 1)
    return signed(quotient_by_sum(e, ordered_sum(2.0, e)), x)
