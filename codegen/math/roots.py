"""cbrt and hypot."""

from __future__ import annotations

import math

from eqsat.codegen.math.coefficients import CUBE_ROOT
from eqsat.codegen.math.formats import FORMATS, rounded, to_real
from eqsat.codegen.math.number import Number, fused, magnitude, muladd, polynomial, product, root, where, with_sign

FORMAT = FORMATS["double"]
# of what is scaled so that it is no denormal: a multiple of three
TINY = 54


def cbrt(x: Number) -> Number:
    """2^n c with c = m^(1/3), |x| = 2^3n m, 1 <= m < 8: c = m y^2 with y near to m^(-1/3), improved by series and Newton's method."""
    wide = magnitude(x.to("double"))
    size, offset = wide, wide.constant(FORMAT.bias)
    if x.type == "double":
        tiny = wide < FORMAT.least_normal
        size = where(tiny, wide * 2.0**TINY, wide)
        offset = where(tiny, wide.constant(FORMAT.bias + TINY), offset)
    bits = size.bits
    exponent = to_real(bits >> FORMAT.mantissa) - offset
    unit = (bits & ((1 << FORMAT.mantissa) - 1) | FORMAT.bias << FORMAT.mantissa).as_real
    n = rounded(exponent, 1 / 3, -1 / 3)
    third = muladd(n.real, -3.0, exponent)
    m = unit * where(third.equals(0), unit.constant(1), where(third.equals(1), unit.constant(2), unit.constant(4)))
    factor = where(third.equals(0), unit.constant(1), where(third.equals(1), unit.constant(0.5 ** (1 / 3)), unit.constant(0.25 ** (1 / 3))))
    y = polynomial(unit, CUBE_ROOT[x.type]) * factor
    error = muladd(y * y * y, -m, 1.0)
    y = muladd(y * error, polynomial(error, (1 / 3, 2 / 9, 14 / 81)), y)
    c = m * (y * y)
    if x.type == "double":
        square = product(c, c)
        left = muladd(-c, square.low, fused(-c, square.high, m))
        c = muladd(left * (1 / 3), y * y, c)
    result = c * (n.binary + FORMAT.bias << FORMAT.mantissa).as_real
    result = where(wide < math.inf, result, wide)
    return with_sign(where(wide.equals(0), wide, result).to(x.type), x)


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
