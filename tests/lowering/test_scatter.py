"""Values put and added at places as loops: what NumPy gives, by the interpreter and as machine code, and nothing outside of the array."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import prod
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.codegen import compile_kernels, parallel_extent
from eqsat.ir.errors import BoundsError, DTypeError, InternalError, UnsupportedError
from eqsat.ir.index import Var, as_index
from eqsat.ir.loops import Buffer, Clip, Fold, For, Kernel, Load, Store, Temp, statements
from eqsat.ir.loops_check import check_kernel
from eqsat.ir.loops_evaluate import run_kernel
from eqsat.lowering import hoist, type_indices
from eqsat.lowering.scatter import LEAST_STEPS, TABLES, scattered, stored
from eqsat.operations.placing import MOST_COMPARISONS
from tests.effort import examples, some

Array = np.ndarray[Any, Any]
DTYPES = ("bool", "int8", "uint32", "int64", "float32", "float64", "complex64")


def kernel_of(shape: tuple[int, ...], axis: int, count: int, dtype: str, combine: str | None, places: str = "int64") -> Kernel:
    size = prod(shape)
    x, p, v = Buffer("x", dtype, size, "in"), Buffer("p", places, count, "in"), Buffer("v", dtype, size // shape[axis] * count, "in")
    found = scattered(shape, axis, (stored(x), stored(p), stored(v)), Buffer("out", dtype, size, "out"), combine, "k")
    check_kernel(found)
    check_kernel(hoist(found))
    return found


def both(kernel: Kernel, *arrays: Array) -> Array:
    """What the interpreter and machine code make, which is the same."""
    given_arrays = [np.ascontiguousarray(array).ravel() for array in arrays]
    outs = [np.full(kernel.outputs[0].size, 1).astype(kernel.outputs[0].dtype) for _ in range(2)]
    run_kernel(kernel, [*given_arrays, outs[0]])
    compile_kernels([type_indices(hoist(kernel))], "default").routine("k")([*given_arrays, outs[1]])
    np.testing.assert_array_equal(outs[0], outs[1])
    return outs[1]


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple),
    axis=st.integers(0, 2),
    count=st.integers(1, 9),
    dtype=st.sampled_from(DTYPES),
    adds=st.booleans(),
    seed=st.integers(0, 99),
)
def test_loops_give_what_numpy_gives(shape: tuple[int, ...], axis: int, count: int, dtype: str, adds: bool, seed: int) -> None:
    axis, rng = axis % len(shape), np.random.default_rng(seed)
    x = rng.integers(0, 5, shape).astype(dtype)
    places = rng.integers(0, shape[axis], count)
    values = rng.integers(0, 5, (*shape[:axis], count, *shape[axis + 1 :])).astype(dtype)
    expected = np.moveaxis(x.copy(), axis, 0)
    if adds:
        np.add.at(expected, places, np.moveaxis(values, axis, 0))
    else:
        expected[places] = np.moveaxis(values, axis, 0)
    combine = None if not adds else "max" if dtype == "bool" else "sum"
    found = both(kernel_of(shape, axis, count, dtype, combine), x, places, values)
    np.testing.assert_array_equal(found.reshape(shape), np.moveaxis(expected, 0, axis))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_no_place_is_outside_of_the_array(dtype: str) -> None:
    """A plan looks at them before; here they are clipped."""
    limits = np.iinfo(dtype)
    places = np.array([limits.max, limits.min, 1], dtype)
    found = both(kernel_of((4,), 0, 3, "int64", "sum", dtype), np.zeros(4, np.int64), places, np.array([1, 10, 100]))
    np.testing.assert_array_equal(found, [10, 100, 0, 1])


@pytest.mark.parametrize("rest", range(TABLES))
@pytest.mark.parametrize("dtype", some(["int8", "uint8", "int32", "uint32", "int64"], 2))
def test_many_values_at_few_places_are_added_to_tables_in_turns(dtype: str, rest: int) -> None:
    rng, count = np.random.default_rng(rest), LEAST_STEPS * TABLES * 5 + rest
    x, values = (rng.integers(0, 100, size).astype(dtype) for size in (5, count))
    places = rng.integers(-1, 6, count)  # some outside, which are clipped
    kernel = kernel_of((5,), 0, count, dtype, "sum")
    assert len(kernel.scratch) == TABLES - 1
    expected = x.copy()
    np.add.at(expected, places.clip(0, 4), values)
    np.testing.assert_array_equal(both(kernel, x, places, values), expected)


@pytest.mark.parametrize(
    "kernel",
    [
        kernel_of((5,), 0, LEAST_STEPS * TABLES * 5 - 1, "int64", "sum"),
        kernel_of((5,), 0, 1000, "float64", "sum"),
        kernel_of((5,), 0, 1000, "int64", "max"),
        kernel_of((5,), 0, 1000, "int64", None),
        kernel_of((2, 5), 1, 1000, "int64", "sum"),
        kernel_of((4096,), 0, 1 << 20, "int64", "sum"),
    ],
)
def test_others_have_one_table(kernel: Kernel) -> None:
    assert not kernel.scratch


def greatest(i: Any, v: Any) -> Any:
    found = enp.zeros(9)
    np.maximum.at(found, i & 7, -v)
    return found


PUT: dict[str, Callable[..., Any]] = {
    "counts": lambda i, v: np.bincount(i & 7, minlength=9),
    "weights": lambda i, v: enp.scatter_add(enp.zeros(9, "float64"), i & 7, v * 2 + 1),
    "where the array is made": lambda i, v: enp.scatter_add(v[:9] - 1, i & 7, v),
    "places that are a result": lambda i, v: (i & 7, enp.scatter_add(enp.zeros(9), i & 7, v)),
    "places that are read twice": lambda i, v: enp.scatter_add(enp.zeros(9), i & 7, enp.where((i & 7) > 3, v, 1.0)),
    "values that are functions": lambda i, v: enp.scatter_add(enp.zeros(9), i & 7, enp.exp(v)),
    "values that are folds": lambda i, v: enp.scatter_add(enp.zeros(9), i & 7, v - v.mean()),
    "rows": lambda i, v: enp.scatter_add(enp.zeros((9, 2)), i[::2] & 7, enp.reshape(v, (-1, 2)) + 1),
    "the greatest": greatest,
}


@pytest.mark.parametrize("name", PUT)
def test_what_is_put_is_computed_as_it_is_read(name: str) -> None:
    rng = np.random.default_rng(1)
    i, v = rng.integers(0, 100, MOST_COMPARISONS), rng.standard_normal(MOST_COMPARISONS)
    result = eqsat.optimize(PUT[name], i, v)
    plain = eqsat.optimize(PUT[name], i, v, options=eqsat.Options(rules=(), numerics="exact"))
    outputs = (one if isinstance(one, tuple) else (one,) for one in (result(i, v), plain(i, v)))
    for found, expected in zip(*outputs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    if name in ("counts", "weights", "the greatest"):
        adding = [kernel for kernel in result.loops if any(isinstance(stmt, Clip) for stmt in statements(kernel.body))]
        assert len(adding) == 1
        assert "i" in {buffer.name for buffer in adding[0].buffers}
    if name == "values that are functions":  # in vectors, by themselves
        assert not any("exp(" in str(kernel) and " serial:" in str(kernel) for kernel in result.loops)


ROWS: dict[str, Callable[..., Any]] = {
    "counts": lambda i, v: np.bincount((i[:, 1:] >> 3).ravel(), minlength=16),
    "counts of pairs": lambda i, v: np.bincount((i[:, :-1] % 4 * 4 + i[:, 1:] % 4).ravel(), minlength=16),
    "weights": lambda i, v: enp.scatter_add(enp.zeros(16), (i[:, 2:] & 15).ravel(), v[:, 2:].ravel()),
    "weights at places": lambda i, v: enp.scatter_add(enp.zeros(16), (i & 15).ravel(), (v[:, ::-1] * 2).ravel()),
    "columns first": lambda i, v: enp.scatter_add(enp.zeros(16), (i[:, :40].T ^ 3).ravel() & 15, v[:, :40].T.ravel()),
    "rows that are put": lambda i, v: enp.scatter_add(enp.zeros((16, 3)), (i[:, 5:] & 15).ravel(), enp.ones((i[:, 5:].size, 3))),
    "in rows": lambda i, v: enp.scatter_add(enp.zeros((3, 16)), (i[:, 5:] & 15).ravel(), enp.ones((3, i[:, 5:].size)), axis=1),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("dtype", ["uint8", "int64"])
def test_places_in_rows_are_not_divided_into(name: str, dtype: str) -> None:
    """What is added is made in loops over rows and over the elements of a row."""
    rng = np.random.default_rng(2)
    i, v = rng.integers(0, 120, (97, 131)).astype(dtype), rng.standard_normal((97, 131))
    result = eqsat.optimize(ROWS[name], i, v)
    plain = eqsat.optimize(ROWS[name], i, v, options=eqsat.Options(rules=(), numerics="exact"))
    np.testing.assert_allclose(result(i, v), plain(i, v), rtol=1e-12)
    (kernel,) = [kernel for kernel in result.loops if any(isinstance(stmt, Clip) for stmt in statements(kernel.body))]
    if name in ("counts", "weights", "weights at places"):
        assert "i" in {buffer.name for buffer in kernel.buffers}
    assert "//" not in str(kernel)


def test_steps_are_not_shared_by_threads() -> None:
    assert parallel_extent(kernel_of((100, 64), 0, 500, "float32", "sum")) is None


def test_a_clip_is_of_integers_and_no_part_of_a_tile() -> None:
    step, place, lane = Var("k", 0, 3), Var("p", 0, 7), Var("j", 0, 15)
    buffers = Buffer("i", "float32", 4, "in"), Buffer("out", "float32", 8, "out")
    stored = Store("out", place, Load("i", step, "float32"))
    with pytest.raises(InternalError, match=r"clip p.*float32, expected an integer that int64 holds"):
        check_kernel(Kernel("k", buffers, (For(step, "serial", (Clip(place, Load("i", step, "float32")), stored)),)))
    whole = Buffer("i", "int64", 16, "in"), Buffer("out", "int64", 8, "out")
    tile = For(lane, "tile", (Clip(place, Load("i", lane, "int64")), Store("out", place, Load("i", lane, "int64"))))
    with pytest.raises(InternalError, match="found a Clip"):
        check_kernel(Kernel("k", whole, (tile,)))


def test_programs_put_many_values_in_loops() -> None:
    count = MOST_COMPARISONS // 8

    def put(x: Any, i: Any, v: Any) -> Any:
        y = x * 2
        y[i] = v
        return y + 1

    def added(x: Any, i: Any, v: Any) -> Any:
        y = x * 2
        np.add.at(y, i, v)
        return y + 1

    rng = np.random.default_rng(0)
    x, i, v = rng.uniform(-1, 1, (40, 7)), rng.integers(-40, 40, count), rng.uniform(-1, 1, (count, 7))
    for function in (put, added):
        result = eqsat.optimize(function, x, i, v)
        assert not result.compile().blueprint.steps
        assert any("in 0..39" in str(kernel) for kernel in result.loops)
        np.testing.assert_array_equal(eqsat.jit(function)(x, i, v), function(x.copy(), i, v))
        with pytest.raises(BoundsError, match=r"index 40 .* expected -40\.\.39"):
            eqsat.jit(function)(x, np.where(i == i[5], 40, i), v)


@pytest.mark.parametrize("dtype", ["uint8", "int64", "bool", "uint64"])
def test_counts_are_loops(dtype: str) -> None:
    numbers = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 200, 5000).astype(dtype)
    weights = np.random.default_rng(1).uniform(-1, 1, 5000).astype("float32")
    functions: list[Callable[..., Any]] = [lambda n, w: np.bincount(n, minlength=256), lambda n, w: np.bincount(n, w, 256)]
    for function in functions:
        assert not eqsat.optimize(function, numbers, weights).compile().blueprint.steps
        np.testing.assert_array_equal(eqsat.jit(function)(numbers, weights), function(numbers.astype("int64"), weights))


def test_scattered_values_in_a_loop_of_the_program() -> None:
    """As gradients of an embedding are added up."""
    places = np.random.default_rng(0).integers(0, 50, 400)

    def descent(table: Any, given_places: Any) -> Any:
        def step(i: Any, table: Any) -> Any:
            return table - 0.1 * enp.scatter_add(enp.zeros(table.shape), given_places, table[given_places])

        return eqsat.fori(5, step, table)

    table = np.random.default_rng(1).uniform(-1, 1, (50, 8))
    expected = table
    for _ in range(5):
        total = np.zeros((50, 8))
        np.add.at(total, places, expected[places])
        expected = expected - 0.1 * total
    np.testing.assert_allclose(eqsat.jit(descent)(table, places), expected, rtol=1e-12, atol=1e-12)


PUT_DTYPES = ["float32", "float16", "int8", "bool", "complex64"]
UFUNCS = ["add", "subtract", "multiply", "maximum", "minimum"]


@pytest.mark.parametrize(("dtype", "op", "count"), some(itertools.product(PUT_DTYPES, UFUNCS, [20, MOST_COMPARISONS // 8])))
def test_what_ufuncs_do_at_places_is_done(dtype: str, op: str, count: int) -> None:
    """In order; NaN stays."""
    if (op, dtype) in (("subtract", "bool"), ("multiply", "complex64")):
        return  # NumPy has no such function; products of many complex numbers leave their range

    def changed(x: Any, i: Any, v: Any) -> Any:
        y = x.copy()
        getattr(np, op).at(y, i, v)
        return y

    rng = np.random.default_rng(0)
    x, i, v = (rng.integers(-1, 2, shape).astype(dtype) for shape in ((30, 3), (count,), (count, 3)))
    i = rng.integers(-30, 30, count)
    if dtype == "float32":
        v[3] = np.nan
    np.testing.assert_array_equal(eqsat.jit(changed)(x, i, v), changed(x, i, v))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_one_place_of_every_row_is_put(axis: int) -> None:
    def put(x: Any, i: Any, v: Any) -> Any:
        y = x.copy()
        np.put_along_axis(y, i, v, axis)
        return y

    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (50, 60))
    places = np.argmax(x, axis, keepdims=True)
    for given_values in (np.float64(7), rng.uniform(-1, 1, places.shape)):
        np.testing.assert_array_equal(eqsat.jit(put)(x, places, given_values), put(x, places, given_values))
    with pytest.raises(BoundsError):
        eqsat.jit(put)(x, places + 60, np.float64(7))


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (lambda x, i: np.logaddexp.at(x, i, x), "logaddexp.at: supported are add"),
        (lambda x, i: np.add.at(x, cast("Any", (i, slice(2))), 1.0), "add.at: supported are add"),
        (lambda x, i: np.put_along_axis(x, i, 0.0, None), "put_along_axis: found the axis None"),
    ],
)
def test_what_cannot_be_put_is_refused(function: Any, found: str) -> None:
    with pytest.raises(UnsupportedError, match=found):
        eqsat.trace(lambda x, i: function(x * 1, i), np.zeros((3, 4)), np.zeros(3, int))


@pytest.mark.parametrize(
    ("dtype", "values"), [("int32", "uint8"), ("float64", "uint8"), ("int64", "uint32"), ("int32", "int8"), ("float32", "bool")]
)
def test_values_are_cast_before_they_are_subtracted(dtype: str, values: str) -> None:
    def subtracted(x: Any, i: Any, v: Any) -> Any:
        y = x.copy()
        np.subtract.at(y, i, v)
        return y

    v = np.array([np.iinfo(values).min, np.iinfo(values).max, 1] if values != "bool" else [True, False, True], values)
    x, i = np.zeros(4, dtype), np.array([0, 3, 3])
    np.testing.assert_array_equal(eqsat.jit(subtracted)(x, i, v), subtracted(x, i, v))


def test_values_that_are_not_cast_are_refused() -> None:
    def added(x: Any, v: Any) -> Any:
        y = x * 1
        np.add.at(y, np.array([0]), v)
        return y

    with pytest.raises(DTypeError, match=r"add\.at: found float64 at places of int64"):
        eqsat.trace(added, np.zeros(3, int), np.zeros(1))


def test_a_fold_has_no_clip() -> None:
    place, step = Var("p", 0, 7), Var("s", 0, 99)
    clip = Clip(place, Load("i", step, "int64"))
    fold = Fold("t", "sum", "float32", step, (clip,), Load("x", place * 8, "float32"))
    buffers = Buffer("i", "int64", 100, "in"), Buffer("x", "float32", 64, "in"), Buffer("out", "float32", 1, "out")
    with pytest.raises(InternalError, match="fold t: found a Clip"):
        check_kernel(Kernel("k", buffers, (fold, Store("out", as_index(0), Temp("t", "float32")))))


def test_a_large_kernel_may_read_where_an_element_says() -> None:
    rows, columns = 3000, 1000
    place, step, lane = Var("p", 0, 99), Var("s", 0, rows - 1), Var("l", 0, columns - 1)
    body = For(lane, "parallel", (Store("out", step * columns + lane, Load("x", place * columns + lane, "float32")),))
    buffers = (
        Buffer("i", "int64", rows, "in"),
        Buffer("x", "float32", 100 * columns, "in"),
        Buffer("out", "float32", rows * columns, "out"),
    )
    kernel = Kernel("k", buffers, (For(step, "parallel", (Clip(place, Load("i", step, "int64")), body)),))
    check_kernel(hoist(kernel))
    rng = np.random.default_rng(0)
    i, x, out = rng.integers(0, 100, rows), rng.uniform(0, 1, (100, columns)).astype("float32"), np.zeros((rows, columns), "float32")
    compile_kernels([type_indices(hoist(kernel))], "default").routine("k")([i, x.ravel(), out.ravel()], 0, rows)
    np.testing.assert_array_equal(out, x[i])


def test_arrays_of_known_sizes_are_counted_in_loops_beside_others() -> None:
    size = eqsat.dim("n", 1, 1000)
    known, open_sized = eqsat.Spec((5000,), "int64"), eqsat.Spec((size,), "int64")
    numbers = np.random.default_rng(0).integers(0, 300, 5000)

    def counted(i: Any, j: Any) -> Any:
        return np.bincount(i, minlength=300), np.bincount(j, minlength=300)

    plan = eqsat.optimize(counted, known, open_sized).compile()
    assert len(plan.blueprint.steps) == 1
    for n in (1, 7, 1000):
        for found, expected in zip(plan(numbers, numbers[:n]), counted(numbers, numbers[:n]), strict=True):
            np.testing.assert_array_equal(found, expected)


def clipping(result: eqsat.Result) -> int:
    """How many kernels put values at places."""
    return sum(any(isinstance(stmt, Clip) for stmt in statements(kernel.body)) for kernel in result.loops)


def test_arrays_added_to_at_the_same_places_are_one_loop() -> None:
    rng = np.random.default_rng(3)
    places, a, b = rng.integers(0, 50, 3000), rng.standard_normal(3000), rng.standard_normal((3000, 4))

    def program(xp: Any, places: Any, a: Any, b: Any) -> Any:
        counts = xp.bincount(places, minlength=50)
        rows = xp.scatter_add(xp.zeros((50, 4)), places, b) if xp is enp else _added(np.zeros((50, 4)), places, b)
        return counts, xp.bincount(places, a, minlength=50) / counts, xp.bincount(places, a * a, minlength=50), rows

    result = eqsat.optimize(lambda *x: program(enp, *x), places, a, b)
    assert clipping(result) == 1
    for found, expected in zip(result(places, a, b), program(np, places, a, b), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    places[7] = 50
    with pytest.raises(BoundsError, match="found index 50"):
        result(places, a, b)


def _added(x: Array, places: Array, values: Array) -> Array:
    np.add.at(x, places, values)
    return x


def test_what_one_adds_to_may_be_where_another_one_reads() -> None:
    places = np.random.default_rng(4).integers(0, 40, 5000)

    def program(xp: Any, places: Any) -> Any:
        first = xp.bincount(places, minlength=40)
        return first, xp.bincount(places, xp.take(first, places).astype(xp.float64), minlength=40)

    result = eqsat.optimize(lambda x: program(enp, x), places)
    for found, expected in zip(result(places), program(np, places), strict=True):
        np.testing.assert_array_equal(found, expected)
