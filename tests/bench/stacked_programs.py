"""Further programs for bench_wide: stacks and concatenations of views and of what is computed, windows written as stacks, and programs
of vision, signals and learning that are made of them.  Each is (function of a namespace, arguments)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

RNG = np.random.default_rng(2)
Program = tuple[Callable[..., Any], list[Any]]


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("f4")


def shifts(x: Any, size: int) -> list[Any]:
    """The windows of the last two axes, one for each place in a window."""
    high, wide = x.shape[-2] - size + 1, x.shape[-1] - size + 1
    return [x[..., i : i + high, j : j + wide] for i in range(size) for j in range(size)]


def columns(xp: Any, x: Any) -> Any:
    return xp.stack(shifts(x, 3), 2).reshape(x.shape[0], -1, (x.shape[2] - 2) * (x.shape[3] - 2))


def local_contrast(xp: Any, x: Any) -> Any:
    near = shifts(x, 5)
    mean = sum(near) / 25
    variance = sum((one - mean) ** 2 for one in near) / 25
    return (x[2:-2, 2:-2] - mean) / xp.sqrt(variance + 1e-3)


def binary_patterns(xp: Any, x: Any) -> Any:
    near = shifts(x, 3)
    around = [near[k] for k in (0, 1, 2, 5, 8, 7, 6, 3)]
    return sum((one >= near[4]).astype("uint8") * np.uint8(1 << k) for k, one in enumerate(around))


def haar(xp: Any, x: Any) -> Any:
    a, b, c, d = x[0::2, 0::2], x[0::2, 1::2], x[1::2, 0::2], x[1::2, 1::2]
    return xp.stack([a + b + c + d, a - b + c - d, a + b - c - d, a - b - c + d]) / 2


def butterfly(xp: Any, x: Any) -> Any:
    y = x.reshape(-1, 2, 64)
    return xp.stack([y[:, 0] + y[:, 1], y[:, 0] - y[:, 1]], axis=1).reshape(x.shape)


def edges_of_windows(xp: Any, x: Any, weights: Any) -> Any:
    found = xp.stack(shifts(x, 3), -1) @ weights
    return xp.sqrt(xp.sum(found * found, axis=-1))


def causal(xp: Any, x: Any, w: Any) -> Any:
    y = xp.pad(x, ((0, 0), (3, 0), (0, 0)))
    return xp.sum(xp.stack([y[:, k : k + x.shape[1]] for k in range(4)], -1) * w, axis=-1)


def rotated_pairs(xp: Any, x: Any, c: Any, s: Any) -> Any:
    return x * c + xp.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape) * s


def relative_shift(xp: Any, x: Any) -> Any:
    heads, rows, n = x.shape
    return xp.pad(x, ((0, 0), (0, 0), (1, 0))).reshape(heads, n + 1, rows)[:, 1:].reshape(heads, rows, n)


def hue(xp: Any, x: Any) -> Any:
    r, g, b = x[..., 0], x[..., 1], x[..., 2]
    most, least = xp.maximum(xp.maximum(r, g), b), xp.minimum(xp.minimum(r, g), b)
    d = most - least + 1e-6
    return xp.stack([xp.where(most == r, (g - b) / d, xp.where(most == g, 2 + (b - r) / d, 4 + (r - g) / d)), d, most], -1)


def nearest(xp: Any, a: Any, b: Any) -> Any:
    return xp.min(xp.sum(a * a, 1)[:, None] + xp.sum(b * b, 1)[None, :] - 2 * a @ b.T, axis=1)


def blocks_on_the_diagonal(xp: Any, a: Any, b: Any) -> Any:
    return xp.concatenate([xp.concatenate([a, xp.zeros_like(b)], 1), xp.concatenate([xp.zeros_like(a), b], 1)], 0)


def similarity(xp: Any, a: Any, b: Any) -> Any:
    """The structural similarity of two pictures, over windows of 7 x 7."""

    def mean(x: Any) -> Any:
        return sum(shifts(x, 7)) / 49

    one, other = mean(a), mean(b)
    spread, common = mean(a * a) + mean(b * b) - one * one - other * other, mean(a * b) - one * other
    return xp.mean((2 * one * other + 1e-4) * (2 * common + 9e-4) / ((one * one + other * other + 1e-4) * (spread + 9e-4)))


def halves(xp: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """The product of two complex matrices in real numbers."""
    return xp.stack([a @ c - b @ d, a @ d + b @ c])


def averages(xp: Any, x: Any) -> Any:
    """Exponential averages down the rows, written out."""
    found = [x[0]]
    for row in range(1, x.shape[0]):
        found.append(np.float32(0.9) * found[-1] + x[row])
    return xp.stack(found)


STACKED: dict[str, Program] = {
    "columns": (columns, [floats(1, 32, 58, 58)]),
    "columns_mm": (lambda xp, x, w: w @ columns(xp, x), [floats(1, 32, 58, 58), floats(64, 288)]),
    "windows_first": (lambda xp, x: xp.stack(shifts(x, 3), 0), [floats(502, 502)]),
    "windows_mid": (lambda xp, x: xp.stack(shifts(x, 3), 1), [floats(502, 502)]),
    "windows_last": (lambda xp, x: xp.stack(shifts(x, 3), 2), [floats(502, 502)]),
    "windows_reshaped": (lambda xp, x: xp.stack(shifts(x.reshape(64, 58, 58), 3), 1).reshape(576, 56 * 56), [floats(464, 464)]),
    "windows_mean": (lambda xp, x: xp.mean(xp.stack(shifts(x, 5), -1), axis=-1), [floats(1, 32, 58, 58)]),
    "windows_range": (lambda xp, x: (lambda s: xp.max(s, 0) - xp.min(s, 0))(xp.stack(shifts(x, 3), 0)), [floats(512, 512)]),
    "windows_depthwise": (
        lambda xp, x, w: xp.einsum("knchw,kc->nchw", xp.stack(shifts(x, 3), 0), w),
        [floats(1, 32, 58, 58), floats(9, 32)],
    ),
    "shifts_dot": (lambda xp, x, w: w @ xp.stack([x.reshape(-1)[k : k + 100000] for k in range(16)]), [floats(1001, 100), floats(16)]),
    "shifts_mm": (lambda xp, x, w: xp.stack([x[k : k + 4096] for k in range(64)], 1) @ w, [floats(4159), floats(64, 16)]),
    "rolls": (lambda xp, x: xp.stack([xp.roll(x, k, 1) for k in range(5)], 0), [floats(512, 512)]),
    "mean_beside_rest": (
        lambda xp, x: xp.concatenate([xp.mean(x[:, :100], axis=1, keepdims=True) + 0 * x[:, :100], x[:, 100:]], 1),
        [floats(512, 512)],
    ),
    "local_contrast": (local_contrast, [floats(256, 256)]),
    "binary_patterns": (binary_patterns, [RNG.integers(0, 256, (512, 512), dtype="u1")]),
    "haar": (haar, [floats(512, 512)]),
    "butterfly": (butterfly, [floats(1 << 18)]),
    "edges_of_windows": (edges_of_windows, [floats(256, 256), floats(9, 2)]),
    "causal_stack": (causal, [floats(4, 512, 64), floats(64, 4)]),
    "rotated_pairs": (rotated_pairs, [floats(8, 512, 64), floats(512, 64), floats(512, 64)]),
    "relative_shift": (relative_shift, [floats(8, 256, 256)]),
    "hue": (hue, [abs(floats(256, 256, 3))]),
    "nearest": (nearest, [floats(500, 32), floats(800, 32)]),
    "blocks_on_the_diagonal": (blocks_on_the_diagonal, [floats(256, 256), floats(256, 256)]),
    "similarity": (similarity, [floats(128, 128), floats(128, 128)]),
    "unpack_bits": (lambda xp, x: xp.stack([(x >> k) & 1 for k in range(8)], -1).reshape(-1), [RNG.integers(0, 256, 1 << 16, dtype="u1")]),
    "repeated_inside": (lambda xp, x: xp.repeat(xp.repeat(x, 2, 0), 2, 1)[1:-1, 1:-1] + 1, [floats(256, 256)]),
    "repeated_columns": (lambda xp, x: xp.repeat(x, 3, 1)[:, :-1] * 2, [floats(256, 256)]),
    "zeros_between": (lambda xp, x: xp.stack([x, 0 * x], -1).reshape(256, 512)[:, :-1] + 1, [floats(256, 256)]),
    "upsample_odd": (
        lambda xp, x: (lambda a: (a[:-1, :-1] + a[1:, :-1] + a[:-1, 1:] + a[1:, 1:]) / 4)(xp.repeat(xp.repeat(x, 2, 0), 2, 1)),
        [floats(256, 256)],
    ),
    "correlations": (
        lambda xp, a, b: xp.stack([xp.sum(a[64:-64] * b[64 + k : b.shape[0] - 64 + k]) for k in range(-32, 32)]),
        [floats(8192)] * 2,
    ),
    "stacked_products": (lambda xp, x, a, b: xp.stack([x @ a, x @ b], 1), [floats(256, 256)] * 3),
    "stacked_products_last": (lambda xp, x, a, b: xp.stack([x @ a, x @ b], -1), [floats(256, 256)] * 3),
    "three_stacked_products": (lambda xp, x, a, b, c: xp.stack([x @ a, x @ b, x @ c]), [floats(256, 256)] * 4),
    "complex_halves": (halves, [floats(256, 256)] * 4),
    "stacked_columns": (lambda xp, x, y: xp.stack([xp.sum(x, 0), xp.max(y, 0), xp.sum(x * x, 0)], -1), [floats(256, 256)] * 2),
    "averages_32": (averages, [floats(32, 4096)]),
    "averages_64": (averages, [floats(64, 5000)]),
    "blend": (lambda xp, a, b: a[..., :3] * a[..., 3:] + b[..., :3] * (1 - a[..., 3:]), [floats(720, 1280, 4)] * 2),
    "heads_apart": (lambda xp, x: xp.transpose(x, (2, 0, 3, 1, 4)) * 2, [floats(4, 256, 3, 8, 64)]),
}
