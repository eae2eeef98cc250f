"""Programs over images and volumes for bench_wide: filters, edges, corners, motion and relaxation, as people write them with slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.bench.plain_programs import Program, floats

GAUSS = (0.0625, 0.25, 0.375, 0.25, 0.0625)
BELL = tuple(2.0 ** -((k / 3) ** 2) / 6.4 for k in range(-6, 7))


def neighbours(x: Any, size: int = 3) -> list[Any]:
    """What a window of so many rows and columns shows of an image, place by place."""
    height, width = x.shape[0] - size + 1, x.shape[1] - size + 1
    return [x[i : i + height, j : j + width] for i in range(size) for j in range(size)]


def filtered(x: Any, weights: Sequence[float]) -> Any:
    """Weighted sums of neighbours, first along rows, then down columns."""
    size = len(weights)
    rows = sum(w * x[:, k : x.shape[1] - size + 1 + k] for k, w in enumerate(weights))
    return sum(w * rows[k : x.shape[0] - size + 1 + k] for k, w in enumerate(weights))


def around(xp: Any, x: Any, mode: str = "edge", by: int = 1) -> Any:
    return xp.pad(x, ((by, by), (by, by)), mode=mode)


def gradients(x: Any) -> tuple[Any, Any]:
    return x[1:-1, 2:] - x[1:-1, :-2], x[2:, 1:-1] - x[:-2, 1:-1]


def sobel(xp: Any, x: Any) -> Any:
    a, b, c, d, _, f, g, h, i = neighbours(around(xp, x))
    across, down = (c - a) + 2 * (f - d) + (i - g), (g - a) + 2 * (h - b) + (i - c)
    return xp.sqrt(across * across + down * down)


def blurred_gradient(xp: Any, x: Any) -> Any:
    across, down = gradients(filtered(x, (1 / 3,) * 3))
    return xp.sqrt(across * across + down * down + 1e-6)


def unsharp(xp: Any, x: Any) -> Any:
    return xp.clip(x + 1.5 * (x - filtered(around(xp, x), (0.25, 0.5, 0.25))), 0, 1)


def local_norm(xp: Any, x: Any) -> Any:
    mean = filtered(x, (0.2,) * 5)
    return (x[2:-2, 2:-2] - mean) / xp.sqrt(xp.maximum(filtered(x * x, (0.2,) * 5) - mean * mean, 0) + 1e-4)


def harris(xp: Any, x: Any) -> Any:
    across, down = gradients(x)
    xx, yy, xy = (filtered(term, (1.0,) * 3) for term in (across * across, down * down, across * down))
    return xx * yy - xy * xy - 0.04 * (xx + yy) ** 2


def opening(xp: Any, x: Any) -> Any:
    for step in (xp.minimum, xp.maximum):
        rows = step(step(x[:, :-2], x[:, 1:-1]), x[:, 2:])
        x = step(step(rows[:-2], rows[1:-1]), rows[2:])
    return x


def only_peaks(xp: Any, x: Any) -> Any:
    every = neighbours(around(xp, x))
    most = every[0]
    for one in every[1:]:
        most = xp.maximum(most, one)
    return xp.where(every[4] >= most, every[4], 0.0)


def motion(xp: Any, a: Any, b: Any) -> Any:
    (across, down), change = gradients(a), (b - a)[1:-1, 1:-1]
    pairs = (across * across, across * down, down * down, across * change, down * change)
    xx, xy, yy, xt, yt = (filtered(pair, (1.0,) * 5) for pair in pairs)
    return (yt * xy - xt * yy) / (xx * yy - xy * xy + 1e-3)


def cube(xp: Any, x: Any) -> Any:
    n = x.shape[0] - 2
    return sum(x[i : i + n, j : j + n, k : k + n] for i in range(3) for j in range(3) for k in range(3)) / 27


def twice_as_large(xp: Any, x: Any) -> Any:
    """Every second row and column halfway between its neighbours."""
    beside = xp.pad(x, ((0, 0), (0, 1)), mode="edge")
    rows = xp.stack([x, (beside[:, :-1] + beside[:, 1:]) * 0.5], 2).reshape(x.shape[0], -1)
    below = xp.pad(rows, ((0, 1), (0, 0)), mode="edge")
    return xp.stack([rows, (below[:-1] + below[1:]) * 0.5], 1).reshape(2 * x.shape[0], -1)


def block_means(xp: Any, x: Any, size: int) -> Any:
    """The mean of every block of so many rows and columns."""
    *layers, height, width = x.shape
    return xp.mean(xp.reshape(x, (*layers, height // size, size, width // size, size)), axis=(-3, -1))


STENCILS: dict[str, Program] = {
    "box_9": (lambda xp, x: sum(neighbours(x)) / 9, [floats(514, 514)]),
    "box_25": (lambda xp, x: sum(neighbours(x, 5)) / 25, [floats(516, 516)]),
    "box_27": (cube, [floats(66, 66, 66)]),
    "blur_padded": (lambda xp, x: filtered(around(xp, x, "constant"), (1 / 3,) * 3), [floats(1024, 1024)]),
    "gauss_padded": (lambda xp, x: filtered(around(xp, x, "constant", 2), GAUSS), [floats(514, 514)]),
    "blurs_apart": (lambda xp, x: filtered(x, (0.25, 0.5, 0.25))[1:-1, 1:-1] - filtered(x, GAUSS), [floats(514, 514)]),
    "blurred_gradient": (blurred_gradient, [floats(1028, 1028)]),
    "sobel_padded": (sobel, [floats(514, 514)]),
    "unsharp": (unsharp, [floats(514, 514)]),
    "local_norm": (local_norm, [floats(514, 514)]),
    "harris": (harris, [floats(514, 514)]),
    "opening": (opening, [floats(514, 514)]),
    "only_peaks": (only_peaks, [floats(514, 514)]),
    "twice_as_large": (twice_as_large, [floats(514, 514)]),
    "block_means_4": (lambda xp, x: block_means(xp, x, 4), [floats(1024, 1024)]),
    "block_means_8": (lambda xp, x: block_means(xp, x, 8), [floats(1024, 1024)]),
    "small_means_2": (lambda xp, x: block_means(xp, x, 2), [floats(32, 28, 28)]),
    "small_means_4": (lambda xp, x: block_means(xp, x, 4), [floats(32, 28, 28)]),
    "gauss_13": (lambda xp, x: filtered(around(xp, x, "edge", 6), BELL), [floats(500, 700)]),
    "gauss_13_mirrored": (lambda xp, x: filtered(around(xp, x, "reflect", 6), BELL), [floats(500, 700)]),
    "late_by_20": (lambda xp, x: sum(0.9**k * xp.pad(x, ((0, 0), (k, 0)))[:, :500] for k in range(20)), [floats(100, 500)]),
    "motion": (motion, [floats(514, 514), floats(514, 514)]),
}
