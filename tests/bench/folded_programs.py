"""Programs with several folds of the same arrays, with functions of products that are folded, and convolutions of other layouts.

Each is a function of a namespace with NumPy's names, and the arrays that it is called with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.bench.further_programs import doubles, floats


def positive(xp: Any, x: Any) -> Any:
    return xp.maximum(x, 0)


def mean_of_ring(xp: Any, x: Any, r: Any, k: int) -> Any:
    inside = xp.logical_and(r >= k / 16, r < (k + 1) / 16)
    return xp.sum(xp.where(inside, x, 0)) / xp.sum(inside)


def convolved(xp: Any, x: Any, w: Any, filters: str = "oct") -> Any:
    """The sum of the products at each place of a window of 3 x 3."""
    high, wide = x.shape[2] - 2, x.shape[3] - 2
    taps = [(i, j) for i in range(3) for j in range(3)]
    seen = xp.stack([x[:, :, i : i + high, j : j + wide] for i, j in taps], axis=2)
    return xp.einsum(f"ncthw,{filters}->nohw", seen, xp.reshape(w, (w.shape[0], w.shape[1], 9)))


def spread(xp: Any, x: Any) -> Any:
    """A plane with zeros between and around its elements."""
    n, c, high, wide = x.shape
    between = xp.reshape(xp.stack([x, x * 0], axis=4), (n, c, high, 2 * wide))
    between = xp.reshape(xp.stack([between, between * 0], axis=3), (n, c, 2 * high, 2 * wide))
    return xp.pad(between, ((0, 0), (0, 0), (2, 1), (2, 1)))


FOLDED: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "two_sums": (lambda xp, x: xp.sum(x) / xp.sum(x * x), [doubles(1_000_000)]),
    "range_of_all": (lambda xp, x: xp.max(x) - xp.min(x), [doubles(1_000_000)]),
    "cosine_of_two": (lambda xp, x, y: xp.sum(x * y) / xp.sqrt(xp.sum(x * x) * xp.sum(y * y)), [doubles(1_000_000), doubles(1_000_000)]),
    "four_statistics": (lambda xp, x, y: xp.stack([x.sum(), (x * x).sum(), (x * y).sum(), y.sum()]), [doubles(100_000), doubles(100_000)]),
    "weighted_mean": (lambda xp, x, w: xp.sum(x * w) / xp.sum(w), [floats(300_000), floats(300_000)]),
    "masked_mean": (lambda xp, x, y: xp.sum(xp.where(y > 0.5, x, 0)) / xp.sum(y > 0.5), [doubles(100_000), doubles(100_000)]),
    "means_by_rings": (
        lambda xp, x, r: xp.stack([mean_of_ring(xp, x, r, k) for k in range(16)]),
        [doubles(100_000), abs(doubles(100_000))],
    ),
    "slope_of_rows": (
        lambda xp, x, y: (xp.sum(x * y, 1) - xp.sum(x, 1) * xp.sum(y, 1)) / (xp.sum(x * x, 1) - xp.sum(x, 1) ** 2),
        [floats(500, 2000), floats(500, 2000)],
    ),
    "set_of_points": (lambda xp, x, a: xp.sum(positive(xp, x @ a), axis=1), [floats(16, 50, 32), floats(32, 64)]),
    "columns_of_products": (lambda xp, x, a: xp.sum(positive(xp, x @ a), axis=0), [floats(800, 32), floats(32, 64)]),
    "neighbours": (lambda xp, x, a: xp.max(positive(xp, x @ a), axis=1), [floats(512, 8, 32), floats(32, 64)]),
    "averaged_convolution": (
        lambda xp, x, w, b: xp.mean(positive(xp, convolved(xp, x, w) + b[:, None, None]), axis=(2, 3)),
        [floats(2, 16, 32, 32), floats(32, 16, 3, 3), floats(32)],
    ),
    "filters_turned": (lambda xp, x, w: convolved(xp, x, w, "cot"), [floats(2, 32, 35, 35), floats(32, 16, 3, 3)]),
    "convolution_transposed": (
        lambda xp, x, w: convolved(xp, spread(xp, x), w[:, :, ::-1, ::-1], "cot"),
        [floats(2, 32, 16, 16), floats(32, 16, 3, 3)],
    ),
    "magnified": (
        lambda xp, x, w: xp.reshape(xp.einsum("chw,coij->ohiwj", x, w), (64, 112, 112)),
        [floats(128, 56, 56), floats(128, 64, 2, 2)],
    ),
    "pooled_product": (
        lambda xp, x, w, b: xp.sum(xp.max(xp.reshape(x @ w.T + b, (128, 128, 2)), axis=2), axis=1),
        [floats(128, 512), floats(256, 512), floats(256)],
    ),
    "layer_of_64": (lambda xp, x, w: xp.tanh(x @ w), [floats(1000, 64), floats(64)]),
    "layer_of_100": (lambda xp, x, w: xp.tanh(x @ w), [floats(1000, 100), floats(100)]),
    "cell_of_64": (lambda xp, w, h, b: xp.tanh(w @ h + b), [floats(64, 64), floats(64), floats(64)]),
    "logarithms_of_sums": (lambda xp, x: xp.log(xp.sum(xp.exp(x), axis=1)), [floats(1000, 64)]),
    "vector_of_256": (lambda xp, x, w: x @ w, [floats(256, 256), floats(256)]),
    "vector_of_512": (lambda xp, x, w: x @ w, [floats(512, 512), floats(512)]),
    "vector_of_128_f64": (lambda xp, x, w: x @ w, [floats(1000, 128).astype(np.float64), floats(128).astype(np.float64)]),
}
