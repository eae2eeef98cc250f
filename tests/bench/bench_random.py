"""Random programs beside NumPy, and jax where it is installed: `python -m tests.bench.bench_random [--count 200] [--seed 0] [--worst 10]`.

The net for what nobody thought of.  Each program is compared with NumPy on float64 before it is timed: medians of interleaved rounds, the
ratio is the time of the faster of the others over ours.  Prints the worst with their texts; run it on one processor (`taskset -c 0`).
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import math
import os
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import eqsat
import eqsat.numpy as enp
from tests.bench.random_programs import RandomProgram

LEAST_ROUNDS, MOST_ROUNDS, SECONDS = 5, 200, 0.25
TOLERANCE = {"f4": 1e-3, "f8": 1e-9}


def timed(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def differs(found: Any, program: RandomProgram) -> bool:
    """Whether a result is farther from NumPy's on float64 than rounding explains, which that on the dtype of the program shows."""
    function, wide = program.function(), [a.astype("f8") if a.dtype.kind == "f" else a for a in program.arrays]
    same, exact = np.asarray(function(np, *program.arrays)), np.asarray(function(np, *wide))
    if found.shape != same.shape or found.dtype != same.dtype:
        return True
    if same.dtype.kind != "f":
        return float(np.mean(found != same)) > 1e-3  # what rounds to another side of a threshold
    scale = float(np.abs(exact).max(initial=0.0))
    allowed = TOLERANCE[program.dtype] * scale + 3 * float(np.abs(same - exact).max(initial=0.0))
    return not np.allclose(found, exact, rtol=0, atol=allowed + 1e-30, equal_nan=True)


def times(program: RandomProgram, jax: Any) -> dict[str, float]:
    """Seconds a call of each, or nothing where it is wrong."""
    function, arrays = program.function(), program.arrays
    ours = eqsat.jit(lambda *a: function(enp, *a))
    if differs(np.asarray(ours(*arrays)), program):
        return {}
    runs: dict[str, Callable[[], Any]] = {"eqsat": lambda: ours(*arrays), "numpy": lambda: np.ascontiguousarray(function(np, *arrays))}
    if jax is not None:
        there, compiled = [jax.numpy.asarray(a) for a in arrays], jax.jit(lambda *a: function(jax.numpy, *a))
        runs["jax"] = lambda: compiled(*there).block_until_ready()
    once = sum(timed(run) for _ in range(2) for run in runs.values()) / 2
    rounds = max(LEAST_ROUNDS, min(MOST_ROUNDS, int(SECONDS / once)))
    found = [[timed(run) for run in runs.values()] for _ in range(rounds)]
    return {name: statistics.median(column) for name, column in zip(runs, zip(*found, strict=True), strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first program; the others follow")
    parser.add_argument("--worst", type=int, default=10, help="how many are shown")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    np.seterr(all="ignore")
    eqsat.set_num_threads(1)
    jax = importlib.import_module("jax") if importlib.util.find_spec("jax") else None
    if jax is not None:
        jax.config.update("jax_enable_x64", True)
    found, wrong = list[tuple[float, RandomProgram, dict[str, float]]](), list[RandomProgram]()
    for seed in range(options.seed, options.seed + options.count):
        program = RandomProgram(seed)
        seconds = times(program, jax)
        if seconds:
            found.append((min(s for name, s in seconds.items() if name != "eqsat") / seconds["eqsat"], program, seconds))
        else:
            wrong.append(program)
    found.sort(key=lambda one: one[0])
    for ratio, program, seconds in found[: options.worst]:
        shapes = ", ".join(f"{a.dtype.str[1:]}{list(a.shape)}" for a in program.arrays)
        print(f"{ratio:.2f}  " + "  ".join(f"{name} {s * 1e6:.0f} us" for name, s in seconds.items()) + f"  seed {program.seed}  {shapes}")
        print(program.text)
    for program in wrong:
        print(f"WRONG  seed {program.seed}\n{program.text}")
    mean = math.exp(statistics.mean(math.log(ratio) for ratio, _, _ in found))
    below = [sum(ratio < bound for ratio, _, _ in found) for bound in (0.8, 0.9, 1.0)]
    print(f"{len(found)} programs, geometric mean {mean:.2f}; below 0.8, 0.9 and 1: {below}; wrong: {len(wrong)}")


if __name__ == "__main__":
    main()
