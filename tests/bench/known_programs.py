"""Programs for bench_wide: divisors that are known, truth values as numbers, folds that wait, searches, parts of orders, moduli."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.bench.further_programs import floats

RNG = np.random.default_rng(19)
SORTED = np.sort(RNG.integers(1, 100_000, 2000)).astype("int32")
NEEDLES = np.sort(RNG.integers(1, 100_000, 4000)).astype("int32")
WAVES = (RNG.standard_normal((100, 200)) + 1j * RNG.standard_normal((100, 200))).astype("complex64")


def sampled(xp: Any, x: Any, e: Any, z: Any) -> Any:
    """A step of a diffusion sampler, which divides by numbers of many digits."""
    p = xp.clip((x - 0.6 * e) / 0.8, -1, 1)
    return 0.9 * p + 0.4 * (x - 0.8 * p) / 0.6 + 0.1 * z


def normalized_bytes(xp: Any, x: Any) -> Any:
    return (x / np.float32(255) - np.float32(0.485)) / np.float32(0.229)


def pair_loss(xp: Any, a: Any, b: Any) -> Any:
    """A loss of all pairs of rows: the sum of functions of a product."""
    t = a @ b.T
    return xp.sum(xp.log1p(xp.exp(-xp.abs(t))) + xp.maximum(t, 0))


def ranking(xp: Any, a: Any, b: Any) -> Any:
    """How often one of the first is above one of the second, ties by halves."""
    d = a[:, None] - b
    return xp.mean((d > 0).astype(np.float32) + np.float32(0.5) * (d == 0).astype(np.float32))


def weighted_by_masks(xp: Any, x: Any, d: Any) -> Any:
    """A blur whose 49 taps count where a depth is large enough."""
    total, weight = np.float32(0), np.float32(0)
    for i in range(7):
        for j in range(7):
            at = slice(i, i + 64), slice(j, j + 80)
            on = (d[at] >= np.float32((i - 3) ** 2 + (j - 3) ** 2)).astype(np.float32)
            total, weight = total + on * x[at], weight + on
    return total / (weight + np.float32(1e-6))


def scores(xp: Any, counts: Any, lengths: Any, weights: Any) -> Any:
    """Scores of documents (BM25), in which the mean of all lengths is."""
    c = counts.astype(np.float32)
    return xp.sum(weights * c * 2.2 / (c + 1.2 * (0.25 + 0.75 * lengths / xp.mean(lengths))[:, None]), axis=1)


def joined_as_of(xp: Any, times: Any, asked: Any, values: Any) -> Any:
    j = xp.searchsorted(times, asked, side="right")
    return xp.where(j > 0, values[xp.maximum(j - 1, 0)], np.nan)


def losses_at_risk(xp: Any, returns: Any, weights: Any) -> Any:
    q = xp.sort(weights @ returns.T, axis=-1)
    return xp.stack([-q[:, 25], -xp.mean(q[:, :25], 1)], 1)


def correlation_of_distances(xp: Any, x: Any, y: Any) -> Any:
    def centred(v: Any) -> Any:
        d = xp.abs(v[:, None] - v)
        return d - xp.mean(d, 0) - xp.mean(d, 1)[:, None] + xp.mean(d)

    p, q = centred(x), centred(y)
    return xp.sqrt(xp.sum(p * q) / xp.sqrt(xp.sum(p * p) * xp.sum(q * q)))


Programs = dict[str, tuple[Callable[..., Any], list[Any]]]
KNOWN: Programs = {
    "sampler_step": (sampled, [floats(12288), floats(12288), floats(12288)]),
    "normalized_bytes": (normalized_bytes, [RNG.integers(0, 256, 60000).astype("uint8")]),
    "short_rows_divided": (lambda xp, x, s: x / s[:, None], [floats(128, 256), floats(128) + 3]),
    "pair_loss": (pair_loss, [floats(128, 64), floats(128, 64)]),
    "ranking": (ranking, [floats(300), floats(500)]),
    "weighted_by_masks": (weighted_by_masks, [floats(70, 86), floats(70, 86) * 20]),
    "document_scores": (scores, [RNG.integers(0, 9, (2000, 12)).astype("int32"), np.abs(floats(2000)) * 100 + 50, floats(12)]),
    "joined_as_of": (joined_as_of, [SORTED, NEEDLES, floats(2000)]),
    "losses_at_risk": (losses_at_risk, [floats(500, 10), np.abs(floats(8, 10))]),
    "squared_moduli": (lambda xp, z: xp.sum(xp.abs(z) ** 2, axis=1), [WAVES]),
    "correlation_of_distances": (correlation_of_distances, [floats(300), floats(300)]),
}
