"""Folds of which every term counts at one place are added there, and equal NumPy whatever the places are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat import DEFAULT_TARGET, Options

ONE = Options(target=replace(DEFAULT_TARGET, threads=1))
RANDOM = np.random.default_rng(7)
Function = Callable[..., Any]
Case = tuple[Function, list[Any]]


def labels(count: int, low: int, high: int, dtype: str = "int32") -> Any:
    return RANDOM.integers(low, high, count).astype(dtype)


def reals(*shape: int, dtype: str = "float32") -> Any:
    return RANDOM.standard_normal(shape).astype(dtype)


def counts(k: int, first: int = 0) -> Function:
    return lambda xp, a: xp.sum(a[:, None] == xp.arange(first, first + k), axis=0)


def chosen(k: int) -> Function:
    return lambda xp, a, x: xp.sum(xp.where(a[:, None] == xp.arange(k), x[:, None], 0.0), axis=0)


def groups(k: int, dtype: str) -> Function:
    return lambda xp, a, x: one_hot(xp, a, k, dtype).T @ x


def one_hot(xp: Any, a: Any, k: int, dtype: str = "float32") -> Any:
    return (a[:, None] == xp.arange(k)).astype(dtype)


def group_means(xp: Any, x: Any, a: Any) -> Any:
    hot = one_hot(xp, a, 30)
    return (hot.T @ x) / (xp.sum(hot, axis=0)[:, None] + 1)


ADDED: dict[str, Case] = {
    "counts": (counts(100), [labels(3000, 0, 100)]),
    "counts of some places": (counts(90, 5), [labels(3000, -50, 150)]),
    "counts of bytes": (counts(256), [labels(3000, 0, 256, "uint8")]),
    "counts of signed bytes at more places than these have": (counts(300, -100), [labels(3000, -128, 128, "int8")]),
    "counts of int64 at both ends": (
        counts(80, 1),
        [np.concatenate((labels(2000, 0, 90, "int64"), np.array([np.iinfo("int64").min, np.iinfo("int64").max], "int64")))],
    ),
    "counts of uint32": (counts(80), [labels(2000, 0, 2**32, "uint32") // np.uint32(2**25)]),
    "chosen": (chosen(70), [labels(4000, -3, 75), reals(4000)]),
    "long sums": (chosen(60), [labels(60_000, 0, 60), reals(60_000) + np.float32(100)]),
    "greatest": (
        lambda xp, a, x: xp.max(xp.where(a[:, None] == xp.arange(200), x[:, None], -np.inf), axis=0),
        [labels(4000, 0, 199), reals(4000)],
    ),
    "least of integers": (
        lambda xp, a, x: xp.min(xp.where(a[:, None] == xp.arange(200), x[:, None], np.iinfo("int32").max), axis=0),
        [labels(4000, 0, 199), labels(4000, -1000, 1000)],
    ),
    "rows of groups": (groups(40, "float32"), [labels(900, 0, 40), reals(900, 24)]),
    "rows of groups, some of none": (groups(40, "float64"), [labels(900, -9, 60), reals(900, 7, dtype="float64")]),
    "rows of integers": (groups(40, "int64"), [labels(900, -9, 60), labels(900 * 5, 0, 9, "int64").reshape(900, 5)]),
    "means of groups": (group_means, [reals(1500, 12), labels(1500, 0, 30)]),
    "pairs": (lambda xp, a, b: one_hot(xp, a, 12).T @ one_hot(xp, b, 9), [labels(3000, -1, 13), labels(3000, 0, 9)]),
    "pairs of truth values": (
        lambda xp, a, b: xp.sum((a[:, None, None] == xp.arange(12)[:, None]) & (b[:, None, None] == xp.arange(9)[None, :]), axis=0),
        [labels(3000, -1, 13), labels(3000, 0, 9)],
    ),
    "each row by itself": (lambda xp, a: xp.sum(a[:, :, None] == xp.arange(120), axis=1), [labels(40 * 300, -5, 130).reshape(40, 300)]),
    "two axes": (
        lambda xp, a: xp.sum(xp.reshape(a, (-1,))[:, None] == xp.arange(256), axis=0) / a.size,
        [labels(60 * 50, 0, 256, "uint8").reshape(60, 50)],
    ),
}
# the same of few places, or of what counts at several, is compared with all
COMPARED: dict[str, Case] = {
    "few places": (counts(3), [labels(3000, 0, 3)]),
    "at several places": (lambda xp, a: xp.sum(a[:, None] <= xp.arange(100), axis=0), [labels(3000, 0, 100)]),
    "another number elsewhere": (
        lambda xp, a, x: xp.sum(xp.where(a[:, None] == xp.arange(70), x[:, None], 1.0), axis=0),
        [labels(4000, 0, 70), reals(4000)],
    ),
    "a square has two roots": (lambda xp, a: xp.sum(a[:, None] == xp.arange(-50, 50) ** 2, axis=0), [labels(3000, 0, 2500)]),
    "floats": (lambda xp, a: xp.sum(a[:, None] == xp.arange(100.0), axis=0), [labels(3000, 0, 100, "float64")]),
}


def found(function: Function, arrays: list[Any], options: Options = ONE) -> tuple[Any, eqsat.Result]:
    result = eqsat.optimize(lambda *args: function(enp, *args), *arrays, options=options)
    return eqsat.jit(lambda *args: function(enp, *args), options=options)(*arrays), result


@pytest.mark.parametrize("name", [*ADDED, *COMPARED])
def test_sums_at_places_equal_numpy(name: str) -> None:
    function, arrays = (ADDED | COMPARED)[name]
    value, result = found(function, arrays)
    expected = function(np, *arrays)
    np.testing.assert_allclose(np.asarray(value), expected, rtol=2e-6 if value.dtype == "float32" else 1e-12, atol=2e-5)
    assert ("_place" in str(result.loops)) == (name in ADDED)


def test_what_is_not_finite_shows_where_it_is_multiplied_by_zero() -> None:
    function, (members, rows) = ADDED["rows of groups"]
    rows = rows.copy()
    rows[5, 3], rows[7, 4] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(np.asarray(found(function, [members, rows])[0]), function(np, members, rows), rtol=1e-4, atol=1e-4)


def test_what_is_chosen_hides_what_is_not_finite() -> None:
    function, (members, x) = ADDED["chosen"]
    x = x.copy()
    x[members == 4] = np.nan
    np.testing.assert_allclose(np.asarray(found(function, [members, x])[0]), function(np, members, x), rtol=1e-5, atol=1e-5)


def test_sums_of_exact_programs_are_compared_as_they_are_written() -> None:
    function, arrays = ADDED["chosen"]
    value, result = found(function, arrays, replace(ONE, numerics="exact"))
    assert "_place" not in str(result.loops)
    np.testing.assert_allclose(np.asarray(value), function(np, *arrays), rtol=1e-5, atol=1e-5)
