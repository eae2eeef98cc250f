"""Programs for bench_wide: running sums of long rows and what is made of them, rows and columns of one array, results of middle size, rows
that do not begin with lines of the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.bench.further_programs import floats

RNG = np.random.default_rng(20)


def weighted_prices(xp: Any, price: Any, volume: Any) -> Any:
    return xp.cumsum(price * volume) / xp.cumsum(volume)


def places_of_true(xp: Any, mask: Any) -> Any:
    return xp.where(mask, xp.cumsum(mask) - 1, -1)


def moving_average(xp: Any, x: Any) -> Any:
    c = xp.cumsum(xp.concatenate([xp.zeros((x.shape[0], 1), x.dtype), x], axis=1), axis=1)
    return (c[:, 32:] - c[:, :-32]) / 32


def lion(xp: Any, w: Any, g: Any, m: Any) -> Any:
    """A step of the Lion optimizer."""
    step = xp.sign(np.float32(0.9) * m + np.float32(0.1) * g)
    return w - np.float32(1e-3) * (step + np.float32(0.1) * w), np.float32(0.99) * m + np.float32(0.01) * g, xp.abs(step)


def pixels_to_channels(xp: Any, x: Any) -> Any:
    n, c, h, w = x.shape
    y = xp.transpose(xp.reshape(x, (n, c, h // 2, 2, w // 2, 2)), (0, 1, 3, 5, 2, 4))
    y = xp.reshape(y, (n, c * 4, h // 2, w // 2))
    return xp.where(y > 0, y, np.float32(0.1) * y)


def normalization_backwards(xp: Any, x: Any, y: Any, w: Any) -> Any:
    """Gradients of a normalization of rows: of what is normalized, of its factors and of its offsets."""
    mean = xp.mean(x, axis=-1, keepdims=True)
    rate = 1 / xp.sqrt(xp.mean((x - mean) ** 2, axis=-1, keepdims=True) + np.float32(1e-5))
    n, g = (x - mean) * rate, y * w
    inner = rate * (g - xp.mean(g, axis=-1, keepdims=True) - n * xp.mean(g * n, axis=-1, keepdims=True))
    return inner, xp.sum(y * n, axis=0), xp.sum(y, axis=0)


Programs = dict[str, tuple[Callable[..., Any], list[Any]]]
BLOCKS: Programs = {
    "weighted_prices": (weighted_prices, [np.abs(floats(1_000_000)) + 1, np.abs(floats(1_000_000)) + 1]),
    "weighted_prices_f64": (weighted_prices, [RNG.random(1_000_000) + 1, RNG.random(1_000_000) + 1]),
    "running_mean": (lambda xp, x: xp.cumsum(x) / xp.arange(1, x.shape[0] + 1, dtype=x.dtype), [floats(1_000_000)]),
    "sums_of_sums": (lambda xp, x: xp.cumsum(xp.cumsum(x)), [floats(1_000_000)]),
    "places_of_true": (places_of_true, [RNG.random(1_000_000) > 0.5]),
    "moving_average": (moving_average, [RNG.random((7, 300_007))]),
    "lion_step": (lion, [floats(16384), floats(16384), floats(16384)]),
    "pixels_to_channels": (pixels_to_channels, [floats(1, 8, 80, 80)]),
    "even_and_odd": (lambda xp, a, b: xp.reshape(xp.stack([a + b, a - b], -1), (-1,)), [floats(16000), floats(16000)]),
    "sums_both_ways": (lambda xp, x: (xp.sum(x, 0), xp.sum(x, 1)), [floats(3000, 2000)]),
    "products_both_ways": (lambda xp, a, x, y: (a @ x, y @ a), [floats(3001, 2003), floats(2003), floats(3001)]),
    "truths_both_ways": (lambda xp, b: (xp.any(b, 1), xp.all(b, 0)), [RNG.random((4096, 4096)) > 0.5]),
    "normalization_backwards": (normalization_backwards, [floats(4096, 768), floats(4096, 768), floats(768)]),
    "greatest_of_columns": (lambda xp, x: xp.argmax(x, 0), [floats(2048, 2048)]),
    "odd_sums_of_columns": (lambda xp, x: xp.sum(x, 0), [floats(4099, 1021)]),
    "odd_rows_summed": (lambda xp, x: x[:, 1:] + x[:, :-1], [floats(4096, 4098)]),
}
