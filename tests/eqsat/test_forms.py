"""Calls with numbers, keywords and containers beside arrays give what the function gives, and soon without much of Python."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.calling import forms
from eqsat.ir.errors import UsageError
from tests.effort import examples

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(5)
A, B, C = (RNG.standard_normal((4, 3)).astype("float32") for _ in range(3))


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many calls were made of what takes the arrays alone."""
    seen: list[int] = []
    called = forms.Form.called

    def counted(form: forms.Form, plan: Any) -> None:
        called(form, plan)
        if form.direct is not None:
            inside = form.direct

            def known(*arrays: Any, **out: Any) -> Any:
                seen.append(len(arrays))
                return inside(*arrays, **out)

            form.direct = known

    monkeypatch.setattr(forms.Form, "called", counted)
    return seen


CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], int]] = {
    "a number": (lambda x, k: x * k, (A, 2.5), {}, 1),
    "none": (lambda x, k: x + 1 if k is None else x, (A, None), {}, 1),
    "a keyword": (lambda x, axis=None: enp.sum(x, axis=axis), (A,), {"axis": 1}, 1),
    "an array by keyword": (lambda x, y: x - y, (A,), {"y": B}, 2),
    "arrays by keyword in another order": (lambda x, y, z: x - y * z, (), {"z": C, "x": A, "y": B}, 3),
    "a scalar": (lambda x, k: x * k, (A, np.float32(3)), {}, 2),
    "a tuple": (lambda p: p[0] - p[1], ((A, B),), {}, 2),
    "layers": (lambda p, x: enp.tanh(x * p[0]["w"] + p[0]["b"]) * p[1]["w"], ([{"w": A, "b": B}, {"w": C}], A), {}, 4),
    "a dict whose keys stand in another order": (lambda p: p["a"] - p["b"], ({"b": B, "a": A},), {}, 2),
    "a shape": (lambda x, shape: enp.reshape(x, shape), (A, (2, 6)), {}, 1),
    "a dtype": (lambda x, dtype: x.astype(dtype), (A,), {"dtype": np.float64}, 1),
    "several results": (lambda x, k: (x + k, x - k), (A, 3), {}, 1),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_those_of_the_function(name: str, direct: list[int]) -> None:
    function, args, kwargs, count = CALLS[name]
    expected = eqsat.jit(function)(*args, **kwargs)
    compiled = eqsat.jit(function)
    for _ in range(5):
        found = compiled(*args, **kwargs)
        for one, other in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
            np.testing.assert_array_equal(one, other)
    assert direct == [count] * 3


def test_values_tell_forms_apart() -> None:
    function = eqsat.jit(lambda x, k: x * k if isinstance(k, float) else x + k)
    for _ in range(4):
        for value in (1, 1.0, True, 0.0, -0.0, float("nan"), 2, np.float64(2), np.float32(2), np.int8(2)):
            found, wanted = function(A, value), A * value if type(value) is float else A + value
            np.testing.assert_array_equal(found, wanted)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
            assert found.dtype == wanted.dtype


def test_other_shapes_dtypes_and_layouts_of_the_same_form() -> None:
    function = eqsat.jit(lambda x, k: x * k + 1)
    for _ in range(3):
        for array in (A, A.astype("float64"), A[:2], A.T, A[:, ::2], np.asfortranarray(A), A.reshape(-1), A[0, 0]):
            np.testing.assert_allclose(function(array, 2.0), array * np.float32(2) + 1, rtol=1e-6)


def test_scalars_of_static_parameters_are_values() -> None:
    function = eqsat.jit(lambda x, k: x * int(k), static="k")
    for _ in range(4):
        for k in (np.int64(3), np.int64(4), 3):
            np.testing.assert_array_equal(function(A, k), A * int(k))


def test_arrays_of_defaults_are_inputs() -> None:
    def function(x: Any, y: Any = B, *, k: float = 2.0) -> Any:
        return x - y * k

    compiled = eqsat.jit(function)
    for _ in range(4):
        for kwargs in ({}, {"k": 3.0}, {"y": C}, {"k": 4.0, "y": C}):
            np.testing.assert_allclose(compiled(A, **kwargs), function(A, **kwargs), rtol=1e-5)


def test_results_go_where_the_caller_says() -> None:
    function, out = eqsat.jit(lambda p, k: p["x"] * k), np.empty_like(A)
    for _ in range(5):
        out[:] = 0
        assert function({"x": A}, 3.0, out=out) is out
        np.testing.assert_array_equal(out, A * np.float32(3))
    own = eqsat.jit(lambda x, out: x * out)
    for _ in range(4):
        np.testing.assert_array_equal(own(A, out=2.0), A * 2)


def test_what_is_wrong_is_said_as_before() -> None:
    function = eqsat.jit(lambda x, k: x * k)
    for _ in range(4):
        function(A, 2.0)
        with pytest.raises(UsageError):
            function(A, object())
        with pytest.raises(UsageError):
            function(A, 2.0, 3.0)
        with pytest.raises(UsageError):
            function(A, [object(), A])


def test_compiled_functions_within_others_and_lazy_tensors() -> None:
    inner = eqsat.jit(lambda x, k: x * k)
    outer = eqsat.jit(lambda x, k: inner(x, k) + inner(x + 1, 2.0))
    for _ in range(4):
        np.testing.assert_allclose(outer(A, 3.0), A * 3 + (A + 1) * 2, rtol=1e-5)
        np.testing.assert_array_equal(inner(enp.asarray(A) + 1, 2.0), (A + 1) * 2)


def test_no_more_forms_are_kept_than_are_useful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "MOST_FORMS", 2)
    function = eqsat.jit(lambda x, k: x + k)
    for _ in range(4):
        for k in range(5):
            np.testing.assert_array_equal(function(A, k), A + k)


def test_arrays_and_functions_are_let_go() -> None:
    function, array = eqsat.jit(lambda p, k: p[0] * k), A.copy()
    for _ in range(4):
        function([array], 2.0)
    seen, made = weakref.ref(array), weakref.ref(function)
    del array
    assert seen() is None
    del function
    gc.collect()
    assert made() is None


VALUES = st.sampled_from([1, 2.0, None, True, "add"])


@settings(max_examples=examples(40), deadline=None, derandomize=True)
@given(st.lists(st.tuples(VALUES, st.sampled_from(["list", "tuple", "dict"]), st.integers(0, 2), st.booleans()), min_size=3, max_size=12))
def test_any_order_of_forms(calls: list[tuple[Any, str, int, bool]]) -> None:
    def function(p: Any, k: Any = 7) -> Any:
        first, second = p.values() if isinstance(p, dict) else p
        return first - second * (3 if k is None or isinstance(k, str) else k)

    compiled = eqsat.jit(function)
    for k, kind, rows, keyword in calls:
        one, other = A[rows:], B[rows:]
        p = {"dict": {"u": one, "v": other}, "list": [one, other], "tuple": (one, other)}[kind]
        found = compiled(p, k=k) if keyword else compiled(p, k)
        np.testing.assert_allclose(found, function(p, k), rtol=1e-5, atol=1e-6)
