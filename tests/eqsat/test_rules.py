"""Pattern rows: each proved, each firing, each compiled to the guard that it states; false rules rejected, planted ones named."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator

import numpy as np
import pytest

from eqsat.ir.errors import UnsoundRuleError
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Const, Index, Var, apply, maximum, minimum, substitute, var, variables, where
from eqsat.options import Limits, Options
from eqsat.prove import check_pattern
from eqsat.report import Report
from eqsat.rules import TABLES, rows
from eqsat.rules.document import PAGE, page
from eqsat.rules.row import LITERAL_RANGE, TERM_RANGE, Pattern, Table, is_literal, literal, term
from eqsat.saturate import PHASES, session
from eqsat.simplifier import simplify_all
from eqsat.testing import assert_equivalent
from tests.eqsat.egraph_model import Model

PATTERNS = {row.name: (table, row) for table, row in rows() if isinstance(row, Pattern)}
LITERALS = (2, 3, 1, 4, -1, 0)
RANGES = ((0, 20), (-7, 12), (0, 3), (4, 7), (0, 1), (5, 5), (-4, -1))

p, q, r, x, y, z = (term(name) for name in "pqrxyz")
a, b, c, d, g, k, n = (literal(name) for name in "abcdgkn")

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


# firing ------------------------------------------------------------------------------------------------------------------


def instances(row: Pattern) -> Iterator[Index]:
    """Left sides with concrete constants and bounded variables, for which the guard follows from the bounds.

    A row whose left side is any term is tried on absolute values, for variables by themselves need no e-graph.
    """
    derived = dict(row.define)
    names = variables(row.lhs)
    literals = [name for name in names if is_literal(name) and name not in derived]
    terms = [name for name in names if not is_literal(name)]
    for constants in itertools.product(LITERALS, repeat=len(literals)):
        for spans in itertools.product(RANGES, repeat=len(terms)):
            given = dict(zip(literals, constants, strict=True))
            bounded = {name: bounded_variable(name, span) for name, span in zip(terms, spans, strict=True)}
            if guard_follows(row, given, bounded):
                instance = substitute(row.lhs, {**{name: Const(value) for name, value in given.items()}, **bounded})
                yield abs(instance) if isinstance(instance, Var) else instance


def bounded_variable(name: Var, span: tuple[int, int]) -> Var:
    """A variable for a term of a pattern; equal spans give equal variables."""
    return var(f"{name.name}_{RANGES.index(span)}", *span)


def guard_follows(row: Pattern, given: dict[Var, int], bounded: dict[Var, Var]) -> bool:
    """Whether every condition holds on the whole box of the terms; constants read off bounds come from its lower corner."""
    least = {**given, **{name: bound.lo for name, bound in bounded.items()}}
    grid = dict(zip(bounded, np.ix_(*(np.arange(v.lo, v.hi + 1) for v in bounded.values())), strict=True))
    try:
        env = {**given, **{name: evaluate_index(value, least) for name, value in row.define}, **grid}
        return all(np.all(evaluate_index(condition, env)) for condition in row.when)
    except ZeroDivisionError:
        return False


@pytest.mark.parametrize("name", PATTERNS)
def test_a_row_fires_with_no_other_table_than_its_own_and_sums(name: str) -> None:
    table, row = PATTERNS[name]
    options = Options(rules=(table.name, "sums"))
    for instance in itertools.islice(instances(row), 60):
        report = Report()
        result = simplify_all([instance], options, report)[0]
        assert_equivalent(result, instance)
        if report.matches[name]:
            return
    pytest.fail(f"{name}: does not fire on any instance of its left side")


@pytest.mark.parametrize("name", PATTERNS)
def test_the_compiled_row_is_sound_on_instances_whether_or_not_its_guard_holds(name: str) -> None:
    table, row = PATTERNS[name]
    alone = Table(table.name, table.phase, table.why, (row,))
    sums = next(table for table in TABLES if table.name == "sums")
    report = Report()
    with session((alone.name, sums.name), Limits(), report, tables=(alone, sums)) as work:
        for instance in (*itertools.islice(instances(row), 20), *(random_instance(row, seed) for seed in range(40))):
            work.encoder.index(instance)
        model = Model(work.run(PHASES["index"]))
    assert report.matches[name] > 0
    assert not model.violations()
    assert model.checked > len(model.dimension)


def random_instance(row: Pattern, seed: int) -> Index:
    """The left side with random small constants and bounds; what is negated stays a truth value."""
    rng = random.Random(f"{row.name} {seed}")
    env: dict[Var, Index] = {}
    for variable in variables(row.lhs):
        span = (0, 1) if row.name == "double-negation" else rng.choice(RANGES)
        env[variable] = Const(rng.randint(*LITERAL_RANGE)) if is_literal(variable) else bounded_variable(variable, span)
    return substitute(row.lhs, env)


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
