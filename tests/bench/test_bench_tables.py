"""The leave-one-table-out report: what it counts as lost, and that egglog's rows and sum rows both are needed."""

from __future__ import annotations

from collections import Counter

import pytest

from eqsat.ir.index import var
from eqsat.report import Report
from tests.bench.bench_tables import PATTERN_TABLES, SUM_TABLES, costs, measure, shares

X, Y = var("x", 0, 99), var("y", 0, 7)
TERMS = [(X * 8 + Y) // 8, X // 8 * 8 + X % 8, X + Y, X % 7]


def test_cases_are_lost_without_the_table_that_holds_their_rule(capsys: pytest.CaptureFixture[str]) -> None:
    found = measure(TERMS)
    # two of the four need rules: an identity, and ranges
    assert found["all rows"][:2] == (2, 2)
    assert found["identities"][:2] == (1, 2)
    assert found["ranges"][:2] == (1, 2)
    assert found["bits"] == (0, 2, 0)
    assert "4 cases, 2 need rules" in capsys.readouterr().out


def test_a_cost_is_that_of_the_simplified_term() -> None:
    assert costs(TERMS, (), Report()) == [0, 0, 1, 10]


def test_matches_are_counted_by_who_found_them() -> None:
    report = Report(matches=Counter({"mod-in-range": 3, "flatten-sum": 2, "split-multiple": 5, "bounds-of-sum": 7, "compose-views": 1}))
    kinds = shares(report)
    assert (kinds["egglog rows"], kinds["sum rows"], kinds["views and bounds"]) == (3, 2, 12)


def test_every_index_table_is_one_of_the_two_kinds() -> None:
    assert not set(PATTERN_TABLES) & set(SUM_TABLES)
    assert {"identities", "ranges"} <= set(PATTERN_TABLES)
    assert {"sums", "orders"} <= set(SUM_TABLES)
