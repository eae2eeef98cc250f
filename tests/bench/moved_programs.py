"""Programs for bench_wide: small blocks of elements that change places, rows that elements choose, pieces that share what they read, rolls
of short rows, sums of rows of doubles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.bench.further_programs import doubles, floats
from tests.bench.summed_programs import places


def lattice_step(xp: Any, f: Any) -> Any:
    moved = [f[0], xp.roll(f[1], 1, 1), xp.roll(f[2], -1, 1), xp.roll(f[3], 1, 0), xp.roll(f[4], -1, 0)]
    mean = (moved[0] + moved[1] + moved[2] + moved[3] + moved[4]) * 0.2
    return xp.stack([part + 0.5 * (mean - part) for part in moved], 0)


def laplacian_around(xp: Any, x: Any) -> Any:
    total = -6.0 * x
    for axis in range(3):
        total = total + xp.roll(x, 1, axis) + xp.roll(x, -1, axis)
    return total


def haar_step(xp: Any, x: Any) -> Any:
    upper = xp.concatenate([x[::2, ::2] + x[1::2, 1::2], x[::2, ::2] - x[1::2, 1::2]], 1)
    lower = xp.concatenate([x[::2, 1::2] + x[1::2, ::2], x[::2, 1::2] - x[1::2, ::2]], 1)
    return xp.concatenate([upper, lower], 0) * 0.5


def layer_norm(xp: Any, x: Any, scale: Any, shift: Any) -> Any:
    apart = x - xp.mean(x, axis=-1, keepdims=True)
    return apart / xp.sqrt(xp.mean(apart * apart, axis=-1, keepdims=True) + 1e-5) * scale + shift


MOVED: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "small_matrices_turned": (lambda xp, x: xp.transpose(x, (0, 2, 1)) + 1.0, [floats(1000, 7, 9)]),
    "tiny_matrices_turned": (lambda xp, x: xp.transpose(x, (0, 2, 1)) + 1.0, [floats(5000, 4, 4)]),
    "symmetric_parts": (lambda xp, x: (x + xp.transpose(x, (0, 2, 1))) * 0.5, [doubles(3000, 3, 3)]),
    "six_axes_turned": (lambda xp, x: xp.transpose(x, (5, 3, 0, 2, 4, 1)) * 2.0, [floats(3, 5, 7, 11, 4, 6)]),
    "channels_into_pixels": (
        lambda xp, x: xp.reshape(xp.transpose(xp.reshape(x, (20, 32, 32, 2, 2)), (0, 1, 3, 2, 4)), (20, 64, 64)) * 1.5,
        [floats(20, 32, 32, 4)],
    ),
    "heads_of_rows": (
        lambda xp, x: xp.reshape(xp.transpose(xp.reshape(x, (5000, 4, 8)), (0, 2, 1)), (5000, 32)) * 1.5,
        [floats(5000, 32)],
    ),
    "elements_five_times": (lambda xp, x: xp.repeat(x, 5, 1) * 2.0, [floats(300, 200)]),
    "rows_of_four_chosen": (lambda xp, x, i: xp.take(x, i, 0) * 2.0, [doubles(5000, 4), places(5000, 50_000)]),
    "pairs_chosen": (lambda xp, x, i: xp.take(x, i, 0) + 1.0, [floats(5000, 2), places(5000, 100_000)]),
    "product_of_two_tables": (lambda xp, a, b, i: xp.take(a, i, 0) * xp.take(b, i, 0), [floats(64), floats(64), places(64, 90_300)]),
    "function_of_a_table": (lambda xp, t, i: xp.exp(xp.take(t, i, 0) * 2.0) + 1.0, [floats(256), places(256, 1000, 1000)]),
    "function_of_chosen_rows": (lambda xp, t, i, w: xp.tanh(xp.take(t, i, 0) * w), [floats(1000, 64), places(1000, 8192), floats(64)]),
    "sums_down_three_columns": (lambda xp, x: xp.cumsum(x, 0), [floats(50_000, 3)]),
    "sums_of_squares_down_seven": (lambda xp, x: xp.cumsum(x * x, 0) * 0.5, [floats(30_000, 7)]),
    "even_and_odd_columns": (lambda xp, x: xp.concatenate([x[:, ::2], x[:, 1::2]], 1) + 0.5, [floats(1000, 1002)]),
    "three_images_apart": (lambda xp, x: xp.concatenate([x[:, ::3], x[:, 1::3], x[:, 2::3]], 1) * 2.0, [floats(400, 900)]),
    "haar_step": (haar_step, [floats(512, 510)]),
    "lattice_step": (lattice_step, [floats(5, 200, 201)]),
    "laplacian_around": (laplacian_around, [floats(40, 41, 42)]),
    "layer_norm_doubles": (layer_norm, [doubles(20, 50, 200), doubles(200), doubles(200)]),
    "total_variation": (
        lambda xp, x: xp.sum(xp.maximum(x[1:] - x[:-1], x[:-1] - x[1:])) + xp.sum(xp.maximum(x[:, 1:] - x[:, :-1], x[:, :-1] - x[:, 1:])),
        [floats(501, 703)],
    ),
    "greatest_of_long_differences": (
        lambda xp, a, b: xp.max(xp.maximum(a[:, None, :] - b[None, :, :], b[None, :, :] - a[:, None, :]), axis=2),
        [floats(100, 30), floats(1000, 30)],
    ),
}
