"""Folds down a few columns: rows that lie one behind the other are one row of whole vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.index import Const, Var
from eqsat.ir.loops import Load
from eqsat.ir.tensor import Call, Scalar
from eqsat.lowering.folds.few_columns import NarrowFold
from tests.effort import some

ROW, COLUMN = Var("r", 0, 9_999), Var("c", 0, 2)
PLAIN = Load("x", ROW * 3 + COLUMN, "float32")


def narrow(value: Scalar) -> NarrowFold:
    return NarrowFold("t", "sum", value.dtype, (ROW,), value, 3, COLUMN, lambda size, dtype: f"m{size}{dtype}")


def product(one: Scalar, other: Scalar) -> Scalar:
    return Call("multiply", (one, other), "float32")


@pytest.mark.parametrize(
    ("value", "one_row"),
    [
        (PLAIN, True),
        (product(PLAIN, Load("w", COLUMN, "float32")), True),
        (product(PLAIN, Load("s", Const(0), "float32")), True),
        (product(PLAIN, Load("w", ROW, "float32")), False),  # another number for each row
        (Load("x", ROW * 4 + COLUMN, "float32"), False),
        (Load("x", ROW * 3 - COLUMN + 2, "float32"), False),
    ],
)
def test_which_rows_are_one(value: Scalar, one_row: bool) -> None:
    fold = narrow(value)
    assert fold.in_one_row == one_row
    # 32 rows of three floats are six vectors of sixteen
    assert fold.sections[0].sides == (32 if one_row else 8)


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "sums": lambda xp, x: xp.sum(x, axis=0),
    "greatest": lambda xp, x: xp.max(x, axis=0),
    "squares": lambda xp, x: xp.sum(x * x, axis=0),
    "deviations": lambda xp, x: xp.std(x, axis=0),
    "both": lambda xp, x: xp.max(x, axis=0) - xp.min(x, axis=0),
    "by columns": lambda xp, x: xp.sum(x * x[0], axis=0),
    "by several rows": lambda xp, x: xp.sum(abs(x * x[0] + x[1]) - x[2], axis=0),
    "by rows": lambda xp, x: xp.sum(x * x[:, :1], axis=0),
    "backwards": lambda xp, x: xp.sum(x[:, ::-1] * x, axis=0),
    "normalized": lambda xp, x: (x - xp.mean(x, axis=0)) / (1 + xp.std(x, axis=0)),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("columns", some([2, 3, 4, 5, 7, 10, 12, 17], 4))
def test_folds_of_any_number_of_columns_equal_numpy(name: str, columns: int) -> None:
    rng = np.random.default_rng(columns)
    for rows in (300, 2049, 40_003):
        x = rng.integers(-9, 10, (rows, columns)).astype(np.float64)
        np.testing.assert_allclose(eqsat.jit(lambda x: PROGRAMS[name](enp, x))(x), PROGRAMS[name](np, x), rtol=1e-12, atol=1e-12)
    k = rng.integers(-9, 10, (5000, columns), dtype=np.int32)
    if name not in ("deviations", "normalized"):
        np.testing.assert_array_equal(eqsat.jit(lambda x: PROGRAMS[name](enp, x))(k), PROGRAMS[name](np, k))


@pytest.mark.parametrize("axes", [(0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_pixels_folded_along_all_other_axes_equal_numpy(axes: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).integers(0, 9, (31, 67, 53, 3)).astype(np.float32)
    np.testing.assert_array_equal(eqsat.jit(lambda x: enp.sum(x, axis=axes))(x), x.sum(axes))
    np.testing.assert_allclose(eqsat.jit(lambda x: enp.var(x, axis=axes))(x), x.astype(np.float64).var(axes), rtol=1e-4)
