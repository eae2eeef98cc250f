"""Division by a known number: two products added up, where that rounds as the division does.

    x / c = x * high + x * low        high: 1/c rounded towards zero, low: what is left of it, rounded; the sum is rounded once

Before that the sum is wrong by less than 2^(2 - 2p) of itself, for floats of p digits.  If c has k digits, no quotient is as near as
2^-(p + k + 1) of itself to where rounding changes; so it is rounded as the quotient is if k <= p - 4.  Where x * low has lost digits, since
it is below the least normal number, quotients may be off by one unit in their last place: only those below 2^p of that number, and of
no whole number.  `high` and `low` have one sign, so infinities, NaN, and zeros of both signs come out as they do of divisions.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np

from eqsat.codegen.builder import Builder, Value, real
from eqsat.ir.dtypes import INTEGERS
from eqsat.ir.tensor import Call, Literal

# of floats: digits, and the exponents of divisors for which neither part of 1/c is near the ends of the range
FORMATS = {"float32": (24, 60), "float64": (53, 900)}


def divided(b: Builder, term: Call, dividend: Value, flags: str) -> Value | None:
    """The code of a division by a constant; None where dividing is right, or better: "fast" multiplies by the reciprocal alone."""
    parts = reciprocal_of(term)
    if parts is None or not b.abilities.fuses or "arcp" in flags or not ("contract" in flags or is_whole(term)):
        return None
    high, low = (real(part, dividend.type) for part in parts)
    return b.intrinsic("fma", dividend, high, b.binary("fmul", dividend, low))


def reciprocal_of(term: Call) -> tuple[float, float] | None:
    """What a division by a constant multiplies by; None for other operations, and where divisions are right or better."""
    divisor = term.args[-1]
    if term.op != "divide" or term.dtype not in FORMATS or not isinstance(divisor, Literal) or not isinstance(divisor.value, float):
        return None
    return reciprocal(divisor.value, term.dtype)


def is_whole(term: Call) -> bool:
    """Whether what is divided is an integer as a float."""
    cast = term.args[0]
    return isinstance(cast, Call) and cast.op == "astype" and cast.args[0].dtype in ("bool", *INTEGERS)


@functools.cache
def reciprocal(divisor: float, dtype: str) -> tuple[float, float] | None:
    """1/c in two floats of one sign; None for powers of two, by which a product is exact, and where rounding is not known to be right."""
    digits, reach = FORMATS[dtype]
    mantissa, exponent = math.frexp(divisor)
    if not math.isfinite(divisor) or mantissa in (0.0, 0.5, -0.5) or abs(exponent) > reach or (mantissa * 2.0 ** (digits - 4)) % 1:
        return None
    exact, as_dtype = 1 / Fraction(divisor), np.dtype(dtype).type
    high = as_dtype(float(exact))
    if abs(Fraction(float(high))) > abs(exact):
        high = np.nextafter(high, as_dtype(0))
    return float(high), float(as_dtype(float(exact - Fraction(float(high)))))
