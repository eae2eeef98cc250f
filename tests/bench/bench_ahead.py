"""Kernels over memory with and without asking for it ahead, printed: `python -m tests.bench.bench_ahead [--megabytes 16] [--rounds 30]`.

One thread, float32, operands of so many megabytes, in turns; medians in microseconds, and the ratio (codegen/memory/ahead.py).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from math import isqrt
from typing import Any

import numpy as np

import eqsat
import eqsat.numpy as enp
from eqsat.codegen.memory import ahead


def pooled(rows: int, columns: int) -> Callable[[Any], Any]:
    return lambda x: enp.max(enp.reshape(x, (x.shape[0] // rows, rows, x.shape[1] // columns, columns)), axis=(1, 3))


def programs(elements: int) -> dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]]:
    side = isqrt(elements)
    wide = {f"greatest of 4 x 4, rows of {width}": (pooled(4, 4), (elements // width, width)) for width in (128, 256, 512, 1024, 4096)}
    return {
        "transpose": (lambda x: x.T * 2, (side, side)),
        "transposes of 64": (lambda x: enp.transpose(x, (0, 2, 1)) * 2, (64, side // 8, side // 8)),
        "channels last": (lambda x: enp.transpose(x, (0, 2, 3, 1)) * 2, (16, 64, side // 32, side // 32)),
        "heads of keys": (lambda x: enp.transpose(enp.reshape(x, (elements // 1024, 16, 64)), (1, 2, 0)) * 2, (elements // 1024, 1024)),
        **wide,
        "windows of 3 x 3, every other": (lambda x: enp.maxpool2d(x, 3, 2), (4, elements // 2**18, 256, 256)),
        "greatest of columns": (lambda x: enp.max(x, axis=0), (elements // 1024, 1024)),
        "rows backwards": (lambda x: enp.flip(x, 0) * 2, (elements // 1024, 1024)),
        "elements (nothing to ask for)": (lambda x: x * 2, (elements,)),
    }


def seconds(function: Callable[[Any], Any], x: Any, rounds: int) -> list[float]:
    plans: list[Any] = []
    for least in (2**62, ahead.LEAST_BYTES):
        before, ahead.LEAST_BYTES = ahead.LEAST_BYTES, least
        plans.append(eqsat.optimize(function, x, options=eqsat.Options(cache=False)).compile())
        ahead.LEAST_BYTES = before
    taken: list[list[float]] = [[], []]
    for _ in range(rounds):
        for plan, times in zip(plans, taken, strict=True):
            plan(x)
            begin = time.perf_counter()
            plan(x)
            times.append(time.perf_counter() - begin)
    return list(map(statistics.median, taken))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    eqsat.set_num_threads(1)
    rng = np.random.default_rng(0)
    for name, (function, shape) in programs(arguments.megabytes << 18).items():
        without, asked = seconds(function, rng.random(shape, np.float32), arguments.rounds)
        print(f"{name:32} {without * 1e6:8.0f} {asked * 1e6:8.0f}   {without / asked:.2f}", flush=True)


if __name__ == "__main__":
    main()
