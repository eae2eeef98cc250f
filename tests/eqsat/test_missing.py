"""What is missing: guards that keep divisions, by how much they fail, and that granting them is enough."""

from __future__ import annotations

from typing import Any

import pytest

import eqsat
from eqsat.explaining.guards import Missing
from eqsat.ir.errors import UsageError
from eqsat.ir.index import Apply, Index, var, walk
from tests.bench.index_families import FAMILIES, family
from tests.effort import examples

x, y, z, w = var("x", 0, 11), var("y", 0, 7), var("z", 0, 3), var("w", -3, 100)
n, i = var("n", 1, 64), var("i", 0, 15)

KEPT = {
    "remainder": x % 8,
    "quotient": x // 8,
    "offset": (x + 1) // 4,
    "below zero": w // 16,
    "scaled": (x * 8 + y * 2) // 12,
    "scaled remainder": (x * 6 + y) % 12,
    "symbolic": i % n,
    "symbolic factor": (i * n + z) // (n * 4),
    "inside a choice": eqsat.where(x < 4, x, w % 5),
    "two divisions": w // 7 + x % 5,
}


def _divisions(term: Index) -> set[Index]:
    return {sub for sub in walk(term) if isinstance(sub, Apply) and sub.op in ("floordiv", "mod")}


def _nearest(expression: Index) -> Missing:
    return eqsat.missing(expression)[0]


def test_the_guard_and_the_distance_are_named() -> None:
    miss = _nearest(x % 8)
    assert (miss.row, str(miss.guard), miss.short_by, str(miss.needed)) == ("mod-in-range", "x < y", 4, "x < 8")


def test_a_common_factor_is_missed_by_the_rest_that_spans_buckets() -> None:
    miss = _nearest((x * 8 + y * 2) // 12)
    assert (miss.row, miss.short_by, str(miss.needed)) == ("cancel-common-factor", 6, "y < 2")


def test_a_symbolic_divisor_is_missed_by_the_difference() -> None:
    assert ("mod-in-range", 15, "i < n") in {(miss.row, miss.short_by, str(miss.needed)) for miss in eqsat.missing(i % n)}


def test_nothing_is_missing_where_no_division_is_left() -> None:
    assert eqsat.missing((x * 8 + y) // 8) == ()


def test_nearer_misses_of_a_division_come_first() -> None:
    misses = eqsat.missing((x * 6 + y) % 12)
    assert [miss.short_by for miss in misses] == sorted(miss.short_by for miss in misses)


def test_bounds_are_tried_at_both_ends() -> None:
    # narrower from above, 8 values less; from below, 8 values less as well
    needed = {str(miss.needed): miss.short_by for miss in eqsat.missing(x // 8)}
    assert needed["x < 8"] == 4
    assert needed["x >= 8"] == 8


@pytest.mark.parametrize("name", KEPT)
def test_a_division_goes_or_its_row_fires_where_what_is_needed_is_assumed(name: str) -> None:
    found = eqsat.optimize(KEPT[name])
    assert _divisions(found.expr)
    assert {miss.term for miss in found.missing} == _divisions(found.expr)
    for term in _divisions(found.expr):
        miss = next(miss for miss in found.missing if miss.term is term)
        with eqsat.assume(miss.needed):
            after = eqsat.optimize(found.expr)
        assert miss.term not in _divisions(after.expr) or after.report.matches[miss.row]


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        (x % 8, var("x", 0, 7) % 8),
        (x // 8, var("x", 8, 11) // 8),
        (w // 16, var("w", 96, 100) // 16),
        ((x * 8 + y * 2) // 12, (x * 8 + var("y", 0, 1) * 2) // 12),
        (i % n, i % var("n", 16, 64)),
    ],
)
def test_the_rule_fires_where_ranges_are_as_narrow_as_is_needed(wide: Index, narrow: Index) -> None:
    assert eqsat.missing(wide)
    assert (
        len(_divisions(eqsat.simplify(narrow))) < len(_divisions(narrow)) or eqsat.optimize(narrow).report.matches["cancel-common-factor"]
    )


def test_one_value_less_than_is_needed_is_not_enough() -> None:
    (first, *_) = eqsat.missing(var("x", 0, 8) % 8)
    assert first.short_by == 1
    assert _divisions(eqsat.simplify(var("x", 0, 8) % 8))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_guard_is_named_for_generated_terms_that_keep_a_division(name: str) -> None:
    kept = [found for found in map(eqsat.optimize, family(name, examples(12, least=5), 3)) if _divisions(found.expr)]
    assert kept
    assert all(found.missing for found in kept)


def test_the_text_ends_with_what_is_missing() -> None:
    assert eqsat.optimize(x % 8).explain().endswith("missing:\n  x % 8: mod-in-range needs x < y, here x < 8: short by 4")


@pytest.mark.parametrize("term", ["x", None, 2.5, [1]])
def test_what_is_no_index_expression_is_told(term: Any) -> None:
    with pytest.raises(UsageError, match="index expression: found"):
        eqsat.missing(term)


def test_nothing_is_missing_in_a_number() -> None:
    number: Any = 3
    assert eqsat.missing(number) == ()
