"""What users read of an e-graph: texts, look-ups, JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import eqsat
from eqsat.exploring import EGraph
from eqsat.ir.errors import UsageError
from tests.eqsat.exploring.egraphs import PROGRAMS, TERMS, egraph

IDENTITY = """\
x // 8 * 8 + x % 8  ->  x: 8 nodes in 5 classes, saturated after 1 iteration
  step 0: as written: +6 nodes (as written 5, split-pair 1), -0, 0 classes merged -> 6 nodes in 6 classes
  step 1: rules of index: +2 nodes (div-mod-identity 2), -0, 0 classes merged -> 8 nodes in 7 classes
  step 2: sum rows: +0 nodes, -0, 2 classes merged -> 8 nodes in 5 classes
c0: index, 0..0  0
    0  0 ns  split-pair, step 0
c1: index, 8..8  8
    8  0 ns  as written, step 0
c2: index, 0..31  x  <- root
  * x  0 ns  as written, step 0
    8*c3 + c4  1 ns  as written, step 0
    c2 + c0  0.3333 ns  div-mod-identity, step 1
    1*c2  0 ns  div-mod-identity, step 1
c3: index, 0..3  x // 8
    c2 // c1  0.6667 ns  as written, step 0
c4: index, 0..7  x % 8
    c2 % c1  0.3333 ns  as written, step 0"""


def test_the_text_of_a_small_graph_says_all() -> None:
    assert str(egraph("identity")) == IDENTITY
    assert egraph("identity").summary() == "\n".join(IDENTITY.splitlines()[:4])


@pytest.mark.parametrize("name", [*TERMS, *PROGRAMS])
def test_texts_have_no_holes(name: str) -> None:
    graph = egraph(name)
    for eclass in graph.classes:
        assert eclass.term
        assert len(eclass.term) <= 48
        for node in eclass.nodes:
            assert "{" not in str(node)
            assert all(f"c{operand}" in str(node) for operand in node.operands if node.operation != "generic")


def test_the_term_of_a_class_is_its_smallest() -> None:
    one_kernel = eqsat.Options(target=replace(eqsat.DEFAULT_TARGET, launch_ns=1500.0))  # whose maps are stated
    graph = eqsat.explore(PROGRAMS["softmax"], options=one_kernel)
    terms = {eclass.term for eclass in graph.classes}
    assert {"x", "w", "i0 % 8", "(r0, r1)", "x[16*r0 + (i0 // 8)]", "16*r0 + (i0 // 8)"} <= terms


def test_classes_are_found_by_what_they_hold() -> None:
    graph = egraph("identity")
    assert [eclass.id for eclass in graph.find("floordiv")] == [3]
    assert [eclass.id for eclass in graph.find("div-mod-identity")] == [2]
    assert [eclass.id for eclass in graph.find("c4")] == [2, 4]
    assert graph.find("no such text") == ()


def test_a_node_is_found_by_the_terms_it_is_made_of() -> None:
    graph = egraph("identity")
    assert [eclass.term for eclass in graph.find("8*(x // 8)")] == ["x"]
    assert graph.find("8*(X//8)") == graph.find("8*(x // 8)")
    assert [eclass.id for eclass in graph.find("c2//c1")] == [3]


def test_a_class_that_was_merged_is_found_under_its_old_id() -> None:
    graph = egraph("identity")
    assert graph[5] is graph[2]
    assert {eclass.id for eclass in graph.at(1).classes} == set(range(7))
    assert [str(node) for node in graph.at(1)[5].nodes] == ["8*c3 + c4", "c6 + c0"]


def restored(graph: EGraph) -> tuple[list[str], int]:
    """The nodes of the last step as the page makes them up from JSON, and how many classes they have."""
    data = json.loads(graph.to_json())
    into = {absorbed: older for step in data["steps"] for absorbed, older in step["merged"]}

    def now(id: int) -> int:
        while id in into:
            id = into[id]
        return id

    nodes = data["nodes"]
    alive = [k for k, gone in enumerate(nodes["gone"]) if gone < 0]
    texts = [data["texts"][nodes["template"][k]].format(*(f"c{now(operand)}" for operand in nodes["operands"][k])) for k in alive]
    return sorted(texts), len({now(nodes["home"][k]) for k in alive})


@pytest.mark.parametrize("name", [*TERMS, *PROGRAMS])
def test_json_holds_the_same_graph(name: str) -> None:
    graph = egraph(name)
    assert restored(graph) == (sorted(map(str, graph.nodes)), len(graph.classes))
    assert json.loads(graph.to_json())["counts"] == [len(graph.nodes), len(graph.classes)]


def test_costs_are_those_of_the_target() -> None:
    graph = egraph("identity")
    ghz = eqsat.DEFAULT_TARGET.ghz
    costs = {str(node): node.cost for node in graph.nodes}
    assert costs["c2 // c1"] == pytest.approx(2.0 / ghz)
    assert costs["c2 % c1"] == pytest.approx(1.0 / ghz)
    assert graph.costs == pytest.approx((6.0 / ghz, 0.0))


def test_the_elements_of_a_program_have_costs() -> None:
    graph = egraph("softmax")
    chosen = [node for node in graph.nodes if node.chosen and node.operation in ("build", "read", "sum", "exp", "divide")]
    assert chosen
    assert all(node.cost is not None and node.cost > 0 for node in chosen)


def test_a_step_that_never_was_is_refused() -> None:
    with pytest.raises(UsageError, match="expected 0 to 2"):
        egraph("identity").at(-1)
