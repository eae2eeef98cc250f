"""Programs with orders of elements, running extrema, extrema of a part, what is transposed, and matrices that integers choose.

Each is a function of a namespace with NumPy's names, and the arrays that it is called with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.bench.further_programs import RNG, doubles, floats


def windows(xp: Any, x: Any, side: int) -> Any:
    """The elements around each, those at the edge again beyond it, along a new first axis."""
    padded = xp.pad(x, side // 2, mode="edge")
    high, wide = x.shape
    return xp.stack([padded[i : i + high, j : j + wide] for i in range(side) for j in range(side)])


def distances(xp: Any, a: Any, b: Any) -> Any:
    return xp.sum(a * a, axis=1)[:, None] + xp.sum(b * b, axis=1) - 2 * a @ b.T


def flow(xp: Any, a: Any, b: Any) -> Any:
    """Motion between two images, of sums of 25 neighbours (Lucas and Kanade)."""

    def around(z: Any) -> Any:
        return sum(xp.roll(z, (i, j), (0, 1)) for i in range(-2, 3) for j in range(-2, 3))

    across, down, later = (xp.roll(a, -1, 1) - xp.roll(a, 1, 1)) / 2, (xp.roll(a, -1, 0) - xp.roll(a, 1, 0)) / 2, b - a
    xx, xy, yy = around(across * across), around(across * down), around(down * down)
    u, v = around(across * later), around(down * later)
    return xp.stack([xy * v - yy * u, xy * u - xx * v]) / (xx * yy - xy * xy + 1e-3)


def variance_of_portfolio(xp: Any, returns: Any, weights: Any) -> Any:
    centred = returns - xp.mean(returns, axis=1, keepdims=True)
    return weights @ (centred @ centred.T / (returns.shape[1] - 1)) @ weights


ORDERED: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "median_3x3": (lambda xp, x: xp.median(windows(xp, x, 3), axis=0), [floats(256, 256)]),
    "median_5x5": (lambda xp, x: xp.median(windows(xp, x, 5), axis=0), [floats(256, 256)]),
    "median_rows_16": (lambda xp, x: xp.median(x, axis=1), [floats(4096, 16)]),
    "percentile_rows_8": (lambda xp, x: xp.percentile(x, 90, axis=1), [floats(4096, 8)]),
    "sort_rows_8": (lambda xp, x: xp.sort(x, axis=1), [floats(4096, 8)]),
    "sort_columns_16": (lambda xp, x: xp.sort(x, axis=0), [floats(16, 4096)]),
    "argsort_rows_8": (lambda xp, x: xp.argsort(x, axis=1), [floats(4096, 8)]),
    "two_greatest_of_64": (lambda xp, x: xp.argsort(x, axis=1)[:, -2:], [floats(1024, 64)]),
    "five_nearest": (lambda xp, a, b: xp.argsort(distances(xp, a, b), axis=1)[:, :5], [floats(500, 32), floats(2000, 32)]),
    "above_the_fifth": (lambda xp, x: xp.where(x >= xp.sort(x)[-5], x, 0), [floats(4096)]),
    "nanmax_rows": (lambda xp, x: xp.nanmax(x, axis=1), [floats(500, 2000)]),
    "nanmax_columns": (lambda xp, x: xp.nanmax(x, axis=0), [floats(500, 2000)]),
    "greatest_below": (lambda xp, x: xp.max(xp.where(x < 1, x, -np.inf), axis=1), [doubles(500, 2000)]),
    "spread_of_columns": (lambda xp, x: xp.max(x, axis=0) - xp.min(x, axis=0), [doubles(500, 2000)]),
    "running_integers": (lambda xp, x: xp.cumsum(x, axis=1), [RNG.integers(0, 9, (10_000, 50), "i4")]),
    "floor_turned": (lambda xp, x: xp.floor(x.T), [floats(1000, 1000)]),
    "exp_turned": (lambda xp, x: xp.exp(x.T), [floats(1000, 1000)]),
    "portfolio": (variance_of_portfolio, [doubles(200, 1000), doubles(200)]),
    "chosen_matrices": (
        lambda xp, x, g, w: xp.einsum("td,tdf->tf", x, w[xp.argmax(x @ g, axis=1)]),
        [floats(128, 64), floats(64, 8), floats(8, 64, 64)],
    ),
    "flow": (flow, [floats(128, 128), floats(128, 128)]),
}
