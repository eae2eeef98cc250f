"""Powers: by few multiplications or a square root where the exponent is known and that is as exact, else the operation `power`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eqsat.ir.dtypes import carrier, is_complex, is_integer
from eqsat.ir.errors import UnsupportedError, UsageError
from eqsat.ir.tensor import Constant, Literal, Scalar, Tensor
from eqsat.operations.elementwise import Element, call, cast, common_dtype, elementwise
from eqsat.operations.generic import Number, literal, operand

# as many factors as stay within 2 ulp: x**5 = (x**2)**2 * x is rounded three times, one of them doubled
MOST_FACTORS = 5
# of complex numbers, for which there is nothing else
MOST_COMPLEX_FACTORS = 16


def power(x1: Any, x2: Any, /) -> Tensor:
    """x1 ** x2.  Integers: wrapped; UsageError for a known negative exponent, while those that arrays bring at run time give 1 / x**-y
    without its fraction, and 0 for x = 0 (NumPy raises there)."""
    exponent = operand("power", x2)
    if not isinstance(exponent, Tensor):
        return elementwise("power", (x1,), lambda base: _constant_power(base, exponent))
    smallest = int(exponent.data.min(initial=0)) if isinstance(exponent, Constant) and is_integer(exponent.dtype) else 0

    def block(base: Scalar | Number, y: Scalar) -> Scalar:
        dtype = common_dtype("power", (base, y))
        if smallest < 0 and is_integer(dtype):
            raise _negative(dtype, smallest)
        return call("power", base, y)

    return elementwise("power", (x1, exponent), block)


def square(x: Any, /) -> Tensor:
    def block(a: Scalar) -> Scalar:
        value = cast(a, "int8") if a.dtype == "bool" else a
        return call("multiply", value, value)

    return elementwise("square", (x,), block)


def float_power(x1: Any, x2: Any, /) -> Tensor:
    """x1 ** x2 in float64."""

    def block(base: Element, exponent: Element) -> Scalar:
        for value in (base, exponent):
            if isinstance(value, complex) or (isinstance(value, Scalar) and is_complex(value.dtype)):
                raise UnsupportedError("float_power: found a complex number, supported are real ones; use power with an integer exponent")
        x, y = cast(base, "float64"), cast(exponent, "float64")
        return _constant_power(x, y) if isinstance(y, Literal) else call("power", x, y)

    return elementwise("float_power", (x1, x2), block)


def _negative(dtype: str, exponent: Number) -> UsageError:
    return UsageError(f"power: found {dtype} to the negative power {exponent}, expected a float base; use astype first")


def _constant_power(base: Scalar, exponent: Literal | Number) -> Scalar:
    dtype = common_dtype("power", (base, exponent))
    known = cast(exponent, dtype)
    if not isinstance(known, Literal):  # a size that is known at run time
        return call("power", cast(base, dtype), known)
    x, value = cast(base, dtype), known.value
    if is_complex(dtype):
        return _complex_power(x, complex(value))
    assert not isinstance(value, complex)
    if is_integer(dtype):
        if value < 0:
            raise _negative(dtype, value)
        return _product(x, int(value))
    if carrier(dtype) != dtype:  # each product of 16 bits is rounded, and NumPy takes no root of them
        return _product(x, int(value)) if value in (0, 1, 2) else call("power", x, known)
    if value == 0.5:
        return call("sqrt", x)
    if value == -0.5:
        return _reciprocal_root(x)
    if value in ROOTS:
        return ROOTS[value](x)
    if value in range(MOST_FACTORS + 1):
        return _product(x, int(value))
    if value in (-1, -2):
        return _product(call("divide", 1, x), -int(value))
    return call("power", x, value)


def _complex_power(x: Scalar, value: complex) -> Scalar:
    if value in (0.5, -0.5):
        root = call("sqrt", x)
        return root if value == 0.5 else inverted(root, x)
    if value != int(value.real) or abs(value) > MOST_COMPLEX_FACTORS:
        raise UnsupportedError(
            f"power: found {x.dtype} to the power {value}, supported are integers up to {MOST_COMPLEX_FACTORS} and 0.5; use exp(y * log(x))"
        )
    product = _product(x, abs(int(value.real)))
    return product if value.real >= 0 else inverted(product, x)


def inverted(power: Scalar, base: Scalar) -> Scalar:
    """1 / power, a positive power of a complex base; NaN of zero in both parts, as NumPy has it, whose quotient 1 / 0 is infinite."""
    nothing = literal(complex(np.nan, np.nan), base.dtype)
    return call("where", call("equal", base, 0), nothing, call("divide", 1, power))


def _reciprocal_root(x: Scalar) -> Scalar:
    """x ** -0.5: zero for -inf, and +inf for both zeros, of which adding makes one."""
    return _one_by(x, call("sqrt", call("add", x, 0)))


def _one_by(x: Scalar, root: Scalar) -> Scalar:
    """1 by a root of x, zero for -inf, of which there is none."""
    return call("where", call("equal", x, -np.inf), 0, call("divide", 1, root))


def _of_minus_infinity(x: Scalar, result: Scalar) -> Scalar:
    """A power that is infinite for -inf, of which no root is."""
    return call("where", call("equal", x, -np.inf), np.inf, result)


def _fourth_root(x: Scalar) -> Scalar:
    return call("sqrt", call("sqrt", call("add", x, 0)))  # of both zeros +0


def _times_root(x: Scalar) -> Scalar:
    return call("multiply", x, call("sqrt", x))


# powers of roots that stay within 2 ulp
ROOTS: dict[float, Callable[[Scalar], Scalar]] = {
    -1.5: lambda x: _times_root(call("divide", 1, call("add", x, 0))),  # +inf of both zeros, and of -inf the product of two -0
    -0.25: lambda x: _one_by(x, _fourth_root(x)),
    0.25: lambda x: _of_minus_infinity(x, _fourth_root(x)),
    1.5: lambda x: _of_minus_infinity(x, _times_root(x)),
    2.5: lambda x: _of_minus_infinity(x, call("multiply", call("multiply", x, x), call("sqrt", call("add", x, 0)))),
}


def _product(x: Scalar, times: int) -> Scalar:
    """x multiplied `times` times, by squaring."""
    if times <= 1:
        return x if times else literal(1, x.dtype)
    half = _product(x, times // 2)
    even = call("multiply", half, half)
    return call("multiply", even, x) if times % 2 else even
