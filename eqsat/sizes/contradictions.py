"""Conditions that no point satisfies: found by the bounds that they give their terms, or by trying all points where they leave few."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from eqsat.ir.affine import as_sum
from eqsat.ir.index import Apply, Index, substitute, var, variables
from eqsat.ir.index_points import never_holds

# a bound may follow from another one, and that from the first: they may shrink step by step without an end in sight
ROUNDS = 8
MOST_SIGNS = 32


@dataclass(frozen=True)
class _Sign:
    """constant + the sum of the terms, each so many times, is 0 or more."""

    constant: int
    terms: dict[Index, int]

    def plus(self, other: _Sign) -> _Sign:
        total = {term: self.terms.get(term, 0) + other.terms.get(term, 0) for term in (*self.terms, *other.terms)}
        return _Sign(self.constant + other.constant, {term: times for term, times in total.items() if times})


def cannot_hold(condition: Index) -> bool:
    """Whether bounds or, where they leave few points, trying all of these shows that a condition holds nowhere."""
    if condition.bounds == (0, 0):
        return True
    bounds = _narrowed(list(_signs(condition)))
    if bounds is None:
        return True
    ranges = {v: bounds.get(v, v.bounds) for v in variables(condition)}
    return never_holds(substitute(condition, {v: var(v.name, *ends) for v, ends in ranges.items() if ends != v.bounds}))


def _signs(condition: Index) -> Iterator[_Sign]:
    """What the comparisons of a conjunction say."""
    if not isinstance(condition, Apply):
        return
    if condition.op == "and":
        for arg in condition.args:
            yield from _signs(arg)
    elif condition.op in ("lt", "le", "gt", "ge", "eq"):
        less, more = condition.args if condition.op in ("lt", "le", "eq") else condition.args[::-1]
        constant, terms = as_sum(more - less)
        yield _Sign(constant - (condition.op in ("lt", "gt")), terms)
        if condition.op == "eq":
            yield _Sign(-constant, {term: -times for term, times in terms.items()})


def _narrowed(signs: list[_Sign]) -> dict[Index, tuple[int, int]] | None:
    """Bounds of the terms where all these signs hold; None where there are none."""
    if len(signs) <= MOST_SIGNS:
        signs = signs + [one.plus(other) for one, other in combinations(signs, 2)]
    bounds = {term: term.bounds for sign in signs for term in sign.terms}
    for _ in range(ROUNDS):
        before = dict(bounds)
        for sign in signs:
            ends = {term: max(times * end for end in bounds[term]) for term, times in sign.terms.items()}
            greatest = sign.constant + sum(ends.values())
            if greatest < 0:
                return None
            for term, times in sign.terms.items():
                rest, (low, high) = greatest - ends[term], bounds[term]
                bounds[term] = (max(low, -(rest // times)), high) if times > 0 else (low, min(high, rest // -times))
        if bounds == before:
            break
    return bounds if all(low <= high for low, high in bounds.values()) else None
