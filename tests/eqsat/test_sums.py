"""Sum rows: every fact that they hand to the e-graph holds at all points, each fires and is counted, false ones are found."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import eqsat
from eqsat.egraph.linear import Linear
from eqsat.ir.errors import UnsoundRuleError
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Apply, Index, apply, maximum, minimum, var, variables, walk, where
from eqsat.report import StopReason
from eqsat.rules import TABLES, SumRow, Table
from eqsat.rules.visit import Visit
from eqsat.saturate import Session
from tests.effort import examples, some
from tests.eqsat.index_terms import terms as any_terms
from tests.eqsat.stated_facts import STATED, Watched, false_facts, saturated

ROWS = {row.name: row for table in TABLES if table.phase == "index" for row in table.rows if isinstance(row, SumRow)}
DRAWS = 6
x, y, z = var("x", -7, 12), var("y", 0, 8), var("z", 3, 6)
b, p, q = var("b", -2, 5), var("p", 0, 1), var("q", 0, 1)
ATOMS = (x, y, z, x % 4, x // 4, x % 6, y % 3, y // 3, (x + y) // 5, (2 * x + z) % 8, minimum(x, z), x * y)
SOME = settings(max_examples=examples(60), deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


def assert_sound(terms: list[Index], nodes: int = 1000) -> Watched:
    """Every fact and every form holds at all points, and every term has its value wherever it has one."""
    work, model, found = saturated(terms, nodes=nodes)
    assert not false_facts(work, model)
    assert not model.violations()
    env = {v: model.grid(v) for v in variables(*terms)}
    for term, value in zip(terms, found, strict=True):
        agrees = np.asarray(np.ma.filled(value, 0) == evaluate_index(term, env))
        for divisor in divisors(term):
            agrees = agrees | (evaluate_index(divisor, env) == 0)
        assert np.all(agrees | np.ma.getmaskarray(value)), term
    return work


def divisors(term: Index) -> list[Index]:
    return [sub.args[1] for sub in walk(term) if isinstance(sub, Apply) and sub.op in ("floordiv", "mod")]


def sums() -> st.SearchStrategy[Index]:
    coefficient = st.sampled_from((1, 2, 3, 4, 6, 8, 12, -1, -2, -4))
    scaled = st.tuples(st.sampled_from(ATOMS), coefficient).map(lambda pair: pair[0] * pair[1])
    parts = st.lists(scaled, min_size=1, max_size=3)
    return st.tuples(parts, st.integers(-9, 20)).map(lambda value: sum(value[0], apply("add", value[1], 0)))


def divisions() -> st.SearchStrategy[Index]:
    divisor = st.sampled_from((2, 3, 4, 6, 8, 12))
    return st.tuples(st.sampled_from(("floordiv", "mod")), sums(), divisor).map(lambda value: apply(*value))


def symbolic_divisions() -> st.SearchStrategy[Index]:
    """Divisions by terms, which can be zero at some points."""
    divisor = st.sampled_from((y, z, b, 2 * y, y * z, b * z, 3 * b, p, y + 1))
    factor: st.SearchStrategy[Any] = st.sampled_from((x, y, p * q, 1))
    above = st.tuples(sums(), divisor, factor).map(lambda value: value[0] + value[1] * value[2])
    return st.tuples(st.sampled_from(("floordiv", "mod")), above, divisor).map(lambda value: apply(*value))


@SOME
@given(st.lists(st.one_of(divisions(), sums()), min_size=1, max_size=5))
def test_every_fact_about_random_sums_and_every_form_of_them_holds_at_all_points(terms: list[Index]) -> None:
    assert_sound(terms)


@SOME
@given(st.lists(any_terms(2), min_size=1, max_size=3))
def test_every_fact_about_random_terms_and_every_form_of_them_holds_at_all_points(terms: list[Index]) -> None:
    assert_sound(terms)


@settings(SOME, max_examples=examples(40))
@given(symbolic_divisions(), sums())
def test_where_a_divisor_is_zero_a_term_has_no_value_and_all_forms_that_have_one_agree(term: Index, other: Index) -> None:
    assert_sound([term, other])


def test_a_remainder_that_equals_remainders_of_its_own_sums_saturates() -> None:
    work = assert_sound([(12 * x + 2 * (y % 3)) % 12])
    assert work.report.stop_reason is StopReason.SATURATED


# each row ------------------------------------------------------------------------------------------------------------------


def small(rng: random.Random) -> int:
    return rng.randint(2, 6)


INSTANCES: dict[str, Callable[[random.Random], Index]] = {
    "flatten-sum": lambda r: (small(r) * x + y + 3) // small(r) + 1,
    "bounds-of-sum": lambda r: (x % (n := small(r)) + n * (x // n) + y) // small(r),
    "distribute": lambda r: ((x + small(r)) * y + z) // small(r),
    "factor-common": lambda r: x * y * small(r) + x * z * small(r),
    "factor-some": lambda r: x * y * small(r) + x * z + b,
    "flatten-product": lambda r: (x * y * small(r) + x * z) * b,
    "take-content": lambda r: ((g := small(r)) * x + g * 2) * y + z,
    "floor-difference": lambda r: (x + r.randint(1, 9)) // (n := small(r)) - x // n + y,
    "symbolic-identity": lambda r: (x % (d := r.choice((z, y, b, y * z))) + d * (x // d)) * small(r) + y,
    "symbolic-digits": lambda r: (
        r.choice(
            (
                x // z % small(r) * z + x % z,
                x // (n := small(r)) % z + z * (x // (n * z)),
                x // n % 4 * y + x // (4 * n) % z * 4 * y,
                x // y % z + z * (x // (z * y) % b),
            )
        )
        * r.choice((1, -2))
        + r.choice((0, y))
    ),
    "bits-by-digit": lambda r: sum(
        (
            apply((o := r.choice(("bitand", "bitor", "bitxor"))), x * (n := 2 ** r.randint(1, 3)) + y % n, y * n),
            apply(o, x * n, r.choice((5 * n, x % n))),
            apply(o, 4 * x + 1, 8 * y + 1),
        ),
        start=z,
    ),
    "choice-of-opposites": lambda r: z + r.choice((maximum(x - y, y - x), minimum(-x, x) * small(r))),
    "abs-of-multiple": lambda r: z + abs(r.choice((small(r) * x - 4 * y, -x, 2 - 2 * x))),
    "apart": lambda r: (maximum(x, y) - minimum(y, x)) * small(r) + r.choice((0, z)),
    "read-forms": lambda r: (x // small(r) + y) // small(r),
    "split-multiple": lambda r: ((n := small(r)) * small(r) * x + y) // n,
    "split-common": lambda r: ((g := small(r)) * x + z % g) // (g * small(r)),
    "split-offset": lambda r: (2 * x + r.randint(1, 9)) // small(r),
    "split-step": lambda r: (r.randint(-9, 9) * (x % 2) + r.randint(1, 20)) % small(r),
    "split-inner": lambda r: (small(r) * (x % ((n := small(r)) * small(r))) + y) % n,
    "join-digits": lambda r: (
        (x - y) // (a := r.randint(1, 3)) % (n := small(r)) + (x - y) // (a * n) % 2 * n + (x - y) // (a * n * 2) % small(r) * n * 2 + z
    ),
    "shifted-remainder": lambda r: x % (n := small(r)) + (x // n + r.randint(-3, 3)) % small(r) * n + z,
    "split-pair": lambda r: x % (n := small(r)) + n * (x // n) + y,
    "digit-of-sum": lambda r: ((a := 2 * small(r)) // 2 * (n := small(r)) * x + p + 1) // a % n,
    "zero-divided": lambda r: ((d := r.choice((y, b, y * z))) * x) // d,
    "split-symbolic": lambda r: ((d := r.choice((y, z, b))) * x + r.choice((d, 0, q))) // (d * small(r)),
    "flatten-order": lambda r: minimum(minimum(x, y + small(r)), minimum(z, x % small(r))),
    "absorb": lambda r: minimum(maximum(x, y), r.choice((x, maximum(x, z)))) + x % small(r),
    "compare-members": lambda r: maximum(x, y + 11 + small(r)),
    "shift-order": lambda r: minimum((k := r.choice((-3, -1, 2, 4))) * x + small(r), k * y + z),
    "sum-into-order": lambda r: minimum(x, y) * (k := r.choice((-2, -1, 1, 3))) - x * k + small(r),
    "min-plus-max": lambda r: (minimum(x, y) + maximum(x, y)) * small(r) + z,
    "into-quotient": lambda r: r.choice((-1, 1)) * ((x + y + small(r)) // (d := small(r))) + r.choice((y, 0 * y)) + small(r) + 0 * d,
    "take-in": lambda r: (2 * x + 2 * small(r) + 1) % (2 * small(r) + 2) * small(r) + 1 + y,
    "complement": lambda r: z + (n := small(r)) - 1 - (x + n - 1) % n,
    "opposite-remainders": lambda r: (x + y) % (n := small(r)) * z + (r.randint(0, 3) * n - 1 - x - y) % n * 5,
    "remainder-beside-quotient": lambda r: r.choice(
        (
            x % (n := small(r)) * 6 + x // n * r.choice((1, -2, 5)) + y,
            (x + (c := r.randint(0, 9))) // (n := small(r)) * 9 * n + (9 * x + y + 9 * r.choice((c, c + n))) % (9 * n),
        )
    ),
    "few-values": lambda r: (small(r) * z + small(r)) // (small(r) + 7) * y + (z - small(r)) % 5 * x,
    "choices-as-digits": lambda r: where(
        (d := r.choice((y, (x + z) % 9))) < 2, t := small(r) * d, where(d < 4, t + (k := r.randint(-3, 3)), t + 2 * k) * r.choice((1, 1, 2))
    ),
    "digit-of-remainder": lambda r: x // (n := small(r)) % (m := small(r)) * z + x % (n * m) * y,
    "same-steps": lambda r: (y + (n := small(r))) // (n + 4) * x + r.choice(((y + 1) // 5, (n + 12 - y) // (n + 9), (y + n) % (n + 4))) * 5,
    "dominated-members": lambda r: r.choice((minimum(2 * minimum(x, y) + 10, x), maximum(2 * maximum(x, y) - 25, x))),
    "between-members": lambda r: minimum((x + (n := small(r)) - 1) // n * n, maximum(x, r.choice((-8, 30)))) + y,
    "absorb-inner": lambda r: maximum(y, minimum(maximum(x, y), z)) + minimum(z, maximum(minimum(x, z), y)) * small(r),
    "order-difference": lambda r: (o := r.choice((minimum, maximum)))(x + small(r), y) - o(x, y + r.choice((-3, 0, 3))),
    "order-of-quotients": lambda r: r.choice((minimum, maximum))(x // (d := small(r)) + r.randint(-3, 3), y // d - 1),
    "product-of-orders": lambda r: minimum(x, y) * maximum(y, x) * r.choice((1, z)),
    "order-of-where": lambda r: r.choice((minimum, maximum))(where(x < small(r), y, z), r.choice((12, -2, maximum(y, p), 7))),
    "wrap-around": lambda r: (
        z
        + r.choice(
            (
                where((s := abs(x) % 8 + y % 8) >= 8, s - 8, s),
                where((d := abs(x) % 16 - y % 16) < 0, d + 16, d),
                where(d >= 0, d, d + 16),
                where(apply("eq", x % 8, 7), 0, x % 8 + 1),
            )
        )
    ),
    "interval-is-part": lambda r: apply("and", (d := x - (n := r.choice((2, 4, 8))) * y) >= (c := r.randint(-3, 3)), d < c + n),
    "quotients-are-digit": lambda r: x // (n := small(r)) * (k := r.choice((1, 3, -2))) - x // (n * (m := small(r))) * (k * m) + y,
    "opposite-signs": lambda r: (
        z + apply("int", x < (n := small(r))) * r.choice((1, 3)) + apply("int", x >= n + r.choice((0, 0, 1))) * r.choice((1, 2))
    ),
    "beside-distance": lambda r: ((k := small(r)) * (x + y) + r.choice((1, -1)) * k * abs(r.choice((x - y, y - x)))) + z,
    "one-difference": lambda r: (
        z
        + r.choice((maximum(x, y), minimum(y, x), abs(x - y))) * small(r)
        + r.choice((maximum(y - x, 0), minimum(x - y, 0), abs(y - x), maximum(y + 2, x + 2)))
    ),
    "zero-of-clamp": lambda r: apply("eq", minimum(maximum(x, 1), small(r) + 3), r.randint(1, 8)),
    "signs-of-order": lambda r: apply(r.choice(("and", "or")), x < y + small(r), x < y + z),
    "factor-where": lambda r: where(x < small(r), y * z, x * y * small(r)),
    "merge-wheres": lambda r: where(x < (n := small(r)), x, y) * small(r) - where(x < n, y, z),
    "shift-where": lambda r: where(x < small(r), (k := small(r)) * y + x, k * z + x),
    "where-is-order": lambda r: where(*r.choice(((x >= y, x, y), (x > y, x, y), (x < y, x, y), (x <= y, y, x), (x < 0, -x, x)))) + small(r),
    "split-scaled": lambda r: 4 * x + 6 * y >= small(r),
    "split-quotient": lambda r: r.choice((-1, 1)) * (x // small(r)) + y >= small(r),
    "simplex": lambda r: small(r) * y + 3 * q <= r.choice((0, 1)),
    "sign-of-product": lambda r: apply(r.choice(("lt", "ge", "eq")), x * z + r.choice((0, abs(y) % 3)), y * z + z * small(r)),
    "digits-are": lambda r: apply(
        "and", apply("eq", x // (n := small(r)), r.choice((y, y // n, 2))), apply("eq", x % n, r.choice((1, y % n, abs(z) % n)))
    ),
    "compare-choice": lambda r: r.choice((minimum, maximum))(x, y) * r.choice((-1, 2)) + z >= small(r),
    "unsigned-zero": lambda r: minimum(-x, -y) == small(r) - 3,
    "product-of-truths": lambda r: p * q + x % small(r),
    "negation-of-truth": lambda r: 1 - apply("int", x >= small(r)),
    "under-condition": lambda r: where(x < (n := small(r)), minimum(x, n) + y % 3, x % (n + 8)),
    "same-either-way": lambda r: r.choice(
        (
            where(y < (n := small(r)), y % n + x, y + x),
            where(abs(x) < n, abs(x), abs(x) % n) + z,
            where(x == 3, r.choice((1, 2)), x % 2) + z,
            where(x < y, x, minimum(y, x)),
        )
    ),
    "under-conjuncts": lambda r: apply("and", x < (n := small(r)), maximum(x, n) + y % 3 < n + 2),
}


@pytest.mark.parametrize("name", ROWS)
def test_what_a_sum_row_states_holds_at_all_points_and_is_counted_under_its_name(name: str) -> None:
    counted: Counter[str] = Counter()
    for seed in range(DRAWS):
        counted += assert_sound([INSTANCES[name](random.Random(f"{name} {seed}"))]).report.matches
    assert counted[name] > 0


@pytest.mark.parametrize("divisor", [y * (x ^ x), y * (y - y & -1), apply("int", x < x) % -4 * x])
def test_a_divisor_that_turns_out_to_be_zero_stays_one(divisor: Index) -> None:
    for op in ("floordiv", "mod"):
        assert str(eqsat.simplify(apply(op, x, divisor))) == str(apply(op, x, 0))


def test_all_sum_rows_have_instances() -> None:
    assert INSTANCES.keys() == ROWS.keys()


@pytest.mark.parametrize("name", some(name for name, row in ROWS.items() if row.visit is not None))
def test_a_sum_row_is_not_counted_where_it_is_switched_off(name: str) -> None:
    tables = tuple(Table(t.name, t.phase, t.why, tuple(row for row in t.rows if row.name != name)) for t in TABLES if t.phase == "index")
    work, _, _ = saturated([INSTANCES[name](random.Random(f"{name} 0"))], tables)
    assert not work.report.matches[name]


# false facts are found -----------------------------------------------------------------------------------------------------

FALSE: dict[str, tuple[Any, ...]] = {
    "Num": ("x", 3),
    "Var": ("x", "name y", 0, 8),
    "Axis": ("x", 0, 5),
    "RAxis": ("x", 0, 5),
    "Add": ("x", "x", "y"),
    "Scale": ("x", 2, "x"),
    "Mul": ("x", "x", "y"),
    "Nonneg": ("x", "y"),
    "Zero": ("x", "y"),
    "Given": ("x", "y", 0),
    "Raw1": ("x", "name neg", "x"),
    "Raw2": ("x", "name add", "x", "y"),
    "Raw3": ("x", "name where", "y", "x", "y"),
    "Floordiv": ("x", "x", "z"),
    "Mod": ("x", "x", "z"),
    "Min": ("x", "x", "y"),
    "Max": ("x", "x", "y"),
    "Abs": ("x", "x"),
    "Where": ("x", "y", "x", "y"),
    "Not": ("x", "y"),
    "Bitand": ("x", "x", "y"),
    "Bitor": ("x", "x", "y"),
    "Bitxor": ("x", "x", "y"),
    "Shl": ("x", "x", "y"),
    "Shr": ("x", "x", "y"),
    "Sum1": ("x", 1, 1, "x"),
    "Sum2": ("x", 0, 1, "x", 1, "y"),
    "Sum3": ("x", 0, 1, "x", 1, "y", 1, "z"),
    "Sum": ("x", 0),
    "term": ("z", 1, "y"),
    "Prod": ("x",),
    "factor": ("z", "y", 1),
    "bounds": ("x", -7, 11),
    "lo": ("x", -6),
    "hi": ("x", 11),
    "residue": ("x", 4, 2),
    "same": ("x", "y"),
    "as-multiple": ("x", 2, "y", "y"),
    "as-common": ("x", 4, 3, "zero", "x"),
    "as-offset": ("x", "y", 1),
    "as-inner": ("x", 2, "y", 5, "y"),
    "as-quotient": ("x", 2, "y", 5, "y"),
    "as-scaled": ("x", 2, "y", "y"),
    "as-step": ("x", 2, "y", 1),
    "as-multiple-of": ("x", "z", "y", "y"),
    "as-common-of": ("x", "y", "z", "zero", "one", "x"),
    "as-product": ("x", "y", "z"),
    "as-pair": ("x", 1, "y", 2, "y", "y"),
    "quotient": ("x", "y", 3),
    "remainder": ("x", "y", 3),
    "quotient-of": ("x", "y", "z"),
    "remainder-of": ("x", "y", "z"),
    "difference": ("x", "y", "z"),
    "total": ("x", "y", "z"),
}
# what is unfinished, beside the rows that finish them
MEMBERS: dict[str, list[tuple[str, tuple[Any, ...]]]] = {"Sum": [("term", ("x", 1, "y"))], "Prod": [("factor", ("x", "y", 1))]}


def also(work: Session) -> None:
    """Loops that the false facts name, and a term under an assumption."""
    encoder = work.encoder
    encoder.node("Axis", 0, 5), encoder.node("RAxis", 0, 5)
    encoder.bounded(encoder.node("Given", encoder.index(y), 0), (1, 3))


@pytest.mark.parametrize("relation", FALSE)
def test_a_false_fact_of_every_kind_is_found(relation: str) -> None:
    work, model, _ = saturated([x, y, z, x - x, x - x + 1], prepare=also)
    assert not false_facts(work, model)
    numbers: dict[Any, int] = {
        name: work.encoder.index(term) for name, term in (("x", x), ("y", y), ("z", z), ("zero", x - x), ("one", x - x + 1))
    }

    def row(values: tuple[Any, ...]) -> tuple[int, ...]:
        return tuple(work.encoder.name(v[5:]) if str(v).startswith("name ") else numbers.get(v, v) for v in values)

    work.loaded = [(relation, row(FALSE[relation])), *((kind, row(values)) for kind, values in MEMBERS.get(relation, []))]
    assert false_facts(work, model)[:1] == work.loaded[:1]


def test_every_relation_that_index_terms_can_state_has_a_false_fact_and_no_other_is_passed_over() -> None:
    assert FALSE.keys() == STATED
    work, model, _ = saturated([x])
    work.loaded.append(("as-nothing", (1, 2)))
    with pytest.raises(KeyError, match="as-nothing"):
        false_facts(work, model)


def scaled_by_any_sign(v: Visit) -> None:
    for name, node in v.nodes("Min"):
        for arg in node.args:
            ((atom, k),) = v.form(arg).terms
            other = next(a for a in node.args if a != arg)
            if k < 0 and v.first("wrong", name, arg):
                inner = v.encoder.node("Min", *sorted((atom, v.form(other).terms[0][0])))
                v.encoder.same(name, v.sum(Linear(0, ((inner, k),))))


def wheres_of_other_conditions(v: Visit) -> None:
    for name in v.sums:
        for form in v.alternatives(name):
            chosen = [v.node(a).args for a, _ in form.terms if v.node(a).op == "Where"]
            if len(chosen) == 2 and v.first("wrong", name, form):
                (p, x, y), (_, z, t) = chosen
                pairs = (v.sum(v.form(a).plus(v.form(b))) for a, b in ((x, z), (y, t)))
                v.encoder.same(name, v.encoder.node("Where", p, *pairs))


def a_remainder_left_out(v: Visit) -> None:
    for _, name, d in v.divisions():
        form = v.form(name)
        if v.first("wrong", name, d):
            exact = Linear(0, tuple((a, k // d) for a, k in form.terms if k % d == 0))
            v.state("as-multiple", name, d, v.sum(exact), v.encoder.number(form.constant))


def any_common_factor(v: Visit) -> None:
    for _, name, d in v.divisions():
        if v.first("wrong", name, d):
            ((atom, k), *rest) = v.form(name).terms
            v.state("as-common", name, d, k, atom, v.sum(Linear(0, tuple(rest))))


def simplex_of_any_constant(v: Visit) -> None:
    for name, node in v.nodes("Nonneg"):
        form = v.form(node.args[0])
        if form.constant and v.first("wrong", name):
            v.encoder.same(name, v.truth("Nonneg", v.sum(Linear(0, tuple((a, -1) for a, _ in form.terms)))))


def bounds_of_neither_operand(v: Visit) -> None:
    for name, node in v.nodes("Min"):
        v.encoder.bounded(name, (max(v.bounds(a)[0] for a in node.args), min(v.bounds(a)[1] for a in node.args)))


def order_of_any_condition(v: Visit) -> None:
    for name, node in v.nodes("Where"):
        if v.first("wrong", name):
            v.encoder.same(name, v.encoder.node("Max", *sorted(node.args[1:])))


WRONG: dict[Callable[[Visit], None], Index] = {
    scaled_by_any_sign: minimum(-x, -y),
    wheres_of_other_conditions: where(x < 3, x, y) + where(y < 3, y, z),
    a_remainder_left_out: (4 * x + y + 3) // 4,
    any_common_factor: (3 * x + y) // 4,
    simplex_of_any_constant: 5 * y + 3 * z <= 30,
    bounds_of_neither_operand: minimum(x, y),
    order_of_any_condition: where(z >= 4, x, y),
}


@pytest.mark.parametrize("visit", WRONG, ids=lambda visit: visit.__name__)
def test_a_wrong_sum_row_states_a_false_fact_or_raises_the_alarm(visit: Callable[[Visit], None]) -> None:
    planted = Table("planted", "index", "", (SumRow("wrong", "", "", visit),))
    try:
        work, model, _ = saturated([WRONG[visit]], (planted,))
    except UnsoundRuleError:
        return
    assert false_facts(work, model)


def test_facts_are_collected_from_every_load() -> None:
    work, _, _ = saturated([(4 * x + y + z + 3) // 4 + minimum(x, y + 13)])
    relations = {relation for relation, _ in work.loaded}
    assert {"Var", "Floordiv", "Sum3", "as-multiple", "as-offset", "residue", "difference", "same", "bounds"} <= relations


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.integers(-5, 5), min_size=4, max_size=4), st.lists(st.integers(-6, 6), min_size=4, max_size=4))
def test_products_that_share_factors_are_bounded_by_corners(factors: list[int], ends: list[int]) -> None:
    """a*x*y + b*x + c*y >= d is decided wherever it is the same for all x and y of their ranges."""
    (a, b, c, d), (x0, x1), (y0, y1) = factors, sorted(ends[:2]), sorted(ends[2:])
    term = eqsat.parse_index(f"{a}*x*y + {b}*x + {c}*y >= {d}", {"x": (x0, x1), "y": (y0, y1)})
    truths = {a * x * y + b * x + c * y >= d for x in range(x0, x1 + 1) for y in range(y0, y1 + 1)}
    found = str(eqsat.simplify(term, options=eqsat.Options(cache=False)))
    assert (found in ("True", "False")) == (len(truths) == 1)
    if len(truths) == 1:
        assert found == str(truths.pop())


def test_products_of_large_ranges_are_compared_with_sums() -> None:
    ranges = {"x": (1, 4095), "y": (1, 4095), "z": (1, 7)}
    for text in ("x*y < (x + y)*2048", "x*y*59 < (y + x)*176128", "x*y*z < (x + y)*2048*z", "x*y - 4095*x <= 0"):
        assert str(eqsat.simplify(eqsat.parse_index(text, ranges))) == "True"
    assert str(eqsat.simplify(eqsat.parse_index("x*y < (x + y)*2047", ranges))) not in ("True", "False")  # 4095 * 4095 is more
