"""Powers whose exponents are known: beside exact rational arithmetic, and NumPy's for what is zero, infinite or NaN."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat.codegen.math.power import MOST_FACTORS, factors_of

SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-324, -5e-324, 1e-310, 1e-40, 3e38, -3e38, 1e200, 1.7e308)
# units in the last place, and half of one for rounding
NEAR = {"float32": 0.51, "float64": 1.5}


def numbers(dtype: str, count: int) -> np.ndarray[Any, Any]:
    """Numbers of all sizes, of which some have powers that are finite, and special ones."""
    rng, size = np.random.default_rng(7), np.dtype(dtype).itemsize
    patterns = rng.integers(0, 1 << 8 * size, count, np.uint64).astype(f"uint{8 * size}").view(dtype)
    sizes = np.exp(rng.uniform(-9, 9, count)) * rng.choice([-1, 1], count)
    with np.errstate(over="ignore", under="ignore"):
        return np.concatenate([patterns, sizes.astype(dtype), np.array(SPECIAL).astype(dtype)])


def of(x: np.ndarray[Any, Any], exponent: float) -> np.ndarray[Any, Any]:
    return np.asarray(eqsat.jit(lambda a: a**exponent, options=eqsat.Options(cache=False))(x))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("exponent", [6, 7, 8, 11, 16, 31, 32, -3, -4, -5, -32])
def test_whole_powers_are_nearly_exact(exponent: int, dtype: str) -> None:
    x = numbers(dtype, 300)
    found, expected = of(x, exponent), np.power(x, exponent)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    limit = float(np.finfo(dtype).max)
    for value, power in zip(x, found, strict=True):
        if not np.isfinite(value) or value == 0:
            continue
        exact = Fraction(float(value)) ** exponent
        if abs(exact) > limit:
            assert np.isinf(power) or abs(power) == limit
            continue
        step = Fraction(float(np.spacing(np.abs(power)))) if np.isfinite(power) else Fraction(0)
        assert np.isfinite(power), (value, exponent)
        assert abs(Fraction(float(power)) - exact) <= Fraction(NEAR[dtype]) * step, (value, exponent, power)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("exponent", [0.25, 1.5, 2.5, -0.25, -0.5, -1.5, -1, -2])  # of 0.5 NumPy takes the root
def test_powers_of_roots_are_those_of_numpy(exponent: float, dtype: str) -> None:
    x = numbers(dtype, 20_000)
    wide = np.power(x.astype(np.longdouble), np.longdouble(exponent)).astype(dtype)
    found = of(x, exponent)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wide))
    np.testing.assert_array_equal(np.signbit(found[~np.isnan(found)]), np.signbit(wide[~np.isnan(wide)]))
    finite = np.isfinite(wide)
    np.testing.assert_array_equal(found[~finite], wide[~finite])
    assert np.all(np.abs(found[finite] - wide[finite]) <= 2 * np.spacing(np.abs(wide[finite])))


@pytest.mark.parametrize("exponent", [0.0, 0.5, MOST_FACTORS + 1, -MOST_FACTORS - 1, 2.5, np.inf])
def test_other_powers_are_the_function(exponent: float) -> None:
    assert factors_of(exponent) is None


def test_products_of_powers_are_counted() -> None:
    assert [factors_of(n) for n in (1, 2, 3, 6, 7, 8, 31, 32, -3)] == [0, 1, 2, 3, 4, 3, 8, 5, 3]
