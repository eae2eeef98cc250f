"""Loops whose kernels write what is carried next over what was carried: which do, and the same values as step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import BoundsError
from eqsat.running.blueprint import Blueprint, PlanLoop

Array = Any
RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal(300), RNG.standard_normal(300)


def repeat(xp: Any, n: int, body: Callable[..., Any], init: Any) -> Any:
    if xp is enp:
        return eqsat.fori(n, body, init)
    carry = tuple(np.array(leaf) for leaf in init)
    for i in range(n):
        carry = tuple(np.array(leaf) for leaf in body(i, carry))
    return carry


def momentum(xp: Any, x: Array, y: Array) -> Any:
    """Both states are read at their own places by the kernel that makes them."""

    def body(i: Any, carry: Any) -> Any:
        w, m = carry
        m = 0.9 * m + w * y - xp.sum(w) / 300
        return w - 0.1 * m, m

    return repeat(xp, 7, body, (x, x * 0))


def gradients(xp: Any, x: Array, y: Array) -> Any:
    """Conjugate gradients: a state that neighbours read is written over behind that."""

    def body(i: Any, carry: Any) -> Any:
        z, r, p, g = carry
        q = xp.pad(p, 1)
        q = 4.0 * p - q[:-2] - q[2:]
        a = g / xp.sum(p * q)
        z, r = z + a * p, r - a * q
        h = xp.sum(r * r)
        return z, r, r + (h / g) * p, h

    return repeat(xp, 6, body, (y * 0, x, x, xp.sum(x * x)))


def neighbours(xp: Any, x: Array, y: Array) -> Any:
    """Others read the elements that are written."""

    def body(i: Any, carry: Any) -> Any:
        u, v = carry
        return 0.5 * xp.roll(u, 1) + 0.1 * xp.sum(v) * v, v * 0.5 + xp.max(u)

    return repeat(xp, 5, body, (x, y))


def handed_on(xp: Any, x: Array, y: Array) -> Any:
    """What was carried is another state next."""

    def body(i: Any, carry: Any) -> Any:
        u, v = carry
        return u / xp.sum(u * u) + v, u

    return repeat(xp, 5, body, (x, y))


def alike(xp: Any, x: Array, y: Array) -> Any:
    """Two states become one array."""

    def body(i: Any, carry: Any) -> Any:
        u, v = carry
        w = u * 0.5 + v / xp.sum(v * v)
        return w, w

    return repeat(xp, 5, body, (x, y))


def read_later(xp: Any, x: Array, y: Array) -> Any:
    """A kernel behind the one that makes the next state reads the one before."""

    def body(i: Any, carry: Any) -> Any:
        u, v = carry
        w = u * 0.5 + xp.sum(v)
        return w, v * 0.3 + xp.sum(w * w) * 0.001 + xp.cumsum(u)[::-1] * 0.01

    return repeat(xp, 5, body, (x, y))


def in_a_loop(xp: Any, x: Array, y: Array) -> Any:
    """A loop in a loop reads the state."""

    def body(i: Any, carry: Any) -> Any:
        u, v = carry

        def inner(k: Any, c: Any) -> Any:
            return (c[0] / (1 + xp.sum(c[0] * c[0])) + u * 0.01,)

        (w,) = repeat(xp, 3, inner, (v,))
        return u * 0.9 + xp.sum(w) * 0.1, w

    return repeat(xp, 4, body, (x, y))


LOOPS: dict[str, tuple[Callable[..., Any], int]] = {
    "momentum": (momentum, 2),
    "gradients": (gradients, 3),
    "neighbours": (neighbours, 0),
    "handed on": (handed_on, 1),
    "alike": (alike, 0),
    "read later": (read_later, 1),
    "in a loop": (in_a_loop, 0),
}


def written_over(blueprint: Blueprint) -> int:
    """How many states the bodies of loops that are no kernels write over."""
    loops = [step for step in blueprint.steps if isinstance(step, PlanLoop)]
    return sum(len(loop.body.over) + written_over(loop.body) for loop in loops)


@pytest.mark.parametrize("name", LOOPS)
def test_states_are_what_they_are_step_by_step(name: str) -> None:
    loop, _ = LOOPS[name]
    function = eqsat.jit(lambda x, y: loop(enp, x, y))
    x, y = X.copy(), Y.copy()
    expected = loop(np, x, y)
    for _ in range(3):  # by Python, and by machine code
        for one, other in zip(function(x, y), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, Y)


@pytest.mark.parametrize("name", LOOPS)
def test_states_are_written_over_where_nothing_reads_them_later(name: str) -> None:
    loop, count = LOOPS[name]
    spec = eqsat.spec((300,), "float64")
    plan = eqsat.optimize(lambda x, y: loop(enp, x, y), spec, spec).compile()
    assert written_over(plan.blueprint) == count


def test_steps_by_python_begin_with_what_was_carried() -> None:
    """Where a place is out of range, or machine code is not used, every step is a call of the body."""

    def stepped(x: Array, y: Array, places: Array) -> Any:
        def body(i: Any, carry: Any) -> Any:
            u, v = carry
            return u * 0.5 + y[places[i]] + xp_sum(v), v * 0.25 + u.max()

        xp_sum = enp.sum
        return eqsat.fori(4, body, (x, y))

    function = eqsat.jit(stepped)
    places = np.array([3, 1, 2, 0])
    u, v = X.copy(), Y.copy()
    for place in places:
        u, v = u * 0.5 + Y[place] + v.sum(), v * 0.25 + u.max()
    found = function(X, Y, places)
    np.testing.assert_allclose(found[0], u, rtol=1e-9)
    np.testing.assert_allclose(found[1], v, rtol=1e-9)
    with pytest.raises(BoundsError):
        function(X, Y, np.array([0, 1, 300, 2]))


def test_a_plan_from_the_disk_writes_over_them_too(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from eqsat.running.packing import pack, unpack
    from eqsat.running.plan import Plan

    spec = eqsat.spec((300,), "float64")
    blueprint = eqsat.optimize(lambda x, y: momentum(enp, x, y), spec, spec).compile().blueprint
    again = unpack(pack(blueprint, []), [])
    assert written_over(again) == written_over(blueprint) == 2
    for one, other in zip(Plan(again)(X, Y), momentum(np, X, Y), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
