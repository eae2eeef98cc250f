"""Kernels that store what they compute on their way to other results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from tests.effort import examples

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(0)
X, Y, Z = (RNG.uniform(0.5, 2, (48, 37)).astype("float32") for _ in range(3))


def step(p: Any, g: Any, m: Any) -> Any:
    """A step of gradient descent with momentum; so many operations behind it that they are not computed twice."""
    m = 0.9 * m + 0.1 * g
    return p - 0.01 * m / enp.sqrt(m * m + 1.0), m


def saved(x: Any, y: Any) -> Any:
    z = x + y
    return z, enp.maximum(z - 1.0, 0.0), z > 1.0


def twice(x: Any, y: Any, z: Any) -> Any:
    e = enp.exp(x)
    return e * y, e * z


def in_turn(x: Any, y: Any) -> Any:
    a = x * 2.0
    b = enp.sqrt(a) + y
    return a, b, b / (a + b)


def waits(x: Any, y: Any) -> Any:
    """What is made of a sum of the first result is not there when the first result is made."""
    a = x * y
    return a, a / a.sum(axis=1, keepdims=True)


def turned(x: Any) -> Any:
    a = enp.exp(x)
    return a, a + a[::-1]


def later(x: Any, y: Any) -> Any:
    """Two on one level behind a sum, and one before it."""
    a = x * y
    b = a / a.sum(axis=0)
    return a, b, b - a, enp.tanh(b - a)


# name -> function, arguments, kernels
CASES: dict[str, tuple[Any, list[Array], int]] = {
    "a step of gradient descent": (step, [X, Y, Z], 1),
    "what is kept for a gradient": (saved, [X, Y], 1),
    "what two results are made of": (twice, [X, Y, Z], 1),
    "results of results": (in_turn, [X, Y], 1),
    "a result that waits for a sum": (waits, [X, Y], 2),
    "a result made of other places": (turned, [X], 2),
    "results before and behind a sum": (later, [X, Y], 3),
}


@pytest.mark.parametrize("numerics", ["exact", "default", "fast"])
@pytest.mark.parametrize("name", CASES)
def test_what_is_made_element_by_element_is_made_at_once(name: str, numerics: eqsat.Numerics) -> None:
    function, args, kernels = CASES[name]
    result = eqsat.optimize(function, *args, options=eqsat.Options(numerics=numerics))
    assert len(result.nests) <= kernels
    found = result(*args)
    for one, expected in zip(found, function(*args), strict=True):
        assert one.dtype == expected.dtype
        np.testing.assert_allclose(one, expected, rtol=1e-5, atol=1e-6)
    assert not any(np.shares_memory(one, other) for k, one in enumerate(found) for other in (*found[:k], *args))


def test_what_nothing_else_reads_is_not_stored() -> None:
    result = eqsat.optimize(twice, X, Y, Z)
    (nest,) = result.nests
    assert len(nest.made) == 2
    assert [tensor.shape for tensor in nest.within] == [X.shape]
    assert sum(buffer.role == "out" for buffer in nest.kernel.buffers) == 2


def test_the_program_that_is_shown_stays_as_it_was_found() -> None:
    """It tells what is made of what; the loops tell how."""
    result = eqsat.optimize(in_turn, X, Y)
    first, second, third = result.program.outputs
    assert second in eqsat.ir.tensor.sources(third)
    assert first in eqsat.ir.tensor.sources(second)
    assert set(result.program.outputs) == set(result.nests[0].made)


def test_other_sizes_and_one_row() -> None:
    n = eqsat.dim("n", 1, 300)
    plan = eqsat.optimize(step, *(eqsat.spec((n, 37), "float32") for _ in range(3))).compile()
    assert len(plan.kernels) == 1
    for rows in (1, 2, 37, 300):
        args = [RNG.uniform(0.5, 2, (rows, 37)).astype("float32") for _ in range(3)]
        for one, expected in zip(plan(*args), step(*args), strict=True):
            np.testing.assert_allclose(one, expected, rtol=1e-5)


def test_what_is_compared_with_what_is_made_of_it_is_computed_once() -> None:
    """A product that is added to something is rounded in memory and not in a register."""

    def function(x: Any, y: Any) -> Any:
        a = x * y + x
        return a, a * 2.0, a == enp.max(a, axis=1, keepdims=True)

    found = eqsat.optimize(function, X, Y)(X, Y)
    assert found[2].sum(axis=1).min() == 1
    np.testing.assert_array_equal(found[2], found[0] == found[0].max(axis=1, keepdims=True))


def test_siblings_that_a_build_leaves_count() -> None:
    """f and g share the load of a: g is not taken from f for what it would save beside a and c."""

    def function(x: Any, y: Any) -> Any:
        a = enp.where(x > x, x, x * 0.25)
        e = enp.maximum(a, 1.0) - enp.minimum(a, 0.5)
        d = enp.sort(y, axis=1) + a
        return a, x + x + 1.0, d + 1.0, enp.where(e > e, e, e * 0.25)

    specs = [eqsat.spec((60, 110), "float64")] * 2
    found = eqsat.optimize(function, *specs)
    assert sorted(len(nest.made) for nest in found.nests) == [2, 2]


OPERATIONS: list[Any] = [
    lambda a, b: a + b,
    lambda a, b: a * b - 0.5,
    lambda a, b: enp.sqrt(abs(a)) + b,
    lambda a, b: enp.exp(enp.minimum(a, b)),
    lambda a, b: a[::-1] + b,
    lambda a, b: a - enp.sum(b, axis=0),
    lambda a, b: enp.where(a > b, a, b * 0.25),
]
# (operation, operands by how far back they are) of every step
Steps = list[tuple[int, int, int]]


@settings(max_examples=examples(80), deadline=None)
@given(
    steps=st.lists(st.tuples(st.integers(0, len(OPERATIONS) - 1), st.integers(1, 4), st.integers(1, 4)), min_size=2, max_size=6),
    kept=st.integers(0, 63),
)
def test_programs_with_several_results_are_what_numpy_computes(steps: Steps, kept: int) -> None:
    def function(x: Any, y: Any) -> Any:
        made = [x, y]
        for operation, one, other in steps:
            made.append(OPERATIONS[operation](made[-min(one, len(made))], made[-min(other, len(made))]))
        return tuple(one for k, one in enumerate(made[2:]) if kept >> k & 1 or k == len(steps) - 1)

    args = X[:6, :11].copy() - 1.0, Y[:6, :11].copy() - 1.0
    with np.errstate(all="ignore"):
        wide = function(*(one.astype("float64") for one in args))
    found = eqsat.optimize(function, *args, options=eqsat.Options(numerics="exact"))(*args)
    for one, expected in zip(found, wide, strict=True):
        finite = np.isfinite(expected) & (abs(expected) < 1e6)
        np.testing.assert_allclose(one[finite], expected[finite], rtol=1e-3, atol=1e-3)
