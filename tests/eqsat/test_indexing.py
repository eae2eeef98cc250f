"""Indices that are arrays: NumPy's errors for what is out of range, on every way to run a program, and only for what can be."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import BoundsError, DTypeError, EqsatError, ShapeError, UnsupportedError, UsageError
from eqsat.ir.evaluate import evaluate
from eqsat.ir.tensor import Build
from eqsat.running.blueprint import Blueprint
from eqsat.running.packing import pack, unpack
from eqsat.running.plan import Plan
from tests.effort import examples, some
from tests.eqsat.tracing_cases import Array, sample, traced

X = sample((4, 3), "float32")
GOOD, HIGH, LOW = np.array([0, -1, 3, -4]), np.array([0, 4, 1, 1]), np.array([3, 2, -5, 0])


def taken(x: Any, i: Any) -> Any:
    return x[i] * 2


def as_jit(function: Any, x: Array, i: Array) -> Any:
    compiled: Any = eqsat.jit(function)
    return compiled(x, i)


def as_lazy(function: Any, x: Array, i: Array) -> Any:
    return np.asarray(function(enp.asarray(x), enp.asarray(i)))


def as_realized(function: Any, x: Array, i: Array) -> Any:
    lazy = enp.asarray(x)
    return eqsat.realize(lazy + 1, function(lazy, enp.asarray(i)))[1]


def as_plan(function: Any, x: Array, i: Array) -> Any:
    return eqsat.optimize(function, x, i)(x, i)


def into_out(function: Any, x: Array, i: Array) -> Any:
    compiled: Any = eqsat.jit(function)
    return compiled(x, i, out=np.empty((4, 3), np.float32))


def with_sizes(function: Any, x: Array, i: Array) -> Any:
    n = eqsat.dim("n", 1, 100)
    return eqsat.optimize(function, eqsat.spec(x.shape, "float32"), eqsat.spec((n,), "int64")).compile()(x, i)


def in_a_loop(function: Any, x: Array, i: Array) -> Any:
    compiled: Any = eqsat.jit(lambda x, i: eqsat.fori(2, lambda k, _: function(x, i + k * 0), enp.zeros((4, 3), "float32")))
    return compiled(x, i)


def from_bytes(function: Any, x: Array, i: Array) -> Any:
    plan = eqsat.optimize(function, x, i).compile()
    blueprint = unpack(pack(plan.blueprint, ()), ())
    assert isinstance(blueprint, Blueprint)
    return Plan(blueprint)(x, i)


def by_meaning(function: Any, x: Array, i: Array) -> Any:
    return traced(function, [x, i])


WAYS = [as_jit, as_lazy, as_realized, as_plan, into_out, with_sizes, in_a_loop, from_bytes, by_meaning]


@pytest.mark.parametrize("way", WAYS)
def test_an_index_out_of_range_is_an_index_error(way: Any) -> None:
    np.testing.assert_array_equal(way(taken, X, GOOD), X[GOOD] * 2)
    for wrong in (HIGH, LOW):
        with pytest.raises(BoundsError) as caught:
            way(taken, X, wrong)
        assert isinstance(caught.value, IndexError)


def test_the_error_names_the_index_the_dimension_and_what_was_expected() -> None:
    compiled: Any = eqsat.jit(lambda x, i: x[:, i])
    with pytest.raises(BoundsError, match=r"found index 4 in dimension 1 of an array, expected -3\.\.2"):
        compiled(X, np.array([0, 4]))
    with pytest.raises(BoundsError, match=r"found index -7 in dimension 1 of an array, expected -3\.\.2"):
        compiled(X, np.array([-7, 1]))
    np.testing.assert_array_equal(compiled(X, np.array([-1, 1])), X[:, [-1, 1]])


def test_results_are_not_those_of_the_checks() -> None:
    result = eqsat.optimize(lambda x, i: (x[i], i), X, GOOD)
    assert len(result.places) == 1
    assert result.compile().num_outputs == 2
    rows, places = result(X, GOOD)
    np.testing.assert_array_equal(rows, X[GOOD])
    np.testing.assert_array_equal(places, GOOD)


IN_RANGE: dict[str, Any] = {
    "a remainder": lambda x, i: x[i % 4],
    "clipped": lambda x, i: x[enp.minimum(enp.maximum(i, -4), 3)],
    "argmax": lambda x, i: x[x.argmax(0)],
    "a truth value": lambda x, i: x[(i > 0).astype("int64")],
    "take that wraps": lambda x, i: enp.take(x, i, 0, mode="wrap"),
    "take that clips": lambda x, i: enp.take(x, i, 0, mode="clip"),
    "known": lambda x, i: x[[0, 3, 1]] + i[:3, None],
}


@pytest.mark.parametrize("name", IN_RANGE)
def test_what_is_in_range_is_not_checked(name: str) -> None:
    assert eqsat.optimize(IN_RANGE[name], X, GOOD).places == ()


def test_known_indices_in_a_row_are_slices() -> None:
    for key in ([0, 1, 2], [3, 1], np.arange(4)[::-1], [[0, 1], [2, 3]]):
        program = eqsat.trace(lambda x, key=key: x[key], X)
        (output,) = program.outputs
        assert not isinstance(output, Build)  # a Generic: no gather in it


@given(st.lists(st.integers(-6, 6), max_size=5), st.lists(st.integers(-5, 5), min_size=1, max_size=3))
def test_an_error_is_raised_where_numpy_raises(rows: list[int], columns: list[int]) -> None:
    key = np.array(rows, int)[:, None], np.array(columns, int)
    program = eqsat.trace(lambda x, i, j: x[i, j], X, *key)
    try:
        expected = X[key]
    except IndexError:
        with pytest.raises(BoundsError):
            evaluate(program, [X, *key])
    else:
        np.testing.assert_array_equal(evaluate(program, [X, *key])[0], expected)


def test_a_step_of_a_loop_is_an_index() -> None:
    compiled: Any = eqsat.jit(lambda x: eqsat.fori(4, lambda k, total: total + x[k] * x[-1 - k], x[0] * 0))
    np.testing.assert_allclose(compiled(X), (X * X[::-1]).sum(0), rtol=1e-5)
    beyond: Any = eqsat.jit(lambda x: eqsat.fori(5, lambda k, total: total + x[k], x[0] * 0))
    with pytest.raises(BoundsError):
        beyond(X)


ENTRIES = st.one_of(
    st.integers(-3, 2),
    st.builds(slice, st.sampled_from([None, -2, 0, 1]), st.sampled_from([None, -1, 2, 9]), st.sampled_from([None, 2, -1])),
    st.sampled_from([None, ...]),
    st.sampled_from([[0], [1, -1], [[0, 1], [1, 0]], []]),
    st.lists(st.integers(-2, 1), min_size=1, max_size=2).map(np.array),
    st.lists(st.lists(st.integers(-1, 1), min_size=1, max_size=1), min_size=2, max_size=2).map(np.array),
)


@settings(max_examples=examples(300))
@given(st.lists(st.integers(0, 3), max_size=4), st.lists(ENTRIES, max_size=4))
def test_any_key_means_what_it_means_to_numpy(shape: list[int], key: list[Any]) -> None:
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    arrays = [entry for entry in key if isinstance(entry, np.ndarray)]

    def taken(x: Any, *given: Any) -> Any:
        rest = iter(given)
        return x[tuple(next(rest) if isinstance(entry, np.ndarray) else entry for entry in key)]

    try:
        expected = np.asarray(taken(x, *arrays))
    except IndexError:
        with contextlib.suppress(EqsatError):
            assert traced(taken, [x, *arrays]).size == 0  # nothing is read at values of a call
    else:
        found = traced(taken, [x, *arrays])
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)


BAD: dict[str, tuple[Any, type[EqsatError], str]] = {
    "take of floats": (lambda x, i: enp.take(x, x[0]), DTypeError, "indices of float32, expected integers"),
    "take in no mode": (lambda x, i: enp.take(x, i, mode="round"), EqsatError, "mode 'round', expected 'raise', 'wrap' or 'clip'"),
    "take of nothing": (lambda x, i: enp.take(x[:0], i, 0), BoundsError, "take"),
    "take_along_axis of other ranks": (lambda x, i: enp.take_along_axis(x, i, 0), ShapeError, "1 dimensions, expected 2"),
    "choose that may raise": (lambda x, i: enp.choose(i, [x[0, 0], 1]), UnsupportedError, "mode='clip' or 'wrap'"),
    "select without choices": (lambda x, i: enp.select([x > 0], []), EqsatError, "1 conditions and 0 choices"),
    "select by numbers": (lambda x, i: enp.select([x], [x]), DTypeError, "a condition of float32, expected bool"),
    "a mask of the trace": (lambda x, i: x[x > 0], UnsupportedError, "where(mask, x, other)"),
    "a mask of rows": (lambda x, i: x[i > 0], UnsupportedError, "sum(where=mask)"),
    "a known index too high": (lambda x, i: x[[0, 4]], BoundsError, "index 4 in dimension 0, expected -4..3"),
    "scatter_add beyond": (lambda x, i: enp.scatter_add(x, [4], 1.0), BoundsError, "scatter_add: found index 4"),
    "scatter_add of other shapes": (lambda x, i: enp.scatter_add(x, i, x[0, :2]), ShapeError, "(4, 3)"),
    "add.at": (lambda x, i: np.add.at(x, i, 1), UnsupportedError, "scatter_add"),
    "assignment": (lambda x, i: x.__setitem__(i, 1), UnsupportedError, "belongs to the caller"),
    "scatter beyond": (lambda x, i: enp.scatter(x, [4], 1.0), BoundsError, "setitem: found index 4"),
    "scatter of other shapes": (lambda x, i: enp.scatter(x, i, x[0, :2]), ShapeError, "(4, 3)"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_refused(name: str) -> None:
    function, error, words = BAD[name]
    with pytest.raises(error) as caught:
        eqsat.trace(function, X, GOOD)
    assert words in str(caught.value)


def added(x: Array, i: Any, updates: Any, axis: int) -> Array:
    """What NumPy gives, in place."""
    found = np.moveaxis(x.copy(), axis, 0)
    places = np.asarray(i)
    given = np.broadcast_to(updates, (*np.delete(x.shape, axis)[:axis], *places.shape, *np.delete(x.shape, axis)[axis:]))
    np.add.at(found, places, np.moveaxis(given, range(axis, axis + places.ndim), range(places.ndim)))
    return np.moveaxis(found, 0, axis)


def put(x: Any, places: Any, updates: Any, axis: int) -> Any:
    """x[..., places, ...] = updates on a copy."""
    found = np.moveaxis(x.copy(), axis, 0)
    given = np.broadcast_to(updates, (*x.shape[:axis], *places.shape, *x.shape[axis + 1 :]))
    found[places] = np.moveaxis(given, range(axis, axis + places.ndim), range(places.ndim))
    return np.moveaxis(found, 0, axis)


@pytest.mark.parametrize("dtype", some(["float32", "int64", "bool"], 2))
@pytest.mark.parametrize(
    ("shape", "indices", "updates", "axis"),
    [
        ((4, 3), (5,), (5, 3), 0),
        ((4, 3), (5,), (4, 5), 1),
        ((4, 3), (2, 3), (), 0),
        ((6,), (), (), 0),
        ((6,), (0,), (0,), 0),
        ((2, 6, 3), (4,), (4, 1), 1),
        ((0, 3), (2,), (1,), 1),
        ((1,), (7,), (7,), 0),
    ],
)
def test_updates_are_added_at_their_places(
    shape: tuple[int, ...], indices: tuple[int, ...], updates: tuple[int, ...], axis: int, dtype: str
) -> None:
    x, given = sample(shape, dtype), sample(updates, dtype, 1)
    i = np.asarray(np.random.default_rng(2).integers(-shape[axis], shape[axis], indices))
    expected = added(x, i, given, axis)
    found: Any = eqsat.jit(lambda x, i, u: enp.scatter_add(x, i, u, axis))(x, i, given)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    last: Any = eqsat.jit(lambda x, i, u: enp.scatter(x, i, u, axis))(x, i, given)
    np.testing.assert_array_equal(last, put(x, i, given, axis))


@pytest.mark.parametrize(("shape", "axis"), [((3000,), 0), ((40, 200, 3), 1)])
def test_many_updates_are_added_by_numpy(shape: tuple[int, ...], axis: int) -> None:
    x, u = sample(shape, "float32"), sample((*shape[:axis], 500, *shape[axis + 1 :]), "float32", 1)
    i = np.random.default_rng(2).integers(-shape[axis], shape[axis], 500)
    compiled: Any = eqsat.jit(lambda x, i, u: enp.scatter_add(x, i, u, axis) * 2)
    np.testing.assert_allclose(compiled(x, i, u), added(x, i, u, axis) * 2, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(eqsat.jit(lambda x, i, u: enp.scatter(x, i, u, axis))(x, i, u), put(x, i, u, axis))
    with pytest.raises(BoundsError):
        compiled(x, np.where(np.arange(500) == 7, shape[axis], i), u)


def test_an_update_out_of_range_is_an_index_error() -> None:
    compiled: Any = eqsat.jit(lambda x, i: enp.scatter_add(x, i, 1.0))
    np.testing.assert_allclose(compiled(X, GOOD), added(X, GOOD, 1.0, 0))
    for wrong in (HIGH, LOW):
        with pytest.raises(BoundsError):
            compiled(X, wrong)


@pytest.mark.parametrize(
    ("shape", "places", "axis"),
    [((2, 3, 1, 4, 5), (2, 3, 1, 4, 2), -1), ((2, 3, 4, 1, 5), (2, 1, 7, 3, 5), 2), ((2,) * 5 + (3,), (1,) + (2,) * 4 + (9,), 5)],
)
def test_places_along_an_axis_of_many(shape: tuple[int, ...], places: tuple[int, ...], axis: int) -> None:
    rng = np.random.default_rng(0)
    array, where = rng.standard_normal(shape), rng.integers(-shape[axis], shape[axis], places)
    expected = np.take_along_axis(array, where, axis)
    np.testing.assert_array_equal(eqsat.jit(lambda a, i: np.take_along_axis(a, i, axis))(array, where), expected)


@pytest.mark.parametrize(("shape", "axis"), [((2, 0, 0), 2), ((0, 0, 3), 1), ((0, 3, 0), 2)])
def test_nothing_may_be_taken_from_nothing(shape: tuple[int, ...], axis: int) -> None:
    x = np.zeros(shape, np.int16)
    found, expected = eqsat.jit(lambda x: np.take(x, [0, 7], axis=axis))(x), np.take(x, [0, 7], axis=axis)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)


def test_places_in_an_empty_axis_are_told() -> None:
    with pytest.raises(BoundsError, match="take: found places"):
        eqsat.jit(lambda x: np.take(x, [0], axis=1))(np.zeros((2, 0, 3)))


@pytest.mark.parametrize("function", [np.stack, np.concatenate])
@pytest.mark.parametrize("axis", [(), (0,), None, 1.0])
def test_an_axis_is_one_integer(function: Any, axis: Any) -> None:
    if axis is None and function is np.concatenate:
        return
    with pytest.raises(UsageError, match="found axis"):
        eqsat.jit(lambda x: function([x, x], axis=axis))(X)


@pytest.mark.parametrize(
    ("extent", "dtype"),
    some(
        itertools.product([5, 127, 129, 300, 40_000, 70_000], ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]),
        5,
    ),
)
def test_places_of_every_dtype_count_from_both_ends(dtype: str, extent: int) -> None:
    x, limits = np.arange(3 * extent, dtype=np.float32).reshape(extent, 3), np.iinfo(dtype)
    low, high = max(-extent, int(limits.min)), min(extent - 1, int(limits.max))
    places = np.array([low, high, 0, low + 1, high - 1, (low + high) // 2], dtype)
    rows = eqsat.optimize(lambda x, i: x[i], eqsat.spec(x.shape, "float32"), eqsat.spec((6,), dtype))
    elements = eqsat.optimize(lambda x, i: x[i, i % 3], eqsat.spec(x.shape, "float32"), eqsat.spec((6,), dtype))
    np.testing.assert_array_equal(rows(x, places), x[places])
    np.testing.assert_array_equal(elements(x, places), x[places, places % 3])
    for outside in (low - 1, high + 1):
        if limits.min <= outside <= limits.max:
            places[2] = outside
            with pytest.raises(BoundsError, match=f"found index {outside} in dimension 0"):
                rows(x, places)


def test_places_of_uint64_are_cast_as_numpy_casts_them() -> None:
    x, places = np.arange(5.0), np.array([2**64 - 1, 2**64 - 5, 2], "uint64")
    np.testing.assert_array_equal(eqsat.jit(lambda x, i: x[i])(x, places), x[places])
    with pytest.raises(BoundsError, match="found index -6 in dimension 0"):
        eqsat.jit(lambda x, i: x[i])(x, np.array([2**64 - 6], "uint64"))


def test_places_of_an_order_and_of_running_extrema_are_not_checked() -> None:
    x, y = np.random.default_rng(1).random((40, 5)), np.random.default_rng(2).random((40, 5))
    ordered = eqsat.optimize(lambda x, y: (np.take_along_axis(y, np.argsort(x, 0), 0), y[np.argsort(x[:, 0])]), x, y)
    assert ordered.places == ()
    for found, expected in zip(ordered(x, y), (np.take_along_axis(y, np.argsort(x, 0), 0), y[np.argsort(x[:, 0])]), strict=True):
        np.testing.assert_array_equal(found, expected)
    filled = eqsat.optimize(lambda v: v[np.maximum.accumulate(enp.where(enp.isnan(v), 0, enp.arange(40)))], x[:, 0])
    assert filled.places == ()
    # the order of rows has places of rows alone
    rows = eqsat.optimize(lambda x, y: y[:5][np.argsort(x, 0)[:, 0]], x, y)
    assert len(rows.places) == 1
