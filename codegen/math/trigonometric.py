"""sin, cos, tan and their inverses.

A multiple of pi/2 is taken from the argument exactly enough as three floats that add up to pi/2, for |x| up to 2^17 (float32) and 2^30
(float64) (W. J. Cody and W. Waite); beyond that, where it is hard and rare, the C library does it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from eqsat.codegen.math.coefficients import ARCSIN, ARCTAN, COS, SIN, TAN
from eqsat.codegen.math.formats import format_of, near_reciprocal, rounded
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
    signed,
    sum_of,
    where,
    with_sign,
)
from eqsat.codegen.math.rare import unless_huge

# beyond it three floats are too few
HUGE = {"float": 2.0**17, "double": 2.0**30}
HALF_PI = {
    "float": (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    "double": (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
}


class Reduced(NamedTuple):
    """r = |x| - n pi/2, |r| <= pi/4, and what is lost of it (`low`); its square; n."""

    r: Number
    low: Number
    square: Number
    quarters: Number


class Turned(NamedTuple):
    """sin(r) and cos(r) of r = |x| - n pi/2, |r| <= pi/4."""

    sine: Pair
    cosine: Pair
    quarters: Number


def sin(x: Number) -> Number:
    """sin(r), cos(r), -sin(r), -cos(r) by the quarter, negated for negative x."""
    sine, cosine, n = _turned(x)
    result = where((n & 1).equals(0), sine.high, cosine.high)
    return unless_huge("sin", (x,), x, HUGE, _negated_if(n & 2, result, x))


def cos(x: Number) -> Number:
    """cos(r), -sin(r), -cos(r), sin(r) by the quarter."""
    sine, cosine, n = _turned(x)
    result = where((n & 1).equals(0), cosine.high, sine.high)
    return unless_huge("cos", (x,), x, HUGE, _negated_if(n + 1 & 2, result, None))


def tan(x: Number) -> Number:
    """tan(r), in odd quarters -1/tan(r); negated for negative x."""
    r, low, z, n = _reduced(x)
    tangent = ordered_sum(r, muladd(r * z, polynomial(z, TAN[x.type]), low))
    inverse = near_reciprocal(tangent.high)
    error = muladd(-tangent.low, inverse, fused(-tangent.high, inverse, 1.0))
    result = where((n & 1).equals(0), tangent.high, -muladd(inverse, error, inverse))
    return unless_huge("tan", (x,), x, HUGE, (result.bits ^ _sign(x)).as_real)


def _negated_if(two: Number, value: Number, sign: Number | None) -> Number:
    """The value, negated where `two` is 2 and again where `sign` is negative."""
    flipped = value.bits ^ two << format_of(value).sign_bit - 1
    return (flipped if sign is None else flipped ^ _sign(sign)).as_real


def _sign(x: Number) -> Number:
    """The sign's bit alone."""
    return x.bits & 1 << format_of(x).sign_bit


def _reduced(x: Number) -> Reduced:
    size = magnitude(x)
    n = rounded(size, 2 / math.pi)
    r, low = _less_multiple(size, n.real)
    return Reduced(r, low, r * r, n.binary)


def _turned(x: Number) -> Turned:
    r, low, z, n = _reduced(x)
    sine = ordered_sum(r, muladd(r * z, polynomial(z, SIN[x.type]), low))
    one = ordered_sum(1.0, z * -0.5)
    cosine = ordered_sum(one.high, muladd(z * z, polynomial(z, COS[x.type]), muladd(-r, low, one.low)))
    return Turned(sine, cosine, n)


def _less_multiple(x: Number, n: Number) -> Pair:
    """x - n pi/2; n times the head of pi/2 is near to x, so the first difference is exact."""
    first, second, third = HALF_PI[x.type]
    more = product(n, x.constant(second))
    rest = sum_of(fused(n, -first, x), -more.high)
    return Pair(rest.high, muladd(n, -third, rest.low - more.low))


def arcsin(x: Number) -> Number:
    """x + x z A(z) below 1/2, else pi/2 - 2 arcsin(sqrt((1 - x)/2))."""
    size = magnitude(x)
    small, s, tail = _arcsine(size)
    head, low, _ = HALF_PI[x.type]
    rest = ordered_sum(head, s * -2.0)
    large = rest.high + (rest.low + muladd(tail, -2.0, low))
    return signed(where(small, tail + s, large), x)


def arccos(x: Number) -> Number:
    """pi/2 - arcsin(x) below 1/2; 2 arcsin(sqrt((1 - x)/2)) above, pi less that below -1/2."""
    small, s, tail = _arcsine(magnitude(x))
    head, low, _ = HALF_PI[x.type]
    near = head - (with_sign(s, x) - (low - with_sign(tail, x)))
    far = 2 * (s + tail)
    beyond = 2 * head - (2 * s - muladd(tail, -2.0, 2 * low))
    return where(small, near, where(x > 0, far, beyond))


def _arcsine(size: Number) -> tuple[Number, Number, Number]:
    """Whether |x| < 1/2; s, which is |x| there and sqrt((1 - |x|)/2) above; arcsin(s) - s."""
    small = size < 0.5
    z = where(small, size * size, muladd(size, -0.5, 0.5))
    s = where(small, size, root(z))
    return small, s, s * z * polynomial(z, ARCSIN[size.type])


def arctan(x: Number) -> Number:
    """x + x z T(z) up to one, else pi/2 - arctan(1/x)."""
    size = magnitude(x)
    large = size > 1
    head, low, _ = HALF_PI[x.type]
    s = where(large, 1 / size, size)
    tail = _arctangent_tail(s)
    return with_sign(where(large, head - (s - (low - tail)), s + tail), x)


def _arctangent_tail(s: Number) -> Number:
    z = s * s
    return s * z * polynomial(z, ARCTAN[s.type])


def arctan2(y: Number, x: Number) -> Number:
    """The angle of the point (x, y): arctan of the smaller by the greater magnitude, from the axis that is next."""
    across, along = magnitude(y), magnitude(x)
    steep = across > along
    low, high = where(steep, along, across), where(steep, across, along)
    # zeros and infinities of both
    s = where(low.equals(high), where(high.equals(0), high, high.constant(1)), low / high)
    tail = _arctangent_tail(s)
    head, rest, _ = HALF_PI[x.type]
    left = x.bits < 0
    # 0 + a, pi/2 - a, pi - a or pi/2 + a
    turns = where(steep, x.constant(1), where(left, x.constant(2), 0.0))
    toward = where(left, where(steep, x.constant(1), -1.0), where(steep, x.constant(-1), 1.0))
    result = turns * head + (toward * s + muladd(turns, rest, toward * tail))
    result = where(y.is_nan, y, where(x.is_nan, x, result))
    return with_sign(result, y)
