"""Code for integers: shifts, and what unsigned ones have of their own.  LLVM's integers have no sign, its operations do."""

from __future__ import annotations

from collections.abc import Callable

from eqsat.codegen.builder import Builder, Value, integer
from eqsat.ir.threefry import FOURS, PARITY, ROTATIONS

Code = Callable[[Builder, tuple[Value, ...], str], Value]


def _width(a: Value) -> int:
    return int(a.type[1:])


def _shifted(b: Builder, op: str, a: Value, count: Value) -> Value:
    """Bits that come in are zero, so a count that is too large, or below zero, gives zero."""
    inside = b.compare("ult", count, integer(_width(a), a.type))
    return b.select(inside, b.binary(op, a, b.select(inside, count, integer(0, a.type))), integer(0, a.type))


def left_shift(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    return _shifted(b, "shl", *args)


def right_shift(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    """Of signed numbers: bits that come in are the sign, also for a count that is too large, or below zero."""
    a, count = args
    last = integer(_width(a) - 1, a.type)
    return b.binary("ashr", a, b.select(b.compare("ult", count, last), count, last))


def threefry(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    """As ir/threefry.py says."""
    (key0, key1), (first, second) = (_words(b, arg) for arg in args)
    keys = (key0, key1, b.binary("xor", b.binary("xor", key0, key1), integer(PARITY, "i32")))
    first, second = b.binary("add", first, keys[0]), b.binary("add", second, keys[1])
    for four in range(FOURS):
        for distance in ROTATIONS[four % 2]:
            first = b.binary("add", first, second)
            second = b.binary("xor", b.intrinsic("fshl", second, second, integer(distance, "i32")), first)
        first = b.binary("add", first, keys[(four + 1) % 3])
        second = b.binary("add", second, b.binary("add", keys[(four + 2) % 3], integer(four + 1, "i32")))
    high = b.binary("shl", b.cast("zext", first, "i64"), integer(32))
    return b.binary("or", high, b.cast("zext", second, "i64"))


def _words(b: Builder, value: Value) -> tuple[Value, Value]:
    return b.cast("trunc", b.binary("lshr", value, integer(32)), "i32"), b.cast("trunc", value, "i32")


def _unsigned_division(op: str) -> Code:
    """x // 0 = x % 0 = 0."""

    def code(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
        a, d = args
        zero = b.compare("eq", d, integer(0, d.type))
        return b.select(zero, integer(0, a.type), b.binary(op, a, b.select(zero, integer(1, d.type), d)))

    return code


def _compared(predicate: str) -> Code:
    return lambda b, args, flags: b.compare(predicate, *args)


# operations that differ from those of signed integers
UNSIGNED: dict[str, Code] = {
    "floor_divide": _unsigned_division("udiv"),
    "remainder": _unsigned_division("urem"),
    "right_shift": lambda b, args, flags: _shifted(b, "lshr", *args),
    "absolute": lambda b, args, flags: args[0],
    "maximum": lambda b, args, flags: b.intrinsic("umax", *args),
    "minimum": lambda b, args, flags: b.intrinsic("umin", *args),
    "less": _compared("ult"),
    "less_equal": _compared("ule"),
    "greater": _compared("ugt"),
    "greater_equal": _compared("uge"),
}
