"""Code for integers: shifts, and what unsigned ones have of their own.  LLVM's integers have no sign, its operations do."""

from __future__ import annotations

from eqsat.codegen.builder import Builder, Code, Value, integer
from eqsat.codegen.elements.integer_power import unsigned_power
from eqsat.ir.threefry import FOURS, PARITY, ROTATIONS


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


def quotient(b: Builder, a: Value, d: Value, safe: Value, sign: str = "s") -> Value:
    """a / d towards zero of signed (s) or unsigned (u) integers, where `safe` is d, or 1 where the processor would trap.

    Up to 32 bits it is a quotient of floats, which are divided in vectors: where d does not divide a, a / d is further from an integer
    than 1 / a of itself, and rounding to 24 bits (for 16 and fewer) or 53 bits does not bridge that.  By constants LLVM multiplies.
    """
    if sign == "u" and a.type == "i64" and (divisor := constant_divisor(d)):
        return _unsigned_quotient(b, a, divisor)
    if _width(a) > 32 or not d.text.startswith("%"):
        return b.binary(f"{sign}div", a, safe)
    type = "float" if _width(a) <= 16 else "double"
    ratio = b.binary("fdiv", b.cast(f"{sign}itofp", a, type), b.cast(f"{sign}itofp", safe, type))
    found = b.cast(f"fpto{sign}i", ratio, "i32")
    return found if a.type == "i32" else b.cast("trunc", found, a.type)


def constant_divisor(d: Value) -> int | None:
    """A divisor of 64 bits, without sign, if it is a constant and no power of two, and not zero."""
    value = int(d.text) % (1 << 64) if d.type == "i64" and d.text.lstrip("-").isdigit() else 0
    return value if value & (value - 1) else None


def floor_quotient(b: Builder, a: Value, divisor: int) -> Value:
    """a // divisor, a `constant_divisor` below 2^63, of signed numbers, which LLVM divides one by one, for vectors.

    For a below zero a // d is ~(~a // d); and n // d for n below 2^63 is n * m >> 63 + k, for 2^k the next power of two above d and m the
    least number of which m * d is no less than 2^(63 + k) (T. Granlund and P. L. Montgomery, Division by invariant integers using
    multiplication, 1994): m has 64 bits.
    """
    k = divisor.bit_length()
    factor = -(-(1 << 63 + k) // divisor)
    sign = b.binary("ashr", a, integer(63))
    high = _high_product(b, b.binary("xor", a, sign), factor)
    return b.binary("xor", b.binary("lshr", high, integer(k - 1)), sign)


def _unsigned_quotient(b: Builder, a: Value, divisor: int) -> Value:
    """The same of unsigned numbers, for which m may have 65 bits; of these the highest is added apart, and nothing overflows."""
    k = divisor.bit_length()
    factor = (((1 << k) - divisor) << 64) // divisor + 1
    high = _high_product(b, a, factor)
    whole = b.binary("add", b.binary("lshr", b.binary("sub", a, high), integer(1)), high)
    return b.binary("lshr", whole, integer(k - 1))


def _high_product(b: Builder, a: Value, factor: int) -> Value:
    """The upper 64 of the 128 bits of a product of unsigned numbers, by halves, whose products are those of vectors."""
    half, mask = integer(32), integer((1 << 32) - 1)
    low, high = b.binary("and", a, mask), b.binary("lshr", a, half)
    by_low, by_high = integer(factor & (1 << 32) - 1), integer(factor >> 32)
    lowest = b.binary("lshr", b.binary("mul", low, by_low), half)
    middle = b.binary("add", b.binary("mul", high, by_low), lowest)
    other = b.binary("add", b.binary("mul", low, by_high), b.binary("and", middle, mask))
    upper = b.binary("add", b.binary("mul", high, by_high), b.binary("lshr", middle, half))
    return b.binary("add", upper, b.binary("lshr", other, half))


def _unsigned_division(b: Builder, args: tuple[Value, ...]) -> tuple[Value, Value, Value]:
    """Quotient and remainder, and whether the divisor is zero, which is divided by 1."""
    a, d = args
    zero = b.compare("eq", d, integer(0, d.type))
    safe = b.select(zero, integer(1, d.type), d)
    found = quotient(b, a, d, safe, "u")
    return found, b.binary("sub", a, b.binary("mul", found, safe)), zero


def _floor_divide(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    """x // 0 = 0."""
    found, _, zero = _unsigned_division(b, args)
    return b.select(zero, integer(0, found.type), found)


def _remainder(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    """x % 0 = x % 1 = 0."""
    return _unsigned_division(b, args)[1]


def _compared(predicate: str) -> Code:
    return lambda b, args, flags: b.compare(predicate, *args)


# operations that differ from those of signed integers
UNSIGNED: dict[str, Code] = {
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "fmod": _remainder,
    "power": lambda b, args, flags: unsigned_power(b, *args),
    "sign": lambda b, args, flags: b.cast("zext", b.compare("ne", args[0], integer(0, args[0].type)), args[0].type),
    "right_shift": lambda b, args, flags: _shifted(b, "lshr", *args),
    "absolute": lambda b, args, flags: args[0],
    "maximum": lambda b, args, flags: b.intrinsic("umax", *args),
    "minimum": lambda b, args, flags: b.intrinsic("umin", *args),
    "fmax": lambda b, args, flags: b.intrinsic("umax", *args),
    "fmin": lambda b, args, flags: b.intrinsic("umin", *args),
    "less": _compared("ult"),
    "less_equal": _compared("ule"),
    "greater": _compared("ugt"),
    "greater_equal": _compared("uge"),
}
