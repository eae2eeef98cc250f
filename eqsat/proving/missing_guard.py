"""What a false rule lacks: conditions under which its sides agree at every point that was looked at, the weakest of a fixed choice.

Conditions on single variables (signs, constants of the rule), on two (order, divisibility), on remainders by a divisor of the rule.
One condition is tried, then two, then three together; what keeps most points at which the rule is right is the weakest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from eqsat.ir.index import Apply, Const, Index, apply, conjunction, variables, walk
from eqsat.proving.prove import Axes, Mask, holds
from eqsat.rules.own import Rule
from eqsat.rules.variables import PatternVariable

MOST_SAMPLED = 60_000
MOST_CONDITIONS = 120
# conditions that are tried three together
MOST_TOGETHER = 28
# a point at which the rule is right must be left for this many at which it was
LEAST_SHARE = 1e-4


@dataclass(frozen=True)
class Sample:
    """Points by axes of variables, at which of them the guard holds and a side has a value, and at which the sides differ there."""

    axes: Axes
    held: Mask
    wrong: Mask

    @property
    def points(self) -> int:
        return int(np.count_nonzero(self.held))

    def smallest_wrong(self) -> dict[str, int] | None:
        """The wrong point with the least sum of absolute values."""
        if not self.wrong.any():
            return None
        size = sum(np.abs(axis) for axis in self.axes.values())
        at = np.unravel_index(np.argmin(np.where(self.wrong, size, np.iinfo(np.int64).max)), self.wrong.shape)
        return {v.name: int(np.broadcast_to(axis, self.wrong.shape)[at]) for v, axis in self.axes.items()}


def missing_guard(rule: Rule, samples: Sequence[Sample], is_true: Callable[[Rule], bool]) -> Index | None:
    """The weakest conditions found under which a rule is right at all points of the samples, and true as far as `is_true` knows."""
    parts = [_taken(sample) for sample in samples if sample.points]
    axes = {v: np.concatenate([part[0][v] for part in parts]) for v in parts[0][0]}
    wrong = np.concatenate([part[1] for part in parts])
    right = ~wrong
    masks: dict[Index, Mask] = {}
    for condition in _conditions(rule):
        mask = holds(condition, axes, wrong.shape)
        if (mask & right).any() and not mask[wrong].all() and len(masks) < MOST_CONDITIONS:
            masks[condition] = mask
    least = max(1, int(LEAST_SHARE * np.count_nonzero(right)))
    for count in (1, 2, 3):
        found = _weakest(masks, wrong, right, count, least)
        for conditions in found:
            if _is_right(samples, conditions) and is_true(Rule(rule.name, rule.lhs, rule.rhs, (*rule.when, *conditions))):
                return _equality(*conditions) if len(conditions) == 2 else conjunction(conditions)
    return None


def _equality(one: Index, other: Index) -> Index:
    """Two conditions; x <= y and y <= x is x == y."""
    if isinstance(one, Apply) and isinstance(other, Apply) and one.op == other.op == "le" and one.args == other.args[::-1]:
        return apply("eq", *one.args)
    return conjunction((one, other))


def _taken(sample: Sample) -> tuple[Axes, Mask]:
    """Points at which the guard holds, in one row: all wrong ones that fit, and as many others."""
    places = np.flatnonzero(sample.held.ravel())
    wrong = sample.wrong.ravel()[places]
    rng = np.random.default_rng(0)
    kept = []
    for chosen in (places[wrong], places[~wrong]):
        kept.append(chosen if chosen.size <= MOST_SAMPLED else rng.choice(chosen, MOST_SAMPLED, replace=False))
    places = np.concatenate(kept)
    axes = {v: np.broadcast_to(axis, sample.held.shape).ravel()[places] for v, axis in sample.axes.items()}
    return axes, np.asarray(sample.wrong.ravel()[places])


def _weakest(masks: dict[Index, Mask], wrong: Mask, right: Mask, count: int, least: int) -> list[tuple[Index, ...]]:
    """Sets of conditions that leave no wrong point, those that keep most right points first."""
    bits = {c: (np.packbits(mask[wrong]), np.packbits(mask[right])) for c, mask in masks.items()}
    ranked = sorted(bits, key=lambda c: -_count(bits[c][1]))
    if count == 3:
        ranked = sorted(ranked, key=lambda c: -_count(bits[c][1]) / (1 + _count(bits[c][0])))[:MOST_TOGETHER]
    found: list[tuple[int, int, tuple[Index, ...]]] = []
    for chosen in combinations(ranked, count):
        left = bits[chosen[0]][0]
        for c in chosen[1:]:
            left = left & bits[c][0]
        if left.any():
            continue
        kept = bits[chosen[0]][1]
        for c in chosen[1:]:
            kept = kept & bits[c][1]
        if (size := _count(kept)) >= least:
            found.append((-size, len(str(conjunction(chosen))), chosen))
    return [chosen for _, _, chosen in sorted(found, key=lambda item: item[:2])[:4]]


def _count(bits: np.ndarray[Any, Any]) -> int:
    return int(np.bitwise_count(bits).sum())


def _is_right(samples: Sequence[Sample], conditions: tuple[Index, ...]) -> bool:
    """Whether no point of the whole samples is wrong under the conditions, and some is right."""
    points = 0
    for sample in samples:
        left = sample.held
        for condition in conditions:
            left = left & holds(condition, sample.axes, sample.held.shape)
        if (left & sample.wrong).any():
            return False
        points += int(np.count_nonzero(left))
    return points > 0


# conditions ------------------------------------------------------------------------------------------------------
def _conditions(rule: Rule) -> Iterator[Index]:
    """Conditions that rules of this kind need, none twice."""
    names = [v for v in variables(rule.lhs) if isinstance(v, PatternVariable)]
    numbers = [v for v in names if v.stands != "bool"]
    constants = sorted({int(sub.value) for sub in walk(rule.lhs, rule.rhs, *rule.when) if isinstance(sub, Const)} - {0})
    divisors = [sub.args[1] for sub in walk(rule.lhs, rule.rhs) if isinstance(sub, Apply) and sub.op in ("floordiv", "mod")]
    bits = any(isinstance(sub, Apply) and sub.op in ("bitand", "bitor", "bitxor", "shl", "shr") for sub in walk(rule.lhs, rule.rhs))
    seen: dict[Index, None] = {}
    for condition in (
        *_of_comparisons(rule),
        *_of_one(numbers, constants),
        *((v & (v - 1)) == 0 for v in numbers if bits),
        *_of_two(numbers),
        *_of_divisors(rule, numbers, list(dict.fromkeys(divisors))),
    ):
        if condition not in seen:
            seen[condition] = None
            yield condition


def _of_comparisons(rule: Rule) -> Iterator[Index]:
    """What the rule compares, strictly: conditions that are off by one."""
    for sub in walk(*rule.when, rule.lhs, rule.rhs):
        if isinstance(sub, Apply) and sub.op in ("le", "ge", "eq"):
            left, right = sub.args
            yield left != right


def _of_one(names: list[PatternVariable], constants: list[int]) -> Iterator[Index]:
    for v in names:
        yield from (v != 0, v >= 0, v > 0, v <= 0, v < 0)
        for k in constants:
            yield from (v < k, v >= k, v <= k, v > k, v != k)
            if k > 1:
                yield from (v % k == 0,)


def _of_two(names: list[PatternVariable]) -> Iterator[Index]:
    for a, b in combinations(names, 2):
        yield from (a < b, b < a, a <= b, b <= a, a + b >= 0, a + b <= 0)
        yield from (a % b == 0, b % a == 0)


def _of_divisors(rule: Rule, names: list[PatternVariable], divisors: list[Index]) -> Iterator[Index]:
    """Divisibility by a divisor, being below it, and remainders that together stay below it."""
    divisions = [sub for sub in walk(rule.lhs, rule.rhs) if isinstance(sub, Apply) and sub.op in ("floordiv", "mod")]
    distinct = list(dict.fromkeys((*names, *(term for sub in divisions for term in _addends(sub.args[0])))))
    for d in divisors:
        if not isinstance(d, PatternVariable | Const):
            yield from (d > 0, d != 0)
        for term in distinct:
            if term is not d and not isinstance(term, Const):
                yield from (term % d == 0, term < d, term >= 0)
            if term is not d and isinstance(term, PatternVariable):
                yield term % d != 0
        for a, b in combinations([t for t in distinct if t is not d and not isinstance(t, Const)], 2):
            yield (a % d) + b < d
            yield a + (b % d) < d
            yield (a % d) + (b % d) < d


def _addends(term: Index) -> Iterator[Index]:
    if isinstance(term, Apply) and term.op in ("add", "sub"):
        for arg in term.args:
            yield from _addends(arg)
    else:
        yield term
