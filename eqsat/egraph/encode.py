"""Terms into the e-graph: `Encoder` turns terms of `ir` into rows of the load relations (schema.py).

Classes are named by handles.  Sums are linear forms over atoms, {atom handle: coefficient} and a constant, so like terms,
order and brackets are gone before egglog sees them.  Bounds of every term go in as facts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from eqsat.egraph.engine import Row
from eqsat.egraph.linear import Linear, sum_term
from eqsat.egraph.schema import SHORT_SUM
from eqsat.ir import interval
from eqsat.ir.errors import UnsupportedError
from eqsat.ir.index import OPS, Apply, Const, Index, Var, in_order, walk
from eqsat.ir.interval import Interval
from eqsat.ir.tensor import is_size, level_of, position_of, reduction

NUMBER_LIMIT = 1 << 62
EVERYTHING = (-NUMBER_LIMIT, NUMBER_LIMIT)
Key = tuple[object, ...]
# a comparison of a and b as a sign: whether they are swapped, and what a strict one subtracts; a < b is b - a - 1 >= 0
COMPARISONS = {"lt": (False, 1), "le": (False, 0), "gt": (True, 1), "ge": (True, 0)}


@dataclass
class Encoder:
    """Collects rows for Engine.load; `bounds` are those of every class that it made, `names` the texts that Name operands
    number, `relations` the sums that are not negative, by class, where an assumption relates several, `there` what a class is where an
    assumption holds; `terms` what members of sums are: (class, factor) by egglog's value."""

    facts: defaultdict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    bounds: dict[int, Interval] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    factors: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)
    _variables: dict[int, Var] = field(default_factory=dict)
    _made: dict[Key, int] = field(default_factory=dict)
    _linear: dict[Index, Linear] = field(default_factory=dict)
    terms: dict[Any, tuple[int, int]] = field(default_factory=dict)
    relations: dict[int, list[Linear]] = field(default_factory=dict)
    there: dict[tuple[int, int], int] = field(default_factory=dict)
    _assumptions: dict[Key, int] = field(default_factory=dict)
    _ids: count[int] = field(default_factory=lambda: count(1))

    def beside(self, first: int) -> Encoder:
        """An empty encoder that knows the same texts, whose handles begin at `first`."""
        return Encoder(names=self.names, _numbers=self._numbers, _ids=count(first))

    def new_handle(self) -> int:
        return next(self._ids)

    def take(self) -> dict[str, list[Row]]:
        """The rows collected since the last call."""
        facts, self.facts = dict(self.facts), defaultdict(list)
        return facts

    def hold(self, rows: dict[str, list[Row]]) -> None:
        """Collect rows that were taken, after those of their kind."""
        for kind, of_kind in rows.items():
            self.facts[kind] += of_kind

    def made(self, since: int = 0) -> Iterator[tuple[int, str, tuple[Any, ...]]]:
        """(handle, kind, operands) of every node that was made since this handle, the newest first, operands as a snapshot has them."""
        for key, handle in reversed(self._made.items()):
            if handle < since:
                return
            if key[0] == "Sum":
                assert isinstance(key[1], Linear)
                yield handle, "Sum", (key[1].constant, *key[1].terms)
            else:
                yield handle, str(key[0]), key[1:]

    # nodes ---------------------------------------------------------------------------------------------------------
    def node(self, name: str, *operands: int | str) -> int:
        """The handle of a node of fixed arity."""
        key = (name, *operands)
        handle = self._made.get(key)
        if handle is None:
            handle = self._made[key] = self.new_handle()
            self.facts[name].append((handle, *(self.name(v) if isinstance(v, str) else v for v in operands)))
        return handle

    def name(self, text: str) -> int:
        """The number that stands for a text in the e-graph."""
        if text not in self._numbers:
            self._numbers[text] = len(self.names)
            self.names.append(text)
        return self._numbers[text]

    def number(self, value: int) -> int:
        return self.bounded(self.node("Num", checked(value)), (value, value))

    def bounded(self, handle: int, bounds: Interval) -> int:
        """State bounds of a class; those that are known already are not stated again."""
        known = self.bounds.get(handle, EVERYTHING)
        lo, hi = min(max(bounds[0], known[0]), NUMBER_LIMIT), max(min(bounds[1], known[1]), -NUMBER_LIMIT)
        if (lo, hi) != known:
            self.facts["bounds"].append((handle, lo, hi))
            self.bounds[handle] = (lo, hi)
        return handle

    def linear_bounds(self, form: Linear) -> Interval:
        return form.bounds(lambda atom: self.bounds.get(atom, EVERYTHING))

    def sum(self, form: Linear) -> int:
        """The handle of a linear form."""
        if not form.terms:
            return self.number(form.constant)
        if form.single is not None:
            return form.single
        key = ("Sum", form)
        handle = self._made.get(key)
        if handle is None:
            lo, hi = self.linear_bounds(form)
            if lo > NUMBER_LIMIT or hi < -NUMBER_LIMIT:
                raise UnsupportedError(f"simplify: a sum reaches {lo}..{hi}, beyond 62 bits")
            # members gather under the handle, so every form needs one of its own
            handle = self._made[key] = self.new_handle()
            if len(form.terms) <= SHORT_SUM:
                flat = (value for atom, k in form.terms for value in (checked(k), atom))
                self.facts[f"Sum{len(form.terms)}"].append((handle, checked(form.constant), *flat))
            else:
                self.facts["term"] += [(handle, checked(k), atom) for atom, k in form.terms]
                self.facts["Sum"].append((handle, checked(form.constant)))
            self.bounded(handle, (lo, hi))
        return handle

    def same(self, a: int, b: int) -> None:
        """State that two index classes are equal."""
        self.facts["same"].append((a, b))

    def product(self, atoms: tuple[int, ...]) -> int:
        """The handle of a product of atoms; products among them are opened."""
        flat = tuple(sorted(f for atom in atoms for f in self.factors.get(atom, (atom,))))
        key = ("Prod", *flat)
        handle = self._made.get(key)
        if handle is None:
            handle = self._made[key] = self.new_handle()
            self.factors[handle] = flat
            self.facts["factor"] += [(handle, f, flat.count(f)) for f in dict.fromkeys(flat)]
            self.facts["Prod"].append((handle,))
        return handle

    def assumption(self, key: Key) -> int:
        """The number of an assumption."""
        return self._assumptions.setdefault(key, len(self._assumptions))

    # index terms ---------------------------------------------------------------------------------------------------
    def written(self, root: Index, reductions: tuple[Var, ...] = ()) -> int:
        """The handle of an index term of a tensor body as it is written; `reductions` are bound around it, innermost last."""
        done: dict[Index, int] = {}
        for term in walk(root):
            if isinstance(term, Const):
                done[term] = self.number(int(term.value))
            elif isinstance(term, Apply):
                done[term] = self.node(f"Raw{len(term.args)}", term.op, *(done[arg] for arg in term.args))
            else:
                assert isinstance(term, Var)
                if is_size(term):
                    done[term] = self.bounded(self.node("Var", term.name, term.lo, term.hi), term.bounds)
                    continue
                bound = reduction(len(reductions) - 1 - reductions.index(term), term.extent) if term in reductions else term
                done[term] = self._axis(bound)
        return done[root]

    def _axis(self, variable: Var) -> int:
        """A loop axis, or a reduction variable named by its de Bruijn index."""
        level = level_of(variable)
        if level is not None:
            return self.node("RAxis", level, variable.extent)
        position = position_of(variable)
        assert position is not None, variable
        return self.node("Axis", position, variable.extent)

    def index(self, root: Index, axes: bool = False) -> int:
        """The handle of an index term in n-ary form; with `axes` it is one of a tensor body."""
        return self.sum(self.linear(root, axes))

    def linear(self, root: Index, axes: bool = False) -> Linear:
        """The n-ary form of an index term.  The largest operand of nested `and` or `or` is the outermost: it is read under all others,
        and those say nothing that is given (rules/assumptions.py)."""
        if root not in self._linear:
            ordered = in_order(root, lambda operand: sum(1 for _ in walk(operand)))
            for term in walk(ordered):
                if term not in self._linear:
                    self._linear[term] = self._form(term, axes)
            self._linear[root] = self._linear[ordered]
        return self._linear[root]

    def is_plain(self, form: Linear) -> bool:
        """Whether a form is a sum of variables."""
        return all(atom in self._variables for atom, _ in form.terms)

    def spell(self, form: Linear) -> Index:
        """The term of a sum of variables."""
        return sum_term(form.constant, [(self._variables[atom], k) for atom, k in form.terms])

    def _form(self, term: Index, axes: bool) -> Linear:
        if isinstance(term, Const):
            return Linear(checked(int(term.value)))
        if max(map(abs, term.bounds)) >= NUMBER_LIMIT:
            raise UnsupportedError(f"simplify: `{term}` reaches {term.bounds}, beyond 62 bits")
        if isinstance(term, Var):
            if term.lo == term.hi and not axes:
                return Linear(term.lo)
            return Linear(0, ((self.bounded(self._variable(term, axes), term.bounds), 1),))
        assert isinstance(term, Apply)
        forms = [self._linear[arg] for arg in term.args]
        if term.op in ("add", "sub"):
            return forms[0].plus(forms[1], 1 if term.op == "add" else -1)
        if term.op == "neg":
            return forms[0].times(-1)
        if term.op == "mul":
            form = self.times(forms[0], forms[1])
            if len(form.terms) == 1 and form.terms[0][0] in self.factors and not form.constant:
                atom, k = form.terms[0]
                if k == 1:
                    self.bounded(atom, term.bounds)
            return form
        return self._operation(term, forms)

    def _variable(self, term: Var, axes: bool) -> int:
        handle = self._axis(term) if axes and not is_size(term) else self.node("Var", term.name, term.lo, term.hi)
        self._variables[handle] = term
        return handle

    def times(self, a: Linear, b: Linear) -> Linear:
        """The form of a product."""
        for x, y in ((a, b), (b, a)):
            if not x.terms:
                return y.times(x.constant)
        pulled, atoms = 1, []
        for form in (a, b):
            if len(form.terms) == 1 and not form.constant:
                atoms.append(form.terms[0][0])
                pulled *= form.terms[0][1]
            else:
                atoms.append(self.sum(form))
        handle = self.product(tuple(atoms))
        if handle not in self.bounds:
            parts = [self.bounds.get(atom, EVERYTHING) for atom in atoms]
            self.bounded(handle, interval.mul(parts[0], parts[1]))
        return Linear(0, ((handle, pulled),))

    def _operation(self, term: Apply, forms: list[Linear]) -> Linear:
        """The form of an operation that is no sum or product."""
        op = term.op
        if op in COMPARISONS:
            swap, strict = COMPARISONS[op]
            a, b = reversed(forms) if swap else forms
            return self._truth("Nonneg", b.plus(a, -1).plus(Linear(1), -strict))
        if op in ("eq", "ne"):
            equal = self._truth("Zero", forms[0].plus(forms[1], -1).unsigned)
            return equal if op == "eq" else self.negation(equal)
        if op == "int":
            return forms[0]
        if op in ("bool", "not", "and", "or"):
            forms = [self._condition(form, arg) for form, arg in zip(forms, term.args, strict=True)]
            if op in ("bool", "not"):
                return forms[0] if op == "bool" else self.negation(forms[0])
            op = "min" if op == "and" else "max"
        elif op == "where":
            forms[0] = self._condition(forms[0], term.args[0])
        args = [self.sum(form) for form in forms]
        if OPS[op].commutative:
            args.sort()
        return Linear(0, ((self.bounded(self.node(op.capitalize(), *args), term.bounds), 1),))

    def _truth(self, name: str, form: Linear) -> Linear:
        lo, hi = self.linear_bounds(form)
        if max(abs(lo), abs(hi)) >= NUMBER_LIMIT:
            raise UnsupportedError(f"simplify: a comparison reaches {lo}..{hi}, beyond 62 bits")
        holds = (lo >= 0, hi >= 0) if name == "Nonneg" else (lo == hi == 0, lo <= 0 <= hi)
        return Linear(0, ((self.bounded(self.node(name, self.sum(form)), (int(holds[0]), int(holds[1]))), 1),))

    def negation(self, form: Linear) -> Linear:
        """The form of `not p`."""
        lo, hi = self.linear_bounds(form)
        bounds = (max(1 - hi, 0), min(1 - lo, 1))
        return Linear(0, ((self.bounded(self.node("Not", self.sum(form)), bounds), 1),))

    def _condition(self, form: Linear, term: Index) -> Linear:
        """A truth value: of an integer, whether it is not zero."""
        if term.kind == "bool" or interval.within(term.bounds, interval.BOOL):
            return form
        return self.negation(self._truth("Zero", form.unsigned))


def checked(value: int) -> int:
    """`value` if egglog's 64-bit integers hold it with room to compute."""
    if abs(value) >= NUMBER_LIMIT:
        raise UnsupportedError(f"simplify: constant {value} is beyond 62 bits")
    return value
