"""The programs of a folder with `workloads.py` (EQSAT_WORKLOADS, else ../shared/bench): are they NumPy's, and how long do they take?

    python -m tests.bench.bench_workloads [name ...]

Microseconds a call, medians of interleaved calls with as many threads as there are processors.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import statistics
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

import eqsat
import eqsat.numpy as enp

NAMES = (
    "exp log tanh sqrt maximum minimum where sum max mean reshape transpose matmul concatenate stack pad roll flip cumsum take "
    "broadcast_to tile repeat conv2d maxpool2d zeros_like full_like"
)
ROUNDS = 7


def workloads() -> ModuleType:
    """The module of the programs."""
    path = Path(os.environ.get("EQSAT_WORKLOADS", "../shared/bench")) / "workloads.py"
    spec = importlib.util.spec_from_file_location("workloads", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def microseconds(run: Any, *arrays: Any) -> float:
    start = time.perf_counter()
    run(*arrays)
    return (time.perf_counter() - start) * 1e6


def main() -> None:
    namespace = SimpleNamespace(**{name: getattr(enp, name) for name in NAMES.split()})
    right = seen = 0
    for work in workloads().W:
        if sys.argv[1:] and work.name not in sys.argv[1:]:
            continue
        arrays = work.args()
        function = eqsat.jit(functools.partial(work.fn, namespace))
        found, expected = function(*arrays), work.ref(*arrays)
        same = (found.shape, found.dtype) == (expected.shape, expected.dtype)
        good = same and np.allclose(found, expected, rtol=work.rtol, atol=1e-3)
        right, seen = right + good, seen + 1
        times = [(microseconds(function, *arrays), microseconds(work.ref, *arrays)) for _ in range(ROUNDS)]
        ours, numpys = (statistics.median(column) for column in zip(*times, strict=True))
        print(f"{work.name:20} {ours:10.1f} us, NumPy {numpys:10.1f} us, ratio {numpys / ours:6.2f}{'' if good else '  WRONG'}", flush=True)
    print(f"{right} of {seen} equal NumPy")


if __name__ == "__main__":
    main()
