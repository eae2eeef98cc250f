"""Chains of movements and the index expressions that a compiler writes for them.

A chain maps an array to an array of another shape; read backwards, it maps the place of an element of the result to the place
of the element in the array that the chain began with, and to the conditions under which that element exists.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

from eqsat.ir.index import Const, Index, as_index, conjunction, var

Shape = tuple[int, ...]
Kind = Literal["reshape", "permute", "expand", "shrink", "flip", "pad", "stride"]
SIZES = (3, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 20, 24, 28, 32, 48, 56, 64)
PRIMES = (2, 2, 2, 3, 3, 5, 7)


@dataclass(frozen=True)
class Move:
    """One movement.  The argument has an entry for each axis: of the result for reshape, expand (its shape) and permute (where
    the axis came from), of the operand for shrink (begin, end), flip (whether), pad (before, after) and stride (the step).
    """

    kind: Kind
    arg: tuple[Any, ...]

    def shape(self, before: Shape) -> Shape:
        """The shape of the result."""
        if self.kind in ("reshape", "expand"):
            return self.arg
        if self.kind == "permute":
            return tuple(before[axis] for axis in self.arg)
        if self.kind == "shrink":
            return tuple(end - begin for begin, end in self.arg)
        if self.kind == "pad":
            return tuple(low + n + high for n, (low, high) in zip(before, self.arg, strict=True))
        if self.kind == "stride":
            return tuple(-(-n // step) for n, step in zip(before, self.arg, strict=True))
        return before

    def place(self, before: Shape, place: Sequence[Index]) -> list[Index]:
        """The place in the operand, given the place in the result."""
        if self.kind == "reshape":
            return unflatten(flatten(place, self.arg), before)
        if self.kind == "permute":
            return [place[self.arg.index(axis)] for axis in range(len(before))]
        if self.kind == "expand":
            return [Const(0) if n == 1 else i for i, n in zip(place, before, strict=True)]
        return [self._element(i, n, arg) for i, n, arg in zip(place, before, self.arg, strict=True)]

    def _element(self, i: Index, n: int, arg: Any) -> Index:
        if self.kind == "flip":
            return n - 1 - i if arg else i
        return times(i, arg) if self.kind == "stride" else plus(i, arg[0] if self.kind == "shrink" else -arg[0])

    def conditions(self, before: Shape, place: Sequence[Index]) -> list[Index]:
        """What must hold of a place in the result for the element to exist."""
        if self.kind != "pad":
            return []
        low = [i >= begin for i, (begin, _) in zip(place, self.arg, strict=True) if begin]
        high = [i < begin + n for i, n, (begin, end) in zip(place, before, self.arg, strict=True) if end]
        return low + high


def plus(a: Index, b: Index | int) -> Index:
    """a + b, without adding zero."""
    b = as_index(b)
    if isinstance(b, Const):
        return a if b.value == 0 else Const(a.value + b.value) if isinstance(a, Const) else a + b
    return b if isinstance(a, Const) and a.value == 0 else a + b


def times(a: Index, k: int) -> Index:
    """a * k, without multiplying by one."""
    return a if k == 1 else Const(a.value * k) if isinstance(a, Const) else a * k


def flatten(place: Sequence[Index], shape: Shape) -> Index:
    """The position in row-major order."""
    flat: Index = Const(0)
    for axis, i in enumerate(place):
        flat = plus(flat, times(i, prod(shape[axis + 1 :])))
    return flat


def unflatten(flat: Index, shape: Shape) -> list[Index]:
    """The place at a position in row-major order, as compilers write it: every axis by // and %, the outermost by // alone."""
    place: list[Index] = []
    for axis, n in enumerate(shape):
        stride = prod(shape[axis + 1 :])
        i = flat if stride == 1 else flat // stride
        place.append(Const(0) if n == 1 else i if prod(shape[:axis]) == 1 else i % n)
    return place


def loops(shape: Shape, name: str = "i") -> list[Index]:
    """A loop variable for each axis; an axis of one element has none."""
    return [var(f"{name}{axis}", 0, n - 1) if n > 1 else Const(0) for axis, n in enumerate(shape)]


