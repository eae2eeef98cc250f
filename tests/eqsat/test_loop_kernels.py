"""Loops whose steps are made element by element, as one kernel: the same values as step by step, and which loops are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import BoundsError
from tests.effort import examples

Array = Any
RNG = np.random.default_rng(0)


def repeat(xp: Any, n: int, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """eqsat.fori, or what it means."""
    if xp is enp:
        return eqsat.fori(n, body, init)
    carry = tuple(np.array(leaf) for leaf in init) if isinstance(init, tuple) else np.array(init)
    for i in range(n):
        carry = body(i, carry)
    return carry


def smoothed(xp: Any, x: Array) -> Array:
    """Every state is put, from the second place on."""

    def body(i: Any, carry: Any) -> Any:
        h, y = carry
        h = 0.25 * x[i + 1] + 0.75 * h
        y[i + 1] = h
        return h, y

    first = xp.concatenate([x[:1], xp.zeros((x.shape[0] - 1, *x.shape[1:]))])
    return repeat(xp, x.shape[0] - 1, body, (x[0] * 1.0, first))[1]


def envelope(xp: Any, x: Array) -> Array:
    def body(i: Any, carry: Any) -> Any:
        e, y = carry
        level = xp.abs(x[i])
        e = e + xp.where(level > e, 0.1, 0.001) * (level - e)
        y[i] = e
        return e, y

    return repeat(xp, x.shape[0], body, (xp.zeros(()), xp.zeros(x.shape[0])))


def biquad(xp: Any, x: Array, b: Array, a: Array) -> Array:
    def body(i: Any, carry: Any) -> Any:
        s, t, y = carry
        v = b[0] * x[i] + s
        y[i] = v
        return b[1] * x[i] - a[0] * v + t, b[2] * x[i] - a[1] * v, y

    z = xp.zeros(x.shape[1], x.dtype)
    return repeat(xp, x.shape[0], body, (z, z, xp.zeros(x.shape, x.dtype)))


def backwards(xp: Any, x: Array) -> Array:
    """What is put may be read, at places before."""
    n = x.shape[0]

    def body(i: Any, y: Any) -> Any:
        y[n - 2 - i] = x[n - 2 - i] + 0.5 * y[n - 1 - i]
        return y

    return repeat(xp, n - 1, body, x * 1.0)


def refined(xp: Any, x: Array) -> Array:
    """What is put is read at the same place, which only this step puts."""
    n = x.shape[0]

    def body(i: Any, carry: Any) -> Any:
        h, y = carry
        h = 0.7 * h + 0.3 * y[n - 1 - i]
        y[n - 1 - i] = h * y[n - 1 - i]
        return h, y

    return repeat(xp, n, body, (x[0] * 1.0, x * 2.0))[1]


def twice(xp: Any, x: Array) -> Array:
    """A place is put twice, and another step comes to it."""
    n = x.shape[0]

    def body(i: Any, y: Any) -> Any:
        y[i] = y[i] * 0.5 + x[0]
        y[n - 1 - i] = y[n - 1 - i] - y[i]
        return y

    return repeat(xp, n, body, x * 1.0)


def added_twice(xp: Any, x: Array) -> Array:
    """A place is put twice, by one step, from the second place on."""

    def body(i: Any, y: Any) -> Any:
        y[i + 1] += x[i]
        y[i + 1] += x[i] * x[i]
        return y

    return repeat(xp, x.shape[0] - 2, body, xp.zeros(x.shape))


def at_one_place(xp: Any, x: Array) -> Array:
    """Every step reads what the one before it put."""

    def body(i: Any, y: Any) -> Any:
        y[3] = 0.5 * y[3] + x[i]
        return y

    return repeat(xp, x.shape[0], body, x * 1.0)


def together(xp: Any, x: Array) -> Array:
    """What a step makes on the way is read by two states, one of which is written over it."""

    def body(i: Any, carry: Any) -> Any:
        c, d = carry
        a = -0.25 * x[i]
        q = 1 / (4 + x[i + 1] - c * a)
        return 0.25 * x[i + 1] * q, (x[i + 1] - d * a) * q

    return xp.concatenate(repeat(xp, x.shape[0] - 1, body, (x[0] * 1.0, x[1] * 1.0)))


def triangle(xp: Any, x: Array) -> Array:
    """Elements read what their neighbours put."""

    def body(i: Any, t: Any) -> Any:
        t[i + 1] = xp.minimum(t[i], xp.concatenate([t[i][:1], t[i][:-1]])) + x[i + 1]
        return t

    first = xp.concatenate([x[:1], xp.zeros((x.shape[0] - 1, x.shape[1]))])
    return repeat(xp, x.shape[0] - 1, body, first)


def columns(xp: Any, x: Array) -> Array:
    """Places along the last axis."""

    def body(j: Any, carry: Any) -> Any:
        total, y = carry
        total = total + x[:, j]
        y[:, j] = total
        return total, y

    return repeat(xp, x.shape[1], body, (xp.zeros(x.shape[0]), xp.zeros(x.shape)))


def escape(xp: Any, re: Array, im: Array) -> Array:
    def body(i: Any, carry: Any) -> Any:
        zr, zi, count = carry
        r2, i2 = zr * zr, zi * zi
        inside = r2 + i2 <= 4.0
        return xp.where(inside, r2 - i2 + re, zr), xp.where(inside, 2.0 * zr * zi + im, zi), count + inside

    z = xp.zeros(re.shape)
    return repeat(xp, 15, body, (z, z, xp.zeros(re.shape, np.int64)))[2]


def divisors(xp: Any, a: Array, b: Array) -> Array:
    def body(i: Any, carry: Any) -> Any:
        p, q = carry
        end = q == 0
        return xp.where(end, p, q), xp.where(end, 0, p % xp.where(end, 1, q))

    return repeat(xp, 12, body, (a, b))[0]


def changing_places(xp: Any, x: Array, y: Array) -> Array:
    return repeat(xp, 7, lambda i, c: (c[1] + 1.0, c[0] * 0.5 + i), (x, y))


def flags(xp: Any, x: Array) -> Array:
    """A truth value that is carried, and a table that is known."""
    table = xp.asarray([3, 1, 4, 1, 5, 9, 2, 6])
    return repeat(xp, 8, lambda i, c: (c[0] | (x > table[i]), c[1] ^ (x < 5)), (x > 8, x > 2))


def by_rows(xp: Any, x: Array, w: Array) -> Array:
    """A factor of rows, and one of columns."""
    return repeat(xp, 5, lambda i, c: c * w[:, None] + x[0] * i, x)


def of_two_lengths(xp: Any, x: Array, y: Array) -> Array:
    return repeat(xp, 5, lambda i, c: (c[0] * 0.5 + i, c[1] * 0.9), (x, y))


def two_histories(xp: Any, x: Array, y: Array) -> Array:
    def body(i: Any, carry: Any) -> Any:
        h, a, b = carry
        a[i] = h * 2
        b[i] = y * i
        return h + x[i], a, b

    return repeat(xp, 9, body, (x[0], xp.zeros((9, x.shape[1])), xp.zeros((9, y.shape[0]))))


def places_that_wrap(xp: Any, z: Array) -> Array:
    """The counter in eight bits begins anew."""

    def body(i: Any, carry: Any) -> Any:
        h, y = carry
        place = xp.asarray(i).astype(np.uint8)
        y[place] = z[i]
        return h + z[place], y

    return repeat(xp, 300, body, (z[0] * 0, z * 0))


F, G = RNG.standard_normal((40, 37)), RNG.standard_normal((24, 64)).astype(np.float32)
LONG = RNG.standard_normal((9, 1001))
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Array, ...]]] = {
    "smoothed": (smoothed, (F,)),
    "smoothed, many elements": (smoothed, (LONG,)),
    "smoothed numbers": (smoothed, (F[:, 0].copy(),)),
    "envelope": (envelope, (F[:, 0].copy(),)),
    "biquad": (biquad, (G, G[0, :3].copy(), G[1, :2].copy())),
    "backwards": (backwards, (F,)),
    "backwards, many elements": (backwards, (LONG,)),
    "refined": (refined, (F,)),
    "refined, many elements": (refined, (LONG,)),
    "added twice": (added_twice, (F,)),
    "added twice, many elements": (added_twice, (LONG,)),
    "at one place": (at_one_place, (F,)),
    "together": (together, (F,)),
    "triangle": (triangle, (F,)),
    "columns": (columns, (F,)),
    "columns of many rows": (columns, (np.ascontiguousarray(LONG.T),)),
    "escape": (escape, (RNG.uniform(-2, 1, (30, 41)), RNG.uniform(-1, 1, (30, 41)))),
    "divisors": (divisors, (RNG.integers(1, 999, 201), RNG.integers(1, 999, 201))),
    "changing places": (changing_places, (F[0], F[1])),
    "flags": (flags, (RNG.integers(0, 10, 50),)),
    "by rows": (by_rows, (F, F[:, 1].copy())),
    "of two lengths": (of_two_lengths, (F[0], F[:5, 0].copy())),
    "two histories": (two_histories, (F, F[:5, 0].copy())),
}
# loops that are none, for what they do in a step
OTHERS: dict[str, tuple[Callable[..., Any], tuple[Array, ...]]] = {
    "places that wrap": (places_that_wrap, (np.arange(300.0),)),
    "many short rows": (by_rows, (RNG.random((300, 2)), RNG.random(300))),
    "twice": (twice, (F,)),
    "neighbours": (lambda xp, x: repeat(xp, 6, lambda i, c: 0.5 * (c + xp.roll(c, 1)), x), (F[0],)),
    "sums": (lambda xp, x: repeat(xp, 6, lambda i, c: c / xp.sum(c), x), (np.abs(F[0]),)),
    "what is stored in a step": (triangle, (LONG,)),
    "products": (lambda xp, a, v: repeat(xp, 6, lambda i, c: a @ c, v), (RNG.random((9, 9)), F[0, :9].copy())),
}


def compared(function: Callable[..., Any], arrays: tuple[Array, ...]) -> eqsat.Result:
    result = eqsat.optimize(lambda *a: function(enp, *a), *arrays)
    found, expected = result(*arrays), function(np, *arrays)
    for one, other in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, expected)), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=2e-5 if one.dtype == np.float32 else 1e-11, atol=1e-6)
    return result


@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_by_elements_are_kernels(name: str) -> None:
    assert compared(*PROGRAMS[name]).compile().blueprint.steps == ()


@pytest.mark.parametrize("name", OTHERS)
def test_other_loops_stay_steps(name: str) -> None:
    assert len(compared(*OTHERS[name]).compile().blueprint.steps) == 1


def test_a_loop_in_a_loop_knows_both_counters() -> None:
    def program(xp: Any, x: Array) -> Array:
        return repeat(xp, 3, lambda i, c: repeat(xp, 4, lambda j, d: d * 0.5 + x * j - i, c), x)

    compared(program, (F[0],))


def test_what_is_given_stays_as_it_is_and_every_call_begins_anew() -> None:
    x = F.copy()
    compiled = eqsat.jit(lambda x: smoothed(enp, x))
    for _ in range(4):  # the last ones without Python
        np.testing.assert_allclose(compiled(x), smoothed(np, F), rtol=1e-12)
    np.testing.assert_array_equal(x, F)


def test_a_place_out_of_range_is_an_error() -> None:
    def program(x: Array, k: Array) -> Array:
        def body(i: Any, y: Any) -> Any:
            y[k + i] = x[i]
            return y

        return eqsat.fori(5, body, x)

    compiled = eqsat.jit(program)
    np.testing.assert_array_equal(compiled(np.arange(9.0), np.array(4))[4:], np.arange(5.0))
    with pytest.raises(BoundsError):
        compiled(np.arange(9.0), np.array(5))


@st.composite
def loops(draw: st.DrawFn) -> tuple[int, list[tuple[Any, ...]], int, int, int]:
    """Steps, what each state becomes, lanes, how far back what is put is read, and at what distance along a row."""
    states = draw(st.integers(1, 3))
    kinds = st.sampled_from(("add", "mul", "where", "take", "counter", "state"))
    rules = [tuple(draw(kinds) for _ in range(draw(st.integers(1, 3)))) for _ in range(states)]
    return draw(st.integers(1, 9)), rules, draw(st.sampled_from((1, 3, 8, 37, 131))), draw(st.integers(0, 2)), draw(st.integers(-1, 1))


@given(loops(), st.integers(0, 1000))
@settings(max_examples=examples(60), deadline=None)
def test_random_loops_are_what_they_are_in_numpy(loop: tuple[int, list[tuple[Any, ...]], int, int, int], seed: int) -> None:
    steps, rules, lanes, back, away = loop
    rng = np.random.default_rng(seed)
    x, table = rng.standard_normal((steps + 2, lanes)), rng.standard_normal(steps + 2)

    def program(xp: Any, x: Array, table: Array) -> Any:
        def body(i: Any, carry: Any) -> Any:
            *states, y = carry
            new = []
            for k, rule in enumerate(rules):
                value = states[k]
                for kind in rule:
                    other = states[(k + 1) % len(states)]
                    if kind == "add":
                        value = value + 0.5 * x[i + 2]
                    elif kind == "mul":
                        value = value * table[i]
                    elif kind == "where":
                        value = xp.where(value > 0.1, value - 0.3, value * 0.5)
                    elif kind == "take":
                        read = y[i + 2 - back] if back else y[i + 1]
                        value = value - 0.25 * (xp.roll(read, away) if away else read)
                    elif kind == "counter":
                        value = value + i * 0.125
                    else:
                        value = 0.5 * (value + other)
                new.append(value)
            y[i + 2] = new[0]
            return (*new, y)

        zero = xp.zeros(x.shape[1])
        return repeat(xp, steps, body, (*(zero + 0.1 * k for k in range(len(rules))), x * 2.0))

    compared(program, (x, table))


def test_what_steps_put_backwards_is_not_filled_before() -> None:
    x = np.random.default_rng(5).random((60, 40))

    def backwards(a: Any, first: Any) -> Any:
        def body(i: Any, state: Any) -> Any:
            h, y = state
            h = h * 0.5 + (a[59 - i] if first is None else y[59 - i])
            return h, enp.scatter(y, 59 - i if first is None else 58 - i, h)

        start = enp.zeros_like(a) if first is None else first
        return eqsat.fori(60 if first is None else 59, body, (a[0] * 0, start))[1]

    expected, again, h = np.zeros_like(x), x.copy(), x[0] * 0
    for i in range(60):
        h = h * 0.5 + x[59 - i]
        expected[59 - i] = h
    h = x[0] * 0
    for i in range(59):
        h = h * 0.5 + again[59 - i]
        again[58 - i] = h
    put = eqsat.optimize(lambda a: backwards(a, None), x)
    assert "every" not in str(put.loops)
    np.testing.assert_allclose(put(x), expected, rtol=1e-12)
    read = eqsat.optimize(lambda a: backwards(a, a * 1), x)
    assert "in 0..39 parallel:\n        loop_0.1[every" in str(read.loops)  # the last row alone, which no step puts
    np.testing.assert_allclose(read(x), again, rtol=1e-12)
