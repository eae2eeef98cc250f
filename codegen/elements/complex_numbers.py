"""Code for complex numbers: pairs of floats, with NumPy's formulas and its order, which is that of the real parts first."""

from __future__ import annotations

from eqsat.codegen.builder import Builder, Code, Value, real
from eqsat.codegen.math.number import Number
from eqsat.codegen.math.roots import hypot


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
    return hypot(*(Number(b, part) for part in b.parts(args[0]))).value


def _sqrt(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    """With t = sqrt((|re| + |z|)/2): t + im/(2t) i to the right of the imaginary axis, |im|/(2t) +- t i to its left.

    Numbers near the ends of the range are scaled by a power of four, floats computed in double, where none is.
    """
    parts = b.parts(args[0])
    if parts[0].type == "float":
        wide = _sqrt(b, (b.pair(*(b.cast("fpext", part, "double") for part in parts)),), flags)
        return b.pair(*(b.cast("fptrunc", part, "float") for part in b.parts(wide)))
    type = parts[0].type
    x, y = (b.intrinsic("fabs", part) for part in parts)
    most = b.select(b.compare("olt", x, y), y, x)
    large, tiny = b.compare("ogt", most, real(2.0**1000, type)), b.compare("olt", most, real(2.0**-900, type))
    scale = b.select(large, real(2.0**-8, type), b.select(tiny, real(2.0**200, type), real(1.0, type)))
    back = b.select(large, real(2.0**4, type), b.select(tiny, real(2.0**-100, type), real(1.0, type)))
    x, y = b.binary("fmul", x, scale), b.binary("fmul", y, scale)
    root = b.intrinsic("sqrt", b.binary("fmul", b.binary("fadd", x, hypot(Number(b, x), Number(b, y)).value), real(0.5, type)))
    other = b.binary("fmul", b.binary("fdiv", y, b.binary("fadd", root, root)), back)
    root = b.binary("fmul", root, back)
    left = b.compare("olt", parts[0], real(0.0, type))
    real_part, imag_part = b.select(left, other, root), b.select(left, root, other)
    nothing, endless = b.compare("oeq", b.binary("fadd", x, y), real(0.0, type)), b.compare("oeq", y, real(float("inf"), type))
    real_part = b.select(nothing, real(0.0, type), b.select(endless, y, real_part))
    imag_part = b.select(nothing, real(0.0, type), b.select(endless, y, imag_part))
    unordered = b.compare("uno", parts[0], parts[0])
    imag_part = b.select(b.binary("and", unordered, b.compare("one", y, real(float("inf"), type))), parts[0], imag_part)
    return b.pair(real_part, b.intrinsic("copysign", imag_part, parts[1]))


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
    "sqrt": _sqrt,
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
