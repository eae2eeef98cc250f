"""Polynomials of sizes that are known at run time, with integer coefficients: n - 1, 2*n + m, n*m."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import prod

from eqsat.ir.index import Const, Index, Var
from eqsat.ir.monomials import sum_of, term_of, without
from eqsat.ir.tensor import SizeTerms

Monomial = tuple[Var, ...]
# sizes that are multiplied in one number
DEGREE = 3


@dataclass(frozen=True)
class Polynomial:
    """A sum of products of sizes; no monomial twice and none with the coefficient zero, in the order of their names."""

    terms: tuple[tuple[Monomial, int], ...]

    @staticmethod
    def of(terms: Iterable[tuple[Monomial, int]]) -> Polynomial:
        """The sum of some terms."""
        found: dict[Monomial, int] = {}
        for monomial, k in terms:
            ordered = tuple(sorted(monomial, key=lambda v: v.name))
            found[ordered] = found.get(ordered, 0) + k
        kept = [(monomial, k) for monomial, k in found.items() if k]
        return Polynomial(tuple(sorted(kept, key=lambda term: (-len(term[0]), [v.name for v in term[0]]))))

    @staticmethod
    def number(value: int) -> Polynomial:
        return Polynomial.of([((), value)])

    @staticmethod
    def size(variable: Var) -> Polynomial:
        return Polynomial.of([((variable,), 1)])

    def __add__(self, other: Polynomial) -> Polynomial:
        return Polynomial.of([*self.terms, *other.terms])

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + other.times(-1)

    def __mul__(self, other: Polynomial) -> Polynomial:
        return Polynomial.of(((*a, *b), k * m) for (a, k), (b, m) in itertools.product(self.terms, other.terms))

    def times(self, k: int) -> Polynomial:
        return Polynomial.of((monomial, k * coefficient) for monomial, coefficient in self.terms)

    @property
    def constant(self) -> int:
        return dict(self.terms).get((), 0)

    @property
    def is_number(self) -> bool:
        return all(not monomial for monomial, _ in self.terms)

    @property
    def bounds(self) -> tuple[int, int]:
        """Bounds of its values, exact where no size is multiplied."""
        return self._least(), -self.times(-1)._least()

    def _least(self) -> int:
        """Sizes are their least values and what they are more, which is no less than zero: only negative terms make a value smaller."""
        more = {v: Polynomial.of([((v,), 1), ((), v.lo)]) for monomial, _ in self.terms for v in monomial}
        shifted = Polynomial.of(
            term for monomial, k in self.terms for term in _product([Polynomial.number(k), *(more[v] for v in monomial)]).terms
        )
        return sum(k if not monomial else min(0, k * prod(v.hi - v.lo for v in monomial)) for monomial, k in shifted.terms)

    def at(self, values: Mapping[Var, int]) -> int:
        return sum(k * prod(values[v] for v in monomial) for monomial, k in self.terms)

    def divided(self, by: Polynomial) -> Polynomial | None:
        """The floor of its quotient by a monomial, all of it but a constant being a multiple; None where that is not so or not known."""
        ((factors, k),) = by.terms if len(by.terms) == 1 else (((), 0),)
        if k <= 0:
            return None
        found: list[tuple[Monomial, int]] = []
        for monomial, coefficient in self.terms:
            left = without(monomial, factors) if coefficient % k == 0 else None
            if left is None and monomial:
                return None
            if monomial:
                found.append((left or (), coefficient // k))
        quotients = {self.constant // end for end in by.bounds}
        return Polynomial.of([*found, ((), quotients.pop())]) if len(quotients) == 1 else None

    @property
    def term(self) -> Index:
        return Const(self.constant) if self.is_number else term_of(self.constant, [(k, monomial) for monomial, k in self.terms if monomial])

    @property
    def by_name(self) -> SizeTerms:
        """Its terms with the names of sizes."""
        return tuple((k, tuple(v.name[1:] for v in monomial)) for monomial, k in self.terms)

    def __str__(self) -> str:
        return str(self.term).replace("$", "")


def _product(factors: Iterable[Polynomial]) -> Polynomial:
    found = Polynomial.number(1)
    for factor in factors:
        found = found * factor
    return found


def polynomial_of(term: Index) -> Polynomial | None:
    """A term of sums and products as a polynomial of its variables; None for any other."""
    constant, parts = sum_of(term)
    if not all(isinstance(factor, Var) for _, factors in parts for factor in factors):
        return None
    monomials = [(tuple(v for v in factors if isinstance(v, Var)), k) for k, factors in parts]
    return Polynomial.of([*monomials, ((), constant)])


def named(terms: SizeTerms, sizes: Callable[[str], Var]) -> Polynomial:
    """A polynomial by the names of its sizes."""
    return Polynomial.of((tuple(sizes(name) for name in names), k) for k, names in terms)


def read_off(number: int, markers: Mapping[Var, int], limit: int) -> Polynomial | None:
    """The polynomial that gives this number where sizes have the values of their markers, with coefficients below a limit.

    Each product of markers, from the greatest on, is taken away as often as leaves the least.  None where more than small numbers remain.
    """
    exact = next((size for size, marker in markers.items() if marker == number), None)
    if exact is not None:
        return Polynomial.size(exact)
    products = [m for d in range(1, DEGREE + 1) for m in itertools.combinations_with_replacement(markers, d)]
    values = {monomial: prod(markers[v] for v in monomial) for monomial in products}
    found: list[tuple[Monomial, int]] = []
    for monomial, value in sorted(values.items(), key=lambda pair: -pair[1]):
        times = (2 * number + value) // (2 * value)
        if abs(times) >= limit:
            return None
        if times:
            found.append((monomial, times))
            number -= times * value
    return Polynomial.of([*found, ((), number)]) if abs(number) < limit else None
