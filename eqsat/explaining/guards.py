"""What is missing: for every division that an expression keeps, the guards that stand between it and a rule, nearest first.

A row of the division tables is tried on a division by the ways in which sum rows write dividends (rules/sums.py).  Where all its
conditions but one follow from bounds, that one is what is missing: by how much its bounds fail, and the condition that would do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import gcd

from eqsat.egraph.encode import COMPARISONS, Encoder
from eqsat.ir import interval
from eqsat.ir.errors import UnsupportedError
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Apply, Const, Index, Var, apply, walk
from eqsat.ir.interval import Interval
from eqsat.ir.monomials import divided, monomial_of, product_of, sum_of, term_of, without
from eqsat.rules.compile import all_literal
from eqsat.rules.index_rules import DIVISION_TABLES, SYMBOLIC
from eqsat.rules.row import Pattern, is_literal

Binding = dict[Var, Index]
# factors of a product, and numbers, of which all divisors are tried
MAX_FACTORS, MAX_DIVISOR = 4, 1 << 12


@dataclass(frozen=True, repr=False)
class Missing:
    """A guard that keeps a row from firing on a division.

    term      the division, as it stands in the expression
    row       the row; guard: its condition, in the row's letters
    short_by  by how much the bounds of the condition's sides fail it
    needed    the condition on the expression's own terms: under it (`eqsat.assume`, or narrower variables) the row fires
    """

    term: Index
    row: str
    guard: Index
    short_by: int
    needed: Index

    def __str__(self) -> str:
        return f"  {self.term}: {self.row} needs {self.guard}, here {self.needed}: short by {self.short_by}"

    __repr__ = __str__


def missing_guards(expression: Index) -> tuple[Missing, ...]:
    """For every // and % of an expression, in the order in which they stand, the guards that it misses, the nearest first."""
    found: list[Missing] = []
    for term in walk(expression):
        if isinstance(term, Apply) and term.op in ("floordiv", "mod"):
            here: dict[Index, Missing] = {}
            for miss in (miss for row in ROWS for miss in _of_row(row, term)):
                if miss.needed.bounds != (0, 0):
                    here.setdefault(miss.needed, miss)
            found += sorted(here.values(), key=lambda miss: (_of_remainder(miss.guard), miss.short_by, len(str(miss.needed))))
    return tuple(found)


def _of_remainder(guard: Index) -> bool:
    """Whether a condition bounds a remainder: narrower variables seldom grant that."""
    return any(isinstance(sub, Apply) and sub.op == "mod" for sub in walk(guard))


def _bounded(row: Pattern) -> bool:
    """Whether a row is about divisions and has a condition that bounds decide."""
    root = row.lhs
    return isinstance(root, Apply) and root.op in ("floordiv", "mod") and not all(map(all_literal, row.when))


ROWS = tuple(row for table in DIVISION_TABLES for row in table.rows if isinstance(row, Pattern) and _bounded(row))


def _of_row(row: Pattern, term: Apply) -> Iterator[Missing]:
    assert isinstance(row.lhs, Apply)
    if row.lhs.op == term.op and not (row in SYMBOLIC.rows and isinstance(term.args[1], Const)):
        for binding in _matches(row.lhs, term):
            for full in _with_constants(row, binding):
                yield from _one_missing(row, term, full)
    if row.name == "mod-in-bucket" and term.op == "floordiv":
        yield from _constant_quotient(term)


def _one_missing(row: Pattern, term: Apply, binding: Binding) -> Iterator[Missing]:
    """The one condition of a row that fails under a binding, if it is one that bounds could grant."""
    failed: list[tuple[Index, int]] = []
    for guard in row.when:
        short = _short_by(guard, binding)
        if short is None:
            return
        if short > 0:
            failed.append((guard, short))
    if len(failed) == 1:
        guard, short = failed[0]
        yield Missing(term, row.name, guard, short, _instance(guard, binding))


