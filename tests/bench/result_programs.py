"""Programs for bench_wide: several results of one shape, of which some are made of others, and results that are made of the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.bench.further_programs import floats

RNG = np.random.default_rng(5)


def adam(xp: Any, p: Any, g: Any, m: Any, v: Any) -> Any:
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - 1e-3 * (m * 5.26) / (xp.sqrt(v * 500.0) + 1e-8), m, v


def momentum(xp: Any, p: Any, g: Any, m: Any) -> Any:
    m = 0.9 * m + g
    return p - 0.01 * m, m


def memory_cell(xp: Any, gates: Any, c: Any) -> Any:
    """A step of a network with long and short memory (LSTM)."""

    def sigmoid(x: Any) -> Any:
        return 1 / (1 + xp.exp(-x))

    n = c.shape[1]
    c = c * sigmoid(gates[:, :n]) + sigmoid(gates[:, n : 2 * n]) * xp.tanh(gates[:, 2 * n : 3 * n])
    return c, sigmoid(gates[:, 3 * n :]) * xp.tanh(c)


def leapfrog(xp: Any, x: Any, v: Any) -> Any:
    v = v - 0.01 * x * x * x
    return x + 0.01 * v, v


def kept_for_gradient(xp: Any, x: Any, b: Any) -> Any:
    z = x + b
    y = xp.maximum(z, 0)
    return z, y, 0.5 * y * y


def wave(xp: Any, u: Any, v: Any) -> Any:
    inner = u[1:-1, 1:-1]
    v = v + 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inner)
    return inner + v, v


def filtered(xp: Any, x: Any, p: Any, z: Any) -> Any:
    """A step of a Kalman filter for every element."""
    x, p = 0.98 * x, 0.96 * p + 0.01
    gain = p / (p + 0.1)
    return x + gain * (z - x), (1 - gain) * p, gain


def option(xp: Any, s: Any, k: Any) -> Any:
    d = (xp.log(s / k) + 0.07) / 0.2
    one, other = 1 / (1 + xp.exp(-1.702 * d)), 1 / (1 + xp.exp(-1.702 * (d - 0.2)))
    call = s * one - k * 0.95 * other
    return call, call - s + k * 0.95, one


def parts_of_exponentials(xp: Any, x: Any, y: Any, z: Any) -> Any:
    e = xp.exp(x)
    return e * y, e * z


def group_means(xp: Any, places: Any, a: Any, b: Any) -> Any:
    known = {"minlength": 64} | ({"length": 64} if hasattr(places, "at") else {})
    counts = xp.bincount(places, **known)
    return xp.bincount(places, a, **known) / counts, xp.bincount(places, b, **known) / counts


def with_statistics(xp: Any, x: Any) -> Any:
    mean, deviation = xp.mean(x, axis=1, keepdims=True), xp.std(x, axis=1, keepdims=True)
    return (x - mean) / deviation, mean, deviation


def mixed_and_peak(xp: Any, a: Any, b: Any) -> Any:
    """Two channels as one of 16 bits, and the loudest of it."""
    v = xp.clip((a.astype("int32") * 205 + b.astype("int32") * 51 + 128) >> 8, -32768, 32767)
    return v.astype("int16"), xp.max(xp.abs(v))


def squares_and_greatest(xp: Any, a: Any, b: Any, axis: int | None = None) -> Any:
    v = a * 205 + b * 51
    return v * v, xp.max(xp.abs(v), axis=axis)


def clipped_and_energy(xp: Any, a: Any, b: Any) -> Any:
    v = xp.clip(a * b, -1, 1)
    return v * 3, xp.sum(v * v, axis=1)


SAMPLES = [RNG.integers(-30_000, 30_000, 1 << 21).astype("int16") for _ in range(2)]


RESULTS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "adam_step": (adam, [floats(70_001), floats(70_001), floats(70_001), abs(floats(70_001))]),
    "momentum": (momentum, [floats(70_001), floats(70_001), floats(70_001)]),
    "memory_cell": (memory_cell, [floats(128, 512), floats(128, 128)]),
    "leapfrog": (leapfrog, [floats(40_001), floats(40_001)]),
    "kept_for_gradient": (kept_for_gradient, [floats(200, 301), floats(301)]),
    "wave_step": (wave, [floats(202, 252), floats(200, 250)]),
    "kalman": (filtered, [floats(30_001), abs(floats(30_001)), floats(30_001)]),
    "option": (option, [abs(floats(20_001)) + 1, abs(floats(20_001)) + 1]),
    "parts_of_exponentials": (parts_of_exponentials, [floats(60_000), floats(60_000), floats(60_000)]),
    "scaled_and_squares_of_rows": (lambda xp, x: (x * 2 + 1, xp.sum(x * x, axis=1)), [floats(300, 400)]),
    "scaled_and_square": (lambda xp, x: (x * 2 + 1, xp.sum(x * x)), [floats(100_000)]),
    "mean_max_next": (lambda xp, x: (xp.mean(x, axis=1), xp.max(x, axis=1), x + 1), [floats(300, 400)]),
    "with_statistics": (with_statistics, [floats(300, 400)]),
    "difference_and_loss": (lambda xp, x, y: (x - y, xp.mean((x - y) ** 2)), [floats(300, 400), floats(300, 400)]),
    "mixed_and_peak": (mixed_and_peak, SAMPLES),
    "squares_and_greatest": (squares_and_greatest, [floats(1 << 21), floats(1 << 21)]),
    "rows_of_squares_and_greatest": (lambda xp, a, b: squares_and_greatest(xp, a, b, 1), [floats(1000, 2049), floats(1000, 2049)]),
    "clipped_and_energy": (clipped_and_energy, [floats(300, 5000), floats(300, 5000)]),
    "group_means": (group_means, [RNG.integers(0, 64, 30_000), RNG.standard_normal(30_000), RNG.standard_normal(30_000)]),
}
