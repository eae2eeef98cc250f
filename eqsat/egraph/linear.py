"""Sums of scaled parts: the n-ary form of additions, and how such a form is written as a term."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import gcd
from typing import NamedTuple

from eqsat.ir.index import Const, Index, apply
from eqsat.ir.interval import Interval

Parts = Sequence[tuple[Index, int]]


class Linear(NamedTuple):
    """constant + sum of coefficient * class; classes ascending, coefficients not zero."""

    constant: int
    terms: tuple[tuple[int, int], ...] = ()

    @staticmethod
    def of(constant: int, terms: Iterable[tuple[int, int]]) -> Linear:
        """Like terms added; `terms` are (class, coefficient)."""
        return Linear(constant, _like_terms({}, terms))

    def bounds(self, of: Callable[[int], Interval]) -> Interval:
        """Bounds of the sum from those of its classes."""
        lo = hi = self.constant
        for atom, k in self.terms:
            low, high = of(atom)
            lo, hi = (lo + k * low, hi + k * high) if k > 0 else (lo + k * high, hi + k * low)
        return lo, hi

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        if not other.terms:
            return Linear(self.constant + factor * other.constant, self.terms)
        if not self.terms and factor:
            terms = other.terms if factor == 1 else tuple((a, k * factor) for a, k in other.terms)
            return Linear(self.constant + factor * other.constant, terms)
        return Linear(self.constant + factor * other.constant, _like_terms(dict(self.terms), other.terms, factor))

    def times(self, factor: int) -> Linear:
        return Linear(0).plus(self, factor)

    def over(self, factor: int) -> Linear:
        """This form divided by a common factor."""
        return Linear(self.constant // factor, tuple((a, k // factor) for a, k in self.terms))

    def without(self, *atoms: int) -> Linear:
        """This form less the terms of these atoms."""
        return Linear(self.constant, tuple(t for t in self.terms if t[0] not in atoms))

    def coefficient(self, atom: int) -> int:
        """That of a class; 0 where the sum does not have it."""
        return next((k for known, k in self.terms if known == atom), 0)

    @property
    def content(self) -> int:
        """The greatest common factor of its numbers, 1 for zero."""
        return gcd(self.constant, *(k for _, k in self.terms)) or 1

    def times_in(self, whole: Linear) -> int:
        """k where k times the terms of this form are among those of another one, else 0."""
        terms = dict(whole.terms)
        atom, c = self.terms[0]
        factor, rest = divmod(terms.get(atom, 0), c)
        return factor if factor and not rest and all(terms.get(a) == factor * k for a, k in self.terms) else 0

    @property
    def unsigned(self) -> Linear:
        """This form or its negative: one for both."""
        return self.times(-1) if self.terms and self.terms[0][1] < 0 else self

    @property
    def single(self) -> int | None:
        """The class that this form is, if it is just one."""
        return self.terms[0][0] if not self.constant and len(self.terms) == 1 and self.terms[0][1] == 1 else None


def _like_terms(total: dict[int, int], terms: Iterable[tuple[int, int]], factor: int = 1) -> tuple[tuple[int, int], ...]:
    """Coefficients of classes with a multiple of other terms added, as terms of a Linear."""
    for atom, coefficient in terms:
        total[atom] = total.get(atom, 0) + factor * coefficient
    return tuple(sorted([term for term in total.items() if term[1]]))


def common_part(first: Linear, second: Linear) -> Linear:
    """The terms that two sums share, and the constant of the one whose first other term comes first."""
    terms = tuple(t for t in first.terms if t in second.terms)
    rests = [(tuple(t for t in form.terms if t not in terms), form.constant) for form in (first, second)]
    return Linear(min((rest for rest in rests if rest[0]), default=((), first.constant))[1], terms)


def common_factor(first: Linear, second: Linear) -> int:
    """The common factor of two sums, negative if most of their coefficients are."""
    coefficients = [k for _, k in (*first.terms, *second.terms)]
    factor = gcd(first.constant, second.constant, *coefficients) or 1
    return -factor if 2 * sum(k < 0 for k in coefficients) > len(coefficients) else factor


def sum_term(constant: int, parts: Parts) -> Index:
    """constant + sum of k*part: parts of one magnitude share a product; positive parts first, so that the rest can be subtracted."""
    result: Index | None = None
    for part, k in sorted(_merged(parts), key=lambda item: (item[1] < 0, item[1] if item[1] < 0 else 0)):
        scaled = part if abs(k) == 1 else apply("mul", part, abs(k))
        if result is not None:
            result = apply("add" if k > 0 else "sub", result, scaled)
        elif k > 0:
            result = scaled
        elif constant > 0 or (constant and k == -1):
            result, constant = apply("sub", constant, scaled), 0
        else:
            result = apply("neg", part) if k == -1 else apply("mul", part, k)
    if result is None:
        return Const(constant)
    return result if not constant else apply("add" if constant > 0 else "sub", result, abs(constant))


def _merged(parts: Parts) -> list[tuple[Index, int]]:
    """k*a + k*b as k*(a + b), where k is not 1 or -1."""
    groups: dict[int, list[tuple[Index, int]]] = {}
    for part, k in parts:
        groups.setdefault(abs(k), []).append((part, k))
    merged: list[tuple[Index, int]] = []
    for size, group in groups.items():
        if size == 1 or len(group) == 1:
            merged += group
        else:
            sign = 1 if any(k > 0 for _, k in group) else -1
            merged.append((sum_term(0, [(part, sign * k // size) for part, k in group]), sign * size))
    return merged


def sign_term(constant: int, parts: Parts) -> Index:
    """constant + sum of k*part >= 0 as a comparison without negative parts."""
    left = [(part, k) for part, k in parts if k > 0]
    right = [(part, -k) for part, k in parts if k < 0]
    if not right:
        return apply("ge", sum_term(0, left), -constant)
    if not left or constant == -1:
        return apply("lt", sum_term(0, right), constant + 1 if not left else sum_term(0, left))
    if constant < 0:
        return apply("le", sum_term(-constant, right), sum_term(0, left))
    return apply("ge", sum_term(constant, left), sum_term(0, right))


def zero_term(constant: int, parts: Parts) -> Index:
    """constant + sum of k*part == 0 as a comparison without negative parts."""
    left = [(part, k) for part, k in parts if k > 0]
    right = [(part, -k) for part, k in parts if k < 0]
    if not left or not right:
        sides = left or right
        return apply("eq", sum_term(0, sides), constant if not left else -constant)
    return apply("eq", sum_term(max(constant, 0), left), sum_term(max(-constant, 0), right))
