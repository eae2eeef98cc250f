"""Pieces that are computed alike are one tensor with an axis for their number, and the elements stay what they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.monomials import term_of
from eqsat.ir.tensor import Input, axis
from eqsat.operations.alike import MANY, _digits, alike
from eqsat.operations.indexing import getitem
from eqsat.operations.joining import stack
from eqsat.operations.movement import reshape
from tests.effort import examples

RNG = np.random.default_rng(11)
X, Y, W = (RNG.standard_normal(shape).astype("float32") for shape in ((2000,), (12, 30, 40), (96,)))
Function = Callable[..., Any]


def shifts(x: Any, n: int) -> list[Any]:
    return [x[..., i : x.shape[-2] - n + 1 + i, j : x.shape[-1] - n + 1 + j] for i in range(n) for j in range(n)]


ALIKE: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "frames": (lambda np, x: np.stack([x[16 * k : 16 * k + 96] for k in range(100)]), (X,)),
    "backwards": (lambda np, x: np.stack([x[1900 - 16 * k : 1996 - 16 * k] for k in range(20)], axis=1), (X,)),
    "frames in a window": (lambda np, x, w: np.stack([x[16 * k : 16 * k + 96] * w for k in range(30)]), (X, W)),
    "energies": (lambda np, x: np.stack([(x[32 * k : 32 * k + 32] ** 2).sum() for k in range(40)]), (X,)),
    "functions of rows": (lambda np, y: np.stack([np.exp(y[k] - y[k].max(axis=1, keepdims=True)) for k in range(12)]), (Y,)),
    "images shifted": (lambda np, y: np.stack(shifts(y, 3), axis=1), (Y,)),
    "windows of 5 by 5": (lambda np, y: np.stack(shifts(y, 5), axis=-1).max(axis=-1), (Y,)),
    "tiles": (
        lambda np, y: np.concatenate([y[:, 10 * i : 10 * i + 10, 8 * j : 8 * j + 8] for i in range(3) for j in range(5)], axis=2),
        (Y,),
    ),
    "digits of three numbers": (
        lambda np, y: np.stack([y[2 * a, b, 3 * c :][:4] for a in range(3) for b in range(4) for c in range(5)]),
        (Y,),
    ),
    "every third": (lambda np, x: np.stack([x[k : 1800 + k : 3] for k in range(6)], axis=-1), (X,)),
    "columns turned": (lambda np, y: np.stack([y[:, :, k].T + k // 40 for k in range(40)], axis=1), (Y,)),
    "products": (lambda np, y: np.stack([y[k] @ y[k].T for k in range(6)]), (Y,)),
    "rolled": (lambda np, y: np.stack([np.roll(y[k], 3, axis=1) for k in range(8)]), (Y,)),
}


@pytest.mark.parametrize("numerics", ["exact", "default"])
@pytest.mark.parametrize("name", ALIKE)
def test_pieces_that_are_alike_are_what_numpy_puts_together(name: str, numerics: Any) -> None:
    function, arrays = ALIKE[name]
    found = eqsat.jit(lambda *a: function(enp, *a), options=eqsat.Options(numerics=numerics, cache=False))(*arrays)
    np.testing.assert_allclose(found, function(np, *arrays), rtol=1e-5, atol=1e-5)


def test_a_hundred_pieces_are_one_loop() -> None:
    function, (x,) = ALIKE["frames"]
    (kernel,) = eqsat.optimize(lambda a: function(enp, a), x).loops
    assert len(kernel.body) == 1
    assert "where" not in str(kernel)


V = Input("v", (500,), "float32")
PIECES = [getitem(V, slice(7 * k, 7 * k + 10)) for k in range(20)]


def test_what_is_not_alike_stays_apart() -> None:
    assert alike(PIECES) is not None
    assert alike(PIECES[:4]) is None  # of few pieces each has a loop
    assert alike([*PIECES[:-1], getitem(V, slice(300, 310))]) is None  # the last one is elsewhere
    assert alike([*PIECES[:-1], getitem(V, slice(133, 142))]) is None  # or shorter
    assert alike([*PIECES[:-1], getitem(Input("w", (500,), "float32"), slice(133, 143))]) is None
    assert alike([V] * 20) is None
    assert alike([stack([piece, PIECES[0]]) for piece in PIECES]) is not None
    rows = reshape(Input("m", (20, 25), "float32"), (25, 20))
    of_reshaped = [getitem(rows, (slice(k, k + 2), slice(None))) for k in range(19)]
    assert alike(of_reshaped) is not None
    assert alike(of_reshaped[: MANY - 1]) is None


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(-5, 5)), min_size=1, max_size=4), st.integers(-9, 9), st.booleans())
def test_digits_are_those_of_the_numbers(digits: list[tuple[int, int]], first: int, one_is_off: bool) -> None:
    """Integers that are sums of multiples of digits are found, with the bounds that they have; of others nothing is."""
    values = [first]
    for count, step in digits:
        values = [value + k * step for value in values for k in range(count)]
    if one_is_off and len(values) > 3:
        values[-1] += 1
    number = axis(0, len(values))
    found = _digits(values, number)
    assert found is not None or one_is_off
    if found is not None:
        whole = term_of(values[0], found)
        assert [int(evaluate_index(whole, {number: k})) for k in range(len(values))] == values
        assert whole.bounds == (min(values), max(values))
