"""Two index expressions evaluated at many points: every point of a box, or points at which wrong simplifications show.

A term has no value where a divisor in it is zero or a shift amount negative, in a branch of `where` that is not taken too: all of a
term is evaluated, as in ir/evaluate.py.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from eqsat.ir.domain import NOT_ZERO
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import OPS, Apply, Const, Index, Var, apply, as_index, variables, walk
from eqsat.ir.interval import Interval

# beyond this, sums of two values may leave int64
LARGEST = 2**62
CHUNK = 2**16
SAMPLES = 2048
# Python's integers take a microsecond an operation
FEW_SAMPLES = 256
SEED = 20_260_712
Mask = np.ndarray[Any, np.dtype[np.bool_]]
Grid = dict[Var, np.ndarray[Any, Any]]

_TRUTHS = frozenset({"and", "or", "not", "bool"})


def conditions(term: Index) -> tuple[Index, ...]:
    """What must hold for the term to have a value: its divisors are not zero, its shift amounts not negative; without what bounds prove."""
    found: dict[Index, None] = {}
    for sub in walk(term):
        if isinstance(sub, Apply) and sub.domain is not None and not sub.domain.proved(sub.args[-1].bounds):
            found[apply(sub.domain.op, sub.args[-1], 0)] = None
    return tuple(found)


def may_divide_by_zero(*terms: Index) -> bool:
    """Whether bounds leave open that a divisor is zero."""
    divisors = (sub.args[1] for sub in walk(*terms) if isinstance(sub, Apply) and sub.domain is NOT_ZERO)
    return not all(NOT_ZERO.proved(divisor.bounds) for divisor in divisors)


def never_holds(condition: Index) -> bool:
    """Whether a condition, of few points, holds at none of them."""
    pair = Pair(apply("bool", condition), Const(False), extends=True)
    return pair.size <= CHUNK and pair.exhaustive() is None


def has_no_value(term: Index) -> bool:
    """Whether a term, of few points, has a value at none of them: it divides by zero everywhere."""
    needed, holds = conditions(term), as_index(True)
    for condition in needed:
        holds = apply("and", holds, condition)
    return bool(needed) and never_holds(holds)


@dataclass(frozen=True)
class Difference:
    """A point at which two sides do not agree, and their values there; None: no value."""

    point: dict[Var, int]
    left: int | None
    right: int | None


@dataclass(frozen=True)
class Pair:
    """Two sides to compare.  With `extends` the right one may have values where the left one has none."""

    left: Index
    right: Index
    extends: bool = False

    @property
    def variables(self) -> tuple[Var, ...]:
        return variables(self.left, self.right)

    @property
    def size(self) -> int:
        """How many points the variables' ranges have."""
        return prod(v.extent for v in self.variables)

    @property
    def fits(self) -> bool:
        """Whether int64 holds all values."""
        return all(sub.bounds[0] >= -LARGEST and sub.bounds[1] <= LARGEST for sub in walk(self.left, self.right))

    def at(self, point: dict[Var, int]) -> Difference | None:
        """The difference at one point, computed with Python's integers."""
        left, right = _value(self.left, point), _value(self.right, point)
        agree = left == right or (self.extends and left is None)
        return None if agree else Difference(point, left, right)

    def exhaustive(self) -> Difference | None:
        """The first difference at any point of the ranges."""
        names = self.variables
        if not self.fits:
            points = itertools.product(*(range(v.lo, v.hi + 1) for v in names))
            return self._first(dict(zip(names, point, strict=True)) for point in points)
        for box in _boxes([v.bounds for v in names]):
            axes = np.ix_(*(np.arange(lo, hi + 1) for lo, hi in box)) if box else ()
            found = self._on(dict(zip(names, axes, strict=True)), tuple(hi - lo + 1 for lo, hi in box))
            if found is not None:
                return found
        return None

    def search(self) -> Difference | None:
        """A difference at corners, near zero, around multiples of the terms' constants, or at random; the same ones every time."""
        names = self.variables
        if not self.fits:
            return self._first(_slow_samples(names, self._constants()))
        rng = np.random.default_rng(SEED)
        grid = {v: _samples(rng, v, k, self._constants()) for k, v in enumerate(names)}
        return self._on(grid, (SAMPLES,) if names else ())

    def _first(self, points: Iterator[dict[Var, int]]) -> Difference | None:
        return next((found for point in points if (found := self.at(point)) is not None), None)

    def _on(self, grid: Grid, shape: tuple[int, ...]) -> Difference | None:
        """The difference nearest to zero on these points."""
        wrong = disagreement(self, grid, shape)
        if not wrong.any():
            return None
        distance = sum(np.abs(axis).astype(float) for axis in grid.values())
        at = np.unravel_index(np.argmin(np.where(wrong, distance, np.inf)), shape)
        return self.at({v: int(np.broadcast_to(axis, shape)[at]) for v, axis in grid.items()})

    def _constants(self) -> list[int]:
        found = {abs(sub.value) for sub in walk(self.left, self.right) if isinstance(sub, Const)}
        return sorted(k for k in found if 1 < k <= LARGEST)[:64]


