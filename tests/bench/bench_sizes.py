"""Programs with a size that is known at run time, printed: `python -m tests.bench.bench_sizes [NAME ...]`.

Microseconds a call on one thread of one plan for all sizes, of a plan for the size of the call alone, and of NumPy, in turns, medians; and
seconds that optimizing and compiling the former took.  In the column of NumPy, functions of eqsat.numpy make lazy tensors.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import eqsat
import eqsat.numpy as enp

Function = Callable[..., Any]
N = eqsat.dim("n", 4, 8192)
RNG = np.random.default_rng(0)
WEIGHTS = (RNG.standard_normal((256, 256)) / 16).astype(np.float32)
FILTERS = (RNG.standard_normal((32, 16, 3, 3)) / 12).astype(np.float32)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x: Any) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)


def network(x: Any) -> Any:
    return softmax(np.maximum(x @ WEIGHTS, 0.0) @ WEIGHTS)


def filled(x: Any) -> Any:
    y = np.zeros_like(x)
    y[1:-1] = x[2:] - x[:-2]
    return y


# the size of the call, the axes behind it, and the function
PROGRAMS: dict[str, tuple[int, tuple[int, ...], Function]] = {
    "of a vector": (4096, (), lambda x: x * 2.0 + 1.0),
    "sum": (8000, (), lambda x: x.sum()),
    "means of columns": (2048, (64,), lambda x: x.mean(axis=0)),
    "softmax": (512, (64,), softmax),
    "layer norm": (512, (256,), layer_norm),
    "product": (500, (256,), lambda x: x @ WEIGHTS),
    "product of few rows": (20, (256,), lambda x: x @ WEIGHTS),
    "network": (500, (256,), network),
    "gram": (4000, (64,), lambda x: x.T @ x),
    "transposed": (512, (512,), lambda x: x.T + 1.0),
    "differences": (4000, (64,), lambda x: x[1:] - x[:-1]),
    "filled": (4000, (64,), filled),
    "reversed": (4000, (64,), lambda x: x[::-1] * 2.0),
    "blurred": (8000, (), lambda x: enp.pad(x, 1)[2:] + enp.pad(x, 1)[1:-1] + enp.pad(x, 1)[:-2]),
    "rolled": (8000, (), lambda x: np.roll(x, 1) + x),
    "behind each other": (8000, (), lambda x: np.concatenate([x, x * 2.0])),
    "flat": (4000, (64,), lambda x: x.reshape(-1) * 2.0),
    "one image": (4, (16, 20, 20), lambda x: enp.conv2d(x, FILTERS, pad=1)),
    "images": (64, (16, 20, 20), lambda x: enp.conv2d(x, FILTERS, pad=1)),
    "channels last": (64, (16, 32, 32), lambda x: x.transpose(0, 2, 3, 1) * 2.0),
    "few classes": (64, (64,), lambda x: x @ WEIGHTS[:64, :10]),
    "distances": (64, (16,), lambda x: ((x[:, None, :] - WEIGHTS[:32, :16]) ** 2).sum(axis=-1)),
    "standardized": (64, (128,), lambda x: (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-5)),
    "frames": (64, (32, 32), lambda x: enp.pad(x, ((0, 0), (1, 1), (1, 1))) * 2.0),
    "rolled rows": (64, (32, 32), lambda x: np.roll(x, 3, axis=2) * 2.0),
    "running sums": (64, (256,), lambda x: np.cumsum(x, axis=1)),
    "softmax of few": (64, (10,), softmax),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="of programs, all of them if none is given")
    parser.add_argument("--rounds", type=int, default=30)
    chosen = parser.parse_args()
    os.environ["EQSAT_CACHE"] = "0"
    eqsat.set_num_threads(1)
    print(f"{'program':22}{'any size':>10}{'known':>10}{'NumPy':>10}{'any/known':>11}{'NumPy/any':>11}{'seconds':>9}")
    for name in chosen.names or PROGRAMS:
        size, rest, function = PROGRAMS[name]
        x = RNG.standard_normal((size, *rest)).astype(np.float32)
        began = time.perf_counter()
        plan = eqsat.optimize(function, eqsat.spec((N, *rest), "float32")).compile()
        seconds = time.perf_counter() - began
        calls = (plan, eqsat.optimize(function, x).compile(), function)
        any_size, known, numpy = (1e6 * value for value in _medians(calls, x, chosen.rounds))
        ratios = f"{any_size / known:11.2f}{numpy / any_size:11.2f}"
        print(f"{name:22}{any_size:10.1f}{known:10.1f}{numpy:10.1f}{ratios}{seconds:9.2f}", flush=True)


def _medians(calls: tuple[Function, ...], x: Any, rounds: int) -> list[float]:
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, found in zip(calls, times, strict=True):
            began = time.perf_counter()
            call(x)
            found.append(time.perf_counter() - began)
    return [median(found[1:]) for found in times]


if __name__ == "__main__":
    main()
