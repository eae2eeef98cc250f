"""Whether a user's rule is true: every point of a signed grid, points around its constants and far away, and integer sets.

A rule with divisors or factors that are variables is no quasi-affine function, and no general procedure decides it.  So what counts as
proof is what counts for the built-in rows: both sides agree at every point of a signed grid where the guard holds; beyond it, at many
points chosen where rules fail.  Rules that are quasi-affine are proved for all values of 40 bits where islpy is installed.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eqsat import integer_sets
from eqsat.ir.errors import UsageError
from eqsat.ir.index import Apply, Const, Index, Var, conjunction, substitute, variables, walk, where
from eqsat.missing_guard import Sample, missing_guard
from eqsat.points import Pair
from eqsat.prove import Axes, evaluated, open_grid
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


@dataclass(frozen=True, eq=False, repr=False)
class RuleVerdict:
    """What `eqsat.check_rule` found out; true only if the rule is proved.

    rule            the rule
    counterexample  a value for every variable at which the guard holds and the sides differ, or only one has a value: the smallest by
                    the sum of absolute values; None if there is none
    missing_guard   conditions that, added to the rule's, make it true, the weakest that were found; None if the rule is true or none was
                    found
    method          "integer sets": proved for all values of 40 bits; "exhaustive": at every point of a grid, and at many beyond;
                    "counterexample"; "never": the guard holds nowhere
    points          at how many points the guard held
    """

    rule: Rule
    method: str
    counterexample: dict[str, int] | None = None
    missing_guard: Index | None = None
    points: int = 0

    @property
    def proved(self) -> bool:
        return self.method in ("integer sets", "exhaustive")

    def __bool__(self) -> bool:
        return self.proved

    def __str__(self) -> str:
        if self.proved:
            return f"proved ({self.method}, {self.points:,} points): {self.rule}"
        if self.counterexample is None:
            return f"not proved: {self.rule}: its conditions never hold together"
        at = ", ".join(f"{name} = {value}" for name, value in self.counterexample.items())
        hint = f"; true with the condition {self.missing_guard}" if self.missing_guard is not None else ""
        return f"refuted: {self.rule}: the sides differ at {at}{hint}"

    __repr__ = __str__


@functools.lru_cache(maxsize=256)
def check_rule(rule: Rule) -> RuleVerdict:
    """Whether a rule holds for all integers; see RuleVerdict for what proves it.

    A division by zero and a shift by a negative amount have no value; a side that has none where the other has one refutes the rule, a
    condition that has none does not hold.  Takes up to a second; the verdict is remembered.  Raises UsageError for what is no Rule, and for
    constants that make values of more than 62 bits.
    """
    if not isinstance(rule, Rule):
        raise UsageError(f"check_rule: found {rule!r}, expected an eqsat.Rule")
    names = tuple(v for v in variables(rule.lhs) if isinstance(v, PatternVariable))
    grids = [*_beyond(rule, names), _grid(names)]
    samples = [_sample(rule, grid) for grid in grids]
    wrong = [found for sample in samples if (found := sample.smallest_wrong()) is not None]
    points = sum(sample.points for sample in samples)
    if wrong:
        smallest = min(wrong, key=lambda point: sum(map(abs, point.values())))
        return RuleVerdict(rule, "counterexample", smallest, missing_guard(rule, samples), points)
    if not points:
        return RuleVerdict(rule, "never")
    return RuleVerdict(rule, "integer sets" if _by_integer_sets(rule, names) else "exhaustive", None, None, points)


def _sample(rule: Rule, axes: Axes) -> Sample:
    held, differs, valued = evaluated(rule.lhs, rule.rhs, rule.when, axes)
    return Sample(axes, held & valued, held & differs)


# points ----------------------------------------------------------------------------------------------------------
def _grid(names: Sequence[PatternVariable]) -> Axes:
    """Every point of the largest signed box with at most MOST_POINTS."""
    truths = sum(v.stands == "bool" for v in names)
    span = SPAN
    while span > 1 and 2.0**truths * (2 * span + 1.0) ** (len(names) - truths) > MOST_POINTS:
        span -= 1
    return open_grid(names, [(0, 1) if v.stands == "bool" else (-span, span) for v in names])


def _beyond(rule: Rule, names: Sequence[PatternVariable]) -> Iterator[Axes]:
    """Points near the constants of a rule and their multiples, near powers of two, and far away, at as large a scale as int64 can hold."""
    rng = np.random.default_rng(SEED)
    terms = list(walk(rule.lhs, rule.rhs, *rule.when))
    shifted = set(variables(*(sub.args[1] for sub in terms if isinstance(sub, Apply) and sub.op in ("shl", "shr"))))
    special = _special(rule)
    widest = _widest(rule, names, shifted)
    for scale in dict.fromkeys(min(scale, widest) for scale in (32, 1024, widest)):
        axes: Axes = {}
        for v in names:
            if v.stands == "bool":
                axes[v] = rng.integers(0, 2, SAMPLES)
                continue
            bound = min(scale, MOST_SHIFT) if v in shifted else scale
            near = special[np.abs(special) <= bound]
            chosen = rng.choice(near, SAMPLES) * rng.choice((1, 1, 1, 2, 3, -1), SAMPLES) + rng.integers(-2, 3, SAMPLES)
            spread = np.sign(far := rng.uniform(-1, 1, SAMPLES)) * np.exp(np.abs(far) * np.log(bound + 1))
            mixed = np.where(rng.random(SAMPLES) < 0.5, chosen, spread.astype(np.int64))
            axes[v] = np.clip(mixed, -bound, bound)
        yield axes


def _special(rule: Rule) -> np.ndarray[Any, Any]:
    """Zero, powers of two, and the constants of a rule with their sums, differences, products and neighbours."""
    constants = {int(sub.value) for sub in walk(rule.lhs, rule.rhs, *rule.when) if isinstance(sub, Const)}
    pairs = {f for a in constants for b in constants for f in (a + b, a - b, a * b)}
    powers = {(1 << k) + step for k in range(41) for step in (-1, 0, 1)}
    near = {value + step for value in constants | pairs for step in (-1, 0, 1)}
    return np.array(sorted(value for value in {0, *powers, *near} if abs(value) <= WIDE[0]), np.int64)


def _widest(rule: Rule, names: Sequence[PatternVariable], shifted: set[Var]) -> int:
    """The largest scale at which all values of a rule fit."""
    for scale in WIDE:
        ranges: dict[Var, Index] = {v: Var(v.name, *((0, 1) if v.stands == "bool" else _range(scale, v in shifted))) for v in names}
        sides = [substitute(term, ranges) for term in (rule.lhs, rule.rhs, *rule.when)]
        if all(max(map(abs, sub.bounds)) < LARGEST for sub in walk(*sides)):
            return scale
    raise UsageError(f"check_rule: found {rule}, expected constants with which small values stay within 62 bits")


def _range(scale: int, is_shift: bool) -> tuple[int, int]:
    return (0, min(scale, MOST_SHIFT)) if is_shift else (-scale, scale)


# integer sets ----------------------------------------------------------------------------------------------------
def _by_integer_sets(rule: Rule, names: Sequence[PatternVariable]) -> bool:
    """Whether isl proves a quasi-affine rule: one without products of variables and divisors that are no constants."""
    for sub in walk(rule.lhs, rule.rhs, *rule.when):
        if isinstance(sub, Apply) and sub.op in ("mul", "floordiv", "mod", "shl", "shr", "bitand", "bitor", "bitxor"):
            operands = sub.args[1:] if sub.op != "mul" else sub.args
            if not any(isinstance(arg, Const) for arg in operands) or any(isinstance(arg, Const) and not arg.value for arg in operands):
                return False
    ranges: dict[Var, Index] = {v: Var(v.name, *((0, 1) if v.stands == "bool" else (-(1 << 40), 1 << 40))) for v in names}
    guard = conjunction(rule.when)
    left, right = (substitute(where(guard, side, 0), ranges) for side in (rule.lhs, rule.rhs))
    return integer_sets.compare(Pair(left, right)).equal
