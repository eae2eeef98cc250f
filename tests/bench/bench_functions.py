"""Times of compiled functions of elements beside NumPy's: one thread, 2^20 elements, medians of interleaved rounds, in processor time.

Prints the table of docs/measurements.md and asserts nothing.  Run with `python -m tests.bench.bench_functions [name ...]`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from eqsat.ir.ops import SCALAR_OPS
from tests.codegen.functions import FUNCTIONS, Array, routine

SIZE = 1 << 20
ROUNDS = 21


def medians(*runs: Callable[[], object]) -> list[float]:
    """Nanoseconds an element of each, one after the other in every round."""
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(ROUNDS):
        for run, found in zip(runs, times, strict=True):
            start = time.thread_time()
            run()
            found.append(time.thread_time() - start)
    return [float(np.median(found)) / SIZE * 1e9 for found in times]


def arguments(name: str, dtype: str) -> list[Array]:
    """From the first range of every argument, where it is used most."""
    rng = np.random.default_rng(0)
    return [rng.uniform(*ranges[0], SIZE).astype(dtype) for ranges in FUNCTIONS[name]]


def compare(name: str, dtype: str) -> tuple[float, float]:
    arrays, out, ours = arguments(name, dtype), np.empty(SIZE, dtype), np.empty(SIZE, dtype)
    code, numpys = routine(name, dtype, SIZE), SCALAR_OPS[name].meaning
    keyed = {} if name == "erf" else {"out": out}
    if name == "power":
        numpys = np.power
    first, second = medians(lambda: code([*arrays, ours]), lambda: numpys(*arrays, **keyed))
    return first, second


def main() -> None:
    print("| function | float32 | NumPy | ratio | float64 | NumPy | ratio |\n|---|--:|--:|--:|--:|--:|--:|")
    for name in sys.argv[1:] or FUNCTIONS:
        cells = []
        for dtype in ("float32", "float64"):
            ours, numpys = compare(name, dtype)
            cells.append(f"{ours:.2f} | {numpys:.2f} | {numpys / ours:.1f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
