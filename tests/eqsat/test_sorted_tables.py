"""Looking numbers up in sorted arrays: what NumPy gives, for few keys and many, NaN among both, and as one kernel."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import DTypeError
from eqsat.operations.sorted_tables import MOST_COMPARED
from tests.effort import some

Array = Any
COUNTS = (1, 3, MOST_COMPARED, MOST_COMPARED + 1, 47, 1000)


def keys(count: int, dtype: str) -> Array:
    """In order, some of them several times, NaN last."""
    rng = np.random.default_rng(count)
    found = rng.integers(0, 2 * count, count) - (count if np.dtype(dtype).kind in "if" else 0)
    found = np.sort(found.astype(dtype))
    if np.dtype(dtype).kind == "f" and count > 3:
        found[-2:] = np.nan
    return found


def numbers(found: Array) -> Array:
    """The keys themselves, what is next to them, and what is beyond."""
    every = [found, found + 1, found - 1] if found.dtype != "bool" else [found, ~found]
    with np.errstate(all="ignore"):
        return np.concatenate(every)


@pytest.mark.parametrize(
    ("dtype", "side"),
    some(itertools.product(["float32", "float64", "float16", "int64", "int32", "uint8", "bool"], ["left", "right"])),
)
def test_numbers_are_found_where_numpy_finds_them(dtype: str, side: Any) -> None:
    for count in COUNTS:
        table = keys(count, dtype)
        wanted = numbers(table)
        found = eqsat.jit(lambda table, wanted: enp.searchsorted(table, wanted, side=side))(table, wanted)
        np.testing.assert_array_equal(found, np.searchsorted(table, wanted, side=side), err_msg=f"{count} keys")
        assert found.dtype == np.int64


def test_keys_and_numbers_of_different_dtypes_are_compared_in_what_both_promote_to() -> None:
    table, wanted = np.array([0, 2, 1 << 53, (1 << 53) + 1]), np.array([1.5, 2.0, 2.0**53])
    found = eqsat.jit(lambda table, wanted: np.searchsorted(table, wanted))(table, wanted)
    np.testing.assert_array_equal(found, np.searchsorted(table, wanted))


@pytest.mark.parametrize("count", [10, 1000])
def test_looking_up_is_one_kernel(count: int) -> None:
    table, wanted = np.linspace(0, 1, count), np.linspace(-0.5, 1.5, 777)
    result = eqsat.optimize(lambda table, wanted: np.searchsorted(table, wanted) * 2, table, wanted)
    assert len(result.loops) == 1
    assert not result.program.steps
    np.testing.assert_array_equal(result(table, wanted), 2 * np.searchsorted(table, wanted))


def test_keys_whose_number_is_known_at_run_time_are_looked_up_by_numpy() -> None:
    n = eqsat.dim("n", 1, 100)
    specs = eqsat.spec((n,), "float64"), eqsat.spec((5,), "float64")
    plan = eqsat.optimize(lambda table, wanted: np.searchsorted(table, wanted), *specs).compile()
    wanted = np.linspace(-1, 2, 5)
    for count in (1, 7, 100):
        table = np.linspace(0, 1, count)
        np.testing.assert_array_equal(plan(table, wanted), np.searchsorted(table, wanted))


def test_of_any_number_of_numbers_there_is_one_kernel_where_keys_are_known() -> None:
    n = eqsat.dim("n", 1, 100)
    result = eqsat.optimize(lambda x: np.digitize(x, [0.0, 0.5, 0.75]), eqsat.spec((n,), "float64"))
    assert not result.program.steps
    for count in (1, 7, 100):
        x = np.linspace(-1, 2, count)
        np.testing.assert_array_equal(result(x), np.digitize(x, [0.0, 0.5, 0.75]))


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_bins_that_are_given_at_run_time_may_go_either_way(down: bool, right: bool) -> None:
    edges = np.linspace(-1, 1, 9)[:: -1 if down else 1].copy()
    x = np.concatenate([edges, np.linspace(-2, 2, 50)])
    found = eqsat.jit(lambda x, edges: np.digitize(x, edges, right=right))(x, edges)
    np.testing.assert_array_equal(found, np.digitize(x, edges, right=right))


def test_lines_through_infinite_values_and_places_given_twice() -> None:
    at, y = np.array([0.0, 1.0, 1.0, 2.0, 3.0, np.inf]), np.array([1.0, 2.0, 5.0, np.inf, np.inf, 4.0])
    x = np.concatenate([at, np.linspace(-1, 4, 101), [np.nan, -np.inf]])
    found = eqsat.jit(lambda x, at, y: np.interp(x, at, y))(x, at, y)
    np.testing.assert_allclose(found, np.interp(x, at, y), rtol=1e-14)


def of_histogram(numbers: Array, bins: Any, **how: Any) -> None:
    """What NumPy counts in bins, as loops."""
    function = eqsat.jit(lambda x: np.histogram(x, bins, **how))
    for found, expected in zip(function(numbers), np.histogram(numbers, bins, **how), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert not eqsat.optimize(lambda x: np.histogram(x, bins, **how), numbers).compile().blueprint.steps


BINS = itertools.product(["float32", "float64", "float16", "int64", "uint8"], [1, 7, MOST_COMPARED - 1, MOST_COMPARED, 100])


@pytest.mark.parametrize(("dtype", "count"), some(BINS, 6))
def test_numbers_are_counted_in_bins(dtype: str, count: int) -> None:
    """Those on edges too, and none that is outside or NaN."""
    rng = np.random.default_rng(count)
    found = rng.integers(-60, 60, 500) / 10
    found = (np.abs(found) if dtype == "uint8" else found).astype(dtype)
    if np.dtype(dtype).kind == "f":
        found[rng.integers(0, 500, 3)] = np.nan, np.inf, -np.inf
    for limits in some([(-3, 3), (0, 1.5), (-0.1, 4.9)], 2):
        of_histogram(found, count, range=limits)
        of_histogram(found, count, range=limits, weights=rng.uniform(-1, 1, 500).astype("float32"))
    edges = np.sort(rng.integers(-40, 40, count + 1)) / 10
    of_histogram(found, edges)
    of_histogram(found, list(edges), density=True)


@pytest.mark.parametrize("bins", [0, -1, 2.5, [2, 1], [[1, 2]]])
def test_bins_that_numpy_refuses_are_refused(bins: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        eqsat.jit(lambda x: np.histogram(x, bins, (0, 1)))(np.arange(3.0))


def test_bins_that_elements_decide_about_are_numpys() -> None:
    x = np.random.default_rng(0).uniform(-1, 1, 100)
    functions: list[Callable[[Any], Any]] = [
        lambda x: np.histogram(x, 7, range=(x.min(), x.max())),
        lambda x: np.histogram(x, [x.min(), 0.0, x.max()]),
        lambda x: np.histogram(x, 7),
    ]
    for function in functions:
        for found, expected in zip(eqsat.jit(function)(x), function(x), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_weights_of_another_shape_or_kind_are_refused() -> None:
    x, i = np.zeros((4, 3)), np.zeros(3, int)
    with pytest.raises(ValueError, match="shape"):
        eqsat.jit(lambda x: np.histogram(x, 3, (0, 1), weights=np.ones(12)))(x)
    with pytest.raises(DTypeError, match="weights of complex128"):
        eqsat.jit(lambda i, w: np.bincount(i, w, 3))(i, i * 1j)
