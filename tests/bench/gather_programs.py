"""Programs over what places choose, for bench_wide: tables, embeddings, graphs, and rows of every width."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.bench.plain_programs import Program, floats

RNG = np.random.default_rng(1)


def places(below: int, *shape: int) -> Any:
    return RNG.integers(0, below, shape).astype("i4")


def rows(width: int) -> Program:
    return (lambda xp, x, i: xp.take(x, i, axis=0) + 1, [floats(1000, width), places(1000, 4096)])


def apart(width: int) -> Program:
    return (lambda xp, x, i, j: xp.sum((x[i] - x[j]) ** 2, axis=1), [floats(1000, width), places(1000, 4096), places(1000, 4096)])


def bags(width: int) -> Program:
    return (lambda xp, x, i: xp.sum(x[i], axis=1), [floats(1000, width), places(1000, 1024, 8)])


GATHERS: dict[str, Program] = {
    **{f"rows_{width}": rows(width) for width in (3, 4, 8, 16, 32, 48, 100)},
    **{f"apart_{width}": apart(width) for width in (4, 16, 32)},
    **{f"bags_{width}": bags(width) for width in (4, 16, 32)},
    "edges": (lambda xp, x, i, w: x[i] * w[:, None], [floats(1000, 16), places(1000, 4096), floats(4096)]),
    "columns_chosen": (lambda xp, x, i: xp.take(x, i, axis=1), [floats(1024, 1024), places(1024, 1024)]),
    "along_rows": (lambda xp, x, i: xp.take_along_axis(x, i, axis=1), [floats(1024, 256), places(256, 1024, 256)]),
    "table_scaled": (lambda xp, x, i, s: xp.take(x, i) * s, [floats(1000), places(1000, 1 << 18), floats(1 << 18)]),
    "sorted_few": (lambda xp, keys, x: xp.searchsorted(keys, x), [np.sort(floats(10)), floats(1 << 17)]),
    "sorted_1000": (lambda xp, keys, x: xp.searchsorted(keys, x), [np.sort(floats(1000)), floats(1 << 17)]),
    "sorted_100k": (lambda xp, keys, x: xp.searchsorted(keys, x, side="right"), [np.sort(floats(100000)), floats(1 << 17)]),
    "binned": (lambda xp, x, bins: xp.digitize(x, bins), [floats(1 << 17), np.sort(floats(20))]),
    "between": (lambda xp, x, at, y: xp.interp(x, at, y), [floats(1 << 16), np.sort(floats(200)), floats(200)]),
    "take_of_all": (lambda xp, x, i: xp.take(x, i), [floats(1000, 1000), places(1000000, 1 << 16)]),
    "take_checked": (lambda xp, x, i: x[i], [floats(1 << 14), places(1 << 14, 1 << 20)]),
    "two_places": (lambda xp, x, i, j: x[i, j], [floats(512, 512), places(512, 65536), places(512, 65536)]),
}
