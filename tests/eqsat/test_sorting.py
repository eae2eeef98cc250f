"""Orders of elements: networks of comparisons, extremes found one by one, and parts of orders, all as NumPy's."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.dtypes import is_float
from eqsat.ir.errors import UnsupportedError, UsageError
from eqsat.ir.host import flat
from eqsat.ir.host_functions import FUNCTIONS
from eqsat.operations import sorting
from eqsat.operations.sorting import MOST_PASSES, MOST_PLACED, MOST_RANKED, MOST_SORTED, needed, network
from tests.effort import some
from tests.eqsat.test_host_calls import array

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]
DTYPES = ["float32", "float64", "float16", "int8", "uint16", "int64", "bool"]
SHAPES = {
    "a row": ((7,), 0),
    "columns": ((5, 4), 0),
    "rows": ((4, 6), 1),
    "in the middle": ((2, 3, 4), 1),
    "one": ((3, 1), 1),
    "all": ((3, 4), None),
}


def put_in_order(row: list[Any], pairs: tuple[tuple[int, int], ...]) -> list[Any]:
    for i, j in pairs:
        row[i], row[j] = min(row[i], row[j]), max(row[i], row[j])
    return row


@pytest.mark.parametrize("count", range(13))
def test_networks_sort_every_row_of_two_values(count: int) -> None:
    """And so every row (source: the zero-one principle; Knuth, The Art of Computer Programming 3, 5.3.4)."""
    for row in itertools.product((0, 1), repeat=count):
        assert put_in_order(list(row), network(count)) == sorted(row)


@pytest.mark.parametrize("count", some([16, 25, 49]))
def test_networks_sort_longer_rows_and_what_a_place_needs_finds_it(count: int) -> None:
    rng = np.random.default_rng(count)
    for _ in range(200):
        row = rng.integers(0, count, count).tolist()
        assert put_in_order(list(row), network(count)) == sorted(row)
        rank = int(rng.integers(count))
        assert put_in_order(list(row), needed(network(count), [rank]))[rank] == sorted(row)[rank]
    assert len(needed(network(9), [4])) < len(network(9))


def calls(result: eqsat.Result) -> list[str]:
    """The calls of NumPy in what runs."""
    return [kernel.name for kernel in result.compile().kernels if not kernel.name.startswith("kernel")]


FUNCTIONS_OF_ROWS: dict[str, Function] = {
    "sort": lambda x, axis: enp.sort(x, axis),
    "sort descending": lambda x, axis: enp.sort(x, axis, descending=True),
    "argsort": lambda x, axis: enp.argsort(x, axis, stable=True),
    "argsort descending": lambda x, axis: enp.argsort(x, axis, stable=True, descending=True),
    "median": lambda x, axis: enp.median(x, axis),
    "median, dimensions kept": lambda x, axis: enp.median(x, axis, keepdims=True),
    "quantile": lambda x, axis: enp.quantile(x, 0.3, axis),
    "last quantile": lambda x, axis: enp.quantile(x, 1.0, axis, keepdims=True),
    "percentile": lambda x, axis: enp.percentile(x, 62.5, axis),
    "percentile of an integer": lambda x, axis: enp.percentile(x, 90, axis),
    "several quantiles": lambda x, axis: enp.quantile(x, [0.2, 0.5, 1], axis, keepdims=True),
    "several percentiles": lambda x, axis: enp.percentile(x, np.array([10, 50]), axis),
    "quantiles of integers": lambda x, axis: enp.quantile(x, [0, 1], axis),
    "the two greatest": lambda x, axis: enp.topk(x, 2, 0 if axis is None else axis),
    "the two least": lambda x, axis: enp.topk(x, 2, 0 if axis is None else axis, largest=False),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "dtype"), some(itertools.product(FUNCTIONS_OF_ROWS, DTYPES), 8))
def test_short_rows_are_those_of_numpy(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ties, infinities, NaN and both zeros, where calls of NumPy give the same, or refuse the same."""
    function = FUNCTIONS_OF_ROWS[name]
    for shape, axis in SHAPES.values():
        x = array(shape, dtype)
        try:
            result = eqsat.optimize(lambda a, axis=axis: function(a, axis), x)
            found: Any = result(x)
        except (UsageError, UnsupportedError) as error:
            found = error
        with monkeypatch.context() as patch:
            for limit in ("MOST_SORTED", "MOST_PLACED", "MOST_RANKED", "MOST_PASSES"):
                patch.setattr(sorting, limit, 0)
            try:
                expected: Any = eqsat.optimize(lambda a, axis=axis: function(a, axis), x)(x)
            except (UsageError, UnsupportedError) as error:
                expected = error
        if isinstance(expected, Exception):
            assert type(found) is type(expected)
        else:
            is_long = name.startswith("argsort") and axis is None
            assert bool(calls(result)) == (name == "quantiles of integers" or is_long)
            for one, other in zip(flat(found), flat(expected), strict=True):
                assert one.dtype == other.dtype
                digits = (
                    0 if "quantile" not in name and "percentile" not in name else 1e-2 if dtype == "float16" else 1e-6
                )  # products are contracted
                np.testing.assert_allclose(one, other, rtol=digits, atol=digits, err_msg=f"{name} {dtype}{shape}")


