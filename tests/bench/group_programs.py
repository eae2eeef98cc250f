"""Programs for bench_wide: members of groups counted and folded, written as comparisons with all groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.bench.further_programs import floats


def members(count: int, groups: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(groups).integers(0, groups, count).astype(np.int32)


def one_hot(xp: Any, group: Any, groups: int) -> Any:
    return (group[:, None] == xp.arange(groups)).astype("float32")


def means(groups: int) -> Callable[..., Any]:
    def of(xp: Any, x: Any, group: Any) -> Any:
        hot = one_hot(xp, group, groups)
        return (hot.T @ x) / (xp.sum(hot, axis=0)[:, None] + 1e-6)

    return of


GROUPS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "counts_10": (lambda xp, g: xp.sum(g[:, None] == xp.arange(10), axis=0), [members(20_000, 10)]),
    "counts_64": (lambda xp, g: xp.sum(g[:, None] == xp.arange(64), axis=0), [members(20_000, 64)]),
    "counts_256": (
        lambda xp, x: xp.sum(xp.reshape(x, (-1,))[:, None] == xp.arange(256), axis=0),
        [members(128 * 128, 256).astype(np.uint8).reshape(128, 128)],
    ),
    "sums_of_groups": (
        lambda xp, g, x: xp.sum(xp.where(g[:, None] == xp.arange(256), x[:, None], 0.0), axis=0),
        [members(20_000, 256), floats(20_000)],
    ),
    "greatest_of_groups": (
        lambda xp, g, x: xp.max(xp.where(g[:, None] == xp.arange(256), x[:, None], -np.inf), axis=0),
        [members(20_000, 256), floats(20_000)],
    ),
    "rows_of_groups": (lambda xp, g, x: one_hot(xp, g, 50).T @ x, [members(2_000, 50), floats(2_000, 32)]),
    "means_of_groups": (means(10), [floats(5_000, 16), members(5_000, 10)]),
    "pairs_of_groups": (lambda xp, a, b: one_hot(xp, a, 10).T @ one_hot(xp, b, 10), [members(5_000, 10), members(5_000, 10)[::-1].copy()]),
    "counts_by_rows": (lambda xp, g: xp.sum(g[:, :, None] == xp.arange(100), axis=1), [members(50 * 400, 100).reshape(50, 400)]),
}
