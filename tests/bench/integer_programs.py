"""Random graphs of arrays of integers and truth values of every width, and of half floats, as those of `random_programs.py`: what images,
counts, masks and identifiers go through.  A step is one that NumPy and eqsat have for the dtype at hand, which NumPy tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.bench.random_programs import (
    FUNCTIONS,
    RandomGraph,
    Shape,
    Step,
    cut,
    joined,
    moved,
    neighbours,
    normalized,
    padded,
    reshaped,
    taken,
    triangle,
    turned,
)  # fmt: skip

INTEGERS = (
    "{x} + 3", "{x} * 5", "{x} // 7", "{x} % 7", "{x} & 15", "{x} ^ ({x} >> 1)", "{x} << 1", "{x} >> 2", "~{x}", "xp.minimum({x}, 100)",
    "xp.clip({x}, 10, 90)", "xp.where({x} > 50, {x}, 0)", "{x} * {x}", "{x} > 40", "({x} > 5) & ({x} < 90)", "{x} == 3",
    "{x}.astype('float32') / 255", "{x}.astype('int32')", "{x}.astype('uint8')", "{x}.astype('int64')", "{x}.astype('int16')", "{x} | 64",
    "xp.abs({x})", "xp.sign({x})", "({x} + 128) // 2", "({x} >> 4) * 16 + ({x} & 15)", "xp.where({x} % 2 == 0, {x} // 2, 3 * {x} + 1)",
)  # fmt: skip
TRUTHS = ("~{x}", "xp.logical_not({x})", "{x}.astype('uint8')", "{x}.astype('float32')", "{x} * 3", "xp.where({x}, 2, 5)", "{x} | (~{x})")
FLOATS = (*FUNCTIONS, "(xp.clip(xp.abs({x}), 0, 1) * 255).astype('uint8')", "xp.floor(xp.clip({x}, -9, 9)).astype('int32')", "{x} > 0.5")
INTEGERS_OF_TWO = (
    "{x} + {y}", "{x} * {y}", "{x} - {y}", "xp.maximum({x}, {y})", "{x} & {y}", "{x} | {y}", "{x} ^ {y}", "{x} > {y}", "{x} == {y}",
    "xp.where({x} > {y}, {x}, {y})", "{x} // (1 + ({y} & 7))", "{x} % (1 + ({y} & 7))", "xp.minimum({x}, {y}) * 2",
)  # fmt: skip
TRUTHS_OF_TWO = ("{x} & {y}", "{x} | {y}", "{x} ^ {y}", "{x} == {y}", "xp.where({x}, {y}, ~{y})")
ANY_OF_TWO = ("{x} + {y}", "{x} * {y}", "xp.maximum({x}, {y})", "xp.where({x} > {y}, {x}, {y})", "{x} > {y}")
FOLDS = ("sum", "sum", "mean", "max", "min", "any", "all", "argmax", "argmin", "count_nonzero")


class IntegerGraph(RandomGraph):
    """Every value is known while the program is written, and with it its dtype."""

    def dtypes(self) -> Sequence[str]:
        return ["u1"] * 6 + ["i4"] * 4 + ["i8"] * 3 + ["i2", "i2", "u2", "i1", "u4", "u8", "?", "f2", "f2"]

    def written(self) -> list[str]:
        self.known = dict[str, Any]()
        return super().written()

    @property
    def exact(self) -> bool:
        return all(value.dtype.kind != "f" for value in self.known.values())

    def numbers(self, shape: Sequence[int]) -> Any:
        if self.dtype == "f2":
            return super().numbers(shape)
        return self.rng.integers(0, 2 if self.dtype == "?" else 100, shape).astype(self.dtype)

    def array(self, shape: Sequence[int], most: int | None = None) -> tuple[str, Shape]:
        made = super().array(shape, most)
        self.known[made[0]] = self.arrays[-1]
        return made

    def line(self, found: tuple[str, Sequence[int]] | None) -> tuple[str, Shape] | None:
        made = super().line(found)
        if made is None or found is None:
            return None
        try:
            value = eval(found[0], {"xp": np, **self.known})
        except (TypeError, OverflowError):  # as of uint64 & int64, and of int8 + 128
            value = None
        if value is None or (value.dtype.kind == "f" and not np.isfinite(value).all()):
            self.lines.pop()
            return None
        self.known[made[0]] = value
        return made

    def kind(self, x: str) -> str:
        return str(self.known[x].dtype.kind)

    def of_two(self, x: str, y: str) -> Sequence[str]:
        kinds = {self.kind(x), self.kind(y)}
        return INTEGERS_OF_TWO if kinds <= {"i", "u"} else TRUTHS_OF_TWO if kinds == {"b"} else ANY_OF_TWO

    def steps(self, x: str) -> Sequence[Step]:
        usual: list[Step] = [*[operation] * 5, *[with_another] * 3, *[fold] * 2, *[turned] * 2, reshaped, moved, cut, padded, taken, joined]
        if self.kind(x) in "iu":
            return [*usual, summed, *[neighbours] * 2, triangle, product]
        return [*usual, summed] if self.kind(x) == "b" else [*usual, neighbours, normalized, triangle]


def operation(p: IntegerGraph, x: str, shape: Shape) -> tuple[str, Shape]:
    return p.random.choice({"b": TRUTHS, "f": FLOATS}.get(p.kind(x), INTEGERS)).format(x=x), shape


def with_another(p: IntegerGraph, x: str, shape: Shape) -> tuple[str, Shape]:
    some = tuple(n if p.random.random() < 0.5 else 1 for n in shape)
    y, _ = p.array(p.random.choice([shape, shape[-1:], some]))
    return p.random.choice(p.of_two(x, y)).format(x=x, y=y), shape


def fold(p: IntegerGraph, x: str, shape: Shape) -> tuple[str, Shape] | None:
    if not shape or np.prod(shape) < 8:
        return None
    name, kept = p.random.choice(FOLDS), p.random.random() < 0.3
    axes = p.axes(len(shape)) if "arg" not in name else (p.random.randrange(len(shape)),)
    shown = axes[0] if len(axes) == 1 else axes
    found = tuple(1 if k in axes else n for k, n in enumerate(shape) if kept or k not in axes)
    return f"xp.{name}({x}, axis={shown}, keepdims={kept})", found


def summed(p: IntegerGraph, x: str, shape: Shape) -> tuple[str, Shape] | None:
    return (f"xp.cumsum({x}, axis={p.random.randrange(len(shape))})", shape) if shape else None


def product(p: IntegerGraph, x: str, shape: Shape) -> tuple[str, Shape] | None:
    n = p.random.choice([1, 3, 8, 16])
    if not shape or shape[-1] > 256 or np.prod(shape) * n > 3e7:
        return None
    return f"xp.matmul({x}, {p.array((shape[-1], n))[0]})", (*shape[:-1], n)
