"""What rows share and no loop goes through in memory, made as a row of its own: the same values, each read once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.ir.evaluate import evaluate_tensor
from eqsat.ir.index import Const, Index, Var
from eqsat.ir.tensor import Build, Call, Gather, Input, Literal, Read, Reduce, Scalar, axes, reduction, scalars
from eqsat.lowering.sharing.rows_first import LEAST_TIMES, SHORT, rows_first
from tests.effort import examples
from tests.lowering.builds import inputs_of, reference

V = Input("v", (30, 7), "int64")


def shared(rows: int, columns: int, place: Callable[[Index], tuple[Index, Index]]) -> Build:
    """x[i, j] + (v[place(j)] + 1)"""
    i, j = axes((rows, columns))
    x = Read(Input("x", (rows, columns), "int64"), (i, j))
    other = Call("add", (Read(V, place(j)), Literal(1, "int64")), "int64")
    return Build((rows, columns), Call("add", (x, other), "int64"))


def column(j: Index) -> tuple[Index, Index]:
    return j, Const(2)


@settings(max_examples=examples(30), deadline=None)
@given(
    st.integers(1, 9),
    st.sampled_from([2, 5, 30]),
    st.sampled_from([column, lambda j: (j // 2, j % 2), lambda j: (Const(3), j % 7), lambda j: (j % 30, j // 5)]),
)
def test_a_row_of_what_is_shared_holds_the_same(rows: int, columns: int, place: Callable[[Index], tuple[Index, Index]]) -> None:
    build = shared(rows, columns, place)
    found = rows_first(build)
    assert (found is not None) == (rows >= LEAST_TIMES)
    if found is not None:
        ((made,),), whole = found
        assert made.shape == (columns,)
        assert isinstance(made.body, Call)  # with what is computed of it
        np.testing.assert_array_equal(evaluate_tensor(whole, inputs_of(build)), reference(build)[0])


def test_what_goes_along_memory_or_serves_few_is_no_row_of_its_own() -> None:
    assert rows_first(shared(9, 7, lambda j: (Const(4), j))) is None
    assert rows_first(shared(9, 7, lambda j: (Const(4), 6 - j))) is None
    assert rows_first(shared(LEAST_TIMES - 1, 7, column)) is None
    i, j = axes((9, 7))
    down: tuple[Scalar, Scalar] = Read(V, (i, Const(2))), Read(Input("x", (9, 7), "int64"), (i, j))
    assert rows_first(Build((9, 7), Call("add", down, "int64"))) is None  # a number for each row
    assert rows_first(Build((30,), Call("negative", (Read(V, (Var("i0", 0, 29), Const(2))),), "int64"))) is None


def test_what_a_fold_reads_again_for_every_row_is_a_row_of_its_own() -> None:
    (i,), k = axes((9,)), reduction(0, 30)
    build = Build((9,), Reduce("sum", k, Call("multiply", (Read(Input("x", (9, 30), "int64"), (i, k)), Read(V, (k, Const(2)))), "int64")))
    found = rows_first(build)
    assert found is not None
    np.testing.assert_array_equal(evaluate_tensor(found[1], inputs_of(build)), reference(build)[0])
    gathered = Gather(Input("a", (5,), "int64"), (Read(V, (k, Const(2))),))
    build = Build((9,), Reduce("max", k, Call("add", (Read(Input("x", (9, 30), "int64"), (i, k)), gathered), "int64")))
    found = rows_first(build)
    assert found is not None
    assert [made.shape for stage in found[0] for made in stage] == [(30,)]


@pytest.mark.parametrize("width", [2, 3, SHORT])
def test_coordinates_that_a_short_fold_goes_through_are_rows(width: int) -> None:
    points = Input("x", (40, width), "float64")
    (i, j), r = axes((40, 40)), reduction(0, width)
    apart = Call("subtract", (Read(points, (i, r)), Read(points, (j, r))), "float64")
    found = rows_first(build := Build((40, 40), Reduce("sum", r, Call("multiply", (apart, apart), "float64"))))
    assert found is not None
    assert [made.shape for stage in found[0] for made in stage] == [(width, 40)]
    np.testing.assert_array_equal(evaluate_tensor(found[1], inputs_of(build)), reference(build)[0])


def test_what_goes_along_another_loop_than_a_larger_array_is_turned() -> None:
    """out[i] = sum over j, k of x[i, j, k] * y[k, j]"""
    (i,), j, k = axes((12,)), reduction(0, 20), reduction(1, 30)
    x, y = Read(Input("x", (12, 20, 30), "int64"), (i, j, k)), Read(Input("y", (30, 20), "int64"), (k, j))
    found = rows_first(build := Build((12,), Reduce("sum", j, Reduce("sum", k, Call("multiply", (x, y), "int64")))))
    assert found is not None
    assert [made.shape for stage in found[0] for made in stage] == [(20, 30)]
    np.testing.assert_array_equal(evaluate_tensor(found[1], inputs_of(build)), reference(build)[0])


def test_of_folds_in_each_other_the_outer_one_goes_round_the_inner() -> None:
    points, r, s = Input("x", (40, 3), "float64"), reduction(0, 40), reduction(1, 40)
    apart = Call("subtract", (Read(points, (r, Const(1))), Read(points, (s, Const(1)))), "float64")
    found = rows_first(build := Build((), Reduce("sum", r, Reduce("max", s, apart))))
    assert found is not None
    ((made,),) = found[0]
    (kept,) = {term.tensor for term in scalars(found[1].body) if isinstance(term, Read)} - {made}
    assert kept is points  # of the outer loop it is read once for each
    np.testing.assert_array_equal(evaluate_tensor(found[1], inputs_of(build)), reference(build)[0])


X = np.random.default_rng(0).standard_normal((300, 300)).astype("float32")
PLACES = np.random.default_rng(1).integers(0, 300, 300)
PROGRAMS: dict[str, Callable[..., Any]] = {
    "differences of columns": lambda xp, x, p: x[:, 0][:, None] - x[:, 1][None, :],
    "a column for all rows": lambda xp, x, p: x * x[:, 3],
    "a diagonal": lambda xp, x, p: x + xp.diagonal(x),
    "what is gathered": lambda xp, x, p: x + xp.exp(xp.take(x[0], p)),
    "two columns": lambda xp, x, p: x * x[:, 0] - x[0] * x[:, 1],
    "repeated": lambda xp, x, p: x + xp.repeat(x[0, :100], 3),
    "greatest of differences": lambda xp, x, p: xp.max(x[:, 0][:, None] - x[:, 1][None, :], axis=1),
    "points apart": lambda xp, x, p: xp.sum((x[:, None, :3] - x[None, :, :3]) ** 2, axis=2) < 1.0,
    "sums over pairs": lambda xp, x, p: xp.sum(1.0 / (1.0 + xp.sum((x[:, None, :3] - x[None, :, :3]) ** 2, axis=2)), axis=1),
    "all pairs": lambda xp, x, p: xp.sum(1.0 / (1.0 + xp.sum((x[:, None, :2] - x[None, :, :2]) ** 2, axis=2))),
    "turned matrices": lambda xp, x, p: xp.reshape(x, (6, 50, 300)) * x[:, :50].T,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_that_share_columns_equal_numpy(name: str) -> None:
    found = eqsat.optimize(lambda x, p: PROGRAMS[name](enp, x, p), X, PLACES)
    np.testing.assert_allclose(np.asarray(found(X, PLACES)), PROGRAMS[name](np, X, PLACES), rtol=2e-5, atol=2e-5)


def test_a_column_is_read_once_where_that_is_cheaper() -> None:
    found = eqsat.optimize(lambda x: x + x[:, 3], X)
    assert [kernel.outputs[0].size for kernel in found.loops] == [300, 300 * 300]
