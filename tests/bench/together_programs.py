"""Programs for bench_wide: what one kernel makes together and the next reads, products of the same factors in another order, rows and
columns added up, windows that step over elements.  A helper with fresh eyes wrote such, and found them slow beside hand-written loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.bench.further_programs import RNG, doubles, floats


def of_bytes(*shape: int) -> Any:
    return RNG.integers(0, 256, shape).astype("u1")


def median_of_nine(xp: Any, x: Any) -> Any:
    """Medians of 3 x 3 neighbours: of the greatest low, the median median and the least high of three columns."""
    least, most = xp.minimum, xp.maximum

    def median(a: Any, b: Any, c: Any) -> Any:
        return most(least(a, b), least(most(a, b), c))

    a, b, c = x[:-2], x[1:-1], x[2:]
    lows, medians, highs = least(least(a, b), c), median(a, b, c), most(most(a, b), c)
    low, middle, high = ((v[:, :-2], v[:, 1:-1], v[:, 2:]) for v in (lows, medians, highs))
    return median(most(most(low[0], low[1]), low[2]), median(*middle), least(least(high[0], high[1]), high[2]))


def between_extremes(xp: Any, x: Any) -> Any:
    """The least of the greatest of three rows in three columns, less the greatest of the least."""
    a, b, c = x[:-2], x[1:-1], x[2:]
    lows, highs = xp.minimum(xp.minimum(a, b), c), xp.maximum(xp.maximum(a, b), c)
    low = xp.maximum(xp.maximum(lows[:, :-2], lows[:, 1:-1]), lows[:, 2:])
    return xp.minimum(xp.minimum(highs[:, :-2], highs[:, 1:-1]), highs[:, 2:]) - low


def forces(xp: Any, points: Any, weights: Any) -> Any:
    """What points do to each other."""
    apart = points[None] - points[:, None]
    square = xp.sum(apart * apart, axis=-1) + 1e-2
    return xp.sum((weights / (square * xp.sqrt(square)))[:, :, None] * apart, axis=1)


def windows_in_steps(xp: Any, x: Any) -> Any:
    """Windows of 3 x 3 every other row and column, one behind the other, as convolutions read them."""
    windows = [x[:, p : p + 63 : 2, q : q + 63 : 2] for p in range(3) for q in range(3)]
    return xp.reshape(xp.stack(windows, 1), (9 * x.shape[0], -1))


def summed_tables(xp: Any, x: Any) -> Any:
    """Sums of all that is above and left, of numbers and of their squares."""
    v = x.astype("float64")
    return xp.cumsum(xp.cumsum(v, 0), 1), xp.cumsum(xp.cumsum(v * v, 0), 1)


TOGETHER: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "median_of_nine": (median_of_nine, [of_bytes(722, 1282)]),
    "between_extremes": (between_extremes, [floats(722, 1282)]),
    "forces": (forces, [doubles(256, 3), np.abs(doubles(256))]),
    "windows_in_steps": (windows_in_steps, [floats(32, 65, 65)]),
    "summed_tables": (summed_tables, [RNG.integers(-1000, 1000, (240, 320)).astype("i2")]),
    "symmetric_part": (lambda xp, a, v: xp.matmul((a + a.T) / 2, v), [doubles(500, 500), doubles(500)]),
    "rows_and_columns": (lambda xp, a, v: xp.matmul(a + a.T, v), [floats(700, 700), floats(700)]),
    "integral_image": (lambda xp, a: xp.pad(xp.cumsum(xp.cumsum(a, 0), 1), ((1, 0), (1, 0))), [floats(512, 512)]),
    "quadratic_forms": (
        lambda xp, a, x: (
            xp.matmul(x, xp.matmul(a, x)),
            xp.matmul(xp.matmul(xp.matmul(x, a.T), a), x),
            xp.matmul(xp.matmul(x, a.T), x) / xp.matmul(x, x),
        ),
        [doubles(400, 400), doubles(400)],
    ),
}
