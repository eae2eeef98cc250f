"""What is made of folds and folded, computed first: the same values, in tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.ir.evaluate import evaluate_tensor
from eqsat.ir.index import Index, apply
from eqsat.ir.loops import Fold, For, statements
from eqsat.ir.tensor import Build, Call, Gather, Input, Literal, Position, Read, Reduce, Scalar, axes, reduction
from eqsat.lowering.products.terms_first import LEAST_TERMS, places_first, terms_first
from tests.effort import examples
from tests.lowering.builds import inputs_of, reference

ROWS, COLUMNS = 3, 4
X, A = Input("x", (ROWS, 5, LEAST_TERMS), "int64"), Input("a", (LEAST_TERMS, COLUMNS), "int64")


def product(row: Index, step: Index, column: Index, terms: int = LEAST_TERMS) -> Scalar:
    k = reduction(0, terms)
    return Reduce("sum", k, Call("multiply", (Read(X, (row, step, k)), Read(A, (k, column))), "int64"))


def positive(term: Scalar) -> Scalar:
    return Call("maximum", (term, Literal(0, "int64")), "int64")


ROW, COLUMN = axes((ROWS, COLUMNS))
R = reduction(1, 5)


@pytest.mark.parametrize("op", ["sum", "max", "min"])
def test_terms_are_stored_in_either_order(op: str) -> None:
    build = Build((ROWS, COLUMNS), Reduce(op, R, positive(product(ROW, R, COLUMN))))
    ways = list(terms_first(build))
    assert [[[made.shape for made in stage] for stage in stages] for stages, _ in ways] == [[[(ROWS, COLUMNS, 5)]], [[(ROWS, 5, COLUMNS)]]]
    for _, whole in ways:
        np.testing.assert_array_equal(evaluate_tensor(whole, inputs_of(build)), reference(build)[0])


def test_folds_within_folds_are_stored_at_either() -> None:
    build = Build((ROWS,), Reduce("sum", reduction(2, COLUMNS), positive(Reduce("max", R, product(ROW, R, reduction(2, COLUMNS))))))
    ways = list(terms_first(build))
    assert [stages[0][0].shape for stages, _ in ways] == [(ROWS, COLUMNS), (COLUMNS, ROWS), (ROWS, COLUMNS, 5), (COLUMNS, 5, ROWS)]
    for _, whole in ways:
        np.testing.assert_array_equal(evaluate_tensor(whole, inputs_of(build)), reference(build)[0])


SHARED = Call("multiply", (Read(X, (ROW, R, ROW)), product(ROW, ROW, COLUMN)), "int64")


@pytest.mark.parametrize(
    "body",
    [
        product(ROW, ROW, COLUMN),  # no fold around
        Reduce("sum", R, product(ROW, R, COLUMN)),  # one sum of two variables
        Reduce("sum", R, SHARED),  # the same for all terms
        Reduce("sum", R, positive(product(ROW, R, COLUMN, LEAST_TERMS - 1))),  # written out
    ],
)
def test_what_is_no_fold_of_folds_stays_whole(body: Scalar) -> None:
    assert not list(terms_first(Build((ROWS, COLUMNS), body)))


def convolved(x: Any, w: Any) -> Any:
    return np.einsum("nchwij,ocij->nohw", np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3)), w)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "set": (lambda x, a: np.maximum(x @ a, 0).sum(axis=1), ((16, 50, 32), (32, 64))),
    "columns": (lambda x, a: np.maximum(x @ a, 0).sum(axis=0), ((200, 32), (32, 64))),
    "greatest of products": (lambda x, a: np.tanh(x @ a).max(axis=1), ((64, 8, 32), (32, 64))),
    "averaged convolution": (lambda x, w: np.maximum(convolved(x, w), 0).mean((2, 3)), ((2, 16, 20, 20), (32, 16, 3, 3))),
    "pooled product": (lambda x, w: (x @ w).reshape(128, 128, 2).max(axis=2).sum(axis=1), ((128, 512), (512, 256))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_products_that_are_folded_are_in_tiles(name: str) -> None:
    function, shapes = PROGRAMS[name]
    given = [np.random.default_rng(k).uniform(-1, 1, shape).astype("float32") for k, shape in enumerate(shapes)]
    result = eqsat.optimize(function, *given)
    assert " tile:" in str(result.loops[0])
    np.testing.assert_allclose(result(*given), function(*(array.astype("float64") for array in given)), rtol=1e-4, atol=1e-4)


OUTER = ("sum", "max", "mean")
BETWEEN: dict[str, Callable[[Any], Any]] = {
    "square": np.square,
    "positive": lambda z: np.maximum(z, 0),
    "shifted": lambda z: z + 1,
    "absolute": abs,
}


@settings(max_examples=examples(60, 8), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    shape=st.tuples(*(st.integers(1, 9),) * 3),
    terms=st.integers(8, 40),
    outer=st.sampled_from(OUTER),
    between=st.sampled_from(sorted(BETWEEN)),
    axis=st.sampled_from([0, 1, 2, (0, 1), (0, 2), (1, 2), None]),
    seed=st.integers(0, 99),
)
def test_any_fold_of_a_function_of_products_equals_numpy(
    shape: tuple[int, int, int], terms: int, outer: str, between: str, axis: Any, seed: int
) -> None:
    def function(x: Any, a: Any) -> Any:
        return getattr(BETWEEN[between](x @ a), outer)(axis=axis)

    rng, (b, m, n) = np.random.default_rng(seed), shape
    x, a = rng.uniform(-1, 1, (b, m * 3, terms)), rng.uniform(-1, 1, (terms, n * 4))
    np.testing.assert_allclose(eqsat.optimize(function, x, a)(x, a), function(x, a), rtol=1e-9, atol=1e-9)


EXPERTS: dict[str, Callable[..., Any]] = {
    "chosen by the greatest": lambda x, g, w: enp.einsum("td,tdf->tf", x, w[enp.argmax(x @ g, axis=1)]),
    "chosen by the least, rows": lambda x, g, w: enp.einsum("td,tfd->tf", x, w[enp.argmin(x @ g, axis=1)]),
    "chosen twice": lambda x, g, w: enp.einsum("td,td->t", w[enp.argmax(x @ g, axis=1), 2], w[enp.argmin(x @ g, axis=1), 5]),
    "given": lambda x, g, w: enp.einsum("td,tdf->tf", x, w[np.arange(40) % 6]),
}


@pytest.mark.parametrize("name", EXPERTS)
def test_places_that_are_folds_are_found_before_what_they_choose_is_folded(name: str) -> None:
    rng = np.random.default_rng(5)
    x, g, w = (rng.integers(-4, 5, shape).astype("float32") for shape in ((40, 64), (64, 6), (6, 64, 64)))
    result = eqsat.optimize(EXPERTS[name], x, g, w)
    np.testing.assert_allclose(result(x, g, w), np.asarray(EXPERTS[name](x, g, w)), rtol=1e-5)
    for kernel in result.loops:
        for loop in (stmt for stmt in statements(kernel.body) if isinstance(stmt, For) and stmt.variable.extent == 64):
            # no fold, longer than what LLVM writes out, jumps from row to row of the matrices within a loop over their columns
            assert name.endswith("rows") or not any(isinstance(stmt, Fold) for stmt in loop.body)


def test_places_that_folds_move_stay_where_they_are() -> None:
    k, column = reduction(0, 5), reduction(1, 3)
    place = Reduce(
        "min", column, Call("where", (Position(apply("lt", k, column), "bool"), Position(column, "int64"), Literal(0, "int64")), "int64")
    )
    assert places_first(Build((2,), Reduce("sum", k, Gather(A, (place, Position(axes((2,))[0], "int64")))))) is None
    still = Reduce("min", column, Position(column, "int64"))
    found = places_first(Build((2,), Reduce("sum", k, Gather(A, (still, Position(k, "int64"))))))
    assert found is not None
    assert [[made.shape for made in stage] for stage in found[0]] == [[()]]