def test_zeros_keep_their_signs() -> None:
    x = np.array([[0.0, -0.0, 0.0, -1.0, -0.0], [-0.0, 0.0, -0.0, 1.0, 0.0]], dtype="float32")
    found = eqsat.jit(lambda a: enp.sort(a, axis=1))(x)
    assert np.signbit(found).sum(axis=1).tolist() == np.signbit(x).sum(axis=1).tolist()
    np.testing.assert_array_equal(
        np.signbit(eqsat.jit(lambda a: enp.sort(a, axis=1, stable=True))(x)), np.signbit(np.sort(x, 1, stable=True))
    )


@pytest.mark.parametrize("count", [1, 10])
@pytest.mark.parametrize(
    "function",
    some(
        [
            lambda x, np: np.sort(x, axis=1, kind="stable")[:, 1:3],
            lambda x, np: np.sort(x, axis=1, stable=True)[:, -3:],
            lambda x, np: np.take_along_axis(x, np.argsort(x, axis=1, stable=True)[:, -3:], axis=1),
        ],
        2,
    ),
)
def test_parts_of_stable_orders_keep_zeros_in_order(function: Function, count: int) -> None:
    x = np.concatenate([np.array([[-0.0, 0.0, -1.0, 0.0, -0.0, 3.0]])] * count, axis=1)
    found = eqsat.jit(lambda a: function(a, np), options=eqsat.Options(numerics="exact"))(x)
    np.testing.assert_array_equal(found, function(x, np))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(function(x, np)))


def test_the_greatest_are_the_elements_at_their_places() -> None:
    x = np.array([[-0.0, 0.0, -1.0, 0.0, -0.0]])
    for largest in (True, False):
        values, places = eqsat.jit(lambda a, largest=largest: enp.topk(a, 4, largest=largest))(x)
        np.testing.assert_array_equal(np.signbit(values), np.signbit(np.take_along_axis(x, places, axis=1)))


@pytest.mark.parametrize(
    ("function", "shape", "is_call"),
    [
        (lambda x: enp.sort(x, axis=1), (3, MOST_SORTED), False),
        (lambda x: enp.sort(x, axis=1), (3, MOST_SORTED + 1), True),
        (lambda x: enp.argsort(x, axis=0), (MOST_PLACED, 3), False),
        (lambda x: enp.argsort(x, axis=0), (MOST_PLACED + 1, 3), True),
        (lambda x: enp.median(x, axis=(0, 2)), (6, 3, 6), False),
        (lambda x: enp.median(x, axis=0), (MOST_RANKED + 1, 3), True),
        (lambda x: enp.topk(x, MOST_PASSES, axis=1), (3, 500), False),
        (lambda x: enp.topk(x, MOST_PASSES + 1, axis=1), (3, 500), True),
    ],
)
def test_longer_rows_are_put_in_order_by_numpy(function: Function, shape: tuple[int, ...], is_call: bool) -> None:
    assert bool(calls(eqsat.optimize(function, eqsat.spec(shape, "float32")))) == is_call


