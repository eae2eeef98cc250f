"""Long reductions in two: the same values, parts that divide evenly, and nothing else touched."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import eqsat
import eqsat.numpy as enp
from eqsat.ir.evaluate import evaluate_tensor
from eqsat.ir.index import as_index
from eqsat.ir.loops import Fold, statements
from eqsat.ir.tensor import Build, Call, Input, Position, Read, Reduce, Scalar, axis, reduction
from eqsat.lowering.folds.parted import (
    LEAST_TERMS,
    MOST_PARTS,
    ROW_PARTS,
    columns_in_parts,
    in_parts,
    row_in_parts,
    rows_in_parts,
    terms_of,
)
from tests.effort import examples, some
from tests.eqsat.programs import RandomProgram, programs
from tests.eqsat.test_programs import check_stages
from tests.lowering.builds import count_few_terms_as_many, inputs_of, reference

R0, R1 = reduction(0, 48), reduction(1, 5)
LATER = reduction(1, 48)
X = Input("x", (48, 5), "int64")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reductions of few terms count as long."""
    count_few_terms_as_many(monkeypatch)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("op", ["sum", "prod", "max", "min"])
def test_parts_hold_what_the_reduction_does(op: str) -> None:
    inside = Call("subtract", (Read(X, (47 - R0, R1)), Position(R0 * 5 + R1, "int64")), "int64")
    build = Build((), Call("negative", (Reduce(op, R0, Reduce(op, R1, inside)),), "int64"))
    divided = in_parts(build)
    assert divided is not None
    ((made,),), whole = divided
    assert made.shape == (48,)
    np.testing.assert_array_equal(evaluate_tensor(whole, inputs_of(build)), reference(build)[0])


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("terms", [5, 7, 8, 67, 97, 131, 1009])
@pytest.mark.parametrize("op", ["sum", "prod", "max", "min"])
def test_terms_that_are_left_over_are_folded_with_the_parts(op: str, terms: int) -> None:
    k = reduction(0, terms)
    z = Read(Input("z", (terms,), "int64"), (terms - 1 - k,))
    build = Build((), Call("negative", (Reduce(op, k, Call("subtract", (z, Position(k * 3, "int64")), "int64")),), "int64"))
    divided = in_parts(build)
    assert divided is not None
    ((made,),), whole = divided
    assert terms - made.size * (terms // made.size) < made.size
    np.testing.assert_array_equal(evaluate_tensor(whole, inputs_of(build)), reference(build)[0])


@pytest.mark.usefixtures("short")
def test_what_is_no_single_reduction_stays_whole() -> None:
    single = Reduce("sum", R0, Read(Input("y", (48,), "int64"), (R0,)))
    other = Call("add", (single, Reduce("max", R1, Read(X, (as_index(0), R1)))), "int64")
    assert in_parts(Build((), single)) is not None
    assert in_parts(Build((), other)) is None
    rows = Build((3,), Reduce("sum", R0, Read(Input("w", (48,), "int64"), (R0,))))
    assert in_parts(rows) is None


@pytest.mark.usefixtures("short")
def test_several_reductions_of_as_many_terms_are_in_parts_together() -> None:
    y = Read(Input("y", (48,), "int64"), (R0,))
    both = Build((), Call("subtract", (Reduce("sum", R0, y), Reduce("max", R0, Call("negative", (y,), "int64"))), "int64"))
    divided = in_parts(both)
    assert divided is not None
    (made,), whole = divided
    assert [part.shape for part in made] == [(48,), (48,)]
    np.testing.assert_array_equal(evaluate_tensor(whole, inputs_of(both)), reference(both)[0])


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("shape", [(5,), (5, 1), (1, 5)])
@pytest.mark.parametrize("op", ["sum", "prod", "max", "min"])
def test_rows_in_parts_hold_what_the_reduction_does(op: str, shape: tuple[int, ...]) -> None:
    place = axis(shape.index(5), 5)
    inside = Call("subtract", (Read(X, (47 - R0, place)), Position(R0 * 5 + place, "int64")), "int64")
    build = Build(shape, Call("negative", (Reduce(op, R0, inside),), "int64"))
    divided = row_in_parts(build)
    assert divided is not None
    ((made,),), whole = divided
    assert made.shape == (8, *shape)
    np.testing.assert_array_equal(evaluate_tensor(whole, inputs_of(build)), reference(build)[0])


@pytest.mark.usefixtures("short")
def test_rows_of_several_folds_and_results_are_in_parts_together() -> None:
    column = Read(X, (R0, axis(0, 5)))
    total, greatest = Reduce("sum", R0, column), Reduce("max", R0, column)
    builds = tuple(Build((5,), body) for body in (Call("add", (total, greatest), "int64"), greatest))
    divided = rows_in_parts(builds)
    assert divided is not None
    ((*made,),), whole = divided
    assert [part.shape for part in made] == [(8, 5), (8, 5)]
    for build, over in zip(builds, whole, strict=True):
        np.testing.assert_array_equal(evaluate_tensor(over, inputs_of(build)), reference(build)[0])


@pytest.mark.usefixtures("short")
def test_no_other_results_are_rows_in_parts() -> None:
    column = Read(X, (R0, axis(0, 5)))
    row = Build((5,), Reduce("sum", R0, column))
    assert row_in_parts(row) is not None
    assert row_in_parts(Build((), Reduce("sum", R0, Read(X, (R0, as_index(0)))))) is None
    assert row_in_parts(Build((2, 5), Reduce("sum", R0, Read(X, (R0, axis(1, 5)))))) is None
    inside = Reduce("max", R0, Call("subtract", (column, Reduce("sum", LATER, Read(X, (LATER, axis(0, 5))))), "int64"))
    assert row_in_parts(Build((5,), inside)) is None  # one of them is made of the other
    assert row_in_parts(Build((5,), Call("add", (Reduce("sum", R0, column), inside), "int64"))) is None


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("rows", [67, 97, 131, 254])
@pytest.mark.parametrize("op", ["sum", "prod", "max", "min"])
def test_rows_that_are_left_over_are_folded_with_the_parts(op: str, rows: int) -> None:
    place, k = axis(0, 5), reduction(0, rows)
    inside = Call("subtract", (Read(Input("z", (rows, 5), "int64"), (k, place)), Position(k * 5 + place, "int64")), "int64")
    build = Build((5,), Call("negative", (Reduce(op, k, inside),), "int64"))
    divided = row_in_parts(build)
    assert divided is not None
    ((made,),), whole = divided
    assert made.shape == (ROW_PARTS, 5)
    np.testing.assert_array_equal(evaluate_tensor(whole, inputs_of(build)), reference(build)[0])


@pytest.mark.parametrize("shape", [(400, 3, 300), (64, 3, 40, 50), (5, 7, 4000), (2, 1031, 257)])
def test_few_rows_of_many_terms_are_no_parts(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    behind = tuple(range(1, len(shape)))

    def folded(xp: Any, x: Any) -> Any:
        return xp.sum(x, axis=behind), xp.max(x, axis=behind), xp.any(x > 3, axis=behind[:-1]), xp.sum(x, axis=(0, *behind[:-1]))

    for found, expected in zip(eqsat.jit(lambda x: folded(enp, x))(x), folded(np, x.astype(np.float64)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-2)


def test_threads_share_the_rows_of_a_matrix_and_the_result_stays_the_same() -> None:
    rng = np.random.default_rng(0)
    v, a = rng.standard_normal(1024).astype(np.float32), rng.standard_normal((1024, 1024)).astype(np.float32)
    result = eqsat.optimize(lambda v, a: v @ a, v, a)
    first, _ = result.compile().kernels
    assert first.parallel_extent == ROW_PARTS
    before, found = eqsat.num_threads(), []
    try:
        for threads in (1, 2, 8):
            eqsat.set_num_threads(threads)
            found.append(result(v, a))
    finally:
        eqsat.set_num_threads(before)
    np.testing.assert_allclose(found[0], v.astype(float) @ a, rtol=1e-4, atol=1e-3)
    assert all(np.array_equal(found[0], other) for other in found[1:])
    assert len(eqsat.optimize(lambda v, a: v @ a, v, a, options=eqsat.Options(numerics="exact")).nests) == 1


@pytest.mark.usefixtures("short")
def test_the_outermost_of_several_folds_is_divided() -> None:
    x = Input("x", (16, 3, 5), "int64")
    inner = reduction(1, 3)
    fold = Reduce("sum", reduction(0, 16), Reduce("sum", inner, Read(x, (reduction(0, 16), inner, axis(0, 5)))))
    build = Build((5,), Call("negative", (fold,), "int64"))
    divided = row_in_parts(build)
    assert divided is not None
    ((made,),), whole = divided
    assert made.shape == (8, 5)
    np.testing.assert_array_equal(evaluate_tensor(whole, inputs_of(build)), reference(build)[0])


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("op", ["sum", "max"])
@pytest.mark.parametrize("shape", [(48, 7, 5), (97, 3, 4), (200, 2, 16), (6, 40, 3, 2)])
def test_folds_around_results_go_along_memory(op: str, shape: tuple[int, ...]) -> None:
    x, results = Input("x", shape, "int64"), len(shape) - 2
    outer, inner = reduction(0, shape[0]), reduction(1, shape[-1])
    places = tuple(axis(k, n) for k, n in enumerate(shape[1:-1]))
    build = Build(shape[1:-1], Reduce(op, outer, Reduce(op, inner, Read(x, (outer, *places, inner)))))
    divided = columns_in_parts(build)
    assert divided is not None
    ((made,),), whole = divided
    assert made.shape[-results - 1 :] == shape[1:]
    np.testing.assert_array_equal(evaluate_tensor(whole, inputs_of(build)), reference(build)[0])


@pytest.mark.usefixtures("short")
def test_other_folds_are_not_taken_apart() -> None:
    x, outer, inner, place = Input("x", (48, 7, 5), "int64"), reduction(0, 48), reduction(1, 5), axis(0, 7)
    turned, long = Input("y", (48, 5, 7), "int64"), Input("z", (48, 7, 90), "int64")
    both = Reduce("sum", outer, Reduce("sum", inner, Read(x, (outer, place, inner))))
    across = Reduce("sum", outer, Reduce("sum", inner, Read(turned, (outer, inner, place))))
    last = reduction(1, 90)
    assert columns_in_parts(Build((7,), both)) is not None
    assert columns_in_parts(Build((7,), across)) is None
    assert columns_in_parts(Build((7,), Reduce("sum", outer, Read(x, (outer, place, as_index(0)))))) is None
    assert columns_in_parts(Build((7,), Reduce("sum", outer, Reduce("sum", last, Read(long, (outer, place, last)))))) is None


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_normalized_channels_of_short_rows_equal_numpy(dtype: str) -> None:
    """Sums over the first and the last axis of (31060, 18, 5): 5,550 us, now 140; of the normalization 10,100 and 1,200."""
    x = np.random.default_rng(2).integers(-9, 9, (3_000, 18, 5)).astype(dtype)

    def function(x: Any) -> Any:
        return (x - x.mean(axis=(0, 2), keepdims=True)) / (x.std(axis=(0, 2), keepdims=True) + 1), x.max(axis=(0, 2)), x.sum(axis=(0, 2))

    result = eqsat.optimize(function, x)
    for one, other in zip(result(x), function(x.astype("float64")), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4 if dtype == "float32" else 1e-12, atol=1e-4 if dtype == "float32" else 1e-12)
    assert any(buffer.role == "out" and buffer.size in (8 * 90, 5 * 90) for kernel in result.loops for buffer in kernel.buffers)


SOUGHT: dict[str, Callable[[Any], Any]] = {
    "greatest": lambda x: enp.argmax(x),
    "least of absolute values": lambda x: enp.argmin(abs(x)),
    "greatest of halves turned round": lambda x: enp.argmax(x.reshape(-1)[::-1]),
    "greatest of products with places": lambda x: enp.argmax(x.reshape(-1) * (enp.arange(x.size) % 7)),
    "of two rows": lambda x: enp.argmax(x.reshape(2, -1), axis=1),
    "of a transposed array": lambda x: enp.argmin(x.T),
}


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("special", "dtype", "name"), some(itertools.product([None, np.nan, np.inf], ["float32", "float64", "int16"], SOUGHT), 7)
)
def test_the_first_place_of_an_extremum_is_looked_for_in_one_part(name: str, dtype: str, special: float | None) -> None:
    rng = np.random.default_rng(4)
    for count in (0, 1, 2, 40):
        x = rng.integers(-5, 6, (24, 40)).astype(dtype)
        if special is not None and np.dtype(dtype).kind == "f":
            x.reshape(-1)[rng.integers(0, x.size, count)] = special
        result = eqsat.optimize(SOUGHT[name], x)
        np.testing.assert_array_equal(result(x), np.asarray(SOUGHT[name](enp.asarray(x))))
        flat = {"of two rows": x.reshape(2, -1)}.get(name, x)
        if name == "greatest":
            assert result(x) == np.argmax(flat)
        *_, parts, place = result.loops
        assert len([buffer for buffer in parts.buffers if buffer.role == "out"]) == 1
        assert max(stmt.variable.extent for stmt in statements(place.body) if isinstance(stmt, Fold)) < x.size // 2


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(("size", "dtype"), some(itertools.product([967, 64 * 15 + 63, 1021], ["float32", "int64"]), 3))
def test_the_last_part_has_places_of_the_one_before_where_they_do_not_come_out_even(size: int, dtype: str) -> None:
    rng, functions = np.random.default_rng(5), [SOUGHT["greatest"], SOUGHT["greatest of products with places"]]
    for function in functions:
        x = rng.integers(-5, 6, (1, size)).astype(dtype)
        result = eqsat.optimize(function, x)
        for at in (0, 1, size // 2, size - 2, size - 1):
            for other in (at, size - 1):
                x[0, [at, other]] = 9
                assert result(x) == np.asarray(function(enp.asarray(x)))
                x[0, [at, other]] = 0
        *_, place = result.loops
        assert max(stmt.variable.extent for stmt in statements(place.body) if isinstance(stmt, Fold)) < size // 2


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("other", some([-1, 0, 5, 959, 960, 10_000], 2))
def test_what_stands_for_no_place_counts_wherever_it_is(other: int) -> None:
    """A part may hold nothing but the extremum, and another one something else."""
    x = np.zeros(960, "float32")
    x[120:180] = 1
    rows = np.stack([x, np.roll(x, 300)])
    for array, axes in ((x, None), (rows, 1), (x[:953], None)):

        def function(a: Any, axes: Any = axes) -> Any:
            return enp.min(enp.where(a == enp.max(a, axis=axes, keepdims=True), enp.arange(a.shape[-1]), other), axis=axes)

        np.testing.assert_array_equal(eqsat.optimize(function, array)(array), np.asarray(function(enp.asarray(array))))
        expected = np.where(array == array.max(axis=axes, keepdims=True), np.arange(array.shape[-1]), other).min(axis=axes)
        np.testing.assert_array_equal(eqsat.optimize(function, array)(array), expected)


def test_a_fold_of_few_terms_that_take_long_is_divided() -> None:
    r, x = reduction(0, 1 << 13), Input("x", (1 << 13,), "float32")
    term: Scalar = Read(x, (r,))
    for _ in range(300):
        term = Call("sin", (term,), "float32")
    assert in_parts(Build((), Reduce("sum", r, term))) is not None
    assert in_parts(Build((), Reduce("sum", r, Read(x, (r,))))) is None


def test_folds_that_share_what_is_within_them_are_looked_at_once() -> None:
    x, r = Input("x", (4,), "float64"), reduction(0, 4)
    fold = Reduce("sum", r, Read(x, (r,)))
    for depth in range(1, 80):  # a tree of 2 ** 80 folds
        fold = Reduce("sum", reduction(depth, 2), Call("multiply", (fold, Call("add", (fold, fold), "float64")), "float64"))
    assert terms_of(fold) == 4 * 2**79


@pytest.mark.usefixtures("short")
def test_random_programs_with_parts_equal_numpy_at_every_stage() -> None:
    divided = 0

    @settings(max_examples=examples(80, 8), deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(programs())
    def check(program: RandomProgram) -> None:
        nonlocal divided
        check_stages(program)
        divided += sum(nest.priced[0][1] < 0.5 for nest in eqsat.optimize(program, *program.arrays).nests)

    check()
    assert divided > examples(5, 8, 0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_long_sums_are_two_kernels_of_which_threads_share_the_first(dtype: str) -> None:
    x = np.random.default_rng(0).integers(-9, 10, 2 * LEAST_TERMS).astype(dtype)

    def function(a: Any) -> Any:
        return enp.sum(a * 2) + 1

    result = eqsat.optimize(function, x)
    first, second = result.compile().kernels
    assert first.parallel_extent == MOST_PARTS
    assert second.parallel_extent is None
    assert float(result.cost) <= float(result.original_cost)
    assert result(x) == x.sum() * 2 + 1
    assert len(eqsat.optimize(function, x, options=eqsat.Options(numerics="exact")).nests) == 1


def test_sums_in_parts_are_as_close_as_numpys() -> None:
    x = np.random.default_rng(1).random(1 << 22).astype(np.float32)
    right = x.astype(np.float64).sum()
    ours = abs(float(eqsat.jit(enp.sum)(x)) - right)
    assert ours <= max(abs(float(x.sum()) - right), np.spacing(np.float32(right)))