def _constant_quotient(term: Apply) -> Iterator[Missing]:
    """x // n is a constant where all values of x share one quotient: that of the lower or of the upper bound."""
    x, divisor = term.args
    if not isinstance(divisor, Const) or divisor.value <= 0:
        return
    n = int(divisor.value)
    lo, hi = _bounds(x)
    guard = apply("le", _letter("x"), _letter("k"))
    end = (lo // n + 1) * n
    if hi >= end:
        yield Missing(term, "constant-from-bounds", guard, hi - end + 1, apply("lt", x, end))
        yield Missing(term, "constant-from-bounds", apply("le", _letter("k"), _letter("x")), hi // n * n - lo, apply("ge", x, hi // n * n))


def _letter(name: str) -> Var:
    return Var(name, -12, 12)


# matching --------------------------------------------------------------------------------------------------------
def _matches(pattern: Apply, term: Apply) -> Iterator[Binding]:
    """The ways in which a division is one of a row's left side."""
    for below in _divisors(pattern.args[1], term.args[1]):
        yield from _dividends(pattern.args[0], term.args[0], below)


def _divisors(pattern: Index, divisor: Index) -> Iterator[Binding]:
    if isinstance(pattern, Var):
        if not is_literal(pattern) or isinstance(divisor, Const):
            yield {pattern: divisor}
    elif isinstance(pattern, Apply) and pattern.op == "mul":
        first, second = pattern.args
        assert isinstance(first, Var)
        assert isinstance(second, Var)
        if is_literal(first) != isinstance(divisor, Const):
            return
        for z, w in _constant_factors(int(divisor.value)) if isinstance(divisor, Const) else _symbolic_factors(divisor):
            yield {first: z, second: w}


def _constant_factors(divisor: int) -> Iterator[tuple[Index, Index]]:
    size = abs(divisor)
    return ((Const(g), Const(divisor // g)) for g in range(2, min(size, MAX_DIVISOR)) if size % g == 0)


def _symbolic_factors(divisor: Index) -> Iterator[tuple[Index, Index]]:
    """(z, w) with z*w the divisor, neither of them one."""
    coefficient, factors = monomial_of(divisor)
    for size in range(len(factors[:MAX_FACTORS]) + 1):
        for taken in dict.fromkeys(combinations(factors, size)):
            left = without(factors, taken)
            assert left is not None
            for g in dict.fromkeys((1, coefficient)):
                if (g, taken) != (1, ()) and (coefficient // g, left) != (1, ()):
                    yield product_of((g, taken)), product_of((coefficient // g, left))


def _dividends(pattern: Index, dividend: Index, below: Binding) -> Iterator[Binding]:
    if isinstance(pattern, Var):
        yield {**below, pattern: dividend}
        return
    if not (isinstance(pattern, Apply) and pattern.op == "add"):
        return
    left, right = pattern.args
    constant, parts = sum_of(dividend)
    if isinstance(right, Var) and is_literal(right):
        if isinstance(left, Var) and constant and parts:
            yield {**below, left: term_of(0, parts), right: Const(constant)}
        elif isinstance(left, Apply) and len(parts) == 1 and isinstance(left.args[0], Var) and isinstance(left.args[1], Var):
            coefficient, factors = parts[0]
            yield {**below, left.args[0]: Const(coefficient), left.args[1]: product_of((1, factors)), right: Const(constant)}
        return
    taken = left.args[0] if isinstance(left, Apply) and left.op == "mul" else None
    if isinstance(taken, Var) and taken in below and isinstance(left, Apply) and isinstance(left.args[1], Var) and isinstance(right, Var):
        quotient, rest = divided(constant, parts, monomial_of(below[taken]))
        if quotient is not None:
            yield {**below, left.args[1]: quotient, right: rest}


# guards ----------------------------------------------------------------------------------------------------------
def _with_constants(row: Pattern, binding: Binding) -> Iterator[Binding]:
    """The binding with constants that are read off bounds: off the lower bound as the rule does, and off the upper one, to which a
    better lower bound would lead."""
    if not row.define:
        yield binding
        return
    (name, value), *_ = row.define
    if isinstance(value, Apply) and value.op == "floordiv":
        lo, hi = _bounds(_instance(value.args[0], binding))
        low, high = _bounds(_instance(value.args[1], binding))
        if low > 0:
            yield from ({**binding, name: Const(k)} for k in dict.fromkeys((lo // high, hi // low)))
    else:
        lo, hi = _bounds(_instance(value, binding))
        yield from ({**binding, name: Const(k)} for k in dict.fromkeys((lo, hi - 1)))


def _instance(term: Index, binding: Binding) -> Index:
    """A side of a row on the expression's own terms; what is made of constants only is computed."""
    if isinstance(term, Var):
        return binding[term]
    if isinstance(term, Apply):
        args = [_instance(arg, binding) for arg in term.args]
        made = apply(term.op, *args)
        if all(isinstance(arg, Const) for arg in args) and term.op not in COMPARISONS:
            return Const(int(evaluate_index(made, {})))
        return term_of(*sum_of(made)) if term.op in ("add", "sub", "mul") else made
    return term


def _short_by(guard: Index, binding: Binding) -> int | None:
    """By how much a condition fails: at most 0 if it holds, None if no bounds could grant it."""
    assert isinstance(guard, Apply)
    literal = all_literal(guard)
    left, right = (_guard_bounds(side, binding) for side in guard.args)
    if guard.op == "ne":
        return None if left == right == (0, 0) else 0
    if guard.op not in COMPARISONS:
        return None
    strict = guard.op in ("lt", "gt")
    short = (left[1] - right[0] if guard.op in ("lt", "le") else right[1] - left[0]) + strict
    return None if literal and short > 0 else short


def _guard_bounds(side: Index, binding: Binding) -> Interval:
    """Bounds of a side of a guard; the largest remainder of a sum is a multiple of what its coefficients and the divisor share."""
    if isinstance(side, Apply) and side.op == "add" and isinstance(side.args[0], Apply) and side.args[0].op == "mod":
        remainder = _instance(side.args[0], binding)
        assert isinstance(remainder, Apply)
        lo, hi = remainder.bounds
        constant, parts = sum_of(remainder.args[0])
        divisor = remainder.args[1]
        if isinstance(divisor, Const) and divisor.value > 0 and not constant:
            hi = min(hi, int(divisor.value) - gcd(int(divisor.value), *(k for k, _ in parts)))
        return interval.add((lo, hi), _guard_bounds(side.args[1], binding))
    return _bounds(_instance(side, binding))


def _bounds(term: Index) -> Interval:
    """Bounds of a term as a sum: what cancels does not count."""
    encoder = Encoder()
    try:
        lo, hi = encoder.linear_bounds(encoder.linear(term))
    except UnsupportedError:
        return term.bounds
    return max(lo, term.bounds[0]), min(hi, term.bounds[1])
