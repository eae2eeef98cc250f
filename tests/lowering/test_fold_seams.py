"""Folds cut at seams: the same values for whatever is padded, rolled or joined, along folds and along results; the loops are plain."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.index import apply
from eqsat.ir.loops import Fold, statements, values_of
from eqsat.ir.tensor import Build, Call, Input, Literal, Position, Read, Reduce, as_dtype, axis, reduction, scalars
from eqsat.lowering.ranges.fold_seams import folds_cut
from eqsat.testing import assert_close
from tests.effort import some

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(4)
MOVED: dict[str, Callable[[Any, Any], Any]] = {
    "padded": lambda xp, x: xp.pad(x, ((1, 2), (3, 4))),
    "padded before": lambda xp, x: xp.pad(x, ((0, 0), (5, 0))),
    "padded with ones": lambda xp, x: xp.pad(x, ((2, 1), (1, 2)), constant_values=1),
    "rolled": lambda xp, x: xp.roll(x, 7, 1),
    "rolled both ways": lambda xp, x: xp.roll(x, (3, -5), (0, 1)),
    "joined": lambda xp, x: xp.concatenate([x, x * 2, x - 1], 1),
    "joined below": lambda xp, x: xp.concatenate([x, x * 2], 0),
    "edges again": lambda xp, x: xp.pad(x, ((1, 1), (2, 2)), mode="edge"),
    "differences of padded": lambda xp, x: (lambda p: p[:, 1:] - p[:, :-1])(xp.pad(x, ((0, 1), (2, 3)))),
    "beside what is rolled": lambda xp, x: x * xp.roll(x, 4, 1),
}
FOLDED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sum": lambda xp, x, axis: xp.sum(x, axis=axis),
    "max": lambda xp, x, axis: xp.max(x, axis=axis),
    "prod": lambda xp, x, axis: xp.prod(1 + x // 4, axis=axis),
    "mean of squares": lambda xp, x, axis: xp.mean(x * x, axis=axis),
    "centred": lambda xp, x, axis: x - xp.sum(x, axis=axis, keepdims=True),
    "argmax": lambda xp, x, axis: xp.argmax(x, axis=axis),
    "rolled behind": lambda xp, x, axis: xp.roll(xp.sum(x, axis=axis), 5, -1) if axis is not None else xp.sum(x),
}


@pytest.mark.parametrize(("moved", "folded", "axis"), some(itertools.product(MOVED, FOLDED, [0, 1, None]), 8))
def test_folds_of_what_is_moved_are_numpys(moved: str, folded: str, axis: int | None) -> None:
    def function(x: Any, xp: Any = enp) -> Any:
        return FOLDED[folded](xp, MOVED[moved](xp, x), axis)

    for dtype, numerics in (("float32", "default"), ("int64", "exact")):
        x = RNG.integers(-3, 4, (40, 33)).astype(dtype)
        result = eqsat.optimize(function, x, options=eqsat.Options(numerics=numerics))  # type: ignore[arg-type]
        assert_close(result(x), function(x, np))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, -0.0])
@pytest.mark.parametrize("axis", [0, 1])
def test_special_values_stay(axis: int, special: float) -> None:
    x = np.full((30, 20), special, "float32")
    functions: list[Callable[[Any, Any], Any]] = [
        lambda xp, a: xp.sum(xp.pad(a, 2), axis=axis),
        lambda xp, a: xp.max(xp.pad(a, 2), axis=axis),
        lambda xp, a: xp.sum(xp.concatenate([a, -a], axis), axis=axis),
    ]
    for number, function in enumerate(functions):
        found, expected = eqsat.jit(lambda a, function=function: function(enp, a))(x), function(np, x)
        np.testing.assert_array_equal(found, expected)
        if number != 1 and not np.isnan(special):  # the greatest of two zeros is any of them
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("axis", [0, 1])
def test_loops_of_padded_folds_have_no_conditions_on_what_they_fold(axis: int) -> None:
    x = RNG.standard_normal((300, 400)).astype("float32")
    result = eqsat.optimize(lambda a: enp.sum(enp.pad(a, ((1, 2), (3, 4))), axis=axis), x)
    for kernel in result.loops:
        folds = [stmt for stmt in statements(kernel.body) if isinstance(stmt, Fold)]
        conditions = [term for fold in folds for term in scalars(*values_of((fold, *fold.body))) if isinstance(term, Position)]
        assert not any("r0" in str(term) for term in conditions)


R, X = reduction(0, 24), Input("x", (30,), "float32")


def folded(op: str, low: int, high: int, otherwise: float) -> Build:
    """A fold of elements, and of another number before and behind them."""
    inside = Position(apply("and", low <= R, high > R), "bool")
    element = Call("where", (inside, Read(X, (R,)), Literal(otherwise, "float32")), "float32")
    return Build((), Reduce(op, R, element))


@pytest.mark.parametrize(
    ("build", "reorder", "folds"),
    [
        (folded("sum", 3, 20, 0.0), False, [17]),
        (folded("max", 3, 20, 0.0), False, [17]),
        (folded("sum", 0, 20, 0.0), False, [20]),
        # other numbers are added up in order, or apart
        (folded("sum", 3, 20, 1.0), False, [24]),
        (folded("sum", 3, 20, 1.0), True, [3, 17, 4]),
        # a single one is no loop
        (folded("max", 1, 24, 5.0), False, [23]),
        # nothing changes
        (Build((), Reduce("sum", R, Read(X, (R,)))), True, [24]),
        (Build((24,), Reduce("sum", R, as_dtype(Position(axis(0, 24) <= R, "bool"), "float32"))), True, [24]),
    ],
)
def test_folds_are_cut_where_that_keeps_their_order(build: Build, reorder: bool, folds: list[int]) -> None:
    found = folds_cut(build, reorder)
    assert [term.variable.extent for term in scalars(found.body) if isinstance(term, Reduce)] == folds
