"""The first call of a transformer block in a fresh process, printed: `python -m tests.bench.bench_first_call`.

One process fills an empty cache; the others find the plan on disk.  Times are taken after `import eqsat`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

import eqsat
import eqsat.numpy as enp
from eqsat.egraph.engine import bindings

TOKENS, WIDTH, HEADS = 64, 128, 4


def layernorm(x: Any, scale: Any, shift: Any) -> Any:
    mean = enp.mean(x, axis=-1, keepdims=True)
    variance = enp.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) / enp.sqrt(variance + 1e-5) * scale + shift


def softmax(x: Any) -> Any:
    e = enp.exp(x - enp.max(x, axis=-1, keepdims=True))
    return e / enp.sum(e, axis=-1, keepdims=True)


def gelu(x: Any) -> Any:
    return 0.5 * x * (1 + enp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def heads(x: Any) -> Any:
    return x.reshape(TOKENS, HEADS, WIDTH // HEADS).transpose(1, 0, 2)


def block(x: Any, g1: Any, b1: Any, wq: Any, wk: Any, wv: Any, wo: Any, g2: Any, b2: Any, w1: Any, c1: Any, w2: Any, c2: Any) -> Any:
    h = layernorm(x, g1, b1)
    q, k, v = heads(h @ wq), heads(h @ wk), heads(h @ wv)
    mixed = softmax((q @ k.transpose(0, 2, 1)) * (1 / np.sqrt(WIDTH // HEADS))) @ v
    x = x + mixed.transpose(1, 0, 2).reshape(TOKENS, WIDTH) @ wo
    return x + gelu(layernorm(x, g2, b2) @ w1 + c1) @ w2 + c2


def arguments() -> list[np.ndarray[Any, Any]]:
    line, square, wide = (WIDTH,), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH)
    shapes = [(TOKENS, WIDTH), line, line, square, square, square, square, line, line, wide, (4 * WIDTH,), wide[::-1], line]
    random = np.random.default_rng(0)
    return [random.standard_normal(shape).astype(np.float32) for shape in shapes]


def called() -> None:
    """In a process of its own: print the milliseconds of the first two calls, and whether egglog was loaded."""
    compiled, arrays = eqsat.jit(block), arguments()
    start = time.perf_counter()
    compiled(*arrays)
    middle = time.perf_counter()
    compiled(*arrays)
    print((middle - start) * 1e3, (time.perf_counter() - middle) * 1e3, bindings.cache_info().currsize > 0)


def measured(folder: str) -> tuple[float, float, bool]:
    command = [sys.executable, "-m", "tests.bench.bench_first_call", "--call"]
    environment = {**os.environ, "EQSAT_CACHE_DIR": folder}
    first, second, egglog = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    return float(first), float(second), egglog == "True"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--call", action="store_true", help="print the times of one process")
    parser.add_argument("--count", type=int, default=9, help="how many processes find the plan on disk")
    chosen = parser.parse_args()
    if chosen.call:
        called()
        return
    with tempfile.TemporaryDirectory() as folder:
        first, _, egglog = measured(folder)
        print(f"empty cache      first call {first:8.1f} ms, egglog imported: {egglog}")
        runs = [measured(folder) for _ in range(chosen.count)]
    firsts, seconds = [first for first, _, _ in runs], [second for _, second, _ in runs]
    print(
        f"plan on disk     first call {statistics.median(firsts):8.1f} ms (median of {len(runs)}, {min(firsts):.1f} to {max(firsts):.1f}),"
    )
    print(f"                 second     {statistics.median(seconds):8.1f} ms, egglog imported: {any(egglog for _, _, egglog in runs)}")


if __name__ == "__main__":
    main()
