"""The dtypes and values of operations are NumPy 2's, for every operator, every pair of dtypes and every kind of number."""

from __future__ import annotations

import itertools
import operator
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.exceptions import ComplexWarning

import eqsat
import eqsat.numpy as enp
from eqsat.capture.tracing import trace
from eqsat.ir.dtypes import DTYPES, INTEGERS, is_complex, is_integer
from eqsat.ir.errors import DTypeError, EqsatError, UsageError
from eqsat.testing import assert_close
from tests.effort import some
from tests.eqsat.tracing_cases import Array, sample, traced

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
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "maximum": np.maximum,
    "minimum": enp.minimum,
    "logical_and": np.logical_and,
    "logical_or": enp.logical_or,
    "where": lambda x, y: np.where(x > 0, x, y),
    "@": lambda x, y: x[None] @ y if np.ndim(y) else x @ np.ones(6, np.int32),
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "log": lambda x: np.log(abs(x)),
    "sqrt": lambda x: np.sqrt(abs(x)),
    "tanh": enp.tanh,
    "square": np.square,
    "abs": abs,
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "conj": lambda x: x.conj(),
    "conjugate": np.conjugate,
    "real": np.real,
    "imag": lambda x: x.imag,
    "logical_not": np.logical_not,
    "sum": np.sum,
    "sum of int16": lambda x: np.sum(x, dtype="int16"),
    "sum of float16": lambda x: np.sum(x, dtype="float16"),
    "max": np.max,
    "min": np.min,
    "mean": np.mean,
    "mean of float16": lambda x: np.mean(x, dtype="float16"),
    "** 2": lambda x: x**2,
    "** 2.0": lambda x: x**2.0,
    "** 0.5": lambda x: abs(x) ** 0.5,
}
NUMBERS: list[Any] = [True, 0, 2, -3, 300, -40_000, 2**31, 2**40, -(2**40), 2**63, 2**70, -(2**70), 2.5, -1e300, 1j, 2 - 3.5j]
# what NumPy has and eqsat refuses with a word about it


