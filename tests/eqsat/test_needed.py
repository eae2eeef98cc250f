"""Terms that share an e-graph: what only finished ones are made of leaves it, and the others become what they become alone."""

from __future__ import annotations

import pytest

from eqsat import simplifier
from eqsat.egraph.encode import Encoder
from eqsat.egraph.forms import Forms, index_children
from eqsat.egraph.needed import Needs
from eqsat.egraph.snapshot import Snapshot, written_snapshot
from eqsat.index_cost import index_cycles
from eqsat.ir.index import var
from eqsat.options import Limits, Options
from eqsat.report import Report
from eqsat.rules import all_tables
from eqsat.saturate import PHASES, Session, session
from tests.bench.index_families import FAMILIES, family

X, Y, Z = var("x", 0, 99), var("y", 0, 99), var("z", 0, 99)
QUICK, SLOW = X // 6 * 6 + X % 6 + Z, (Y * 160 + Z * 5 + X * 4 + 59) // 60


def finished_after_a_step(work: Session, quick: int) -> list[Snapshot]:
    """Saturate; the first root is finished as soon as it is seen -> the classes when the caller sees them."""
    seen: list[Snapshot] = []

    def finished(snapshot: Snapshot, forms: Forms, root: int, idle: bool) -> bool:
        seen.append(snapshot)
        return root == quick

    work.run(PHASES["index"], [quick, work.encoder.index(SLOW)], finished)
    return seen


def test_what_only_finished_terms_need_leaves_the_e_graph() -> None:
    encoder = Encoder()
    quick, slow = encoder.index(QUICK), encoder.index(SLOW)
    with session(all_tables(), Limits(), Report(), encoder=encoder, sorts=("Ix",)) as work:
        seen = finished_after_a_step(work, quick)
        last = work.snapshot()
    assert quick in seen[0].names["Ix"]
    assert quick not in last.names["Ix"]
    assert slow in last.names["Ix"]
    assert all(child in last.classes["Ix"] for nodes in last.classes["Ix"].values() for node in nodes for child in index_children(node))


def test_what_has_left_the_e_graph_can_come_back() -> None:
    encoder = Encoder()
    quick, _ = encoder.index(QUICK), encoder.index(SLOW)
    with session(all_tables(), Limits(), Report(), encoder=encoder, sorts=("Ix",)) as work:
        finished_after_a_step(work, quick)
        again = encoder.index(QUICK)
        assert again != quick
        snapshot = work.run(PHASES["index"])
        form = work.forms(snapshot)[snapshot.name(again)]
    assert form.op == "Sum"
    assert {snapshot.classes["Ix"][atom][0].op for atom, _ in form.args[1:]} == {"Var"}


def test_views_and_equalities_are_needed_with_what_they_are_about() -> None:
    encoder = Encoder()
    x, y = encoder.index(X // 4), encoder.index(Y // 4)
    a, b, whole = encoder.index(X + 7), encoder.index(Y + 7), encoder.index(Z + 7)
    needs = Needs(written_snapshot(encoder), encoder, {"as-multiple": [(x, 4, a, b)], "difference": [(x, y, whole)]})
    assert {x, a, b} <= needs.needed([x])
    assert whole not in needs.needed([x])
    assert whole in needs.needed([x, y])
    assert x not in needs.needed([y])
    encoder.same(y, a)
    assert a in Needs(written_snapshot(encoder), encoder, {}).needed([y])


def test_a_root_is_idle_if_nothing_that_it_needs_changed() -> None:
    encoder = Encoder()
    x, y = encoder.index(X // 4), encoder.index(Y // 4)
    a, b = encoder.index(X + 7), encoder.index(Y + 7)
    encoder.take()
    needs = Needs(written_snapshot(encoder), encoder, {"as-multiple": [(x, 4, a, b)]})
    assert needs.idle([x, y], []) == [x, y]
    assert needs.idle([x, y], [b]) == [y]
    assert needs.idle([x, y], [y]) == [x]
    encoder.same(x, a)
    assert Needs(written_snapshot(encoder), encoder, {}).idle([x, y], []) == [y]


def test_terms_together_cost_what_they_cost_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = [term for name in FAMILIES for term in family(name, 6, 5)]
    monkeypatch.setattr(simplifier, "ALONE_SIZE", 100)
    together = simplifier.simplify_all(terms, Options(), Report())
    monkeypatch.setattr(simplifier, "ALONE_SIZE", 0)
    alone = simplifier.simplify_all(terms, Options(), Report())
    assert sum(map(index_cycles, together)) == sum(map(index_cycles, alone))
