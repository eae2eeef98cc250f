"""Powers: by few multiplications or a square root where the exponent is known and that is as exact, else the operation `power`."""

from __future__ import annotations

from typing import Any

import numpy as np

from eqsat.ir.dtypes import is_float
from eqsat.ir.errors import DTypeError, UsageError
from eqsat.ir.tensor import Constant, Literal, Scalar, Tensor
from eqsat.operations.elementwise import call, cast, common_dtype, elementwise
from eqsat.operations.generic import Number, literal, operand

# as many factors as stay within 2 ulp: x**5 = (x**2)**2 * x is rounded three times, one of them doubled
MOST_FACTORS = 5


def power(x1: Any, x2: Any, /) -> Tensor:
    """x1 ** x2.  Integers: wrapped; UsageError for a known negative exponent, while those that arrays bring at run time give 1 / x**-y
    without its fraction, and 0 for x = 0 (NumPy raises there)."""
    exponent = operand("power", x2)
    if not isinstance(exponent, Tensor):
        return elementwise("power", (x1,), lambda base: _constant_power(base, exponent))
    smallest = int(exponent.data.min(initial=0)) if isinstance(exponent, Constant) and not is_float(exponent.dtype) else 0

    def block(base: Scalar | Number, y: Scalar) -> Scalar:
        dtype = common_dtype("power", (base, y))
        if smallest < 0 and not is_float(dtype):
            raise _negative(dtype, smallest)
        return call("power", base, y)

    return elementwise("power", (x1, exponent), block)


def square(x: Any, /) -> Tensor:
    return power(x, 2)


def float_power(x1: Any, x2: Any, /) -> Tensor:
    """x1 ** x2 in float64."""
    exponent = operand("float_power", x2)
    if not isinstance(exponent, Tensor):
        value = float(exponent.value if isinstance(exponent, Literal) else exponent)
        return elementwise("float_power", (x1,), lambda base: _constant_power(cast(base, "float64"), value))
    return elementwise("float_power", (x1, exponent), lambda base, y: call("power", cast(base, "float64"), cast(y, "float64")))


def _negative(dtype: str, exponent: Number) -> UsageError:
    return UsageError(f"power: found {dtype} to the negative power {exponent}, expected a float base; use astype first")


def _constant_power(base: Scalar, exponent: Literal | Number) -> Scalar:
    dtype = common_dtype("power", (base, exponent))
    if dtype == "bool" or (base.dtype == "bool" and type(exponent) is int and exponent == 2):
        raise DTypeError("power: found bool operands, for which NumPy computes in int8; use astype first")
    value = exponent.value if isinstance(exponent, Literal) else exponent
    x = cast(base, dtype)
    if not is_float(dtype):
        if value < 0:
            raise _negative(dtype, value)
        return _product(x, int(value), dtype)
    if value == 0.5:
        return call("sqrt", x)
    if value == -0.5:
        return _reciprocal_root(x)
    if value in (-1, -2):
        return _product(call("divide", 1, x), -int(value), dtype)
    if value in range(MOST_FACTORS + 1):
        return _product(x, int(value), dtype)
    return call("power", x, value)


def _reciprocal_root(x: Scalar) -> Scalar:
    """x ** -0.5: zero for -inf, and +inf for both zeros, of which adding makes one."""
    return call("where", call("equal", x, -np.inf), 0, call("divide", 1, call("sqrt", call("add", x, 0))))


def _product(x: Scalar, times: int, dtype: str) -> Scalar:
    """x multiplied `times` times, by squaring."""
    if times <= 1:
        return x if times else literal(1, dtype)
    half = _product(x, times // 2, dtype)
    even = call("multiply", half, half)
    return call("multiply", even, x) if times % 2 else even
