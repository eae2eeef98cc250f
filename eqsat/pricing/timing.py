"""How long something takes at its best."""

from __future__ import annotations

import time
from collections.abc import Callable


def best_seconds(call: Callable[[], object], limit: float, most: int | None = None) -> float:
    """The least of several runs in a row: at least one, until `limit` seconds are over, and `most` at the most."""
    best, runs, end = float("inf"), 0, time.perf_counter() + limit
    while runs == 0 or (runs != most and time.perf_counter() < end):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
        runs += 1
    return best
