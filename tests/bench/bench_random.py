"""Random programs beside NumPy, and jax where installed: `python -m tests.bench.bench_random [--count 200] [--seed 0] [--graphs]`.

The net for what nobody thought of: chains of a few steps, with --moved mostly movements and folds, or graphs of up to fourteen steps that
meet again, of floats or, with --integers, of integers, truth values and half floats.  Each program is compared with NumPy, on float64 if
it rounds, before it is timed: medians of interleaved rounds, the ratio is the time of the faster of the others over ours; jax counts if
its results have NumPy's dtypes.  Prints the worst with their texts, and how long first calls took; run it on one processor
(`taskset -c 0`).
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import eqsat
import eqsat.numpy as enp
from eqsat.command_line.beside_numpy import interleaved_medians
from tests.bench.beside import calls_beside, prepared, results
from tests.bench.integer_programs import IntegerGraph
from tests.bench.random_programs import MovedProgram, RandomGraph, RandomProgram

# for the calls of each
SECONDS = 0.25
TOLERANCE = {"f2": 2e-2, "f8": 1e-9}


def timed(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def differs(found: tuple[Any, ...], program: RandomProgram) -> bool:
    """Whether a result is farther from NumPy's on float64 than rounding explains, which that on the dtype of the program shows."""
    function, wide = program.function(), [a.astype("f8") if a.dtype.kind == "f" else a for a in program.arrays]
    same, exact = (results(function(np, *arrays)) for arrays in (program.arrays, wide))
    if program.exact:
        return any(one.dtype != other.dtype or not np.array_equal(one, other) for one, other in zip(found, same, strict=True))
    return any(_differs(*three, TOLERANCE.get(program.dtype, 1e-3)) for three in zip(found, same, exact, strict=True))


def _differs(found: Any, same: Any, exact: Any, tolerance: float) -> bool:
    if found.shape != same.shape or found.dtype != same.dtype:
        return True
    if same.dtype.kind != "f":
        return float(np.mean(found != same)) > 1e-3  # what rounds to another side of a threshold
    scale = float(np.abs(exact).max(initial=0.001))  # what is smaller is what two sums leave of each other
    allowed = tolerance * scale + 3 * float(np.abs(same - exact).max(initial=0.0))
    return not np.allclose(found, exact, rtol=0, atol=allowed, equal_nan=True)


@dataclass(frozen=True)
class Times:
    """Seconds of a call of each, and of the first call of ours and of jax."""

    calls: dict[str, float]
    first: dict[str, float]

    @property
    def ratio(self) -> float:
        return min(s for name, s in self.calls.items() if name != "eqsat") / self.calls["eqsat"]


def times(program: RandomProgram, jax: Any) -> Times | None:
    """None where ours is wrong."""
    function, arrays, made, first = program.function(), program.arrays, list[Any](), dict[str, float]()
    ours = eqsat.jit(lambda *a: function(enp, *a))
    first["eqsat"] = timed(lambda: made.extend(results(ours(*arrays))))
    if differs(tuple(made), program):
        return None
    runs = calls_beside(function, arrays, ours, jax)
    if jax is not None:
        there = list[Any]()
        first["jax"] = timed(lambda: there.extend(results(runs["jax"]())))
        if [one.dtype for one in there] != [one.dtype for one in made]:
            del runs["jax"], first["jax"]
    return Times(interleaved_medians(runs, SECONDS * len(runs)), first)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first program; the others follow")
    parser.add_argument("--worst", type=int, default=10, help="how many are shown")
    parser.add_argument("--graphs", action="store_true", help="graphs of six to fourteen steps instead of chains of a few")
    parser.add_argument("--moved", action="store_true", help="chains that are mostly movements and folds")
    parser.add_argument("--integers", action="store_true", help="graphs of integers, truth values and half floats")
    options = parser.parse_args()
    kinds = {IntegerGraph: options.integers, RandomGraph: options.graphs, MovedProgram: options.moved, RandomProgram: True}
    jax, kind = prepared(), next(kind for kind, asked in kinds.items() if asked)
    found, wrong = list[tuple[Times, RandomProgram]](), list[RandomProgram]()
    for seed in range(options.seed, options.seed + options.count):
        program = kind(seed)
        seconds = times(program, jax)
        if seconds is not None:
            found.append((seconds, program))
        else:
            wrong.append(program)
    found.sort(key=lambda one: one[0].ratio)
    for seconds, program in found[: options.worst]:
        shapes = ", ".join(f"{a.dtype.str[1:]}{list(a.shape)}" for a in program.arrays)
        shown = "  ".join(f"{name} {s * 1e6:.0f} us" for name, s in seconds.calls.items())
        print(f"{seconds.ratio:.2f}  {shown}  seed {program.seed}  {shapes}\n{program.text}")
    for program in wrong:
        print(f"WRONG  seed {program.seed}\n{program.text}")
    for name in ("eqsat", "jax") if jax is not None else ("eqsat",):
        first = sorted(seconds.first[name] for seconds, _ in found if name in seconds.first)
        tenth = first[len(first) * 9 // 10]
        print(f"first call of {name}: median {statistics.median(first):.2f} s, a tenth over {tenth:.2f}, longest {first[-1]:.2f}")
    ratios = [seconds.ratio for seconds, _ in found]
    mean = math.exp(statistics.mean(map(math.log, ratios)))
    below = [sum(ratio < bound for ratio in ratios) for bound in (0.8, 0.9, 1.0)]
    print(f"{len(found)} programs, geometric mean {mean:.2f}; below 0.8, 0.9 and 1: {below}; wrong: {len(wrong)}")


if __name__ == "__main__":
    main()
