"""Loops in machine code: what is carried goes where it is read, and what Python has to say it says."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import eqsat
import eqsat.numpy as enp
from eqsat import repeated
from eqsat.codegen.running import Repetition, TableLoop
from eqsat.ir.errors import BoundsError
from eqsat.repeated import Repeated
from tests.effort import examples

Array = np.ndarray[Any, Any]
KNOWN = np.array([0.5, -1.0, 2.0])
STAYS = np.array([1.0, 3.0, -2.0])


def looped(count: int, body: Callable[[Any, Any], Any], carry: Any) -> Any:
    for i in range(count):
        carry = body(np.int64(i), carry)
    return carry


# what the next carry may be: made of a carry, another carry or the same, what is known, what stays
NEXT: dict[str, Callable[[Any, Any, Any, int], Any]] = {
    "made": lambda i, c, s, k: c[k] * 0.5 + i,
    "made of two": lambda i, c, s, k: c[k] - c[-1] * 0.25,
    "passed on": lambda i, c, s, k: c[k],
    "known": lambda i, c, s, k: c[0] * 0.0 + KNOWN if k == 0 else KNOWN,
    "staying": lambda i, c, s, k: s,
    "counted": lambda i, c, s, k: s * 0.0 + i,
}


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(1, 6), st.lists(st.tuples(st.sampled_from(sorted(NEXT)), st.integers(0, 3)), min_size=1, max_size=4))
def test_any_carries_equal_the_loop_in_python(count: int, following: list[tuple[str, int]]) -> None:
    first = tuple(np.arange(3.0) + k for k in range(len(following)))

    def body(stays: Any) -> Callable[[Any, Any], Any]:
        def step(i: Any, c: Any) -> Any:
            found = [NEXT[name](i, c, stays, k % len(c)) for name, k in following]
            return tuple(one if isinstance(one, np.ndarray) else one + 0.0 if one is stays else one for one in found)

        return step

    expected = looped(count, body(STAYS), first)
    function = eqsat.jit(lambda s, *c: eqsat.fori(count, lambda i, c: tuple(enp.asarray(one) for one in body(s)(i, c)), c))
    eager = eqsat.fori(count, body(STAYS), first)
    for found in (eager, *(function(STAYS, *first) for _ in range(4))):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
            assert not any(np.shares_memory(one, array) for array in (*first, STAYS, KNOWN))


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_one_tensor_may_be_carried_twice(count: int) -> None:
    def body(i: Any, c: Any) -> Any:
        made = c[0] + c[1] * 0.5
        return made, made

    start = (np.arange(4.0), np.ones(4))
    for one, other in zip(eqsat.fori(count, body, start), looped(count, body, start), strict=True):
        np.testing.assert_array_equal(one, other)


def test_loops_within_loops_are_one_call() -> None:
    @eqsat.jit
    def function(x: Any) -> Any:
        return eqsat.fori(4, lambda i, c: eqsat.fori(3, lambda j, d: (d[1], d[0] * 0.5 + j - i), c), (x, x + 1))

    x = np.arange(5.0)
    expected = looped(4, lambda i, c: looped(3, lambda j, d: (d[1], d[0] * 0.5 + j - i), c), (x, x + 1))
    for _ in range(4):
        for one, other in zip(function(x), expected, strict=True):
            np.testing.assert_allclose(one, other)


def test_a_jit_function_with_a_loop_leaves_python_out(monkeypatch: pytest.MonkeyPatch) -> None:
    function = eqsat.jit(lambda x: eqsat.fori(10, lambda i, c: c * 0.5 + i, x))
    x = np.arange(6.0)
    expected = looped(10, lambda i, c: c * 0.5 + i, x)
    for _ in range(3):
        np.testing.assert_allclose(function(x), expected)
    monkeypatch.setattr(Repeated, "run", lambda *_: pytest.fail("a loop was run from Python"))
    np.testing.assert_allclose(function(x), expected)
    out = np.empty(6)
    assert function(x, out=out) is out
    np.testing.assert_allclose(out, expected)


def test_long_loops_are_run_in_several_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, int]] = []
    run = Repetition.run

    def watched(self: Repetition, arrays: Any, team: Any, first: int, last: int) -> bool:
        calls.append((first, last))
        return run(self, arrays, team, first, last)

    monkeypatch.setattr(Repetition, "run", watched)
    monkeypatch.setattr(repeated, "CALL_NS", 1.0)
    start = (np.array([0.0, 1.0]), np.array([1.0, 2.0]))

    def body(i: Any, c: Any) -> Any:
        return c[1], c[0] + c[1] + i

    found = eqsat.fori(5, body, start)
    assert calls == [(k, k + 1) for k in range(5)]
    for one, other in zip(found, looped(5, body, start), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("steps", [3, 4, 9])
def test_an_index_out_of_range_in_some_step_is_an_error(steps: int) -> None:
    x = np.arange(4.0)
    function = eqsat.jit(lambda x, k: eqsat.fori(steps, lambda i, c: c + x[k + i], 0.0))
    for base, fine in ((0, steps <= 4), (-4, steps <= 8), (2, steps <= 2)):
        for _ in range(3):
            if fine:
                np.testing.assert_allclose(function(x, np.array(base)), sum(x[base + i] for i in range(steps)))
            else:
                with pytest.raises(BoundsError, match=f"index {-4 + len(x) * 2 if base < 0 else 4}"):
                    function(x, np.array(base))


def test_a_body_that_is_not_finite_is_computed_without_algebra() -> None:
    a, b, v = np.full((3, 4), 1e200), np.full((4, 5), 1e200), np.array([1.0, -1.0, 0.0, 0.0, 0.0])

    def body(i: Any, v: Any) -> Any:
        return ((a @ b) @ v)[:1] + v * 0

    expected = looped(2, body, v)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(eqsat.fori(2, body, v), expected)
        np.testing.assert_array_equal(eqsat.jit(lambda v: eqsat.fori(2, body, v))(v), expected)


def test_functions_of_the_host_keep_a_loop_in_python() -> None:
    m = np.array([[2.0, 1.0], [0.5, 3.0]])

    def body(i: Any, x: Any) -> Any:
        return np.linalg.solve(m, x) + i

    x = np.array([1.0, -2.0])
    function = eqsat.jit(lambda x: eqsat.fori(3, body, x))
    for _ in range(3):
        np.testing.assert_allclose(function(x), looped(3, body, x))


def test_threads_that_call_at_once_have_memory_of_their_own() -> None:
    function = eqsat.jit(lambda x: eqsat.fori(200, lambda i, c: enp.sin(c) + enp.sum(c) * 1e-3, x))
    starts = [np.linspace(0, k + 1, 300) for k in range(4)]
    expected = [function(x) for x in starts]
    wrong: list[int] = []

    def call(k: int) -> None:
        for _ in range(20):
            if not np.array_equal(function(starts[k]), expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_loop_of_no_elements_is_a_loop() -> None:
    found = eqsat.fori(3, lambda i, c: (c[0] + 1, c[1] * 2), (np.zeros((0, 3)), np.ones(2)))
    assert found[0].shape == (0, 3)
    np.testing.assert_array_equal(found[1], np.full(2, 8.0))


def test_tables_of_loops_have_memory_of_their_own() -> None:
    plan = eqsat.optimize(lambda x: enp.sum(x * 2.0) + x, np.ones(3)).compile()
    program = eqsat.trace(lambda i, x: enp.sum(x * 2.0) + x, np.array(0), np.ones(3))
    loop = Repeated(eqsat.optimize(program).compile(), 3)
    one, other = loop.table(), loop.table()
    assert isinstance(one, TableLoop)
    assert isinstance(other, TableLoop)
    assert not any(np.shares_memory(p.other, q.other) for p in one.carries for q in other.carries)
    assert plan.own_run() is not None
