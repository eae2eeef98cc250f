"""x^y = 2^(y log2 |x|): the exponent of float32 in float64, of float64 in pairs of float64."""

from __future__ import annotations

import math

from eqsat.codegen.math.coefficients import POWER_LOG
from eqsat.codegen.math.exponential import between, power_of_fraction
from eqsat.codegen.math.formats import Rounded, quotient_of_sum, rounded, scaled
from eqsat.codegen.math.logarithm import split
from eqsat.codegen.math.number import Number, Pair, magnitude, muladd, ordered_sum, polynomial, product, where, with_sign

# beyond it 2^t is infinite or zero
LIMIT = {"float": 200.0, "double": 1100.0}
# 2 / ln 2 and 2 / (3 ln 2)
FIRST = (2.8853900817779268, 4.0710547481862066e-17)
THIRD = (0.9617966939259756, 5.0577616648125907e-17)


def power(x: Number, y: Number) -> Number:
    """x^y for every x and y, as the C standard has it."""
    size = magnitude(x)
    t = _short_exponent(size, y) if x.type == "float" else _exponent(size, y)
    limit = LIMIT[x.type]
    high = between(t.high, -limit, limit)
    n = rounded(high, 1.0)
    fraction = high - n.real
    if x.type == "float":
        power = Rounded(n.real.to("float"), Number(x.b, x.b.cast("trunc", n.binary.value, "i32")))
        result = scaled(power_of_fraction(fraction.to("float"), "float"), power)
    else:
        result = scaled(power_of_fraction(fraction + where(magnitude(t.high) < limit, t.low, 0), "double"), n)
    result = where(size.equals(1), size, result)
    half = y * 0.5
    whole, even = y.function("rint").equals(y), half.function("rint").equals(half)
    signed = where(even, result, with_sign(result, x))
    valid = _either(whole, _either(x >= 0, x.equals(-math.inf)))
    result = where(valid, where(whole, signed, result), x.constant(math.nan))
    result = where(_either(x.is_nan, y.is_nan), x + y, result)
    return where(_either(y.equals(0), x.equals(1)), x.constant(1), result)


def _either(a: Number, b: Number) -> Number:
    return Number(a.b, a.b.binary("or", a.value, b.value))


def _short_exponent(size: Number, y: Number) -> Pair:
    """y log2(size) in float64, of parts that float32 holds."""
    f, e = (part.to("double") for part in split(size))
    logarithm = _of_ends(muladd(f, polynomial(f, POWER_LOG["float"]), e), size.to("double"))
    return Pair(logarithm * y.to("double"), f.constant(0))


def _of_ends(logarithm: Number, size: Number) -> Number:
    if size.b.abilities.scales:
        return logarithm
    return where(size.equals(0), size.constant(-math.inf), where(size.equals(math.inf), size, logarithm))


def _exponent(size: Number, y: Number) -> Pair:
    """y log2(size) to 2^-55, with s = f / (2 + f): log2(1 + f) = s (2/ln 2 + s^2 (2/(3 ln 2) + s^2 L(s^2)))."""
    f, e = split(size)
    s, s_low = quotient_of_sum(f, ordered_sum(2.0, f))
    z = product(s, s)
    z_low = muladd(s + s, s_low, z.low)
    third = ordered_sum(THIRD[0], muladd(z.high, polynomial(z.high, POWER_LOG["double"]), THIRD[1]))
    inner = _product(Pair(z.high, z_low), third)
    factor = ordered_sum(FIRST[0], inner.high)
    logarithm = _product(Pair(s, s_low), Pair(factor.high, factor.low + (inner.low + FIRST[1])))
    total = ordered_sum(e, logarithm.high)
    head = _of_ends(total.high, size)
    exact = product(head, y)
    return Pair(exact.high, muladd(total.low + logarithm.low, y, exact.low))


def _product(a: Pair, b: Pair) -> Pair:
    exact = product(a.high, b.high)
    return Pair(exact.high, muladd(a.low, b.high, muladd(a.high, b.low, exact.low)))
