"""The index terms of loop nests in parts: each is what it was at every point, and parts that are alike go to the e-graph once."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from eqsat.egraph.index_cost import index_cycles
from eqsat.indices.simplifier import simplify_terms
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Const, Index, Var, apply, variables
from eqsat.ir.loops import Buffer, For, Kernel, Load, Store
from eqsat.ir.tensor import Call, Position, Scalar
from eqsat.kernels import loop_terms
from eqsat.kernels.loop_terms import simplifier
from eqsat.options import Options
from eqsat.report import Report
from tests.effort import examples

ROW, STEP, LANE = Var("i", 0, 5), Var("j", 0, 3), Var("k", 0, 7)


def kernel_of(terms: Sequence[Index]) -> Kernel:
    """A kernel with these terms, conditions as positions."""
    value: Scalar = Load("x", Const(0), "int64")
    for term in terms:
        load = Load("x", term, "int64") if term.kind == "int" else Call("astype", (Position(term, "bool"),), "int64")
        value = Call("add", (value, load), "int64")
    body: Any = Store("out", Const(0), value)
    for variable in dict.fromkeys(v for term in terms for v in variables(term)):
        body = For(variable, "parallel", (body,))
    return Kernel("k", (Buffer("x", "int64", 10_000, "in"), Buffer("out", "int64", 1, "out")), (body,))


def simplified(*terms: Index, options: Options | None = None) -> list[Index]:
    change = simplifier([kernel_of(terms)], options or Options(), Report())
    return [change(term) for term in terms]


def sent(monkeypatch: pytest.MonkeyPatch) -> list[Index]:
    """The terms that go to the e-graph from now on."""
    found: list[Index] = []

    def noted(terms: list[Index], *args: Any, **kwargs: Any) -> Any:
        found.extend(terms)
        return simplify_terms(terms, *args, **kwargs)

    monkeypatch.setattr(loop_terms, "simplify_terms", noted)
    return found


def test_sums_of_variables_and_what_bounds_decide_need_no_e_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    found = sent(monkeypatch)
    assert simplified((ROW * 4 + STEP) // 4 * 8 + LANE + 3, (ROW * 8 + LANE) % 8) == [ROW * 8 + LANE + 3, LANE]
    assert found == []


def test_parts_without_a_variable_in_common_go_there_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    found = sent(monkeypatch)
    term = ROW // 2 * 32 + apply("min", STEP * 2, 5) * 4 + LANE + 7
    condition = apply("and", apply("lt", ROW // 2, 2), apply("and", apply("ge", STEP * 3 - 3, 0), apply("lt", ROW + 1, 9)))
    simplified(term, condition)
    assert all(len(variables(part)) == 1 for part in found)
    assert len(found) == 4


def test_terms_that_differ_in_names_go_there_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = sent(monkeypatch)
    other = Var("i_1", 0, 5)
    one, two = simplified((ROW + 2 - 2) // 2 % 2 * 3, (other + 2 - 2) // 2 % 2 * 3 + LANE)
    assert len(found) == 1
    assert variables(one) == (ROW,)
    assert set(variables(two)) == {other, LANE}


def test_sizes_keep_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    found = sent(monkeypatch)
    size = Var("$n", 1, 100)
    simplified(apply("min", ROW, size - 1) * 2 + LANE)
    assert [size in variables(part) for part in found] == [True]


def test_certified_terms_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    found = sent(monkeypatch)
    term = ROW // 2 * 32 + LANE
    simplified(term, options=Options(certify=True))
    assert term in found


LEAVES = st.one_of(st.sampled_from([ROW, STEP, LANE]), st.integers(-4, 9).map(Const))


def _deeper(terms: st.SearchStrategy[Index]) -> st.SearchStrategy[Index]:
    sums = st.builds(lambda op, a, b: apply(op, a, b), st.sampled_from(["add", "sub", "min", "max"]), terms, terms)
    scaled = st.builds(lambda a, k: a * k, terms, st.sampled_from([2, 3, 4, 8, -1]))
    divided = st.builds(lambda op, a, k: apply(op, a, k), st.sampled_from(["floordiv", "mod"]), terms, st.sampled_from([2, 3, 4, 8]))
    return st.one_of(sums, scaled, divided)


NUMBERS = st.recursive(LEAVES, _deeper, max_leaves=7)
COMPARED = st.builds(lambda op, a, b: apply(op, a, b), st.sampled_from(["lt", "ge", "eq"]), NUMBERS, NUMBERS)
CONDITIONS = st.recursive(COMPARED, lambda t: st.builds(lambda a, b: apply("and", a, b), t, t), max_leaves=4)


@settings(max_examples=examples(80), deadline=None, derandomize=True)
@given(terms=st.lists(st.one_of(NUMBERS, CONDITIONS), min_size=1, max_size=4))
def test_terms_are_what_they_were_at_every_point(terms: list[Index]) -> None:
    for before, after in zip(terms, simplified(*terms), strict=True):
        assert index_cycles(after) <= index_cycles(before) + 1  # i + i is i * 2
        for i, j, k in itertools.product(range(6), range(4), range(8)):
            point = {ROW: i, STEP: j, LANE: k}
            assert evaluate_index(after, point) == evaluate_index(before, point)
