"""Gathers of reshaped arrays: NumPy's elements, from the array itself, in one kernel without divisions."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import BoundsError
from tests.effort import examples

Array = Any
X = np.random.default_rng(0).standard_normal((30, 40, 5)).astype(np.float32)
PLACES = np.random.default_rng(1).integers(0, 6000, (7, 9))
ROWS = PLACES % 30
# programs of traced and of plain arrays
PROGRAMS: dict[str, tuple[Callable[..., Any], Array]] = {
    "take of all elements": (lambda np, x, i: np.take(x, i), PLACES),
    "ravel": (lambda np, x, i: x.ravel()[i] * 2, PLACES),
    "reshaped twice": (lambda np, x, i: x.reshape(150, 40).reshape(-1)[i], PLACES),
    "rows of pairs": (lambda np, x, i: x.reshape(30, 200)[i, 7], ROWS),
    "another view of the same": (lambda np, x, i: x[:][i], ROWS),
    "a cast to its own dtype": (lambda np, x, i: x.astype("float32")[i, 3], ROWS),
    "rows of blocks": (lambda np, x, i: x.reshape(30, 8, 25)[i], ROWS),
    "halves of rows": (lambda np, x, i: x.reshape(60, 100)[i], ROWS),
    "columns of rows": (lambda np, x, i: x.reshape(30, 200)[:, i], ROWS),
    "axes of one": (lambda np, x, i: x.reshape(1, 6000, 1)[0, i, 0], PLACES),
    "one row": (lambda np, x, i: np.take(x[0, :, 0].ravel(), i % 40), PLACES),
    "places that are clipped": (lambda np, x, i: np.take(x, i * 3 - 9, mode="clip"), PLACES),
    "what is computed first": (lambda np, x, i: (x * 2).ravel()[i], PLACES),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_copied_and_nothing_is_divided(name: str) -> None:
    function, places = PROGRAMS[name]
    result = eqsat.optimize(lambda x, i: function(enp, x, i), X, places)
    gathering = [kernel for kernel in result.loops if any(buffer.name == "x" for buffer in kernel.buffers)]
    assert len(gathering) == 1
    assert "//" not in str(gathering[0])
    np.testing.assert_array_equal(result(X, places), function(np, X, places))


def test_a_place_behind_all_elements_is_an_error() -> None:
    compiled = eqsat.jit(lambda x, i: x.ravel()[i])
    for wrong in (6000, -6001):
        with pytest.raises(BoundsError, match=str(wrong)):
            compiled(X, np.array([0, wrong]))


def factors(draw: st.DrawFn, size: int) -> tuple[int, ...]:
    """A shape of so many elements."""
    shape = [1] * draw(st.integers(1, 4))
    for prime in (2, 3, 5):
        while size % prime == 0:
            size //= prime
            shape[draw(st.integers(0, len(shape) - 1))] *= prime
    return tuple(shape)


@st.composite
def reshapes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], bool]:
    first = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 4, 5, 6]), min_size=1, max_size=4)))
    return first, factors(draw, prod(first)), factors(draw, prod(first)), draw(st.booleans())


@settings(max_examples=examples(60), deadline=None, derandomize=True, database=None)
@given(reshapes(), st.integers(0, 1 << 30))
def test_random_reshapes_give_what_numpy_gives(shapes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], bool], seed: int) -> None:
    first, second, third, turned = shapes
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(first)
    places = [rng.integers(-extent, extent, (2, 3)) for extent in third]

    def function(x: Any, *places: Any) -> Any:
        y = x.reshape(second)
        return (y.T if turned else y).reshape(third)[tuple(places)]

    np.testing.assert_array_equal(eqsat.jit(function)(x, *places), function(x, *places))
