"""cbrt and hypot."""

from __future__ import annotations

import math

from eqsat.codegen.math.coefficients import CUBE_ROOT
from eqsat.codegen.math.formats import format_of, power_of_two, rounded, to_real
from eqsat.codegen.math.number import Number, fused, magnitude, muladd, polynomial, product, root, where, with_sign


def cbrt(x: Number) -> Number:
    """2^n c with c = m^(1/3), |x| = 2^3n m, 1 <= m < 8: c = m y^2 with y near to m^(-1/3), improved by series and Newton's method."""
    form, size = format_of(x), magnitude(x)
    tiny, places = size < form.least_normal, 3 * (form.mantissa // 3 + 1)
    bits = where(tiny, size * 2.0**places, size).bits
    exponent = to_real(bits >> form.mantissa) - where(tiny, x.constant(form.bias + places), x.constant(form.bias))
    unit = (bits & ((1 << form.mantissa) - 1) | form.bias << form.mantissa).as_real
    n = rounded(exponent, 1 / 3, -1 / 3)
    third = muladd(n.real, -3.0, exponent)
    m = unit * _by(third, 1.0, 2.0, 4.0)
    y = polynomial(unit, CUBE_ROOT[x.type]) * _by(third, 1.0, 0.5 ** (1 / 3), 0.25 ** (1 / 3))
    error = muladd(y * y * y, -m, 1.0)
    y = muladd(y * error, polynomial(error, (1 / 3, 2 / 9, 14 / 81)), y)
    c = m * (y * y)
    square = product(c, c)
    left = muladd(-c, square.low, fused(-c, square.high, m))
    result = muladd(left * (1 / 3), y * y, c) * power_of_two(n.binary + form.bias)
    result = where(size < math.inf, result, size)
    return with_sign(where(size.equals(0), size, result), x)


def _by(third: Number, *values: float) -> Number:
    """The value of number 0, 1 or 2."""
    first, second, last = map(third.constant, values)
    return where(third.equals(0), first, where(third.equals(1), second, last))


# above and below which squares overflow or lose bits, and what numbers there are multiplied by
SCALES = {"float": (2.0**60, 2.0**-80, 2.0**-40, 2.0**100), "double": (2.0**500, 2.0**-600, 2.0**-400, 2.0**600)}


def hypot(x: Number, y: Number) -> Number:
    """sqrt(x^2 + y^2), scaled where squares overflow or lose bits; infinite if one is, even beside NaN."""
    a, b = magnitude(x), magnitude(y)
    high, low = where(a > b, a, b), where(a > b, b, a)
    most, smaller, least, larger = SCALES[x.type]
    large, small = high > most, high < least
    scale = where(large, high.constant(smaller), where(small, high.constant(larger), 1.0))
    back = where(large, high.constant(1 / smaller), where(small, high.constant(1 / larger), 1.0))
    high, low = high * scale, low * scale
    result = root(muladd(high, high, low * low)) * back
    infinite = where(a.equals(math.inf), a, b)
    return where(infinite.equals(math.inf), infinite, result)
