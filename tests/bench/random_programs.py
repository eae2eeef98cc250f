"""Random programs in NumPy's names, as text, with arrays of ten thousand to three million elements: chains of two to five steps, and graphs
of six to fourteen, whose steps meet again and of which several values are results.

Steps are what array programs are made of: functions, broadcast operands, folds and normalizations along any axes, movements, neighbours,
running sums, gathers, products.  Sizes are as odd as those of data: long and short axes in any order.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

Shape = tuple[int, ...]
MOST_ELEMENTS, MOST_PRODUCTS = 6e6, 3e8
FUNCTIONS = (
    "xp.exp(-xp.abs({x}))", "xp.tanh({x})", "xp.sqrt(xp.abs({x}))", "{x} * {x}", "xp.abs({x})", "xp.floor({x} * 4)", "xp.sin({x})",
    "xp.log1p(xp.abs({x}))", "xp.maximum({x}, 0)", "xp.clip({x}, -0.5, 0.5)", "1 / (1 + xp.exp(-{x}))", "{x} * 2 + 1",
    "xp.where({x} > 0, {x}, 0.1 * {x})", "xp.cos({x})", "{x} ** 3", "xp.sign({x})",
)  # fmt: skip
OF_TWO = ("{x} + {y}", "{x} * {y}", "{x} - {y}", "xp.maximum({x}, {y})", "{x} / (1 + xp.abs({y}))", "({x} - {y}) ** 2")
NORMALIZED = (
    "{x} - xp.mean({x}, axis={a}, keepdims=True)",
    "{x} / xp.sqrt(xp.sum({x} * {x}, axis={a}, keepdims=True) + 1)",
    "({x} - xp.mean({x}, axis={a}, keepdims=True)) / (xp.std({x}, axis={a}, keepdims=True) + 1)",
    "xp.exp({x} - xp.max({x}, axis={a}, keepdims=True))",
    "{x} / (xp.max(xp.abs({x}), axis={a}, keepdims=True) + 1)",
)
FOLDS = tuple(f"xp.{name}({{x}}, axis={{a}}, keepdims={{k}})" for name in ("sum", "sum", "mean", "max", "min", "std", "var"))
LAST = (
    "xp.sum({x} > 0.5, axis={a}, keepdims={k})",
    "xp.any({x} > 3, axis={a}, keepdims={k})",
    "xp.all({x} > -3, axis={a}, keepdims={k})",
    "xp.prod(1 + 0.001 * {x}, axis={a}, keepdims={k})",
)
SHAPES: tuple[Shape, ...] = (
    (1024, 1024), (512, 300, 7), (100, 100, 100), (1 << 20,), (1000,), (64, 64, 64, 4), (4, 32, 56, 56), (3, 480, 640), (480, 640, 3),
    (32, 1000), (2000, 33), (65, 4, 128, 32), (256, 4096), (16, 16, 4097),
)  # fmt: skip


@dataclass
class RandomProgram:
    """One program; `text` defines f(xp, *arrays)."""

    seed: int
    arrays: list[Any] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random, self.rng = random.Random(self.seed), np.random.default_rng(self.seed)
        self.dtype = self.random.choice(self.dtypes())
        self.ended = False
        self.results = self.written()

    @property
    def exact(self) -> bool:
        """Whether every result has one value, which no rounding changes."""
        return False

    def dtypes(self) -> Sequence[str]:
        """Of which one is that of the arrays."""
        return ["f4"] * 7 + ["f8"] * 3

    def written(self) -> list[str]:
        """Writes the lines; the names of what f returns."""
        value = self.array(self.first_shape())
        steps = self.random.choice([2, 3, 3, 4, 5])
        while len(self.lines) < steps and not self.ended:
            value = self.line(self.random.choice(self.chain())(self, *value)) or value
        return [value[0]]

    def chain(self) -> Sequence[Step]:
        """What a step of a chain may be."""
        return STEPS

    def line(self, found: tuple[str, Sequence[int]] | None) -> tuple[str, Shape] | None:
        """A line more, unless nothing or too much was found: its name and shape."""
        if found is None or prod(found[1]) > MOST_ELEMENTS:
            return None
        self.lines.append(f"v{len(self.lines)} = {found[0]}")
        return f"v{len(self.lines) - 1}", tuple(found[1])

    @property
    def text(self) -> str:
        names = "".join(f", a{k}" for k in range(len(self.arrays)))
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"def f(xp{names}):\n{body}    return {', '.join(self.results)}\n"

    def function(self) -> Callable[..., Any]:
        found: dict[str, Callable[..., Any]] = {}
        exec(self.text, found)
        return found["f"]

    def array(self, shape: Sequence[int], most: int | None = None) -> tuple[str, Shape]:
        """Another argument: numbers, or places below `most`."""
        self.arrays.append(self.numbers(shape) if most is None else self.rng.integers(0, most, shape, "int32"))
        return f"a{len(self.arrays) - 1}", tuple(shape)

    def numbers(self, shape: Sequence[int]) -> Any:
        return self.rng.standard_normal(shape).astype(self.dtype)

    def first_shape(self) -> Shape:
        pick, left = self.random, 10 ** self.random.uniform(4, 6.5)
        extents = list[int]()
        for _ in range(pick.choice([1, 2, 2, 2, 3, 3, 4]) - 1):
            extent = pick.choice([2, 3, 4, 5, 7, 8, 12, 16, 32]) if pick.random() < 0.35 else int(left ** pick.uniform(0.25, 0.75))
            extents.append(max(1, min(extent, int(left))))
            left /= extents[-1]
        extents.append(max(1, int(left)))
        pick.shuffle(extents)
        return tuple(1 << (n.bit_length() - 1) for n in extents) if pick.random() < 0.3 else tuple(extents)

    def axes(self, rank: int) -> tuple[int, ...]:
        count = min(rank, self.random.choice([1, 1, 1, 1, 2]))
        return tuple(sorted(self.random.sample(range(rank), count)))

    def axis(self, shape: Shape, least: int = 1) -> int | None:
        """An axis with so many elements; None where there is none."""
        found = [k for k, n in enumerate(shape) if n >= least]
        return self.random.choice(found) if found else None


class MovedProgram(RandomProgram):
    """A chain of float32 of shapes as benches have them, most steps of which are movements, folds and normalizations."""

    def dtypes(self) -> Sequence[str]:
        return ["f4"]

    def first_shape(self) -> Shape:
        return self.random.choice(SHAPES)

    def chain(self) -> Sequence[Step]:
        return MOVED_STEPS


class RandomGraph(RandomProgram):
    """A program whose steps go on from any of the last values, and meet again; what nothing is made of is a result."""

    def written(self) -> list[str]:
        values, used = [self.array(self.first_shape())], set[str]()
        steps, tries = self.random.randrange(6, 15), 0
        while len(self.lines) < steps and tries < 100:
            tries += 1
            name, shape = values[-1 - min(int(self.random.expovariate(1.2)), len(values) - 1)]
            others = [other for other in values if other[0] != name and _fit(other[1], shape)]
            if others and self.random.random() < 0.35:
                other = self.random.choice(others[-4:])
                text = self.random.choice(self.of_two(name, other[0])).format(x=name, y=other[0])
                found, names = self.line((text, np.broadcast_shapes(shape, other[1]))), {name, other[0]}
            else:
                found, names = self.line(self.random.choice(self.steps(name))(self, name, shape)), {name}
            if found is not None:
                values.append(found)
                used |= names
        return [name for name, _ in values if name not in used and name[0] == "v"]

    def of_two(self, x: str, y: str) -> Sequence[str]:
        """Operations on two values."""
        return OF_TWO

    def steps(self, x: str) -> Sequence[Step]:
        """What may be done with a value."""
        return INNER_STEPS


def _fit(one: Shape, other: Shape) -> bool:
    """Whether two shapes broadcast to one of both."""
    try:
        return np.broadcast_shapes(one, other) in (one, other)
    except ValueError:
        return False


# of a program, a value's name and its shape; what it makes, unless that cannot be
Step = Callable[[Any, str, Shape], "tuple[str, Sequence[int]] | None"]


def function(p: RandomProgram, x: str, shape: Shape) -> tuple[str, Shape]:
    return p.random.choice(FUNCTIONS).format(x=x), shape


def of_two(p: RandomProgram, x: str, shape: Shape) -> tuple[str, Shape]:
    some = tuple(n if p.random.random() < 0.5 else 1 for n in shape)
    y, _ = p.array(p.random.choice([shape, shape[-1:], (*shape[:-1], 1) if shape else (), some]))
    return p.random.choice(OF_TWO).format(x=x, y=y), shape


def chosen(p: RandomProgram, x: str, shape: Shape) -> tuple[str, Shape]:
    y, _ = p.array(shape)
    return f"xp.where({x} > {y}, {x} - {y}, {p.random.choice(['0', y, f'{x} * 0.5'])})", shape


def normalized(p: RandomProgram, x: str, shape: Shape) -> tuple[str, Shape] | None:
    return (p.random.choice(NORMALIZED).format(x=x, a=p.axes(len(shape))), shape) if shape else None


def fold(p: RandomProgram, x: str, shape: Shape) -> tuple[str, Shape] | None:
    return _folded(p, x, shape, FOLDS)


def last_fold(p: RandomProgram, x: str, shape: Shape) -> tuple[str, Shape] | None:
    """Of which integers or truth values come; nothing is made of them."""
    if not shape:
        return None
    p.ended = True
    if p.random.random() < 0.4:
        axis = p.random.randrange(len(shape))
        return f"xp.{p.random.choice(['argmax', 'argmin'])}({x}, axis={axis})", shape[:axis] + shape[axis + 1 :]
    return _folded(p, x, shape, LAST)


def _folded(p: RandomProgram, x: str, shape: Shape, folds: Sequence[str]) -> tuple[str, Shape] | None:
    if not shape or prod(shape) < 8:
        return None
    axes, kept = p.axes(len(shape)), p.random.random() < 0.4
    found = tuple(1 if k in axes else n for k, n in enumerate(shape) if kept or k not in axes)
    return p.random.choice(folds).format(x=x, a=axes, k=kept), found


def turned(p: RandomProgram, x: str, shape: Shape) -> tuple[str, Shape] | None:
    order = p.random.sample(range(len(shape)), len(shape))
    return (f"xp.transpose({x}, {tuple(order)})", tuple(shape[k] for k in order)) if len(shape) > 1 else None


def reshaped(p: RandomProgram, x: str, shape: Shape) -> tuple[str, Shape] | None:
    """Two axes joined, or one split."""
    k = p.axis(shape, 2)
    if k is None:
        return None
    parts = [n for n in (2, 3, 4, 8) if shape[k] % n == 0 and shape[k] > n]
    if k + 1 < len(shape) and p.random.random() < 0.5:
        found = (*shape[:k], shape[k] * shape[k + 1], *shape[k + 2 :])
    elif parts:
        n = p.random.choice(parts)
        found = (*shape[:k], *((n, shape[k] // n) if p.random.random() < 0.5 else (shape[k] // n, n)), *shape[k + 1 :])
    else:
        return None
    return f"xp.reshape({x}, {found})", found


def refactored(p: RandomProgram, x: str, shape: Shape) -> tuple[str, Shape] | None:
    """Under any other shape of up to four axes."""
    factors, left = list[int](), prod(shape)
    for prime in (2, 3, 5, 7, 11, 13, 17):
        while left > 1 and left % prime == 0:
            factors.append(prime)
            left //= prime
    extents = [1] * p.random.choice([1, 2, 3, 4])
    for factor in (*factors, left):
        extents[p.random.randrange(len(extents))] *= factor
    return (f"xp.reshape({x}, {tuple(extents)})", tuple(extents)) if prod(shape) > 1 else None


def moved(p: RandomProgram, x: str, shape: Shape) -> tuple[str, Shape] | None:
    """Turned round, rolled, tiled, repeated, with an axis more."""
    k, small = p.axis(shape), prod(shape) < 1e6
    if k is None:
        return None
    before, n, after = shape[:k], shape[k], shape[k + 1 :]
    ways: list[tuple[str, Shape]] = [(f"xp.flip({x}, axis={k})", shape), (f"xp.roll({x}, {p.random.randrange(1, 9)}, axis={k})", shape)]
    ways += [(f"xp.expand_dims({x}, {k})", (*before, 1, n, *after))]
    if small:
        tiles = tuple(p.random.choice([1, 2]) for _ in shape)
        ways += [(f"xp.repeat({x}, 2, axis={k})", (*before, 2 * n, *after))]
        ways += [(f"xp.tile({x}, {tiles})", tuple(a * b for a, b in zip(shape, tiles, strict=True)))]
    return p.random.choice(ways)


def cut(p: RandomProgram, x: str, shape: Shape) -> tuple[str, Shape] | None:
    """A slice, or every second or third."""
    k = p.axis(shape, 9)
    if k is None:
        return None
    n, step = shape[k], p.random.choice([1, 1, 2, 3])
    first, end = (p.random.randrange(4), n - p.random.randrange(4)) if step == 1 else (0, n)
    return f"{x}[{':, ' * k}{first}:{end}:{step}]", (*shape[:k], len(range(first, end, step)), *shape[k + 1 :])


def padded(p: RandomProgram, x: str, shape: Shape) -> tuple[str, Shape] | None:
    if not shape or prod(shape) > MOST_ELEMENTS / 2:
        return None
    widths = [(p.random.randrange(3), p.random.randrange(3)) if p.random.random() < 0.7 else (0, 0) for _ in shape]
    mode = p.random.choice(["constant", "edge", "reflect", "wrap"]) if min(shape) >= 4 else "constant"
    return f"xp.pad({x}, {widths}, mode='{mode}')", tuple(n + a + b for n, (a, b) in zip(shape, widths, strict=True))


def neighbours(p: RandomProgram, x: str, shape: Shape) -> tuple[str, Shape] | None:
    k = p.axis(shape, 12)
    if k is None:
        return None
    n, around = shape[k], ":, " * k

    def at(first: int, end: int) -> str:
        return f"{x}[{around}{first}:{end}]"

    three = f"0.25 * {at(0, n - 2)} + 0.5 * {at(1, n - 1)} + 0.25 * {at(2, n)}"
    ways = [(f"xp.diff({x}, axis={k})", n - 1), (three, n - 2), (f"xp.maximum({at(0, n - 1)}, {at(1, n)})", n - 1)]
    ways += [(f"xp.roll({x}, 1, axis={k}) + xp.roll({x}, -1, axis={k}) - 2 * {x}", n)]
    if n % 2 == 0:
        pairs = (*shape[:k], n // 2, 2, *shape[k + 1 :])
        ways += [(f"xp.{p.random.choice(['mean', 'max'])}(xp.reshape({x}, {pairs}), axis={k + 1})", n // 2)]
    text, extent = p.random.choice(ways)
    return text, (*shape[:k], extent, *shape[k + 1 :])


def running(p: RandomProgram, x: str, shape: Shape) -> tuple[str, Shape] | None:
    return (f"xp.cumsum({x}, axis={p.random.randrange(len(shape))})", shape) if shape else None


def taken(p: RandomProgram, x: str, shape: Shape) -> tuple[str, Shape] | None:
    k = p.axis(shape)
    if k is None:
        return None
    count = p.random.choice([shape[k], max(1, shape[k] // 3), 7])
    return f"xp.take({x}, {p.array((count,), shape[k])[0]}, axis={k})", (*shape[:k], count, *shape[k + 1 :])


def product(p: RandomProgram, x: str, shape: Shape) -> tuple[str, Shape] | None:
    if not shape or shape[-1] > 2048:
        return None
    n, size = p.random.choice([1, 3, 8, 10, 32, 64, 100, 256]), prod(shape)
    way = p.random.choice("aaabbcd") if len(shape) > 1 and size * shape[-2] < MOST_PRODUCTS and shape[-2] <= 1024 else p.random.choice("ab")
    if size * n > MOST_PRODUCTS:
        return None
    if way == "a":
        return f"xp.matmul({x}, {p.array((shape[-1], n))[0]})", (*shape[:-1], n)
    if way == "b":
        return f"xp.matmul({x}, {p.array((n, shape[-1]))[0]}.T)", (*shape[:-1], n)
    if way == "c":
        return f"xp.matmul({x}, xp.swapaxes({x}, -1, -2))", (*shape[:-1], shape[-2])
    return f"xp.matmul({p.array((n, shape[-2]))[0]}, {x})", (*shape[:-2], n, shape[-1])


def joined(p: RandomProgram, x: str, shape: Shape) -> tuple[str, Shape] | None:
    k = p.axis(shape)
    if k is None or prod(shape) > MOST_ELEMENTS / 2:
        return None
    y, _ = p.array(shape)
    if p.random.random() < 0.5:
        return f"xp.concatenate([{x}, {y}], axis={k})", (*shape[:k], 2 * shape[k], *shape[k + 1 :])
    return f"xp.stack([{x}, {y}], axis={k})", (*shape[:k], 2, *shape[k:])


def triangle(p: RandomProgram, x: str, shape: Shape) -> tuple[str, Shape] | None:
    return (f"xp.{p.random.choice(['tril', 'triu'])}({x})", shape) if len(shape) > 1 else None


STEPS: list[Step] = [
    *[function] * 3, *[of_two] * 3, chosen, *[normalized] * 2, *[fold] * 2, last_fold, *[turned] * 2, reshaped, moved, cut, padded,
    *[neighbours] * 2, running, taken, *[product] * 2, joined, triangle,
]  # fmt: skip
INNER_STEPS = [step for step in STEPS if step is not last_fold]
MOVED_STEPS: list[Step] = [
    *[function] * 2, of_two, *[normalized] * 2, *[fold] * 3, turned, refactored, *[moved] * 3, cut, padded, neighbours, running, taken,
    product, joined,
]  # fmt: skip
