"""Code for complex numbers: pairs of floats, with NumPy's formulas and its order, which is that of the real parts first."""

from __future__ import annotations

from collections.abc import Callable

from eqsat.codegen.builder import Builder, Value, real

Code = Callable[[Builder, tuple[Value, ...], str], Value]


def _by_parts(op: str) -> Code:
    def code(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
        (ar, ai), (cr, ci) = map(b.parts, args)
        return b.pair(b.binary(op, ar, cr, flags), b.binary(op, ai, ci, flags))

    return code


def _multiply(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    (ar, ai), (cr, ci) = map(b.parts, args)
    real_part = b.binary("fsub", b.binary("fmul", ar, cr, flags), b.binary("fmul", ai, ci, flags), flags)
    return b.pair(real_part, b.binary("fadd", b.binary("fmul", ar, ci, flags), b.binary("fmul", ai, cr, flags), flags))


def _divide(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    """R. L. Smith's algorithm (1962), by the larger part of the divisor; by zero, both parts are divided by it."""
    (ar, ai), (cr, ci) = map(b.parts, args)
    size_r, size_i = b.intrinsic("fabs", cr), b.intrinsic("fabs", ci)
    upright = b.compare("oge", size_r, size_i)
    large, small = b.select(upright, cr, ci), b.select(upright, ci, cr)
    x, y = b.select(upright, ar, ai), b.select(upright, ai, ar)
    ratio = b.binary("fdiv", small, large, flags)
    scale = b.binary("fadd", large, b.binary("fmul", small, ratio, flags), flags)
    scale = b.binary("fdiv", real(1.0, large.type), scale, flags)
    product = b.binary("fmul", x, ratio, flags)
    real_part = b.binary("fadd", x, b.binary("fmul", y, ratio, flags), flags)
    imag_part = b.select(upright, b.binary("fsub", y, product, flags), b.binary("fsub", product, y, flags))
    zero = real(0.0, large.type)
    nothing = b.binary("and", b.compare("oeq", cr, zero), b.compare("oeq", ci, zero))
    parts = zip((ar, ai), (real_part, imag_part), strict=True)
    return b.pair(*(b.select(nothing, b.binary("fdiv", a, size_r, flags), b.binary("fmul", part, scale, flags)) for a, part in parts))


def _negative(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    return b.pair(*(b.negate(part, flags) for part in b.parts(args[0])))


def _conjugate(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    real_part, imag_part = b.parts(args[0])
    return b.pair(real_part, b.negate(imag_part, flags))


def _absolute(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    """sqrt(re^2 + im^2) without overflow on the way: in double for floats, else by the larger part; an infinite part gives infinity."""
    x, y = (b.intrinsic("fabs", part) for part in b.parts(args[0]))
    type = x.type
    infinite = b.binary("or", b.compare("oeq", x, real(float("inf"), type)), b.compare("oeq", y, real(float("inf"), type)))
    if type == "float":
        first, second = (b.binary("fmul", wide, wide) for wide in (b.cast("fpext", part, "double") for part in (x, y)))
        size = b.cast("fptrunc", b.intrinsic("sqrt", b.binary("fadd", first, second)), "float")
    else:
        swaps = b.compare("olt", x, y)
        large, small = b.select(swaps, y, x), b.select(swaps, x, y)
        ratio = b.binary("fdiv", small, large)
        root = b.intrinsic("sqrt", b.binary("fadd", real(1.0, type), b.binary("fmul", ratio, ratio)))
        nothing = b.compare("oeq", large, real(0.0, type))
        size = b.select(nothing, real(0.0, type), b.binary("fmul", large, root))
    return b.select(infinite, real(float("inf"), type), size)


def _ordered(predicate: str, or_equal: str) -> Code:
    """Whether the real parts are in this order and no imaginary part is NaN, or they are equal and the imaginary parts in that order."""

    def code(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
        (ar, ai), (cr, ci) = map(b.parts, args)
        first = b.binary("and", b.compare(predicate, ar, cr), b.compare("ord", ai, ci))
        return b.binary("or", first, b.binary("and", b.compare("oeq", ar, cr), b.compare(or_equal, ai, ci)))

    return code


def _extremum(first_wins: Code) -> Code:
    """The first operand where it holds a NaN or is in this order with the second, else that."""

    def code(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
        kept = b.binary("or", b.compare("uno", *b.parts(args[0])), first_wins(b, args, flags))
        return _select(b, (kept, *args), flags)

    return code


def _select(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    first, second = b.parts(args[1]), b.parts(args[2])
    return b.pair(*(b.select(args[0], one, other) for one, other in zip(first, second, strict=True)))


def _equal(predicate: str, both: str) -> Code:
    def code(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
        (ar, ai), (cr, ci) = map(b.parts, args)
        return b.binary(both, b.compare(predicate, ar, cr), b.compare(predicate, ai, ci))

    return code


COMPLEX: dict[str, Code] = {
    "add": _by_parts("fadd"),
    "subtract": _by_parts("fsub"),
    "multiply": _multiply,
    "divide": _divide,
    "negative": _negative,
    "absolute": _absolute,
    "conjugate": _conjugate,
    "real": lambda b, args, flags: b.parts(args[0])[0],
    "imag": lambda b, args, flags: b.parts(args[0])[1],
    "maximum": _extremum(_ordered("ogt", "oge")),
    "minimum": _extremum(_ordered("olt", "ole")),
    "less": _ordered("olt", "olt"),
    "less_equal": _ordered("olt", "ole"),
    "greater": _ordered("ogt", "ogt"),
    "greater_equal": _ordered("ogt", "oge"),
    "equal": _equal("oeq", "and"),
    "not_equal": _equal("une", "or"),
    "where": _select,
}
