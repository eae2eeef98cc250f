"""Division by a known number, and by one number again and again: two products added up, where that rounds as the division does.

    x / c = x * high + x * low        high: 1/c rounded towards zero, low: what is left of it, rounded; the sum is rounded once

Before that the sum is wrong by less than 2^(2 - 2p) of itself, for floats of p digits.  If c has k digits, no quotient is as near as
2^-(p + k + 1) of itself to where rounding changes; so it is rounded as the quotient is if k <= p - 4.  For a c of more digits the few
quotients that are so near are looked at one by one (`_is_rounded_right`): of 100 such divisors 92 pass, and some more with another digit
at the end of `low`.  Where x * low has lost digits, since it is below the least normal number, quotients may be off by one unit in their
last place: only those below 2^p of that number, and of no whole number.  `high` and `low` have one sign, so infinities, NaN, and zeros of
both signs come out as they do of divisions.

A divisor that a loop does not change is made such a pair before the loop, as the sum of a row is that its elements are divided by; `high`
is a unit or two in its last place less than the reciprocal then, which takes no comparisons.  It may have any digits, so quotients within
2^(2 - 2p) of where rounding changes, one in some millions, may be off by a unit in their last place. One near the ends of the range is
scaled by a power of two, and so is what it divides.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from eqsat.codegen.builder import Builder, Value, real
from eqsat.codegen.math.number import Number, fused
from eqsat.codegen.math.remainder import floored
from eqsat.ir.dtypes import INTEGERS, itemsize
from eqsat.ir.loops import Temp
from eqsat.ir.tensor import Call, Literal, Scalar, scalars

# of floats: digits, and the exponents of divisors for which neither part of 1/c is near the ends of the range
FORMATS = {"float32": (24, 60), "float64": (53, 900)}
# of divisors that a loop does not change, by LLVM's type: exponents beyond which they are scaled, by as much, to the other side of 1, so
# that what they divide leaves the range only where the quotient does; and what makes of a reciprocal a number below the exact one
SCALED = {"float": 60, "double": 900}
BELOW = {"float": 1 - 2.0**-23, "double": 1 - 2.0**-52}
# a loop over so many bytes is worth making the parts, for which it waits; dividing doubles takes twice as long
LEAST_BYTES = {"float32": 512, "float64": 256}


class Divisor(NamedTuple):
    """What dividing by a number multiplies by: `scale` first, a power of two, and then the parts of the reciprocal of what is left."""

    scale: Value
    high: Value
    low: Value


def divided(b: Builder, term: Call, dividend: Value, flags: str) -> Value | None:
    """The code of a division by a constant; None where dividing is right, or better: "fast" multiplies by the reciprocal alone."""
    parts = reciprocal_of(term)
    if parts is None or not b.abilities.fuses or "arcp" in flags or not ("contract" in flags or is_whole(term)):
        return None
    high, low = (real(part, dividend.type) for part in parts)
    return b.intrinsic("fma", dividend, high, b.binary("fmul", dividend, low))


def rest_of(b: Builder, term: Call, dividend: Value) -> Value | None:
    """The code of the remainder by a constant; None for numbers below zero and near the ends of the range, which have none of their own."""
    divisor = term.args[-1]
    if term.dtype not in FORMATS or not isinstance(divisor, Literal) or not isinstance(divisor.value, float) or not b.abilities.fuses:
        return None
    by, x = divisor.value, Number(b, dividend)
    mantissa, exponent = math.frexp(by)
    if not (math.isfinite(by) and by > 0 and abs(exponent) <= FORMATS[term.dtype][1]):
        return None
    parts = reciprocal(by, term.dtype)
    ratio = x * (1 / by) if mantissa == 0.5 else x / by if parts is None else fused(x, parts[0], x * parts[1])
    return floored(x, by, ratio).value


def repeated(term: Scalar, extent: int) -> str | None:
    """The temporary that a division in a loop over so many elements is by, where making its parts is worth it."""
    if (
        not isinstance(term, Call)
        or term.op != "divide"
        or term.dtype not in FORMATS
        or extent * itemsize(term.dtype) < LEAST_BYTES[term.dtype]
    ):
        return None
    return term.args[1].name if isinstance(term.args[1], Temp) else None


def divisors(b: Builder, values: Iterable[Scalar], extent: int, outside: Mapping[str, Value], flags: str) -> dict[str, Divisor]:
    """The code of the parts of what a loop over so many elements divides by, of temporaries `outside` of it."""
    if not b.abilities.fuses or "arcp" in flags or "contract" not in flags:
        return {}
    names = dict.fromkeys(name for term in scalars(*values) if (name := repeated(term, extent)) in outside)
    return {name: divisor_of(b, outside[name]) for name in names if name is not None}


def divisor_of(b: Builder, number: Value) -> Divisor:
    """The code that makes the parts of a number: infinite ones of zero, zeros of infinity, and NaN of NaN; `rest` is NaN then."""
    beyond, size, one = SCALED[number.type], b.intrinsic("fabs", number), real(1.0, number.type)
    small = b.compare("olt", size, real(2.0**-beyond, number.type))
    large = b.compare("ogt", size, real(2.0**beyond, number.type))
    scale = b.select(small, real(2.0**beyond, number.type), b.select(large, real(2.0**-beyond, number.type), one))
    scaled = b.binary("fmul", number, scale)
    high = b.binary("fmul", b.binary("fdiv", one, scaled), real(BELOW[number.type], number.type))
    rest = b.intrinsic("fma", b.negate(high), scaled, one)  # of 1, above zero
    low = b.binary("fmul", b.intrinsic("fma", rest, rest, rest), high)
    return Divisor(scale, high, b.select(b.compare("uno", rest, rest), high, low))


def quotient(b: Builder, dividend: Value, divisor: Divisor) -> Value:
    """The code of a division by what the parts are of."""
    scaled = b.binary("fmul", dividend, divisor.scale)
    return b.intrinsic("fma", scaled, divisor.high, b.binary("fmul", scaled, divisor.low))


def reciprocal_of(term: Call) -> tuple[float, float] | None:
    """What a division by a constant multiplies by; None for other operations, and where divisions are right or better."""
    divisor = term.args[-1]
    if term.op != "divide" or term.dtype not in FORMATS or not isinstance(divisor, Literal) or not isinstance(divisor.value, float):
        return None
    return reciprocal(divisor.value, term.dtype)


def divides_by(divisor: float, dtype: str) -> tuple[str, ...]:
    """The operations that a division by a constant is: a product for powers of two, two that are fused where that is known to be right."""
    if abs(math.frexp(divisor)[0]) == 0.5:
        return ("multiply",)
    return ("divide",) if reciprocal(divisor, dtype) is None else ("multiply", "add")


def is_whole(term: Call) -> bool:
    """Whether what is divided is an integer as a float."""
    cast = term.args[0]
    return isinstance(cast, Call) and cast.op == "astype" and cast.args[0].dtype in ("bool", *INTEGERS)


@functools.cache
def reciprocal(divisor: float, dtype: str) -> tuple[float, float] | None:
    """1/c in two floats of one sign; None for powers of two, by which a product is exact, and where rounding is not known to be right."""
    digits, reach = FORMATS[dtype]
    mantissa, exponent = math.frexp(divisor)
    if not math.isfinite(divisor) or mantissa in (0.0, 0.5, -0.5) or abs(exponent) > reach:
        return None
    parts = _parts(abs(int(mantissa * 2.0**digits)), digits)
    if parts is None:
        return None
    scale = digits - exponent
    high, low = (math.copysign(math.ldexp(part, scale - place), divisor) for part, place in parts)
    return high, low


Part = tuple[int, int]


def _parts(c: int, digits: int) -> tuple[Part, Part] | None:
    """The reciprocal of an integer of so many digits in two parts of as many, each an integer and how many places it is shifted by; None
    where no parts are known to round right."""
    place = 2 * digits - 1
    high, rest = divmod(1 << place, c)
    more = digits + c.bit_length() - rest.bit_length()
    low = (rest << more) // c
    more, low = (more - 1, low >> 1) if low >> digits else (more, low)
    rest_of_low = (rest << more) - low * c
    near = low + (2 * rest_of_low >= c)
    if not c % 16:  # few digits
        return (high, place), (near, place + more)
    tried = dict.fromkeys((near, low, low + 1, near - 1, near + 2))
    right = next((low for low in tried if low < 1 << digits and _is_rounded_right(c, digits, (high, place), (low, place + more))), None)
    return None if right is None else ((high, place), (right, place + more))


def _is_rounded_right(c: int, digits: int, high: Part, low: Part) -> bool:
    """Whether x * high + x * low is on the same side of every number half way between two floats as x / c is, for all x of so many digits.

    With h = m / 2^j half way, m odd and of a digit more, x / c - h = k / (c * 2^j) for an integer k = x * 2^j - m * c.  Only where k is
    small can the sum, which is wrong by `wrong` of itself, be on the other side: those m solve m * c = -k modulo 2^j.
    """
    whole = low[1]
    wrong = abs((1 << whole) - c * ((high[0] << (whole - high[1])) + low[0])) + (c * low[0] >> digits) + 1
    even = (c & -c).bit_length() - 1
    odd, most = c >> even, ((wrong << (2 * digits + 1)) >> whole >> even) + 1
    for j in (digits, digits + 1):
        modulus = 1 << (j - even)
        inverse = pow(odd, -1, modulus)
        for k in (*range(-most, 0), *range(1, most + 1)):
            for m in range(-k * inverse % modulus, 2 << digits, modulus):
                x = (m * odd + k) >> (j - even)
                if m & 1 and m >> digits and x >> (digits - 1) and not x >> digits and not _is_on_side(x, m, j, k > 0, digits, high, low):
                    return False
    return True


def _is_on_side(x: int, m: int, j: int, above: bool, digits: int, high: Part, low: Part) -> bool:
    """Whether the sum for x is rounded to what is above m / 2^j, or below."""
    product = x * low[0]
    drop = max(product.bit_length() - digits, 0)
    rounded, left, half = product >> drop, product & ((1 << drop) - 1), (1 << drop) >> 1
    rounded += left > half or (left == half and drop > 0 and rounded & 1)
    difference = (x * high[0] << (low[1] - high[1])) + (rounded << drop) - (m << (low[1] - j))
    up = difference > 0 or (difference == 0 and m >> 1 & 1 == 1)  # half way to the even one
    return up == above
