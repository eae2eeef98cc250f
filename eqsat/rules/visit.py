"""What sum rows see: the classes of one snapshot, their cheapest forms and linear forms, and an encoder for what they find.

Every row reads members through the cheapest well-founded form of each class, adds all its alternatives, and is remembered
under all forms that it read.  It looks at the classes that are fresh: they, or what they are made of, are not as the reading
before had them.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeVar

from eqsat.egraph.encode import EVERYTHING, NUMBER_LIMIT, Encoder
from eqsat.egraph.forms import SIGNS, Opener, Reading
from eqsat.egraph.linear import Linear
from eqsat.egraph.schema import SUM_OPS
from eqsat.egraph.snapshot import ENode
from eqsat.ir.errors import UnsupportedError
from eqsat.ir.interval import Interval
from eqsat.rules.row import SumRow

MAX_ALTERNATIVES = 3
UNKNOWN = ENode("Unknown", ())
# of what such a node is there are sums that are not negative
KNOWN_OF = ("Min", "Max", "Floordiv", "Mod", "Given")
# factors of products of which all corners are looked at
MOST_FACTORS = 4
T = TypeVar("T")
Division = tuple[str, int, int]


@dataclass
class Visit:
    """One look at the fresh classes of a reading; `seen` is kept between visits of one session."""

    reading: Reading
    encoder: Encoder
    seen: set[tuple[object, ...]]
    counts: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    memo: dict[str, dict[Any, Any]] = field(default_factory=dict)
    _opened: dict[int, list[Linear]] = field(default_factory=dict)
    _made: dict[Linear, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.forms, self.fresh = self.reading.forms, self.reading.fresh
        self.open = Opener(self.forms, self.encoder.product)
        self.classes = self.reading.snapshot.classes["Ix"]
        self.encoder.bounds.update(self.reading.snapshot.bounds)
        self.by_op: dict[str, list[tuple[int, ENode]]] = {}
        self._fresh_by_op: dict[str, list[tuple[int, ENode]]] = {}
        for name, nodes in self.classes.items():
            if name in self.forms and self.forms[name].op != "Num":
                for node in nodes:
                    self.by_op.setdefault(node.op, []).append((name, node))
                    if name in self.fresh:
                        self._fresh_by_op.setdefault(node.op, []).append((name, node))
        self._products = {name: node for name, node in self.by_op.get("Prod", ()) if self.forms[name].op == "Sum"}
        sums = dict.fromkeys(name for op in SUM_OPS for name, _ in self._fresh_by_op.get(op, ()))
        self.sums = {name: self._alternatives(name) for name in sums}

    def concerns(self, row: SumRow) -> bool:
        """Whether there is something that a row could find."""
        return row.visit is not None and not (row.needs and self.by_op.keys().isdisjoint(row.needs))

    def run(self, row: SumRow) -> None:
        """A row that the visit concerns looks; what it finds is left in the encoder."""
        assert row.visit is not None
        started = perf_counter()
        row.visit(self)
        self.seconds[row.name] = perf_counter() - started

    def _alternatives(self, name: int) -> list[Linear]:
        """The linear forms of a class; the one of its cheapest node first, sums as they stand last; none of what is no sum."""
        if name not in self.forms or self.forms[name].op == "Num":
            return []
        nodes = [n for n in (self.forms[name], *self.classes[name]) if n.op in SUM_OPS and all(c in self.forms for c in members(n))]
        opened = [self.open.of_node(n) for n in nodes]
        standing = [Linear.of(n.args[0], map(self._as_product, n.args[1:])) for n in nodes if n.op == "Sum"]
        return list(dict.fromkeys((*opened, *standing)))

    def _as_product(self, term: tuple[int, int]) -> tuple[int, int]:
        """A term of a sum; one that is cheapest as a sum, but a product too, as the product, for rows that look for factors."""
        product = self._products.get(term[0])
        return term if product is None else (self.encoder.product(product.args), term[1])

    def once(self, what: str, key: Hashable, find: Callable[[], T]) -> T:
        """What is found, looked for once in this visit."""
        known: dict[Hashable, T] = self.memo.setdefault(what, {})
        if key not in known:
            known[key] = find()
        return known[key]

    # what there is -------------------------------------------------------------------------------------------------
    def nodes(self, *ops: str) -> Iterator[tuple[int, ENode]]:
        """(class, node) of the nodes of these kinds in fresh classes that are no constant."""
        for op in ops:
            yield from self._fresh_by_op.get(op, ())

    def form(self, name: int) -> Linear:
        """The cheapest linear form of a class."""
        return self.open.of_class(name)

    def node(self, name: int) -> ENode:
        """The cheapest node of a class; of one that this visit made, a leaf."""
        return self.forms.get(name, UNKNOWN)

    def node_as(self, name: int, op: str) -> ENode:
        """The cheapest node of a class, or, of a quotient that is a remainder too, the one that is asked for if it costs no more."""
        node = self.node(name)
        if node.op not in ("Floordiv", "Mod") or node.op == op:
            return node
        others = (other for other in self.classes.get(name, ()) if other.op == op)
        return next((other for other in others if self.reading.cost_of(other) <= self.reading.cost[name]), node)

    def constant(self, name: int) -> int | None:
        """The constant that a class is."""
        return self.reading.constant(name)

    def bounds(self, name: int) -> Interval:
        return self.encoder.bounds.get(name, EVERYTHING)

    def is_truth(self, name: int) -> bool:
        """Whether a class is 0 or 1."""
        lo, hi = self.bounds(name)
        return lo >= 0 and hi <= 1

    def divisions(self) -> dict[Division, None]:
        """(op, class of the dividend, constant divisor) of every division by a positive constant of what is not postponed."""
        found: dict[Division, None] = {}
        for _, node in self.nodes("Floordiv", "Mod"):
            divisor = self.constant(node.args[1])
            if divisor is not None and divisor > 0 and node.args[0] not in self.reading.postponed:
                found[node.op, node.args[0], divisor] = None
        return found

    def signs(self) -> dict[tuple[str, int], None]:
        """(kind, class of the sum) of every comparison."""
        return dict.fromkeys((node.op, node.args[0]) for _, node in self.nodes(*SIGNS))

    def alternatives(self, name: int) -> list[Linear]:
        """The first linear forms of a class; atoms that are known to be m*q + r also written so."""
        if name not in self._opened:
            forms = (self.sums.get(name) or self._alternatives(name))[:MAX_ALTERNATIVES] or [Linear(0, ((name, 1),))]
            if "Given" in self.by_op:
                forms += [other for form in forms[:1] if (other := self._stepped(form)) not in forms]
            self._opened[name] = forms
        return self._opened[name]

    def _stepped(self, form: Linear) -> Linear:
        """A sum over q in place of each atom that is m*q + r under an assumption, or a product with one, for that way to write the atom
        that has the largest m."""
        for atom, k in form.terms:
            step = self._step(atom)
            if step is not None:
                form = form.without(atom).plus(step, k)
            elif self.node(atom).op == "Prod":
                form = form.without(atom).plus(self._stepped_product(atom), k)
        return form

    def _stepped_product(self, atom: int) -> Linear:
        """A product, over q in place of one factor that is m*q, if there is such a one."""
        factors = list(self.node(atom).args)
        for factor in factors:
            step = self._step(factor)
            if step is not None and not step.constant:
                factors.remove(factor)
                ((quotient, m),) = step.terms
                return Linear(0, ((self.encoder.product((*factors, quotient)), m),))
        return Linear(0, ((atom, 1),))

    def _step(self, atom: int) -> Linear | None:
        """The way to write a given atom as m*q + r with the largest m."""
        if self.node(atom).op != "Given":
            return None
        steps = [node for node in self.classes[atom] if node.op == "Sum" and len(node.args) == 2]
        step = max(steps, key=lambda node: abs(node.args[1][1]), default=None)
        return Linear(step.args[0], step.args[1:]) if step is not None else None

    def cycles(self, form: Linear) -> float:
        """What writing a sum costs."""
        return self.reading.weights.sum_cycles(form.constant, tuple(k for _, k in form.terms))

    def all_cycles(self, form: Linear) -> float:
        """What a sum and all that it is made of cost."""
        return self.cycles(form) + sum(self.reading.cost.get(atom, math.inf) for atom, _ in form.terms)

    # what rows say -------------------------------------------------------------------------------------------------
    def first(self, row: str, *key: object) -> bool:
        """Whether this row meets this key for the first time; counts it."""
        if (row, *key) in self.seen:
            return False
        self.seen.add((row, *key))
        self.counts[row] += 1
        return True

    def reads(self, forms: Mapping[int, Linear | ENode]) -> None:
        """Note the forms of classes that what is stated next rests on; for who writes down reasons (replay.py)."""

    def changed(self, row: str, key: object, forms: Sequence[Linear]) -> bool:
        """Whether these forms, or bounds of their atoms, are others than when this row last looked at this key."""
        signature = (row, key, tuple(forms), tuple(self.bounds(atom) for form in forms for atom, _ in form.terms))
        if signature in self.seen:
            return False
        self.seen.add(signature)
        return True

    def state(self, relation: str, *operands: int) -> None:
        """State a fact, if its numbers can be stated."""
        if all(abs(operand) < NUMBER_LIMIT for operand in operands):
            self.encoder.facts[relation].append(operands)

    def sum(self, form: Linear) -> int:
        """The class of a linear form, with the bounds that it has as a whole; an empty class if 62 bits cannot hold it."""
        if form not in self._made:
            self._made[form] = self._sum(form)
        return self._made[form]

    def _sum(self, form: Linear) -> int:
        try:
            handle = self.encoder.sum(form)
        except UnsupportedError:
            return self.encoder.new_handle()
        if len(form.terms) > 1:
            self.encoder.bounded(handle, self.bounds_of(form))
        return handle

    def truth(self, node: str, *operands: int) -> int:
        """The class of a comparison or of an operation on truth values."""
        return self.encoder.bounded(self.encoder.node(node, *operands), (0, 1))

    def difference(self, x: int, y: int) -> None:
        """State x - y and y - x."""
        form = self.form(x).plus(self.form(y), -1)
        self.state("difference", x, y, self.sum(form))
        self.state("difference", y, x, self.sum(form.times(-1)))

    # bounds --------------------------------------------------------------------------------------------------------
    def bounds_of(self, form: Linear) -> Interval:
        """Bounds of a sum: those of its terms, sharpened by what its atoms are known to be."""
        lo, hi = plain = self.encoder.linear_bounds(form)
        if (corners := self._corners(form)) is not None:
            lo, hi = max(lo, corners[0]), min(hi, corners[1])
        for atom, k in form.terms if len(form.terms) > 1 else ():
            for fact, f in self.facts(atom):
                if f and k % f == 0:
                    end = self._end_without(form, plain, fact, k // f)
                    lo, hi = (max(lo, end), hi) if k // f > 0 else (lo, min(hi, end))
        return lo, hi

    def _corners(self, form: Linear) -> Interval | None:
        """Bounds of a sum in which products share factors with each other, or with its other terms: linear in each factor, it is least and
        greatest where all of them are; None where it is not, or of too many."""
        products = {atom: found for atom, _ in form.terms if (found := self.encoder.factors.get(atom))}
        every = [factor for found in products.values() for factor in found]
        shared = dict.fromkeys(every)
        if not every or len(shared) > MOST_FACTORS or any(len(set(found)) < len(found) for found in products.values()):
            return None
        ends = [self.bounds(factor) for factor in shared]
        if (len(shared) == len(every) and shared.keys().isdisjoint(atom for atom, _ in form.terms)) or any(
            lo <= -NUMBER_LIMIT or hi >= NUMBER_LIMIT for lo, hi in ends
        ):
            return None
        rest_lo, rest_hi = self.encoder.linear_bounds(
            Linear(form.constant, tuple((atom, k) for atom, k in form.terms if atom not in products and atom not in shared))
        )
        values: list[int] = []
        for corner in itertools.product(*ends):
            at = dict(zip(shared, corner, strict=True))
            values.append(
                sum(k * math.prod(at[factor] for factor in products.get(a, (a,))) for a, k in form.terms if a in products or a in at)
            )
        return rest_lo + min(values), rest_hi + max(values)

    def _end_without(self, form: Linear, plain: Interval, fact: Linear, t: int) -> int:
        """A lower bound of form - t*fact for t > 0, an upper one for t < 0, and so of the form, as fact >= 0; it differs from the bound
        that the form has by its terms in the terms of the fact alone."""
        known, upper = dict(form.terms), t < 0
        end = plain[upper] - t * fact.constant
        for atom, c in fact.terms:
            bounds, k = self.bounds(atom), known.get(atom, 0)
            left = k - t * c
            end += left * bounds[(left > 0) == upper] - k * bounds[(k > 0) == upper]
        return end

    def facts(self, atom: int) -> list[tuple[Linear, int]]:
        """Sums that are not negative, for what this atom is: of min, max, quotient and remainder of a term; and its coefficient there."""
        node = self.forms.get(atom)
        if node is None or node.op not in KNOWN_OF:
            return []
        if node.op == "Given":
            return [(fact, fact.coefficient(atom)) for fact in self.encoder.relations.get(atom, ())]
        return self.once("facts", atom, lambda: [(fact, fact.coefficient(atom)) for fact in self._facts_of(Linear(0, ((atom, 1),)), node)])

    def _facts_of(self, this: Linear, node: ENode) -> Iterator[Linear]:
        x, y = (self.form(arg) for arg in node.args)
        if node.op in ("Min", "Max"):
            sign = 1 if node.op == "Min" else -1
            yield x.plus(this, -1).times(sign)
            yield y.plus(this, -1).times(sign)
        elif self.bounds(node.args[1])[0] > 0:
            if node.op == "Mod":
                yield y.plus(this, -1).plus(Linear(-1))
            elif not y.terms:
                rest = x.plus(this, -y.constant)
                yield rest
                yield Linear(y.constant - 1).plus(rest, -1)
            if (node.op == "Mod" or y.terms) and self.bounds(node.args[0])[0] >= 0:
                yield x.plus(this, -1)


def members(node: ENode) -> tuple[int, ...]:
    """The classes that a sum or product is made of."""
    if node.op == "Num":
        return ()
    if node.op == "Sum":
        return tuple(atom for atom, _ in node.args[1:])
    return (node.args[1],) if node.op == "Scale" else tuple(node.args)
