"""Products of complex matrices beside NumPy's, which calls OpenBLAS; interleaved rounds, medians, one thread; prints and asserts nothing.

Run with `OPENBLAS_NUM_THREADS=1 python -m tests.bench.bench_complex`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import eqsat

Array = np.ndarray[Any, np.dtype[Any]]


def once(function: Callable[[Any, Any], object], a: Array, b: Array) -> float:
    """Microseconds a call, over a few milliseconds."""
    calls, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < 5e-3:
        function(a, b)
        calls += 1
    return (time.perf_counter() - begin) / calls * 1e6


def main() -> None:
    eqsat.set_num_threads(1)
    random = np.random.default_rng(0)
    for dtype in ("complex64", "complex128"):
        for n in (8, 32, 64, 128, 256, 512):
            a, b = ((random.random((n, n)) + 1j * random.random((n, n))).astype(dtype) for _ in range(2))
            function = eqsat.jit(np.matmul)
            function(a, b)
            rounds = [(once(function, a, b), once(np.matmul, a, b)) for _ in range(15)]
            ours, numpys = (statistics.median(times) for times in zip(*rounds, strict=True))
            times = f"{ours:9.1f} us   numpy {numpys:9.1f} us   {numpys / ours:5.2f} x"
            print(f"{dtype:10} {n:4}   {times}   {8e-3 * n**3 / ours:6.1f} GFLOP/s")


if __name__ == "__main__":
    main()
