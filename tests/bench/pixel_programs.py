"""Programs for bench_wide: images whose pixels are a few numbers side by side, bytes or floats, and normalized rows of any length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.bench.further_programs import doubles, floats

Images = Any
HEIGHT, WIDTH = 480, 641


def pixels(channels: int, rows: int = HEIGHT, columns: int = WIDTH) -> np.ndarray[Any, Any]:
    return np.random.default_rng(channels).integers(0, 256, (rows, columns, channels), np.uint8)


def blended(xp: Any, above: Any, below: Any) -> Any:
    weight = above[:, :, 3:].astype(xp.float32) / 255.0
    return above[:, :, :3] * weight + below * (1.0 - weight)


def normalized(xp: Any, x: Any) -> Any:
    centred = x - xp.mean(x, axis=1, keepdims=True)
    return centred / xp.sqrt(xp.mean(centred * centred, axis=1, keepdims=True) + 1e-5)


PIXELS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "mirrored_pixels": (lambda xp, x: 255 - xp.flip(x, axis=1), [pixels(3)]),
    "mirrored_floats": (lambda xp, x: 1.0 - xp.flip(x, axis=1), [floats(HEIGHT, WIDTH, 3)]),
    "mirrored_as_floats": (lambda xp, x: xp.flip(x, axis=1).astype(xp.float32) / 255.0, [pixels(3)]),
    "without_alpha": (lambda xp, x: 255 - x[:, :, :3], [pixels(4)]),
    "without_alpha_as_floats": (lambda xp, x: x[:, :, :3].astype(xp.float32) / 255.0, [pixels(4)]),
    "three_of_five_bands": (lambda xp, x: 255 - x[:, :, 1:4], [pixels(5)]),
    "grey_as_three_channels": (lambda xp, x: xp.repeat(x, 3, axis=1), [pixels(1)[:, :, 0]]),
    "pixels_of_seven_mirrored": (lambda xp, x: 255 - xp.flip(x, axis=1), [pixels(7, 200, 240)]),
    "blended": (blended, [pixels(4), floats(HEIGHT, WIDTH, 3)]),
    "bytes_turned_into_floats": (lambda xp, x: x.T.astype(xp.float32), [pixels(1)[:, :, 0]]),
    "channels_first_as_floats": (lambda xp, x: xp.transpose(x, (2, 0, 1)).astype(xp.float32) / 255.0, [pixels(3)]),
    "normalized_rows_of_150": (normalized, [floats(666, 150)]),
    "normalized_rows_of_300": (normalized, [floats(333, 300)]),
    "normalized_rows_of_100_doubles": (normalized, [doubles(1000, 100)]),
    "rows_of_64_doubles_by_their_sums": (lambda xp, x: x / (1.0 + xp.sum(x * x, axis=1, keepdims=True)), [doubles(3000, 64)]),
    "sums_of_exponentials_of_90": (lambda xp, x: xp.sum(xp.exp(x), axis=1), [floats(1111, 90)]),
    "transpose_less_its_means": (lambda xp, x: x.T - xp.mean(x.T, axis=1, keepdims=True), [floats(1000, 1000)]),
    "softmax_of_a_transpose": (lambda xp, x: xp.exp(x.T) / xp.sum(xp.exp(x.T), axis=1, keepdims=True), [floats(300, 1000)]),
}
