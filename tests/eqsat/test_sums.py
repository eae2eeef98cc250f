"""Sum rows: every fact that they hand to the e-graph holds at all points; each is counted; bounds are those of ir.interval."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from eqsat.egraph.encode import Encoder
from eqsat.egraph.engine import Row
from eqsat.egraph.schema import OP_OF_NODE
from eqsat.egraph.snapshot import take_snapshot
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import OPS, Index, apply, minimum, var, variables
from eqsat.ir.interval import Interval
from eqsat.options import Limits
from eqsat.report import Report, StopReason
from eqsat.rules import TABLES, SumRow
from eqsat.rules.bounds import BOUNDS
from eqsat.saturate import PHASES, Session, engine_for
from tests.eqsat.egraph_model import Array, Model

NODES = 1000
SUMS = next(table for table in TABLES if table.name == "sums")
X, Y, Z = var("x", -7, 12), var("y", 0, 8), var("z", 3, 6)
ATOMS = (X, Y, Z, X % 4, X // 4, X % 6, Y % 3, Y // 3, (X + Y) // 5, (2 * X + Z) % 8, minimum(X, Z), X * Y)


@dataclass
class Watched(Session):
    """A session that keeps every fact that it loads."""

    loaded: list[tuple[str, Row]] = field(default_factory=list)

    def load(self) -> None:
        self.loaded += [(relation, row) for relation, found in self.encoder.facts.items() for row in found]
        super().load()


def saturated(terms: list[Index]) -> tuple[Watched, Model, list[Array]]:
    """A finished session on these terms, the model of its e-graph, and the values that the model gives the terms."""
    engine = engine_for()
    with engine.session():
        work = Watched(engine, TABLES, Limits(nodes=NODES), Report())
        handles = [work.encoder.index(term) for term in terms]
        model = Model(work.run(PHASES["index"]), variables=variables(*terms))
        return work, model, [model.index(handle) for handle in handles]


def false_facts(work: Watched, model: Model) -> list[tuple[str, Row]]:
    """The facts that do not hold at every point."""
    return [(relation, row) for relation, row in work.loaded if not _holds(relation, row, model)]


def _holds(relation: str, row: Row, model: Model) -> bool:
    args = [int(value) for value in row] if relation in FACTS else []
    return relation not in FACTS or bool(np.all(FACTS[relation](model, *args)))


FACTS: dict[str, Callable[..., Any]] = {
    "load_as-multiple": lambda m, s, d, q, r: m.index(s) == d * m.index(q) + m.index(r),
    "load_as-common": lambda m, s, d, g, q, r: (m.index(s) == g * m.index(q) + m.index(r)) & (d % g == 0),
    "load_as-offset": lambda m, s, x, c: m.index(s) == m.index(x) + c,
    "load_as-inner": lambda m, s, k, x, n, r: m.index(s) == k * (m.index(x) % n) + m.index(r),
    "load_as-pair": lambda m, s, a, x, b, y, r: m.index(s) == a * m.index(x) + b * m.index(y) + m.index(r),
    "load_residue": lambda m, x, d, top: m.index(x) % d <= top,
    "load_lo": lambda m, x, lo: m.index(x) >= lo,
    "load_hi": lambda m, x, hi: m.index(x) <= hi,
    "load_same": lambda m, x, y: m.index(x) == m.index(y),
}


def sums() -> st.SearchStrategy[Index]:
    coefficient = st.sampled_from((1, 2, 3, 4, 6, 8, 12, -1, -2, -4))
    scaled = st.tuples(st.sampled_from(ATOMS), coefficient).map(lambda pair: pair[0] * pair[1])
    parts = st.lists(scaled, min_size=1, max_size=3)
    return st.tuples(parts, st.integers(-9, 20)).map(lambda value: sum(value[0], apply("add", value[1], 0)))


def divisions() -> st.SearchStrategy[Index]:
    divisor = st.sampled_from((2, 3, 4, 6, 8, 12))
    return st.tuples(st.sampled_from(("floordiv", "mod")), sums(), divisor).map(lambda value: apply(*value))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.one_of(divisions(), sums()), min_size=1, max_size=5))
def test_every_fact_about_random_sums_and_every_form_of_them_holds_at_all_points(terms: list[Index]) -> None:
    work, model, values = saturated(terms)
    assert not false_facts(work, model)
    assert not model.violations()
    for term, value in zip(terms, values, strict=True):
        assert np.all(value == evaluate_index(term, {v: model.grid(v) for v in variables(*terms)})), term


def test_a_remainder_that_equals_remainders_of_its_own_sums_saturates() -> None:
    work, _, _ = saturated([(12 * X + 2 * (Y % 3)) % 12])
    assert work.report.stop_reason is StopReason.SATURATED


INSTANCES = {
    "flatten-sum": [(4 * X + Y + 3) // 4 + 1],
    "bounds-of-sum": [(X % 5 + 5 * (X // 5) + Y) // 3],
    "split-multiple": [(8 * X + Y) // 4],
    "split-common": [(4 * X + Z % 2) // 12],
    "split-offset": [(2 * X + 9) // 4],
    "split-inner": [(3 * (X % 12) + Y) % 4],
    "split-pair": [X % 4 + 4 * (X // 4) + Y],
}


@pytest.mark.parametrize("row", SUMS.rows, ids=lambda row: row.name)
def test_a_sum_row_is_counted_under_its_name(row: SumRow) -> None:
    work, model, _ = saturated(INSTANCES[row.name])
    assert not false_facts(work, model)
    assert not model.violations()
    assert work.report.matches[row.name] > 0


FALSE: dict[str, tuple[Any, ...]] = {
    "load_as-multiple": ("x", 2, "y", "y"),
    "load_as-common": ("x", 4, 2, "y", "y"),
    "load_as-offset": ("x", "y", 1),
    "load_as-inner": ("x", 2, "y", 5, "y"),
    "load_as-pair": ("x", 1, "y", 2, "y", "y"),
    "load_residue": ("x", 4, 2),
    "load_lo": ("x", -6),
    "load_hi": ("x", 11),
    "load_same": ("x", "y"),
}


def test_a_false_fact_of_every_kind_is_found() -> None:
    work, model, _ = saturated([X, Y])
    handle: dict[Any, Any] = {"x": work.encoder.index(X), "y": work.encoder.index(Y)}
    work.loaded = [(relation, tuple(handle.get(value, value) for value in row)) for relation, row in FALSE.items()]
    assert FALSE.keys() == FACTS.keys()
    assert false_facts(work, model) == work.loaded


# bounds --------------------------------------------------------------------------------------------------------------------

BOOLS = ((0, 0), (1, 1), (0, 1))


def operand_intervals(op: str, rng: random.Random) -> list[Interval]:
    """Random bounds for the operands of a node, within what its operation takes."""

    def spread(lo: int, hi: int) -> Interval:
        first, second = sorted((rng.randint(lo, hi), rng.randint(lo, hi)))
        return first, second

    if op in ("Floordiv", "Mod"):
        return [spread(-9, 9), rng.choice((spread(1, 12), (4, 4)))]
    if op == "Where":
        return [(0, 1), spread(-9, 9), spread(-9, 9)]
    if op in ("Not", "And", "Or", "Int"):
        return [rng.choice(BOOLS) for _ in range(OPS[OP_OF_NODE[op]].arity)]
    return [spread(-4, 4), spread(-4, 4)]


def computed(op: str, cases: list[list[Interval]]) -> list[Interval]:
    """The bounds that egglog derives for op(operands), from nothing but the bounds of the operands."""
    engine = engine_for()
    with engine.session():
        encoder = Encoder()
        handles = []
        for case in cases:
            below = [encoder.bounded(encoder.node("Var", f"v{k}", *span), span) for k, span in enumerate(case)]
            handles.append(encoder.node(op, *below))
        engine.load(encoder.take())
        engine.run("(repeat 2 (run bounds))")
        snapshot = take_snapshot(engine, encoder)
        return [snapshot.bounds[snapshot.name(handle)] for handle in handles]


@pytest.mark.parametrize("op", sorted({row.node for row in BOUNDS}))
def test_bounds_in_the_e_graph_are_those_of_the_interval_functions(op: str) -> None:
    rng = random.Random(op)
    cases = [operand_intervals(op, rng) for _ in range(400)]
    for case, found in zip(cases, computed(op, cases), strict=True):
        values = OPS[OP_OF_NODE[op]].evaluate(*np.ix_(*(np.arange(lo, hi + 1) for lo, hi in case)))
        assert found[0] <= values.min(), f"{op} of {case}"
        assert found[1] >= values.max(), f"{op} of {case}"
        assert found == OPS[OP_OF_NODE[op]].bounds(*case), f"{op} of {case}"
