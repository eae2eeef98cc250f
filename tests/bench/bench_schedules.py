"""Acceptance row f of generated code: what loop nests are estimated to take, and what they take.

    python -m tests.bench.bench_schedules [--least 5] [--others 8] [--rounds 5] [--measured] [--show] [name ...]

For every kernel of the programs here: its candidates, and up to --others nests of schedules around them (lowering/schedule.py).  Where
there are --least of them together, the rank correlation (Spearman) of estimates and times, and the time of the candidate that is chosen
over that of the fastest nest.  At the end the medians, the correlation over all nests, and how many choices are within 20 % of the fastest.
One thread; the least of --rounds rounds, in each of which every nest runs several times, since others share the processor.  Estimates are
for the default target; --measured: for the one that `python -m eqsat calibrate` measured on this machine.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import eqsat
import eqsat.numpy as enp
from eqsat.ir.loops import Kernel, map_indices
from eqsat.ir.steps import take_apart
from eqsat.ir.tensor import Build, tensors
from eqsat.kernels.loop_terms import simplifier
from eqsat.kernels.tuning import kernel_call
from eqsat.lowering import hoist
from eqsat.lowering.candidates import MOST, Schedules
from eqsat.lowering.schedule import Schedule
from eqsat.options import Options
from eqsat.pricing.local_target import stored_target
from eqsat.pricing.nest_costs import nest_ns
from eqsat.pricing.target import Target
from eqsat.pricing.timing import best_seconds
from eqsat.report import Report

WITHIN = 1.2
# of one nest in one round
SECONDS, MOST_RUNS = 0.03, 200


def tap(x: Any, i: int, j: int) -> Any:
    return x[..., i : x.shape[-2] - 2 + i, j : x.shape[-1] - 2 + j]


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "a @ b": (lambda a, b: a @ b, ((256, 256), (256, 256))),
    "a.T @ b": (lambda a, b: a.T @ b, ((256, 200), (256, 300))),
    "a @ b.T": (lambda a, b: a @ b.T, ((300, 256), (200, 256))),
    "a @ b small": (lambda a, b: a @ b, ((40, 24), (24, 50))),
    "a @ b thin": (lambda a, b: a @ b, ((2000, 8), (8, 60))),
    "batched": (lambda a, b: a @ b, ((12, 64, 48), (12, 48, 80))),
    "batched T": (lambda a, b: a @ b.transpose(0, 2, 1), ((12, 64, 48), (12, 80, 48))),
    "relu(a @ b + c)": (lambda a, b, c: enp.maximum(a @ b + c, 0.0), ((128, 300), (300, 200), (200,))),
    "outer sum": (lambda a, b: enp.tanh(a[:, None] + b[None, :]), ((700,), (900,))),
    "a.T + b": (lambda a, b: a.T + b, ((600, 700), (700, 600))),
    "transpose 021": (lambda a: a.transpose(0, 2, 1) * 2, ((20, 150, 130),)),
    "transpose 102": (lambda a: a.transpose(1, 0, 2) + 1, ((64, 80, 100),)),
    "transpose 210": (lambda a: a.transpose(2, 1, 0) + 1, ((60, 70, 80),)),
    "heads": (lambda a: a.reshape(128, 8, 64).transpose(1, 0, 2) * 2, ((128, 512),)),
    "channels last": (lambda a: a.transpose(0, 2, 3, 1) + 1, ((4, 32, 40, 40),)),
    "space to depth": (lambda a: a.reshape(8, 64, 4, 64, 4).transpose(0, 2, 4, 1, 3) + 1, ((8, 256, 256),)),
    "depth to space": (lambda a: a.reshape(2, 16, 2, 2, 64, 64).transpose(0, 1, 4, 2, 5, 3) + 1, ((2, 64, 64, 64),)),
    "sum of columns": (lambda a: a.sum(axis=0), ((900, 700),)),
    "sum of rows": (lambda a: a.sum(axis=1), ((900, 700),)),
    "sum of the middle": (lambda a: a.sum(axis=1), ((40, 90, 100),)),
    "sum of two": (lambda a: a.sum(axis=(0, 2)), ((40, 90, 100),)),
    "sum of the outer two": (lambda a: a.sum(axis=(0, 1)), ((40, 90, 100),)),
    "max of columns": (lambda a: a.max(axis=0), ((900, 700),)),
    "max of the middle": (lambda a: a.max(axis=1), ((40, 90, 100),)),
    "mean of squares": (lambda a: (a * a).mean(axis=0), ((800, 600),)),
    "prod of 3": (lambda a: a.prod(axis=2), ((200, 300, 3),)),
    "sum of 3": (lambda a: a.sum(axis=0), ((3, 300, 400),)),
    "matrix times vector": (lambda a, v: a @ v, ((900, 800), (800,))),
    "vector times matrix": (lambda a, v: v @ a, ((900, 800), (900,))),
    "distances": (lambda x, c: ((x[:, None, :] - c[None, :, :]) ** 2).sum(axis=2), ((600, 16), (40, 16))),
    "depthwise 3x3": (
        lambda x, w: sum(tap(x, i, j) * w[:, i, j][:, None, None] for i in range(3) for j in range(3)),
        ((24, 66, 66), (24, 3, 3)),
    ),
    "conv 3x3": (lambda x, w: enp.conv2d(x, w), ((1, 16, 34, 34), (24, 16, 3, 3))),
    "conv 1x1": (lambda x, w: enp.conv2d(x, w), ((1, 64, 28, 28), (96, 64, 1, 1))),
    "conv stride 2": (lambda x, w: enp.conv2d(x, w, stride=2), ((1, 16, 65, 65), (24, 16, 3, 3))),
    "grouped conv": (lambda x, w: enp.conv2d(x, w, groups=16), ((1, 16, 66, 66), (16, 1, 3, 3))),
    "max pool": (lambda x: enp.maxpool2d(x, 2, 2), ((8, 16, 64, 64),)),
    "max pool 3x3": (lambda x: enp.maxpool2d(x, 3, 2), ((8, 16, 65, 65),)),
    "tile and repeat": (lambda x: enp.tile(enp.repeat(x, 4, 1), (4, 1)) + 1.0, ((128, 128),)),
    "gram": (lambda a: a.T @ a, ((500, 60),)),
    "einsum": (lambda a, b: enp.einsum("bij,bkj->ik", a, b), ((8, 60, 50), (8, 70, 50))),
    "bilinear": (lambda a, w, b: enp.einsum("bi,bj->bij", a @ w, b), ((60, 40), (40, 50), (60, 50))),
    "blur": (lambda x: sum(tap(x, i, j) for i in range(3) for j in range(3)) / 9, ((402, 502),)),
    "reversed sum": (lambda a, b: a[::-1, ::-1] + b.T, ((300, 400), (400, 300))),
    "conv1d": (lambda x, w: enp.conv1d(x, w), ((4, 16, 204), (32, 16, 5))),
    "average pool": (lambda x: enp.avgpool2d(x, 2, 2), ((8, 16, 64, 64),)),
    "permute": (lambda a: a.transpose(3, 1, 0, 2) + 1, ((16, 20, 24, 28),)),
    "upsample": (lambda x: enp.repeat(enp.repeat(x, 2, 2), 2, 3) + 1, ((4, 8, 40, 50),)),
    "scores": (lambda q, k: q @ k.transpose(0, 2, 1) * 0.1, ((8, 60, 32), (8, 70, 32))),
    "covariance": (lambda a: enp.einsum("bci,bcj->bij", a, a), ((6, 50, 40),)),
    "channel sums": (lambda a: (a * a).sum(axis=(0, 2, 3)), ((8, 24, 30, 40),)),
    "softmax of columns": (lambda a: enp.exp(a - a.max(axis=0)) / enp.exp(a - a.max(axis=0)).sum(axis=0), ((300, 400),)),
}


def schedules(
    function: Callable[..., Any], shapes: Sequence[tuple[int, ...]], most: int, target: Target
) -> Iterator[tuple[tuple[Kernel, ...], int]]:
    """The candidates of every kernel of the optimized program and at most so many other nests, and how many are candidates."""
    options, report = Options(target=target), Report()
    result = eqsat.optimize(function, *(eqsat.spec(shape, "float32") for shape in shapes), options=options)
    program = take_apart(result.program).around
    names = {tensor: f"b{k}" for k, tensor in enumerate(tensors(*program.outputs))} | {tensor: tensor.name for tensor in program.inputs}
    for build in (tensor for tensor in tensors(*program.outputs) if isinstance(tensor, Build)):
        space = Schedules((build,), "k", names)
        start = list(space.kernels())
        offered = list(dict.fromkeys(kernel for _, kernel in start))[:MOST]
        others = around(space, [schedule for schedule, _ in start], most * 3)
        change = simplifier([*offered, *others], options, report)
        found = tuple(dict.fromkeys(map_indices(kernel, change) for kernel in offered))
        yield tuple(dict.fromkeys((*found, *(map_indices(kernel, change) for kernel in others))))[: len(found) + most], len(found)


def around(space: Schedules, start: Sequence[Schedule], most: int) -> list[Kernel]:
    """Nests of schedules that differ from the candidates by one or two things, drawn by chance, the same in every run."""
    chance, found = random.Random(0), list[Kernel]()
    for _ in range(most):
        here = chance.choice(start)
        for _ in range(chance.randint(1, 2)):
            here = chance.choice(list(here.neighbours()))
        kernel = space.kernel(here)
        found += [kernel] if kernel is not None else []
    return found


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """The correlation of ranks; equal values share theirs."""
    first, second = (_ranks(np.asarray(values)) for values in (a, b))
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 1.0
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.array([((values < value).sum() + (values <= value).sum()) / 2 for value in values])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--least", type=int, default=5)
    parser.add_argument("--others", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measured", action="store_true", help="estimate for the target that was measured on this machine")
    parser.add_argument("--show", action="store_true", help="print the loop nests")
    asked = parser.parse_args()
    target = replace((stored_target() if asked.measured else None) or eqsat.DEFAULT_TARGET, threads=1)
    found: list[tuple[str, tuple[Kernel, ...], int]] = []
    for name, (function, shapes) in PROGRAMS.items():
        if not asked.names or name in asked.names:
            ways = enumerate(schedules(function, shapes, asked.others, target))
            found += [(f"{name} {number}", kernels, offered) for number, (kernels, offered) in ways if len(kernels) >= asked.least]
    estimates: list[float] = []
    times: list[float] = []
    ranks: list[float] = []
    choices: list[float] = []
    for (name, kernels, offered), taken in zip(found, measured([kernels for _, kernels, _ in found], asked.rounds), strict=True):
        guessed = [nest_ns(kernel, target) / 1e3 for kernel in kernels]
        estimates, times = estimates + guessed, times + taken
        ranks.append(spearman(guessed, taken))
        choices.append(taken[int(np.argmin(guessed[:offered]))] / min(taken))
        print(f"{name}: {len(kernels)} nests, Spearman {ranks[-1]:.2f}, chosen / fastest {choices[-1]:.2f}", flush=True)
        for kernel, guess, real in sorted(zip(kernels, guessed, taken, strict=True), key=lambda row: row[2]):
            print(f"    {real:9.1f} us, estimated {guess:9.1f}")
            if asked.show:
                print(hoist(kernel))
    within = sum(choice <= WITHIN for choice in choices)
    print(f"{len(ranks)} kernels, {len(times)} nests, target {target.name}")
    print(f"Spearman within a kernel, median {statistics.median(ranks):.2f}; over all {spearman(estimates, times):.2f}")
    print(f"chosen within 20 % of the fastest: {within} of {len(choices)}")


def measured(groups: Sequence[Sequence[Kernel]], rounds: int) -> list[list[float]]:
    """Microseconds of every kernel, the least of all rounds."""
    calls = [[kernel_call(kernel, "default") for kernel in kernels] for kernels in groups]
    least = [[float("inf")] * len(kernels) for kernels in groups]
    for _ in range(rounds):
        for mine, row in zip(least, calls, strict=True):
            mine[:] = [min(best, best_seconds(call, SECONDS, MOST_RUNS) * 1e6) for best, call in zip(mine, row, strict=True)]
    return least


if __name__ == "__main__":
    main()
