"""Loops of steps, printed: `python -m tests.bench.bench_loops [NAME ...]`.

Microseconds a call on one thread of `eqsat.fori` in a jit function, of a loop over NumPy, and of jax's `fori_loop` where it is installed,
in turns, medians; and the seconds to the first results of eqsat and jax.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from statistics import median
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np  # noqa: E402  # threads are counted when it is imported

import eqsat  # noqa: E402
import eqsat.numpy as enp  # noqa: E402
from tests.bench.loop_programs import PROGRAMS  # noqa: E402

SECONDS = 2.0
Call = Callable[[], Any]


def in_numpy(n: int, body: Callable[[Any, Any], Any], carry: Any) -> Any:
    for i in range(n):
        carry = body(i, carry)
    return carry


def calls(name: str) -> dict[str, Call]:
    """How the program is run by each, on arrays of its own."""
    function, arrays = PROGRAMS[name]
    compiled = eqsat.jit(lambda *a: function(enp, eqsat.fori, *a))
    found: dict[str, Call] = {"eqsat": lambda: compiled(*arrays), "numpy": lambda: function(np, in_numpy, *arrays)}
    if find_spec("jax"):
        import jax

        theirs = jax.jit(lambda *a: function(jax.numpy, lambda n, body, init: jax.lax.fori_loop(0, n, body, init), *a))
        there = jax.device_put(arrays)
        found["jax"] = lambda: jax.block_until_ready(theirs(*there))
    return found


def first(call: Call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def in_turns(known: dict[str, Call], seconds: float) -> dict[str, float]:
    """The medians of what calls take, in seconds."""
    times: dict[str, list[float]] = {who: [] for who in known}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or min(map(len, times.values())) < 5:
        for who, call in known.items():
            times[who].append(first(call))
    return {who: median(found) for who, found in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(PROGRAMS))
    names = parser.parse_args().names
    eqsat.set_num_threads(1)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for name in names:
        known = calls(name)
        began = {who: first(call) for who, call in known.items() if who != "numpy"}
        line = ", ".join(f"{who} {seconds * 1e6:,.1f}" for who, seconds in in_turns(known, SECONDS).items())
        print(f"{name}: {line} us; first results {', '.join(f'{who} {s:.2f}' for who, s in began.items())} s", flush=True)


if __name__ == "__main__":
    main()
