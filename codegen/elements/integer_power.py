"""Integer powers: the one operation on elements that is a loop of its own."""

from __future__ import annotations

from eqsat.codegen.builder import Builder, Value, integer


def power(b: Builder, base: Value, exponent: Value) -> Value:
    """base ** exponent, wrapped; a negative exponent gives 1 / base^-exponent without its fraction, and 0 for 0."""
    product = unsigned_power(b, base, exponent)
    return b.select(b.compare("slt", exponent, integer(0, base.type)), _reciprocal_power(b, base, exponent), product)


def unsigned_power(b: Builder, base: Value, exponent: Value) -> Value:
    """base ** exponent, wrapped, by squaring.

    The loop ends with the bits of the exponent, so small ones are quick; the loop around it does not vectorize.
    """
    type = base.type
    zero, one = integer(0, type), integer(1, type)
    label, source = b.fresh("power"), b.block
    back, after = f"{label}.next", f"{label}.end"
    b.jump(label)
    b.start(label)
    phis = [b.phi(type, first, source, "x", back) for first in (one, base, exponent)]
    (product, _), (square, _), (left, _) = phis
    odd = b.compare("ne", b.binary("and", left, one), zero)
    product = b.select(odd, b.binary("mul", product, square), product)
    square, left = b.binary("mul", square, square), b.binary("lshr", left, one)
    b.branch(b.compare("ne", left, zero), back, after)
    b.start(back)
    for (_, line), value in zip(phis, (product, square, left), strict=True):
        b.complete(line, value)
    b.jump(label)
    b.start(after)
    return product


def _reciprocal_power(b: Builder, base: Value, exponent: Value) -> Value:
    """What is left of 1 / base^n: one if base is, (-1)^n if it is minus one, else nothing."""
    type = base.type
    zero, one, minus_one = integer(0, type), integer(1, type), integer(-1, type)
    even = b.compare("eq", b.binary("and", exponent, one), zero)
    of_minus_one = b.select(b.compare("eq", base, minus_one), b.select(even, one, minus_one), zero)
    return b.select(b.compare("eq", base, one), one, of_minus_one)
