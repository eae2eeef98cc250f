"""Times of compiled loops beside NumPy's, one thread, data in the cache; prints and asserts nothing.

Run with `python -m tests.bench.bench_math`.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from functools import partial

import numpy as np

from eqsat.codegen.folds.accumulator import Numerics
from eqsat.ir.loops import Kernel
from eqsat.ir.ops import REDUCE_OPS, SCALAR_OPS
from eqsat.ir.tensor import Literal, Scalar
from tests.codegen.nests import Array, call, compiled, elementwise, rows

SIZE = 1 << 14
ROWS = 16


def best(run: Callable[[], object]) -> float:
    """Nanoseconds an element, the best of 9 rounds."""
    return min(timeit.repeat(run, number=30, repeat=9)) / 30 / SIZE * 1e9


def report(name: str, kernel: Kernel, x: Array, reference: Callable[[], object], numerics: Numerics = "default") -> None:
    out = np.zeros(kernel.outputs[0].size, kernel.outputs[0].dtype)
    routine = compiled([kernel], numerics).routine(kernel.name)
    ours, numpys = best(lambda: routine([x, out])), best(reference)
    print(f"{name:20s} {numerics:8s} {ours:7.3f} ns   numpy {numpys:7.3f} ns   {numpys / ours:5.2f} x")


def elementwise_times(dtype: str) -> None:
    x = np.random.default_rng(0).uniform(0.1, 5, SIZE).astype(dtype)
    out = np.empty_like(x)
    for op in ("sqrt", "exp", "log", "tanh"):
        kernel = elementwise(partial(call, op), (dtype,), SIZE)
        report(f"{op} {dtype}", kernel, x, partial(SCALAR_OPS[op].meaning, x, out=out))
    for op in ("remainder", "floor_divide", "fmod"):
        kernel = elementwise(lambda a, op=op: call(op, a, Literal(0.37, dtype)), (dtype,), SIZE)
        report(f"{op} {dtype}", kernel, x, partial(SCALAR_OPS[op].meaning, x, np.dtype(dtype).type(0.37), out=out))


def fold_times(dtype: str) -> None:
    x = np.random.default_rng(0).uniform(0.1, 5, SIZE).astype(dtype)
    lines = x.reshape(ROWS, -1)
    modes: tuple[Numerics, ...] = ("exact", "default", "fast")
    for op in ("sum", "max"):
        for numerics in modes:
            kernel = rows(op, (ROWS, SIZE // ROWS), dtype)
            report(f"row {op} {dtype}", kernel, x, partial(REDUCE_OPS[op].meaning, lines, axis=1), numerics)
    report(f"total {dtype}", rows("sum", (1, SIZE), dtype), x, x.sum)


def exponential_sum_times() -> None:
    def exponential(a: Scalar) -> Scalar:
        return call("exp", a)

    x = np.random.default_rng(0).uniform(-3, 3, SIZE).astype(np.float32)
    lines = x.reshape(ROWS, -1)
    report("row sum of exp", rows("sum", (ROWS, SIZE // ROWS), "float32", exponential), x, lambda: np.exp(lines).sum(axis=1))


def call_times() -> None:
    """What a call costs that does nothing."""
    kernel = elementwise(lambda a: call("negative", a), ("float32",), 4)
    routine, x, out = compiled([kernel]).routine(kernel.name), np.ones(4, np.float32), np.ones(4, np.float32)
    checked = min(timeit.repeat(lambda: routine([x, out], 0, 0), number=10_000, repeat=7)) * 1e5
    entry = min(timeit.repeat(lambda: routine.entry(x, out, 0, 0), number=10_000, repeat=7)) * 1e5
    print(f"call of two arrays   {checked:.0f} ns checked, {entry:.0f} ns through .entry")


def main() -> None:
    for dtype in ("float32", "float64"):
        elementwise_times(dtype)
        fold_times(dtype)
    for dtype in ("int32", "int64"):
        fold_times(dtype)
    exponential_sum_times()
    call_times()


if __name__ == "__main__":
    main()
