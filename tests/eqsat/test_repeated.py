"""Loops in machine code: what is carried goes where it is read, and what Python has to say it says."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import eqsat
import eqsat.numpy as enp
from eqsat.codegen.calls.running import Repetition, TableLoop
from eqsat.ir.errors import BoundsError, UsageError
from eqsat.ir.evaluate import evaluate
from eqsat.ir.steps import Loop
from eqsat.running import repeated
from eqsat.running.repeated import Repeated
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
    "the same in every step": lambda i, c, s, k: np.exp(s).sum() + np.sqrt(np.abs(s)),
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
    loop = Repeated(eqsat.optimize(program).compile(), 3, (0,), ())
    one, other = loop.table(), loop.table()
    assert isinstance(one, TableLoop)
    assert isinstance(other, TableLoop)
    assert not any(np.shares_memory(p.other, q.other) for p in one.carries for q in other.carries)
    assert plan.own_run() is not None


def recurrent(xs: Any, w: Any) -> Any:
    """The states of a recurrent network, each put into its row."""

    def step(i: Any, carry: Any) -> Any:
        h, states = carry
        h = np.tanh(xs[i] @ w + h * 0.5)
        states[i] = h
        return h, states

    return eqsat.fori(len(xs), step, (xs[0] * 0.0, xs * 0.0))[1]


def test_results_of_every_step_are_put_where_they_belong() -> None:
    xs, w = np.random.default_rng(0).uniform(-1, 1, (7, 4)), np.random.default_rng(1).uniform(-1, 1, (4, 4))
    h, expected = np.zeros(4), np.zeros((7, 4))
    for i in range(7):
        h = np.tanh(xs[i] @ w + h * 0.5)
        expected[i] = h
    function = eqsat.jit(recurrent)
    for found in (*(function(xs, w) for _ in range(3)), evaluate(eqsat.trace(recurrent, xs, w), (xs, w))[0]):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    (body,) = eqsat.optimize(recurrent, xs, w).bodies
    assert {output.shape for output in body.program.outputs} == {(4,), ()}, "a step computes no array of all states"


def test_a_copy_that_a_step_changes_at_one_place_is_no_array_anew() -> None:
    def filtered(signals: Any) -> Any:
        def step(i: Any, carry: Any) -> Any:
            before, found = carry
            after = before * 0.5 + signals[i]
            found = np.copy(found.copy())
            found[:, i] = after
            return after, found

        return eqsat.fori(len(signals), step, (signals[0] * 0.0, signals.T * 0.0))[1]

    signals = np.random.default_rng(0).uniform(-1, 1, (7, 4))
    expected = [signals[0]]
    for row in signals[1:]:
        expected.append(expected[-1] * 0.5 + row)
    np.testing.assert_allclose(eqsat.jit(filtered)(signals), np.stack(expected, axis=1), rtol=1e-12)
    (body,) = eqsat.optimize(filtered, signals).bodies
    assert {output.shape for output in body.program.outputs} == {(4,), ()}


# how a step changes what it carries, in place as NumPy does
CHANGES: dict[str, Callable[[Any, Any], None]] = {
    "row": lambda i, y: y.__setitem__(i, y[i - 1] + 1.0),
    "column": lambda i, y: y.__setitem__((slice(None), i), y[:, 0] * 2.0 + i),
    "element": lambda i, y: y.__setitem__((i, i), y[i, i - 1] + 5.0),
    "from the end": lambda i, y: y.__setitem__(-1 - i, 7.0),
    "part of a row": lambda i, y: y.__setitem__((i, slice(1, 3)), y[i, :2]),
    "two rows": lambda i, y: (y.__setitem__(i, y[3 - i] + 1.0), y.__setitem__(3 - i, y[i] * 2.0))[0],
    "added to": lambda i, y: y.__setitem__(i, y[i] + y[0]),
    "rows by an array": lambda i, y: y.__setitem__(np.array([0, 2]), y[1] + i),
    "all": lambda i, y: y.__setitem__(slice(None), y * 0.5),
}


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("name", CHANGES)
def test_what_is_carried_may_be_changed_in_place(name: str, steps: int) -> None:
    def step(i: Any, carry: Any) -> Any:
        x, y = carry
        before = y * 1.0
        CHANGES[name](i, y)
        return x + y[0] - before[-1], y

    start = (np.arange(4.0), np.arange(16.0).reshape(4, 4) * 0.25)
    expected = looped(steps, step, (start[0].copy(), start[1].copy()))
    function = eqsat.jit(lambda x, y: eqsat.fori(steps, step, (x, y)))
    for found in (eqsat.fori(steps, step, start), *(function(*start) for _ in range(3))):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
    np.testing.assert_array_equal(start[1], np.arange(16.0).reshape(4, 4) * 0.25)


def test_a_place_out_of_range_is_an_error_and_nothing_is_written_there() -> None:
    def fill(y: Any, k: Any) -> Any:
        def step(i: Any, carry: Any) -> Any:
            carry[i + k] = i
            return carry

        return eqsat.fori(3, step, y)

    function = eqsat.jit(fill)
    for _ in range(3):
        np.testing.assert_array_equal(function(np.zeros(4), np.array(1)), [0, 0, 1, 2])
        with pytest.raises(BoundsError, match=r"index 4 .* expected -4..3"):
            function(np.zeros(4), np.array(2))


def test_python_puts_what_machine_code_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Repeated, "_in_machine_code", lambda *_: False)
    for name in CHANGES:
        test_what_is_carried_may_be_changed_in_place(name, 3)


def test_what_no_step_changes_is_computed_before_the_loop() -> None:
    def function(x: Any, w: Any) -> Any:
        return eqsat.fori(5, lambda i, c: enp.tanh(c @ (w @ w.T)) * w[0] + enp.exp(w).sum(), x)

    x, w = np.ones((3, 4)), np.random.default_rng(2).uniform(-1, 1, (4, 4))
    program = eqsat.trace(function, x, w)
    (loop,) = program.steps
    assert isinstance(loop, Loop)
    assert "exp" not in str(loop.body)
    assert str(loop.body).count("sum") == 1
    expected = looped(5, lambda i, c: np.tanh(c @ (w @ w.T)) * w[0] + np.exp(w).sum(), x)
    np.testing.assert_allclose(eqsat.optimize(program)(x, w), expected, rtol=1e-12)
    np.testing.assert_allclose(evaluate(program, (x, w))[0], expected, rtol=1e-12)


def test_the_counter_is_known_to_be_in_range() -> None:
    """Nothing is checked in a step that reads and writes at the counter, and the place that is written is the counter itself."""
    xs, w = np.ones((7, 4)), np.eye(4)
    (body,) = eqsat.optimize(recurrent, xs, w).bodies
    assert len(body.loops) == 1
    assert not body.places
    with pytest.raises(BoundsError):
        eqsat.trace(lambda x: eqsat.fori(3, lambda i, c: c + x[i + 8], x[0]), xs)
    # a body by itself reads within its arrays, whatever it is given for the counter
    found = body(np.array(1000), np.zeros(4), *(np.zeros(tensor.shape, tensor.dtype) for tensor in body.program.inputs[2:]))
    assert np.shape(found[0]) == (4,)


def test_a_view_at_the_counter_is_a_value_for_a_known_place() -> None:
    def step(i: Any, c: Any) -> Any:
        c[0, :] = c[i, :]
        c[:, -1] = c[:, i]
        return c

    y = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(eqsat.jit(lambda y: eqsat.fori(3, step, y))(y), looped(3, step, y.copy()))


def test_long_loops_in_loops_can_be_interrupted() -> None:
    """Five seconds of machine code, if nothing looked at signals."""

    def function(x: Any) -> Any:
        return eqsat.fori(2, lambda j, d: eqsat.fori(20_000_000, lambda i, c: np.tanh(c) * 0.99 + i * 1e-3, d), x)

    plan = eqsat.optimize(function, np.linspace(0, 1, 50)).compile()
    timer = threading.Timer(0.3, lambda: signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell starts in the background
    try:
        timer.start()
        start = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            plan(np.linspace(0, 1, 50))
        assert time.perf_counter() - start < 1.5
    finally:
        signal.signal(signal.SIGINT, before)


def test_too_many_steps_are_refused() -> None:
    with pytest.raises(UsageError, match="less than 2"):
        eqsat.fori(2**63, lambda i, c: c, 0.0)