def disagreement(pair: Pair, grid: Grid, shape: tuple[int, ...]) -> Mask:
    """The points of a grid at which the sides differ, or only one has a value (with `extends`: only the left one)."""
    values: dict[Index, Any] = {}
    has_left, has_right = (_defined(side, grid, values, shape) for side in (pair.left, pair.right))
    left, right = (_number(_evaluate(side, grid, values)) for side in (pair.left, pair.right))
    missing = has_left & ~has_right if pair.extends else has_left ^ has_right
    return np.asarray(missing | (has_left & has_right & np.broadcast_to(left != right, shape)), bool)


def _defined(term: Index, grid: Grid, values: dict[Index, Any], shape: tuple[int, ...]) -> Mask:
    holds = np.ones(shape, bool)
    for condition in conditions(term):
        holds = holds & _evaluate(condition, grid, values)
    return holds


def _evaluate(term: Index, grid: Grid, values: dict[Index, Any]) -> Any:
    """The value of a term on a grid; where it has none, any value."""
    for sub in walk(term):
        if sub in values:
            continue
        if isinstance(sub, Apply):
            values[sub] = OPS[sub.op].evaluate(*_operands(sub, values))
        else:
            values[sub] = grid[sub] if isinstance(sub, Var) else sub.value  # type: ignore[attr-defined]
    return values[term]


def _operands(term: Apply, values: dict[Index, Any]) -> list[Any]:
    """Operands as numbers where the operation works on numbers (NumPy adds truth values as `or`), and inside its domain."""
    args = [values[arg] for arg in term.args]
    if term.op in _TRUTHS:
        return args
    if term.op == "where":
        return [_truth(args[0]), _number(args[1]), _number(args[2])] if term.kind == "int" else [_truth(args[0]), *args[1:]]
    args = [_number(arg) for arg in args]
    if term.domain is not None:
        args[-1] = term.domain.nearest(args[-1])
    return args


def _number(value: Any) -> Any:
    return value.astype(np.int64) if isinstance(value, np.ndarray) else int(value)


def _truth(value: Any) -> Any:
    return value != 0


def _value(term: Index, point: dict[Var, int]) -> int | None:
    try:
        return int(evaluate_index(term, point))
    except (ZeroDivisionError, ValueError):
        return None


def _boxes(ranges: list[Interval]) -> Iterator[list[Interval]]:
    """Boxes of at most CHUNK points that together are the box of the ranges."""
    if prod(hi - lo + 1 for lo, hi in ranges) <= CHUNK:
        yield ranges
        return
    longest = max(range(len(ranges)), key=lambda k: ranges[k][1] - ranges[k][0])
    lo, hi = ranges[longest]
    middle = (lo + hi) // 2
    for part in ((lo, middle), (middle + 1, hi)):
        yield from _boxes([*ranges[:longest], part, *ranges[longest + 1 :]])


def _special(v: Var, constants: Sequence[int]) -> list[int]:
    """Ends, values near zero, and values around multiples of constants near the ends, the middle and zero."""
    centres = (v.lo, v.hi, 0, (v.lo + v.hi) // 2)
    found = {centre + step for centre in centres for step in range(-2, 3)}
    found.update(centre // k * k + step for centre in centres for k in constants for step in (-1, 0, 1, k - 1, k, k + 1))
    return sorted(value for value in found if v.lo <= value <= v.hi)


def _samples(rng: np.random.Generator, v: Var, position: int, constants: Sequence[int]) -> np.ndarray[Any, Any]:
    """Values of the variable at `position`: first those of the corners of all ranges, then special ones and random ones mixed."""
    special = np.array(_special(v, constants), np.int64)
    mixed = np.where(rng.random(SAMPLES) < 0.6, rng.choice(special, SAMPLES), rng.integers(v.lo, v.hi, SAMPLES, endpoint=True))
    corners = np.arange(FEW_SAMPLES)
    mixed[:FEW_SAMPLES] = np.where(corners >> min(position, 62) & 1, v.hi, v.lo)
    return mixed


def _slow_samples(names: tuple[Var, ...], constants: Sequence[int]) -> Iterator[dict[Var, int]]:
    rng = random.Random(SEED)
    special = {v: _special(v, constants) for v in names}
    for k in range(FEW_SAMPLES):
        if k < 2 ** min(len(names), 5):
            yield {v: v.hi if k >> position & 1 else v.lo for position, v in enumerate(names)}
        else:
            yield {v: rng.choice((rng.choice(special[v]), rng.randint(v.lo, v.hi))) for v in names}
