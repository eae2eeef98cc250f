"""Functions of eqsat.numpy that change an array of the trace, as NumPy's do theirs: with `out=`, by place, through `put`; and those that
take what is known when a program is recorded."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import EqsatError, UnsupportedError
from tests.effort import some

RNG = np.random.default_rng(4)
X, Y = RNG.standard_normal((6, 8)).astype("float32"), np.where(RNG.random((6, 8)) > 0.5, 0, 2).astype("float32")
Changed = Callable[[Any, Any, Any, Any], Any]


def _at(ufunc: Any, *arguments: Any) -> Any:
    return ufunc.at(*arguments)


# of (np or eqsat.numpy, x, y, an array of ones of their shape)
CHANGED: dict[str, Changed] = {
    "quotients where they are": lambda m, x, y, o: m.divide(x, y, out=m.zeros_like(x), where=y != 0),
    "by place": lambda m, x, y, o: (m.add(x, y, o), o * 2)[1],
    "by place, of one operand": lambda m, x, y, o: (m.exp(x, o), o * 2)[1],
    "into itself": lambda m, x, y, o: (m.multiply(o, x, out=o), m.subtract(o, 1, out=o), o)[2],
    "into a part": lambda m, x, y, o: (m.add(x[1:], y[:-1], out=o[1:]), o)[1],
    "into a column": lambda m, x, y, o: (m.sum(x, axis=1, out=o[:, 2]), o)[1],
    "a sum by its method": lambda m, x, y, o: (x.sum(axis=0, out=o[0]), o)[1],
    "a mean by its method": lambda m, x, y, o: (x.mean(1, out=o[:, 0]), o)[1],
    "a product": lambda m, x, y, o: (m.matmul(x[:, :6], y[:6], out=o), o + 1)[1],
    "dot": lambda m, x, y, o: (m.dot(x[:, :6], y[:6], out=o), o + 1)[1],
    "clip": lambda m, x, y, o: (m.clip(x, 0, 1, out=o), o)[1],
    "running sums": lambda m, x, y, o: (m.cumsum(x, axis=1, out=o), o)[1],
    "rows": lambda m, x, y, o: (m.take(x, [1, 2], axis=0, out=o[:2]), o)[1],
    "concatenate": lambda m, x, y, o: (m.concatenate([x[:3], y[:3]], out=o), o)[1],
    "two results": lambda m, x, y, o: (m.divmod(x, 0.3, out=(o, o * 1)), o)[1],
    "broadcast": lambda m, x, y, o: (m.add(x[0], 1, out=o), o)[1],
    "put": lambda m, x, y, o: (m.put(o, [3, -1, 40], [7, 8, 9]), o)[1],
    "put fewer": lambda m, x, y, o: (o.put([3, 4, 5, 6], [7, 8]), o)[1],
    "put one, wrapped": lambda m, x, y, o: (m.put(o, [100, 3], 5, mode="wrap"), o)[1],
    "put clipped": lambda m, x, y, o: (m.put(o, [100, -3], x[0, :2], mode="clip"), o)[1],
    "put none": lambda m, x, y, o: (o.put(np.zeros(0, int), 3), o)[1],
    "put at computed places": lambda m, x, y, o: (m.put(o, m.argsort(x[0]), x[1]), o)[1],
    "put at truth values": lambda m, x, y, o: (m.put(o, x[0] > 0, 9), o)[1],
    "put nothing": lambda m, x, y, o: (m.put(o, [0], []), o)[1],
    "numbers": lambda m, x, y, o: (m.add(1, 2, out=o), o)[1],
    "place flat": lambda m, x, y, o: (m.place(o, (x > 0).reshape(-1), 3), o)[1],
    "place": lambda m, x, y, o: (m.place(o, x > 0, 3), m.place(o, y == 0, [4.0]), o)[2],
    "putmask": lambda m, x, y, o: (m.putmask(o, x > 0, y), o)[1],
    "copyto": lambda m, x, y, o: (m.copyto(o, x, where=y > 0), m.copyto(o[0], 3), o)[2],
    "a diagonal": lambda m, x, y, o: (m.fill_diagonal(o, 9), o)[1],
    "along an axis": lambda m, x, y, o: (m.put_along_axis(o, m.argmax(x, axis=1)[:, None], 9, axis=1), o)[1],
    "subtract at": lambda m, x, y, o: (_at(np.subtract, o, [0, 0, 2], 1), o)[1],
}


def result(change: Changed, module: Any, x: Any, y: Any) -> Any:
    return change(module, x, y, module.ones_like(x))


@pytest.mark.parametrize("name", some(CHANGED, 2))
def test_what_is_changed_is_what_numpy_changes(name: str) -> None:
    expected = result(CHANGED[name], np, X.copy(), Y.copy())
    found = eqsat.jit(lambda x, y: result(CHANGED[name], enp, x, y))(X, Y)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "an argument": (lambda x: enp.add(x, 1, out=x), "belongs to the caller"),
    "an array of now": (lambda x: enp.add(x, 1, out=np.zeros((6, 8), "float32")), r"begin with enp\.zeros_like"),
    "another shape": (lambda x: enp.add(x, 1, out=enp.zeros((8, 6), "float32")), r"could not be broadcast|found the shape"),
    "another dtype": (lambda x: enp.add(x, 1.5, out=enp.zeros((6, 8), "int64")), "not cast to int64"),
    "where without out": (lambda x: enp.add(x, 1, where=x > 0), "where"),
    "several values at a mask": (lambda x: np.place(x * 1, x > 0, [1, 2]), "place: found 2 values"),
    "a mode that is none": (lambda x: enp.put(x * 1, [1], 1, mode="up"), "'raise', 'wrap' or 'clip'"),
    "rows without end": (lambda x: np.apply_along_axis(np.sum, 0, enp.zeros((3, 100)) + x[0, 0]), "found 100 rows"),
    "functions that are too many": (lambda x: np.piecewise(x, [x > 0], [1, 2, 3]), "found 3 functions for 1 conditions"),
    "a function of all elements": (lambda x: np.piecewise(x, [x > 0], [lambda v: v - v.mean()]), "functions of elements and numbers"),
    "a function of others": (lambda x: np.piecewise(x, [x > 0], [lambda v: v[::-1]]), "functions of elements and numbers"),
    "complex values": (lambda x: np.put(x * 1, [0], 1j), "complex128, which is not cast to float32"),
    "a mask that broadcasts": (lambda x: np.place(x * 1, x[0] > 0, 3), "found a mask of 8 elements, expected 48"),
    "a number that does not fit": (lambda x: enp.r_[x[0].astype("int8"), 300], "int8"),
    "directions": (lambda x: enp.r_["0,2", x, x], "directions in a string"),
    "values that decide": (lambda x: enp.unique(x), "shape of its result depends on values"),
    "a condition that decides": (lambda x: enp.compress(x[0] > 0, x, axis=1), "elements decide about the shape"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused(name: str) -> None:
    function, message = REFUSED[name]
    with pytest.raises(EqsatError, match=message):
        eqsat.trace(function, X)


def test_columns_that_depend_on_each_other_have_no_solution_in_a_program() -> None:
    solved = eqsat.jit(lambda a, b: enp.linalg.lstsq(a, b)[0])
    np.testing.assert_allclose(solved(X.T, Y.T), np.linalg.lstsq(X.T, Y.T)[0], rtol=1e-4, atol=1e-5)
    with pytest.raises(UnsupportedError, match="columns have to be independent"):
        solved(np.ones((8, 6), "float32"), Y.T)


def test_names_that_eqsat_has_no_row_of_are_numpys() -> None:
    def function(x: Any) -> Any:
        with enp.errstate(all="ignore"):
            chosen = x[:, enp.nonzero(np.array([1, 0, 1, 0, 0, 0, 1, 1]))[0]]
        places = enp.mgrid[0:6, 0:4][0] + enp.fromfunction(lambda i, j: i * j, (6, 4))
        assert enp.issubdtype(x.dtype, enp.floating)
        assert enp.isscalar(3)
        return chosen[enp.s_[1:3]] * places[1:3] + len(enp.unique([1, 2, 2]))

    with warnings.catch_warnings(action="error"):
        found = eqsat.jit(function)(X)
    expected = X[:, [0, 2, 6, 7]][1:3] * (np.mgrid[0:6, 0:4][0] + np.fromfunction(lambda i, j: i * j, (6, 4)))[1:3] + 2
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_lazy_tensors_have_values_that_decide() -> None:
    lazy = enp.asarray(X) > 0
    np.testing.assert_array_equal(enp.argwhere(lazy), np.argwhere(X > 0))
    np.testing.assert_array_equal(enp.extract(lazy, enp.asarray(X)), X[X > 0])
    np.testing.assert_array_equal(np.nonzero(lazy)[0], np.nonzero(X > 0)[0])
    np.testing.assert_array_equal(np.unique(enp.asarray(Y) + 1, return_counts=True)[1], np.unique(Y + 1, return_counts=True)[1])
