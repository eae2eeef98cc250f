"""Code for signs, roundings, neighbours and kinds of numbers."""

from __future__ import annotations

from eqsat.codegen.builder import Builder, Code, Value, bits_of, integer, is_real, real, truth


def _sign(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    """-1, 0 or 1; NaN stays."""
    a = args[0]
    if not is_real(a.type):
        zero = integer(0, a.type)
        above, below = (b.cast("zext", b.compare(predicate, a, zero), a.type) for predicate in ("sgt", "slt"))
        return b.binary("sub", above, below)
    zero = real(0.0, a.type)
    sign = b.select(b.compare("oeq", a, zero), zero, b.intrinsic("copysign", real(1.0, a.type), a))
    return b.select(b.compare("uno", a, a), a, sign)


def _rounding(name: str) -> Code:
    return lambda b, args, flags: b.intrinsic(name, args[0]) if is_real(args[0].type) else args[0]


def _signbit(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    a = args[0]
    if a.type == "i1":
        return truth(False)
    bits = b.cast("bitcast", a, bits_of(a.type)) if is_real(a.type) else a
    return b.compare("slt", bits, integer(0, bits.type))


def _by_size(predicate: str, of_integers: bool) -> Code:
    """How the magnitude compares with infinity; every integer is finite."""

    def code(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
        a = args[0]
        if not is_real(a.type):
            return truth(of_integers)
        return b.compare(predicate, b.intrinsic("fabs", a), real(float("inf"), a.type))

    return code


def _nextafter(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    """The neighbour of a towards c: bit patterns of one sign are ordered as their magnitudes; NaN if either is."""
    a, c = args
    bits, zero = bits_of(a.type), real(0.0, a.type)
    pattern = b.cast("bitcast", a, bits)
    outward = b.binary("xor", b.compare("olt", a, c), b.compare("olt", a, zero))
    moved = b.binary("add", pattern, b.select(outward, integer(1, bits), integer(-1, bits)))
    least = b.intrinsic("copysign", b.cast("bitcast", integer(1, bits), a.type), c)
    moved = b.select(b.compare("oeq", a, zero), least, b.cast("bitcast", moved, a.type))
    moved = b.select(b.compare("oeq", a, c), c, moved)
    return b.select(b.compare("uno", a, c), b.binary("fadd", a, c), moved)


def nextafter_of_halves(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    """Of equal numbers, which may be zeros of two signs, NumPy gives the first in float16 and the second in others."""
    a, c = args
    return b.select(b.compare("oeq", a, c), a, _nextafter(b, args, flags))


NUMBERS: dict[str, Code] = {
    "sign": _sign,
    "floor": _rounding("floor"),
    "ceil": _rounding("ceil"),
    "trunc": _rounding("trunc"),
    "rint": lambda b, args, flags: b.intrinsic("rint", args[0]),
    "copysign": lambda b, args, flags: b.intrinsic("copysign", *args),
    "nextafter": _nextafter,
    "signbit": _signbit,
    "isnan": lambda b, args, flags: b.compare("uno", args[0], args[0]) if is_real(args[0].type) else truth(False),
    "isinf": _by_size("oeq", False),
    "isfinite": _by_size("one", True),
}
