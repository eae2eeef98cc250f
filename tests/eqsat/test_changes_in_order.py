"""Changes through reshapes of arrays whose elements lie in order, at places that values tell, through `flat`; lists of arrays, and masks
that are made of constants: as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import BoundsError, UnsupportedError

Array = Any
X = np.random.default_rng(0).random((4, 6))
K, FIRST, J = np.array(2), np.array([0, 0, 3, -1]), np.array([1, 1, 2, 0])


def through_a_reshape(xp: Any, x: Array) -> Array:
    y = x.copy()
    y.reshape(-1)[::6] = 0
    return y


def through_two_reshapes(xp: Any, x: Array) -> Array:
    y = x.copy()
    flat = y.reshape(-1).reshape(4, 6)
    flat[0] = 1
    return y, flat


def seen_by_a_reshape(xp: Any, x: Array) -> Array:
    y = x.copy()
    flat = y.ravel()
    y[0] = 1
    flat[-1] += 2
    return y, flat


def rows_of_zeros(xp: Any, x: Array) -> Array:
    y = xp.zeros((3, 4))
    pairs = y.reshape(2, 6)
    pairs[0] = 1
    y[2] = x[0, :4]
    pairs += 1
    return y, pairs


def through_flat(xp: Any, x: Array) -> Array:
    y = x.T.copy()
    y.flat[3] = 0
    y.flat[1:5] = x[0, :4]
    return y, y.flat[2], y.flat[::5]


def at_a_place_of_a_call(xp: Any, x: Array, k: Array) -> Array:
    y = x.copy()
    y[k, 1:] += 7
    y[k] *= 2
    return y


def taken_and_put_back(xp: Any, x: Array, k: Array) -> Array:
    y = x.copy()
    row = y[k]
    row += 1
    row *= 3
    y[k] = row
    return y


def at_pairs_of_places(xp: Any, x: Array, i: Array, j: Array) -> Array:
    y, counts, firsts = x.copy(), xp.zeros((4, 6), np.int64), x.copy()
    np.add.at(y, (i, j), x[0, :4])
    np.add.at(counts, (i, j), 1)
    np.maximum.at(firsts, (i, 2), 0.5)
    return y, counts, firsts


def lists_of_arrays(xp: Any, x: Array) -> Array:
    return (
        xp.max([x, 1 - x], axis=0),
        xp.sum([x[0], x[1]]),
        xp.mean([x[0, 0], x[1, 1], 2.0]),
        xp.argmin([[x[0, 0], x[0, 1]], [x[1, 1], 0.5]]),
    )


def ranges(xp: Any, x: Array, j: Array) -> Array:
    return x[range(4), j], x[range(1, 3)]


def masks_of_constants(xp: Any, x: Array) -> Array:
    square = x[:, :4]
    return square[~xp.eye(4, dtype=bool)], square[xp.triu(xp.ones((4, 4), dtype=bool), 1)], xp.delete(x, xp.array([0, 2]), axis=0)


def without_imaginary_parts(xp: Any, x: Array) -> Array:
    z = x * (1 + 2j)
    z.imag = 0
    return z


PROGRAMS: list[tuple[Callable[..., Any], tuple[Array, ...]]] = [
    (through_a_reshape, (X,)),
    (through_two_reshapes, (X,)),
    (seen_by_a_reshape, (X,)),
    (rows_of_zeros, (X,)),
    (through_flat, (X,)),
    (at_a_place_of_a_call, (X, K)),
    (taken_and_put_back, (X, K)),
    (at_pairs_of_places, (X, FIRST, J)),
    (lists_of_arrays, (X,)),
    (ranges, (X, J)),
    (masks_of_constants, (X,)),
    (without_imaginary_parts, (X,)),
]


@pytest.mark.parametrize(("function", "arrays"), PROGRAMS, ids=lambda value: getattr(value, "__name__", ""))
def test_programs_are_what_they_are_in_numpy(function: Callable[..., Any], arrays: tuple[Array, ...]) -> None:
    found, expected = eqsat.jit(lambda *a: function(enp, *a))(*arrays), function(np, *arrays)
    for one, other in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, expected)), strict=True):
        assert (np.shape(one), one.dtype) == (np.shape(other), other.dtype)
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_pairs_of_places_are_checked() -> None:
    compiled = eqsat.jit(lambda x, i, j: at_pairs_of_places(enp, x, i, j))
    with pytest.raises(BoundsError, match="found index 4 in dimension 0"):
        compiled(X, np.array([0, 1, 2, 4]), J)
    with pytest.raises(BoundsError, match="found index -7"):
        compiled(X, FIRST, np.array([0, 1, 2, -7]))


def out_of_order(x: Array) -> Array:
    y = np.sin(x).T
    y.reshape(-1)[0] = 5
    return y


def of_a_part(x: Array) -> Array:
    y = x.copy()
    y[1:].reshape(-1)[0] = 5
    return y


def after_another_change(x: Array, k: Array) -> Array:
    y = x.copy()
    row = y[k]
    y[0] = 0
    row += 1
    y[k] = row
    return y


def of_columns(x: Array) -> Array:
    y = enp.zeros((2, 3), order="F")
    y.ravel()[0] = 7
    return y


def of_columns_in_small_letters(x: Array) -> Array:
    y = enp.zeros((2, 3), order="f")
    y.ravel()[0] = 7
    return y


def of_columns_by_position(x: Array) -> Array:
    y = enp.ones((2, 3), "float64", "F")
    y.reshape(-1)[0] = 7
    return y


def of_a_copy(x: Array) -> Array:
    y = x.copy()
    z = np.reshape(y, (6, 4), copy=True)
    z += 1
    return y


@pytest.mark.parametrize(
    "function", [of_columns, of_columns_in_small_letters, of_columns_by_position, of_a_copy, out_of_order, of_a_part, after_another_change]
)
def test_what_may_be_a_copy_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="may share memory"):
        eqsat.trace(function, *(X, K)[: function.__code__.co_argcount])
