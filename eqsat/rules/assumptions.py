"""What a condition says where it holds: terms rewritten under it, and equalities that hold there only, never united with others.

A branch of `where` and a conjunct are read only where a condition holds.  There a comparison that the condition decides is a
constant, and an atom that it bounds is `Given x k`: x, with the bounds that it has under assumption k.  Given is a variable of its
own, so nothing that follows from the assumption reaches the terms outside; where the condition holds it is x, so the branch may
be replaced.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

from eqsat.egraph.encode import EVERYTHING
from eqsat.egraph.forms import index_children
from eqsat.egraph.linear import Linear
from eqsat.egraph.schema import INDEX_LEAVES
from eqsat.egraph.snapshot import ENode
from eqsat.ir.interval import Interval
from eqsat.rules.row import BOUNDED, SumRow, Table
from eqsat.rules.visit import Visit

# terms that are written under an assumption, and values that a search for a solution tries
MAX_SIZE, MAX_TRIED = 200, 60
# how far values of what has no bounds are tried
MAX_VALUE = 1 << 60
# so many comparisons are added up, where an assumption has no more than these: every two of six, every three of four
MAX_ADDED = {2: 6, 3: 4}
LEAVES = (*INDEX_LEAVES, "Given", "Unknown")
LINEAR = ("Num", "Sum", "Add", "Scale")


def _has_solution(signs: list[Linear], values: dict[int, range], tried: list[int]) -> bool:
    """Whether a search finds values for which no sign is negative: each atom at the ends and in the middle of what the others leave."""
    tried[0] -= 1
    values = dict(values)
    for form in signs:
        for atom, k in form.terms:
            most = form.constant + sum(c * (values[a][-1] if c > 0 else values[a][0]) for a, c in form.terms if a != atom)
            left = values[atom]
            limit = -(most // k) if k > 0 else most // -k
            steps = limit - left.start
            values[atom] = left[max(0, -(-steps // left.step)) :] if k > 0 else left[: max(0, steps // left.step + 1)]
            if not values[atom]:
                return False
    open_atoms = [atom for atom, left in values.items() if len(left) > 1]
    if not open_atoms:
        return all(form.constant + sum(k * values[atom].start for atom, k in form.terms) >= 0 for form in signs)
    atom = min(open_atoms, key=lambda a: len(values[a]))
    left = values[atom]
    places = dict.fromkeys((0, len(left) - 1, len(left) // 2))
    return any(tried[0] > 0 and _has_solution(signs, {**values, atom: left[k : k + 1]}, tried) for k in places)


@dataclass
class Assumption:
    """Conditions that hold: classes that are true (1) or false (0), sums that are not negative, and what follows: bounds, and
    atoms whose remainder is known, {x: (m, r)} for x % m == r."""

    v: Visit
    truths: dict[int, int] = field(default_factory=dict)
    signs: list[Linear] = field(default_factory=list)
    bounds: dict[Linear, Interval] = field(default_factory=dict)
    steps: dict[int, tuple[int, int]] = field(default_factory=dict)

    def suppose(self, condition: int, value: int) -> None:
        """Add that a class of a truth value is 1 or 0, and what that means for what it is made of."""
        if condition in self.truths:
            return
        self.truths[condition] = value
        for node in (self.v.node(condition), *self.v.classes.get(condition, ())):
            if node.op == ("Min" if value else "Max"):
                for arg in node.args:
                    if self.v.is_truth(arg):
                        self.suppose(arg, value)
                    else:  # a truth value may also be the least or greatest of integers: min(x, 1) for x >= 0
                        form = self.v.form(arg)
                        self._sign(form.plus(Linear(-1)) if value else form.times(-1))
            elif node.op == "Not":
                self.suppose(node.args[0], 1 - value)
            elif node.op == "Nonneg":
                form = self.v.form(node.args[0])
                self._sign(form if value else form.times(-1).plus(Linear(-1)))
            elif node.op == "Zero" and value:
                form = self.v.form(node.args[0])
                self._sign(form)
                self._sign(form.times(-1))

    def _sign(self, form: Linear) -> None:
        if form.terms and form not in self.signs:
            self.signs.append(form)

    def settle(self) -> bool:
        """Bounds of atoms and of whole sums from the signs; False if the conditions cannot hold together."""
        for _ in range(2):
            for form in self.signs:
                for atom, k in form.terms:
                    limit = -self._bounds_of(form.without(atom))[1]
                    if not self._narrow(Linear(0, ((atom, 1),)), (-(-limit // k), EVERYTHING[1]) if k > 0 else (EVERYTHING[0], limit // k)):
                        return False
                if len(form.terms) > 1:
                    bare = Linear(0, form.terms)
                    kept = bare.unsigned
                    limit = -form.constant
                    if not self._narrow(kept, (limit, EVERYTHING[1]) if kept == bare else (EVERYTHING[0], -limit)):
                        return False
        for form, (lo, hi) in self.bounds.items():
            node = self.v.node(form.single) if form.single is not None else None
            if node is not None and node.op == "Mod" and lo == hi and (modulus := self.v.constant(node.args[1])):
                below = self.v.form(node.args[0])
                if modulus > 1 and len(below.terms) == 1 and below.terms[0][1] == 1:
                    self.steps[below.terms[0][0]] = modulus, (lo - below.constant) % modulus
        return all(bool(self.values(atom)) for atom in self.steps)

    def atom_bounds(self, atom: int) -> Interval:
        return self.bounds.get(Linear(0, ((atom, 1),))) or self.v.bounds(atom)

    def values(self, atom: int, limit: int = EVERYTHING[1]) -> range:
        """The values that an atom may have, within a limit."""
        lo, hi = self.atom_bounds(atom)
        modulus, remainder = self.steps.get(atom, (1, 0))
        lo, hi = max(lo, -limit), min(hi, limit)
        return range(lo + (remainder - lo) % modulus, hi + 1, modulus)

    @functools.cached_property
    def related(self) -> frozenset[int]:
        """The atoms of signs that relate several, if some values of them satisfy all these signs.

        What is given is said of variables of their own; if they could have no values at all, anything could be said of them.
        """
        signs = [form for form in self.signs if len(form.terms) > 1]
        atoms = list(dict.fromkeys(atom for form in signs for atom, _ in form.terms))
        return (
            frozenset(atoms) if _has_solution(signs, {atom: self.values(atom, MAX_VALUE) for atom in atoms}, [MAX_TRIED]) else frozenset()
        )

    def _narrow(self, form: Linear, bounds: Interval) -> bool:
        known = self.bounds.get(form) or self.v.bounds_of(form)
        lo, hi = max(known[0], bounds[0]), min(known[1], bounds[1])
        if (lo, hi) != known:
            self.bounds[form] = (lo, hi)
        return lo <= hi

    def _bounds_of(self, form: Linear) -> Interval:
        """Bounds of a sum from those of its atoms."""
        return form.bounds(self.atom_bounds)

    def decided(self, form: Linear) -> int | None:
        """Whether a sum is negative (0) or not (1), if the assumption decides it."""
        lo, hi = self._bounds_of(form)
        for known in (*self.signs, *(self._added if len(form.terms) > 1 else ())):
            lo = max(lo, self._bounds_of(form.plus(known, -1))[0])
            hi = min(hi, self._bounds_of(form.plus(known))[1])
        return 1 if lo >= 0 else 0 if hi < 0 else None

    @functools.cached_property
    def _added(self) -> list[Linear]:
        """Every two signs added up, and every three where there are few: what follows from chains of comparisons."""
        sizes = (size for size, most in MAX_ADDED.items() if len(self.signs) <= most)
        return [functools.reduce(Linear.plus, some) for size in sizes for some in combinations(self.signs, size)]

    @functools.cached_property
    def key(self) -> tuple[object, ...]:
        return (tuple(sorted(self.truths.items())), tuple(sorted(self.bounds.items(), key=lambda item: item[0].terms)))


class Rewriter:
    """Terms as they are under an assumption."""

    def __init__(self, v: Visit, assumption: Assumption) -> None:
        self.v, self.assumed = v, assumption
        self.number = v.encoder.assumption(assumption.key)
        self.done: dict[tuple[int, bool], int] = {}
        self.stated: set[tuple[object, ...]] = set()

    def rewrite(self, name: int, inside: bool = False) -> int:
        """The class of a term under the assumption; the same class if nothing changes.

        inside  whether it stands in something else than a sum: only there do bounds matter
        """
        if name in self.assumed.truths:
            return self.v.encoder.number(self.assumed.truths[name])
        if len(self.done) > MAX_SIZE or self.v.constant(name) is not None:
            return name
        key = (name, inside)
        if key not in self.done:
            self.done[key] = name
            self.done[key] = self._rewrite(name, self.v.node(name), inside)
        return self.done[key]

    def _rewrite(self, name: int, node: ENode, inside: bool) -> int:
        if node.op in LINEAR:
            return self._sum(name, self.v.form(name), inside)
        if inside and name in self.assumed.steps:
            return self._stepped(name, *self.assumed.steps[name])
        bounds = self.assumed.bounds.get(Linear(0, ((name, 1),)))
        if inside and name in self.assumed.related:
            return self._related(name)
        if bounds is not None and (inside or bounds[0] == bounds[1]):
            return self._given(name, bounds)
        if node.op == "Given" and inside:
            return self._given_twice(name, *node.args)
        if node.op in LEAVES:
            return name
        if node.op == "Nonneg":
            decided = self.assumed.decided(self.v.form(node.args[0]))
            if decided is not None:
                return self.v.encoder.number(decided)
        args = tuple(self.rewrite(arg, True) for arg in node.args)
        if node.op in ("Floordiv", "Mod"):
            low, high = self.v.bounds(node.args[1])
            if low <= 0 <= high:
                args = (args[0], node.args[1])  # it might become zero, and then the term has no value, not even where nobody asks for it
        if node.op in ("Shl", "Shr") and self.v.bounds(node.args[1])[0] < 0:
            args = (args[0], node.args[1])  # as little is a term that shifts by less than nothing
        if args == tuple(node.args):
            return name
        if node.op in ("Min", "Max"):
            args = tuple(sorted(args))
        if node.op == "Prod":
            return self.v.encoder.product(args)
        return self.v.encoder.node(node.op, *args)

    def _sum(self, name: int, form: Linear, inside: bool) -> int:
        result = Linear(form.constant)
        left = form
        for known, bounds in self.assumed.bounds.items() if inside else ():
            if len(known.terms) > 1 and (factor := known.times_in(left)):
                left = left.plus(known, -factor)
                result = result.plus(Linear(0, ((self._given(self.v.sum(known), bounds), factor),)))
        for atom, k in left.terms:
            result = result.plus(Linear(0, ((self.rewrite(atom, inside), k),)))
        return name if result == form else self.v.sum(result)

    def _given(self, name: int, bounds: Interval) -> int:
        if bounds[0] == bounds[1]:
            return self.v.encoder.number(bounds[0])
        given = self.v.encoder.node("Given", name, self.number)
        self.v.encoder.bounded(given, bounds)
        return given

    def _given_twice(self, name: int, base: int, number: int) -> int:
        """What is given under another assumption, inside this one: both hold there."""
        known = self.v.bounds(name)
        mine = self.assumed.bounds.get(Linear(0, ((base, 1),)), known)
        both = max(known[0], mine[0]), min(known[1], mine[1])
        if both == known or both[0] > both[1]:
            return name
        if both[0] == both[1]:
            return self.v.encoder.number(both[0])
        given = self.v.encoder.node("Given", base, self.v.encoder.assumption((self.assumed.key, number)))
        return self.v.encoder.bounded(given, both)

    def _related(self, name: int) -> int:
        """A variable of its own, of which the assumption says how it compares with others."""
        for form in self.assumed.signs:
            if len(form.terms) > 1 and any(atom == name for atom, _ in form.terms) and ("related", form) not in self.stated:
                self.stated.add(("related", form))
                given = Linear.of(form.constant, [(self._variable(atom), k) for atom, k in form.terms])
                for atom, _ in given.terms:
                    self.v.encoder.relations.setdefault(atom, []).append(given)
        return self._variable(name)

    def _variable(self, name: int) -> int:
        return self._given(name, self.assumed.atom_bounds(name))

    def _stepped(self, name: int, modulus: int, remainder: int) -> int:
        """x as m*q + r, q a variable of its own."""
        lo, hi = self.assumed.atom_bounds(name)
        quotient = self.v.encoder.node("Floordiv", name, self.v.encoder.number(modulus))
        least, greatest = self.v.bounds(name)
        self.v.encoder.bounded(quotient, (least // modulus, greatest // modulus))
        given = self.v.encoder.node("Given", quotient, self.number)
        self.v.encoder.bounded(given, (-((remainder - lo) // modulus), (hi - remainder) // modulus))
        whole = self.v.encoder.node("Given", name, self.number)
        self.v.encoder.bounded(whole, (lo, hi))
        self.v.encoder.same(whole, self.v.sum(Linear(remainder, ((given, modulus),))))
        return whole


def supposed(v: Visit, condition: int, value: int) -> Assumption | None:
    """What it means that a condition is 1 or 0; None if it cannot be."""
    return v.once("supposed", (condition, value), lambda: _supposed(v, condition, value))


def _supposed(v: Visit, condition: int, value: int) -> Assumption | None:
    assumption = Assumption(v)
    assumption.suppose(condition, value)
    return assumption if assumption.settle() else None


def assumed(v: Visit, name: int) -> bool:
    """Whether a term stands under an assumption itself; assumptions are not nested, or there would be no end of them."""
    return bool(assumptions(v, name))


def assumptions(v: Visit, name: int) -> frozenset[int]:
    """The numbers of the assumptions that a term stands under."""
    known = v.memo.setdefault("assumptions", {})
    if name not in known:
        known[name] = frozenset[int]()
        node = v.node(name)
        here = [frozenset({node.args[1]})] if node.op == "Given" else []
        known[name] = frozenset[int]().union(*here, *(assumptions(v, child) for child in index_children(node)))
    found = known[name]
    assert isinstance(found, frozenset)
    return found


def under_condition(v: Visit) -> None:
    """where(p, x, y) = where(p, x where p, y where not p)."""
    for name, node in v.nodes("Where"):
        condition, *branches = node.args
        if v.constant(condition) is not None or any(arg not in v.forms for arg in node.args) or assumed(v, condition):
            continue
        changed = []
        for value, branch in zip((1, 0), branches, strict=True):
            assumption = supposed(v, condition, value)
            known = assumption is not None and v.first("under-condition", name, node, assumption.key, v.node(branch))
            changed.append(Rewriter(v, assumption).rewrite(branch) if assumption is not None and known else branch)
        if changed != branches:
            made = v.encoder.node("Where", condition, *changed)
            v.encoder.same(name, v.encoder.bounded(made, v.bounds(name)))


def same_either_way(v: Visit) -> None:
    """where(p, x, y) = y, where x is y where p; and where(p, x, y) = x, where y is x where not p."""
    for name, node in v.by_op.get("Where", ()):  # what a branch is there may have become known, with nothing here that is fresh
        condition, *branches = node.args
        if v.constant(condition) is not None or assumed(v, condition):
            continue
        for value, this, other in zip((1, 0), branches, branches[::-1], strict=True):
            assumption = supposed(v, condition, value) if not assumed(v, other) else None
            if assumption is None:
                continue
            form = _bare(v, v.form(this), v.encoder.assumption(assumption.key))
            if form in _forms_there(v, other, assumption) and v.first("same-either-way", name, node, value, form):
                v.encoder.same(name, other)


def _forms_there(v: Visit, name: int, assumption: Assumption) -> Iterator[Linear]:
    """Sums that a term is where an assumption holds: as it stands, and what has become of it as rewritten there, by now."""
    yield v.form(name)
    if v.node(name).op in LEAVES:
        return
    number = v.encoder.assumption(assumption.key)
    if v.changed("same-either-way", (name, number, v.node(name)), [v.form(name)]):
        v.encoder.there[name, number] = Rewriter(v, assumption).rewrite(name)
    there = v.reading.snapshot.names["Ix"].get(v.encoder.there.get((name, number), name))
    if there is not None:
        yield _bare(v, v.form(there), number)


def _bare(v: Visit, form: Linear, number: int | None) -> Linear:
    """A sum over atoms themselves, for what is given under an assumption."""
    given = {atom: node.args[0] for atom, _ in form.terms if (node := v.node(atom)).op == "Given" and node.args[1] == number}
    return Linear.of(form.constant, [(given.get(atom, atom), k) for atom, k in form.terms])


def under_conjuncts(v: Visit) -> None:
    """p and q = p and (q where p); of three and more, each under all others."""
    for op, value in (("Min", 1), ("Max", 0)):
        for name, node in v.nodes(op):
            if not all(map(v.is_truth, node.args)) or any(arg not in v.forms or assumed(v, arg) for arg in node.args):
                continue
            if any(low == high for low, high in map(v.bounds, node.args)):  # what never holds would say anything
                continue
            both = Assumption(v)
            for arg in node.args:
                both.suppose(arg, value)
            possible = both.settle()
            if not v.first("under-conjuncts", name, node, both.key):
                continue
            if not possible:
                v.encoder.same(name, v.encoder.number(1 - value))
                continue
            for this, other in (node.args, node.args[::-1]):
                assumption = supposed(v, this, value)
                if assumption is not None:
                    changed = Rewriter(v, assumption).rewrite(other)
                    if changed != other:
                        changed = changed if v.is_truth(changed) else _clamped(v, changed)
                        v.encoder.same(name, v.truth(op, *sorted((this, changed))))


def _clamped(v: Visit, name: int) -> int:
    """A truth value of what need not be one where the assumption never holds."""
    zero, one = v.encoder.number(0), v.encoder.number(1)
    return v.truth("Min", *sorted((one, v.encoder.node("Max", *sorted((zero, name))))))


CONDITIONS = Table(
    "conditions",
    "index",
    "what a condition says where it holds",
    (
        SumRow(
            "under-condition",
            "where(p, x, y) = where(p, x if p, y if not p)",
            "comparisons and bounds that p decides",
            under_condition,
            ("Where",),
        ),
        SumRow(
            "same-either-way", "where(p, x if p, x) = x", "of two branches, one is the other where it is read", same_either_way, ("Where",)
        ),
        SumRow("under-conjuncts", "p and q = p and (q if p)", "also of or; what cannot hold together is false", under_conjuncts, BOUNDED),
    ),
)
