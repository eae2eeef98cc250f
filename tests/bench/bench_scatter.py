"""Values put and added at places, beside NumPy, and jax where it is installed: `python -m tests.bench.bench_scatter [--rounds 9]`.

Medians of interleaved rounds in microseconds, one thread.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np

import eqsat

RNG = np.random.default_rng(0)
SECONDS = 0.03


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("f4")


def added(x: Any, i: Any, v: Any) -> Any:
    y = np.copy(x)
    np.add.at(y, i, v)
    return y


def put(x: Any, i: Any, v: Any) -> Any:
    y = np.copy(x)
    y[i] = v
    return y


def pairs(x: Any) -> Any:
    """Pairs of neighbouring levels, of 16 each."""
    q = (x >> 4).astype("int32")
    return (q[:, :-1] * 16 + q[:, 1:]).ravel()


PICTURE = RNG.integers(0, 256, (512, 512)).astype("u1")


Program = tuple[Callable[..., Any], Callable[..., Any], list[Any]]
# for NumPy and eqsat, for jax, and the arrays
PROGRAMS: dict[str, Program] = {
    "rows added": (added, lambda x, i, v: x.at[i].add(v), [floats(1000, 64) * 0, RNG.integers(0, 1000, 2048), floats(2048, 64)]),
    "short rows added": (added, lambda x, i, v: x.at[i].add(v), [floats(64, 16) * 0, RNG.integers(0, 64, 4096), floats(4096, 16)]),
    "numbers added": (added, lambda x, i, v: x.at[i].add(v), [floats(10_000), RNG.integers(0, 10_000, 100_000), floats(100_000)]),
    "rows put": (put, lambda x, i, v: x.at[i].set(v), [floats(1000, 64), RNG.permutation(1000)[:512], floats(512, 64)]),
    "numbers put": (put, lambda x, i, v: x.at[i].set(v), [floats(100_000), RNG.permutation(100_000)[:50_000], floats(50_000)]),
    "counted": (
        lambda i: np.bincount(i, minlength=256),
        lambda i: __import__("jax").numpy.bincount(i, length=256),
        [RNG.integers(0, 256, 100_000)],
    ),
    "levels counted": (
        lambda x: np.bincount((x >> 2).ravel(), minlength=64),
        lambda x: __import__("jax").numpy.bincount((x >> 2).ravel(), length=64),
        [PICTURE],
    ),
    "pairs counted": (
        lambda x: np.bincount(pairs(x), minlength=256),
        lambda x: __import__("jax").numpy.bincount(pairs(x), length=256),
        [PICTURE],
    ),
    "histogram": (
        lambda x: np.histogram(x, 50, (-3, 3))[0],
        lambda x: __import__("jax").numpy.histogram(x, 50, (-3, 3))[0],
        [RNG.standard_normal(200_000)],
    ),
}


def seconds(function: Callable[[], Any]) -> float:
    function()
    start, count = time.perf_counter(), 0
    while (spent := time.perf_counter() - start) < SECONDS:
        function()
        count += 1
    return spent / count


def ready(function: Callable[..., Any], arrays: list[Any]) -> None:
    """A call of jax, and its end."""
    function(*arrays).block_until_ready()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    eqsat.set_num_threads(1)
    for name, (function, of_jax, arrays) in PROGRAMS.items():
        ours = eqsat.jit(function)
        np.testing.assert_allclose(ours(*arrays), function(*arrays), rtol=1e-4, atol=1e-4)
        ways: dict[str, Callable[[], Any]] = {"eqsat": functools.partial(ours, *arrays), "numpy": functools.partial(function, *arrays)}
        if importlib.util.find_spec("jax") is not None:
            import jax

            jax.config.update("jax_enable_x64", True)
            ways["jax"] = functools.partial(ready, jax.jit(of_jax), [jax.numpy.asarray(array) for array in arrays])
        taken = {way: statistics.median(seconds(call) for _ in range(rounds)) for way, call in ways.items()}
        print(f"{name:18s}" + "  ".join(f"{way} {1e6 * one:8.1f} us" for way, one in taken.items()), flush=True)


if __name__ == "__main__":
    main()
