"""E-graphs of random terms of every operation: counts, attribution, and the value of what is marked as extracted."""

from __future__ import annotations

import random

import pytest

import eqsat
from eqsat.exploring import EGraph
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Const, Index, variables
from tests.effort import examples
from tests.fuzz.random_terms import Drawing

TERMS = [Drawing(f"explored {seed}").term() for seed in range(examples(80))]
KNOWN = {"min": min, "max": max, "abs": abs, "where": lambda p, a, b: a if p else b}


def value(graph: EGraph, root: int, env: dict[str, int]) -> int:
    """The value of the chosen nodes; of a node under an assumption that of what is assumed about."""
    node = next(node for node in graph[root].nodes if node.chosen)
    text = node.template.format(*(f"({value(graph, operand, env)})" for operand in node.operands))
    return int(eval(text.partition(" under assumption")[0], KNOWN, dict(env)))


def points(term: Index, seed: int) -> list[dict[str, int]]:
    rng = random.Random(seed)
    return [{v.name: rng.randint(v.lo, v.hi) for v in variables(term)} for _ in range(4)]


@pytest.mark.parametrize("number", range(len(TERMS)))
def test_a_random_term(number: int) -> None:
    term = TERMS[number]
    graph, found = eqsat.explore(term), eqsat.optimize(term).expr
    assert all(node.rules for node in graph.history if node.step), str(term)
    for place, step in enumerate(graph.steps):
        then = graph.at(place)
        assert (len(then.nodes), len(then.classes)) == (step.nodes, step.classes), str(term)
    for env in points(term, number):
        try:
            expected = int(evaluate_index(found, {v: env[v.name] for v in variables(term)}))
        except (ZeroDivisionError, ValueError):  # the term has no value there
            continue
        if not isinstance(found, Const):
            assert value(graph, graph.roots[0], env) == expected, f"{term} -> {found} at {env}"
        else:
            assert any(node.chosen for node in graph[graph.roots[0]].nodes)
