"""x^y = 2^(y log2 |x|), the exponent in pairs of floats; of float32 in float64 where the host looks no numbers up in a register.

For a known whole y it is multiplied out, by squaring: of float32 in float64, of float64 in pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from eqsat.codegen.math import native
from eqsat.codegen.math.coefficients import POWER_LOG, POWER_LOG_REST, POWER_TABLE
from eqsat.codegen.math.exponential import between, power_of_fraction
from eqsat.codegen.math.formats import Rounded, denormal_parts, format_of, quotient_of_sum, rounded, scaled
from eqsat.codegen.math.logarithm import split
from eqsat.codegen.math.number import Number, Pair, fused, magnitude, muladd, ordered_sum, polynomial, product, where, with_sign

T = TypeVar("T")
# beyond it 2^t is infinite or zero
LIMIT = {"float": 200.0, "double": 1100.0}
# factors of a product in the place of a power
MOST_FACTORS = 32
# 1 / ln 2 of float32; 2 / ln 2 and 2 / (3 ln 2) of float64
LOG2_E = (1.4426950216293335, 1.925963033500011e-08)
FIRST = (2.8853900817779268, 4.0710547481862066e-17)
THIRD = (0.9617966939259756, 5.0577616648125907e-17)


def power(x: Number, y: Number) -> Number:
    """x^y for every x and y, as the C standard has it."""
    known = y.known
    if known is not None and factors_of(known) is not None:
        return _in_double(x, int(known)) if x.type == "float" else _in_pairs(x, int(known))
    size = magnitude(x)
    if x.type == "double":
        result = _power_of_two(_exponent(size, y))
    else:
        result = _power_of_two(_looked_up_exponent(size, y)) if x.b.abilities.scales else _through_double(size, y)
    result = where(size.equals(1), size, result)
    half = y * 0.5
    whole, even = y.function("rint").equals(y), half.function("rint").equals(half)
    signed = where(even, result, with_sign(result, x))
    valid = _either(whole, _either(x >= 0, x.equals(-math.inf)))
    result = where(valid, where(whole, signed, result), x.constant(math.nan))
    if not x.b.abilities.scales:  # of NaN nothing else is left where numbers are taken apart bit by bit
        result = where(x.is_nan, x, result)
    return where(_either(y.equals(0), x.equals(1)), x.constant(1), result)


def factors_of(exponent: float) -> int | None:
    """How many products a power is made of; None where it is the function."""
    if not 1 <= abs(exponent) <= MOST_FACTORS or exponent != int(exponent):
        return None
    n = abs(int(exponent))
    return n.bit_length() + n.bit_count() - 2 + (exponent < 0)


def _in_double(x: Number, n: int) -> Number:
    """x^n of float32: what is infinite or zero in float64 is so in float32."""
    product = _by_squaring(x.to("double"), abs(n), lambda one, other: one * other)
    return (product if n >= 0 else 1 / product).to(x.type)


def _in_pairs(x: Number, n: int) -> Number:
    """x^n of float64.  What is infinite has no pair, and what is zero keeps its sign."""
    base = Pair(x, x.constant(0.0))
    if n < 0:
        inverse = 1 / x
        base = Pair(inverse, inverse * fused(-inverse, x, 1.0))
    high, low = _by_squaring(base, abs(n), _times)
    size = magnitude(high)
    return where(_both(size > 0, size < math.inf), high + where(low.is_nan, 0.0, low), high)


def _by_squaring(x: T, n: int, times: Callable[[T, T], T]) -> T:
    """x multiplied n times, n > 0."""
    if n == 1:
        return x
    half = _by_squaring(x, n // 2, times)
    return times(times(half, half), x) if n % 2 else times(half, half)


def _times(a: Pair, b: Pair) -> Pair:
    exact = product(a.high, b.high)
    return Pair(exact.high, muladd(a.high, b.low, muladd(a.low, b.high, exact.low)))


def _both(a: Number, b: Number) -> Number:
    return Number(a.b, a.b.binary("and", a.value, b.value))


def _either(a: Number, b: Number) -> Number:
    return Number(a.b, a.b.binary("or", a.value, b.value))


def _power_of_two(t: Pair) -> Number:
    limit = LIMIT[t.high.type]
    high, low = between(t.high, -limit, limit), where(magnitude(t.high) < limit, t.low, 0)
    n = rounded(high + low, 1.0)
    return scaled(power_of_fraction((high - n.real) + low, high.type), n)


def _through_double(size: Number, y: Number) -> Number:
    """2^(y log2(size)), the exponent in float64 of parts that float32 holds."""
    f, e = (part.to("double") for part in split(size))
    logarithm = _of_ends(muladd(f, polynomial(f, POWER_LOG["float"]), e), size.to("double"))
    high = between(logarithm * y.to("double"), -LIMIT["float"], LIMIT["float"])
    n = rounded(high, 1.0)
    power = Rounded(n.real.to("float"), Number(size.b, size.b.cast("trunc", n.binary.value, "i32")))
    return scaled(power_of_fraction((high - n.real).to("float"), "float"), power)


def _looked_up_exponent(size: Number, y: Number) -> Pair:
    """y log2(size) of float32 to 2^-30: size = 2^e (1 + r) / c with a c near to the inverse of its mantissa, so that r is exact, small."""
    mantissa, e = denormal_parts(size)
    place = mantissa.bits >> format_of(size).mantissa - 4
    c, head, tail = (native.looked_up(place, column) for column in POWER_TABLE)
    r = fused(mantissa, c, -1.0)
    square = product(r, r)
    logarithm = muladd(square.high, -0.5, r)
    rest = muladd(square.low, -0.5, muladd(square.high, -0.5, r - logarithm))
    rest = muladd(square.high * r, polynomial(r, POWER_LOG_REST), rest)
    large = product(logarithm, r.constant(LOG2_E[0]))
    small = muladd(rest, LOG2_E[0], muladd(logarithm, LOG2_E[1], large.low + tail))
    total = ordered_sum(e + head, large.high)
    exact = product(total.high, y)
    return Pair(exact.high, muladd(total.low + small, y, exact.low))


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
