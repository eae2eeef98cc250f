"""Programs over many short rows for bench_wide: classes, points, measurements, boxes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.bench.plain_programs import Program, floats

ROWS = 10_000


def softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - xp.max(x, axis=1, keepdims=True))
    return e / xp.sum(e, axis=1, keepdims=True)


def normalized(xp: Any, x: Any) -> Any:
    return (x - xp.mean(x, axis=1, keepdims=True)) / xp.sqrt(xp.var(x, axis=1, keepdims=True) + 1e-5)


def log_sum_exp(xp: Any, x: Any) -> Any:
    return xp.log(xp.sum(xp.exp(x - xp.max(x, axis=1, keepdims=True)), axis=1))


def cross(xp: Any, a: Any, b: Any) -> Any:
    parts = [a[:, i] * b[:, j] - a[:, j] * b[:, i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return xp.stack(parts, 1)


SHORT_ROWS: dict[str, Program] = {
    **{f"softmax_of_{n}": (softmax, [floats(ROWS, n)]) for n in (2, 10, 16, 30)},
    **{f"normalized_{n}": (normalized, [floats(ROWS, n)]) for n in (10, 32)},
    "log_sum_exp_10": (log_sum_exp, [floats(ROWS, 10)]),
    "argmax_10": (lambda xp, x: xp.argmax(x, axis=1), [floats(ROWS, 10)]),
    "greatest_10": (lambda xp, x: xp.max(x, axis=1), [floats(ROWS, 10)]),
    "sums_10": (lambda xp, x: xp.sum(x, axis=1), [floats(ROWS, 10)]),
    "deviation_12": (lambda xp, x: xp.std(x, axis=1), [floats(ROWS, 12)]),
    "greatest_of_12": (lambda xp, x: xp.max(xp.reshape(x, (-1, 12)), axis=1), [floats(12 * ROWS)]),
    "length_3": (lambda xp, x: x / xp.sqrt(xp.sum(x * x, axis=1, keepdims=True)), [floats(ROWS, 3)]),
    "length_12": (lambda xp, x: xp.sqrt(xp.sum(x * x, axis=1)), [floats(ROWS, 12)]),
    "cross": (cross, [floats(ROWS, 3), floats(ROWS, 3)]),
    "one_hot": (lambda xp, x: (x[:, None] == np.arange(10)).astype("float32"), [floats(ROWS).astype("i4")]),
    "rotated": (lambda xp, x, m: xp.matmul(x, m), [floats(ROWS, 3), floats(3, 3)]),
}