def edges(dtype: str) -> Array:
    """Six values at the ends of a dtype and around zero."""
    if dtype == "bool":
        return np.array([False, True, True, False, True, False])
    if is_integer(dtype):
        info = np.iinfo(dtype)
        return np.array([1, 0, info.max, info.min, 7, info.max // 3], dtype)
    values = np.array([1.5, -0.0, np.inf, np.nan, -7.0, 0.25])
    if is_complex(dtype):
        values = np.stack([values, values[::-1]], 1).view("complex128")[:, 0]
    return values.astype(dtype)


def by_numpy(function: Callable[..., Any], *arrays: Any) -> Any:
    """NumPy's result, or the error that it raises."""
    with np.errstate(all="ignore"), warnings.catch_warnings(category=ComplexWarning, action="ignore"):
        try:
            return np.asarray(function(*arrays))
        except (TypeError, OverflowError) as error:
            return error


def number_last(function: Binary, number: Any) -> Callable[[Any], Any]:
    return lambda x: function(x, number)


def is_taken(function: Callable[..., Any], array: Array) -> bool:
    try:
        trace(function, array)
    except EqsatError:
        return False
    return True


def agree(found: Array, expected: Array) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert_close(found, expected)
    if found.dtype.kind == "f":  # of bfloat16, LLVM does not always keep which zero the greater of two is
        np.testing.assert_array_equal(np.signbit(found[expected == 0]), np.signbit(expected[expected == 0]))


def check(function: Callable[..., Any], *arrays: Any) -> None:
    """The traced function agrees with NumPy, or refuses what NumPy refuses: a number that does not fit, or dtypes."""
    expected = by_numpy(function, *arrays)
    if isinstance(expected, np.ndarray) and expected.dtype.name in DTYPES:
        agree(traced(function, arrays), expected)
    else:
        with pytest.raises(UsageError if isinstance(expected, OverflowError) else DTypeError) as caught:
            trace(function, *arrays)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("left", "name"), some(itertools.product(DTYPES, BINARY)))
def test_a_binary_operation_is_numpys_on_every_pair_of_dtypes(name: str, left: str) -> None:
    for right in DTYPES:
        for values in (sample, lambda _shape, dtype, _seed: edges(dtype)):
            check(BINARY[name], values((6,), left, 1), values((6,), right, 2)[::-1])


@pytest.mark.parametrize(("dtype", "name"), some(itertools.product(DTYPES, BINARY), 7))
def test_an_operation_with_a_number_is_numpys_weak_or_strong_one(name: str, dtype: str) -> None:
    for array in (sample((6,), dtype, 3), edges(dtype)):
        for number in some([*NUMBERS, *(np.dtype(other).type(2) for other in DTYPES)], 2):
            if (name == "where" or dtype == "bfloat16") and type(number) is int and not -(2**63) <= number < 2**63:
                continue  # NumPy refuses it even beside floats
            check(lambda x, number=number: BINARY[name](x, number), array)
            if name not in ("where", "@"):
                check(lambda x, number=number: BINARY[name](number, x), array)


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_unary_operation_is_numpys(name: str, dtype: str) -> None:
    for array in (sample((6,), dtype, 4), edges(dtype)):
        check(UNARY[name], array)


@pytest.mark.parametrize("left", some(DTYPES, 5))
def test_compiled_operations_are_numpys_on_every_pair_of_dtypes(left: str) -> None:
    """All operators with all dtypes on the right, in one program."""
    a, others = edges(left), [edges(right)[::-1].copy() for right in DTYPES]
    calls = [(name, k) for name in BINARY for k, other in enumerate(others) if isinstance(by_numpy(BINARY[name], a, other), np.ndarray)]
    result = eqsat.optimize(lambda x, *ys: tuple(BINARY[name](x, ys[k]) for name, k in calls), a, *others)
    for (name, k), found in zip(calls, result(a, *others), strict=True):
        agree(found, by_numpy(BINARY[name], a, others[k]))


@pytest.mark.parametrize("dtype", some(DTYPES, 5))
def test_compiled_operations_with_numbers_are_numpys(dtype: str) -> None:
    array = edges(dtype)
    calls: list[Callable[[Any], Any]] = []
    for name, number in itertools.product(BINARY, NUMBERS):
        calls.append(number_last(BINARY[name], number))
        if name not in ("where", "@"):
            calls.append(partial(BINARY[name], number))
    calls = [function for function in calls if is_taken(function, array) and isinstance(by_numpy(function, array), np.ndarray)]
    assert len(calls) > 250
    result = eqsat.optimize(lambda x: tuple(function(x) for function in calls), array)
    for function, found in zip(calls, result(array), strict=True):
        agree(found, by_numpy(function, array))


@pytest.mark.parametrize("source", DTYPES)
def test_a_cast_is_numpys(source: str) -> None:
    numbers = edges(source)
    for target in DTYPES:
        check(lambda x, target=target: x.astype(target), sample((6,), source))
        # of what an integer does not hold, NumPy makes other values from complex numbers than from real ones
        fit = np.isfinite(numbers) if is_complex(source) and is_integer(target) else np.full(6, True)
        check(lambda x, target=target: x.astype(target), numbers[fit])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_a_large_integer_is_compared_and_never_wrapped(dtype: str) -> None:
    numbers, large = edges(dtype), 2**64
    check(lambda x: x < large, numbers)
    with pytest.raises(UsageError, match=f"{large}, which does not fit {dtype}"):
        trace(lambda x: x + large, numbers)


def test_negative_numbers_are_less_than_unsigned_ones() -> None:
    signed, unsigned = np.array([-1, 0, 1, 5, -(2**63)]), np.array([0, 2**64 - 1, 1, 4, 2**63], np.uint64)
    for name in ("<", "<=", ">", ">=", "==", "!="):
        check(BINARY[name], signed, unsigned)
        check(BINARY[name], unsigned, signed.astype(np.int8))


def test_the_square_of_a_truth_value_is_an_int8_of_an_array_and_an_int64_of_a_scalar() -> None:
    truths = np.array([True, False, True])
    for function in (lambda x: x**2, lambda x: x[0] ** 2, lambda x: x.all() ** 2 * 200, lambda x: x.max() ** 3):
        check(function, truths)


def test_a_float_that_overflows_is_infinite_as_in_numpy() -> None:
    check(lambda x: x * 1e300, sample((4,), "float32"))
    check(lambda x: x + 70_000, sample((4,), "float16"))


KINDS = ("bool", "int8", "uint8", "int64", "float16", "float32")


@pytest.mark.parametrize(("first", "second", "third"), list(itertools.product(KINDS, repeat=3)))
def test_dtypes_of_operations_on_three(first: str, second: str, third: str) -> None:
    x, low, high = np.ones(3, first), np.zeros(3, second), np.ones(3, third)
    bounds: list[tuple[Any, Any]] = [(low, high), (low, 1), (0, high), (0.5, high), (low, 1.5), (None, high)]
    for least, most in bounds:
        given = [value for value in (x, least, most) if isinstance(value, np.ndarray)]
        clipped = trace(lambda *arrays, least=least, most=most: enp.clip(*_filled((None, least, most), arrays)), *given)
        assert clipped.outputs[0].dtype == np.clip(x, least, most).dtype
    assert trace(lambda a, b: enp.linspace(a, b, 3), low, high).outputs[0].dtype == np.linspace(low, high, 3).dtype


def _filled(values: tuple[Any, ...], arrays: tuple[Any, ...]) -> Iterator[Any]:
    """The values, with traced arrays for the first and for those that are arrays."""
    left = iter(arrays)
    for position, value in enumerate(values):
        yield next(left) if position == 0 or isinstance(value, np.ndarray) else value
