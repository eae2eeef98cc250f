"""Folds along memory in tiles: the same values as the build, whatever the extents leave over, by the interpreter and as machine code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
from eqsat.ir.index import Index
from eqsat.ir.loops import For, Kernel, Store, statements
from eqsat.ir.loops_check import check_kernel
from eqsat.ir.tensor import Build, Call, Input, Literal, Read, Reduce, Scalar, axes, reduction
from eqsat.lowering import hoist
from eqsat.lowering.candidates import Schedules
from eqsat.lowering.folds import dots, few_columns
from eqsat.lowering.folds.dots import MOST_SUMS, tile_shape
from eqsat.lowering.schedule import Schedule
from tests.effort import examples
from tests.lowering.builds import builds, machine, names_of, reference, run


def read(name: str, shape: tuple[int, ...], *indices: Index, dtype: str = "float32") -> Read:
    return Read(Input(name, shape, dtype), indices)


def rows_with_rows(m: int, k: int, n: int) -> Build:
    (i, j), r = axes((m, n)), reduction(0, k)
    return Build((m, n), Reduce("sum", r, Call("multiply", (read("a", (m, k), i, r), read("b", (n, k), j, r)), "float32")))


def rows_with_columns(m: int, k: int, n: int) -> Build:
    (i, j), r = axes((m, n)), reduction(0, k)
    return Build((m, n), Reduce("sum", r, Call("multiply", (read("a", (m, k), i, r), read("b", (k, n), r, j)), "float32")))


def least_distance(m: int, k: int, n: int) -> Build:
    """A fold that is no sum, of a difference, with something done to it."""
    (i, j), r = axes((m, n)), reduction(0, k)
    apart = Call("subtract", (read("a", (m, k), i, r), read("b", (n, k), j, r)), "float32")
    least = Reduce("min", r, Call("absolute", (apart,), "float32"))
    return Build((m, n), Call("add", (least, read("c", (n,), j)), "float32"))


def batched(m: int, k: int, n: int) -> Build:
    (h, i, j), r = axes((3, m, n)), reduction(0, k)
    product = Call("multiply", (read("a", (3, m, k), h, i, r), read("b", (3, n, k), h, j, r)), "float32")
    scaled: Scalar = Call("multiply", (Reduce("sum", r, product), Literal(2.0, "float32")), "float32")
    return Build((3, m, n), scaled)


def rows_in_images(m: int, k: int, n: int) -> Build:
    """Rows of two axes, both longer than the columns."""
    (h, i, j), r = axes((m + 2, m + 1, n)), reduction(0, k)
    product = Call("multiply", (read("a", (m + 2, m + 1, k), h, i, r), read("b", (n, k), j, r)), "float32")
    return Build((m + 2, m + 1, n), Reduce("sum", r, product))


MAKERS: list[Callable[[int, int, int], Build]] = [rows_with_rows, rows_with_columns, least_distance, batched, rows_in_images]


def in_dots(build: Build) -> list[Kernel]:
    schedules = Schedules((build,), "k", names_of(build))
    found = (schedules.kernel(Schedule(schedule.nest, "dots")) for schedule, _ in list(schedules.kernels()))
    return [hoist(kernel) for kernel in dict.fromkeys(found) if kernel is not None]


@pytest.mark.parametrize("make", MAKERS)
@settings(max_examples=examples(8, least=3), deadline=None)
@given(extents=st.tuples(st.integers(1, 9), st.integers(64, 90), st.integers(1, 9)))
def test_dots_are_the_folds(make: Callable[[int, int, int], Build], extents: tuple[int, int, int]) -> None:
    build = make(*extents)
    for kernel in in_dots(build):
        check_kernel(kernel)
        expected = reference(build)[0]
        np.testing.assert_array_equal(run(kernel, build)[0], expected)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("extents", [(9, 64, 3), (25, 100, 8), (3, 1024, 40), (50, 333, 5)])
def test_dots_as_machine_code(make: Callable[[int, int, int], Build], extents: tuple[int, int, int]) -> None:
    build = make(*extents)
    found = in_dots(build)
    assert found or (make, extents) == (rows_with_columns, (3, 1024, 40))
    for kernel in found:
        np.testing.assert_allclose(machine(kernel, build), reference(build)[0], rtol=1e-5)


@pytest.mark.parametrize("runs", [1, 2, 5])
@settings(max_examples=examples(60), deadline=None)
@given(build=builds())
def test_dots_of_random_builds(build: Build, runs: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dots, "FEWEST_STEPS", 0)
        patch.setattr(dots, "VECTOR_BYTES", 8)
        patch.setattr(dots, "LEAST_USES", 1)
        patch.setattr(dots, "LONG_BYTES", 0)
        patch.setattr(few_columns, "LONGEST_RUN", runs)
        for kernel in in_dots(build):
            check_kernel(kernel)
            np.testing.assert_array_equal(run(kernel, build)[0], reference(build)[0])


def test_small_factors_that_jump_are_copied_and_large_ones_are_not() -> None:
    (kernel,) = in_dots(rows_with_columns(1000, 1000, 3))
    copies = [stmt for stmt in statements(kernel.body) if isinstance(stmt, Store) and stmt.buffer == "scratch1"]
    assert len(copies) == 1
    assert not in_dots(rows_with_columns(1000, 1000, 300))
    assert not in_dots(rows_with_columns(3, 1000, 3))


def test_threads_share_what_is_copied_for() -> None:
    for kernel in in_dots(rows_with_columns(4000, 1000, 8)):
        assert isinstance(kernel.body[-1], For)
        assert kernel.body[-1].variable.name.endswith("_block")


@given(st.integers(1, 2000), st.integers(1, 2000))
def test_tiles_fit_the_registers(rows: int, columns: int) -> None:
    high, wide = tile_shape(rows, columns)
    assert 1 <= high <= rows
    assert 1 <= wide <= columns
    assert high * wide <= MOST_SUMS


def test_a_matrix_times_a_few_columns_equals_numpy() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((301, 1024), "float32"), rng.standard_normal((1024, 3), "float32")
    found = eqsat.optimize(lambda a, b: np.maximum(a @ b, 0), a, b)(a, b)
    np.testing.assert_allclose(found, np.maximum(a.astype("float64") @ b.astype("float64"), 0), rtol=1e-4, atol=1e-4)


def test_few_columns_of_rows_of_two_axes_are_dots() -> None:
    """32 x 64 rows of 256 by 5 columns: 172 us in tiles of four lanes and one, 59 along memory."""
    rng = np.random.default_rng(1)
    x, w = rng.integers(-4, 5, (32, 64, 256)).astype("float32"), rng.integers(-4, 5, (256, 5)).astype("float32")
    result = eqsat.optimize(lambda x, w: x @ w, x, w)
    assert "_done_lane" in str(result.loops[0])
    np.testing.assert_array_equal(result(x, w), x @ w)


@pytest.mark.parametrize(("rows", "terms"), [(1, 9000), (8, 5003), (21, 4097), (50, 20001)])
def test_rows_share_a_long_column(rows: int, terms: int) -> None:
    """50 rows of 20,001 numbers: 88 us one by one, 53 eight at a time."""
    i, r = axes((rows,))[0], reduction(0, terms)
    for op, fold in (("multiply", "sum"), ("subtract", "max")):
        body = Call(op, (read("a", (rows, terms), i, r), read("v", (terms,), r)), "float32")
        build = Build((rows,), Call("add", (Reduce(fold, r, body), read("c", (rows,), i)), "float32"))
        found = in_dots(build)
        assert bool(found) == (rows > 1)
        for kernel in found:
            check_kernel(kernel)
            np.testing.assert_allclose(machine(kernel, build), reference(build)[0], rtol=1e-4, atol=1e-2)
    assert not in_dots(Build((rows,), Reduce("sum", reduction(0, 900), read("a", (rows, 900), i, reduction(0, 900)))))


@pytest.mark.parametrize("shape", [(256, 32, 128, 3), (256, 9, 256, 6), (1000, 12, 128, 6), (256, 8, 768, 6), (64, 32, 512, 2)])
def test_batches_of_few_columns_are_compiled_and_equal_numpy(shape: tuple[int, int, int, int]) -> None:
    """Of many shares each has one tile."""
    batch, rows, terms, columns = shape
    rng = np.random.default_rng(0)
    a, b = rng.random((batch, rows, terms)), rng.random((batch, terms, columns))
    np.testing.assert_allclose(eqsat.jit(lambda a, b: a @ b)(a, b), a @ b, rtol=1e-12)
