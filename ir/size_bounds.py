"""Bounds of index terms as polynomials of sizes: that n - 1 - i is no less than zero where i < n.

A term has several bounds of which each holds (min(i, n - 1) is at most i's and at most n - 1); the few that say most are kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping

from eqsat.ir.index import Apply, Const, Index, Var, walk
from eqsat.ir.monomials import sum_of
from eqsat.ir.polynomials import Polynomial
from eqsat.ir.tensor import is_size

# bounds of a term that are kept on each side
KEPT = 3
Ends = tuple[Polynomial, ...]
Both = tuple[Ends, Ends]
ZERO, ONE = Polynomial.number(0), Polynomial.number(1)


def is_within(index: Index, extent: int, sizes: Mapping[int, Polynomial]) -> bool:
    """Whether a term is at least zero and less than an extent, whatever sizes are; `sizes` are polynomials by the extents that stand
    for them."""
    lows, highs = SizeBounds(sizes).of(index)
    last = sizes.get(extent, Polynomial.number(extent)) - ONE
    return any(low.bounds[0] >= 0 for low in lows) and any((last - high).bounds[0] >= 0 for high in highs)


class SizeBounds:
    """Lower and upper bounds of index terms over loops of which some end at sizes."""

    def __init__(self, sizes: Mapping[int, Polynomial]) -> None:
        self.sizes = sizes
        self._found: dict[Index, Both] = {}

    def of(self, index: Index) -> Both:
        for term in walk(index):
            if term not in self._found:
                self._found[term] = self._bounds(term)
        return self._found[index]

    def _bounds(self, term: Index) -> Both:
        if isinstance(term, Var):
            return self._variable(term)
        if isinstance(term, Const):
            number = (Polynomial.number(int(term.value)),)
            return number, number
        assert isinstance(term, Apply)
        if term.op in ("add", "sub", "neg", "mul"):
            return self._sum(term)
        known = [self._found[arg] for arg in term.args]
        rule = RULES.get(term.op)
        lows, highs = rule(*known) if rule else ((), ())
        low, high = map(Polynomial.number, term.bounds)
        return _best((*lows, low), -1), _best((*highs, high), 1)

    def _variable(self, variable: Var) -> Both:
        if is_size(variable):
            return (Polynomial.size(variable),), (Polynomial.size(variable),)
        end = self.sizes.get(variable.extent)
        high = Polynomial.number(variable.hi) if end is None or variable.lo else end - ONE
        return (Polynomial.number(variable.lo),), (high,)

    def _sum(self, term: Apply) -> Both:
        """What is added and taken away again is gone before anything is bounded."""
        constant, parts = sum_of(term)
        ends: Both = (Polynomial.number(constant),), (Polynomial.number(constant),)
        for k, factors in parts:
            lows, highs = self._product(factors)
            if k < 0:
                lows, highs = highs, lows
            ends = _sums(ends[0], [low.times(k) for low in lows], -1), _sums(ends[1], [high.times(k) for high in highs], 1)
        return ends

    def _product(self, factors: Iterable[Index]) -> Both:
        """Bounds of a product: those of factors that are no less than zero, multiplied."""
        ends: Both = (ONE,), (ONE,)
        for factor in factors:
            lows, highs = self.of(factor)
            if not (_is_positive(lows) and _is_positive(ends[0])):
                numbers = [self._ends(one) for one in (ends, (lows, highs))]
                hull = [a * b for a, b in itertools.product(*numbers)]
                ends = (Polynomial.number(min(hull)),), (Polynomial.number(max(hull)),)
                continue
            at_least = [low for low in lows if low.bounds[0] >= 0]
            so_far = [low for low in ends[0] if low.bounds[0] >= 0]
            ends = _products(so_far, at_least, -1), _products(ends[1], highs, 1)
        return ends

    def _ends(self, both: Both) -> tuple[int, int]:
        return max(low.bounds[0] for low in both[0]), min(high.bounds[1] for high in both[1])


def _is_positive(lows: Ends) -> bool:
    return any(low.bounds[0] >= 0 for low in lows)


def _best(ends: Iterable[Polynomial], side: int) -> Ends:
    """The few that say most: those with the least greatest value above, the greatest least value below."""
    distinct = dict.fromkeys(ends)
    return tuple(sorted(distinct, key=lambda end: (side * end.bounds[0], side * end.bounds[1])))[:KEPT]


def _sums(ends: Iterable[Polynomial], others: Iterable[Polynomial], side: int) -> Ends:
    return _best((a + b for a, b in itertools.product(ends, others)), side)


def _products(ends: Iterable[Polynomial], others: Iterable[Polynomial], side: int) -> Ends:
    return _best((a * b for a, b in itertools.product(ends, others)), side)


def _quotient(a: Both, b: Both) -> Both:
    """Of a term that is no less than zero, by a number or size greater than zero."""
    if not _is_positive(a[0]) or not any(low.bounds[0] > 0 for low in b[0]):
        return (), ()
    divisors = [low for low in b[0] if low in b[1]]
    quotients = [q for high, d in itertools.product(a[1], divisors) if (q := high.divided(d)) is not None]
    return (ZERO,), (*quotients, *a[1])


def _remainder(a: Both, b: Both) -> Both:
    """By a number or size greater than zero."""
    if not any(low.bounds[0] > 0 for low in b[0]):
        return (), ()
    return (ZERO,), (*(high - ONE for high in b[1]), *(a[1] if _is_positive(a[0]) else ()))


def _least(a: Both, b: Both) -> Both:
    return tuple(_below(a[0], b[0])), (*a[1], *b[1])


def _greatest(a: Both, b: Both) -> Both:
    return (*a[0], *b[0]), tuple(_above(a[1], b[1]))


def _either(_: Both, a: Both, b: Both) -> Both:
    return tuple(_below(a[0], b[0])), tuple(_above(a[1], b[1]))


def _below(some: Ends, others: Ends) -> Iterable[Polynomial]:
    """Those that are no greater than one of the other side."""
    for a, b in itertools.product(some, others):
        difference = (a - b).bounds
        if difference[1] <= 0:
            yield a
        elif difference[0] >= 0:
            yield b


def _above(some: Ends, others: Ends) -> Iterable[Polynomial]:
    for a, b in itertools.product(some, others):
        difference = (a - b).bounds
        if difference[0] >= 0:
            yield a
        elif difference[1] <= 0:
            yield b


RULES: dict[str, Callable[..., Both]] = {
    "floordiv": _quotient,
    "mod": _remainder,
    "min": _least,
    "max": _greatest,
    "where": _either,
}
