"""The dtypes of traced operations are NumPy 2's, for every operator and every pair of dtypes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat.numpy as enp
from eqsat.ir.dtypes import DTYPES
from eqsat.ir.errors import DTypeError, UnsupportedError, UsageError
from eqsat.spec import spec
from eqsat.tracing import trace
from tests.eqsat.tracing_cases import assert_same, sample

Binary = Callable[[Any, Any], Any]

BINARY: dict[str, Binary] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "maximum": np.maximum,
    "minimum": enp.minimum,
    "logical_and": np.logical_and,
    "logical_or": enp.logical_or,
    "where": lambda x, y: np.where(x > 0, x, y),
    "@": lambda x, y: x[None] @ y if np.ndim(y) else x @ np.ones(4, np.int32),
}
BITWISE: dict[str, Binary] = {"&": operator.and_, "|": operator.or_, "^": operator.xor}
UNARY: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "log": lambda x: np.log(abs(x)),
    "sqrt": lambda x: np.sqrt(abs(x)),
    "tanh": enp.tanh,
    "square": np.square,
    "abs": abs,
    "-": operator.neg,
    "+": operator.pos,
    "logical_not": np.logical_not,
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "mean": np.mean,
    "** 2": lambda x: x**2,
    "** 2.0": lambda x: x**2.0,
    "** 0.5": lambda x: abs(x) ** 0.5,
}
SCALARS: list[Any] = [True, 2, -3, 2.5, np.bool_(True), np.int32(2), np.int64(2), np.float32(2.5), np.float64(2.5)]


def check(function: Callable[..., Any], *arrays: Any) -> None:
    """The traced function agrees with NumPy, or refuses what NumPy refuses or gives in a dtype that eqsat does not have."""
    try:
        with np.errstate(all="ignore"):
            expected = np.asarray(function(*arrays)).dtype.name
    except TypeError:
        expected = "an error"
    if expected in DTYPES:
        assert_same(function, *arrays)
    else:
        with pytest.raises(DTypeError):
            trace(function, *arrays)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("left", DTYPES)
@pytest.mark.parametrize("right", DTYPES)
def test_a_binary_operation_has_numpys_dtype(name: str, left: str, right: str) -> None:
    if name == "@" and left == right == "bool":
        with pytest.raises(DTypeError, match="matmul"):
            trace(BINARY[name], spec((4,), left), spec((4,), right))
        return
    check(BINARY[name], sample((4,), left, 1), sample((4,), right, 2))


@pytest.mark.parametrize("name", [name for name in BINARY if name != "@"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scalar", SCALARS, ids=lambda value: f"{type(value).__name__}({value})")
def test_a_scalar_operand_has_numpys_weak_or_strong_dtype(name: str, dtype: str, scalar: Any) -> None:
    array = sample((4,), dtype, 3)
    check(lambda x: BINARY[name](x, scalar), array)
    if name != "where":
        check(lambda x: BINARY[name](scalar, x), array)


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_unary_operation_has_numpys_dtype(name: str, dtype: str) -> None:
    check(UNARY[name], sample((4,), dtype, 4))


@pytest.mark.parametrize("name", BITWISE)
@pytest.mark.parametrize("dtype", DTYPES)
def test_bitwise_operators_are_logic_on_bool_only(name: str, dtype: str) -> None:
    if dtype == "bool":
        assert_same(BITWISE[name], sample((8,), dtype, 1), sample((8,), dtype, 2))
    else:
        with pytest.raises(UnsupportedError, match="bitwise"):
            trace(BITWISE[name], spec((4,), dtype), spec((4,), dtype))


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_a_cast_is_numpys(source: str, target: str) -> None:
    assert_same(lambda x: x.astype(target), sample((6,), source))


def test_a_large_integer_is_compared_and_never_wrapped() -> None:
    numbers = sample((4,), "int32")
    assert_same(lambda x: x < 2**40, numbers)
    with pytest.raises(UsageError, match="1099511627776, which does not fit int32"):
        trace(lambda x: x + 2**40, numbers)


def test_a_float_that_overflows_is_infinite_as_in_numpy() -> None:
    assert_same(lambda x: x * 1e300, sample((4,), "float32"))