def tiled_loop(name: str, extent: int, rng: random.Random) -> Index:
    """A loop of so many steps: plain, or unrolled with one lane written out, or tiled into two."""
    factors = [f for f in (2, 3, 4, 5, 7, 8) if extent % f == 0 and f < extent]
    if not factors or rng.random() < 0.4:
        return var(name, 0, extent - 1)
    factor = rng.choice(factors)
    outer = var(f"{name}o", 0, extent // factor - 1)
    return plus(outer * factor, rng.randrange(factor) if rng.random() < 0.4 else var(f"{name}i", 0, factor - 1))


def shapes(start: Shape, chain: Sequence[Move]) -> list[Shape]:
    """The shapes before each movement, and after the last."""
    found = [start]
    for move in chain:
        found.append(move.shape(found[-1]))
    return found


def read_through(start: Shape, chain: Sequence[Move], place: Sequence[Index]) -> tuple[list[Index], Index]:
    """The place in the array that the chain began with, for a place in its result, and the condition that it exists."""
    before, here, conditions = shapes(start, chain), list(place), list[Index]()
    for move, shape in zip(reversed(chain), reversed(before[:-1]), strict=True):
        conditions = move.conditions(shape, here) + conditions
        here = move.place(shape, here)
    return here, conjunction(conditions)


def random_shape(rng: random.Random, rank: int, primes: int | None = None) -> Shape:
    """Sizes whose product is made of few small primes, so that other shapes hold as many elements; one axis in eight has one."""
    if rank > 1 and rng.random() < 0.125 * rank:
        smaller = random_shape(rng, rank - 1, primes)
        at = rng.randrange(rank)
        return (*smaller[:at], 1, *smaller[at:])
    return regroup(rng, [rng.choice(PRIMES) for _ in range(primes or max(rank, rng.randint(3, 6)))], rank)


def regroup(rng: random.Random, factors: Sequence[int], rank: int) -> Shape:
    """The factors dealt out to `rank` axes."""
    axes = [1] * rank
    for k, factor in enumerate(rng.sample(factors, len(factors))):
        axes[k if k < rank else rng.randrange(rank)] *= factor
    return tuple(rng.sample(axes, rank))


def factorize(n: int) -> list[int]:
    """The prime factors of a size."""
    factors, k = [], 2
    while n > 1:
        if n % k:
            k += 1
        else:
            n //= k
            factors.append(k)
    return factors


def random_move(rng: random.Random, shape: Shape, kinds: Sequence[Kind], most_axes: int = 6) -> Move | None:
    """A movement of one of the kinds that changes an array of this shape; None where the drawn kind cannot."""
    kind, rank = rng.choice(kinds), len(shape)
    if kind == "reshape":
        factors = [f for n in shape for f in factorize(n)] or [1]
        arg: tuple[Any, ...] = regroup(rng, factors, rng.randint(1, min(most_axes, max(len(factors), 1) + 1)))
    elif kind == "permute":
        arg = tuple(rng.sample(range(rank), rank))
    elif kind == "flip":
        arg = tuple(n > 1 and rng.random() < 0.5 for n in shape)
    elif kind == "expand":
        arg = tuple(rng.choice((2, 3, 5)) if n == 1 and rng.random() < 0.8 else n for n in shape)
    elif kind == "pad":
        arg = tuple((rng.randint(0, 3), rng.randint(0, 3)) if rng.random() < 0.5 else (0, 0) for _ in shape)
    elif kind == "stride":
        arg = tuple(rng.choice((1, 2, 3)) if n > 3 else 1 for n in shape)
    else:
        arg = tuple(_part(rng, n) if n > 2 and rng.random() < 0.6 else (0, n) for n in shape)
    move = Move(kind, arg)
    idle = {"permute": tuple(range(rank)), "flip": (False,) * rank, "pad": ((0, 0),) * rank, "stride": (1,) * rank}
    idle["shrink"] = tuple((0, n) for n in shape)
    return None if move.arg == idle.get(kind, shape) or prod(move.shape(shape)) > 100_000 else move


def _part(rng: random.Random, n: int) -> tuple[int, int]:
    begin = rng.randint(0, n - 2)
    return begin, rng.randint(begin + 2, n)
