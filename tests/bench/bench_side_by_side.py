"""Loops whose vectors are computed side by side, and the same one vector at a time: `python -m tests.bench.bench_side_by_side [NAME ...]`.

The programs of bench_wide that have such loops, one thread, least of calls in turns; above 1 is faster side by side.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import eqsat
import eqsat.numpy as enp
from eqsat.codegen import kernel_code
from eqsat.codegen.folds.interleaved import side_by_side
from tests.bench.bench_wide import PROGRAMS

ROUNDS, SECONDS = 8, 0.004


def compiled(function: Callable[..., Any], arrays: list[Any]) -> Callable[[], Any]:
    """A call of a function that is compiled now."""
    known = eqsat.jit(lambda *args: function(enp, *args), options=eqsat.Options(cache=False))
    known(*arrays)
    known(*arrays)
    return lambda: known(*arrays)


def least(call: Callable[[], Any]) -> float:
    """Seconds of the fastest of several calls."""
    found, end = math.inf, time.perf_counter() + SECONDS
    while time.perf_counter() < end or found == math.inf:
        start = time.perf_counter()
        call()
        found = min(found, time.perf_counter() - start)
    return found


def main() -> None:
    eqsat.set_num_threads(1)
    counts, ratios = list[int](), list[float]()

    def watched(*args: Any) -> int:
        counts.append(side_by_side(*args))
        return counts[-1]

    for name in sys.argv[1:] or PROGRAMS:
        function, arrays = PROGRAMS[name]
        counts.clear()
        with patch.object(kernel_code, "side_by_side", watched):
            together = compiled(function, arrays)
        if max(counts, default=1) == 1:
            continue
        with patch.object(kernel_code, "side_by_side", lambda *_: 1):
            apart = compiled(function, arrays)
        times = [(least(together), least(apart)) for _ in range(ROUNDS)]
        here, there = (min(column) * 1e6 for column in zip(*times, strict=True))
        ratios.append(there / here)
        print(f"{name:22} {ratios[-1]:5.2f}  {there:8.1f} to {here:8.1f} us", flush=True)
    print(f"{len(ratios)} programs, geometric mean {math.exp(statistics.fmean(map(math.log, ratios))):.2f}" if ratios else "no such loops")


if __name__ == "__main__":
    main()
