"""Programs of about as much work whatever one of their extents is: where time jumps with that extent, a way of loops ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

Shape = tuple[int, ...]
ELEMENTS = 1 << 18


@dataclass(frozen=True)
class OfExtent:
    """A function of NumPy's names, the shapes of its arrays for an extent, and its operations for each element of its result."""

    function: Callable[..., Any]
    shapes: Callable[[int], list[Shape]]
    operations: Callable[[int], int] = lambda n: 0


def rows(n: int) -> Shape:
    return max(1, ELEMENTS // n), n


def columns(n: int) -> Shape:
    return n, max(1, ELEMENTS // n)


def of(*shape: int) -> Shape:
    """A shape whose first extent is what makes it as large as the others."""
    return max(1, ELEMENTS // prod(shape)), *shape


def squares(n: int) -> Shape:
    return max(1, 8 * ELEMENTS // n**3), n, n


PROGRAMS: dict[str, OfExtent] = {
    "transposed": OfExtent(lambda xp, x: x.T * 1.5, lambda n: [columns(n)]),
    "transposed columns": OfExtent(lambda xp, x: x.T + 1, lambda n: [rows(n)]),
    "turned rows": OfExtent(lambda xp, x: xp.transpose(x, (0, 2, 1)) * 2, lambda n: [of(n, 32)]),
    "turned columns": OfExtent(lambda xp, x: xp.transpose(x, (0, 2, 1)) * 2, lambda n: [of(32, n)]),
    "moved rows": OfExtent(lambda xp, x: xp.transpose(x, (1, 0, 2)) * 2, lambda n: [(64, max(1, ELEMENTS // 64 // n), n)]),
    "a number for each row": OfExtent(lambda xp, x, c: x + c, lambda n: [rows(n), (rows(n)[0], 1)]),
    "a function of each row": OfExtent(lambda xp, x, c: xp.tanh(x + c), lambda n: [rows(n), (rows(n)[0], 1)]),
    "a row for all": OfExtent(lambda xp, x, c: x * c, lambda n: [rows(n), (n,)]),
    "sums of the middle": OfExtent(lambda xp, x: xp.sum(x, axis=1), lambda n: [of(n, 32)]),
    "extrema of the middle": OfExtent(lambda xp, x: xp.max(x, axis=1), lambda n: [of(n, 32)]),
    "sums of the middle of short rows": OfExtent(lambda xp, x: xp.sum(x, axis=1), lambda n: [of(n, 5)]),
    "less the mean of the middle": OfExtent(lambda xp, x: x - xp.mean(x, axis=1, keepdims=True), lambda n: [of(n, 32)]),
    "sums around": OfExtent(lambda xp, x: xp.sum(x, axis=(0, 2)), lambda n: [(64, max(1, ELEMENTS // 64 // n), n)]),
    "columns clipped and summed": OfExtent(lambda xp, x: xp.sum(xp.clip(x, -0.5, 0.5), axis=0), lambda n: [columns(n)]),
    "extrema of columns": OfExtent(lambda xp, x: xp.max(xp.abs(x), axis=0), lambda n: [columns(n)]),
    "deviations of columns": OfExtent(lambda xp, x: xp.var(x, axis=0), lambda n: [columns(n)]),
    "softmax of columns": OfExtent(lambda xp, x: xp.exp(x - xp.max(x, axis=0)), lambda n: [columns(n)]),
    "places of columns": OfExtent(lambda xp, x: xp.argmax(x, axis=0), lambda n: [columns(n)]),
    "sums of functions": OfExtent(lambda xp, x: xp.sum(xp.exp(x), axis=1), lambda n: [rows(n)]),
    "deviations": OfExtent(lambda xp, x: xp.var(x, axis=1), lambda n: [rows(n)]),
    "places": OfExtent(lambda xp, x: xp.argmax(x, axis=1), lambda n: [rows(n)]),
    "standardized": OfExtent(
        lambda xp, x, g: (x - xp.mean(x, axis=1, keepdims=True)) / xp.sqrt(xp.var(x, axis=1, keepdims=True) + 1) * g,
        lambda n: [rows(n), (n,)],
    ),
    "running sums": OfExtent(lambda xp, x: xp.cumsum(x, axis=1), lambda n: [rows(n)]),
    "running sums down": OfExtent(lambda xp, x: xp.cumsum(x, axis=0), lambda n: [columns(n)]),
    "differences": OfExtent(lambda xp, x: xp.diff(x, axis=1), lambda n: [rows(n + 1)]),
    "three taps": OfExtent(lambda xp, x: 0.25 * x[:, :-2] + 0.5 * x[:, 1:-1] + 0.25 * x[:, 2:], lambda n: [rows(n + 2)]),
    "rolled": OfExtent(lambda xp, x: xp.roll(x, 1, axis=1) - x, lambda n: [rows(n)]),
    "turned round": OfExtent(lambda xp, x: xp.flip(x, axis=1) * 2, lambda n: [rows(n)]),
    "padded": OfExtent(lambda xp, x: xp.pad(x, [(0, 0), (1, 1)]), lambda n: [rows(n)]),
    "padded by edges": OfExtent(lambda xp, x: xp.pad(x, [(1, 1), (1, 1)], mode="edge"), lambda n: [rows(n)]),
    "reflected": OfExtent(lambda xp, x: xp.pad(x, [(0, 0), (1, 1)], mode="reflect"), lambda n: [rows(n)]),
    "joined": OfExtent(lambda xp, x, y: xp.concatenate([x, y], axis=1), lambda n: [rows(n), rows(n)]),
    "stacked": OfExtent(lambda xp, x, y: xp.stack([x, y], axis=1), lambda n: [rows(n), rows(n)]),
    "every second": OfExtent(lambda xp, x: x[:, ::2] * 2, lambda n: [rows(n)]),
    "triangles": OfExtent(lambda xp, x: xp.tril(x), lambda n: [of(n, n)]),
    "repeated": OfExtent(lambda xp, x: xp.repeat(x, 2, axis=1) + 1, lambda n: [rows(n)]),
    "distances": OfExtent(
        lambda xp, x, y: xp.sum((x[:, None] - y[None]) ** 2, axis=2), lambda n: [(max(1, ELEMENTS // 64 // n), n), (64, n)], lambda n: 3 * n
    ),
    "products by terms": OfExtent(
        lambda xp, a, b: a @ b, lambda n: [(256, n), (n, max(1, ELEMENTS // 16 // n))], lambda n: 2 * n
    ),
    "products by columns": OfExtent(lambda xp, a, b: a @ b, lambda n: [(512, 256), (256, n)], lambda n: 512),
    "products by rows": OfExtent(lambda xp, a, b: a @ b, lambda n: [(n, 256), (256, 512)], lambda n: 512),
    "many products": OfExtent(lambda xp, a, b: a @ b, lambda n: [squares(n), squares(n)], lambda n: 2 * n),
    "many products with themselves": OfExtent(lambda xp, a: a @ xp.swapaxes(a, -1, -2), lambda n: [squares(n)], lambda n: 2 * n),
}  # fmt: skip
