"""Pattern rows: each proved, each firing, each compiled to the guard that it states; false rules rejected, planted ones named."""

from __future__ import annotations

import itertools
import re

import pytest

from eqsat.ir.errors import UnsoundRuleError
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Const, Index, Var, apply, maximum, minimum, var, variables, where
from eqsat.options import Limits
from eqsat.proving.prove import _grid as grid_of, check_pattern
from eqsat.report import Report
from eqsat.rules import TABLES, rows
from eqsat.rules.document import PAGE, page
from eqsat.rules.orders import ORDERS
from eqsat.rules.row import LITERAL_RANGE, TERM_RANGE, Pattern, Table, is_literal, literal, term
from eqsat.rules.sums import SUMS
from eqsat.saturate import PHASES, session
from tests.effort import examples
from tests.eqsat.row_instances import instances
from tests.eqsat.stated_facts import false_facts, saturated

PATTERNS = {row.name: (table, row) for table, row in rows() if isinstance(row, Pattern)}

p, q, r, t, w, x, y, z = (term(name) for name in "pqrtwxyz")
a, b, c, d, g, k, m, n = (literal(name) for name in "abcdgkmn")
TRUTHS = (p >= 0, p <= 1, q >= 0, q <= 1)

WRONG = [
    Pattern("identity-without-guard", (x % n) * c + (x // n) * (c * n), x * c),
    Pattern("composed-identity-of-any-sign", (x // a) % n + (x // (a * n)) * n, x // a, (a != 0, n != 0)),
    Pattern("merge-digits-of-any-sign", x % a + ((x // a) % n) * a, x % (a * n), (a != 0, n != 0)),
    Pattern("nested-division-of-any-sign", (x // a) // d, x // (a * d), (a != 0, d != 0)),
    Pattern("nested-division-loses-factor", (x // a + c) // d, (x + c) // (a * d), (a > 0, d > 0)),
    Pattern("quotient-of-itself", x // x, Const(1)),
    Pattern("remainder-of-itself", x % x, Const(0)),
    Pattern("division-distributes", (x + y) // n, x // n + y // n, (n > 0,)),
    Pattern("mod-distributes", (x + y) % n, x % n + y % n, (n > 0,)),
    Pattern("mod-without-lower-bound", x % n, x, (n > 0, x < n)),
    Pattern("mod-with-closed-upper-bound", x % y, x, (x >= 0, x <= y)),
    Pattern("mod-in-bucket-without-upper-bound", x % n, x - k * n, (n > 0, k * n <= x), "", ((k, x // n),)),
    Pattern("cancel-without-divisibility", (x * c) // d, x * (c // d), (c > 0, d > 0)),
    Pattern("cancel-with-remainder-too-large", (g * q + r) // (g * k), q // k, (g > 1, k > 0, r >= 0, r <= g)),
    Pattern("cancel-with-negative-remainder", (g * q + r) // (g * k), q // k, (g > 1, k > 0, r > -g, r < g)),
    Pattern("mod-factor-with-negative-remainder", (g * q + r) % (g * k), (q % k) * g + r, (g > 1, k > 0, r < g)),
    Pattern("mod-of-sum-without-multiple", (n * q + r) % k, r % k, (n > 0, k > 0)),
    Pattern("small-offset-that-crosses", (x + c) // d, x // d, (d > 0, c >= 0, c < d)),
    Pattern("small-offset-of-any-sign", (x + c) // d, x // d, (d > 0, x % d + c < d)),
    Pattern("truncating-division", (-x) // n, -(x // n), (n > 0,)),
    Pattern("truncating-mod", (-x) % n, -(x % n), (n > 0,)),
    Pattern("inner-mod-of-another-divisor", (x % k) % n, x % n, (n > 0, k > 0)),
    Pattern("upper-digit-unbounded", (x % (n * k)) // n, x // n, (n > 0, k > 0)),
    Pattern("multiply-undoes-division", (x // n) * n, x, (n > 0,)),
    Pattern("min-the-wrong-way", minimum(x, y), x, (x >= y,)),
    Pattern("max-the-wrong-way", maximum(x, y), x, (x <= y,)),
    Pattern("where-ignores-its-condition", where(p != 0, x, y), x),
    Pattern("double-negation-of-integers", apply("not", apply("not", p)), p),
    Pattern("compare-quotient-with-any-divisor", x // d < c, x < c * d, (d != 0,)),
    Pattern("constant-from-one-bound", x, k, (k <= x,), "", ((k, x),)),
    # comparisons
    Pattern("sign-folds-without-bucket", (g * q + r) >= 0, q >= 0, (g > 1, r < g)),
    Pattern("sign-folds-up", (g * q + r) >= 0, (q + m) >= 0, (g > 1, g * m < r, r <= g * m + g), "", ((m, r // g),)),
    Pattern("sign-of-multiple-of-any-sign", (g * q) >= 0, q >= 0, (g != 0,)),
    Pattern("zero-folds-with-remainder", (g * q + r) == 0, q == 0, (g > 1, r >= 0, r < g)),
    Pattern("never-a-multiple-with-closed-bound", (g * q + r) == 0, Const(False), (g > 1, r > 0, r <= g)),
    Pattern("sign-of-quotient-loses-remainder", (x // d - r) > 0, (x - r * d) > 0, (d > 0,)),
    Pattern("negative-quotient-without-offset", ((x // d) * -1 + r) >= 0, (r * d - x) >= 0, (d > 0,)),
    Pattern("quotient-is-zero-of-any-sign", (x // n) == 0, x < n, (n > 0,)),
    Pattern("not-of-sign-keeps-equality", apply("not", x >= 0), (x * -1) >= 0),
    Pattern("sign-of-truth-that-always-holds", (k * p + c) >= 0, p, (p >= 0, p <= 1, k + c >= 0)),
    Pattern("sign-of-truth-of-integers", (k * p + c) >= 0, p, (c < 0, k + c >= 0)),
    Pattern("digits-that-are-not-joined", apply("and", x // n == c, x % n == d), x == c * n + d, (n > 0,)),
    # min, max, where
    Pattern("min-scaled-by-any-sign", minimum(k * x, k * y), k * minimum(x, y)),
    Pattern("min-of-sums", minimum(x + z, y + t), minimum(x, y) + minimum(z, t)),
    Pattern("quotient-of-min-by-any-sign", minimum(x, y) // d, minimum(x // d, y // d), (d != 0,)),
    Pattern("remainder-of-min", minimum(x, y) % d, minimum(x % d, y % d), (d > 0,)),
    Pattern("clamp-with-bounds-crossed", minimum(maximum(x, c), d), maximum(minimum(x, d), c)),
    Pattern("max-absorbs-the-wrong-way", minimum(x, maximum(x, y)), y),
    Pattern("abs-of-any-sum", abs(x + y), abs(x) + abs(y)),
    Pattern("wheres-of-two-conditions", where(p, x, y) + where(q, z, t), where(p, x + z, y + t), TRUTHS),
    Pattern("nested-where-with-other-branch", where(p, where(q, x, y), z), where(apply("and", p, q), x, z), TRUTHS),
    Pattern("nested-where-or-for-and", where(p, where(q, x, y), y), where(apply("or", p, q), x, y), TRUTHS),
    Pattern("where-not-keeps-branches", where(apply("not", p), x, y), where(p, x, y), TRUTHS),
    Pattern("where-is-min-of-integers", where(p, q, Const(0)), minimum(p, q)),
    # truth values
    Pattern("de-morgan-of-integers", apply("not", minimum(p, q)), maximum(apply("not", p), apply("not", q))),
    Pattern("de-morgan-without-exchange", apply("not", apply("and", p, q)), apply("and", apply("not", p), apply("not", q)), TRUTHS),
    Pattern("implied-sign-the-wrong-way", apply("and", x >= 0, y >= 0), x >= 0, (y <= x,)),
    Pattern("exclusive-signs-at-zero", apply("and", x >= 0, y >= 0), Const(False), (x + y <= 0,)),
    Pattern("exhaustive-signs-below", apply("or", x >= 0, y >= 0), Const(True), (x + y >= -2,)),
    Pattern("two-signs-are-equal", apply("and", x >= 0, y >= 0), x == y, (x + y >= 0,)),
    # divisors that are terms
    Pattern("symbolic-cancel-with-remainder-out-of-range", (z * q + r) // (z * w), q // w, (z > 0, w > 0, r >= 0)),
    Pattern("symbolic-cancel-with-closed-remainder", (z * q + r) // (z * w), q // w, (z > 0, w > 0, r >= 0, z - r >= 0)),
    Pattern("symbolic-cancel-of-any-sign", (z * q + r) // (z * w), q // w, (z > 0, w != 0, r >= 0, z - r > 0)),
    Pattern("symbolic-remainder-loses-rest", (z * q + r) % (z * w), (q % w) * z, (z > 0, w > 0, r >= 0, z - r > 0)),
    Pattern("symbolic-division-of-division-of-any-sign", (x // z) // w, x // (z * w), (z != 0, w != 0)),
    Pattern("quotient-by-a-larger-negative", x // y, Const(0), (x >= 0, y + x < 0)),
    Pattern("zero-divided-where-it-has-no-value", x * 0 // x, Const(0)),
    # bits
    Pattern("mask-that-is-no-power-of-two-less-one", apply("bitand", x, n), x % (n + 1), (n >= 0,)),
    Pattern("high-mask-of-any-negative", apply("bitand", x, n), x - x % (-1 * n), (n < 0,)),
    Pattern("or-is-sum", apply("bitor", x, y), x + y, (x >= 0, y >= 0)),
    Pattern("bits-and-of-integers", apply("bitand", p, q), minimum(p, q), (p >= 0, q >= 0)),
    Pattern("shift-right-rounds-to-zero", x >> k, -((-x) // (1 << k)), (k >= 0, k <= 30)),
    Pattern("xor-of-or", apply("bitxor", apply("bitor", x, k), m), apply("bitor", x, apply("bitxor", k, m))),
]


@pytest.mark.parametrize("name", PATTERNS)
def test_a_row_is_proved(name: str) -> None:
    verdict = check_pattern(PATTERNS[name][1])
    assert verdict.proved, f"{name}: {verdict.counterexample or 'its guard never holds'}"
    assert verdict.points > 0
    assert verdict.counterexample is None


def holds(row: Pattern, point: dict[Var, int]) -> bool:
    """Whether the guard holds at a point; a guard without a value does not."""
    try:
        return all(evaluate_index(condition, point) for condition in row.when)
    except ZeroDivisionError:
        return False


def outcome(side: Index, point: dict[Var, int]) -> int | None:
    """The value of a side at a point, None where it has none."""
    try:
        return int(evaluate_index(side, point))
    except ZeroDivisionError:
        return None


def everywhere(row: Pattern) -> tuple[Var, ...]:
    return variables(row.lhs, row.rhs, *row.when, *(name for name, _ in row.define))


@pytest.mark.parametrize("row", WRONG, ids=lambda row: row.name)
def test_a_false_rule_is_rejected_with_a_counterexample_that_refutes_it(row: Pattern) -> None:
    verdict = check_pattern(row)
    assert not verdict.proved
    assert verdict.counterexample is not None
    point = {name: verdict.counterexample[name.name] for name in everywhere(row)}
    assert holds(row, point)
    assert outcome(row.lhs, point) != outcome(row.rhs, point)


def test_a_counterexample_is_the_smallest_of_its_grid() -> None:
    row = next(row for row in WRONG if row.name == "division-distributes")
    span = range(-2, 3)
    points = [dict(zip((x, y, n), values, strict=True)) for values in itertools.product(span, span, span)]
    refuting = [point for point in points if holds(row, point) and outcome(row.lhs, point) != outcome(row.rhs, point)]
    found = check_pattern(row).counterexample
    assert found is not None
    assert sum(map(abs, found.values())) == min(sum(map(abs, point.values())) for point in refuting)


def test_a_guard_that_never_holds_proves_nothing() -> None:
    verdict = check_pattern(Pattern("vacuous", x, x, (x < y, y < x)))
    assert not verdict.proved
    assert verdict.points == 0
    assert verdict.counterexample is None


def test_the_grid_of_a_row_with_many_terms_shrinks_and_stays_exhaustive() -> None:
    sum_of_six = p + q + r + x + y + z
    verdict = check_pattern(Pattern("commuted", sum_of_six, z + y + x + r + q + p))
    assert verdict.proved
    assert 1_000_000 < verdict.points <= 4_000_000
    assert round(verdict.points ** (1 / 6)) ** 6 == verdict.points


def test_every_term_of_a_row_takes_at_least_nine_values_and_every_constant_all_of_its_range() -> None:
    for _, row in PATTERNS.values():
        for name, axis in grid_of(everywhere(row)).items():
            assert axis.size == 9 if is_literal(name) else axis.size >= 9, row.name


# firing ------------------------------------------------------------------------------------------------------------------


def alone(name: str) -> tuple[Table, ...]:
    """The row as the only one beside sum rows and bounds."""
    table, row = PATTERNS[name]
    return Table(table.name, table.phase, table.why, (row,)), SUMS, ORDERS


@pytest.mark.parametrize("name", PATTERNS)
def test_a_row_fires_alone_on_instances_of_its_left_side_and_adds_only_what_holds_at_all_points(name: str) -> None:
    held = instances(PATTERNS[name][1], 20)
    assert held, "its guard follows from no ranges"
    work, model, _ = saturated(held, alone(name))
    assert work.report.matches[name] > 0
    assert not false_facts(work, model)
    assert not model.violations()
    assert model.checked > len(model.dimension)


@pytest.mark.parametrize("name", PATTERNS)
def test_the_compiled_row_is_sound_on_instances_for_which_its_guard_may_fail(name: str) -> None:
    work, model, _ = saturated(instances(PATTERNS[name][1], examples(24, least=4), guarded=False), alone(name))
    assert not false_facts(work, model)
    assert not model.violations()


# planted rules -----------------------------------------------------------------------------------------------------------

PLANTED = [
    (Pattern("planted-remainder", x % n, x + 1, (n > 0,)), var("v", 5, 9) % 4),
    (Pattern("planted-constant", x % n, Const(77), (n > 0,)), var("v", 0, 9) % 4),
    (Pattern("planted-minimum", minimum(x, y), y), minimum(var("v", 0, 3), var("w", 5, 9))),
    (Pattern("planted-quotient", (x // a) // d, x, (a > 0, d > 0)), (var("v", 40, 60) // 2) // 3),
]


@pytest.mark.parametrize(("row", "expression"), PLANTED, ids=lambda value: getattr(value, "name", ""))
def test_a_planted_unsound_row_raises_the_alarm_that_names_it(row: Pattern, expression: Index) -> None:
    tables = (*TABLES, Table("planted", "index", "", (row,)))
    names = tuple(table.name for table in tables)
    with session(names, Limits(), Report(), tables) as work:
        work.encoder.index(expression)
        with pytest.raises(UnsoundRuleError) as caught:
            work.run(PHASES["index"])
    assert row.name in caught.value.rules


# the tables themselves -----------------------------------------------------------------------------------------------------


def test_names_of_rows_are_unique_kebab_case_words() -> None:
    names = [row.name for _, row in rows()]
    assert len(names) == len(set(names))
    assert not [name for name in names if not re.fullmatch(r"[a-z]+(-([a-z]+|\d))*", name)]


def test_tables_have_unique_names_and_say_why_they_exist() -> None:
    assert len({table.name for table in TABLES}) == len(TABLES)
    assert all(table.why and table.rows for table in TABLES)


def test_pattern_variables_range_over_their_declared_values() -> None:
    for _, row in PATTERNS.values():
        for variable in everywhere(row):
            assert variable.bounds == (LITERAL_RANGE if is_literal(variable) else TERM_RANGE)


def test_the_page_of_rules_is_what_the_tables_give() -> None:
    assert PAGE.read_text() == page(), "stale: run `python -m eqsat.rules.document`"


def test_the_page_has_a_line_for_every_row() -> None:
    lines = PAGE.read_text().splitlines()
    for _, row in rows():
        assert sum(line.startswith(f"| {row.name} |") for line in lines) == 1
