"""leave_one_out: what each table buys, as optimizing without it shows."""

from __future__ import annotations

import pytest

import eqsat
from eqsat.ir.errors import UsageError
from eqsat.pricing.costs import Cost
from eqsat.rules import all_tables, without
from tests.eqsat.explained_programs import CASES

x, y, z = eqsat.var("x", 0, 99), eqsat.var("y", 0, 7), eqsat.var("z", 0, 3)
TERM = (x * 24 + y * 3 + z % 3) // 6


def test_every_table_has_the_cost_that_optimizing_without_it_gives() -> None:
    found = eqsat.leave_one_out(TERM)
    assert found.cost == eqsat.optimize(TERM).cost
    for one in found.tables:
        alone = eqsat.optimize(TERM, options=eqsat.Options(rules=without(one.table))).cost
        assert one.cost == alone
        assert one.ratio == pytest.approx(alone.total / found.cost.total)
    assert [one.ratio for one in found.tables] == sorted((one.ratio for one in found.tables), reverse=True)


def test_of_an_expression_tables_for_indices_are_left_out_and_of_a_program_all() -> None:
    names = {one.table for one in eqsat.leave_one_out(TERM).tables}
    assert "identities" in names
    assert "generic-build" not in names
    function, specs = CASES["softmax"]
    assert {one.table for one in eqsat.leave_one_out(function, *specs).tables} == set(all_tables())


def test_what_pays_comes_first_and_what_changes_nothing_is_listed() -> None:
    found = eqsat.leave_one_out(TERM)
    assert found.tables[0].ratio > 2
    assert found.tables[0].changes
    assert "bits" in found.idle
    lines = str(found).splitlines()
    assert lines[0].startswith("as written 8.67 ns, with all tables 1.67 ns")
    assert lines[-1].startswith("no difference: ")
    assert "bits" in lines[-1]
    assert len(lines) == 3 + len(found.tables) - len(found.idle)


def test_the_rows_that_matched_are_told() -> None:
    matches = dict(next(one for one in eqsat.leave_one_out(TERM).tables if one.table == "factors").matches)
    assert matches
    assert all(count > 0 for count in matches.values())


def test_algebra_is_what_a_chain_of_products_lives_on() -> None:
    specs = [eqsat.spec((240, 160), "float32"), eqsat.spec((160, 320), "float32"), eqsat.spec((320,), "float32")]
    found = eqsat.leave_one_out(lambda a, b, v: (a @ b) @ v, *specs)
    assert {"algebra", "generic-build", "substitution"} <= {one.table for one in found.tables if one.ratio > 10}


def test_a_cost_of_zero_that_is_lost_is_infinitely_more() -> None:
    found = eqsat.leave_one_out((x * 8 + y) // 8)
    assert found.cost == Cost()
    assert found.tables[0].ratio == float("inf")
    assert found.tables[-1].ratio == 1.0


def test_tables_that_are_off_already_are_not_left_out() -> None:
    found = eqsat.leave_one_out(TERM, options=eqsat.Options(rules=("factors", "ranges")))
    assert {one.table for one in found.tables} == {"factors", "ranges"}
    assert eqsat.leave_one_out(TERM, options=eqsat.Options(rules=())).tables == ()


def test_what_cannot_be_optimized_is_refused() -> None:
    with pytest.raises(UsageError):
        eqsat.leave_one_out(3)
