"""Folds around the innermost loop, several iterations abreast: the same elements in the same order, remainders included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
from eqsat.ir.loops import For, Kernel, Load, Store, loads, statements, value_of
from eqsat.ir.loops_check import check_kernel
from eqsat.ir.tensor import Build, Call, Input, Position, Read, Reduce, axes, axis, reduction
from eqsat.lowering import hoist
from eqsat.lowering.folds.outward import ABREAST
from eqsat.options import Numerics
from tests.effort import examples
from tests.lowering.builds import offered, reference, run

ROWS, COLUMNS = 4 * ABREAST + 3, 6


def down(op: str, rows: int = ROWS, dtype: str = "int64") -> Build:
    """A fold down the columns of a matrix, of products with a vector."""
    k = reduction(0, rows)
    element = Call(
        "multiply", (Read(Input("v", (rows,), dtype), (k,)), Read(Input("x", (rows, COLUMNS), dtype), (k, axis(0, COLUMNS)))), dtype
    )
    return Build((COLUMNS,), Reduce(op, k, element))


def read_at_once(kernel: Kernel) -> list[int]:
    """How many elements of the matrix every statement that stores reads."""
    values = [value_of(stmt) for stmt in statements(kernel.body) if isinstance(stmt, Store)]
    return [sum(load.buffer == "x" for load in loads(value)) for value in values if value is not None]


@pytest.mark.parametrize("op", ["sum", "prod", "max", "min"])
def test_rows_go_abreast_and_what_is_left_goes_last(op: str) -> None:
    build = down(op)
    (kernel,) = dict.fromkeys(offered(build, "abreast"))
    check_kernel(hoist(kernel))
    assert read_at_once(kernel) == [0, ABREAST, ROWS % ABREAST]
    np.testing.assert_array_equal(run(hoist(kernel), build)[0], reference(build)[0])


def test_few_rows_do_not_go_abreast() -> None:
    assert offered(down("sum", 2 * ABREAST - 1), "abreast") == []
    assert offered(down("sum", 2 * ABREAST), "abreast") != []


@st.composite
def folds_down_columns(draw: st.DrawFn) -> Build:
    """Of at least so many rows as go abreast twice: matrices, or several of them, of which a function is folded, and one of the sums."""
    shape = (*draw(st.lists(st.sampled_from([2, 3]), max_size=1)), draw(st.sampled_from([2, 5, 6])))
    rows = draw(st.integers(2 * 3, 4 * 3 + 2))
    loops, k = axes(shape), reduction(0, rows)
    read = Read(Input("x", (*shape[:-1], rows, shape[-1]), "int64"), (*loops[:-1], k, loops[-1]))
    row, column = Read(Input("v", (rows,), "int64"), (k,)), Read(Input("w", shape[-1:], "int64"), loops[-1:])
    element = draw(st.sampled_from([read, Call("multiply", (read, row), "int64"), Call("add", (read, Position(k, "int64")), "int64")]))
    fold = Reduce(draw(st.sampled_from(["sum", "prod", "max", "min"])), k, element)
    return Build(shape, draw(st.sampled_from([fold, Call("subtract", (fold, column), "int64"), Call("negative", (fold,), "int64")])))


@pytest.mark.parametrize("abreast", [2, 3])
@settings(max_examples=examples(60), deadline=None)
@given(build=folds_down_columns())
def test_random_folds_abreast(build: Build, abreast: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("eqsat.lowering.schedule.ABREAST", abreast)
        found = offered(build, "abreast")
    assert found
    for kernel in found:
        check_kernel(hoist(kernel))
        assert any(isinstance(stmt, For) and stmt.kind == "serial" for stmt in statements(kernel.body))
        np.testing.assert_array_equal(run(hoist(kernel), build)[0], reference(build)[0])


@pytest.mark.parametrize("numerics", ["exact", "default", "fast"])
def test_special_values_pass_as_in_numpy(numerics: Numerics) -> None:
    x = np.random.default_rng(0).standard_normal((1030, 1024)).astype(np.float32)
    x[7, 3], x[1029, 4], x[0, 5], x[:, 6] = np.nan, np.inf, -np.inf, -0.0
    if numerics == "fast":
        x[7, 3] = 1.0
    options = eqsat.Options(numerics=numerics)
    sums = eqsat.optimize(lambda a: a.sum(axis=0), x, options=options)(x)
    np.testing.assert_allclose(sums, x.sum(axis=0), rtol=1e-3, atol=1e-4)
    largest = eqsat.optimize(lambda a: a.max(axis=0), x, options=options)(x)
    np.testing.assert_array_equal(largest, x.max(axis=0))


def test_the_row_is_read_where_it_is_stored() -> None:
    (kernel,) = dict.fromkeys(offered(down("sum"), "abreast"))
    kept = [
        stmt
        for stmt in statements(kernel.body)
        if isinstance(stmt, Store) and any(load.buffer == stmt.buffer for load in loads(stmt.value))
    ]
    assert len(kept) == 2
    assert all(Load(stmt.buffer, stmt.index, stmt.value.dtype) in set(loads(stmt.value)) for stmt in kept)
