"""The recorded e-graph is that of egglog's tables, and that from which `optimize` extracts."""

from __future__ import annotations

from typing import Any

import pytest

import eqsat
from eqsat.capture.place_checks import explicit
from eqsat.egraph.encode import Encoder
from eqsat.egraph.settled import is_settled
from eqsat.egraph.snapshot import Snapshot
from eqsat.exploring import EGraph
from eqsat.extraction.cheapest import cheapest_outputs
from eqsat.indices.simplifier import limits_for
from eqsat.ir.errors import UsageError
from eqsat.ir.index import Index
from eqsat.ir.steps import take_apart
from eqsat.journal import Journal, Ran, Transcript
from eqsat.options import Options
from eqsat.pricing.costs import cost
from eqsat.report import Report, StopReason
from eqsat.rules import TABLES
from eqsat.saturate import PHASES, Session, session
from tests.eqsat.exploring.egraphs import PROGRAMS, TERMS, X, Y, egraph, shuffled_sines

SATURATED = [name for name in TERMS if name != "plain"]
ROWS = {row.name for table in TABLES for row in table.rows}


def tables_of(term: Index) -> Snapshot:
    """What egglog holds when a term is saturated in a session of its own, with what sum rows found last."""
    options, encoder = Options(), Encoder()
    root = encoder.index(term)
    with session(options.tables, limits_for(options.limits, [term]), Report(), encoder=encoder, sorts=("Ix",)) as work:
        work.run(
            PHASES["index"],
            lambda found: StopReason.SATURATED if is_settled(found.forms, found.snapshot.bounds, found.snapshot.name(root)) else None,
        )
        work.load()
        return work.snapshot()


def tables_of_program(program: eqsat.Program, monkeypatch: pytest.MonkeyPatch) -> Snapshot:
    """What egglog holds when a program is extracted, with what sum rows found last."""
    found: list[Snapshot] = []
    sessions: list[Session] = []
    run = Session.run

    def kept(self: Session, *args: Any) -> Snapshot:
        sessions.append(self)
        return run(self, *args)

    def look(self: Transcript, extraction: object) -> None:
        sessions[-1].load()
        found.append(sessions[-1].snapshot())

    with monkeypatch.context() as patched:
        patched.setattr(Session, "run", kept)
        patched.setattr(Transcript, "extracted", look)
        written, _ = explicit(take_apart(program))
        cheapest_outputs(written.around, cost(written.around, Options().target), Options(), Report(journal=Journal()))
    return found[-1]


@pytest.mark.parametrize("name", SATURATED)
def test_counts_of_a_term_are_those_of_the_tables(name: str) -> None:
    graph, snapshot = egraph(name), tables_of(TERMS[name])
    assert (len(graph.nodes), len(graph.classes)) == (snapshot.nodes, snapshot.size)


