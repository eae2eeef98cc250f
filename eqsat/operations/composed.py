"""Elementwise functions that are made of others, as NumPy makes them."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from eqsat.ir.dtypes import SIGNED, carrier, is_complex, is_float, is_integer, itemsize, promoted
from eqsat.ir.errors import DTypeError, UnsupportedError
from eqsat.ir.tensor import Scalar, Tensor
from eqsat.operations.elementwise import Element, call, cast, common_dtype, elementwise, scalar_operation
from eqsat.operations.generic import integer, literal, tensor_of
from eqsat.operations.powers import inverted
from eqsat.operations.reductions import fold

BRAIN = SimpleNamespace(eps=2.0**-7, max=float(2.0**128 - 2.0**120))
_floor_divide, _remainder, _arctan2 = (scalar_operation(op) for op in ("floor_divide", "remainder", "arctan2"))
_real, _imag = scalar_operation("real"), scalar_operation("imag")


def in_floats(op: str, *values: Element) -> tuple[str, tuple[Scalar, ...]]:
    """The dtype that NumPy gives for a function with loops like those of `op`, and the values in the dtype that it computes in."""
    dtype = common_dtype(op, values)
    return dtype, tuple(cast(value, carrier(dtype)) for value in values)


def finfo(dtype: str) -> Any:
    """Of bfloat16, which NumPy's does not know, by what it has in common with float32."""
    return np.finfo(dtype) if dtype != "bfloat16" else BRAIN


def divmod(x1: Any, x2: Any, /) -> tuple[Tensor, Tensor]:
    """(x1 // x2, x1 % x2)."""
    return _floor_divide(x1, x2), _remainder(x1, x2)


def reciprocal(x: Any, /) -> Tensor:
    """1 / x, for integers without its fraction; 1 / 0 is what this machine's NumPy gives."""

    def block(a: Scalar) -> Scalar:
        dtype = "int8" if a.dtype == "bool" else a.dtype
        x = cast(a, dtype)
        if is_complex(dtype):
            return inverted(x, x)
        if not is_integer(dtype):
            return call("divide", 1, x)
        unit = call("where", call("equal", x, 1), x, literal(0, dtype))
        if dtype in SIGNED:
            unit = call("where", call("equal", x, -1), x, unit)
        with np.errstate(all="ignore"):
            of_zero = int(np.reciprocal(np.zeros(1, dtype))[0])
        return call("where", call("equal", x, 0), literal(of_zero, dtype), unit)

    return elementwise("reciprocal", (x,), block)


def fabs(x: Any, /) -> Tensor:
    def block(a: Scalar) -> Scalar:
        if is_complex(a.dtype):
            raise UnsupportedError(f"fabs: found {a.dtype}, supported are real numbers; use absolute")
        dtype, (value,) = in_floats("rint", a)
        return cast(call("absolute", value), dtype)

    return elementwise("fabs", (x,), block)


def deg2rad(x: Any, /) -> Tensor:
    return _scaled("deg2rad", x)


def rad2deg(x: Any, /) -> Tensor:
    return _scaled("rad2deg", x)


def _scaled(name: str, x: Any) -> Tensor:
    """Times the value that the function has at one, rounded to the dtype."""

    def block(a: Scalar) -> Scalar:
        dtype, (value,) = in_floats("rint", a)
        if is_complex(dtype):
            raise DTypeError(f"{name}: found {dtype}, expected real numbers")
        return cast(call("multiply", value, float(getattr(np, name)(np.dtype(value.dtype).type(1)))), dtype)

    return elementwise(name, (x,), block)


def sinc(x: Any, /) -> Tensor:
    """sin(pi x) / (pi x), one at zero."""

    def block(a: Scalar) -> Scalar:
        scaled = call("multiply", a, math.pi)
        angle = call("where", call("equal", scaled, 0), float(finfo(scaled.dtype).eps), scaled)
        return call("divide", call("sin", angle), angle)

    return elementwise("sinc", (x,), block)


def heaviside(x1: Any, x2: Any, /) -> Tensor:
    """0 below zero, x2 at zero, 1 above; NaN stays."""

    def block(a: Element, h: Element) -> Scalar:
        dtype, (x, at_zero) = in_floats("hypot", a, h)
        beside = call("where", call("less", x, 0), 0, call("where", call("greater", x, 0), 1, x))
        return cast(call("where", call("equal", x, 0), at_zero, beside), dtype)

    return elementwise("heaviside", (x1, x2), block)


