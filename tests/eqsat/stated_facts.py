"""What the encoder states, relation by relation, checked against the model of the e-graph at all points of the variables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from eqsat.egraph.engine import Row
from eqsat.egraph.schema import CONSTRUCTORS, PENDING_NODES, loadable
from eqsat.egraph.snapshot import ENode
from eqsat.ir.index import Index, variables
from eqsat.options import Limits
from eqsat.report import Report
from eqsat.rules import TABLES, Table
from eqsat.saturate import PHASES, Session, engine_for
from tests.eqsat.egraph_model import Array, Model

SORTS = ("Ix",)
NODES = 1000
Fact = tuple[str, Row]
# all that a session of index terms can state; pending substitutions are made by rules of tensors only
STATED = frozenset(loadable(SORTS)) - {node.name for node in PENDING_NODES} - {"same tensor"}


@dataclass
class Watched(Session):
    """A session that keeps every fact that it loads."""

    loaded: list[Fact] = field(default_factory=list)

    def load(self) -> None:
        self.loaded += [(relation, row) for relation, found in self.encoder.facts.items() for row in found]
        super().load()


def saturated(
    terms: Sequence[Index], tables: tuple[Table, ...] = TABLES, prepare: Callable[[Session], object] = lambda work: None, nodes: int = NODES
) -> tuple[Watched, Model, list[Array]]:
    """A finished session on these terms, the model of its e-graph, and the values that the model gives the terms."""
    engine = engine_for(tables, SORTS)
    with engine.session():
        work = Watched(engine, tables, Limits(nodes=nodes), Report(), sorts=SORTS)
        prepare(work)
        handles = [work.encoder.index(term) for term in terms]
        model = Model(work.run(PHASES["index"]), variables=variables(*terms), relations=work.encoder.relations)
        return work, model, [model.index(handle) for handle in handles]


def false_facts(work: Watched, model: Model) -> list[Fact]:
    """The facts that do not hold at every point; KeyError for a relation of which this module does not know what it states."""
    checker = _Checker(work, model)
    return [(relation, row) for relation, row in work.loaded if not checker.holds(relation, row)]


def unequal(facts: Any) -> bool:
    """Whether a comparison of masked arrays fails at a point where both sides have a value."""
    return not np.ma.filled(facts, True).all()


def nonzero(values: Any) -> Any:
    """A divisor, masked where it is zero."""
    return np.ma.masked_array(np.where(values == 0, 1, values), mask=np.ma.getmaskarray(values) | (values == 0))


class _Checker:
    """Reads rows as statements; members of long sums and products are gathered first."""

    def __init__(self, work: Watched, model: Model) -> None:
        self.model, self.names = model, work.encoder.names
        self.terms: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self.factors: defaultdict[int, list[int]] = defaultdict(list)
        self.finished = {(relation, row[0]) for relation, row in work.loaded if relation in ("Sum", "Prod")}
        for relation, row in work.loaded:
            if relation == "term":
                self.terms[row[0]].append((row[1], row[2]))
            elif relation == "factor":
                self.factors[row[0]] += [row[1]] * row[2]

    def holds(self, relation: str, row: Row) -> bool:
        if relation in ("term", "factor"):
            return ({"term": "Sum", "factor": "Prod"}[relation], row[0]) in self.finished
        if relation in ("Sum", "Sum1", "Sum2", "Sum3"):
            handle, constant, *flat = row
            parts = self.terms[handle] if relation == "Sum" else list(zip(flat[::2], flat[1::2], strict=True))
            return bool(parts) and not unequal(self(handle) == constant + sum(k * self(atom) for k, atom in parts))
        if relation == "Prod":
            return bool(self.factors[row[0]]) and not unequal(self(row[0]) == prod(map(self, self.factors[row[0]])))
        if relation in VIEW_MEANING:
            return not unequal(VIEW_MEANING[relation](self, *row))
        if relation not in STATED:
            raise KeyError(relation)
        return self._is_node(relation, row)

    def _is_node(self, relation: str, row: Row) -> bool:
        name = self.model.snapshot.name
        kinds = {"i64": int, "Name": self.names.__getitem__, "Ix": name}
        operands = tuple(kinds[sort](value) for sort, value in zip(CONSTRUCTORS[relation].operands, row[1:], strict=True))  # type: ignore[operator]
        return self.model.gives(ENode(relation, operands), name(row[0]))

    def __call__(self, handle: int) -> Any:
        """The value of a class, masked where it has none; divisions mask zero divisors."""
        return np.ma.asarray(self.model.index(handle))


VIEW_MEANING: dict[str, Callable[..., Any]] = {
    "as-multiple": lambda v, s, d, q, r: v(s) == d * v(q) + v(r),
    "as-common": lambda v, s, d, g, q, r: (v(s) == g * v(q) + v(r)) & (d % g == 0),
    "as-offset": lambda v, s, x, c: v(s) == v(x) + c,
    "as-inner": lambda v, s, k, x, n, r: v(s) == k * (v(x) % n) + v(r),
    "as-quotient": lambda v, s, k, x, n, r: v(s) == k * (v(x) // n) + v(r),
    "as-scaled": lambda v, s, g, q, r: v(s) == g * v(q) + v(r),
    "as-step": lambda v, s, k, x, c: v(s) == k * v(x) + c,
    "as-multiple-of": lambda v, s, z, q, r: v(s) == v(z) * v(q) + v(r),
    "as-common-of": lambda v, s, d, z, q, w, r: (v(s) == v(z) * v(q) + v(r)) & (v(d) == v(z) * v(w)),
    "as-product": lambda v, s, z, w: v(s) == v(z) * v(w),
    "as-pair": lambda v, s, a, x, b, y, r: v(s) == a * v(x) + b * v(y) + v(r),
    "quotient": lambda v, s, x, n: v(s) == v(x) // n,
    "remainder": lambda v, s, x, n: v(s) == v(x) % n,
    "quotient-of": lambda v, s, x, z: v(s) == v(x) // nonzero(v(z)),
    "remainder-of": lambda v, s, x, z: v(s) == v(x) % nonzero(v(z)),
    "difference": lambda v, x, y, d: v(d) == v(x) - v(y),
    "total": lambda v, x, y, e: v(e) == v(x) + v(y),
    "residue": lambda v, x, d, top: v(x) % d <= top,
    "lo": lambda v, x, lo: v(x) >= lo,
    "hi": lambda v, x, hi: v(x) <= hi,
    "bounds": lambda v, x, lo, hi: (v(x) >= lo) & (v(x) <= hi),
    "same": lambda v, x, y: v(x) == v(y),
}
