"""Where time jumps with an extent: `python -m tests.bench.bench_extents [NAME ...] [--dtype f4] [--extents 2 3 5]`.

Each program of extent_programs.py has about as much work whatever the extent.  Prints for each its nanoseconds per element and operation,
the extents of which it takes twice as long as of most, and those of which NumPy or jax, where that is installed, take less than ours:
medians of interleaved rounds.  Run it on one processor (`taskset -c 0`).
"""

from __future__ import annotations

import argparse
import os
import statistics
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import eqsat
import eqsat.numpy as enp
from eqsat.command_line.beside_numpy import interleaved_medians
from tests.bench.beside import calls_beside, prepared
from tests.bench.extent_programs import PROGRAMS, OfExtent

EXTENTS = (2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 20, 24, 31, 32, 33, 40, 48, 63, 64, 65, 100, 128)
SECONDS, JUMP, SLOWER, OPERATIONS_IN_A_LOAD = 0.05, 2.0, 0.9, 16


def times(program: OfExtent, extent: int, dtype: str, jax: Any) -> tuple[dict[str, float], float]:
    """Seconds a call of each, and ours for an element or as many operations as take as long."""
    arrays = [np.random.default_rng(k).standard_normal(shape).astype(dtype) for k, shape in enumerate(program.shapes(extent))]
    ours = eqsat.jit(lambda *given: program.function(enp, *given))
    result = np.asarray(ours(*arrays))
    seconds = interleaved_medians(calls_beside(program.function, arrays, ours, jax), SECONDS)
    work = sum(a.size for a in arrays) + result.size * (1 + program.operations(extent) / OPERATIONS_IN_A_LOAD)
    return seconds, seconds["eqsat"] / work


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *PROGRAMS], help="all of them if none is given")
    parser.add_argument("--dtype", default="f4", choices=["f4", "f8"])
    parser.add_argument("--extents", nargs="*", type=int, default=EXTENTS)
    options = parser.parse_args()
    jax = prepared()
    ratios: list[float] = []
    for name in options.names or PROGRAMS:
        found = {extent: times(PROGRAMS[name], extent, options.dtype, jax) for extent in options.extents}
        usual = statistics.median(unit for _, unit in found.values())
        jumps = [f"{extent}: {unit / usual:.1f}" for extent, (_, unit) in found.items() if unit > JUMP * usual]
        best = {extent: min((s, who) for who, s in seconds.items() if who != "eqsat") for extent, (seconds, _) in found.items()}
        ratio = {extent: best[extent][0] / seconds["eqsat"] for extent, (seconds, _) in found.items()}
        slower = [f"{extent}: {ratio[extent]:.2f} of {best[extent][1]}" for extent in found if ratio[extent] < SLOWER]
        ratios += ratio.values()
        print(f"{name:32} {usual * 1e9:.3f} ns; jumps: {', '.join(jumps) or 'none'}; slower: {', '.join(slower) or 'none'}", flush=True)
    below = sum(ratio < SLOWER for ratio in ratios)
    mean = statistics.geometric_mean(ratios)
    print(f"{len(ratios)} of {options.dtype}: the faster of the others takes {mean:.2f} times as long as ours; below {SLOWER}: {below}")


if __name__ == "__main__":
    main()
