"""erf."""

from __future__ import annotations

from eqsat.codegen.math.coefficients import ERF, ERFC
from eqsat.codegen.math.exponential import exp
from eqsat.codegen.math.number import Number, magnitude, muladd, polynomial, where, with_sign

# from here on it is one
ONE = {"float": 4.0, "double": 6.0}


def erf(x: Number) -> Number:
    """x + x P(x^2) up to one, else 1 - e^-G(|x|)."""
    size = magnitude(x)
    capped = where(size > ONE[x.type], ONE[x.type], size)
    large = 1 - exp(-polynomial(capped, ERFC[x.type]))
    small = muladd(x, polynomial(x * x, ERF[x.type]), x)
    return where(size <= 1, small, with_sign(large, x))
