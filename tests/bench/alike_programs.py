"""Programs for bench_wide: pieces that are alike, folds down the same columns, functions across a few rows, known powers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.bench.further_programs import doubles, floats


def softmax_down(xp: Any, x: Any) -> Any:
    e = xp.exp(x - xp.max(x, axis=0))
    return e / xp.sum(e, axis=0)


def shifted(x: Any, n: int) -> list[Any]:
    """An image and its neighbours."""
    return [x[:, i : x.shape[1] - n + 1 + i, j : x.shape[2] - n + 1 + j] for i in range(n) for j in range(n)]


def moments(xp: Any, x: Any) -> Any:
    return xp.stack([xp.sum(x, axis=0), xp.sum(x * x, axis=0)], 0)


def weighted_variance(xp: Any, x: Any, w: Any) -> Any:
    mean = xp.sum(w[:, None] * x, axis=0) / xp.sum(w)
    return xp.sum(w[:, None] * (x - mean) ** 2, axis=0) / xp.sum(w)


ALIKE: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "frames_stacked": (lambda xp, x: xp.stack([x[64 * k : 64 * k + 128] for k in range(200)], 0) * 2.0, [floats(13_000)]),
    "frames_in_a_window": (lambda xp, x, w: xp.stack([x[64 * k : 64 * k + 128] * w for k in range(100)], 0), [floats(7_000), floats(128)]),
    "nine_shifted_images": (lambda xp, x: xp.stack(shifted(x, 3), 0) * 0.5, [floats(8, 60, 70)]),
    "tiles_of_an_image": (
        lambda xp, x: xp.stack([x[16 * i : 16 * i + 16, 16 * j : 16 * j + 16] for i in range(12) for j in range(12)], 0) + 1.0,
        [floats(192, 192)],
    ),
    "moments_of_columns": (moments, [floats(1000, 512)]),
    "moments_of_wide_columns": (moments, [floats(1000, 4096)]),
    "moments_of_doubles": (moments, [doubles(1000, 300)]),
    "range_of_columns": (lambda xp, x: xp.max(x, axis=0) - xp.min(x, axis=0), [floats(1000, 512)]),
    "weighted_mean_of_rows": (lambda xp, x, w: xp.matmul(w, x) / xp.sum(w), [floats(1000, 300), floats(1000)]),
    "weighted_variance_of_rows": (weighted_variance, [floats(1000, 300), floats(1000)]),
    "every_second_column": (lambda xp, x: xp.sum(x[:, 1::2], axis=0), [floats(1001, 1002)]),
    "columns_backwards": (lambda xp, x: xp.sum(x[:, ::-1], axis=0), [floats(1001, 1002)]),
    "softmax_down_seven": (softmax_down, [floats(7, 8571)]),
    "sixth_power": (lambda xp, x: x**6, [floats(300, 333)]),
    "seventh_power_of_doubles": (lambda xp, x: x**7, [doubles(300, 333)]),
    "inverse_third_power": (lambda xp, x: x**-3, [floats(300, 333)]),
    "power_of_three_halves": (lambda xp, x: xp.abs(x) ** 1.5, [doubles(300, 333)]),
}
