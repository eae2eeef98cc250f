"""Folds down columns: the same values as the build, in blocks of any size, and no other loops than those that were meant."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings

import eqsat
import eqsat.numpy as enp
from eqsat.ir.index import Const
from eqsat.ir.loops import Fold, For, Store, statements
from eqsat.ir.loops_check import check_kernel
from eqsat.ir.tensor import Build, Input, Read, Reduce, axes, reduction
from eqsat.lowering import hoist
from eqsat.lowering.candidates import Schedules
from eqsat.lowering.folds import few_columns
from eqsat.lowering.folds.few_columns import sections
from eqsat.lowering.products.product import LONGEST_RUN
from eqsat.lowering.ranges import order
from eqsat.lowering.schedule import Schedule
from tests.effort import examples, some
from tests.lowering.builds import builds, names_of, reference, run

RNG = np.random.default_rng(4)

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "variance": (lambda a: a.var(axis=0), (300, 520)),
    "standard deviation of an odd number": (lambda a: a.std(axis=0), (301, 67)),
    "softmax": (lambda a: np.exp(a - a.max(axis=0)) / np.exp(a - a.max(axis=0)).sum(axis=0), (70, 600)),
    "softmax of a middle axis": (lambda a: np.exp(a) / np.exp(a).sum(axis=1, keepdims=True), (3, 40, 300)),
    "logsumexp": (lambda a: np.log(np.exp(a - a.max(axis=0)).sum(axis=0)) + a.max(axis=0), (90, 1024)),
    "normalized over two axes": (lambda a: a - a.mean(axis=(0, 1)), (9, 8, 700)),
    "a long sum": (lambda a: a.sum(axis=0), (40_009, 7)),
    "greatest of numbers": (lambda a: enp.nanmax(a, axis=0), (50, 90)),
    "mean of numbers": (lambda a: enp.nanmean(a, axis=0), (60, 200)),
    "where all are small": (lambda a: np.where(enp.all(a < 4, axis=0), a.max(axis=0), a.sum(axis=0)), (70, 128)),
    "two of two": (lambda a: (a[0] * a[1]).sum(axis=0) - a[0].max(axis=0), (2, 80, 96)),
    "greatest less least": (lambda a: a.max(axis=0) - a.min(axis=0), (50, 80)),
    "a narrow sum": (lambda a: a.sum(axis=0), (12_345, 16)),
    "a narrow variance": (lambda a: a.var(axis=0), (9_001, 10)),
    "narrow middle sums": (lambda a: (a * a + 1).sum(axis=1), (5, 333, 24)),
    "narrow sums of two axes": (lambda a: a.sum(axis=(0, 1)), (7, 111, 12)),
    "a narrow greatest": (lambda a: a.max(axis=0), (2_000, 31)),
    "sums in another order": (lambda a: a.sum(axis=2).T, (3, 70, 50, 90)),
    "narrow sums of a narrow array": (lambda a: a.sum(axis=0), (4_198, 12, 2)),
    "which are all small": (lambda a: (a < 4).all(axis=0), (600, 35, 10)),
}


@pytest.mark.parametrize(
    ("numerics", "dtype", "name"), some(itertools.product(["exact", "default"], ["float32", "float64", "int32"], PROGRAMS), 3)
)
def test_columns_of_programs(name: str, dtype: str, numerics: Any) -> None:
    function, shape = PROGRAMS[name]
    a = RNG.integers(-4, 5, shape).astype(dtype)
    found = eqsat.optimize(function, a, options=eqsat.Options(numerics=numerics))(a)
    np.testing.assert_allclose(found, function(a), rtol=1e-4 if dtype == "float32" else 1e-12, atol=1e-4 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize(("name", "folds"), [("greatest less least", 2), ("greatest of numbers", 2), ("where all are small", 3)])
def test_folds_down_the_same_columns_read_them_once(name: str, folds: int) -> None:
    function, shape = PROGRAMS[name]
    (kernel,) = eqsat.optimize(function, eqsat.spec((shape[0], 1024), "float32")).loops
    assert not any(isinstance(stmt, Fold) for stmt in statements(kernel.body))
    rows = [stmt for stmt in statements(kernel.body) if isinstance(stmt, For) and stmt.kind == "serial"]
    assert {sum(isinstance(stmt, Store) for stmt in statements(row.body)) for row in rows} == {folds}
    assert sum(row.variable.extent > 2 for row in rows) == 1  # and what is left over of rows that are added together


@pytest.mark.parametrize("shape", [(203, 512), (204, 130), (17, 64), (15, 64), (2, 90, 70)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool"])
def test_folds_of_several_results_go_down_columns_together(dtype: str, shape: tuple[int, ...]) -> None:
    def function(a: Any) -> Any:
        return a.sum(axis=-2), (a * a).sum(axis=-2), a.max(axis=-2)

    a = RNG.integers(0, 2, shape).astype(dtype) if dtype == "bool" else RNG.integers(-4, 5, shape).astype(dtype)
    for numerics in ("exact", "default"):
        found = eqsat.optimize(function, a, options=eqsat.Options(numerics=numerics))(a)
        for got, expected in zip(found, function(a), strict=True):
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected)


def test_sums_of_the_same_columns_read_them_once() -> None:
    found = eqsat.optimize(lambda a: (a.sum(axis=0), (a * a).sum(axis=0)), eqsat.spec((1000, 512), "float32")).loops
    readers = [kernel for kernel in found if any(buffer.size == 512_000 for buffer in kernel.buffers)]
    assert len(readers) == 1
    rows = [stmt for stmt in statements(readers[0].body) if isinstance(stmt, For) and stmt.kind == "serial"]
    assert sum(row.variable.extent > 2 for row in rows) == 1


def test_folds_of_what_another_found_come_behind_it() -> None:
    (kernel,) = eqsat.optimize(PROGRAMS["variance"][0], eqsat.spec((300, 520), "float32")).loops
    assert sum(isinstance(stmt, For) and stmt.kind == "serial" for stmt in statements(kernel.body)) == 2


def test_nothing_jumps_down_a_column() -> None:
    """The variance of columns is rows only: no fold is left that steps from row to row within one column."""
    result = eqsat.optimize(PROGRAMS["variance"][0], eqsat.spec((2048, 512), "float32"))
    for kernel in result.loops:
        assert not any(isinstance(stmt, Fold) for stmt in statements(kernel.body))


def rows_of(shape: tuple[int, ...], function: Callable[..., Any]) -> list[int]:
    """The extents of the innermost loops of columns of the only kernel of a fold."""
    (kernel,) = eqsat.optimize(function, eqsat.spec(shape, "float32")).loops
    loops = [stmt for stmt in statements(kernel.body) if isinstance(stmt, For) and stmt.kind in ("parallel", "tile")]
    return [loop.variable.extent for loop in loops if not any(isinstance(stmt, For) for stmt in loop.body)]


def test_results_may_lie_in_another_order() -> None:
    assert set(rows_of((3, 7, 192, 225), lambda a: a.sum(axis=2).transpose(0, 2, 1))) == {225}  # 380 us a column at a time, 55 in rows


@pytest.mark.parametrize("fold", [np.max, np.sum])
def test_chosen_rows_are_folded_row_by_row(fold: Callable[..., Any]) -> None:
    """Each element by itself 215 us and 146, rows 18 and 16."""
    x, rows = RNG.integers(-9, 9, (34, 7, 300)).astype("float32"), RNG.integers(-34, 34, 50)
    result = eqsat.optimize(lambda x, rows: fold(np.take(x, rows, axis=0), axis=0), x, rows)
    np.testing.assert_array_equal(result(x, rows), fold(np.take(x, rows, axis=0), axis=0))
    assert any("scratch0[" in str(kernel) for kernel in result.loops)


@pytest.mark.parametrize(("function", "extents"), [(lambda a: a.sum(axis=0), {24, 96}), (lambda a: (a < 3).all(axis=0), {24})])
def test_narrow_rows_are_read_once(function: Callable[..., Any], extents: set[int]) -> None:
    """In columns of two 450 and 650 us, in rows of 24 82 and 100; of sums four rows are one row of whole vectors."""
    assert set(rows_of((41_980, 12, 2), function)) == extents


def test_columns_whose_maxima_stay_in_registers_are_many() -> None:
    assert min(rows_of((3_000, 35, 10), lambda a: a.max(axis=0))) >= 100  # of ten, under masks, 370 us, 83 of 175


@pytest.mark.parametrize("shape", [(2048, 16), (300_000, 8), (4, 500, 24), (64_001, 50)])
def test_narrow_folds_stay_in_registers(shape: tuple[int, ...]) -> None:
    """No store adds to memory: every step of a fold would wait for the one before."""
    first, *behind = eqsat.optimize(lambda a: a.sum(axis=-2), eqsat.spec(shape, "float32")).loops
    found = list(statements(first.body))
    assert any(isinstance(stmt, For) and stmt.kind == "tile" for stmt in found)
    assert not any(isinstance(stmt, Store) and stmt.combine for kernel in (first, *behind) for stmt in statements(kernel.body))


@pytest.mark.parametrize("rows", [16, 17, 1000, 1024 * 8, 1024 * 8 + 1, 50_011])
@pytest.mark.parametrize("sides", [1, 2, 8, 16])
def test_sections_are_all_rows_once(rows: int, sides: int) -> None:
    found: list[int] = []
    for section in sections(rows, sides):
        one = np.ogrid[: section.runs, : section.together, : section.sides]
        found += np.ravel((one[0] * section.together + one[1]) * section.sides + one[2] + section.first).tolist()
        assert eqsat.simplify(section.row(Const(0), Const(0), Const(0))) == Const(section.first)
        assert section.together <= LONGEST_RUN
    assert found == list(range(rows))


def test_a_narrow_sum_is_as_accurate_as_numpys() -> None:
    a = (RNG.random((400_003, 6)) + 1).astype("float32")
    exact = a.astype("float64").sum(axis=0)
    found = eqsat.optimize(lambda a: a.sum(axis=0), a)(a)
    assert np.max(np.abs(found - exact)) <= np.max(np.abs(a.sum(axis=0) - exact))
    np.testing.assert_allclose(found, exact, rtol=1e-6)


R0 = reduction(0, 2)
# fewer columns than the least block
FOUR_COLUMNS = Build((4,), Reduce("sum", R0, Read(Input("x", (8,), "int64"), (R0 * 4 + axes((4,))[0],))))

# what is the column only as long as it is one
COLUMN_AS_A_REMAINDER = Build((1, 2), Reduce("sum", R0, Read(Input("x", (2, 2), "int64"), (R0, axes((1, 2))[1] % 2))))


@pytest.mark.parametrize("blocks", [(1, 2, 1), (2, 2, 1), (3, 1, 1), (100, 3, 2)])
@settings(max_examples=examples(60), deadline=None)
@example(build=FOUR_COLUMNS)
@example(build=COLUMN_AS_A_REMAINDER)
@given(build=builds())
def test_columns_of_random_builds(build: Build, blocks: tuple[int, int, int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in zip(("ENOUGH", "LEAST_BLOCK", "LEAST_HALF"), blocks, strict=True):
            patch.setattr(order, name, value)
        patch.setattr(few_columns, "FEWEST_ROWS", 2)
        patch.setattr(few_columns, "LONGEST_RUN", 2)
        schedules = Schedules((build,), "k", names_of(build))
        for schedule, _ in list(schedules.kernels()):
            kernel = schedules.kernel(Schedule(schedule.nest, "columns"))
            if kernel is not None:
                check_kernel(hoist(kernel))
                assert any(isinstance(stmt, For) and stmt.kind in ("serial", "tile") for stmt in statements(kernel.body)) or build.size == 0
                np.testing.assert_array_equal(run(hoist(kernel), build)[0], reference(build)[0])


@pytest.mark.parametrize("columns", [521, 1003, 1009, 4099])
def test_columns_that_no_block_divides(columns: int) -> None:
    """The last block goes back to where they end: the same in any pieces, and what is read is not written over."""
    x = np.random.default_rng(columns).uniform(1, 2, (60, columns)).astype("float32")
    functions: list[Callable[[Any], Any]] = [lambda x: x - x.mean(axis=0), lambda x: x.std(axis=0), lambda x: x * x / (x * x).max(axis=0)]
    for function in functions:
        result = eqsat.optimize(function, x)
        assert any("_first = " in str(kernel) for kernel in result.loops)
        np.testing.assert_allclose(result(x), function(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16", "int64", "bool"])
@pytest.mark.parametrize("shape", [(64, 96), (67, 130), (17, 5, 64), (9, 33)])
def test_extrema_and_their_first_places_are_found_in_one_pass(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(7)
    arrays = [rng.integers(0, 4, shape).astype(dtype), np.zeros(shape, dtype), (rng.standard_normal(shape) * 9).astype(dtype)]
    if dtype.startswith("float"):
        arrays.append(np.where(rng.random(shape) < 0.1, np.nan, arrays[2]).astype(dtype))
        arrays += [np.full(shape, value, dtype) for value in (-np.inf, np.inf, np.nan)]

    def places(xp: Any, x: Any) -> Any:
        return xp.argmax(x, axis=0), xp.argmin(x, axis=0), xp.argmax(x * x, axis=0)

    compiled = eqsat.jit(lambda x: places(enp, x))
    for array in arrays if dtype != "bool" else arrays[:1]:
        with np.errstate(all="ignore"):
            expected = places(np, array)
        for one, other in zip(compiled(array), expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_first_places_take_no_second_pass() -> None:
    loops = str(eqsat.optimize(lambda x: np.argmax(x, axis=0), eqsat.spec((2048, 2048), "float32")).loops)
    assert loops.count("serial") == 1


@pytest.mark.parametrize(
    ("shape", "columns"),
    [((1000, 1000), 64), ((1001, 999), 64), ((400, 4000), 160), ((60, 1000), 500), ((9000, 600), 300)],
    ids=["near", "that no block divides", "wide blocks", "all near anyway", "never near"],
)
def test_columns_that_are_gone_through_again_are_near_then(shape: tuple[int, int], columns: int) -> None:
    """Blocks whose rows stay in the second cache, unless rows of them were too short to be worth it."""
    x = RNG.uniform(1, 2, shape)
    result = eqsat.optimize(lambda x: x.std(axis=0), x)
    (kernel,) = result.loops
    assert {buffer.size for buffer in kernel.scratch} == {columns}
    np.testing.assert_allclose(result(x), x.std(axis=0), rtol=1e-12)
