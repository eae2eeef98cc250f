"""The remainder of a truncated division, and of a floored one by a known number, without error."""

from __future__ import annotations

import math

from eqsat.codegen.math.number import Number, fused, magnitude, where, with_sign
from eqsat.codegen.math.rare import SUFFIXES, TRAITS, unless_huge

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


def floored(x: Number, by: float, quotient: Number) -> Number:
    """x - n * by with the n that x / by is rounded down to, of a number greater than zero; `quotient`: x / by, rounded to the nearest or
    exactly, so that n is right or one too high.  Of quotients that are larger than a type can be sure of it is made of the C library's
    fmod."""
    whole = quotient.function("floor")
    rest = fused(-whole, by, x)
    if not is_exact(by):
        rest = where(rest < 0, fused(1 - whole, by, x), rest)
    fmod_of = f"fmod{SUFFIXES[x.type][0]}"
    x.b.declarations.add(f"declare {x.type} @{fmod_of}({x.type}, {x.type}) {TRAITS}")
    code = _FLOORED.format(type=x.type, fmod=fmod_of, traits=TRAITS)
    return unless_huge("floored.fmod", (x, x.constant(by)), quotient, MOST, rest, code)


def is_exact(by: float) -> bool:
    """Whether quotients by a power of two are exact, or too large."""
    return math.frexp(by)[0] == 0.5 and by <= 1


_FLOORED = """define hidden {type} @floored.{fmod}({type} %x, {type} %by) noinline {traits} {{
  %rest = call {type} @{fmod}({type} %x, {type} %by)
  %below = fcmp olt {type} %rest, 0.0
  %raised = fadd {type} %rest, %by
  %above = select i1 %below, {type} %raised, {type} %rest
  %result = fadd {type} %above, 0.0
  ret {type} %result
}}"""