def test_rows_of_any_size_are_put_in_order_by_numpy() -> None:
    n = eqsat.dim("n", 1, 40)
    plan = eqsat.optimize(lambda x: enp.median(x, axis=0), eqsat.spec((n, 5), "float64")).compile()
    for rows in (1, 2, 7, 40):
        x = np.random.default_rng(rows).standard_normal((rows, 5))
        np.testing.assert_array_equal(plan(x), np.median(x, axis=0))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, np: np.sort(x, axis=0)[-1],
        lambda x, np: np.sort(x, axis=0)[:1],
        lambda x, np: np.argsort(x, axis=0, kind="stable")[::-1][0],
        lambda x, np: np.sort(x, axis=0)[-1] - np.sort(x, axis=0)[0],
        lambda x, np: np.sort(x, axis=1)[:, -1],
    ],
)
def test_ends_of_rows_of_any_size_are_at_their_ends(function: Function) -> None:
    plan = eqsat.optimize(lambda x: function(x, np), eqsat.spec((eqsat.dim("n", 1, 40), 5), "float64")).compile()
    for rows in (1, 3, 39, 40):
        x = np.random.default_rng(rows).standard_normal((rows, 5))
        np.testing.assert_array_equal(plan(x), function(x, np))


def test_the_median_of_windows_reads_the_image_and_stores_nothing_else() -> None:
    x = np.random.default_rng(0).random((40, 50), dtype=np.float32)

    def filtered(x: Any, np: Any = enp) -> Any:
        padded = np.pad(x, 1, mode="edge")
        return np.median(np.stack([padded[i : i + 40, j : j + 50] for i in range(3) for j in range(3)]), axis=0)

    result = eqsat.optimize(filtered, x)
    assert len(result.loops) == 1
    np.testing.assert_array_equal(result(x), filtered(x, np))


# parts of orders ----------------------------------------------------------------------------------------------------------
# (function, the call that is left)
PARTS: dict[str, tuple[Function, str]] = {
    "nearest": (lambda np, x: np.argsort(x, axis=1, kind="stable")[:, :5], ""),
    "least": (lambda np, x: np.sort(x, axis=1)[:, 0], ""),
    "third": (lambda np, x: np.sort(x, axis=1)[:, 2] * 2, ""),
    "furthest": (lambda np, x: np.argsort(x, axis=1, kind="stable")[:, -3:], ""),
    "furthest, in turn": (lambda np, x: np.argsort(x, axis=1, kind="stable")[:, ::-1][:, :4].T, ""),
    "greatest": (lambda np, x: np.sort(x, axis=0)[-2:], ""),
    "sum of the least": (lambda np, x: np.partition(x, 3, axis=1)[:, :4].astype("float64").sum(axis=1), ""),
    "kept, where above": (lambda np, x: np.where(x >= np.sort(x, axis=1)[:, -3:-2], x, 0), ""),
    "of what is computed": (lambda np, x: np.argsort(-(x * 2), axis=1, kind="stable")[:, :2], ""),
    "both ends": (lambda np, x: np.sort(x, axis=1)[:, -1] - np.sort(x, axis=1)[:, 0], "sort"),
    "the first of many": (lambda np, x: np.argsort(x, axis=1, kind="stable")[:, :17], "topk"),
    "the last of many": (lambda np, x: np.sort(x, axis=1)[:, -14:], "sorted_part"),
    "in the middle": (lambda np, x: np.sort(x, axis=1)[:, 40], "sorted_part"),
    "most of it": (lambda np, x: np.sort(x, axis=0)[9:80], "sorted_part"),
    "all of it": (lambda np, x: np.sort(x, axis=1)[:, ::-1], "sort"),
    "a part and all": (lambda np, x: (np.argsort(x, axis=1, kind="stable")[:, :2], np.argsort(x, axis=1, kind="stable")), "argsort"),
    "at computed places": (lambda np, x: np.take_along_axis(np.sort(x, axis=1), (x[:, :2] > 0).astype("int64"), 1), "sort"),
    "given to another call": (lambda np, x: np.sort(np.sort(x, axis=1), axis=0), "sort"),
}


