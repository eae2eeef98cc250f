"""Rules of users, found in Python: patterns matched against n-ary sums and nodes of fixed arity, as a sum row does.

The left side is read as the e-graph holds terms: a comparison is a sum and a sign, `and` is min of truth values.  A sum of a
pattern is matched against the linear form of a class.  Its parts are looked for in this order: operations, among the terms of
the form; products with something that is known, the largest first, as all multiples of it; variables that are known, by taking
them away; a variable alone, which stands for one term, or, the last one, for all that is left.  At the top what is left over stays
beside the right side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, permutations
from math import isqrt, prod

from eqsat.egraph.encode import COMPARISONS, Encoder
from eqsat.egraph.linear import Linear
from eqsat.ir import interval
from eqsat.ir.errors import UnsupportedError
from eqsat.ir.index import Apply, Const, Index, variables
from eqsat.ir.interval import BOOL
from eqsat.ir.monomials import sum_of
from eqsat.rules.instances import Instance, Match
from eqsat.rules.variables import PatternVariable
from eqsat.rules.visit import Visit

# matches of one rule in one class at one visit
MOST_MATCHES = 64
# constants up to this are written as products in every way
LARGEST_FACTORED = 1 << 20
REST = PatternVariable("_rest_", *BOOL)
ORDERED = dict.fromkeys(("Min", "Max", "Bitand", "Bitor", "Bitxor"), ((0, 1), (1, 0)))


# the left side as the e-graph holds it ---------------------------------------------------------------------------
@dataclass(frozen=True)
class Node:
    """An operation of fixed arity."""

    op: str
    operands: tuple[Shape, ...]


@dataclass(frozen=True)
class Sum:
    """constant + parts: a coefficient and factors each."""

    constant: int
    parts: tuple[tuple[int, tuple[Shape, ...]], ...]


Shape = Node | Sum | PatternVariable


def shape_of(term: Index) -> Shape:
    """A pattern as the e-graph holds such a term."""
    if isinstance(term, PatternVariable):
        return term
    if isinstance(term, Const) or (isinstance(term, Apply) and term.op in ("add", "sub", "neg", "mul")):
        return _as_sum(term)
    assert isinstance(term, Apply)
    if term.op in COMPARISONS:
        swap, strict = COMPARISONS[term.op]
        a, b = reversed(term.args) if swap else term.args
        return Node("Nonneg", (_as_sum(b - a - strict),))
    if term.op in ("eq", "ne"):
        zero = Node("Zero", (_as_sum(term.args[0] - term.args[1]),))
        return zero if term.op == "eq" else Node("Not", (zero,))
    if term.op == "int":
        return shape_of(term.args[0])
    if term.op == "bool":
        return _condition(term.args[0])
    if term.op in ("and", "or", "not"):
        op = {"and": "Min", "or": "Max", "not": "Not"}[term.op]
        return Node(op, tuple(map(_condition, term.args)))
    if term.op == "where" and not isinstance(term.args[0], PatternVariable):  # what a choice depends on is a truth value in any case
        return Node("Where", (_condition(term.args[0]), *map(shape_of, term.args[1:])))
    return Node(term.op.capitalize(), tuple(map(shape_of, term.args)))


def _as_sum(term: Index) -> Sum:
    constant, parts = sum_of(term)
    return Sum(constant, tuple((k, tuple(map(shape_of, factors))) for k, factors in parts))


def _condition(term: Index) -> Shape:
    """A truth value: of an integer, whether it is not zero."""
    if term.kind == "bool":
        return shape_of(term)
    return Node("Not", (Node("Zero", (_as_sum(term),)),))


# matches ---------------------------------------------------------------------------------------------------------
class Matcher:
    """A rule `lhs = rhs` under conditions, as the function of a sum row."""

    def __init__(self, name: str, lhs: Index, rhs: Index, when: tuple[Index, ...]) -> None:
        self.name, self.rhs, self.when = name, rhs, when
        shape = shape_of(lhs)
        if isinstance(shape, Sum) and not any(_is_variable(factors) for _, factors in shape.parts):
            shape = Sum(shape.constant, (*shape.parts, (1, (REST,))))
        self.shape = shape
        self.needed = frozenset(variables(rhs, *when))

    @property
    def is_idle(self) -> bool:
        """Whether the e-graph holds the left side as a variable or a constant: then there is nothing to find."""
        if isinstance(self.shape, Sum):
            parts = [part for part in self.shape.parts if part[1] != (REST,)]
            return not parts or (len(parts) == 1 and not self.shape.constant and parts[0][0] == 1 and _is_variable(parts[0][1]))
        return isinstance(self.shape, PatternVariable)

    @property
    def needs(self) -> tuple[str, ...]:
        """Kinds of nodes of which there must be some."""
        return (self.shape.op,) if isinstance(self.shape, Node) else ()

    def __call__(self, visit: Visit) -> None:
        """State what the rule says of the fresh classes of a visit."""
        if self.is_idle:
            return
        names = visit.sums if not isinstance(self.shape, Node) else dict.fromkeys(name for name, _ in visit.nodes(self.shape.op))
        for name in list(names):
            for match in islice(_Search(visit).matches(self.shape, name, Match({}, {})), MOST_MATCHES):
                self._apply(visit, name, match)

    def _apply(self, visit: Visit, name: int, match: Match) -> None:
        if not self.needed.issubset(match.forms):  # of a variable that cancels in the left side nothing is known
            return
        instance = Instance(visit, match)
        if not all(instance.has_value(condition) and instance.truth(condition) for condition in self.when):
            return
        key = tuple((v.name, form) for v, form in match.forms.items())
        if not visit.first(self.name, name, key):
            return
        try:
            made = instance.form(self.rhs).plus(match.forms.get(REST, Linear(0)))
            handle = visit.sum(made)
        except UnsupportedError:
            return
        if handle != name:
            visit.reads(match.read)
            visit.encoder.same(name, handle)


def _is_variable(factors: tuple[Shape, ...]) -> bool:
    return len(factors) == 1 and isinstance(factors[0], PatternVariable) and factors[0].stands != "constant"


class _Search:
    """Matches of a pattern in the classes of a visit."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit

    def matches(self, shape: Shape, target: int | Linear, match: Match) -> Iterator[Match]:
        """The ways in which a class, or a form that has no class yet, is an instance of a pattern."""
        if isinstance(shape, PatternVariable):
            yield from self._variable(shape, self._form(target), match)
        elif isinstance(shape, Sum):
            for form in self._forms(target):
                seen = match.reading(target, form) if isinstance(target, int) else match
                yield from self._sum(shape.constant, list(shape.parts), form, seen)
        else:
            yield from self._node(shape, target, match)

    def _form(self, target: int | Linear) -> Linear:
        return self.visit.form(target) if isinstance(target, int) else target

    def _forms(self, target: int | Linear) -> list[Linear]:
        if isinstance(target, Linear) and target.single is None:
            return [target]
        name = target if isinstance(target, int) else target.single
        assert name is not None
        constant = self.visit.constant(name)
        return [Linear(constant)] if constant is not None else self.visit.alternatives(name)

    def _variable(self, variable: PatternVariable, form: Linear, match: Match) -> Iterator[Match]:
        known = match.forms.get(variable)
        if known is not None:
            if known == form:
                yield match
            return
        if variable.stands == "constant" and form.terms:
            return
        if variable.stands == "bool" and not interval.within(self.visit.bounds_of(form), BOOL):
            return
        yield match.binding(variable, form)

    def _node(self, shape: Node, target: int | Linear, match: Match) -> Iterator[Match]:
        name = target if isinstance(target, int) else target.single
        if name is None:
            return
        for node in self.visit.classes.get(name, ()):
            if node.op == shape.op:
                for order in ORDERED.get(node.op, (range(len(node.args)),)):
                    yield from self._operands(shape, [node.args[k] for k in order], match.reading(name, node))
        if shape.op == "Zero":
            yield from self._turned_zero(shape, name, match)

    def _turned_zero(self, shape: Node, name: int, match: Match) -> Iterator[Match]:
        """s == 0 read as -s == 0: which of both is held depends on its terms."""
        for node in self.visit.classes.get(name, ()):
            if node.op == "Zero":
                for form in self._forms(node.args[0]):
                    yield from self.matches(shape.operands[0], form.times(-1), match.reading(name, node))

    def _operands(self, shape: Node, names: list[int], match: Match) -> Iterator[Match]:
        """Operands from the last to the first: a divisor says which multiples a dividend is asked for."""
        found: Iterator[Match] = iter((match,))
        for below, name in zip(reversed(shape.operands), reversed(names), strict=True):
            found = self._each(below, name, found)
        yield from found

    def _each(self, shape: Shape, name: int, matches: Iterator[Match]) -> Iterator[Match]:
        for match in matches:
            yield from self.matches(shape, name, match)

    # sums --------------------------------------------------------------------------------------------------------
    def _sum(self, constant: int, parts: list[tuple[int, tuple[Shape, ...]]], form: Linear, match: Match) -> Iterator[Match]:
        """Parts of a pattern in a form, the one that says most first."""
        form = form.plus(Linear(-constant))
        if not parts:
            if form == Linear(0):
                yield match
            return
        place = min(range(len(parts)), key=lambda k: self._order(parts[k], match))
        (k, factors), others = parts[place], parts[:place] + parts[place + 1 :]
        last = not any(_is_variable(below) and below[0] not in match.forms for _, below in others)
        for rest, found in self._part(k, factors, form, match, last):
            yield from self._sum(0, others, rest, found)

    def _order(self, part: tuple[int, tuple[Shape, ...]], match: Match) -> tuple[int, ...]:
        """0: something known alone; 1: an operation; 2: a product, that of most factors and the largest known ones first, for it takes all
        multiples; 3: a constant that is not known; 4: a variable that is not."""
        k, factors = part
        known = [match.forms[shape] for shape in factors if isinstance(shape, PatternVariable) and shape in match.forms]
        if len(known) == len(factors):
            return (0,)
        if len(factors) > 1:
            return 2, len(known) - len(factors), -len(factors), -abs(k * prod(form.constant for form in known if not form.terms))
        shape = factors[0]
        return (1 if not isinstance(shape, PatternVariable) else 3 if shape.stands == "constant" else 5 if shape is REST else 4,)

    def _part(self, k: int, factors: tuple[Shape, ...], form: Linear, match: Match, last: bool) -> Iterator[tuple[Linear, Match]]:
        """The ways to take one part out of a form: what is left, and the match."""
        known = [match.forms[shape] for shape in factors if isinstance(shape, PatternVariable) and shape in match.forms]
        unknown = [shape for shape in factors if not (isinstance(shape, PatternVariable) and shape in match.forms)]
        constant = k
        symbols = []
        for factor in known:
            if factor.terms:
                symbols.append(factor)
            else:
                constant *= factor.constant
        if constant == 0:
            return
        if not unknown:
            yield from self._known(constant, symbols, form, match)
        elif symbols:
            yield from self._symbolic(constant, symbols, unknown, form, match)
        elif len(unknown) == 1:
            yield from self._scaled(constant, unknown[0], form, match, last, multiples=len(factors) > 1)
        else:
            yield from self._product(constant, unknown, form, match)

    def _known(self, k: int, symbols: list[Linear], form: Linear, match: Match) -> Iterator[tuple[Linear, Match]]:
        """A part whose variables are all known: it must cancel."""
        total = Linear(k)
        for symbol in symbols:
            total = self.visit.encoder.times(total, symbol)
        rest = form.plus(total, -1)
        if len(rest.terms) == len(form.terms) - len(total.terms) and abs(rest.constant) + abs(total.constant) == abs(form.constant):
            yield rest, match

    def _scaled(self, k: int, shape: Shape, form: Linear, match: Match, last: bool, multiples: bool) -> Iterator[tuple[Linear, Match]]:
        """k times something that is not known."""
        if isinstance(shape, PatternVariable) and not multiples:
            if shape.stands == "constant":
                if form.constant % k == 0 and (form.constant or not form.terms):
                    yield Linear(0, form.terms), match.binding(shape, Linear(form.constant // k))
                return
            if last:
                if form.constant % k == 0 and all(c % k == 0 for _, c in form.terms):
                    yield from ((Linear(0), found) for found in self._variable(shape, form.over(k), match))
                return
            for atom, c in form.terms:
                if c % k == 0:
                    yield from ((form.without(atom), found) for found in self._variable(shape, Linear(0, ((atom, c // k),)), match))
            return
        if isinstance(shape, Node):
            for atom, c in form.terms:
                if c == k:
                    yield from ((form.without(atom), found) for found in self.matches(shape, atom, match))
            return
        whole, rest = _multiples(form, k)
        if whole != Linear(0):
            yield from ((rest, found) for found in self.matches(shape, whole, match))

    def _symbolic(self, k: int, symbols: list[Linear], unknown: list[Shape], form: Linear, match: Match) -> Iterator[tuple[Linear, Match]]:
        """k times terms that are known times one that is not: the products with these terms."""
        atoms = [atom for symbol in symbols for atom, c in symbol.terms if c == 1 and len(symbol.terms) == 1 and not symbol.constant]
        if len(atoms) < len(symbols) or len(unknown) > 1:
            return
        factors = self.visit.encoder.factors
        flat = [f for atom in atoms for f in factors.get(atom, (atom,))]
        quotient, rest = Linear(0), Linear(form.constant)
        for atom, c in form.terms:
            left = list(factors.get(atom, (atom,)))
            if c % k == 0 and all(left.count(f) >= flat.count(f) for f in flat):
                for f in flat:
                    left.remove(f)
                quotient = quotient.plus(_product(self.visit.encoder, left), c // k)
            else:
                rest = rest.plus(Linear(0, ((atom, c),)))
        if quotient != Linear(0):
            yield from ((rest, found) for found in self.matches(unknown[0], quotient, match))

    def _product(self, k: int, unknown: list[Shape], form: Linear, match: Match) -> Iterator[tuple[Linear, Match]]:
        """A product of things that are not known: a coefficient and what it multiplies, divisors of a constant, or factors of a product."""
        for first, *others in permutations(unknown):
            if isinstance(first, PatternVariable):
                for c in _coefficients(form, k):
                    for found in self._variable(first, Linear(c), match):
                        yield from (
                            self._part(k * c, tuple(others), form, found, last=False)
                            if len(others) > 1
                            else self._multiple(k * c, others[0], form, found)
                        )
            for atom, c in form.terms:
                members = self.visit.encoder.factors.get(atom, ())
                for f in dict.fromkeys(members) if c % k == 0 and len(members) > 1 and len(others) == 1 else ():
                    left = list(members)
                    left.remove(f)
                    for found in self.matches(first, f, match):
                        whole = _product(self.visit.encoder, left).times(c // k)
                        yield from ((form.without(atom), more) for more in self.matches(others[0], whole, found))

    def _multiple(self, k: int, shape: Shape, form: Linear, match: Match) -> Iterator[tuple[Linear, Match]]:
        """k times one thing: a term with this coefficient where it is an operation, else all multiples."""
        yield from self._scaled(k, shape, form, match, last=False, multiples=True)


def _coefficients(form: Linear, k: int) -> list[int]:
    """What a factor of a product with the coefficient k may be: coefficients of a form, or, of a constant, its divisors."""
    if form.terms:
        return list(dict.fromkeys(c // k for _, c in form.terms if c % k == 0))
    whole = abs(form.constant // k) if form.constant % k == 0 else 0
    small = [c for c in range(1, isqrt(whole) + 1) if whole % c == 0] if whole <= LARGEST_FACTORED else []
    return list(dict.fromkeys((*small, *(whole // c for c in reversed(small)))))


def _multiples(form: Linear, k: int) -> tuple[Linear, Linear]:
    """(q, r) with form = k*q + r: all terms that are multiples of k, and the others."""
    whole = [(atom, c // k) for atom, c in form.terms if c % k == 0]
    rest = Linear(form.constant % k, tuple((atom, c) for atom, c in form.terms if c % k))
    return Linear(form.constant // k, tuple(whole)), rest


def _product(encoder: Encoder, atoms: list[int]) -> Linear:
    if not atoms:
        return Linear(1)
    return Linear(0, ((atoms[0] if len(atoms) == 1 else encoder.product(tuple(atoms)), 1),))
