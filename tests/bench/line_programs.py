"""Programs for bench_wide: several results in one loop, rows that begin within lines of the cache, transposes of wide elements and pixels,
columns that are gone through twice, a step with its residual."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.bench.further_programs import floats

RNG = np.random.default_rng(21)
F = np.float32


def adam(xp: Any, w: Any, g: Any, m: Any, v: Any) -> Any:
    m = F(0.9) * m + F(0.1) * g
    v = F(0.999) * v + F(0.001) * g * g
    return w - F(1e-3) * (m * F(1.2)) / (xp.sqrt(v * F(1.05)) + F(1e-8)), m, v


def twice_as_wide(xp: Any, y: Any) -> Any:
    """Rows of an image with linear interpolation between its columns."""
    p = xp.concatenate([y[:, :1], y, y[:, -1:]], axis=1)
    return xp.reshape(xp.stack([F(0.75) * y + F(0.25) * p[:, :-2], F(0.75) * y + F(0.25) * p[:, 2:]], axis=2), (y.shape[0], 2 * y.shape[1]))


def twice_as_large(xp: Any, x: Any) -> Any:
    c, h, w = x.shape
    p = xp.concatenate([x[:, :1], x, x[:, -1:]], axis=1)
    y = xp.reshape(xp.stack([F(0.75) * x + F(0.25) * p[:, :-2], F(0.75) * x + F(0.25) * p[:, 2:]], axis=2), (c * 2 * h, w))
    return xp.reshape(twice_as_wide(xp, y), (c, 2 * h, 2 * w))


def jacobi(xp: Any, u: Any, f: Any) -> Any:
    """A step of Jacobi's iteration inside of a fixed edge, and how much it changed."""
    t = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - f[1:-1, 1:-1])
    inner = xp.concatenate([u[1:-1, :1], t, u[1:-1, -1:]], axis=1)
    return xp.concatenate([u[:1], inner, u[-1:]], axis=0), xp.sum((t - u[1:-1, 1:-1]) ** 2)


def step_and_change(xp: Any, x: Any, g: Any) -> Any:
    y = x - F(0.1) * g
    return y, xp.sum((y - x) ** 2)


def normalized_columns(xp: Any, x: Any) -> Any:
    return (x - xp.mean(x, axis=0)) / (xp.std(x, axis=0) + 1e-5)


def blurred(xp: Any, x: Any) -> Any:
    along = (x[:, :-2] + x[:, 1:-1] + x[:, 2:]) * F(1 / 3)
    return (along[:-2] + along[1:-1] + along[2:]) * F(1 / 3)


def edges(xp: Any, x: Any) -> Any:
    """How much a blurred image changes from pixel to pixel."""
    v = blurred(xp, x)
    across, down = v[1:-1, 2:] - v[1:-1, :-2], v[2:, 1:-1] - v[:-2, 1:-1]
    return xp.sqrt(across * across + down * down + F(1e-6))


def turned(xp: Any, x: Any) -> Any:
    return in_order(xp, xp.rot90(x))


def transposed(xp: Any, x: Any) -> Any:
    return in_order(xp, x.T)


def in_order(xp: Any, x: Any) -> Any:
    """What NumPy copies; whatever jax computes is in order."""
    return getattr(xp, "ascontiguousarray", xp.asarray)(x)


Programs = dict[str, tuple[Callable[..., Any], list[Any]]]
LINES: Programs = {
    "two_gradients": (lambda xp, x: tuple(xp.gradient(x)), [RNG.random((1999, 1003))]),
    "two_gradients_small": (lambda xp, x: tuple(xp.gradient(x)), [floats(200, 301)]),
    "adam_4m": (adam, [floats(1 << 22), floats(1 << 22), floats(1 << 22), np.abs(floats(1 << 22))]),
    "twice_as_wide": (twice_as_wide, [floats(1620, 960)]),
    "twice_as_wide_small": (twice_as_wide, [floats(40, 960)]),
    "twice_as_large": (twice_as_large, [floats(3, 540, 960)]),
    "jacobi_with_residual": (jacobi, [RNG.random((1501, 1403)), RNG.random((1501, 1403))]),
    "deviations_near": (lambda xp, x: xp.std(x, axis=0), [RNG.random((1000, 1000))]),
    "deviations_far": (lambda xp, x: xp.std(x, axis=0), [RNG.random((3001, 517))]),
    "normalized_columns": (normalized_columns, [RNG.random((400, 4000))]),
    "running_sums_of_columns": (lambda xp, x: xp.cumsum(x, axis=0), [RNG.random((2000, 1000))]),
    "transpose_f64": (transposed, [RNG.random((2000, 2000))]),
    "transpose_f64_odd": (transposed, [RNG.random((1999, 1999))]),
    "symmetrized_f64": (lambda xp, x: (x + x.T) * 0.5, [RNG.random((1999, 1999))]),
    "channels_last": (lambda xp, x: in_order(xp, xp.transpose(x, (0, 2, 3, 1))), [floats(16, 32, 112, 112)]),
    "channels_last_72": (
        lambda xp, x, b: in_order(xp, xp.maximum(xp.transpose(x, (0, 2, 3, 1)) + b, F(0))),
        [floats(8, 72, 112, 112), floats(72)],
    ),
    "blurred": (blurred, [floats(1028, 1003)]),
    "edges": (edges, [floats(1028, 1028)]),
    "edges_odd": (edges, [floats(1500, 1207)]),
    "turned_pixels_u8": (turned, [RNG.integers(0, 256, (1080, 1920, 3)).astype(np.uint8)]),
    "turned_pixels": (turned, [floats(1080, 1920, 3)]),
    "turned_pairs": (turned, [floats(1080, 1920, 2)]),
    "step_and_change": (step_and_change, [floats(4000, 1003), floats(4000, 1003)]),
}
