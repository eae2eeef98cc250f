"""Matrices, with rows, columns and numbers beside them, combined and folded in several ways at once: what NumPy computes, whatever their
shapes are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from tests.effort import examples

Array = Any
EXTENTS = (1, 2, 3, 4, 5, 8, 12, 16, 17, 31, 48, 64, 100, 128, 130, 256, 400, 1000, 2049, 5000)
MOST_ELEMENTS = 300_000
ELEMENTWISE: dict[str, Callable[[Any, Array, Array], Array]] = {
    "add": lambda xp, p, q: p + q,
    "subtract": lambda xp, p, q: p - q,
    "multiply": lambda xp, p, q: p * q,
    "maximum": lambda xp, p, q: xp.maximum(p, q),
    "apart": lambda xp, p, q: xp.abs(p - q),
    "where": lambda xp, p, q: xp.where(p > q, p, q * 2),
    "clip": lambda xp, p, q: xp.clip(p, -1, 2),
    "square": lambda xp, p, q: p * p,
    "flip": lambda xp, p, q: xp.flip(p, -1),
    "below": lambda xp, p, q: p - xp.max(p, axis=0, keepdims=True),
    "about": lambda xp, p, q: p - xp.min(p, axis=-1, keepdims=True),
}
FOLDS: dict[str, Callable[[Any, Array, Any], Array]] = {
    "sum": lambda xp, p, axis: xp.sum(p, axis=axis),
    "mean": lambda xp, p, axis: xp.mean(p, axis=axis, keepdims=True),
    "max": lambda xp, p, axis: xp.max(p, axis=axis),
    "min": lambda xp, p, axis: xp.min(p, axis=axis, keepdims=True),
    "std": lambda xp, p, axis: xp.std(p, axis=axis),
    "any": lambda xp, p, axis: xp.any(p > 1, axis=axis),
    "none": lambda xp, p, axis: p * 1,
}
# programs that once ended with an internal error: names that two loops bound, what both loops of no product change, folds of folds in parts
KNOWN: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "rows that are repeated": (lambda xp, x, w, b: xp.sum(xp.abs(x * w + b), axis=0), ((400, 4), (4,), (4,))),
    "what both change": (
        lambda xp, x, b, c: (lambda v: (v.mean(1), (v * xp.abs(c * c - x)).sum(1)))(b - xp.max(b, axis=1, keepdims=True)),
        ((128, 17, 16), (1, 17, 16), (128, 17, 1)),
    ),
    "folds of folds beside others": (lambda xp, x, y: (xp.max(x * y, axis=0), xp.std(x)), ((5, 5000), (5, 5000))),
    "folds of folds beside what is stored": (lambda xp, x, y: (x * y, xp.std(x), xp.var(y)), ((5, 400, 48), (5, 400, 48))),
}


def check(function: Callable[..., Any], arrays: list[Array]) -> None:
    """Whole numbers, all that is made of which is exact but for means and deviations."""
    found, expected = (
        one if isinstance(one, tuple) else (one,)
        for one in (eqsat.optimize(lambda *a: function(enp, *a), *arrays)(*arrays), function(np, *arrays))
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", KNOWN)
def test_programs_that_were_no_kernels(name: str) -> None:
    function, shapes = KNOWN[name]
    rng = np.random.default_rng(0)
    check(function, [rng.integers(-4, 5, shape).astype("f8") for shape in shapes])


@settings(max_examples=examples(60), deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_random_matrices_combined_and_folded(data: st.DataObject) -> None:
    draw = data.draw
    shape = tuple(draw(st.lists(st.sampled_from(EXTENTS), min_size=2, max_size=3)))
    while np.prod(shape) > MOST_ELEMENTS:
        shape = (shape[0] // 4, *shape[1:]) if shape[0] > 8 else shape[1:]
    fewer = st.tuples(*(st.sampled_from((1, n)) for n in shape))
    shapes = [shape, *draw(st.lists(st.one_of(fewer, st.just(shape), st.just(shape[-1:])), min_size=1, max_size=3))]
    steps = draw(st.lists(st.tuples(st.sampled_from(sorted(ELEMENTWISE)), st.integers(0, 7), st.integers(0, 7)), min_size=1, max_size=5))
    axes = st.sampled_from((None, *range(len(shape))))
    folds = draw(st.lists(st.tuples(st.sampled_from(sorted(FOLDS)), st.integers(0, 2), axes), min_size=1, max_size=3))
    rng = np.random.default_rng(draw(st.integers(0, 99)))

    def program(xp: Any, *arrays: Array) -> tuple[Array, ...]:
        made = list(arrays)
        for op, one, other in steps:
            made.append(ELEMENTWISE[op](xp, made[one % len(made)], made[other % len(made)]))
        outputs = [(FOLDS[fold], made[-1 - back % len(made)], axis) for fold, back, axis in folds]
        return tuple(fold(xp, one, None if axis is None else axis % one.ndim) for fold, one, axis in outputs)

    check(program, [rng.integers(-2, 3, one).astype("f8") for one in shapes])
