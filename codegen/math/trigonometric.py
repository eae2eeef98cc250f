"""sin, cos, tan and their inverses.

A multiple of pi/2 is taken from the argument exactly enough as three float64 that add up to pi/2, for |x| <= 2^30 (W. J. Cody and
W. Waite); beyond that, where it is hard and rare, by the C library.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from eqsat.codegen.math.coefficients import ARCSIN, ARCTAN, COS, SIN
from eqsat.codegen.math.formats import rounded
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
from eqsat.codegen.math.rare import unless_huge

HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
# float32 and what is left of it
HALF_PI32 = (1.5707963705062866, -4.371138828673793e-08)
SIGN = -(1 << 63)


class Turned(NamedTuple):
    """sin(r) and cos(r) of r = |x| - n pi/2, |r| <= pi/4."""

    sine: Pair
    cosine: Pair
    quarters: Number


def sin(x: Number) -> Number:
    """sin(r), cos(r), -sin(r), -cos(r) by the quarter, negated for negative x."""
    wide = x.to("double")
    sine, cosine, n = _turned(wide, x.type)
    result = where((n & 1).equals(0), sine.high, cosine.high)
    result = _negated_where(result, ((n & 2) << 62) ^ (wide.bits & SIGN))
    return unless_huge("sin", wide, result).to(x.type)


def cos(x: Number) -> Number:
    """cos(r), -sin(r), -cos(r), sin(r) by the quarter."""
    wide = x.to("double")
    sine, cosine, n = _turned(wide, x.type)
    result = where((n & 1).equals(0), cosine.high, sine.high)
    result = _negated_where(result, ((n + 1) & 2) << 62)
    return unless_huge("cos", wide, result).to(x.type)


def tan(x: Number) -> Number:
    """The quotient of sine and cosine, of minus cosine and sine in odd quarters; negated for negative x."""
    wide = x.to("double")
    sine, cosine, n = _turned(wide, x.type)
    odd = (n & 1).equals(1)
    above, below = where(odd, cosine.high, sine.high), where(odd, sine.high, cosine.high)
    if x.type == "float":
        result = above / below
    else:
        inverse = 1 / below
        quotient = above * inverse
        above_low, below_low = where(odd, cosine.low, sine.low), where(odd, sine.low, cosine.low)
        rest = fused(-quotient, below, above) + muladd(-quotient, below_low, above_low)
        result = muladd(rest, inverse, quotient)
    result = _negated_where(result, (n << 63) ^ (wide.bits & SIGN))
    return unless_huge("tan", wide, result).to(x.type)


def _negated_where(x: Number, sign: Number) -> Number:
    return (x.bits ^ sign).as_real


def _turned(x: Number, precision: str) -> Turned:
    size = magnitude(x)
    n = rounded(size, 2 / math.pi)
    r, low = _less_multiple(size, n.real, precision)
    z = r * r
    sine = ordered_sum(r, muladd(r * z, polynomial(z, SIN[precision]), low))
    one = ordered_sum(1.0, z * -0.5)
    cosine = ordered_sum(one.high, muladd(z * z, polynomial(z, COS[precision]), muladd(-r, low, one.low)))
    return Turned(sine, cosine, n.binary)


def _less_multiple(x: Number, n: Number, precision: str) -> Pair:
    """x - n pi/2; n * HALF_PI[0] is near to x, so the first difference is exact."""
    left = fused(n, -HALF_PI[0], x)
    if precision == "float":
        return Pair(fused(n, -HALF_PI[1], left), x.constant(0))
    second = product(n, x.constant(HALF_PI[1]))
    rest = sum_of(left, -second.high)
    return Pair(rest.high, muladd(n, -HALF_PI[2], rest.low - second.low))


def arcsin(x: Number) -> Number:
    """x + x z A(z) below 1/2, else pi/2 - 2 arcsin(sqrt((1 - x)/2))."""
    size = magnitude(x)
    small, s, tail = _arcsine(size)
    head, low = _half_pi(x)
    rest = ordered_sum(head, s * -2.0)
    large = rest.high + (rest.low + muladd(tail, -2.0, low))
    return with_sign(where(small, tail + s, large), x)


def arccos(x: Number) -> Number:
    """pi/2 - arcsin(x) below 1/2; 2 arcsin(sqrt((1 - x)/2)) above, pi less that below -1/2."""
    small, s, tail = _arcsine(magnitude(x))
    head, low = _half_pi(x)
    near = head - (with_sign(s, x) - (low - with_sign(tail, x)))
    far = 2 * (s + tail)
    beyond = 2 * head - (2 * s - muladd(tail, -2.0, 2 * low))
    return where(small, near, where(x > 0, far, beyond))


def _half_pi(x: Number) -> tuple[float, float]:
    return HALF_PI32 if x.type == "float" else HALF_PI[:2]


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
    head, low = _half_pi(x)
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
    head, rest = _half_pi(x)
    left = x.bits < 0
    # 0 + a, pi/2 - a, pi - a or pi/2 + a
    turns = where(steep, x.constant(1), where(left, x.constant(2), 0.0))
    toward = where(left, where(steep, x.constant(1), -1.0), where(steep, x.constant(-1), 1.0))
    result = turns * head + (toward * s + muladd(turns, rest, toward * tail))
    result = where(y.is_nan, y, where(x.is_nan, x, result))
    return with_sign(result, y)
