"""Programs for bench_wide: sums in parts, folds both ways, running sums across memory, long rows, places.  A helper with fresh eyes wrote
such in a style of few names, and found them slow beside hand-written loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.bench.further_programs import RNG, doubles, floats


def places(most: int, *shape: int) -> Any:
    return RNG.integers(0, most, shape).astype("i4")


def paid_below_a_barrier(xp: Any, z: Any) -> Any:
    """The mean of what is paid for paths that never rose too far."""
    x = xp.cumsum(0.001 + 0.03 * z, 0)
    return xp.mean(xp.where(xp.all(x < 0.4, 0), xp.maximum(100.0 * xp.exp(x[-1]) - 100.0, 0.0), 0.0))


def filled_forward(xp: Any, x: Any) -> Any:
    """What is no number as what was known before."""
    places = xp.where(xp.isnan(x), 0, np.arange(len(x))[:, None])
    every = xp.lax.cummax(places, 0) if hasattr(xp, "lax") else xp.maximum.accumulate(places, axis=0)
    return xp.take_along_axis(x, every, 0)


def with_gaps(*shape: int) -> Any:
    return np.where(RNG.random(shape) < 0.3, np.nan, RNG.standard_normal(shape))


SUMMED: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "greatest_of_sums": (lambda xp, a, b: xp.max(a[:, None] + b[None, :], axis=1), [floats(700), floats(800)]),
    "mean_of_a_layer": (lambda xp, x, w, b: xp.mean(xp.matmul(x, w) + b, axis=0), [floats(512, 256), floats(256, 256), floats(256)]),
    "reflection": (lambda xp, a, v: xp.matmul(xp.eye(256, dtype="float32") - 2.0 * v[:, None] * v, a), [floats(256, 256), floats(256)]),
    "low_rank_update": (
        lambda xp, a, u, v, x: xp.matmul(a + xp.matmul(u, v), x),
        [floats(700, 700), floats(700, 4), floats(4, 700), floats(700, 1)],
    ),
    "magnitudes_of_rows": (lambda xp, x: xp.sum(xp.maximum(x, -x), axis=-1), [floats(777, 1001)]),
    "greatest_differences": (
        lambda xp, a, b: xp.max(xp.maximum(a[:, None, :] - b[None, :, :], b[None, :, :] - a[:, None, :]), axis=2),
        [floats(300, 8), floats(320, 8)],
    ),
    "columns_and_rows": (lambda xp, x: xp.sum(x, axis=0) - xp.sum(x, axis=1), [doubles(300, 300)]),
    "columns_and_rows_apart": (lambda xp, x: xp.sum(x, axis=0)[:500] + xp.sum(x, axis=1), [floats(500, 501)]),
    "greatest_both_ways": (lambda xp, x: xp.max(x, axis=0) + xp.max(x, axis=1), [floats(400, 400)]),
    "sums_from_below": (lambda xp, x: xp.flip(xp.cumsum(xp.flip(x, 0), 0), 0), [floats(1000, 333)]),
    "sums_of_scaled": (lambda xp, x, w: xp.cumsum(x * w, 0), [floats(600, 700), floats(700)]),
    "scaled_sums": (lambda xp, x: xp.cumsum(x, 0) * 0.5 + 1.0, [floats(600, 700)]),
    "sums_of_squares_in_the_middle": (lambda xp, x: xp.cumsum(x * x, 1), [floats(40, 123, 57)]),
    "paid_below_a_barrier": (paid_below_a_barrier, [doubles(50, 20_000)]),
    "widest_walks": (lambda xp, x: (lambda c: xp.max(c, 0) - xp.min(c, 0))(xp.cumsum(x, 0)), [floats(200, 5000)]),
    "filled_forward": (filled_forward, [with_gaps(5000, 20)]),
    "few_long_rows": (lambda xp, a, v: xp.matmul(a, v), [floats(50, 20_001), floats(20_001, 1)]),
    "eight_longer_rows": (lambda xp, a, v: xp.matmul(a, v), [floats(8, 50_001), floats(50_001)]),
    "differences_along_edges": (
        lambda xp, p, a, b: xp.take(p, a, 0) - xp.take(p, b, 0),
        [floats(5000, 3), places(5000, 30_000), places(5000, 30_000)],
    ),
}
