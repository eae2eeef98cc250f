"""The first place where a condition holds: which folds are searches, and that they find what a fold to the end finds."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.codegen.folds.search import LEAST_REMEMBERED, REMEMBERED, SEARCH_BLOCK, remembered, searched
from eqsat.ir.index import Const, Index, Var
from eqsat.ir.loops import Fold, Load
from eqsat.ir.tensor import Call, Literal, Position
from tests.effort import some

R = Var("r", 0, 999)


def first_place(place: Index, last: int, op: str = "min", variable: Var = R) -> Fold:
    value = Call("where", (Load("x", R, "bool"), Position(place, "int64"), Literal(last, "int64")), "int64")
    return Fold("t", op, "int64", variable, (), value)


@pytest.mark.parametrize(
    ("fold", "is_search"),
    [
        (first_place(R, 999), True),
        (first_place(R + 5, 1004), True),
        (first_place(R, 1000), True),
        (first_place(R, 998), False),  # what is left where nothing is found would come before the last place
        (first_place(Const(999) - R, 999), False),
        (first_place(R * 2, 1998), False),
        (first_place(R // 2, 999), False),
        (first_place(R, 999, "max"), False),
        (first_place(R, 999, variable=Var("r", 0, SEARCH_BLOCK)), False),
    ],
)
def test_which_folds_are_searches(fold: Fold, is_search: bool) -> None:
    assert (searched(fold) is not None) == is_search


@pytest.mark.parametrize("extent", [2 * SEARCH_BLOCK, 2 * SEARCH_BLOCK + 1, 3 * SEARCH_BLOCK - 1, 1000])
def test_the_first_of_several_wherever_it_is(extent: int) -> None:
    """A row for every place of the first, each with others behind it, and one without."""
    rows = np.zeros((extent + 1, extent), bool)
    for k in range(extent):
        rows[k, k:] = (np.arange(extent - k) % 3) == 0
    expected = rows.argmax(axis=1)
    np.testing.assert_array_equal(eqsat.optimize(lambda x: enp.argmax(x, axis=1), rows)(rows), expected)
    np.testing.assert_array_equal(eqsat.optimize(lambda x: enp.argmin(x, axis=1), ~rows)(~rows), expected)
    numbers = rows.astype("float32")
    np.testing.assert_array_equal(eqsat.optimize(lambda x: enp.argmax(x, axis=1), numbers)(numbers), expected)
    numbers[5, extent - 1] = np.nan
    np.testing.assert_array_equal(eqsat.optimize(lambda x: enp.argmax(x, axis=1), numbers)(numbers), numbers.argmax(axis=1))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "axis", "keepdims"),
    [((3, 300), 1, True), ((300, 3), 0, False), ((2, 200, 4), 1, True), ((500,), None, False)],
)
def test_places_of_extremes_equal_numpy(dtype: str, shape: tuple[int, ...], axis: int | None, keepdims: bool) -> None:
    x = np.random.default_rng(3).integers(0, 2 if dtype == "bool" else 7, shape).astype(dtype)

    def places(xp: Any, x: Any) -> Any:
        return xp.argmax(x, axis=axis, keepdims=keepdims), xp.argmin(x, axis=axis, keepdims=keepdims)

    for found, expected in zip(eqsat.optimize(lambda x: places(enp, x), x)(x), places(np, x), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_the_least_place_of_many_is_kept_in_few_bits() -> None:
    """Places are int64; the fold holds them in int32, and its result is right at the ends of that range."""
    x = np.zeros((4, 70000), "int16")
    x[0, 65537], x[1, 0], x[2, 69999] = 1, 1, 1
    found = eqsat.optimize(lambda x: enp.argmax(x, axis=1), x)(x)
    np.testing.assert_array_equal(found, [65537, 0, 69999, 0])


ROWS = (LEAST_REMEMBERED, LEAST_REMEMBERED + 1, 5 * REMEMBERED - 1)


@pytest.mark.parametrize(
    ("dtype", "extent"), some(itertools.product(["int8", "uint8", "int64", "uint64", "float16", "float32", "float64"], ROWS), 2)
)
def test_a_long_row_remembers_the_block_of_its_extremum(extent: int, dtype: str) -> None:
    """At the edges of blocks and between, alone and twice, among equal ones, and among negative ones."""
    kernel = eqsat.optimize(lambda x: enp.argmax(x, axis=1), eqsat.spec((2, extent), dtype)).loops[0]
    assert len(remembered(kernel)) == 1
    places = [0, 1, REMEMBERED - 1, REMEMBERED, 2 * REMEMBERED + 5, extent - REMEMBERED, extent - 2, extent - 1]
    rows = np.zeros((2 * len(places) + 2, extent), dtype)
    for k, place in enumerate(places):
        rows[2 * k, place] = 3
        rows[2 * k + 1, [place, extent - 1]] = 3
    rows[-1] = np.iinfo(dtype).min if dtype[0] in "iu" else -np.inf
    for program, given in ((np.argmax, rows), (np.argmin, rows if dtype[0] == "u" else -rows)):
        found = eqsat.optimize(functools.partial(program, axis=1), given)(given)
        np.testing.assert_array_equal(found, program(given, axis=1))


def test_the_first_nan_of_a_long_row_is_its_extremum() -> None:
    rows = np.random.default_rng(3).standard_normal((6, 5000)).astype("float32")
    for row, places in enumerate(([4999], [0], [1024, 3000], [2047, 2048], [4000, 4001], [])):
        rows[row, places] = np.nan
    rows[4, 10] = np.inf
    for numerics in ("exact", "default"):
        found = eqsat.optimize(lambda x: (enp.argmax(x, axis=1), enp.max(x, axis=1)), rows, options=eqsat.Options(numerics=numerics))(rows)
        np.testing.assert_array_equal(found[0], rows.argmax(axis=1))
        np.testing.assert_array_equal(found[1], rows.max(axis=1))


@pytest.mark.parametrize("function", ["argmax", "argmin"])
def test_an_array_that_is_searched_in_parts(function: str) -> None:
    """Its greatest in any part, in several, and NaN in front of and behind it."""
    count = 1 << 17
    program = eqsat.optimize(lambda x: getattr(enp, function)(x), eqsat.spec((count,), "float32"))
    assert [len(kernel.outputs) for kernel in program.loops] == [1, 1]
    plain = np.random.default_rng(4).standard_normal(count).astype("float32")
    best = np.inf if function == "argmax" else -np.inf
    for places, nans in (([5], []), ([count - 1], []), ([70_000, 70_001, 100_000], []), ([9], [8]), ([9], [count - 1]), ([], [2047, 2048])):
        x = plain.copy()
        x[places], x[nans] = best, np.nan
        assert int(program(x)) == getattr(np, function)(x)
    assert int(program(np.full(count, -best, "float32"))) == 0


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_the_first_of_few_places_is_found_wherever_it_is(dtype: str) -> None:
    """Rows of as many elements as there are bits of a number, and one less and more; what is sought in each place, twice, and nowhere."""
    rng = np.random.default_rng(5)
    for columns in some((15, 16, 17, 24, 31, 33, 40, 63, 64, 65, 100, 127, 128, 129, 200), 5):
        x = rng.integers(3, 90, (columns + 3, columns)).astype(dtype)
        for row in range(columns):
            x[row, row] = x[row, (row * 7 + 3) % columns] = 1 + row % 2
        if np.issubdtype(dtype, np.floating):
            for row in range(0, columns, 3):
                x[row, (row * 5 + 1) % columns] = np.nan
            x[columns] = np.nan
            x[columns + 1] = np.inf
        function = eqsat.jit(lambda x: (np.argmin(x, axis=1), np.argmax(x, axis=1), np.argmin(x[:, ::-1], axis=1)))
        for found, expected in zip(function(x), (np.argmin(x, 1), np.argmax(x, 1), np.argmin(x[:, ::-1], 1)), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16", "int32", "int64"])
@pytest.mark.parametrize("columns", some([31, 40, 66, 130, 257, 600], 3))
def test_places_among_elements_a_few_steps_apart_equal_numpy(dtype: str, columns: int) -> None:
    """Vectors of every second element, and backwards, are compared at once."""
    rng = np.random.default_rng(columns)
    x = rng.integers(0, 60, (40, columns)).astype(dtype)
    if dtype.startswith("float"):
        x[rng.integers(0, 40, 5), rng.integers(0, columns, 5)] = np.nan
    for part in (np.s_[:, ::2], np.s_[:, 1::3], np.s_[:, ::-1], np.s_[:, 3::4], np.s_[:, ::-2]):
        for function in ("argmax", "argmin"):
            result = eqsat.jit(lambda x, part=part, function=function: getattr(enp, function)(x[part], axis=1))(x)
            np.testing.assert_array_equal(result, getattr(np, function)(x[part], axis=1))