def bitwise_count(x: Any, /) -> Tensor:
    """How many binary digits of the absolute value of an integer are one, as uint8: of twos, fours and eights, then of all."""

    def block(a: Scalar) -> Scalar:
        if a.dtype == "bool":
            return cast(a, "uint8")
        if not is_integer(a.dtype):
            raise DTypeError(f"bitwise_count: found {a.dtype}, expected integers or bool")
        bits = 8 * itemsize(a.dtype)
        ones = (1 << bits) - 1
        value = cast(call("absolute", a) if a.dtype in SIGNED else a, f"uint{bits}")

        def each(width: int, value: Scalar) -> Scalar:
            """Every second group of so many digits."""
            return call("bitwise_and", value, literal(ones // ((1 << width) + 1), value.dtype))

        value = call("subtract", value, each(1, call("right_shift", value, 1)))
        value = call("add", each(2, value), each(2, call("right_shift", value, 2)))
        value = each(4, call("add", value, call("right_shift", value, 4)))
        if bits > 8:
            value = call("right_shift", call("multiply", value, literal(ones // 0xFF, value.dtype)), bits - 8)
        return cast(value, "uint8")

    return elementwise("bitwise_count", (x,), block)


def logaddexp(x1: Any, x2: Any, /) -> Tensor:
    """log(exp(x1) + exp(x2)) without overflow: the greater one and log1p(exp(-distance))."""

    def block(a: Element, b: Element) -> Scalar:
        dtype, (x, y) = in_floats("hypot", a, b)
        smaller = call("exp", call("negative", call("absolute", call("subtract", x, y))))
        return cast(_of_sum(x, y, call("log1p", smaller), math.log(2)), dtype)

    return elementwise("logaddexp", (x1, x2), block)


def logaddexp2(x1: Any, x2: Any, /) -> Tensor:
    """log2(2**x1 + 2**x2) without overflow."""

    def block(a: Element, b: Element) -> Scalar:
        dtype, (x, y) = in_floats("hypot", a, b)
        smaller = call("exp2", call("negative", call("absolute", call("subtract", x, y))))
        return cast(_of_sum(x, y, call("multiply", call("log1p", smaller), math.log2(math.e)), 1.0), dtype)

    return elementwise("logaddexp2", (x1, x2), block)


def _of_sum(x: Scalar, y: Scalar, more: Scalar, of_equal: float) -> Scalar:
    """Equal ones apart: infinities have no distance."""
    return call("where", call("equal", x, y), call("add", x, of_equal), call("add", call("maximum", x, y), more))


def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Tensor:
    """minimum(maximum(a, a_min), a_max); a bound of None is none."""
    low, high = (b if a is None else a for a, b in ((a_min, min), (a_max, max)))

    def block(x: Scalar, *bounds: Element) -> Scalar:
        found = iter(bounds)
        chosen = [next(found) if bound is not None else None for bound in (low, high)]
        integers = is_integer(x.dtype)
        if integers and isinstance(chosen[0], int) and chosen[0] <= np.iinfo(x.dtype).min:
            chosen[0] = None
        if integers and isinstance(chosen[1], int) and chosen[1] >= np.iinfo(x.dtype).max:
            chosen[1] = None
        dtype = promoted(*(np.dtype(e.dtype) if isinstance(e, Scalar) else e for e in (x, *chosen) if e is not None))
        result = cast(x, dtype)
        result = result if chosen[0] is None else call("maximum", result, cast(chosen[0], dtype))
        return result if chosen[1] is None else call("minimum", result, cast(chosen[1], dtype))

    return elementwise("clip", (a, *(bound for bound in (low, high) if bound is not None)), block)


def round(a: Any, decimals: int = 0) -> Tensor:
    """To the nearest multiple of 10**-decimals, halves to the even one, as NumPy does: multiplied, rounded, divided."""
    digits = integer("round", "decimals", decimals)

    def block(x: Scalar) -> Scalar:
        if is_integer(x.dtype):
            return x if digits >= 0 else cast(rounded(cast(x, "float64")), x.dtype)
        if x.dtype == "bool" and digits:
            raise DTypeError("round: found bool, which NumPy rounds to no decimals; use astype first")
        return rounded(cast(x, common_dtype("rint", (x,))))

    def rounded(x: Scalar) -> Scalar:
        if digits == 0:
            return call("rint", x)
        first, last = ("multiply", "divide") if digits > 0 else ("divide", "multiply")
        unit = 10.0 ** abs(digits)
        return call(last, call("rint", call(first, x, unit)), unit)

    return elementwise("round", (a,), block)


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Tensor:
    """NaN and infinities replaced, by the greatest and least float unless it is said by what."""
    if not copy:
        raise UnsupportedError("nan_to_num: found copy=False, traced arrays cannot be changed in place; use the returned array")

    def block(a: Scalar, *others: Element) -> Scalar:
        if is_complex(a.dtype):
            raise UnsupportedError(f"nan_to_num: found {a.dtype}, supported are real numbers; apply it to x.real and x.imag")
        if not is_float(a.dtype):
            return a
        given = iter(others)
        largest = float(finfo(a.dtype).max)
        of_nan = next(given)
        above = largest if posinf is None else next(given)
        below = -largest if neginf is None else next(given)
        finite = call(
            "where", call("equal", a, np.inf), cast(above, a.dtype), call("where", call("equal", a, -np.inf), cast(below, a.dtype), a)
        )
        return call("where", call("isnan", a), cast(of_nan, a.dtype), finite)

    return elementwise("nan_to_num", (x, *(value for value in (nan, posinf, neginf) if value is not None)), block)


def angle(z: Any, deg: bool = False) -> Tensor:
    """The angle of a complex number in radians, or degrees."""
    value = tensor_of("angle", z)
    found = _arctan2(_imag(value), _real(value)) if is_complex(value.dtype) else _arctan2(0, value)
    return elementwise("angle", (found,), lambda a: call("multiply", a, 180 / math.pi)) if deg else found


def modf(x: Any, /) -> tuple[Tensor, Tensor]:
    """(what stands behind the point, what stands before it), both with the sign of x."""

    def parts(a: Scalar) -> tuple[Scalar, Scalar]:
        dtype, (value,) = in_floats("trunc", a) if is_float(a.dtype) else in_floats("rint", a)
        whole = call("trunc", value)
        rest = call("where", call("isinf", value), cast(0.0, value.dtype), call("subtract", value, whole))
        return cast(call("copysign", rest, value), dtype), cast(whole, dtype)

    return elementwise("modf", (x,), lambda a: parts(a)[0]), elementwise("modf", (x,), lambda a: parts(a)[1])


def isposinf(x: Any, /) -> Tensor:
    return _infinite("isposinf", x, np.inf)


def isneginf(x: Any, /) -> Tensor:
    return _infinite("isneginf", x, -np.inf)


def _infinite(name: str, x: Any, infinity: float) -> Tensor:
    def block(a: Scalar) -> Scalar:
        if is_complex(a.dtype):
            raise DTypeError(f"{name}: found {a.dtype}, expected real numbers")
        return call("equal", a, infinity) if is_float(a.dtype) else literal(False, "bool")

    return elementwise(name, (x,), block)


def isreal(x: Any) -> Tensor:
    """Whether the imaginary part is zero."""
    return elementwise("isreal", (x,), _is_real)


def _is_real(a: Scalar) -> Scalar:
    return call("equal", call("imag", a), 0) if is_complex(a.dtype) else literal(True, "bool")


def iscomplex(x: Any) -> Tensor:
    """Whether the imaginary part is not zero."""
    return elementwise("iscomplex", (x,), lambda a: call("logical_not", _is_real(a)))


def spacing(x: Any, /) -> Tensor:
    """How far the next number is, away from zero, with the sign of x; of float16 the next greater one, as NumPy has it."""

    def block(a: Scalar) -> Scalar:
        value = cast(a, in_floats("rint", a)[0])
        greatest = cast(np.inf, value.dtype)
        towards = call("copysign", greatest, value)
        if value.dtype == "float16":
            towards = call("where", call("equal", value, call("negative", greatest)), value, greatest)
        return call("subtract", call("nextafter", value, towards), value)

    return elementwise("spacing", (x,), block)


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Tensor:
    """|a - b| <= atol + rtol |b| where b is finite, else whether they are equal."""

    def block(x: Element, other: Element, relative: Element, absolute: Element) -> Scalar:
        y = cast(other, common_dtype("add", (other, 1.0)))
        distance = call("absolute", call("subtract", x, y))
        allowed = call("add", absolute, call("multiply", relative, call("absolute", y)))
        near = call("logical_and", call("less_equal", distance, allowed), call("isfinite", y))
        near = call("logical_or", near, call("equal", x, y))
        both_nan = call("logical_and", call("isnan", x), call("isnan", y))
        return call("logical_or", near, both_nan) if equal_nan else near

    return elementwise("isclose", (a, b, rtol, atol), block)


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether isclose holds everywhere: a 0-d array of bool."""
    return fold("allclose", "min", isclose(a, b, rtol, atol, equal_nan), None, False, "bool")
