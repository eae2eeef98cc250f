"""Index terms as linear forms, for deciding about loops: strides, splits and merges.  It rewrites no index term by itself.

    term = constant + sum of coefficient * atom          atom: a variable, or a term that is not linear

Division sees through what bounds decide: with every c_k of Q divisible by d and q*d <= R < q*d + d everywhere,
(Q + R) // d = Q/d + q   and   (Q + R) % d = R - q*d.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eqsat.ir import interval
from eqsat.ir.index import Apply, Const, Index, Var, variables, walk
from eqsat.ir.interval import Interval

DIVISIONS = ("floordiv", "mod")


@dataclass(frozen=True)
class Affine:
    """constant + sum of coefficient * atom; no coefficient is zero."""

    constant: int
    terms: Mapping[Index, int]

    def stride(self, variable: Var) -> int | None:
        """What one step of the variable adds; None where it occurs inside an atom."""
        if any(variable in set(variables(atom)) for atom in self.terms if not isinstance(atom, Var)):
            return None
        return self.terms.get(variable, 0)


class Forms:
    """Linear forms of index terms, each computed once."""

    def __init__(self) -> None:
        self._forms: dict[Index, Affine] = {}

    def __call__(self, term: Index) -> Affine:
        if term not in self._forms:
            for sub in walk(term, known=self._forms):
                self._forms[sub] = self._form(sub)
        return self._forms[term]

    def _form(self, term: Index) -> Affine:
        if isinstance(term, Const):
            return Affine(int(term.value), {})
        if not isinstance(term, Apply):
            return Affine(0, {term: 1})
        args = [self._forms[arg] for arg in term.args]
        if term.op in ("add", "sub"):
            return _combine(args[0], args[1], 1 if term.op == "add" else -1)
        if term.op == "neg":
            return _scaled(args[0], -1)
        if term.op == "mul" and not (args[0].terms and args[1].terms):
            return _scaled(args[0], args[1].constant) if args[0].terms else _scaled(args[1], args[0].constant)
        if term.op in DIVISIONS and not args[1].terms and args[1].constant > 0:
            found = divided(term.op, args[0], args[1].constant)
            if found is not None:
                return found
        return Affine(0, {term: 1})


def _combine(a: Affine, b: Affine, factor: int) -> Affine:
    terms = dict(a.terms)
    for atom, coefficient in b.terms.items():
        terms[atom] = terms.get(atom, 0) + factor * coefficient
    return Affine(a.constant + factor * b.constant, {atom: c for atom, c in terms.items() if c})


def sum_of(parts: Iterable[tuple[Affine, int]]) -> Affine:
    """The sum of forms, each so many times."""
    total = Affine(0, {})
    for form, factor in parts:
        total = _combine(total, form, factor)
    return total


def _scaled(a: Affine, factor: int) -> Affine:
    return Affine(a.constant * factor, {atom: c * factor for atom, c in a.terms.items() if factor})


def divided(op: str, a: Affine, divisor: int) -> Affine | None:
    """The quotient, or with "mod" the remainder, of a form by a number; None where that is not known to be a form."""
    rest = remainder(a, divisor)
    lo, hi = bounds(rest)
    times = lo // divisor
    if times != hi // divisor:
        return None
    if op == "mod":
        return Affine(rest.constant - times * divisor, rest.terms)
    whole = quotient(a, divisor)
    return Affine(whole.constant + times, whole.terms)


def remainder(a: Affine, divisor: int) -> Affine:
    """R: the part of a form that the divisor does not divide, and the constant's remainder."""
    return Affine(a.constant % divisor, {atom: c for atom, c in a.terms.items() if c % divisor})


def quotient(a: Affine, divisor: int) -> Affine:
    """Q / divisor: the part of a form that the divisor divides, divided."""
    return Affine(a.constant // divisor, {atom: c // divisor for atom, c in a.terms.items() if c % divisor == 0})


def bounds(a: Affine, narrowed: Mapping[Index, Interval] | None = None) -> Interval:
    """Bounds of a form, atoms taken as independent; `narrowed` replaces the bounds of some of them."""
    total = (a.constant, a.constant)
    for atom, coefficient in a.terms.items():
        inside = narrowed.get(atom, atom.bounds) if narrowed else atom.bounds
        total = interval.add(total, interval.mul((coefficient, coefficient), inside))
    return total


def rebuilt(a: Affine) -> Index:
    """A form written as a sum, the constant last."""
    total: Index | None = None
    for atom, coefficient in a.terms.items():
        if total is None:
            total = atom if coefficient == 1 else atom * coefficient
        elif coefficient < 0:
            total = total - (atom if coefficient == -1 else atom * -coefficient)
        else:
            total = total + (atom if coefficient == 1 else atom * coefficient)
    if total is None:
        return Const(a.constant)
    return total + a.constant if a.constant else total


def recombined(a: Affine) -> Affine:
    """A form with quotients and remainders of one term put together: t // c * (c * k) + t % c * k is t * k, and so is
    t // c * (c * k) - s % c * k but for (c - 1) * k, where s is c - 1 - t but for multiples of c."""
    forms = Forms()
    for (low, k), (high, factor) in itertools.permutations(a.terms.items(), 2):
        by = _divisor(low, "mod")
        if by is None or by != _divisor(high, "floordiv") or factor != abs(k) * by:
            continue
        whole, rest = (forms(atom.args[0]) for atom in (high, low) if isinstance(atom, Apply))
        turned = _combine(whole, rest, 1)
        if whole == rest if k > 0 else not any(c % by for c in (turned.constant + 1, *turned.terms.values())):
            others = {atom: c for atom, c in a.terms.items() if atom not in (low, high)}
            return recombined(_combine(Affine(a.constant + min(k, 0) * (by - 1), others), _scaled(whole, abs(k)), 1))
    return a


def _divisor(atom: Index, op: str) -> int | None:
    """The number that a quotient or remainder is one by."""
    if not isinstance(atom, Apply) or atom.op != op or not isinstance(atom.args[1], Const):
        return None
    return int(atom.args[1].value)
