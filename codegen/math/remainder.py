"""The remainder of a truncated division, without error."""

from __future__ import annotations

from eqsat.codegen.math.number import Number, fused, magnitude, where, with_sign
from eqsat.codegen.math.rare import unless_huge

# below it the whole part of a rounded quotient is right, or one too high
MOST = {"float": 2.0**23, "double": 2.0**52}


def fmod(x: Number, y: Number) -> Number:
    """|x| - n |y| with the sign of x: a number of the type for the n that |x| / |y| is rounded to, and for one less; of quotients that are
    larger than a type can be sure of the C library does it, and of those that are infinite."""
    size, divisor = magnitude(x), magnitude(y)
    quotient = size / divisor
    rest = fused(-quotient.function("trunc"), divisor, size)
    rest = where(rest < 0, rest + divisor, rest)
    rest = where(quotient < 1, size, rest)
    return unless_huge("fmod", (x, y), quotient, MOST, with_sign(rest, x))
