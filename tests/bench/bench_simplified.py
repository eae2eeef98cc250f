"""Acceptance row h of generated code: what simplified indices are worth after LLVM's O3, with the cases where they are worth nothing.

    python -m tests.bench.bench_simplified

Naive: one loop over the elements of the result, the position of each worked out by // and % through every step of the program, as it is
without any rule; LLVM makes of it what it can.  Ours: the same program through eqsat.  Arrays that fit the second cache, one thread,
microseconds, medians of interleaved runs.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

import numpy as np

import eqsat
import eqsat.numpy as enp
from eqsat.codegen import compile_kernels
from eqsat.ir.index import Const, Index, Var, where
from eqsat.ir.loops import Buffer, Fold, For, Kernel, Load, Store, Temp
from eqsat.ir.tensor import Call, Literal, Position, Scalar
from eqsat.lowering import type_indices

ROUNDS = 15
Shape = tuple[int, ...]
# indices of the result to those of what it reads
Step = Callable[[Sequence[Index]], Sequence[Index]]


class Case(NamedTuple):
    """`steps`: from the result to the input, each with the shape that it leads to; `shape` of the result; `reduced`: how many elements
    are added up for each, the last index of the first step."""

    function: Callable[[Any], Any]
    given: Shape
    shape: Shape
    steps: tuple[tuple[Step, Shape], ...]
    reduced: int = 0
    valid: Callable[[Sequence[Index]], Index] | None = None


def strides(shape: Shape) -> list[int]:
    return list(accumulate(reversed(shape[1:]), lambda a, b: a * b, initial=1))[::-1]


def unravel(flat: Index, shape: Shape) -> list[Index]:
    parts: list[Index] = [flat // step for step in strides(shape)]
    return [part % n if k else part for k, (part, n) in enumerate(zip(parts, shape, strict=True))]


def ravel(indices: Sequence[Index], shape: Shape) -> Index:
    total: Index = Const(0)
    for index, step in zip(indices, strides(shape), strict=True):
        total = total + index * step
    return total


def permuted(*axes: int) -> Step:
    return lambda indices: [indices[axes.index(k)] for k in range(len(axes))]


def naive(case: Case) -> Kernel:
    """One loop, every position by // and %."""
    flat, term = Var("i", 0, prod(case.shape) - 1), Var("r", 0, max(case.reduced, 1) - 1)
    indices: Sequence[Index] = [*unravel(flat, case.shape), *([term] if case.reduced else [])]
    valid = case.valid(indices) if case.valid else None
    for number, (step, shape) in enumerate(case.steps):
        indices = step(indices)
        if number < len(case.steps) - 1:
            indices = unravel(ravel(indices, shape), shape)
    offset = ravel(indices, case.given)
    value: Scalar = Load("x", offset if valid is None else where(valid, offset, 0), "float32")
    if valid is not None:
        value = Call("where", (Position(valid, "bool"), value, Literal(0.0, "float32")), "float32")
    body: tuple[Any, ...] = (Store("out", flat, value),)
    if case.reduced:
        body = (Fold("t", "sum", "float32", term, (), value), Store("out", flat, Temp("t", "float32")))
    buffers = (Buffer("x", "float32", prod(case.given), "in"), Buffer("out", "float32", prod(case.shape), "out"))
    return Kernel("naive", buffers, (For(flat, "parallel", body),))


def same(indices: Sequence[Index]) -> Sequence[Index]:
    return indices


def case_reshape() -> Case:
    a, b, n = (35, 30, 100), (7, 150, 100), 35 * 30 * 100
    function = lambda x: x.reshape(a).reshape(b).reshape(n) * 1.0  # noqa: E731
    return Case(
        function, (n,), (n,), ((lambda i: unravel(i[0], b), b), (lambda i: unravel(ravel(i, b), a), a), (lambda i: [ravel(i, a)], (n,)))
    )


