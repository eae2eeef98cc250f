"""Products of complex matrices, of matrices with their own transposes, and with few columns that leave a part of a vector over, beside
NumPy's, which calls OpenBLAS; interleaved rounds, medians, one thread; prints and asserts nothing.

Run with `OPENBLAS_NUM_THREADS=1 python -m tests.bench.bench_products`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import eqsat

Array = np.ndarray[Any, np.dtype[Any]]


def once(function: Callable[..., object], *args: Array) -> float:
    """Microseconds a call, over a few milliseconds."""
    calls, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < 5e-3:
        function(*args)
        calls += 1
    return (time.perf_counter() - begin) / calls * 1e6


def compare(name: str, function: Callable[..., Any], args: tuple[Array, ...], operations: float) -> None:
    """`operations`: multiplications and additions of real numbers, were all elements computed."""
    ours = eqsat.jit(function)
    ours(*args)
    rounds = [(once(ours, *args), once(function, *args)) for _ in range(15)]
    mine, numpys = (statistics.median(times) for times in zip(*rounds, strict=True))
    print(f"{name:32} {mine:9.1f} us   numpy {numpys:9.1f} us   {numpys / mine:5.2f} x   {operations / mine * 1e-3:6.1f} GFLOP/s")


def complex_products(dtype: str) -> None:
    random = np.random.default_rng(0)
    for n in (8, 32, 64, 128, 256, 512):
        a, b = ((random.random((n, n)) + 1j * random.random((n, n))).astype(dtype) for _ in range(2))
        compare(f"{dtype} {n}", np.matmul, (a, b), 8.0 * n**3)


def symmetric_products(dtype: str) -> None:
    for rows, columns in ((256, 256), (512, 512), (1000, 1000), (2000, 300), (784, 2048), (10000, 64)):
        a = np.random.default_rng(0).random((rows, columns)).astype(dtype)
        compare(f"{dtype} a.T @ a of {rows} x {columns}", lambda a: a.T @ a, (a,), 2.0 * rows * columns**2)
        if rows <= 1000:
            compare(f"{dtype} a @ a.T of {rows} x {columns}", lambda a: a @ a.T, (a,), 2.0 * columns * rows**2)


def products_of_few_columns(dtype: str) -> None:
    for rows, terms, columns in (
        (100, 100, 100),
        (112, 112, 112),
        (512, 512, 80),
        (512, 512, 112),
        (1024, 64, 70),
        (784, 300, 100),
        (128, 128, 208),
    ):
        a, b = (np.random.default_rng(0).random(shape).astype(dtype) for shape in ((rows, terms), (terms, columns)))
        compare(f"{dtype} {rows} x {terms} x {columns}", np.matmul, (a, b), 2.0 * rows * terms * columns)


def main() -> None:
    eqsat.set_num_threads(1)
    for dtype in ("complex64", "complex128"):
        complex_products(dtype)
    for dtype in ("float32", "float64"):
        symmetric_products(dtype)
        products_of_few_columns(dtype)


if __name__ == "__main__":
    main()
