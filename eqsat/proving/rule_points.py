"""The points at which a user's rule is looked at: a signed grid, and those at which rules fail elsewhere.

Beyond the grid points are taken near the constants of a rule, all of them together and each by itself, near powers of two, far away, within
the bounds that conditions state, and where comparisons turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from eqsat.ir.errors import UsageError
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Apply, Const, Index, Var, substitute, variables, walk
from eqsat.ir.interval import Interval
from eqsat.proving.prove import Axes, open_grid
from eqsat.rules.own import Rule
from eqsat.rules.variables import PatternVariable

MOST_POINTS = 1_000_000
SPAN = 12
SAMPLES = 100_000
SEED = 20_261_122
# int64 holds products of what is evaluated far away
WIDE = (1 << 40, 1 << 30, 1 << 20, 1 << 14, 1 << 10, 1 << 6, SPAN)
LARGEST = 1 << 62
MOST_SHIFT = 20
# lines along a variable on which a comparison is followed, and how many comparisons are
LINES = 400
MOST_TURNS = 12
COMPARED = ("lt", "le", "gt", "ge", "eq", "ne", "min", "max")
Points = np.ndarray[Any, np.dtype[np.int64]]


def points(rule: Rule, names: Sequence[PatternVariable]) -> Iterator[Axes]:
    """Sets of points for the variables of a rule; UsageError for constants that make values of more than 62 bits."""
    chosen = _Points(rule, names)
    yield chosen.grid()
    yield from chosen.far()
    yield chosen.within()
    yield chosen.corners()
    yield from chosen.turns()


class _Points:
    """What the points of one rule have in common."""

    def __init__(self, rule: Rule, names: Sequence[PatternVariable]) -> None:
        self.rule, self.names = rule, names
        self.rng = np.random.default_rng(SEED)
        self.terms = list(walk(rule.lhs, rule.rhs, *rule.when))
        self.constants = {int(sub.value) for sub in self.terms if isinstance(sub, Const)}
        self.shifted = set(variables(*(sub.args[1] for sub in self.terms if isinstance(sub, Apply) and sub.op in ("shl", "shr"))))
        self.widest = self._widest()
        self.special = self._special()

    def grid(self) -> Axes:
        """Every point of the largest signed box with at most MOST_POINTS."""
        truths = sum(v.stands == "bool" for v in self.names)
        span = SPAN
        while span > 1 and 2.0**truths * (2 * span + 1.0) ** (len(self.names) - truths) > MOST_POINTS:
            span -= 1
        return open_grid(self.names, [(0, 1) if v.stands == "bool" else (-span, span) for v in self.names])

    def far(self) -> Iterator[Axes]:
        """Points near constants and their multiples, near powers of two, and far away, at as large a scale as int64 can hold."""
        for scale in dict.fromkeys(min(scale, self.widest) for scale in (32, 1024, self.widest)):
            yield {v: self._drawn(v, (-scale, scale)) for v in self.names}

    def within(self) -> Axes:
        """Points within the bounds that conditions on single variables state."""
        stated = list(map(_bounded, self.rule.when))
        axes: Axes = {}
        for v in self.names:
            bounds = [(-self.widest, self.widest), *(found for term, found in stated if term is v)]
            low, high = max(low for low, _ in bounds), min(high for _, high in bounds)
            axes[v] = self._drawn(v, (low, max(low, high)))
        return axes

    def corners(self) -> Axes:
        """Constants of the rule and their neighbours, every value of each variable with all of the others."""
        near = sorted(value for c in {0, *self.constants} for value in (c - 1, c, c + 1) if abs(value) <= self.widest)
        values = np.array(sorted(set(near)), np.int64)
        axes = [np.array((0, 1)) if v.stands == "bool" else values[self._fits(v, values)] for v in self.names]
        if np.prod([float(axis.size) for axis in axes]) <= SAMPLES:
            return dict(zip(self.names, np.ix_(*axes), strict=True))
        return {v: self.rng.choice(axis, SAMPLES) for v, axis in zip(self.names, axes, strict=True)}

    def turns(self) -> Iterator[Axes]:
        """Points at which a comparison turns from true to false along a variable, found by bisection, and their neighbours."""
        compared = {sub.args[0] - sub.args[1]: None for sub in self.terms if isinstance(sub, Apply) and sub.op in COMPARED}
        pairs = [(term, v) for term in compared if _is_number(term) for v in self.names if v.stands != "bool" and v in variables(term)]
        for term, v in pairs[:MOST_TURNS]:
            low, high = (0, min(MOST_SHIFT, self.widest)) if v in self.shifted else (-self.widest, self.widest)
            for ends in dict.fromkeys(((low, 0), (0, high))):
                others: Axes = {w: self._drawn(w, (-self.widest, self.widest), LINES) for w in self.names}
                at = _turn(term, v, others, ends)
                around = np.clip(np.concatenate([at - 1, at, at + 1]), low, high)
                yield {w: around if w is v else np.tile(others[w], 3) for w in self.names}

    def _drawn(self, v: PatternVariable, bounds: Interval, count: int = SAMPLES) -> Points:
        """Random values within bounds: half of them special ones, their multiples and neighbours, half of them of any size."""
        if v.stands == "bool":
            return self.rng.integers(0, 2, count)
        low, high = bounds
        if v in self.shifted:
            low, high = max(low, -MOST_SHIFT), max(low, min(high, MOST_SHIFT))
        inside = self.special[(self.special >= low) & (self.special <= high)]
        near = inside if inside.size else np.array((low, high), np.int64)
        chosen = self.rng.choice(near, count) * self.rng.choice((1, 1, 1, 2, 3, -1), count) + self.rng.integers(-2, 3, count)
        far = self.rng.uniform(-1, 1, count)
        spread = np.sign(far) * np.exp(np.abs(far) * np.log(max(abs(low), abs(high)) + 1.0))
        even = self.rng.integers(low, high + 1, count)
        sized = spread.astype(np.int64)
        mixed = np.where((sized >= low) & (sized <= high), sized, even)
        return np.clip(np.where(self.rng.random(count) < 0.5, chosen, mixed), low, high)

    def _fits(self, v: PatternVariable, values: Points) -> Any:
        return (values >= -1) & (values <= MOST_SHIFT) if v in self.shifted else np.ones(values.shape, bool)

    def _special(self) -> Points:
        """Zero, powers of two, and the constants with their sums, differences, products, quotients and neighbours."""
        found = {f for a in self.constants for b in self.constants for f in (a + b, a - b, a * b, a // b if b else 0)}
        powers = {(1 << k) + step for k in range(41) for step in (-1, 0, 1)}
        near = {value + step for value in self.constants | found for step in (-1, 0, 1)}
        return np.array(sorted(value for value in {0, *powers, *near} if abs(value) <= WIDE[0]), np.int64)

    def _widest(self) -> int:
        """The largest scale at which all values of a rule fit."""
        for scale in WIDE:
            ranges: dict[Var, Index] = {v: Var(v.name, *((0, 1) if v.stands == "bool" else self._range(v, scale))) for v in self.names}
            sides = [substitute(term, ranges) for term in (self.rule.lhs, self.rule.rhs, *self.rule.when)]
            if all(max(map(abs, sub.bounds)) < LARGEST for sub in walk(*sides)):
                return scale
        raise UsageError(f"check_rule: found {self.rule}, expected constants with which small values stay within 62 bits")

    def _range(self, v: PatternVariable, scale: int) -> Interval:
        return (0, min(scale, MOST_SHIFT)) if v in self.shifted else (-scale, scale)


def _bounded(condition: Index) -> tuple[Index, Interval]:
    """The variable that a condition compares with a constant, and the values that it leaves."""
    far = WIDE[0]
    if isinstance(condition, Apply) and condition.op in ("lt", "le", "gt", "ge", "eq"):
        left, right = condition.args
        op = condition.op
        if isinstance(left, Const):
            left, right, op = right, left, {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}.get(op, op)
        if isinstance(right, Const):
            k = int(right.value)
            ranges = {"lt": (-far, k - 1), "le": (-far, k), "gt": (k + 1, far), "ge": (k, far), "eq": (k, k)}
            return left, ranges[op]
    return condition, (-far, far)


def _is_number(term: Index) -> bool:
    """Whether the difference of two terms is one of numbers, and varies."""
    return all(arg.kind != "bool" for arg in (term.args if isinstance(term, Apply) else ()))


def _turn(term: Index, v: Var, others: Axes, ends: Interval) -> Points:
    """For each line along a variable the first place at which a term that has another sign at its ends is not of the first sign."""
    shape = next(iter(others.values())).shape
    low, high = (np.full(shape, end, np.int64) for end in ends)

    def is_negative(at: Points) -> Any:
        with np.errstate(all="ignore"):
            return np.broadcast_to(evaluate_index(term, {**others, v: at}) < 0, shape)

    first = is_negative(low)
    while (high - low > 1).any():
        middle = (low + high) // 2
        same = is_negative(middle) == first
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return high