@pytest.mark.parametrize(("name", "dtype"), some(itertools.product(PARTS, ["float32", "int16"])))
def test_of_an_order_only_what_is_read_is_found(name: str, dtype: str) -> None:
    function, called = PARTS[name]
    x = np.random.default_rng(4).integers(-20, 20, (90, 80)).astype(dtype)
    if is_float(dtype):
        x[::7, 3], x[::5, 9], x[::3, 70], x[2, :78] = np.nan, np.inf, -np.inf, np.nan
    with np.errstate(invalid="ignore"):
        result = eqsat.optimize(lambda a: function(np, a), x)
        assert {name.rpartition("_")[0] for name in calls(result)} == ({called} if called else set())
        np.testing.assert_equal(result(x), function(np, x))


def test_places_in_the_middle_of_short_rows_are_found() -> None:
    x = np.random.default_rng(4).standard_normal((30, 25))
    result = eqsat.optimize(lambda a: enp.sort(a, axis=1, descending=True)[:, 11:13], x)
    assert not calls(result)
    np.testing.assert_array_equal(result(x), np.sort(x, axis=1)[:, 13:11:-1])


@pytest.mark.parametrize("dtype", ["float32", "uint8", "float64"])
@pytest.mark.parametrize("extent", [400, 3000])
def test_a_part_of_values_in_order_is_found_in_rows_of_any_length(dtype: str, extent: int) -> None:
    x = np.random.default_rng(7).integers(0, 250, (3, extent)).astype(dtype)
    if is_float(dtype):
        x[0, :5] = x[2, 7:] = np.nan
    for low, high, descending in ((0, 30, False), (0, 30, True), (100, 101, False), (extent - 50, extent, True), (7, extent - 1, False)):
        result = eqsat.optimize(lambda a, d=descending, p=slice(low, high): enp.sort(a, axis=1, descending=d)[:, p], x)
        assert {name.rpartition("_")[0] for name in calls(result)} == {"sorted_part"}
        found = np.sort(x, axis=1)
        np.testing.assert_array_equal(result(x), (found[:, ::-1] if descending else found)[:, low:high])


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
def test_of_long_rows_only_the_first_are_put_in_order(dtype: str, largest: bool) -> None:
    """As sorting all of them gives, whatever is equal."""
    rng = np.random.default_rng(6)
    for values, shape, k, axis in ((9, (7, 200), 40, 1), (500, (300, 3), 20, 0), (2, (100,), 25, 0), (90, (2, 64, 3), 16, 1)):
        x = rng.integers(0, values, shape).astype(dtype)
        if is_float(dtype) and values == 90:
            x[1, 5, 2] = np.nan
        values_found, places = enp.topk(x, k, axis, largest)
        with_nan = np.nan_to_num(x.astype("float64"), nan=1e9)
        order = np.argsort(-with_nan if largest else with_nan, axis, kind="stable")
        np.testing.assert_array_equal(places, np.take(order, range(k), axis))
        np.testing.assert_array_equal(values_found, np.take_along_axis(x, np.asarray(places), axis))


def test_every_call_that_makes_an_order_is_one_of_the_host() -> None:
    assert {"sort", "argsort", "partition", "argpartition"} <= set(FUNCTIONS)


def test_the_array_to_sort_may_be_named_as_in_numpy() -> None:
    x = np.array([[3, 1, 2], [6, 5, 4]])
    np.testing.assert_array_equal(eqsat.jit(lambda a: enp.sort(a=a, axis=0))(x), np.sort(a=x, axis=0))
    np.testing.assert_array_equal(eqsat.jit(lambda a: enp.argsort(a=a))(x), np.argsort(a=x))
    np.testing.assert_array_equal(enp.sort(a=x), np.sort(x))
