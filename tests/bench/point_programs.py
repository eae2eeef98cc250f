"""Programs for bench_wide: points and pairs of them, records of many fields, what is gathered and folded, and channels in groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.bench.further_programs import doubles, floats


def places(rows: int, columns: int, of: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(rows).integers(0, of, (rows, columns)).astype(np.int32)


def apart(xp: Any, a: Any, b: Any) -> Any:
    return xp.sum((a[:, None, :] - b[None, :, :]) ** 2, axis=2)


def nearest(xp: Any, x: Any, centres: Any) -> Any:
    return xp.argmin(apart(xp, x, centres), axis=1)


def group_norm(groups: int) -> Callable[..., Any]:
    def normalized(xp: Any, x: Any, scale: Any, shift: Any) -> Any:
        y = xp.reshape(x, (x.shape[0], groups, -1))
        centred = y - xp.mean(y, axis=2, keepdims=True)
        y = centred / xp.sqrt(xp.mean(centred * centred, axis=2, keepdims=True) + 1e-5)
        return xp.reshape(y, x.shape) * scale[:, None, None] + shift[:, None, None]

    return normalized


def channels(batch: int, count: int, side: int) -> list[np.ndarray[Any, Any]]:
    return [floats(batch, count, side, side), floats(count), floats(count)]


def attracted(xp: Any, points: Any, masses: Any) -> Any:
    between = points[None, :, :] - points[:, None, :]
    squares = xp.sum(between * between, axis=2) + 0.01
    return xp.sum(between * (masses[None, :] / (squares * xp.sqrt(squares)))[:, :, None], axis=1)


def energy(xp: Any, points: Any, charges: Any) -> Any:
    return 0.5 * xp.sum(charges[:, None] * charges[None, :] / xp.sqrt(apart(xp, points, points) + 0.01))


def mean_of_the_near(xp: Any, points: Any, speeds: Any) -> Any:
    near = (apart(xp, points, points) < 0.04).astype(xp.float32)
    return xp.matmul(near, speeds) / xp.sum(near, axis=1)[:, None] - speeds


def overlaps(xp: Any, a: Any, b: Any) -> Any:
    wide, high = (
        xp.maximum(xp.minimum(a[:, None, k + 2], b[None, :, k + 2]) - xp.maximum(a[:, None, k], b[None, :, k]), 0.0) for k in (0, 1)
    )
    both, (one, other) = wide * high, ((x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1]) for x in (a, b))
    return both / (one[:, None] + other[None, :] - both)


def determinant(xp: Any, m: Any) -> Any:
    (a, b, c), (d, e, f), (g, h, i) = ([m[:, k, j] for j in range(3)] for k in range(3))
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


def products_of_fields(xp: Any, x: Any) -> Any:
    total = x[:, 0]
    for k in range(1, x.shape[1]):
        total = total + x[:, k - 1] * x[:, k]
    return total


def boxes(count: int) -> np.ndarray[Any, Any]:
    corners = floats(count, 2)
    return np.concatenate([corners, corners + np.abs(floats(count, 2)) + 0.1], axis=1)


POINTS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "nearest_of_16": (nearest, [floats(20_000, 2), floats(16, 2)]),
    "nearest_of_8": (nearest, [floats(20_000, 3), floats(8, 3)]),
    "nearest_of_64": (nearest, [floats(5_000, 2), floats(64, 2)]),
    "points_of_four": (apart, [floats(500, 4), floats(500, 4)]),
    "points_of_sixteen": (apart, [floats(500, 16), floats(400, 16)]),
    "attracted": (attracted, [floats(300, 3), np.abs(floats(300))]),
    "energy_of_pairs": (energy, [floats(400, 3), floats(400)]),
    "near_pairs": (lambda xp, x: xp.sum(apart(xp, x, x) < 1.0), [floats(400, 3)]),
    "mean_of_the_near": (mean_of_the_near, [floats(300, 2), floats(300, 2)]),
    "overlaps": (overlaps, [boxes(400), boxes(300)]),
    "greatest_neighbours": (lambda xp, x, i: xp.max(xp.take(x, i, axis=0), axis=1), [floats(2_000, 32), places(2_000, 8, 2_000)]),
    "least_neighbours": (lambda xp, x, i: xp.min(xp.take(x, i, axis=0), axis=1), [floats(2_000, 16), places(2_000, 4, 2_000)]),
    "determinants": (determinant, [floats(20_000, 3, 3)]),
    "records_9": (products_of_fields, [floats(40_000, 9)]),
    "records_16": (products_of_fields, [doubles(20_000, 16)]),
    "group_norm_28": (group_norm(8), channels(4, 64, 28)),
    "group_norm_64": (group_norm(32), channels(1, 320, 64)),
    "group_norm_16": (group_norm(32), channels(1, 512, 16)),
}
