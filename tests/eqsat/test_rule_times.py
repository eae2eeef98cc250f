"""Every row has a time where it is asked for; sum rows always have one."""

from __future__ import annotations

import eqsat
from eqsat.rules import TABLES, rows
from eqsat.rules.row import SumRow
from tests.eqsat.showing.shown_values import TERM, TIMED, optimized


def test_sum_rows_have_times_without_being_asked() -> None:
    seconds = eqsat.optimize(TERM).report.rule_seconds
    names = {row.name for _, row in rows() if isinstance(row, SumRow)}
    assert seconds
    assert set(seconds) <= names
    assert all(value >= 0 for value in seconds.values())


def test_asked_for_the_other_rows_have_times_too() -> None:
    report = eqsat.optimize(TERM, options=TIMED).report
    assert set(report.rule_seconds) <= {row.name for _, row in rows()} | {"bounds"}
    matched = {name for name, count in report.matches.items() if count}
    assert {"mod-in-range", "constant-from-bounds", "bounds"} <= set(report.rule_seconds)
    assert matched <= set(report.rule_seconds) | {"flatten-sum"}
    assert sum(report.rule_seconds.values()) <= report.seconds


def test_rules_of_tensors_are_timed_by_table() -> None:
    seconds = optimized(TIMED).report.rule_seconds
    assert {"generic-build", "substitution"} <= set(seconds)
    assert set(seconds) <= {row.name for _, row in rows()} | {table.name for table in TABLES} | {"bounds"}


def test_being_timed_changes_no_answer() -> None:
    assert eqsat.optimize(TERM, options=TIMED).expr is eqsat.optimize(TERM).expr
    timed, plain = optimized(TIMED), optimized()
    assert (str(timed.program), timed.cost) == (str(plain.program), plain.cost)


def test_seconds_are_those_of_all_sessions() -> None:
    report = optimized(TIMED).report
    assert sum(report.rule_seconds.values()) <= report.seconds
