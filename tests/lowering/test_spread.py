"""What short rows share, spread over several of them: the same values, and one loop where there were rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.ir.evaluate import evaluate_tensor
from eqsat.ir.index import Const
from eqsat.ir.loops import For, statements
from eqsat.ir.tensor import Build, Call, Input, Position, Read, Reduce, Scalar, axes, reduction
from eqsat.lowering.sharing.spread import LEAST_TIMES, LONGEST_ROW, MOST_ELEMENTS, spread
from tests.effort import examples
from tests.lowering.builds import inputs_of, reference

NAMES = ("n", "c", "j")


def scaled(n: int, c: int, j: int, by: str, dtype: str = "float32") -> Build:
    """x[n, c, j] * s, where s varies with these of its axes, or is a place."""
    loops = dict(zip(NAMES, axes((n, c, j)), strict=True))
    extents = dict(zip(NAMES, (n, c, j), strict=True))
    x = Read(Input("x", (n, c, j), dtype), axes((n, c, j)))
    s: Scalar
    if by == "place":
        s = Call("astype", (Position(loops["c"] + loops["j"], "int64"),), dtype)
    else:
        s = Read(Input("s", tuple(extents[v] for v in by), dtype), tuple(loops[v] for v in by))
    return Build((n, c, j), Call("multiply", (x, Call("negative", (s,), dtype)), dtype))


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(LEAST_TIMES, 40), st.integers(2, 9), st.integers(2, 9), st.sampled_from(["c", "j", "cj", "place", "nc", "n"]))
def test_what_is_spread_holds_the_same(n: int, c: int, j: int, by: str) -> None:
    build = scaled(n, c, j, by, "int64")
    found = spread(build)
    row = c * j if by == "place" else j  # a place varies with both
    assert (found is not None) == (by in ("c", "j", "place") and row % 8 > 0 and row <= LONGEST_ROW)
    if found is not None:
        ((made,),), whole = found
        assert made.shape == (c, j)
        assert isinstance(made.body, Call)  # with what is computed of it
        np.testing.assert_array_equal(evaluate_tensor(whole, inputs_of(build)), reference(build)[0])


def test_what_is_not_spread() -> None:
    assert spread(scaled(LEAST_TIMES - 1, 3, 5, "c")) is None
    assert spread(scaled(LEAST_TIMES, 3, LONGEST_ROW + 1, "c")) is None
    assert spread(scaled(LEAST_TIMES, MOST_ELEMENTS // 5 + 1, 5, "c")) is None
    assert spread(scaled(LEAST_TIMES, 3, 16, "c")) is None  # rows of whole vectors
    i, k, j = axes((64, 3, 5))
    r = reduction(0, 4)
    fold = Reduce("sum", r, Read(Input("y", (64, 4), "float32"), (i, r)))
    assert spread(Build((64, 3, 5), Call("multiply", (fold, Read(Input("s", (3,), "float32"), (k,))), "float32"))) is None
    x = Read(Input("x", (64, 3, 5), "float32"), (i, k, j))
    assert spread(Build((64, 3, 5), Call("add", (x, Read(Input("s", (1,), "float32"), (Const(0),))), "float32"))) is None


def test_rows_of_one_loop_count_together() -> None:
    """Of 7 x 7 with a number for each channel rows are 49 long."""
    i, c, y, x = axes((64, 6, 7, 7))
    image, scale = Read(Input("x", (64, 6, 7, 7), "float32"), (i, c, y, x)), Read(Input("s", (6,), "float32"), (c,))
    assert spread(Build((64, 6, 7, 7), Call("multiply", (image, scale), "float32"))) is None


@pytest.mark.parametrize(
    "function",
    [
        lambda x, c, j: x * c[:, None] + j,
        lambda x, c, j: enp.maximum((x - j) / (c[:, None] * 2), 0),
        lambda x, c, j: enp.where(enp.arange(10)[:, None] > enp.arange(6), x, j),
        lambda x, c, j: x * enp.sqrt(abs(c))[:, None] > j,
    ],
)
def test_programs_with_short_rows_are_one_loop_and_equal_numpy(function: Callable[..., Any]) -> None:
    rng = np.random.default_rng(3)
    x, c, j = rng.standard_normal((6_400, 10, 6)), rng.standard_normal(10), rng.standard_normal(6)
    result = eqsat.optimize(function, x, c, j)
    np.testing.assert_allclose(result(x, c, j), np.asarray(function(*map(enp.asarray, (x, c, j)))), rtol=1e-12)
    loops = [stmt for stmt in statements(result.loops[-1].body) if isinstance(stmt, For)]
    assert [loop.variable.extent for loop in loops] == [6_400, 60]
