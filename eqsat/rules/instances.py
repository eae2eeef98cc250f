"""What a match makes of a user's rule: its conditions, decided by bounds, and its right side, as nodes of the e-graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from eqsat.egraph.encode import COMPARISONS, NUMBER_LIMIT
from eqsat.egraph.linear import Linear
from eqsat.egraph.snapshot import ENode
from eqsat.ir import interval
from eqsat.ir.index import OPS, Apply, Const, Index, walk
from eqsat.ir.interval import BOOL, Interval
from eqsat.ir.monomials import sum_of
from eqsat.rules.variables import PatternVariable
from eqsat.rules.visit import Visit


@dataclass(frozen=True)
class Match:
    """What variables stand for, and the forms of classes that were read for it."""

    forms: Mapping[PatternVariable, Linear]
    read: Mapping[int, Linear | ENode]

    def binding(self, variable: PatternVariable, form: Linear) -> Match:
        return Match({**self.forms, variable: form}, self.read)

    def reading(self, name: int, form: Linear | ENode) -> Match:
        return Match(self.forms, {**self.read, name: form})


class Instance:
    """Conditions and the right side of a rule, on what its variables stand for."""

    def __init__(self, visit: Visit, match: Match) -> None:
        self.visit, self.match = visit, match

    def has_value(self, condition: Index) -> bool:
        """Whether no divisor in a condition can be zero, and no shift amount negative."""
        for term in walk(condition):
            if isinstance(term, Apply) and term.domain is not None and not term.domain.proved(self.bounds(term.args[-1])):
                return False
        return True

    def truth(self, condition: Index) -> bool | None:
        """Whether a condition follows from bounds; False: its opposite does; None: neither."""
        if isinstance(condition, Apply):
            if condition.op in COMPARISONS:
                swap, strict = COMPARISONS[condition.op]
                a, b = reversed(condition.args) if swap else condition.args
                lo, hi = self.bounds(b - a - strict)
                return True if lo >= 0 else False if hi < 0 else None
            if condition.op in ("eq", "ne"):
                lo, hi = self.bounds(condition.args[0] - condition.args[1])
                same = True if lo == hi == 0 else False if lo > 0 or hi < 0 else None
                return same if same is None or condition.op == "eq" else not same
            if condition.op == "not":
                below = self.truth(condition.args[0])
                return None if below is None else not below
            if condition.op in ("and", "or"):
                parts = [self.truth(part) for part in condition.args]
                settled = condition.op == "or"
                return settled if settled in parts else None if None in parts else not settled
        lo, hi = self.bounds(condition)
        return True if lo > 0 or hi < 0 else False if lo == hi == 0 else None

    def bounds(self, term: Index) -> Interval:
        """Bounds of a term of a condition: what its sums have in common cancels."""
        constant, parts = sum_of(term)
        linear, others = Linear(constant), (0, 0)
        for k, factors in parts:
            forms = [self.match.forms[f] for f in factors if isinstance(f, PatternVariable)]
            below = [self._operation(f) for f in factors if not isinstance(f, PatternVariable)]
            if not below and sum(bool(form.terms) for form in forms) <= 1:
                product = Linear(k)
                for form in forms:
                    product = product.times(form.constant) if not form.terms else form.times(product.constant)
                linear = linear.plus(product)
                continue
            total: Interval = (k, k)
            for bounds in (*map(self.visit.bounds_of, forms), *below):
                total = interval.mul(total, bounds)
            others = interval.add(others, total)
        return interval.add(self.visit.bounds_of(linear), others)

    def _operation(self, term: Index) -> Interval:
        assert isinstance(term, Apply)
        if term.op == "mod":
            known = self._residues(term)
            if known is not None:
                return known
        if term.kind == "bool":
            truth = self.truth(term)
            return BOOL if truth is None else (int(truth), int(truth))
        operands = [self.bounds(arg) for arg in term.args]
        if term.op in ("shl", "shr") and operands[1][1] >= 62:
            return -NUMBER_LIMIT, NUMBER_LIMIT
        return OPS[term.op].bounds(*operands)

    def _residues(self, term: Apply) -> Interval | None:
        """Bounds of x % n by what the coefficients of x and n have in common, for a positive constant n."""
        lo, n = self.bounds(term.args[1])
        constant, parts = sum_of(term.args[0])
        if lo != n or n <= 0:
            return None
        form = Linear(constant)
        for k, factors in parts:
            if len(factors) > 1 or not isinstance(factors[0], PatternVariable):
                return None
            form = form.plus(self.match.forms[factors[0]], k)
        step = gcd(n, *(c for _, c in form.terms))
        first = form.constant % step
        low, high = interval.mod(self.visit.bounds_of(form), (n, n))
        return max(first, low), min(n - step + first, high)

    # the right side ----------------------------------------------------------------------------------------------
    def form(self, term: Index) -> Linear:
        """The form of a term; operations become nodes, with the bounds that their operands give."""
        if isinstance(term, Const):
            return Linear(int(term.value))
        if isinstance(term, PatternVariable):
            return self.match.forms[term]
        assert isinstance(term, Apply)
        if term.op in COMPARISONS:
            swap, strict = COMPARISONS[term.op]
            a, b = (self.form(arg) for arg in (reversed(term.args) if swap else term.args))
            return self._truth("Nonneg", b.plus(a, -1).plus(Linear(-strict)))
        if term.op in ("and", "or", "not", "bool"):
            operands = [self._condition(arg) for arg in term.args]
            return operands[0] if term.op == "bool" else self._node({"and": "min", "or": "max"}.get(term.op, term.op), operands)
        first, *others = (self.form(arg) for arg in term.args)
        if term.op in ("add", "sub"):
            return first.plus(others[0], 1 if term.op == "add" else -1)
        if term.op == "neg":
            return first.times(-1)
        if term.op == "mul":
            return self.visit.encoder.times(first, others[0])
        if term.op in ("eq", "ne"):
            zero = self._truth("Zero", first.plus(others[0], -1).unsigned)
            return zero if term.op == "eq" else self._node("not", [zero])
        if term.op == "int":
            return first
        return self._node(term.op, [self._condition(term.args[0]) if term.op == "where" else first, *others])

    def _condition(self, term: Index) -> Linear:
        form = self.form(term)
        if term.kind == "bool" or interval.within(self.visit.bounds_of(form), BOOL):
            return form
        return self._node("not", [self._truth("Zero", form.unsigned)])

    def _truth(self, node: str, form: Linear) -> Linear:
        return Linear(0, ((self.visit.truth(node, self.visit.sum(form)), 1),))

    def _node(self, op: str, forms: list[Linear]) -> Linear:
        known = _folded(op, forms)
        if known is not None:
            return known
        bounds = [self.visit.bounds_of(form) for form in forms]
        names = [self.visit.sum(form) for form in forms]
        if OPS[op].commutative:
            names.sort()
        handle = self.visit.encoder.node(op.capitalize(), *names)
        if op not in ("shl", "shr") or bounds[1][1] < 62:
            lo, hi = OPS[op].bounds(*bounds)
            if max(abs(lo), abs(hi)) < NUMBER_LIMIT:
                self.visit.encoder.bounded(handle, (lo, hi))
        return Linear(0, ((handle, 1),))


def _folded(op: str, forms: list[Linear]) -> Linear | None:
    """An operation on constants, as its value; None where it has none, or an operand is no constant."""
    domain = OPS[op].domain
    if any(form.terms for form in forms) or (domain is not None and not domain.holds(forms[-1].constant)):
        return None
    if op in ("shl", "shr") and forms[1].constant >= 62:
        return None
    return Linear(int(OPS[op].evaluate(*(form.constant for form in forms))))
