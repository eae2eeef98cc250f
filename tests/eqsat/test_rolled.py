"""Loops of Python that were written out in a program, as loops again: the same values, one body, and what stays as it was written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.ir.steps import Loop
from eqsat.ir.tensor import StepResult, tensors
from eqsat.kernels.rolled import rolled
from tests.effort import examples

Array = Any
RNG = np.random.default_rng(0)
X, Y = RNG.random(100), RNG.random(100)
SQUARE, POINTS = RNG.random((20, 20)), RNG.random((30, 3))
STEPS = RNG.random((20, 4, 5)) - 0.5
DIAGONALS = RNG.random((16, 30))


def diffusion(xp: Any, u: Array) -> Array:
    u = u.copy()
    for _ in range(30):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def waves(xp: Any, u: Array, v: Array) -> Array:
    """What is two steps back is carried too."""
    for _ in range(20):
        u, v = 2 * u - v + 0.1 * (xp.roll(u, 1) + xp.roll(u, -1) - 2 * u), u
    return u


def leapfrog(xp: Any, x: Array, v: Array) -> tuple[Array, Array]:
    for _ in range(15):
        v = v - 0.01 * x / (xp.sum(x * x, axis=1, keepdims=True) + 0.1)
        x = x + 0.01 * v
    return x, v


def iteration(xp: Any, a: Array, v: Array) -> Array:
    """A factor that stays, and one that is made of it before the loop."""
    shifted = a + xp.eye(a.shape[0])
    for _ in range(12):
        v = shifted @ v
        v = v / xp.sqrt(xp.sum(v * v))
    return v @ (a @ v)


def read_behind(xp: Any, u: Array, v: Array) -> Array:
    """The last states are read behind the loop, that before them too."""
    for _ in range(25):
        u, v = v, 0.5 * (u + xp.roll(v, 2))
    return u * 2 + v


def every_state(xp: Any, u: Array) -> Array:
    found = []
    for _ in range(12):
        u = 0.5 * (xp.roll(u, 1) + u)
        found.append(xp.sum(u))
    return xp.stack(found)


def network(xp: Any, x: Array, w: Array, u: Array) -> tuple[Array, Array]:
    h, states = xp.zeros((4, 20)), []
    for t in range(x.shape[0]):
        h = xp.tanh(x[t] @ w + h @ u)
        states.append(h)
    return xp.stack(states), h


def network_of_rows(xp: Any, x: Array, w: Array, u: Array) -> Array:
    h, states = xp.zeros((4, 20)), []
    for t in range(x.shape[1]):
        h = xp.tanh(x[:, t] @ w + h @ u)
        states.append(h * 2)
    return xp.stack(states, axis=1)


def backwards(xp: Any, x: Array, w: Array) -> Array:
    h, states = xp.zeros((4, 20)), [None] * x.shape[0]
    for t in reversed(range(x.shape[0])):
        h = 0.5 * h + x[t] @ w
        states[t] = h * 2
    return xp.stack(states)


def some_states(xp: Any, x: Array, w: Array) -> tuple[Array, ...]:
    """The first state is an argument, and one of them is read by itself."""
    states = [xp.zeros((4, 20)) + 1]
    for t in range(x.shape[0] - 1):
        states.append(xp.roll(states[-1], 1, axis=1) * 0.9 + x[t] @ w)
    return xp.stack(states), states[3] + 1, states[-2]


def joined_rows(xp: Any, x: Array, w: Array) -> Array:
    h, states = xp.zeros((4, 20)), []
    for t in range(x.shape[0]):
        h = 0.5 * xp.roll(h, 1) + x[t] @ w
        states.append(h[:3])
    return xp.concatenate([x[0] @ w, *states, h])


# programs and their arguments, with how often their body runs in a loop
ROLLED: dict[str, tuple[Callable[..., Any], tuple[Array, ...], int]] = {
    "diffusion": (diffusion, (X,), 29),
    "waves": (waves, (X, Y), 18),
    "leapfrog": (leapfrog, (POINTS, POINTS[::-1].copy()), 14),
    "iteration": (iteration, (SQUARE, X[:20]), 11),
    "read behind": (read_behind, (X, Y), 23),
    "every state is read": (every_state, (X,), 11),
    "states of a network": (network, (STEPS, SQUARE[:5], SQUARE), 19),
    "states along another axis": (network_of_rows, (STEPS.transpose(1, 0, 2).copy(), SQUARE[:5], SQUARE), 19),
    "backwards": (backwards, (STEPS, SQUARE[:5]), 19),
    "some states": (some_states, (STEPS, SQUARE[:5]), 16),
    "joined rows": (joined_rows, (STEPS, SQUARE[:5]), 19),
}


def by_elements(xp: Any, x: Array) -> Array:
    y = x + 1.0
    for _ in range(12):
        y = 0.5 * (y + x / y)
    return y


def steps_that_differ(xp: Any, x: Array) -> Array:
    for k in range(12):
        x = xp.roll(x, k) * 0.5 + x
    return x


def few_places(xp: Any, x: Array) -> Array:
    """Sums of rows, element by element, are one kernel."""
    rows = [x[0]]
    for k in range(1, 20):
        rows.append(0.9 * rows[-1] + x[k])
    return xp.stack(rows)


def few(xp: Any, x: Array) -> Array:
    for _ in range(4):
        x = xp.roll(x, 1) * 0.5 + x
    return x


def one_state_that_stays(xp: Any, x: Array) -> Array:
    """What is read goes on from step to step, and stays from the fifth on."""
    states = [x]
    for k in range(20):
        states.append(0.5 * xp.roll(states[-1], 1) + 0.1 * states[min(k, 4)])
    return states[-1]


def kept_from_an_early_step(xp: Any, u: Array, w: Array) -> tuple[Array, Array]:
    """A state of one of the first steps is read by all later ones, beside the states that move on."""
    v, c = u * 2.0, u * 1.5
    for t in range(30):
        v, u = v * c + u, xp.sin(v @ w)
        if t == 2:
            c = u
    return u, v


def one_row(xp: Any, x: Array, h: Array) -> Array:
    """What is put covers all that there is, so nothing of the state is read."""
    for t in range(20):
        h = h + 1.0
        h[0] = x[t]
        h = xp.tanh(h)
    return h


def two_loops(xp: Any, x: Array, w: Array) -> tuple[Array, Array]:
    h = k = x[0]
    for t in range(20):
        h = xp.tanh(h @ w + x[t])
    for t in range(20):
        k = xp.tanh(k @ w * 0.5 + h) * x[t]
    return h, k


def tridiagonal(xp: Any, below: Array, on: Array, above: Array, right: Array) -> Array:
    """Systems side by side, whose coefficients and right sides are divided by the same pivots."""
    n, c, d = on.shape[0], xp.zeros_like(above), xp.zeros_like(right)
    c[0], d[0] = above[0] / on[0], right[0] / on[0]
    for i in range(1, n):
        pivot = on[i] - below[i] * c[i - 1]
        c[i] = above[i] / pivot
        d[i] = (right[i] - below[i] * d[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]
    return d


def gradient(xp: Any, x: Array, w: Array) -> tuple[Array, Array]:
    """States are kept on the way forwards, and read one by one on the way back."""
    states = [x[0]]
    for t in range(20):
        states.append(xp.tanh(states[-1] @ w + x[t]))
    d, dw = states[-1], w * 0
    for t in reversed(range(20)):
        d = d * (1 - states[t + 1] ** 2)
        dw = dw + states[t].T @ d
        d = d @ w.T
    return dw, d


# programs of several loops, or of states that are not what they seem, and how many loops they are
SEVERAL: dict[str, tuple[Callable[..., Any], tuple[Array, ...], int]] = {
    "kept from an early step": (kept_from_an_early_step, (STEPS[0, 0] * 0.1, SQUARE[:5, :5]), 1),
    "one row": (one_row, (STEPS[:, 0, :3], np.ones((1, 3))), 0),
    "two loops": (two_loops, (STEPS, SQUARE[:5, :5]), 2),
    "a gradient": (gradient, (STEPS, SQUARE[:5, :5]), 1),
    "two rows made alike": (tridiagonal, (DIAGONALS, DIAGONALS + 4, DIAGONALS[::-1].copy(), DIAGONALS * 2), 2),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_loops_one_after_the_other(name: str) -> None:
    function, arrays, count = SEVERAL[name]
    result = eqsat.optimize(lambda *a: function(enp, *a), *arrays)
    assert len(loops(result)) == count
    expected = function(np, *(a.copy() for a in arrays))
    for one, other in zip(*(v if isinstance(v, tuple) else (v,) for v in (result(*arrays), expected)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


AS_WRITTEN: dict[str, tuple[Callable[..., Any], Array]] = {
    "one kernel anyway": (by_elements, X),
    "steps differ": (steps_that_differ, X),
    "few steps": (few, X),
    "few places": (few_places, STEPS + 0.5),
}


def loops(result: eqsat.Result) -> list[int]:
    return [placed.step.count for placed in result.parts.steps if isinstance(placed.step, Loop)]


@pytest.mark.parametrize("name", ROLLED)
def test_what_repeats_itself_is_a_loop(name: str) -> None:
    function, arrays, count = ROLLED[name]
    result = eqsat.optimize(lambda *a: function(enp, *a), *arrays)
    found, expected = result(*arrays), function(np, *arrays)
    for one, other in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, expected)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    # a part or two before the loop, where what it begins with is not made as in the others
    assert len(loops(result)) == 1
    assert count - 2 <= loops(result)[0] <= count


@pytest.mark.parametrize("name", AS_WRITTEN)
def test_what_stays_as_it_is_written(name: str) -> None:
    function, x = AS_WRITTEN[name]
    result = eqsat.optimize(lambda x: function(enp, x), x)
    assert loops(result) == []
    np.testing.assert_allclose(result(x), function(np, x), rtol=1e-12)


def test_what_is_read_is_the_same_way_in_every_step() -> None:
    result = eqsat.optimize(lambda x: one_state_that_stays(enp, x), X)
    np.testing.assert_allclose(result(X), one_state_that_stays(np, X), rtol=1e-12)


def test_many_operations_by_elements_are_a_loop() -> None:
    def many(x: Array) -> Array:
        y = x + 1.0
        for _ in range(300):
            y = 0.5 * (y + x / y)
        return y

    assert loops(eqsat.optimize(many, X)) == [299]


def test_a_rolled_program_is_rolled() -> None:
    program = eqsat.trace(lambda u: diffusion(enp, u), X)
    once = rolled(program)
    assert once is not program
    assert rolled(once) is once
    (loop,) = {tensor.step for tensor in tensors(*once.outputs) if isinstance(tensor, StepResult)}
    assert isinstance(loop, Loop)
    assert len(loop.body.inputs) == 2


@given(st.integers(8, 20), st.integers(0, 2), st.integers(1, 3), st.integers(0, 3), st.booleans())
@settings(max_examples=examples(12), deadline=None)
def test_programs_with_loops_are_what_they_are_in_numpy(steps: int, before: int, states: int, behind: int, scaled: bool) -> None:
    """Recurrences over several states, of which several are read behind the loop."""

    def program(xp: Any, x: Array) -> Array:
        found = [xp.roll(x, k) * (1.0 + k) for k in range(states)]
        weight = xp.cos(x) if scaled else 0.25
        for _ in range(steps):
            found.append(0.5 * xp.roll(found[-1], 1) + weight * found[-states] - 0.1 * xp.sum(found[-1 - before % len(found)]))
        return found[-1] + (found[-1 - behind] if behind else 0.0)

    result = eqsat.optimize(lambda x: program(enp, x), X[:17])
    np.testing.assert_allclose(result(X[:17]), program(np, X[:17]), rtol=1e-9, atol=1e-9)
