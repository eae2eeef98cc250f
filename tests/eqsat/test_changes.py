"""Functions that change arrays in place: what NumPy computes, views included; what cannot be so is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import eqsat
import eqsat.numpy as enp
from eqsat.ir.containers import rebuild_result
from eqsat.ir.errors import BoundsError, DTypeError, EqsatError, ShapeError, UnsupportedError, UsageError
from eqsat.ir.evaluate import evaluate
from tests.effort import examples

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]
X = np.arange(24, dtype="float32").reshape(6, 4) - 7
V = np.arange(4, dtype="float32")


def stencil(x: Any, v: Any) -> Any:
    y = np.zeros_like(x)
    y[1:-1] = x[2:] - x[:-2]
    return y


def borders(x: Any, v: Any) -> Any:
    y = np.empty_like(x)
    y[1:-1, 1:-1] = x[1:-1, 1:-1] * 2
    y[0], y[-1] = v, -v
    y[:, 0] = y[:, 1]
    y[:, -1] = y[:, -2]
    return y


def relaxed(x: Any, v: Any) -> Any:
    u = x.copy()
    for _ in range(3):
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    return u


def operators(x: Any, v: Any) -> Any:
    y = x * 2
    y += 1
    y -= v
    y *= v + 1
    y /= 3
    z = y.astype("int64")
    z //= 2
    z %= 5
    z **= 2
    z &= 13
    z |= 2
    z ^= 7
    z <<= 1
    z >>= 2
    return y, z


def numbers(x: Any, v: Any) -> Any:
    total = x.sum()
    before = total
    total += 1
    return total, before


def parts(x: Any, v: Any) -> Any:
    y = x.copy()
    y[0] += v
    y[:, 1] = 5
    y[-1, -1] = -3
    y[1:3, ::2] *= 3
    y[::-2, 1:] -= 1
    y[..., 2] = v[:2].sum()
    y[:, None, 3] = 4
    return y


def masks(x: Any, v: Any) -> Any:
    y = x.copy()
    y[y < 0] = 0
    y[x[:, 0] > 0] = v
    y[np.array([[True, False, False, False]] * 6)] = 9
    return y


def known_masks(x: Any, v: Any) -> Any:
    """With a value for each of their places."""
    y = x.copy()
    y[np.array([True, False] * 3)] *= 2
    y[np.tril(np.ones(x.shape, bool))] += 1
    y[np.eye(6, 4, dtype=bool)] = [1, 2, 3, 4]
    y[:, np.arange(4) > 1] = x[:, np.arange(4) > 1] + 7
    y[np.arange(6) > 9] = x[np.arange(6) > 9]
    return y


def a_view_that_is_written_to(x: Any, v: Any) -> Any:
    y = x.copy()
    row = y[2]
    row += v
    row[0] = 100
    part = y[3:, 1:]
    inner = part[1:, ::2]
    inner[:] = -1
    return y, row, part, inner


def a_view_that_sees_what_is_written(x: Any, v: Any) -> Any:
    y = x.copy()
    row, turned, number = y[1], y.T, y[1, 1]
    y[1] = 0
    y += 1
    return row, turned, number, y


def turned(x: Any, v: Any) -> Any:
    y = x.copy()
    y.T[1] = 7
    np.swapaxes(y, 0, 1)[0, 1:] += 2
    np.moveaxis(y[None], 0, 1)[0, 0, 1] = 50
    y[:, ::-1][0] = 9
    np.flip(y, 1)[1] = v
    np.expand_dims(y, 1)[2, 0] = v + 1
    y[3:4].squeeze(0)[2] = 77
    np.transpose(y[None], (2, 0, 1))[3, 0, 5] = 8
    return y


def names_of_one_array(x: Any, v: Any) -> Any:
    y = x.copy()
    z = y
    z += 1
    z[0] = 0
    return y


def swapped(x: Any, v: Any) -> Any:
    y, z = x.copy(), x.copy()
    y[0], y[1] = y[1], y[0]
    z[0], z[1] = z[1].copy(), z[0].copy()
    return y, z


def rows_in_turn(x: Any, v: Any) -> Any:
    y = x.copy()
    for row in y:
        row *= 2
    return y


def methods(x: Any, v: Any) -> Any:
    y, z, filled = x.copy(), -x, x.copy()
    y.sort(axis=0)
    np.add(z, v, out=z)
    filled[1:].fill(2.5)
    return y, z, filled


def casts(x: Any, v: Any) -> Any:
    y = x.astype("int32")
    y[0] = 2.7
    y[1] = x[1] + 0.5
    y += np.int8(3)
    truth = x > 0
    truth[2] = v
    return y, truth


def a_copy_by_another_name(x: Any, v: Any) -> Any:
    y = (x * 2).reshape(4, 6)
    y[0] = 1
    z = x.flatten()
    z[1:4] = 3
    w = x.copy().ravel()
    w[-1] = 0
    return y, z, w


def nothing(x: Any, v: Any) -> Any:
    y = x.copy()
    y[3:3] = 5
    y[:0] = v
    return y


def numbers_of_any_size(x: Any, v: Any) -> Any:
    y, z, w = x.astype("uint8"), v.astype("float32"), x.astype("uint64")
    np.copyto(y, 200)
    np.copyto(z, 2)
    np.copyto(w, 3, where=x > 5)
    return y, z, w


CHANGES: list[Function] = [
    *(
        stencil,
        borders,
        relaxed,
        operators,
        numbers,
        parts,
        masks,
        known_masks,
        a_view_that_is_written_to,
        a_view_that_sees_what_is_written,
        turned,
    ),
    *(names_of_one_array, swapped, rows_in_turn, methods, casts, a_copy_by_another_name, nothing, numbers_of_any_size),
]


def leaves(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("function", CHANGES, ids=lambda function: function.__name__)
def test_changes_are_those_of_numpy(function: Function) -> None:
    x, v = X.copy(), V.copy()
    found, expected = leaves(eqsat.jit(function)(x, v)), leaves(function(X.copy(), V.copy()))
    np.testing.assert_array_equal(x, X)
    for one, other in zip(found, expected, strict=True):
        assert (np.shape(one), one.dtype) == (np.shape(other), other.dtype)
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_changes_at_sizes_that_are_known_at_run_time() -> None:
    def function(x: Any) -> Any:
        y = np.zeros_like(x)
        y[1:-1] = x[2:] - x[:-2]
        y[0], y[-1] = x[1] - x[0], x[-1] - x[-2]
        y[::-1][2] += 1
        return y

    plan = eqsat.optimize(function, eqsat.spec((eqsat.dim("n", 3, 90), 2), "float64")).compile()
    for n in (3, 4, 5, 17, 90):
        x = np.random.default_rng(n).uniform(-1, 1, (n, 2))
        np.testing.assert_allclose(plan(x), function(x), rtol=1e-12)


bounds = st.none() | st.integers(-8, 8)
slices = st.builds(slice, bounds, bounds, st.none() | st.integers(-3, 3).filter(bool))
entries = st.one_of(slices, st.integers(-4, 3), st.just(Ellipsis), st.just(None))
keys = st.lists(entries, max_size=4).map(tuple).filter(lambda key: key.count(...) < 2 and sum(part not in (None, ...) for part in key) < 3)
programs = st.lists(st.tuples(st.sampled_from(["put", "add", "view", "turn", "double"]), keys, st.integers(0, 3)), min_size=1, max_size=6)


@given(programs)
@settings(max_examples=examples(150), deadline=None)
def test_random_changes_are_those_of_numpy(steps: list[tuple[str, tuple[Any, ...], int]]) -> None:
    """Arrays and views of them, changed in any order."""

    def function(x: Any) -> Any:
        arrays = [x.copy()]
        for what, key, which in steps:
            array = arrays[which % len(arrays)]
            try:
                part = array[key]
            except (IndexError, EqsatError):
                continue
            if what == "put":
                array[key] = part * 2 + 1
            elif what == "add":
                array[key] += 3
            elif what == "view" and part.shape:
                arrays.append(part)
            elif what == "turn":
                arrays.append(array.T)
            elif what == "double" and array.shape:
                array *= 2
        return tuple(array * 1 for array in arrays)

    x = np.arange(16, dtype="int64").reshape(4, 4)
    program = eqsat.trace(function, x)
    for found, expected in zip(rebuild_result(program.structure, evaluate(program, [x])), function(x), strict=True):
        np.testing.assert_array_equal(found, expected)


def of_an_argument(x: Any) -> Any:
    x += 1
    return x


def of_a_part_of_an_argument(x: Any) -> Any:
    x.T[1:][0] = 1
    return x


def of_an_argument_rearranged(x: Any) -> Any:
    y = x.reshape(-1)
    y[0] = 1
    return y


def of_a_rearranged_one(x: Any) -> Any:
    y = x.copy()
    parts = np.split(y[1:], 5)
    parts[0] += 1
    return y


def by_keyword(x: Any) -> Any:
    y = x.copy()
    z = np.transpose(a=y)
    z[0] = 1
    return y


def with_a_shape_that_grows(x: Any) -> Any:
    y = x[0] * 1
    y += x
    return y


def with_a_dtype_that_grows(x: Any) -> Any:
    y = x.astype("int64")
    y += 0.5
    return y


def at_a_place_outside(x: Any) -> Any:
    y = x.copy()
    y[6] = 0
    return y


def with_values_that_do_not_fit(x: Any) -> Any:
    y = x.copy()
    y[1:3] = x[:3]
    return y


def with_a_value_for_each_place(x: Any) -> Any:
    y = x.copy()
    y[y > 0] = np.ones(16)
    return y


def with_a_mask_of_another_shape(x: Any) -> Any:
    y = x.copy()
    y[x[:5] > 0] = 1
    return y


def into_an_array_of_now(x: Any) -> Any:
    total = np.zeros(4, "float32")
    total += x.sum(axis=0)
    return total


def in_a_loop(x: Any) -> Any:
    y = x.copy()

    def body(i: Any, carry: Any) -> Any:
        y[0] += 1
        return carry + y

    return eqsat.fori(3, body, x)


def with_a_number_that_does_not_fit(x: Any) -> Any:
    y = x.astype("uint8")
    np.copyto(y, -1)
    return y


def with_a_float_in_integers(x: Any) -> Any:
    y = x.astype("uint8")
    np.copyto(y, 1.5)
    return y


REFUSED: list[tuple[Function, type[Exception], str]] = [
    (of_an_argument, UnsupportedError, r"x \+= y: found an argument, .* begin with x = x\.copy\(\), or write x = x \+ y"),
    (of_a_part_of_an_argument, UnsupportedError, "found an argument, or a part of one"),
    (of_an_argument_rearranged, UnsupportedError, "may share memory with one made by reshape"),
    (of_a_rearranged_one, UnsupportedError, "may share memory"),
    (by_keyword, UnsupportedError, "may share memory"),
    (with_a_shape_that_grows, ShapeError, r"x \+= y: found the shape \(6, 4\), expected \(4,\), which stays"),
    (with_a_dtype_that_grows, DTypeError, "found float64, which is not cast to int64"),
    (with_a_number_that_does_not_fit, UsageError, "found the Python integer -1, which does not fit uint8"),
    (with_a_float_in_integers, DTypeError, "copyto: found float, which is not cast to uint8"),
    (at_a_place_outside, BoundsError, "found index 6 in dimension 0"),
    (with_values_that_do_not_fit, ShapeError, r"do not broadcast|expected one that broadcasts to \(2, 4\)"),
    (with_a_value_for_each_place, UnsupportedError, "found a value for each place of a mask"),
    (with_a_mask_of_another_shape, ShapeError, r"found a mask of the shape \(5, 4\)"),
    (into_an_array_of_now, UnsupportedError, r"add: found out= of ndarray, .* begin with enp\.zeros_like\(x\)"),
    (in_a_loop, UnsupportedError, "from outside of the loop; let the loop carry it"),
]


@pytest.mark.parametrize(("function", "error", "message"), REFUSED, ids=lambda value: getattr(value, "__name__", ""))
def test_what_cannot_be_as_in_numpy_is_refused(function: Function, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        eqsat.trace(function, X)


def test_lazy_tensors_are_not_changed() -> None:
    lazy = enp.asarray(X.copy()) * 2
    with pytest.raises(UnsupportedError, match="lazy tensors cannot be changed in place"):
        lazy += 1
    with pytest.raises(UnsupportedError, match="lazy tensors cannot be changed in place"):
        lazy[0] = 1
    np.testing.assert_array_equal(np.asarray(lazy), X * 2)
    assert copy.copy(lazy).shape == (6, 4)
