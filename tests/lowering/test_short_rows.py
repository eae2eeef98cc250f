"""Kernels along the same short rows as one: the same values, chosen for what needs several passes over rows, and nothing else joined."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat.ir.generics import as_builds
from eqsat.ir.tensor import Build, tensors
from eqsat.lowering.folds.short_rows import as_one
from tests.effort import some

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(11)
W = RNG.standard_normal((12, 10)).astype("float32")


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def log_softmax(x: Any) -> Any:
    y = x - x.max(axis=-1, keepdims=True)
    return y - np.log(np.exp(y).sum(axis=-1, keepdims=True))


def gated(x: Any) -> Any:
    """Two functions of elements, each for a sum and for the result."""
    s, t = 1 / (1 + np.exp(-x)), np.tanh(x)
    return s * t.sum(axis=-1, keepdims=True) - t * s.sum(axis=-1, keepdims=True)


def backwards(x: Any) -> Any:
    """What is read the other way round in its row is of the same row."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e[..., ::-1] / e.sum(axis=-1, keepdims=True)


def entropy(x: Any) -> Any:
    p = softmax(x)
    return -(p * np.log(p + 1e-6)).sum(axis=-1)


PROGRAMS = (softmax, log_softmax, gated, backwards, entropy)
SHAPES = [(1797, 10), (16, 2), (33, 64), (4, 30, 7), (2, 3, 5, 9)]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", some(SHAPES, 3))
def test_programs_equal_numpy(function: Callable[[Any], Any], shape: tuple[int, ...], dtype: str) -> None:
    x = RNG.uniform(-3, 3, shape).astype(dtype)
    expected = function(x.astype("float64"))
    allowed = (3e-6 if dtype == "float32" else 1e-13) * max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(eqsat.optimize(function, x)(x), expected, rtol=0, atol=allowed)


@pytest.mark.parametrize("seed", some(range(40), 12))
def test_random_passes_over_rows_equal_numpy(seed: int) -> None:
    rng = random.Random(seed)
    steps: list[Callable[[Any], Any]] = [
        lambda x: x - x.max(axis=-1, keepdims=True),
        lambda x: np.exp(x * 0.25),
        lambda x: np.tanh(x),
        lambda x: x / (1 + np.abs(x).sum(axis=-1, keepdims=True)),
        lambda x: x * x.mean(axis=-1, keepdims=True),
        lambda x: x[..., ::-1] * 0.5 + x,
        lambda x: np.where(x > x.min(axis=-1, keepdims=True), x, 0.5),
    ]
    chosen = [rng.choice(steps) for _ in range(rng.randint(2, 5))]
    last: Callable[[Any], Any] = rng.choice([lambda x: x, lambda x: x.sum(axis=-1), lambda x: x.argmax(axis=-1)])

    def function(x: Any) -> Any:
        for step in chosen:
            x = step(x)
        return last(x)

    x = np.random.default_rng(seed).uniform(-2, 2, (rng.choice((16, 50, 333)), rng.choice((2, 5, 10, 17, 33))))
    np.testing.assert_allclose(eqsat.optimize(function, x)(x), function(x), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("columns", [3, 10, 40])
def test_the_greatest_is_among_the_elements(columns: int) -> None:
    """What is compared with what is made of it is computed once, whatever is contracted in which loop."""

    def found(x: Any) -> Any:
        y = np.exp(x * 1.1 + 0.3) * x + x * 0.7
        return (y == y.max(axis=-1, keepdims=True)).sum(axis=-1)

    x = RNG.uniform(-2, 2, (5000, columns)).astype("float32")
    np.testing.assert_array_equal(eqsat.optimize(found, x)(x), np.ones(5000))


@pytest.mark.parametrize("function", [softmax, backwards, entropy], ids=lambda function: function.__name__)
def test_several_passes_over_short_rows_are_one_kernel(function: Callable[[Any], Any]) -> None:
    assert len(eqsat.optimize(function, eqsat.spec((10_000, 10), "float32")).nests) == 1


def joined(function: Callable[[Any], Any], shape: tuple[int, ...]) -> int | None:
    """How many producers of the last build, in the order in which they are read, go along its rows."""
    program = as_builds(eqsat.trace(function, eqsat.spec(shape, "float32")))
    *others, last = (tensor for tensor in tensors(*program.outputs) if isinstance(tensor, Build))
    found = as_one((last,), others[::-1])
    return None if found is None else found[0]


def test_only_what_goes_along_the_rows_is_joined() -> None:
    def less_its_sum(x: Any) -> Any:
        return x - x.sum(axis=-1, keepdims=True)

    assert joined(lambda x: less_its_sum(np.exp(x)), (100, 10)) == 2
    assert joined(lambda x: less_its_sum(np.tanh(x @ W)), (100, 12)) == 2, "a product is computed once"
    assert joined(lambda x: less_its_sum(np.exp(x)[1:]), (100, 10)) == 2, "what is read in other rows is computed before"
    assert joined(lambda x: less_its_sum(np.exp(x).T), (50, 50)) == 2, "so is what is read in columns"
    assert joined(lambda x: less_its_sum(np.exp(x)), (100, 65)) is None, "long rows"
    assert joined(lambda x: less_its_sum(np.exp(x)), (15, 10)) is None, "few rows"
    assert joined(lambda x: np.exp(x) + 1, (100, 10)) is None, "nothing is folded"


def test_what_is_computed_but_once_is_not_joined() -> None:
    program = as_builds(eqsat.trace(softmax, eqsat.spec((100, 10), "float32")))
    *others, last = (tensor for tensor in tensors(*program.outputs) if isinstance(tensor, Build))
    producers = others[::-1]
    assert as_one((last,), producers) is not None
    for k, producer in enumerate(producers):
        found = as_one((last,), producers, (producer,))
        assert (0 if found is None else found[0]) <= k
