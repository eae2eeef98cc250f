"""Stacks and concatenations of views of one tensor: one read at a place that is chosen, where that is cheaper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from numpy.lib.stride_tricks import sliding_window_view

import eqsat
import eqsat.numpy as enp
from eqsat.ir.tensor import Build, Read, Reduce, scalars, tensors
from tests.effort import examples

SOME = settings(max_examples=examples(12, least=4), deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
RNG = np.random.default_rng(7)
IMAGES, LONG = RNG.random((2, 3, 10, 12), "float32"), RNG.random(70)


def windows(xp: Any, x: Any, axis: int) -> Any:
    return xp.stack([x[:, :, i : i + 8, j : j + 10] for i in range(3) for j in range(3)], axis)


ONE_READ: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "windows of images": (lambda xp, x: windows(xp, x, 2), IMAGES),
    "columns of images": (lambda xp, x: windows(xp, x, 2).reshape(2, 27, 80), IMAGES),
    "columns of the images of a strip": (lambda xp, x: windows(xp, x.reshape(2, 3, 10, 12), 2).reshape(2, 27, 80), IMAGES.ravel()),
    "shifted copies": (lambda xp, x: xp.stack([x[k : k + 64] for k in range(7)]), LONG),
    "shifted copies as columns": (lambda xp, x: xp.stack([x[k : k + 64] for k in range(7)], axis=1), LONG),
    "every second copy": (lambda xp, x: xp.stack([x[2 * k : 2 * k + 50] for k in range(9)])[:, ::5], LONG),
    "rows in another order": (lambda xp, x: xp.stack([x[6 - k] for k in range(7)]), LONG.reshape(7, 10)),
    "blocks side by side": (lambda xp, x: xp.concatenate([xp.stack([x[i::2, j::4] for j in range(4)]) for i in range(2)]), IMAGES[0, 0]),
}


def reads(result: eqsat.Result) -> int:
    """How many loads an element of the results takes."""
    builds = [tensor for tensor in tensors(*result.program.outputs) if isinstance(tensor, Build)]
    return sum(isinstance(term, Read) for build in builds for term in scalars(build.body))


@pytest.mark.parametrize("name", ONE_READ)
def test_views_of_one_tensor_side_by_side_are_one_read(name: str) -> None:
    """Whether that is seen when the program is recorded or in the e-graph."""
    function, x = ONE_READ[name]
    result = eqsat.optimize(lambda x: function(enp, x), x)
    np.testing.assert_array_equal(result(x), function(np, x))
    assert reads(result) == 1


@pytest.mark.parametrize("name", ONE_READ)
def test_views_of_one_tensor_side_by_side_are_one_view(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row of the e-graph, without what is seen of the pieces before."""
    monkeypatch.setattr("eqsat.operations.joining.alike", lambda pieces: None)
    function, x = ONE_READ[name]
    result = eqsat.optimize(lambda x: function(enp, x), x)
    np.testing.assert_array_equal(result(x), function(np, x))
    assert reads(result) == 1
    assert result.report.matches["element-of-choices"]


def test_a_convolution_by_columns_stores_no_columns() -> None:
    """Nine shifted copies times weights are a fold over reads of the image."""
    weights = RNG.random((5, 27), "float32")

    def convolved(xp: Any, x: Any, w: Any) -> Any:
        return w @ windows(xp, x, 2).reshape(2, 27, 80)

    result = eqsat.optimize(lambda x, w: convolved(enp, x, w), IMAGES, weights)
    np.testing.assert_allclose(result(IMAGES, weights), convolved(np, IMAGES, weights), rtol=1e-5)
    (build,) = (tensor for tensor in tensors(*result.program.outputs) if isinstance(tensor, Build) and has_fold(tensor))
    assert reads(result) == 2
    assert build.size == 2 * 5 * 80


def has_fold(build: Build) -> bool:
    return any(isinstance(term, Reduce) for term in scalars(build.body))


def test_shifts_of_which_each_wraps_elsewhere_are_read_one_by_one() -> None:
    """Their one place is a remainder of two loops, which no piece of a loop is free of."""
    x = RNG.random((64, 512), "float32")
    result = eqsat.optimize(lambda x: enp.stack([enp.roll(x, k, 1) for k in range(5)]), x)
    np.testing.assert_array_equal(result(x), np.stack([np.roll(x, k, 1) for k in range(5)]))
    assert reads(result) == 5


VIEWS: tuple[Callable[[Any, Any, int], Any], ...] = (
    lambda xp, x, k: x[k % 4 : k % 4 + 3],
    lambda xp, x, k: xp.flip(x, k % 2)[k % 3 : k % 3 + 3],
    lambda xp, x, k: xp.roll(x, k, k % 2)[:3],
    lambda xp, x, k: x[::2][:3],
    lambda xp, x, k: x.reshape(10, 7).T[:3, :10],
    lambda xp, x, k: xp.repeat(x, 2, 0)[k % 5 : k % 5 + 3],
)
JOINED: tuple[Callable[[Any, list[Any]], Any], ...] = (
    lambda xp, parts: xp.stack(parts),
    lambda xp, parts: xp.stack(parts, axis=-1),
    lambda xp, parts: xp.concatenate(parts, axis=1),
    lambda xp, parts: xp.concatenate(parts)[::-1],
    lambda xp, parts: xp.stack(parts, axis=1).reshape(-1, 5),
    lambda xp, parts: xp.concatenate([xp.stack(parts[:2]), xp.stack(parts[-2:])]).T,
)


@SOME
@given(st.lists(st.tuples(st.sampled_from(VIEWS), st.integers(0, 9)), min_size=2, max_size=5), st.sampled_from(JOINED), st.booleans())
def test_any_views_joined_in_any_way_are_what_numpy_makes_of_them(
    parts: list[tuple[Callable[[Any, Any, int], Any], int]], join: Callable[[Any, list[Any]], Any], summed: bool
) -> None:
    x = np.arange(70.0).reshape(7, 10)

    def function(xp: Any, x: Any) -> Any:
        made = join(xp, [view(xp, x, k) for view, k in parts])
        return made.sum(axis=0) + made[0] if summed else made

    np.testing.assert_array_equal(eqsat.optimize(lambda x: function(enp, x), x)(x), function(np, x))


def test_what_all_pieces_have_in_common_depends_on_no_variable_of_a_fold() -> None:
    """Three times the same, stored and folded: a condition of the fold decides nothing, and stands in the class of what is stored too."""

    def function(x: Any) -> Any:
        rows = np.insert(x, 0, 0, 0).reshape(-1, 14, 2)
        three = np.concatenate([rows, np.flip(rows, 0), rows], 0)
        return three, sliding_window_view(np.min(three, axis=0, keepdims=True), 4, axis=1).max(-1)

    x = (np.arange(24, dtype="int16") % 5).reshape(6, 4)
    for found, expected in zip(eqsat.jit(function)(x), function(x), strict=True):
        np.testing.assert_array_equal(found, expected)
