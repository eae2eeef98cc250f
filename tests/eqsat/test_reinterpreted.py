"""Bytes as elements of another dtype: what NumPy's view shows, for every two dtypes, and errors where it has none."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import DTypeError, ShapeError, UnsupportedError
from tests.effort import some

RNG = np.random.default_rng(8)
DTYPES = [
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]
SHAPES: list[tuple[int, ...]] = [(3, 8), (8,), (), (2, 4), (5, 3)]


def any_bytes(shape: tuple[int, ...], dtype: str) -> Any:
    """Elements of any bytes, but for NaNs, which processors may quieten."""
    raw = RNG.integers(0, 256, int(np.prod(shape)) * np.dtype(dtype).itemsize, dtype="uint8")
    x = (raw & 1).astype(bool).reshape(shape) if dtype == "bool" else raw.view(dtype).reshape(shape)
    return np.where(np.isnan(x), np.ones((), dtype), x) if np.dtype(dtype).kind in "fc" else x


@pytest.mark.parametrize(("old", "new"), some(itertools.product(DTYPES, DTYPES), 9))
def test_a_view_is_what_numpy_shows(old: str, new: str) -> None:
    for shape in SHAPES:
        x = any_bytes(shape, old)
        try:
            expected = x.view(new)
        except ValueError:
            with pytest.raises(ShapeError, match="view: found"):
                eqsat.trace(lambda a: a.view(new), x)
            continue
        expected = expected.view("uint8") != 0 if new == "bool" else expected
        found = eqsat.jit(lambda a: a.view(new))(x)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.asarray(enp.asarray(x).view(new)), expected)


def test_bits_of_floats_are_those_of_all_kinds_of_numbers() -> None:
    x = np.array([0.0, -0.0, 1.5, -np.inf, np.inf, np.nan, 1e-45, -3e38], "float32")
    np.testing.assert_array_equal(eqsat.jit(lambda a: a.view("uint32"))(x), x.view("uint32"))
    np.testing.assert_array_equal(eqsat.jit(lambda a: (a.view("int32") & 0x7FFFFFFF).view("float32"))(x), abs(x))
    np.testing.assert_array_equal(eqsat.jit(lambda a: a.view("uint32").view("float32"))(x), x)


def test_an_inverse_root_by_bits_is_one_kernel() -> None:
    def inverse_root(x: Any) -> Any:
        y = (0x5F3759DF - (x.view("int32") >> 1)).view("float32")
        return y * (1.5 - 0.5 * x * y * y)

    x = RNG.random(1000).astype("float32") + 0.1
    result = eqsat.optimize(inverse_root, x)
    assert len(result.nests) == 1
    np.testing.assert_allclose(result(x), 1 / np.sqrt(x), rtol=2e-3)


def test_views_of_symbolic_sizes() -> None:
    n = eqsat.dim("n", 1, 100)
    plan = eqsat.optimize(lambda a: a.view("int64") + 1, eqsat.spec((n,), "float64")).compile()
    for size in (1, 7, 100):
        x = RNG.standard_normal(size)
        np.testing.assert_array_equal(plan(x), x.view("int64") + 1)


def test_a_view_is_not_written_to() -> None:
    """NumPy would put it into the array, of which some bytes change then."""

    def changed(x: Any) -> Any:
        bits = x.view("uint32")
        bits[0] = 7
        return x

    with pytest.raises(UnsupportedError, match="share memory"):
        eqsat.trace(changed, np.ones(4, "float32"))


def test_what_is_no_dtype_of_numpy_is_told() -> None:
    with pytest.raises(DTypeError, match="view: found"):
        eqsat.trace(lambda a: a.view("datetime64[s]"), np.ones(4))
    with pytest.raises((UnsupportedError, DTypeError), match="bfloat16"):  # the latter where ml_dtypes is not installed
        eqsat.trace(lambda a: a.view("bfloat16"), np.ones(4, "uint16"))
    same = np.arange(3.0)
    np.testing.assert_array_equal(eqsat.jit(lambda a: a.view())(same), same)
