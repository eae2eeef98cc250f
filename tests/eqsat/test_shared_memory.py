"""Changed arrays, and those that share memory with them, as an outside tester's programs had them: what NumPy shows, or a refusal."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import DTypeError, TraceError, UnsupportedError
from tests.effort import examples

X = np.arange(24, dtype="float32").reshape(6, 4) - 7


def of(x: Any) -> Any:
    """The namespace of an array."""
    return np if isinstance(x, np.ndarray) else enp


def row_at_a_place(x: Any) -> Any:
    y = x.copy()
    row = y[np.argmax(x[:, 0])]
    row *= 2
    y[:, np.argmax(x[0])][...] = 5
    y[np.argmax(x[:, 1])][0] = 99
    y[np.argmin(x[:, 0])] += 1
    return y, row


def row_that_is_read_later(x: Any) -> Any:
    y = x.copy()
    row = y[np.argmax(x[:, 0])]
    y[...] = 0
    return row


def numbers_and_arrays_without_dimensions(x: Any) -> Any:
    def add(to: Any, value: Any) -> None:
        to += value

    total = np.zeros_like(x[0, 0])
    add(total, x.sum())
    y, z = x.copy(), x[:1, :1].copy()
    view, squeezed = y[0, 0, ...], z.squeeze()
    view += 100
    squeezed += 5
    chosen = np.where(x[0, 0] > 0, x[1, 1], x[2, 2])
    same = chosen
    chosen += 1
    number = x.sum()
    before = number
    number += 1
    return total, y, z, same, number, before


def copies(x: Any) -> Any:
    y = x * 2
    one, other = copy.copy(y), copy.deepcopy({"y": y})["y"]
    y[0] = 100
    return y, one, other


def lists_that_change(x: Any) -> Any:
    y, order = x * 1, [1, 0]
    turned = np.transpose(y, order)
    order.reverse()
    y[0] = 5
    return turned


def where_a_mask_is_true(x: Any) -> Any:
    y, z = np.full_like(x, 7), x * 3
    np.divide(1, x, out=y, where=x > 0)
    np.add(x, 100, out=z, where=x > 0)
    return y, z


def results_put_into_arrays(x: Any) -> Any:
    y, z, q = x.copy(), np.zeros_like(x[0]), x.copy()
    np.clip(x, 0, 5, out=y)
    np.sum(x, axis=0, out=z)
    np.add(x[0], 1, out=q)
    return y, z, q


def functions_that_change(x: Any) -> Any:
    y = x.copy()
    np.fill_diagonal(y, 9)
    np.copyto(y, x, where=x > 5)
    np.putmask(y, y < 0, 0)
    return y


def parts_of_complex_numbers(x: Any) -> Any:
    y = x + 1j
    y.real = 0
    y[1:].imag = x[1:]
    z = x.copy()
    z.flat = 7
    return y, z


def filled(x: Any) -> Any:
    r, total, turn, like = of(x).zeros(4), of(x).zeros(4, "float32"), of(x).eye(2), np.zeros(3, like=x)
    r[0], r[1] = x.sum(), x[0, 0]
    for k in range(3):
        total += x[k]
    turn[0, 1] = x[0, 1]
    like[1] = x[2, 2]
    y = x.copy()
    y[0, :2] = x[1, 0], x[2, 1]
    return r, total, turn, like, y


def views_of_views(x: Any) -> Any:
    y = x * 1
    z = y
    for _ in range(examples(700)):
        z = z[::-1]
    z[0] = 3
    return y


def at_arrays(x: Any) -> Any:
    y = x.copy()
    y[:, [0, 2]] = 0
    y[[0, 1]] = y[[1, 0]]
    y[np.arange(4), np.arange(4)] = 1
    y[np.ix_([0, 2], [1, 3])] = 5
    y[[4, 5, 4]] = np.stack([x[0], x[1], x[2]])
    y[[0, 3]] += 1
    y[np.argsort(x[:, 0])[:2], 1:3] = -x[:2, :2]
    return y


def at_masks_beside_others(x: Any) -> Any:
    y = x.copy()
    y[:, np.array([True, False, True, True])] = 3
    y[..., x[0] > -6] = 3
    y[1:3, x[0] < -5] = 8
    y[2, x[0] > 0] = 9
    y[x[:, 0] > 0, 1:3] = -1
    y[x[:, 0] > 5, ...] = 2
    return y


def of_some_elements(x: Any) -> Any:
    y, m, rows = x.copy(), x > 2, x[:, 0] > 0
    y[m] *= 2
    y[y < 0] = np.abs(y[y < 0]) * 3
    y[rows] += 1
    some = y[m]
    same = some.copy()
    same *= 100
    y[...] = y - 1
    return y, some.sum(), some.mean(), np.sum(some**2), np.std(np.sqrt(some)), some.size, x[rows].sum(axis=0), x[rows].sum(axis=1).sum()


def of_no_element(x: Any) -> Any:
    some = x[x > 1000]
    return some.sum(), some.any(), some.all(), some.prod(), some.size


def in_a_loop(x: Any) -> Any:
    def step(i: Any, carry: Any) -> Any:
        before, beside = np.zeros_like(x), x.copy()
        before[1:], beside[0] = carry[:-1], carry[0]
        row = carry[i]
        row += 1
        return before + beside + carry

    if isinstance(x, np.ndarray):
        carry = x.copy()
        for i in range(3):
            carry = step(i, carry)
        return carry
    return eqsat.fori(3, step, x)


PROGRAMS: list[Callable[..., Any]] = [
    *(row_at_a_place, row_that_is_read_later, numbers_and_arrays_without_dimensions, copies, lists_that_change, where_a_mask_is_true),
    *(results_put_into_arrays, functions_that_change, parts_of_complex_numbers, filled, views_of_views, at_arrays, at_masks_beside_others),
    *(of_some_elements, of_no_element, in_a_loop),
]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_what_numpy_shows(function: Callable[..., Any]) -> None:
    with np.errstate(all="ignore"):
        expected = function(X.copy())
        found = eqsat.jit(function)(X)
    found, expected = (value if isinstance(value, tuple) else (value,) for value in (found, expected))
    for one, other in zip(found, expected, strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=1e-5)


def siblings_of_one_that_is_gone(x: Any) -> Any:
    y = x * 2
    flat, wide = y.reshape(-1), y.reshape(4, 6)
    del y
    flat[0] = 100
    return flat, wide


def a_name_that_is_used_again(x: Any) -> Any:
    y = x * 2
    flat = y.reshape(-1)
    y = y.reshape(4, 6)
    y[0] = 1
    return flat


def the_diagonal_by_letters(x: Any) -> Any:
    y = x[:4].copy()
    diagonal = np.einsum("ii->i", y)
    diagonal += 100
    return y


def a_place_that_may_be_a_number_or_an_array(x: Any, i: Any) -> Any:
    y = x.copy()
    y[i][0] = 99
    return y


def an_element_of_an_array_of_numpy(x: Any) -> Any:
    r = np.zeros(4)
    r[0] = x.sum()
    return r


def elements_of_unknown_number(x: Any) -> Any:
    return x[x > 0]


def the_greatest_of_perhaps_none(x: Any) -> Any:
    return x[x > 0].max()


def elements_of_two_masks(x: Any) -> Any:
    return (x[x > 0] + x[x > 1]).sum()


def the_imaginary_part_of_reals(x: Any) -> Any:
    y = x.copy()
    y.imag = 1
    return y


def another_shape(x: Any) -> Any:
    y = x.copy()
    y.shape = (4, 6)
    return y


REFUSED: list[tuple[Callable[..., Any], type[Exception], str]] = [
    (siblings_of_one_that_is_gone, UnsupportedError, "may share memory"),
    (a_name_that_is_used_again, UnsupportedError, "may share memory"),
    (the_diagonal_by_letters, UnsupportedError, "may share memory"),
    (an_element_of_an_array_of_numpy, TraceError, r"setitem: .* begin with enp\.zeros\(shape\)"),
    (elements_of_unknown_number, UnsupportedError, r"\[mask\]; its result would have as many elements as the mask is true"),
    (the_greatest_of_perhaps_none, UnsupportedError, r"max: found x\[mask\]"),
    (elements_of_two_masks, UnsupportedError, r"add: found x\[mask\]"),
    (the_imaginary_part_of_reals, DTypeError, "expected complex numbers"),
    (another_shape, UnsupportedError, r"write x = x\.reshape\(y\)"),
]


def test_a_known_mask_beside_one_of_the_program_is_refused_by_name() -> None:
    def function(x: Any) -> Any:
        y = x.copy()
        y[np.array([True, False] * 3), x[0] > 0] = 1
        return y

    with pytest.raises(UnsupportedError, match="a mask beside arrays of integers"):
        eqsat.trace(function, X)


@pytest.mark.parametrize(("function", "error", "message"), REFUSED, ids=lambda value: getattr(value, "__name__", ""))
def test_what_cannot_be_shown_is_refused(function: Callable[..., Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        eqsat.trace(function, X)


def test_a_place_of_the_caller_is_a_view_or_not() -> None:
    with pytest.raises(UnsupportedError, match="may share memory"):
        eqsat.trace(a_place_that_may_be_a_number_or_an_array, X, np.array(2))

    def fine(x: Any, i: Any) -> Any:
        y = x.copy()
        y[0] = y[i]
        return y

    np.testing.assert_array_equal(eqsat.jit(fine)(X, np.array(2)), fine(X, np.array(2)))


def test_rearranged_arrays_that_are_used_no_more_stand_in_nobodys_way() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        total = y.reshape(-1).sum() + y.ravel()[3]
        y[0] = 1
        first, second = np.split(y, 2)
        z = first + second
        z[1] = 5
        wide = z.reshape(2, -1)
        wide[0] = 7
        return y, total, wide

    for one, other in zip(eqsat.jit(function)(X), function(X), strict=True):
        np.testing.assert_allclose(one, other)


def test_results_have_memory_of_their_own() -> None:
    def function(x: Any) -> Any:
        y = x * 1
        return y, y.copy(), y, {"again": y}

    one, other, same, again = eqsat.jit(function)(X)
    arrays = [one, other, same, again["again"]]
    for k, array in enumerate(arrays):
        np.testing.assert_array_equal(array, X)
        assert not any(np.shares_memory(array, before) for before in arrays[:k])


def test_arrays_of_open_sizes_may_be_filled() -> None:
    def function(x: Any) -> Any:
        y = enp.zeros(x.shape[0])
        y[1:] = x[1:] - x[:-1]
        return y

    plan = eqsat.optimize(function, eqsat.spec((eqsat.dim("n", 2, 50),), "float64")).compile()
    for n in (2, 7, 50):
        x = np.random.default_rng(n).random(n)
        np.testing.assert_allclose(plan(x), np.concatenate([[0], np.diff(x)]))


def test_creations_take_what_numpy_takes() -> None:
    def function(x: Any) -> Any:
        made = [
            enp.full((2, 3), np.arange(3)),
            enp.zeros(3, device="cpu"),
            enp.zeros((2, 2), "f4", "F"),
            enp.ones(shape=2, dtype=bool),
            enp.eye(2, 3, k=1),
            enp.full(2, fill_value=7, dtype="f4"),
            enp.zeros((0, 2)),
            enp.eye(2, k=-1, dtype="f4"),
        ]
        made[1][0] = x[0]
        return tuple(made)

    expected = (
        *(np.full((2, 3), np.arange(3)), np.array([1.0, 0, 0]), np.zeros((2, 2), "f4"), np.ones(2, bool), np.eye(2, 3, k=1)),
        *(np.full(2, 7, "f4"), np.zeros((0, 2)), np.eye(2, k=-1, dtype="f4")),
    )
    for one, other in zip(eqsat.jit(function)(np.ones(2)), expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="negative dimensions"):
        eqsat.trace(lambda x: enp.zeros(-1) + x, np.ones(2))
