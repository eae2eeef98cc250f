"""Rules of users: proved or refuted, found in sums of any order, used by Options, named in steps and reports."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat import Options, Rule, check_rule, minimum, optimize, pattern, prove_equal, var, where
from eqsat.ir.errors import UsageError
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Apply, Index, Var, apply, variables
from eqsat.proving import integer_sets, rule_check
from eqsat.rules import all_tables, own_table
from tests.effort import examples
from tests.eqsat.index_terms import needs_islpy, terms
from tests.eqsat.own_rules import FALSE, TRUE, an_instance, shapes_of_patterns

x, y, n = (pattern(name) for name in "xyn")
i, s = var("i", 0, 63), var("s", -50, 50)

# what a rule needs beside itself: sums in normal form, and differences for the order of terms
BESIDE = ("sums", "orders")


def value(term: Index, point: dict[Var, int]) -> int | None:
    """The value of a term at a point, None where it has none."""
    try:
        return int(evaluate_index(term, point))
    except (ZeroDivisionError, ValueError):
        return None


# verdicts ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [rule for rule, _ in TRUE], ids=lambda rule: rule.name)
def test_a_true_rule_is_proved(rule: Rule) -> None:
    verdict = check_rule(rule)
    assert verdict, str(verdict)
    assert verdict.points > 1000
    assert verdict.counterexample is None
    assert verdict.missing_guard is None


@pytest.mark.parametrize("rule", [rule for rule, _ in FALSE], ids=lambda rule: rule.name)
def test_a_false_rule_is_refuted_by_a_point_at_which_its_sides_differ(rule: Rule) -> None:
    verdict = check_rule(rule)
    assert not verdict
    assert verdict.counterexample is not None
    point = {v: verdict.counterexample[v.name] for v in variables(rule.lhs)}
    assert all(value(condition, point) for condition in rule.when)
    assert value(rule.lhs, point) != value(rule.rhs, point)


@pytest.mark.parametrize("rule", [rule for rule, _ in FALSE], ids=lambda rule: rule.name)
def test_a_counterexample_is_the_smallest(rule: Rule) -> None:
    found = check_rule(rule).counterexample
    assert found is not None
    names = variables(rule.lhs)
    size = sum(map(abs, found.values()))
    spans = [range(2) if v.bounds == (0, 1) else range(-3, 4) for v in names]
    for values in itertools.product(*spans):
        point = dict(zip(names, values, strict=True))
        if sum(map(abs, values)) < size and all(value(condition, point) for condition in rule.when):
            assert value(rule.lhs, point) == value(rule.rhs, point)


@pytest.mark.parametrize(("rule", "missing"), FALSE, ids=lambda value: getattr(value, "name", ""))
def test_what_is_missing_makes_the_rule_true(rule: Rule, missing: Index | None) -> None:
    found = check_rule(rule).missing_guard
    if missing is not None:
        assert found is missing
    if found is not None:
        assert check_rule(Rule(rule.name, rule.lhs, rule.rhs, (*rule.when, found)))


def test_conditions_that_never_hold_together_prove_nothing() -> None:
    verdict = check_rule(Rule("vacuous", x % n, x + 1, (x < n, n < x)))
    assert not verdict
    assert verdict.counterexample is None
    assert "never hold" in str(verdict)


def test_a_verdict_reads_as_a_sentence() -> None:
    assert str(check_rule(FALSE[0][0])).endswith("the sides differ at x = -1, n = 0; true with the condition x >= 0")
    assert str(check_rule(TRUE[0][0])).startswith("proved (exhaustive, ")


# false at single points, or lines, that no random point meets
RARE = [
    Rule("never-that", x * 3 == 370371, False),
    Rule("never-that-shifted", (x << 10) == 126419968, False),
    Rule("never-that-square", x * x == 15241630849, False),
    Rule("never-that-quotient", (x * 5 + 3) // 7 == 17637, False),
    Rule("never-that-sum", x * 3 + y * 5 == 370371, False),
    Rule("corner-of-bounds", minimum(x * n, y), x * n, (n >= 0, n <= 100, x >= 0, x <= 100, y >= 9999)),
    Rule("end-of-bounds", x * 7 % 700_001, x * 7, (x >= 0, x <= 100_001)),
]


@pytest.mark.parametrize("installed", [True, False], ids=["islpy", "no islpy"])
@pytest.mark.parametrize("rule", RARE, ids=lambda rule: rule.name)
def test_a_rule_that_is_false_at_few_points_is_refuted(rule: Rule, installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not installed:
        monkeypatch.setattr(integer_sets, "compare", lambda pair: integer_sets.Answer())
    verdict = check_rule.__wrapped__(rule)
    assert verdict.counterexample is not None
    point = {v: verdict.counterexample[v.name] for v in variables(rule.lhs)}
    assert all(value(condition, point) for condition in rule.when)
    assert value(rule.lhs, point) != value(rule.rhs, point)
    assert verdict.missing_guard is None or check_rule(Rule(rule.name, rule.lhs, rule.rhs, (*rule.when, verdict.missing_guard)))


@needs_islpy
def test_what_integer_sets_refute_is_not_proved_whatever_the_points_say(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = Rule("never-that", x * 3 == 370371, False)
    monkeypatch.setattr(rule_check, "points_of", lambda rule, names: [{x: np.arange(100)}])
    assert check_rule.__wrapped__(rule).counterexample == {"x": 123457}


@pytest.mark.parametrize(
    ("rule", "missing"),
    [
        (Rule("negative-remainder", (-x) % n, n - x % n, n > 0), x % n != 0),
        (Rule("all-but-one", where(x == 98765, y, n), n), x != 98765),
        (Rule("whichever", where(x < y, y, x), minimum(x, y)), x == y),
        (Rule("up-to-and-with", (x + y) // 1000, 0, (x >= 0, y >= 0, x + y <= 1000)), x + y != 1000),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_what_is_missing_may_be_that_something_differs(rule: Rule, missing: Index) -> None:
    assert check_rule(rule).missing_guard is missing


# use ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rule", "term"), TRUE, ids=lambda value: getattr(value, "name", ""))
def test_a_rule_fires_and_is_named_in_the_report(rule: Rule, term: Index) -> None:
    result = optimize(term, options=Options(rules=(*BESIDE, rule), cache=False))
    assert result.report.matches[rule.name] > 0
    assert prove_equal(term, result.expr, extends=True)
    assert result.cost <= result.original_cost


@pytest.mark.parametrize("name", ["multiple-leaves", "floor-of-floor", "known-condition", "small-offset", "quarter-both-sides"])
def test_a_step_names_the_rule_and_holds(name: str) -> None:
    rule, term = next((rule, term) for rule, term in TRUE if rule.name == name)
    result = optimize(term, options=Options(rules=(*BESIDE, rule), cache=False))
    assert any(name in step.rows for step in result.steps)
    assert all(prove_equal(step.before, step.after, extends=True) for step in result.steps)
    assert result.steps[-1].whole is result.expr
    assert rule.equation in result.explain()


def test_a_rule_is_found_in_a_part_of_a_longer_sum_in_any_order() -> None:
    rule = Rule("whole-of-parts", x % n + n * (x // n), x, n != 0)
    for term in (i + s % 6 + 3 + (s // 6) * 6, (s // 6) * 6 - i + s % 6, 6 * (s // 6) + (s % 6 + i * 2)):
        found = optimize(term, options=Options(rules=(*BESIDE, rule), cache=False))
        assert found.report.matches["whole-of-parts"] > 0
        assert "//" not in str(found.expr)


def test_a_rule_about_constants_leaves_variables_alone() -> None:
    c = pattern("c", "constant")
    rule = Rule("constant-only", (x * c) // c, x, c > 0)
    m = var("m", 1, 9)
    options = Options(rules=(*BESIDE, rule), cache=False)
    assert optimize((s * 7) // 7, options=options).expr is s
    assert optimize((s * m) // m, options=options).report.matches["constant-only"] == 0


def test_a_condition_that_bounds_do_not_show_keeps_the_rule_from_firing() -> None:
    rule = Rule("wraps-nothing", x % n, x, (x >= 0, x < n))
    options = Options(rules=(*BESIDE, rule), cache=False)
    assert optimize((i + 1) % 64, options=options).report.matches["wraps-nothing"] == 0
    assert optimize((i + 1) % 65, options=options).expr is not optimize((i + 1) % 64, options=options).expr


@given(terms())
@settings(max_examples=examples(60), deadline=None)
def test_all_true_rules_together_keep_random_terms_equal(term: Index) -> None:
    result = optimize(term, options=Options(rules=[*all_tables(), [rule for rule, _ in TRUE]], cache=False))
    assert not prove_equal(term, result.expr, extends=True).refuted, f"{term} -> {result.expr}"


def test_rules_alone_come_beside_all_tables_and_with_names_beside_these() -> None:
    rule = TRUE[0][0]
    assert Options(rules=[rule]).tables == all_tables()
    assert Options(rules=[rule, "sums"]).tables == ("sums",)
    assert Options(rules=[[rule], (TRUE[1][0],)]).own_rules == (rule, TRUE[1][0])
    assert Options(rules=()).tables == ()
    assert Options(rules=[rule]).without("algebra").own_rules == (rule,)


def test_a_rule_called_like_a_built_in_row_is_counted_under_a_name_of_its_own() -> None:
    rule = Rule("mod-in-range", x % n, x, (x >= 0, x < n))
    assert [row.name for table in own_table((rule,)) for row in table.rows] == ["own-mod-in-range"]


def test_kept_results_of_one_set_of_rules_do_not_serve_another() -> None:
    term = abs(var("u", -7, 8) * 3)
    rule = Rule("factor-out-of-abs", abs(x * n), abs(x) * n, n >= 0)
    with_rule = Options(rules=(*BESIDE, rule), cache=True)
    assert eqsat.simplify(term, Options(rules=BESIDE, cache=True)) is term
    assert str(eqsat.simplify(term, with_rule)) == "abs(u) * 3"
    assert eqsat.simplify(term, Options(rules=BESIDE, cache=True)) is term


def test_a_program_is_optimized_with_the_rule() -> None:
    rule = Rule("multiple-leaves", (n * x + y) // n, x + y // n, n != 0)
    tables = tuple(name for name in all_tables() if name not in ("identities", "ranges", "factors", "symbolic"))

    def rotated(a: Any) -> Any:
        return enp.reshape(enp.transpose(enp.reshape(a, (4, 6, 8)), (1, 0, 2)), (24, 8)) + 1.0

    a = np.arange(192.0).reshape(24, 8)
    result = optimize(rotated, a, options=Options(rules=(*tables, rule)))
    np.testing.assert_array_equal(result(a), rotated(a))
    assert result.report.matches["multiple-leaves"] > 0


def test_what_the_e_graph_holds_as_one_term_can_be_checked_and_finds_nothing() -> None:
    p = pattern("p", "bool")
    rules = [Rule("nothing-left", x - x, 0), Rule("plus-zero", x + 0, x), Rule("one-times", x * 1, x), Rule("as-bool", apply("bool", p), p)]
    assert all(map(check_rule, rules))
    found = optimize((i + s) // 3 + i - i, options=Options(rules=[*BESIDE, *rules], cache=False))
    assert not {rule.name for rule in rules} & set(found.report.fired)


def test_of_a_variable_that_cancels_in_the_left_side_nothing_is_known() -> None:
    rule = Rule("cancels", (x * 3 + y - y) // 3, x + y * 0)
    assert optimize((s * 3) // 3, options=Options(rules=(*BESIDE, rule), cache=False)).expr is not None


def test_truth_values_of_integers_are_no_integers() -> None:
    """`bool(x)` is 0 or 1, so it is not found where x itself stands."""
    rule = Rule("of-truth", apply("int", apply("bool", x)) + y, y + apply("where", x != 0, 1, 0))
    assert check_rule(rule)
    for term in ((s + i) % 7, apply("min", s, i) + 3, apply("int", apply("bool", s)) + i):
        result = optimize(term, options=Options(rules=(*BESIDE, rule), cache=False))
        assert prove_equal(term, result.expr), str(result.expr)


@given(shapes_of_patterns(), st.integers(0, 2**32))
@settings(max_examples=examples(80), deadline=None)
def test_whatever_a_left_side_matches_is_an_instance_of_it(lhs: Index, seed: int) -> None:
    """A rule whose sides are the same term states nothing new: where its match were none, values would differ."""
    assume(isinstance(lhs, Apply))
    rule = Rule("same", lhs, lhs)
    options = Options(rules=BESIDE, cache=False)
    object.__setattr__(options, "rules", (*BESIDE, rule))  # true without a check
    term = an_instance(lhs, seed)
    assume(max(map(abs, term.bounds)) < 2**30)
    result = optimize(term, options=options)
    assert not prove_equal(term, result.expr, extends=True).refuted, f"{lhs}: {term} -> {result.expr}"


# refusals ----------------------------------------------------------------------------------------------------------------


def test_options_refuse_a_rule_that_is_not_proved_and_say_at_which_point_it_fails() -> None:
    with pytest.raises(UsageError, match=r"not proved: refuted: division-distributes: .* x = -1, y = -1, n = 2"):
        Options(rules=[next(rule for rule, _ in FALSE if rule.name == "division-distributes")])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rule("", x % n, x), "expected words"),
        (lambda: Rule("a; b", x % n, x), "expected words"),
        (lambda: Rule("text", x % n, x, "x < n"), "found 'x < n' as conditions"),  # type: ignore[arg-type]
        (lambda: Rule("chained", x % n, x, 0 <= x < n), "& and | for `and` and `or`"),
        (lambda: check_rule((x % n, x)), "expected an eqsat.Rule"),
        (lambda: check_rule(Rule("huge", x + 2**70, x)), "within 62 bits"),
        (lambda: Rule("bare", x, x), "expected an operation"),
        (lambda: Rule("constant", 3, 4), "expected an operation"),
        (lambda: Rule("unbound", x % n, y), "found y in the right side or a condition only"),
        (lambda: Rule("unbound-guard", x % n, x, y > 0), "found y in the right side or a condition only"),
        (lambda: Rule("no-pattern", i % n, i), "expected variables of eqsat.pattern"),
        (lambda: Rule("no-condition", x % n, x, n + 1), "expected a comparison"),
        (lambda: Rule("two-kinds", x % n, pattern("x", "constant")), "expected it in the left side|standing for two kinds"),
        (lambda: pattern("a b"), "expected an identifier"),
        (lambda: pattern("p", "float"), "expected 'int', 'bool' or 'constant'"),  # type: ignore[arg-type]
        (lambda: Options(rules=[3]), "expected names of rule tables and eqsat.Rule"),
        (lambda: Options(rules=[TRUE[0][0], Rule(TRUE[0][0].name, x // n, x // n, n > 0)]), "two rules with the name"),
    ],
)
def test_wrong_use_is_told(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(eqsat.EqsatError, match=message):
        make()
