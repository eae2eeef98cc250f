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


def hypot(x: Number, y: Number) -> Number:
    """sqrt(x^2 + y^2); float64 scaled where the squares overflow or lose bits."""
    a, b = magnitude(x.to("double")), magnitude(y.to("double"))
    high, low = where(a > b, a, b), where(a > b, b, a)
    if x.type == "float":
        result = root(muladd(a, a, b * b))
    else:
        large, small = high > 2.0**500, high < 2.0**-400
        scale, back = (where(large, high.constant(1 / unit), where(small, high.constant(unit), 1.0)) for unit in (2.0**600, 2.0**-600))
        high, low = high * scale, low * scale
        result = root(muladd(high, high, low * low)) * back
    infinite = where(a.equals(math.inf), a, b)
    return where(infinite.equals(math.inf), infinite, result).to(x.type)
