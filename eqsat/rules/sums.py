"""Sum rows: equalities and views of n-ary nodes, found in Python between egglog runs.

Every row reads members through the cheapest well-founded form of each class, adds all its alternatives, and is remembered
under all forms that it read.  Views state nothing but a way to write a sum:
    as-multiple S d q r   S = d*q + r, no coefficient of r divisible by d, 0 <= constant of r < d
    as-common S d g q r   S = g*q + r, g divides d, no coefficient of r divisible by g, 0 <= constant of r < g
    as-offset S x c       S = x + c
    as-inner S k x m r    S = k*(x % m) + r, for the cheapest form x % m of a term
    as-pair S a x b y r   S = a*x + b*y + r, x a remainder and b = a * (its divisor)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import gcd

from eqsat.egraph.encode import LIMIT, Encoder, Linear
from eqsat.egraph.forms import cheapest_forms, linear_of
from eqsat.egraph.snapshot import ENode, Snapshot
from eqsat.ir import interval
from eqsat.ir.interval import Interval
from eqsat.rules.row import SumRow, Table

SUMS = Table(
    "sums",
    "index",
    "sums are n-ary: their canonical form, bounds, and the ways to write them that the identities need",
    (
        SumRow(
            "flatten-sum",
            "(p + q) + k*(q + c) = p + (1+k)*q + k*c",
            "associativity, commutativity, like terms and distribution of constants",
        ),
        SumRow("bounds-of-sum", "lo and hi of c + k*p + ..  and of p*q", "interval arithmetic"),
        SumRow(
            "split-multiple", "S = d*q + r  under S // d and S % d", "terms with coefficients divisible by d, and the constant's quotient"
        ),
        SumRow("split-common", "S = g*q + r  under S // d and S % d", "for every g = gcd(d, coefficient)"),
        SumRow("split-offset", "S = x + c", "with the largest remainder that x can have"),
        SumRow("split-inner", "S = k*(x % m) + r", "each remainder among the terms"),
        SumRow("split-pair", "S = c*(x % n) + c*n*y + r", "pairs that a div/mod identity may join"),
    ),
)

MAX_ALTERNATIVES = 3
LEAVES = ("Num", "Var", "Axis", "RAxis")
SUM_OPS = ("Sum", "Add", "Scale", "Prod")


@dataclass
class SumPass:
    """One visit of all n-ary nodes; `seen` is kept between visits of one session."""

    snapshot: Snapshot
    encoder: Encoder
    enabled: frozenset[str]
    seen: set[tuple[object, ...]]
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.forms = cheapest_forms(self.snapshot)
        self.linear = linear_of(self.forms, self.encoder.product)
        self.classes = self.snapshot.classes["Ix"]
        for name, bounds in self.snapshot.bounds.items():
            self.encoder.bounds[name] = bounds

    def run(self) -> None:
        """All enabled rows; what they found is left in the encoder."""
        sums = {name: forms for name in self.classes if (forms := self.alternatives(name))}
        if "flatten-sum" in self.enabled:
            for name, forms in sums.items():
                self.flatten(name, forms)
        if "bounds-of-sum" in self.enabled:
            for name, forms in sums.items():
                self.bound(name, forms)
        for name, forms in sums.items():
            for form in forms:
                self.pairs(name, form)
        for op, numerator, divisor in self.divisions():
            if self.forms[numerator].op in SUM_OPS:
                for form in sums[numerator][:MAX_ALTERNATIVES]:
                    self.split(op, numerator, divisor, form)

    def alternatives(self, name: int) -> list[Linear]:
        """The linear forms of a class that is no constant; the one of its cheapest node first, sums as they stand last."""
        node = self.forms.get(name)
        if node is None or node.op == "Num":
            return []
        nodes = [n for n in (node, *self.classes[name]) if n.op in SUM_OPS and all(c in self.forms for c in _members(n))]
        opened = [self.linear(n) for n in nodes]
        standing = [Linear.of(n.args[0], n.args[1:]) for n in nodes if n.op == "Sum"]
        return list(dict.fromkeys((*opened, *standing)))

    def divisions(self) -> Iterator[tuple[str, int, int]]:
        """(op, class of the dividend, constant divisor) of every division by a positive constant."""
        found: dict[tuple[str, int, int], None] = {}
        for nodes in self.classes.values():
            for node in nodes:
                if node.op in ("Floordiv", "Mod"):
                    divisor = self.forms.get(node.args[1])
                    if divisor is not None and divisor.op == "Num" and divisor.args[0] > 0:
                        found[node.op, node.args[0], divisor.args[0]] = None
        yield from found

    def first(self, row: str, *key: object) -> bool:
        """Whether this row meets this key for the first time; counts it."""
        if row not in self.enabled or (row, *key) in self.seen:
            return False
        self.seen.add((row, *key))
        self.counts[row] += 1
        return True

    # rows ----------------------------------------------------------------------------------------------------------
    def flatten(self, name: int, forms: list[Linear]) -> None:
        present = {Linear.of(n.args[0], n.args[1:]) for n in self.classes[name] if n.op == "Sum"}
        for form in forms:
            opened_product = form.single in self.encoder.factors
            if form not in present and form.single != name and not opened_product and self.first("flatten-sum", name, form):
                self.encoder.same(name, self.encoder.sum(form))

    def bound(self, name: int, forms: list[Linear]) -> None:
        for form in forms:
            lo, hi = self.encoder.linear_bounds(form)
            if form.single is None and lo > -LIMIT and hi < LIMIT:
                self.tighten(name, (lo, hi))
        for node in self.classes[name]:
            if node.op == "Prod" and len(node.args) == 2 and all(arg in self.encoder.bounds for arg in node.args):
                self.tighten(name, interval.mul(*(self.encoder.bounds[arg] for arg in node.args)))

    def tighten(self, name: int, bounds: Interval) -> None:
        known = self.encoder.bounds.get(name)
        self.encoder.bounded(name, bounds)
        self.counts["bounds-of-sum"] += self.encoder.bounds[name] != known

    def pairs(self, name: int, form: Linear) -> None:
        remainders = [(atom, k, n) for atom, k in form.terms for n in self.moduli(atom)]
        for atom, k, n in remainders:
            for other, m in form.terms:
                if m == k * n and other != atom and self.first("split-pair", name, form, atom, other):
                    rest = Linear(form.constant, tuple(t for t in form.terms if t[0] not in (atom, other)))
                    self.encoder.facts["as-pair"].append((name, k, atom, m, other, self.encoder.sum(rest)))

    def moduli(self, name: int) -> list[int]:
        """The constants n for which the class holds a remainder x % n; none for a leaf, which is its own remainder.

        A product that this pass made is not in the e-graph yet, and holds none.
        """
        if name not in self.forms or self.forms[name].op in LEAVES:
            return []
        divisors = (self.forms.get(node.args[1]) for node in self.classes.get(name, ()) if node.op == "Mod")
        return list(dict.fromkeys(d.args[0] for d in divisors if d is not None and d.op == "Num"))

    def split(self, op: str, name: int, d: int, form: Linear) -> None:
        self.split_multiple(name, d, form)
        self.split_common(name, d, form)
        if op == "Floordiv":
            self.split_offset(name, d, form)
        else:
            self.split_inner(name, d, form)

    def split_multiple(self, name: int, d: int, form: Linear) -> None:
        quotient = Linear(form.constant // d, tuple((a, k // d) for a, k in form.terms if k % d == 0))
        if (quotient.terms or quotient.constant) and self.first("split-multiple", name, d, form):
            rest = Linear(form.constant % d, tuple((a, k) for a, k in form.terms if k % d))
            self.encoder.facts["as-multiple"].append((name, d, self.encoder.sum(quotient), self.encoder.sum(rest)))

    def split_common(self, name: int, d: int, form: Linear) -> None:
        factors = dict.fromkeys((gcd(d, *(k for _, k in form.terms)), *(gcd(d, k) for _, k in form.terms)))
        for g in factors:
            if 1 < g < d and self.first("split-common", name, d, g, form):
                quotient = Linear(form.constant // g, tuple((a, k // g) for a, k in form.terms if k % g == 0))
                rest = Linear(form.constant % g, tuple((a, k) for a, k in form.terms if k % g))
                self.encoder.facts["as-common"].append((name, d, g, self.encoder.sum(quotient), self.encoder.sum(rest)))

    def split_offset(self, name: int, d: int, form: Linear) -> None:
        if form.constant and self.first("split-offset", name, d, form):
            bare = Linear(0, form.terms)
            handle = self.encoder.sum(bare)
            self.encoder.facts["as-offset"].append((name, handle, form.constant))
            self.encoder.facts["residue"].append((handle, d, self.residue(bare, d)))

    def split_inner(self, name: int, d: int, form: Linear) -> None:
        for atom, k in form.terms:
            node = self.forms[atom]
            modulus = self.forms[node.args[1]] if node.op == "Mod" else None
            if modulus is not None and modulus.op == "Num" and modulus.args[0] % d == 0 and self.first("split-inner", name, form, node):
                rest = Linear(form.constant, tuple(t for t in form.terms if t[0] != atom))
                self.encoder.facts["as-inner"].append((name, k, node.args[0], modulus.args[0], self.encoder.sum(rest)))

    def residue(self, form: Linear, d: int) -> int:
        """The largest value of (sum of terms) % d: a multiple of gcd(d, coefficients), or within one bucket its end."""
        g = gcd(d, *(k for _, k in form.terms))
        lo, hi = self.encoder.linear_bounds(form)
        return min(d - g, hi % d) if lo // d == hi // d else d - g


def _members(node: ENode) -> tuple[int, ...]:
    if node.op == "Sum":
        return tuple(atom for atom, _ in node.args[1:])
    return (node.args[1],) if node.op == "Scale" else tuple(node.args)
