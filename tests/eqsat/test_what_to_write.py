"""Messages that name what to write instead name it first, and what they name works."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import DTypeError, EqsatError, TraceError, UnsupportedError, UsageError
from eqsat.operations.table import missing
from eqsat.testing import assert_close, assert_equivalent

X = np.arange(6.0)
I = np.int64(1)  # noqa: E741


def filled(make: Callable[..., Any], dtype: str, key: Any, value: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        y = make(3, dtype)
        y[key] = value(x)
        return y

    return function


def filled_by_slices(x: Any) -> Any:
    y = np.empty(3)
    y[:2] = x[:2]
    return y


class Scaled:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, x: Any) -> Any:
        return self.factor * x

    def method(self, x: Any) -> Any:
        return self.factor * x


Trial = tuple[Callable[..., Any], tuple[Any, ...], type[EqsatError], str]
TRIALS: dict[str, Trial] = {
    "an integer put": (filled(np.empty, "int64", 0, lambda x: x[0]), (X,), TraceError, "filled by enp.empty(shape), enp.zeros(shape)"),
    "a row put": (
        filled(np.zeros, "float64", slice(0, 2), lambda x: x[:2]),
        (X,),
        TraceError,
        "filled by enp.empty(shape), enp.zeros(shape)",
    ),
    "slices": (filled_by_slices, (X,), TraceError, "setitem: found TracedArray(shape=(2,), dtype=float64)"),
    "an element put": (filled(np.empty, "float64", 0, lambda x: x[0]), (X,), TraceError, "begin with enp.zeros(shape)"),
    "as_strided": (lambda x: np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8)), (X,), TraceError, "sliding_window_view"),
    "a slice from a traced place": (lambda x, i: x[i : i + 2], (X, I), TraceError, "enp.take(x, i + np.arange(2), axis=0) for x[i:i+2]"),
    "len of some": (lambda x: len(x[x > 2]), (X,), UnsupportedError, "use np.count_nonzero(mask)"),
    "a method": (Scaled.method, (Scaled(2.0), X), UsageError, 'eqsat.jit(object.method), or with static=("self",)'),
    "int": (lambda x: int(x[0]), (X,), TraceError, "int(): found"),
    "specs": (
        lambda x: x,
        (eqsat.spec((3,), "float32"),),
        UsageError,
        "found a Spec, expected arrays; eqsat.optimize and eqsat.trace take specs",
    ),
}


@pytest.mark.parametrize("name", TRIALS)
def test_the_message_names_what_to_write(name: str) -> None:
    function, arguments, error, words = TRIALS[name]
    with pytest.raises(error, match=re.escape(words)):
        eqsat.jit(function)(*arguments)


def test_what_the_messages_name_works() -> None:
    np.testing.assert_array_equal(eqsat.jit(filled(enp.empty, "int64", 0, lambda x: x[4]))(X)[:1], [4])
    np.testing.assert_array_equal(eqsat.jit(filled(enp.zeros, "float64", slice(0, 2), lambda x: x[1:3]))(X), [1, 2, 0])
    np.testing.assert_array_equal(eqsat.jit(lambda x, i: enp.take(x, i + np.arange(2), axis=0))(X, I), X[1:3])
    np.testing.assert_array_equal(eqsat.jit(lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, 0))(X)[1], X[1:3])
    assert eqsat.jit(lambda x: np.count_nonzero(x > 2))(X) == 3
    scaled = Scaled(2.0)
    np.testing.assert_array_equal(eqsat.jit(scaled.method)(X), 2 * X)
    np.testing.assert_array_equal(eqsat.jit(Scaled.method, static=("self",))(scaled, X), 2 * X)


def test_a_spec_is_refused_for_a_signature_that_is_compiled_too() -> None:
    function = eqsat.jit(lambda x: x + 1)
    function(X)
    with pytest.raises(UsageError, match=r"found a Spec, .*; eqsat.optimize and eqsat.trace take specs"):
        function(eqsat.spec(X.shape, X.dtype))


def test_indices_are_divided_downwards() -> None:
    x: Any = eqsat.var("x", 0, 9)
    with pytest.raises(DTypeError, match=r"index: found `x \+ 1` / 2, expected integers; use //"):
        (x + 1) / 2
    with pytest.raises(TypeError, match="index: found 2 / `x`, expected integers; use //"):
        2 / x


def test_arrays_are_compared_by_assert_close() -> None:
    with pytest.raises(UsageError, match=r"assert_equivalent: found a ndarray, expected .*; assert_close compares arrays"):
        assert_equivalent(X, X)
    assert_close(X, X)


def test_the_nearest_are_near_and_can_be_called() -> None:
    assert "the nearest are histogram2d, histogram" in missing("histogramdd")
    for name in ("hamming", "emath", "random_ke"):
        assert "nearest" not in missing(name)