@pytest.mark.parametrize("name", PROGRAMS)
def test_counts_of_a_program_are_those_of_the_tables(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, snapshot = egraph(name), tables_of_program(PROGRAMS[name], monkeypatch)
    assert (len(graph.nodes), len(graph.classes)) == (snapshot.nodes, snapshot.size)


@pytest.mark.parametrize("name", [*TERMS, *PROGRAMS])
def test_every_step_counts_as_the_tables_did(name: str) -> None:
    graph = egraph(name)
    for number, step in enumerate(graph.steps):
        then = graph.at(number)
        assert (len(then.nodes), len(then.classes)) == (step.nodes, step.classes)
    assert graph.at(len(graph.steps) - 1).classes == graph.classes


@pytest.mark.parametrize("name", [*TERMS, *PROGRAMS])
def test_every_node_is_of_a_row_or_written(name: str) -> None:
    graph = egraph(name)
    for node in graph.history:
        assert set(node.rules) <= ROWS
        if node.step > 0:
            assert node.rules, str(node)
    assert sum(sum(step.added.values()) for step in graph.steps) == len(graph.history)


@pytest.mark.parametrize("name", [*TERMS, *PROGRAMS])
def test_operands_are_classes_of_the_graph(name: str) -> None:
    graph = egraph(name)
    known = {eclass.id for eclass in graph.classes}
    assert known.issuperset(operand for node in graph.nodes for operand in node.operands)
    assert known.issuperset(graph.roots)


def extracted(graph: EGraph, root: int) -> set[int]:
    """The classes that chosen nodes lead to."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        if (here := stack.pop()) not in seen:
            seen.add(here)
            stack += [operand for node in graph[here].nodes if node.chosen for operand in node.operands]
    return seen


@pytest.mark.parametrize("name", [*TERMS, *PROGRAMS])
def test_the_chosen_nodes_make_up_one_term(name: str) -> None:
    graph = egraph(name)
    reached = set().union(*(extracted(graph, root) for root in graph.roots))
    assert all(sum(node.chosen for node in graph[id].nodes) == 1 for id in reached)
    assert reached == {eclass.id for eclass in graph.classes if eclass.chosen}


@pytest.mark.parametrize("name", TERMS)
def test_the_chosen_nodes_spell_what_optimize_extracts(name: str) -> None:
    graph, found = egraph(name), eqsat.optimize(TERMS[name]).expr
    for x in (0, 3, 17, 31):
        for y in (0, 5, 99, 100):
            assert value(graph, graph.roots[0], {"x": x, "y": y}) == int(eval(str(found), EVALUATED, {"x": x, "y": y}))


EVALUATED = {"min": min, "max": max, "abs": abs, "where": lambda p, a, b: a if p else b, "int": int, "bool": bool}


def value(graph: EGraph, root: int, variables: dict[str, int]) -> int:
    """The value of what was extracted, from the texts of the chosen nodes."""
    node = next(node for node in graph[root].nodes if node.chosen)
    text = node.template.format(*(f"({value(graph, operand, variables)})" for operand in node.operands))
    return int(eval(text, EVALUATED, dict(variables)))


def test_the_rule_of_the_identity_made_the_sum_that_is_the_variable() -> None:
    graph = egraph("identity")
    root = graph[graph.roots[0]]
    assert {str(node): node.rules for node in root.nodes if node.step} == {
        "c2 + c0": ("div-mod-identity",),
        "1*c2": ("div-mod-identity",),
    }
    assert {str(node) for node in root.nodes if not node.step} == {"x", "8*c3 + c4"}
    assert [str(node) for node in root.nodes if node.chosen] == ["x"]
    assert graph.steps[-1].merged == ((5, 2), (6, 2))
    assert graph.steps[1].matches["div-mod-identity"] == 1


def test_digits_are_attributed_to_the_row_that_joins_them() -> None:
    graph = egraph("digits")
    chosen = [node for node in graph[graph.roots[0]].nodes if node.chosen]
    assert [(node.operation, node.rules) for node in chosen] == [("mod", ("digit-of-sum",))]


def test_a_fused_program_is_made_by_the_rules_of_fusion() -> None:
    graph = egraph("softmax")
    build = next(node for node in graph[graph.roots[0]].nodes if node.chosen)
    assert build.operation == "build"
    assert build.rules == ("generic-is-build",)
    rules = {rule for node in graph.nodes if node.chosen for rule in node.rules}
    assert {"substitute-reduce", "substitute-call-2", "state-map"} <= rules
    assert graph.costs is not None
    assert graph.costs[1] < graph.costs[0]


def test_what_algebra_offers_is_its_rows() -> None:
    rules = {rule for node in egraph("products").nodes if node.chosen for rule in node.rules}
    assert "contraction-order" in rules


def test_bounds_types_and_divisibility_are_shown() -> None:
    graph = egraph("order")
    assert graph.find("x % 8")[0].bounds == (0, 7)
    assert any(eclass.divisor == (2, 0) for eclass in graph.classes)
    assert egraph("softmax")[egraph("softmax").roots[0]].type == "float32[128]"


def test_a_term_that_needs_no_rule_is_shown_as_it_is_written() -> None:
    graph = egraph("plain")
    assert graph.stopped == "no rule makes it cheaper, so none was run"
    assert [str(node) for node in graph[graph.roots[0]].nodes if node.chosen] == ["c0 + 3*c1"]


def test_facts_that_are_assumed_are_part_of_the_graph() -> None:
    with eqsat.assume(X % 4 == 0):
        result = eqsat.optimize(X % 4 + Y)
    graph = result.egraph
    assert str(result.expr) == "y"
    assert [str(node) for eclass in graph.classes for node in eclass.nodes if node.chosen] == ["y"]


def test_a_budget_is_honoured_and_said() -> None:
    limits = eqsat.Limits(nodes=150)
    report = eqsat.optimize(PROGRAMS["sines"], options=Options(limits=limits)).report
    graph = eqsat.explore(PROGRAMS["sines"], options=Options(limits=limits))
    assert report.stop_reason is eqsat.StopReason.NODE_LIMIT
    assert graph.stopped.startswith("node limit")
    assert len(graph.nodes) < len(egraph("sines").nodes)


def test_many_steps_of_a_large_graph_share_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eqsat.exploring.recording.NODES_LOOKED_AT", 1000)
    graph = eqsat.explore(PROGRAMS["sines"])
    fine = egraph("sines")
    assert len(graph.steps) < len(fine.steps) / 2
    assert sum(step.nodes for step in graph.steps) < 1000 + 2 * len(graph.nodes)
    assert any("passes" in step.title for step in graph.steps)
    assert (len(graph.nodes), len(graph.classes)) == (len(fine.nodes), len(fine.classes))
    assert all(node.rules for node in graph.history if node.step)


def test_functions_results_and_lazy_tensors_can_be_explored() -> None:
    spec = eqsat.spec((64,), "float32")
    traced = eqsat.optimize(shuffled_sines, spec).egraph
    assert traced.classes == eqsat.explore(shuffled_sines, spec).classes == egraph("sines").classes
    lazy = eqsat.numpy.asarray([1.0, 2.0]) + 1
    assert len(eqsat.explore(lazy).classes) > 3


def test_sizes_are_shown_by_name() -> None:
    n = eqsat.dim("n", 1, 65536)
    graph = eqsat.explore(lambda x: eqsat.numpy.exp(x).sum(axis=1), eqsat.spec((n, 64), "float32"))
    assert graph.what == "(x: float32[n, 64])  ->  float32[n]"
    assert graph[graph.roots[0]].type == "float32[n]"
    assert graph.find("(n, 64)")


def test_other_things_are_refused() -> None:
    with pytest.raises(UsageError, match="explore: found a int, expected a Program"):
        eqsat.explore(3)
    with pytest.raises(UsageError, match="without generic-build or substitution"):
        eqsat.explore(PROGRAMS["sines"], options=Options(rules=("identities",)))
    with pytest.raises(UsageError, match="found class 99, expected one of 5 ids such as 0"):
        egraph("identity")[99]
    with pytest.raises(UsageError, match="found step 9, expected 0 to 2"):
        egraph("identity").at(9)


def test_a_session_without_a_journal_writes_nothing_down() -> None:
    report = Report()
    with session(Options().tables, Options().limits, report, encoder=Encoder(), sorts=("Ix",)) as work:
        assert work.transcript is None
    kept = Report(journal=Journal())
    encoder = Encoder()
    encoder.index(TERMS["identity"])
    with session(Options().tables, Options().limits, kept, encoder=encoder, sorts=("Ix",)) as work:
        work.run(PHASES["index"])
    assert kept.journal is not None
    assert any(isinstance(entry, Ran) for entry in kept.journal.transcripts[0].entries)
