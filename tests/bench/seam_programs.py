"""Programs for bench_wide: folds of what is padded, rolled and joined, and down columns that are; rows that lie far apart; programs that
loops of Python write out; remainders of floats."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from tests.bench.further_programs import doubles, floats


def padded(xp: Any, x: Any) -> Any:
    return xp.pad(x, ((1, 2), (3, 4)))


def normalized(xp: Any, x: Any, axis: int) -> Any:
    centred = x - xp.mean(x, axis=axis, keepdims=True)
    return centred / xp.sqrt(xp.mean(centred * centred, axis=axis, keepdims=True) + 1e-5)


def smoothed(xp: Any, x: Any) -> Any:
    """An exponential moving average, step by step."""
    found = [x[:, 0]]
    for k in range(1, x.shape[1]):
        found.append(0.9 * found[-1] + 0.1 * x[:, k])
    return xp.stack(found, 1)


def tridiagonal(xp: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Thomas's algorithm down the columns of many systems."""
    upper, right = [c[0] / b[0]], [d[0] / b[0]]
    for k in range(1, a.shape[0]):
        by = b[k] - a[k] * upper[-1]
        upper, right = [*upper, c[k] / by], [*right, (d[k] - a[k] * right[-1]) / by]
    found = [right[-1]]
    for k in range(a.shape[0] - 2, -1, -1):
        found.append(right[k] - upper[k] * found[-1])
    return xp.stack(found[::-1])


def tree(xp: Any, x: Any) -> Any:
    """Prices in a binomial tree, from its leaves."""
    return functools.reduce(lambda values, _: 0.499 * values[:-1] + 0.5 * values[1:], range(x.shape[0] - 1), xp.maximum(x - 1, 0))


SEAMS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "padded_rows_added": (lambda xp, x: xp.sum(padded(xp, x), axis=1), [floats(1000, 1000)]),
    "padded_columns_added": (lambda xp, x: xp.sum(padded(xp, x), axis=0), [floats(1000, 1000)]),
    "greatest_of_padded_columns": (lambda xp, x: xp.max(padded(xp, x), axis=0), [floats(1000, 1000)]),
    "greatest_of_a_padded_image": (lambda xp, x: xp.max(padded(xp, x)), [floats(1000, 1000)]),
    "sums_of_joined_rows": (lambda xp, x: xp.sum(xp.concatenate([x, x * 2.0], 1), axis=1), [floats(1000, 1000)]),
    "sums_of_rows_of_two_arrays": (lambda xp, x, y: xp.sum(xp.concatenate([x, y], 1), axis=1), [floats(501, 303), floats(501, 207)]),
    "rolled_sums_of_columns": (lambda xp, x: xp.roll(xp.sum(x, axis=0), 89), [floats(1000, 1000)]),
    "columns_beside_rolled_ones": (lambda xp, x: xp.sum(x * xp.roll(x, 7, 1), axis=0), [floats(503, 503)]),
    "differences_of_padded_columns": (
        lambda xp, x: (lambda p: xp.max(p[1:] - p[:-1], axis=0))(xp.pad(x, ((0, 0), (0, 1)))),
        [floats(256, 4096)],
    ),
    "variance_of_every_second": (lambda xp, x: xp.roll(xp.var(x[:, 231:861:2], axis=0), 89), [floats(1024, 1024)]),
    "normalized_between": (lambda xp, x: normalized(xp, x, 1), [floats(16, 16, 4097)]),
    "centred_between": (lambda xp, x: x - xp.mean(x, axis=1, keepdims=True), [floats(16, 14, 4097)]),
    "eight_far_rows": (lambda xp, x: normalized(xp, x, 0), [floats(8, 903_168)]),
    "short_middle_sums": (lambda xp, x: xp.sum(x, axis=1), [floats(60, 8, 640)]),
    "both_ways_through_a_matrix": (lambda xp, a, v: a @ v + a.T @ v, [floats(401, 401), floats(401)]),
    "first_place_of_doubles": (lambda xp, x: xp.argmax(x), [doubles(200_003)]),
    "first_places_of_coordinates": (lambda xp, x: xp.argmin(x, axis=0), [floats(100_000, 3)]),
    "moving_average_64": (smoothed, [doubles(1001, 64)]),
    "tridiagonal_32": (tridiagonal, [doubles(32, 3001), doubles(32, 3001) + 5.0, doubles(32, 3001), doubles(32, 3001)]),
    "binomial_tree_32": (tree, [doubles(33, 501)]),
    "angles_wrapped": (lambda xp, x: (x + math.pi) % (2 * math.pi) - math.pi, [floats(200_003)]),
    "fractions": (lambda xp, x: x % 1.0, [doubles(200_003)]),
    "to_the_minus_one_and_a_half": (lambda xp, x: (x * x + 0.1) ** -1.5, [floats(200_003)]),
}
