"""Explanations: chains of equalities by named rows, each of which the prover accepts."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import Phase, given, settings

import eqsat
from eqsat.egraph.snapshot import ENode
from eqsat.explaining.explanation import Step
from eqsat.explaining.ledger import Ledger, Reason
from eqsat.ir.index import Index, maximum, minimum, var, where
from eqsat.rules import all_tables, rows
from tests.effort import examples
from tests.eqsat.index_terms import terms

x, y, z, w = var("x", 0, 99), var("y", 0, 7), var("z", 0, 3), var("w", -20, 20)
n = var("n", 1, 64)
i = var("i", 0, 15)

TERMS = {
    "quotient": (x * 8 + y) // 8,
    "remainder": (x * 8 + y) % 8,
    "identity": x // 8 * 8 + x % 8,
    "two digits": (x * 8 + y) // 4 % 2 + z,
    "common factor": (x * 24 + y * 3 + z % 3) // 6,
    "reshape there and back": (x * 8 + y) // 4 * 4 + (x * 8 + y) % 4,
    "nested quotients": ((x + 50) // 8) // 2,
    "clamp": minimum(maximum(x, 0), 200) + maximum(y, 9),
    "negative": (w * 6 + 3) // 3 % 2,
    "symbolic": (x * n + n * y) // n,
    "selection": where(x * 2 < 8, where(x < 5, y % 8, z), x),
    "conjunction": (x < 200) & (y < 7) & (x >= 0),
    "branch": where(x < 50, (x + 50) % 50, x - 50),
    "mask": (x * 16 + y) & 15,
}


EXPRESSIONS = examples(300)
MEDIAN = 12


def test_the_steps_of_random_expressions_are_proved_and_few() -> None:
    found: dict[Index, None] = {}
    plain = settings(max_examples=2 * EXPRESSIONS, database=None, deadline=None, derandomize=True, phases=[Phase.generate])
    plain(given(terms())(lambda term: found.setdefault(term)))()
    assert len(found) >= EXPRESSIONS
    counts = []
    for term in list(found)[:EXPRESSIONS]:
        result = eqsat.optimize(term)
        for step in result.steps:
            assert eqsat.prove_equal(step.before, step.after, extends=True), f"{term}: {step}"
        assert str(result.steps[-1].whole if result.steps else term) == str(result.expr)
        counts.append(len(result.steps))
    assert statistics.median(counts) < MEDIAN


def _rows() -> dict[str, object]:
    return {row.name: row for _, row in rows()}


@pytest.mark.parametrize("name", TERMS)
def test_every_step_is_an_equality_that_the_prover_accepts(name: str) -> None:
    for step in eqsat.optimize(TERMS[name]).steps:
        proof = eqsat.prove_equal(step.before, step.after, extends=True)
        assert proof, f"{step.before} = {step.after} by {step.rows}: {proof.note}"


@pytest.mark.parametrize("name", TERMS)
def test_steps_lead_from_the_original_to_the_result_by_named_rows(name: str) -> None:
    found = eqsat.optimize(TERMS[name])
    here = found.original
    for step in found.steps:
        assert step.rows
        assert set(step.rows) <= set(_rows())
        assert eqsat.prove_equal(here, step.whole, extends=True)
        here = step.whole
    assert str(here) == str(found.expr)


def test_the_first_step_starts_at_the_original_and_states_one_row() -> None:
    first, second = eqsat.optimize((x * 8 + y) // 8).steps
    assert (str(first.before), str(first.after), first.rows) == ("(x * 8 + y) // 8", "x + y // 8", ("div-of-multiple",))
    assert second.rows == ("constant-from-bounds", "flatten-sum")


def test_steps_that_the_result_does_not_need_are_left_out() -> None:
    # one row alone proves it, though others match
    assert [step.rows for step in eqsat.optimize((x + 50) // 8 // 2).steps] == [("division-of-division",)]


def test_an_expression_that_stays_has_no_steps() -> None:
    assert eqsat.optimize(x % 7).steps == ()


def test_rows_of_a_table_that_is_off_take_no_part() -> None:
    options = eqsat.Options(rules=tuple(name for name in all_tables() if name != "ranges"))
    taken = {row for step in eqsat.optimize((x * 8 + y) // 4 * 4 + (x * 8 + y) % 4, options=options).steps for row in step.rows}
    assert taken
    assert not taken & {"mod-in-range", "div-of-multiple", "constant-from-bounds"}


def test_a_step_inside_a_branch_is_shown_with_its_condition() -> None:
    steps = eqsat.optimize(TERMS["branch"]).steps
    assert "under-condition" in {row for step in steps for row in step.rows}
    assert all("where" in str(step.before) for step in steps)


def test_the_text_shows_steps_with_the_equations_of_their_rows_then_the_numbers() -> None:
    text = eqsat.optimize((x * 8 + y) % 8).explain()
    assert "(n * q + r) % n = r % n  when n > 0" in text
    assert text.index("mod-of-multiple") < text.index("cost ")


def test_a_fact_that_was_declared_is_shown_as_the_condition_of_the_steps() -> None:
    with eqsat.assume(n % 4 == 0):
        found = eqsat.optimize(i + n % 4)
    assert found.expr is i
    assert found.steps
    assert all("n % 4 == 0" in str(step.whole) for step in found.steps)


def test_what_cannot_be_traced_in_time_is_one_step_with_all_rows_that_matched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eqsat.explaining.explanation.LIMITS", eqsat.Limits(nodes=1, iterations=1))
    found = eqsat.optimize((x * 24 + y * 3 + z % 3) // 6)
    assert found.steps == (Step(found.original, found.expr, found.steps[0].rows, found.expr),)
    assert "div-of-multiple" in found.steps[0].rows


# the ledger -------------------------------------------------------------------------------------------------------
def _leaf(ledger: Ledger, name: str) -> int:
    return ledger.add(ENode("Var", (name, 0, 9)))


def test_equal_operands_make_equal_nodes_and_the_reason_is_that_of_the_operands() -> None:
    ledger = Ledger()
    a, b = _leaf(ledger, "a"), _leaf(ledger, "b")
    f, g = (ledger.add(ENode("Abs", (v,))) for v in (a, b))
    assert not ledger.equal(f, g)
    ledger.state(a, b, Reason("why"))
    assert ledger.equal(f, g)
    assert [(c.before, c.after, c.place, c.reason.row) for c in ledger.steps(f, g)] == [(f, g, (0,), "why")]


def test_operands_of_commutative_nodes_are_equal_in_any_order() -> None:
    ledger = Ledger()
    a, b, c = (_leaf(ledger, name) for name in "abc")
    left, right = ledger.add(ENode("Min", (a, b))), ledger.add(ENode("Min", (b, c)))
    ledger.state(a, c, Reason("why"))
    assert ledger.equal(left, right)
    assert not ledger.equal(ledger.add(ENode("Floordiv", (a, b))), ledger.add(ENode("Floordiv", (b, c))))


def test_only_equalities_that_are_needed_are_used() -> None:
    ledger = Ledger()
    a, b, c, d = (_leaf(ledger, name) for name in "abcd")
    ledger.state(a, d, Reason("far"))
    ledger.state(d, c, Reason("way"))
    ledger.state(b, d, Reason("unrelated"))
    assert [change.reason.row for change in ledger.steps(a, c)] == ["far", "way"]


def _chain(term: Index) -> list[str]:
    return [str(step.whole) for step in eqsat.optimize(term).steps]


def test_the_same_expression_has_the_same_steps() -> None:
    term = (x * 24 + y * 3 + z % 3) // 6
    assert _chain(term) == _chain(term)
