"""Functions of complex numbers, made of functions of their parts or NumPy's own, within compiled programs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.evaluate import evaluate
from eqsat.operations.complex_functions import BY_PARTS, NAMES

PARTS = (0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-30)
SPECIAL = np.array([complex(a, b) for a, b in itertools.product(PARTS, PARTS)])
BINARY = {"isclose", "allclose", "fmax", "fmin", "power", "float_power"}
UNARY = sorted({*NAMES} - BINARY - {"corrcoef"})


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", UNARY)
def test_special_values_are_numpys(name: str, dtype: str) -> None:
    x = SPECIAL.astype(dtype)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x)
    program = eqsat.trace(getattr(enp, name), x)
    for found in (evaluate(program, [x])[0], eqsat.optimize(program)(x)):
        assert found.dtype == expected.dtype
        _assert_close_by_parts(found, expected, 4 if name in BY_PARTS else 0)


def _assert_close_by_parts(found: Any, expected: Any, ulp: int) -> None:
    for part in ("real", "imag") if found.dtype.kind == "c" else ("real",):
        one, other = getattr(found, part), getattr(expected, part)
        np.testing.assert_allclose(one, other, rtol=ulp * np.finfo(one.dtype).eps if ulp and one.dtype.kind == "f" else 0, atol=0)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_exponentials_are_numpys_wherever_a_part_is_finite(dtype: str) -> None:
    """exp(x) overflows at 88.7 and 709.8, its products with small sines later."""
    parts = np.array(
        [0, -0.0, 1, -1, 3, 80.5, 88.8, 100, 120, -120, 700, 709.9, 720, 1064, 1400, -746, np.inf, -np.inf, np.nan, 1e-30, np.pi]
    )
    z = np.empty((parts.size, parts.size), dtype)
    z.real, z.imag = parts[:, None], parts
    with np.errstate(all="ignore"):
        _assert_close_by_parts(eqsat.jit(enp.exp)(z), np.exp(z), 4)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_exponentials_of_large_numbers_times_small_sines_are_finite(dtype: str) -> None:
    large, small = (
        ([81, 140, 141, 190], [1e-30, 1e-38, 1e-45]) if dtype == "complex64" else ([701, 1070, 1201, 1450], [1e-300, 1e-308, 5e-324])
    )
    z = np.empty((len(large), len(small)), dtype)
    z.real, z.imag = np.array(large)[:, None], small
    with np.errstate(all="ignore"):
        expected = np.exp(z)
        assert np.isfinite(expected.imag).any(axis=1).all()
        _assert_close_by_parts(eqsat.jit(enp.exp)(z), expected, 8)


def test_exponentials_are_one_loop() -> None:
    result = eqsat.optimize(lambda x: np.abs(np.exp(2j * x)), eqsat.spec((50,), "float64"))
    assert len(result.loops) == 1


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", sorted(BINARY))
def test_functions_of_two_numbers_are_numpys(name: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, y = _pair(rng, dtype)
    for second in (y, y.real.copy(), 1.5 - 0.5j, 2.5):
        expected = getattr(np, name)(x, second)
        found = _called(name, x, second)
        assert found.dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == "complex64" else 1e-13)


def _called(name: str, x: Any, second: Any) -> Any:
    if isinstance(second, np.ndarray):
        return eqsat.jit(lambda a, b: getattr(np, name)(a, b))(x, second)
    return eqsat.jit(lambda a: getattr(np, name)(a, second))(x)


def _pair(rng: np.random.Generator, dtype: str) -> tuple[Any, Any]:
    parts = rng.standard_normal((2, 2, 3, 4))
    return tuple((real + 1j * imaginary).astype(dtype) for real, imaginary in parts)


def test_they_stand_within_compiled_programs() -> None:
    x = _pair(np.random.default_rng(1), "complex128")[0]
    function = eqsat.jit(lambda x: enp.abs(enp.exp(x * 2) + 1).sum(axis=0))
    np.testing.assert_allclose(function(x), np.abs(np.exp(x * 2) + 1).sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(enp.log(enp.asarray(x))), np.log(x))
    np.testing.assert_allclose(eqsat.jit(np.corrcoef)(x), np.corrcoef(x), rtol=1e-10)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("exponent", [-1, -2, -3, -0.5, None])
def test_a_negative_power_of_zero_is_nan_in_both_parts(exponent: float | None, dtype: str) -> None:
    z = np.array([0j, complex(0, -0.0), 2 - 1j, -0.5 + 3j], dtype)

    def function(x: Any) -> Any:
        return np.reciprocal(x) if exponent is None else x**exponent

    with np.errstate(all="ignore"):
        expected = function(z)
    found = eqsat.jit(function)(z)
    assert np.isnan(expected.real[:2]).all()
    np.testing.assert_array_equal(np.isnan(found.view(found.real.dtype)), np.isnan(expected.view(expected.real.dtype)))
    np.testing.assert_allclose(found[2:], expected[2:], rtol=1e-5)