def case_power_of_two() -> Case:
    a, n = (32, 32, 128), 1 << 17
    function = lambda x: x.reshape(a).reshape(n) * 1.0  # noqa: E731
    return Case(function, (n,), (n,), ((lambda i: unravel(i[0], a), a), (lambda i: [ravel(i, a)], (n,))))


def case_round_trip() -> Case:
    given, moved = (2, 24, 30, 30), (2, 30, 30, 24)
    function = lambda x: x.transpose(0, 2, 3, 1).transpose(0, 3, 1, 2) * 1.0  # noqa: E731
    return Case(function, given, given, ((permuted(0, 3, 1, 2), moved), (permuted(0, 2, 3, 1), given)))


def case_channels() -> Case:
    given = (2, 24, 30, 30)
    function = lambda x: x.transpose(0, 2, 3, 1).sum(axis=3)  # noqa: E731
    return Case(function, given, (2, 30, 30), ((permuted(0, 2, 3, 1), given),), reduced=24)


def case_im2col() -> Case:
    given, shape = (1, 12, 30, 30), (12, 3, 3, 28, 28)

    def function(x: Any) -> Any:
        columns = [x[:, :, i : i + 28, j : j + 28] for i in range(3) for j in range(3)]
        return enp.stack(columns, 2).reshape(12 * 9, 28 * 28) * 1.0

    return Case(function, given, shape, ((lambda i: [Const(0), i[0], i[1] + i[3], i[2] + i[4]], given),))


def case_pixel_shuffle() -> Case:
    given, split, shape = (2, 27, 30, 30), (2, 3, 3, 3, 30, 30), (2, 3, 90, 90)
    apart = (2, 3, 30, 3, 30, 3)
    function = lambda x: x.reshape(split).transpose(0, 1, 4, 2, 5, 3).reshape(shape) * 1.0  # noqa: E731
    return Case(
        function,
        given,
        shape,
        (
            (lambda i: unravel(ravel(i, shape), apart), apart),
            (permuted(0, 1, 4, 2, 5, 3), split),
            (lambda i: unravel(ravel(i, split), given), given),
        ),
    )


def case_padded() -> Case:
    given, shape = (300, 300), (302, 302)

    def valid(i: Sequence[Index]) -> Index:
        return (i[0] >= 1) & (i[0] <= 300) & (i[1] >= 1) & (i[1] <= 300)

    return Case(lambda x: np.pad(x, 1) * 1.0, given, shape, ((lambda i: [i[0] - 1, i[1] - 1], given),), valid=valid)


CASES = {
    "reshape to and fro, 35 and 7": case_reshape,
    "reshape to and fro, powers of two (LLVM folds it)": case_power_of_two,
    "NCHW to NHWC and back": case_round_trip,
    "sum of channels through NHWC": case_channels,
    "im2col 3 x 3": case_im2col,
    "pixel shuffle by 3": case_pixel_shuffle,
    "padding": case_padded,
}


def microseconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    for _ in range(10):
        run()
    return (time.perf_counter() - start) * 1e5


def main() -> None:
    eqsat.set_num_threads(1)
    for name, make in CASES.items():
        case = make()
        x = np.random.default_rng(0).standard_normal(case.given).astype(np.float32)
        function = eqsat.jit(case.function)
        kernel = naive(case)
        routine = compile_kernels([type_indices(kernel)]).routine("naive")
        out, flat = np.empty(prod(case.shape), np.float32), x.ravel()
        extent = routine.parallel_extent or 0
        routine([flat, out])
        found = [function(x) for _ in range(3)][-1]  # the third call is without Python
        np.testing.assert_allclose(out.reshape(found.shape), found, rtol=1e-5, atol=1e-5)
        times: list[list[float]] = [[], []]
        for _ in range(ROUNDS):
            times[0].append(microseconds(functools.partial(routine.entry, flat, out, 0, extent)))
            times[1].append(microseconds(functools.partial(function, x, out=found)))
        slow, fast = map(statistics.median, times)
        print(f"{name:52s} naive {slow:8.1f} us, ours {fast:8.1f} us: {slow / fast:5.1f}", flush=True)


if __name__ == "__main__":
    main()
