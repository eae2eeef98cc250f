"""What random programs found to be slow (decision 45): short rows and loops, folds around results, first places, chosen rows, few columns.

Each is a function of a namespace with NumPy's names, and the arrays that it is called with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.bench.further_programs import RNG, doubles, floats

FOUND: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "greater_of_pairs": (lambda xp, a, b: xp.maximum(a * 2 + 1, b), [floats(150_000, 1), floats(150_000, 2)]),
    "chosen_by_row": (lambda xp, c, b: xp.where(c > 0, b, b * 2), [floats(100_000, 1), floats(100_000, 3)]),
    "remainders_by_row": (lambda xp, c, b: b % (xp.abs(c) + 1), [floats(75_000, 1), floats(75_000, 4)]),
    "short_rows_turned_round": (lambda xp, x: xp.where(x[:, ::-1] > 0.5, x, 0), [floats(65_536, 16)]),
    "channels_of_7_by_7": (lambda xp, x, c: x * c, [floats(32, 64, 7, 7), floats(64, 1, 1)]),
    "exp_of_columns": (lambda xp, x: xp.exp(x - xp.max(x, axis=1, keepdims=True)), [floats(16, 32, 128)]),
    "exp_of_every_fifth": (lambda xp, x: xp.exp(x[:, :160:5]), [floats(531, 163)]),
    "two_turned": (lambda xp, a, b: xp.where(a > b, a - b, 0).T + 0, [floats(13, 76_923), floats(13, 76_923)]),
    "sums_around": (lambda xp, x: xp.sum(x, axis=(0, 2)), [floats(31_060, 18, 5)]),
    "greatest_around": (lambda xp, x: xp.max(x, axis=(0, 2)), [floats(31_060, 18, 5)]),
    "normalized_around": (
        lambda xp, x: (x - xp.mean(x, axis=(0, 2), keepdims=True)) / xp.sqrt(xp.var(x, axis=(0, 2), keepdims=True) + 1e-5),
        [floats(31_060, 18, 5)],
    ),
    "sums_turned": (lambda xp, x: xp.transpose(xp.sum(x, axis=2), (0, 2, 1)) + 0, [floats(3, 7, 192, 225)]),
    "all_of_narrow_columns": (lambda xp, x: xp.all(x > -3, axis=0), [floats(41_980, 12, 2)]),
    "sums_of_narrow_columns": (lambda xp, x: xp.sum(x, axis=0), [floats(41_980, 12, 2)]),
    "greatest_of_columns": (lambda xp, x: xp.max(x, axis=0), [floats(3_000, 35, 10)]),
    "first_least": (lambda xp, x: xp.argmin(x), [floats(1_806_510)]),
    "greatest_of_chosen_rows": (
        lambda xp, x, i: xp.max(xp.take(x, i, axis=0), axis=0),
        [floats(34, 7, 1_523), RNG.integers(0, 34, 34).astype("int32")],
    ),
    "rows_of_halves": (
        lambda xp, x, i: xp.take(xp.reshape(x, (2, -1)), i, axis=0),
        [floats(175_472), RNG.integers(0, 2, 7).astype("int32")],
    ),
    "five_columns": (lambda xp, w, x: xp.matmul(w, x), [floats(256, 1_024), floats(32, 1_024, 5)]),
    "twelve_columns": (lambda xp, w, x: xp.matmul(w, x), [floats(256, 1_024), floats(32, 1_024, 12)]),
    "images_of_7_by_7": (lambda xp, w, x: xp.matmul(w, x), [floats(256, 256), floats(32, 256, 49)]),
    "five_columns_of_rows": (lambda xp, x, w: xp.matmul(x, w), [floats(32, 64, 256), floats(256, 5)]),
    "points_by_a_matrix": (lambda xp, x, w, c: xp.matmul(x, w) * c, [doubles(57_350, 6, 5), doubles(5, 10), doubles(10)]),
    "rolled_short_rows": (lambda xp, x: xp.cos(xp.roll(x, 5, axis=1)), [floats(30, 6_000, 5)]),
    "padded_short_axes": (
        lambda xp, a, b, c: xp.pad((xp.maximum(a, b) - c)[:, 2:315], [(2, 0)] * 3),
        [floats(2, 316, 3_925), floats(3_925), floats(2, 316, 3_925)],
    ),
    "scaled_short_rows": (lambda xp, x, c: xp.maximum(x * c + c, 0), [floats(31_060, 18, 5), floats(18, 1)]),
}
