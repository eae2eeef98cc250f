"""cbrt and hypot."""

from __future__ import annotations

import math

from eqsat.codegen.math.coefficients import CUBE_ROOT
from eqsat.codegen.math.formats import denormal_parts, rounded, scaled
from eqsat.codegen.math.number import Number, magnitude, muladd, polynomial, root, where, with_sign


def cbrt(x: Number) -> Number:
    """2^n m^(1/3) of |x| = 2^3n m, 3/8 <= m < 3: c = m y^2 with y near to m^(-1/3), improved by Newton's method, for float64 y before."""
    size = magnitude(x)
    unit, exponent = denormal_parts(size)
    n = rounded(exponent, 1 / 3)
    third = muladd(n.real, -3.0, exponent)
    m = unit * muladd(third, muladd(third, 0.25, 0.75), 1.0)
    y = polynomial(unit, CUBE_ROOT) * polynomial(third, THIRDS)
    if x.type == "double":
        error = muladd(y * y * y, -m, 1.0)
        y = muladd(y * error, muladd(error, 2 / 9, 1 / 3), y)
    square = y * y
    c = m * square
    result = scaled(muladd(muladd(-c, c * c, m), square * (1 / 3), c), n)
    return with_sign(where(_unusual(size, result), size, result), x)


def _unusual(size: Number, result: Number) -> Number:
    """Whether a number is zero, infinite or NaN; where it was taken apart in single instructions infinite exponents left NaN."""
    if size.b.abilities.scales:
        return result.is_nan
    return size.equals(0) | ~(size < math.inf)


# 2^(-k/3) of k = -1, 0, 1
THIRDS = (1.0, (0.5 ** (1 / 3) - 2 ** (1 / 3)) / 2, (0.5 ** (1 / 3) + 2 ** (1 / 3)) / 2 - 1)

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
