"""The page of a result says what the result says, and compiles nothing."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat.explaining.ablation import Ablation
from eqsat.report import Report
from eqsat.showing.html import number
from eqsat.showing.pages import page
from eqsat.showing.reports import rule_table
from tests.eqsat.showing.reading import Page, bundle, page_of
from tests.eqsat.showing.shown_values import listed, optimized, value
from tests.programs.learning import transformer_block

MOST_BYTES = 200_000


@pytest.fixture(scope="module")
def result() -> eqsat.Result:
    return optimized()


def test_the_costs_and_the_kernels_are_those_of_the_result(result: eqsat.Result) -> None:
    page = page_of(result)
    assert f"{result.original_cost} → {result.cost}" in page.text
    assert f"{len(result.original_cost.kernels)} → {len(result.cost.kernels)} kernels" in page.text
    shown = [(row[0], row[2]) for row in page.rows if re.fullmatch(r"kernel_\d+", row[0])]
    costs = [*result.cost.breakdown(), *result.original_cost.breakdown()]
    assert shown == [(name, f"{number(ns)} ns") for name, ns in costs]


def test_the_lengths_of_the_bars_are_the_shares_of_the_costs(result: eqsat.Result) -> None:
    widths = [float(width) for width in re.findall(r'class="bar" style="width:([\d.]+)%', bundle(result)["text/html"])]
    after = [ns for _, ns in result.cost.breakdown()]
    expected = [100.0, 100 * float(result.cost) / float(result.original_cost), *(100 * ns / max(after) for ns in after)]
    assert widths[: len(expected)] == pytest.approx(expected, abs=0.01)


def test_the_rules_and_their_counts_are_those_of_the_report(result: eqsat.Result) -> None:
    rows = {row[0]: row for row in Page(rule_table(result.report)).rows}
    matched = result.report.fired
    assert {name: row[2] for name, row in rows.items() if name in matched} == {name: number(count) for name, count in matched.items()}
    assert rows["generic-is-build"][1] == "generic-build"
    assert "saturated" in page_of(result).text
    assert f"{number(result.report.nodes)} e-nodes in {number(result.report.classes)} e-classes" in page_of(result).text


def test_rules_that_rested_are_marked() -> None:
    report = Report(matches=Counter({"commute-add": 9, "min-of-wheres": 70_000, "never": 0}), rested={"min-of-wheres"})
    header, *rows = Page(rule_table(report)).rows
    column = header.index("matched too often")
    assert [(row[0], row[column]) for row in rows] == [("min-of-wheres", "rested"), ("commute-add", "")]
    assert str(report).splitlines()[1:] == ["   70000 min-of-wheres (rested)", "       9 commute-add"]
    report.rested.clear()
    assert "matched too often" not in Page(rule_table(report)).rows[0]
    assert "rested" not in str(report)


def test_what_a_table_buys_is_shown_where_it_is_known(result: eqsat.Result) -> None:
    (header, *rows) = Page(rule_table(result.report, {"generic-build": 1234.0})).rows
    column = header.index("its table buys")
    assert {row[1] for row in rows if row[column] == "1,234 ns"} == {"generic-build"}
    assert "its table buys" not in Page(rule_table(result.report)).rows[0]


def test_the_page_of_what_tables_buy_has_every_table() -> None:
    ablation = value("Ablation")
    assert isinstance(ablation, Ablation)
    page = page_of(ablation)
    counting = [one for one in ablation.tables if one.changes]
    assert counting
    assert all(f"without {one.table}" in page.text for one in counting)
    assert all(table in page.text for table in ablation.idle)
    assert any(f"{number(one.cost.total - ablation.cost.total)} ns" in row for one in counting for row in page.rows)


def test_programs_and_loop_nests_are_shown_as_their_texts(result: eqsat.Result) -> None:
    text = page_of(result).text
    for line in (line for shown in (result.original, result.program, *result.loops) for line in str(shown).splitlines()):
        assert line in text


def test_displaying_a_result_compiles_nothing() -> None:
    fresh = optimized()
    page = page_of(fresh)
    assert not fresh.is_compiled
    assert "result.listing" in page.text
    assert "not compiled yet" in page.text
    fresh.compile()
    assert fresh.is_compiled
    assert not fresh.is_listed
    assert "not compiled yet" not in page_of(fresh).text


def test_a_listing_that_was_made_is_part_of_the_page() -> None:
    result = listed()
    assert result.is_listed
    text = page_of(result).text
    for one in result.listing.kernels:
        assert all(line.text.replace("\t", "  ") in text for line in one.assembly)


@pytest.mark.slow
def test_the_page_of_a_transformer_block_is_below_200_kilobytes_with_its_code() -> None:
    large = eqsat.spec((128, 64), "float32")
    shapes = ((10, 16), *[(16, 16)] * 4, (16, 32), (32, 16))
    block = eqsat.optimize(transformer_block, *(eqsat.spec(shape, "float64") for shape in shapes))
    assert len(bundle(block)["text/html"]) < MOST_BYTES
    assert sum(map(len, bundle(block.listing).values())) < 2 * MOST_BYTES
    assert len(bundle(block)["text/html"]) < MOST_BYTES
    product = eqsat.optimize(lambda a, b: a @ b, large, eqsat.spec((64, 128), "float32"))
    assert len(bundle(product.listing.kernels[0])["text/html"]) < MOST_BYTES
    assert "lines more" in page_of(product.listing.kernels[0]).text


def test_sizes_known_at_run_time_are_shown_by_name() -> None:
    for name in ("Result with a size", "Plan with a size"):
        assert "float32[rows" in page_of(value(name)).text


@pytest.mark.parametrize("places", [[2], np.array([1, 5])], ids=["a list", "an array"])
def test_a_result_with_assignments_by_places_is_shown(places: Any) -> None:
    """What constants make is no kernel of the program as written."""

    def assigned(x: Any) -> Any:
        x = x.copy()
        x[places] = 0
        return x

    assert "kernel" in page(eqsat.optimize(assigned, eqsat.spec((7,), "float32")))
