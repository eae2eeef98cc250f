"""`fori`: loops with a fixed number of steps, their carries, and what a body must not do."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.calling import lazy
from eqsat.ir.errors import BoundsError, DTypeError, EqsatError, ShapeError, TraceError, UsageError
from eqsat.ir.tensor import Program
from eqsat.options import Options
from eqsat.running.plan import Plan

F = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
Body = Callable[[Any, Any], Any]


def test_a_loop_equals_the_same_loop_in_python() -> None:
    def body(i: Any, carry: Any) -> Any:
        return {"x": enp.tanh(carry["x"] @ carry["w"]) + i.astype("float32"), "w": carry["w"]}

    carry = {"x": F, "w": np.eye(4, dtype=np.float32) * 0.5}
    expected: Any = carry
    for k in range(7):
        expected = body(np.array(k), expected)
    found = eqsat.fori(7, body, carry)
    assert list(found) == ["x", "w"]
    np.testing.assert_allclose(found["x"], expected["x"], rtol=1e-5)
    assert np.array_equal(found["w"], carry["w"])
    assert not np.shares_memory(found["w"], carry["w"])


def test_a_body_is_recorded_once_however_many_steps_there_are() -> None:
    calls: list[Any] = []

    def body(i: Any, carry: Any) -> Any:
        calls.append(i)
        a, b = carry
        return b, a + b * (i >= 0)

    start = time.perf_counter()
    first, second = eqsat.fori(80, body, (0, 1))
    assert (int(first), int(second)) == (23416728348467685, 37889062373143906)
    assert (first.dtype, first.shape) == (np.int64, ())
    assert len(calls) == 1
    eqsat.fori(5000, body, (0, 1))
    assert time.perf_counter() - start < 10


def test_carries_may_be_lazy_tensors_numbers_and_containers() -> None:
    t = enp.asarray(F)
    found = eqsat.fori(3, lambda i, c: [c[0] + 1, {"n": c[1]["n"] + i}], [t * 2, {"n": 10}])
    np.testing.assert_allclose(found[0], F * 2 + 3)
    assert (found[1]["n"].item(), type(found[0])) == (13, np.ndarray)
    assert eqsat.fori(enp.asarray(2), lambda i, c: c + 1, 1.5).item() == 3.5


def test_no_steps_give_copies_of_the_start() -> None:
    found = eqsat.fori(0, lambda i, c: (c[0] * 2, c[1]), (F, 1))
    assert np.array_equal(found[0], F)
    assert not np.shares_memory(found[0], F)
    with pytest.raises(ShapeError):
        eqsat.fori(0, lambda i, c: c.sum(), F)


def test_a_body_that_no_step_runs_may_read_arrays_without_elements() -> None:
    total = eqsat.jit(lambda z, c: eqsat.fori(z.shape[0], lambda i, carry: carry + z[i], c))
    assert total(np.zeros(0), 1.5).item() == 1.5
    assert total(np.ones(3), 1.5).item() == 4.5
    assert eqsat.fori(0, lambda i, carry: carry + enp.asarray(np.zeros(0))[i], 2.5).item() == 2.5
    with pytest.raises(BoundsError):
        eqsat.jit(lambda z, c: eqsat.fori(1, lambda i, carry: carry + z[i], c))(np.zeros(0), 1.5)


def test_a_plan_serves_bodies_of_one_structure_with_other_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Program] = []

    def spy(program: Program, options: Options) -> Plan:
        asked.append(program)
        return lazy.plan_of(program, options)

    monkeypatch.setattr("eqsat.calling.iteration.plan_of", spy)
    for scale in (F[0], enp.asarray(F[1])):
        found = eqsat.fori(2, functools.partial(lambda scale, i, c: c * scale, scale), F)
        np.testing.assert_allclose(found, F * np.asarray(scale) ** 2, rtol=1e-6)
    assert asked[0] is asked[1]


def test_carries_without_elements_pass() -> None:
    found = eqsat.fori(2, lambda i, c: (c[0], c[1] + 1), (F[:0], F))
    assert found[0].shape == (0, 4)
    assert np.array_equal(found[1], F + 2)


WRONG: dict[str, tuple[Any, Body, Any, type[EqsatError], str]] = {
    "a negative count": (-1, lambda i, c: c, F, UsageError, "fori: found n = -1, expected 0 or more"),
    "a float count": (2.0, lambda i, c: c, F, UsageError, "fori: found n 2.0, expected an integer"),
    "another dtype": (
        2,
        lambda i, c: c * i,
        F,
        DTypeError,
        "fori: carry: found float64[3, 4] from body, expected float32[3, 4]",
    ),
    "another shape": (2, lambda i, c: (c[0], c[1].sum()), (1, F), ShapeError, "fori: carry[1]: found float32[] from body"),
    "another container": (2, lambda i, c: [c[0]], (F,), UsageError, "carry: found a list of 1 from body, expected a tuple of 1 as in init"),
    "other keys": (2, lambda i, c: {"y": c["x"]}, {"x": F}, UsageError, "found a dict of 'y' from body, expected a dict of 'x'"),
    "an array for a container": (2, lambda i, c: {"x": c["x"][0]}, {"x": [F]}, UsageError, "carry['x']: found an array from body"),
    "nothing": (2, lambda i, c: None, F, UsageError, "NoneType"),
    "a string in init": (2, lambda i, c: c, {"x": "y"}, UsageError, "fori: carry['x']: found a str, expected a numpy.ndarray"),
    "a long double in init": (2, lambda i, c: c, F.astype("longdouble"), DTypeError, "fori: carry: found float128"),
    "a branch in the body": (2, lambda i, c: c if i > 1 else -c, F, TraceError, "enp.where"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_loop_is_told_with_the_place(name: str) -> None:
    n, body, init, error, words = WRONG[name]
    with pytest.raises(error) as caught:
        eqsat.fori(n, body, init)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_keys_may_come_back_in_another_order() -> None:
    found = eqsat.fori(2, lambda i, c: {"b": c["b"] * 2, "a": c["a"] + 1}, {"a": F, "b": F})
    assert list(found) == ["a", "b"]
    assert np.array_equal(found["a"], F + 2)
    assert np.array_equal(found["b"], F * 4)


def test_options_reach_the_plan() -> None:
    lazy.PLANS.clear()
    eqsat.fori(2, lambda i, c: c + 0.5, F, options=Options(numerics="exact"))
    assert len(lazy.PLANS) == 1
    eqsat.fori(2, lambda i, c: c + 0.5, F)
    assert len(lazy.PLANS) == 2
