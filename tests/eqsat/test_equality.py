"""prove_equal: what each method proves, that it proves nothing wrong, and what it says about differences."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import eqsat
from eqsat.ir.errors import UsageError
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Index, Var, apply, maximum, minimum, var, variables, where
from eqsat.ir.index_points import CHUNK, Pair, conditions, disagreement
from eqsat.proving import integer_sets, proof
from eqsat.proving.proof import Proof, by_bounds, prove
from tests.effort import examples
from tests.eqsat.index_terms import needs_islpy, terms
from tests.fuzz.random_terms import draw

STABLE = settings(max_examples=examples(200), deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
BIG = 2**30
X, Y, Z = var("x", -BIG, BIG), var("y", 0, BIG), var("z", 0, BIG)
SMALL = var("s", -9, 9)


def value(term: Index, point: dict[Var, int]) -> int | None:
    try:
        return int(evaluate_index(term, point))
    except (ZeroDivisionError, ValueError):
        return None


def really_equal(a: Index, b: Index, extends: bool = False) -> bool:
    """By Python's integers, one point after the other."""
    names = variables(a, b)
    for point in itertools.product(*(range(v.lo, v.hi + 1) for v in names)):
        env = dict(zip(names, point, strict=True))
        left, right = value(a, env), value(b, env)
        if left != right and not (extends and left is None):
            return False
    return True


def only_sets(a: Index, b: Index) -> Proof:
    """The answer of the integer sets alone, as a proof."""
    answer = integer_sets.compare(Pair(a, b))
    method: proof.Method = "integer sets" if answer.equal else "counterexample" if answer.difference else "unknown"
    return Proof(a, b, method, proof.named(answer.difference.point) if answer.difference else None, 0, answer.note)


# methods -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("left", "right", "method"),
    [
        (X // 8, X // 8, "identical"),
        (minimum(Y, -3), maximum(-3, -4 - Y), "bounds"),
        (SMALL // 4 * 4 + SMALL % 4, SMALL, "exhaustive"),
        (X // 8 * 8 + X % 8, X, "e-graph"),
        ((X + Y) - X * 2 + X, Y, "bounds"),
        ((X % 4 + Y) * (Y - X % 4), Y * Y - X % 4 * (X % 4), "bounds"),
    ],
    ids=str,
)
def test_the_cheapest_method_that_decides_is_named(left: Index, right: Index, method: str) -> None:
    found = eqsat.prove_equal(left, right)
    assert (bool(found), found.method, found.counterexample) == (True, method, None)
    assert f"proved ({method}" in str(found)


def test_a_difference_is_a_counterexample() -> None:
    found = eqsat.prove_equal(X // 8 * 8, X)
    assert not found
    assert found.method == "counterexample"
    assert found.counterexample is not None
    x = found.counterexample["x"]
    assert x // 8 * 8 != x
    assert str(found) == f"refuted: x // 8 * 8 != x at x = {x}: {x // 8 * 8} and {x}"
    assert "refuted" in found._repr_mimebundle_()["text/html"]


MISSED = [777_777_777, -1_000_003]


@pytest.mark.parametrize("missed", MISSED)
def test_a_difference_at_a_single_point_of_a_large_range_is_not_called_a_proof(missed: int) -> None:
    assert not eqsat.prove_equal(X, where(apply("eq", X, missed), X + 1, X))


@needs_islpy
@pytest.mark.parametrize("missed", MISSED)
def test_integer_sets_find_a_difference_at_a_single_point(missed: int) -> None:
    assert eqsat.prove_equal(X, where(apply("eq", X, missed), X + 1, X)).counterexample == {"x": missed}


def test_what_no_method_decides_is_unknown_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integer_sets, "_islpy", lambda: None)
    found = prove(Pair(X // 8 * 8 + X % 8, X))
    assert (bool(found), found.method, found.counterexample) == (False, "unknown", None)
    assert "islpy is not installed" in str(found)


def test_without_integer_sets_all_points_of_a_medium_box_are_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integer_sets, "_islpy", lambda: None)
    a = var("a", 0, 199_999)
    found = prove(Pair(a // 3 // 7, a // 21))
    assert (found.method, found.points) == ("exhaustive", 200_000)
    assert a.extent > CHUNK


def test_values_beyond_64_bits_are_compared_exactly() -> None:
    huge = var("h", 2**70, 2**70 + 99)
    assert eqsat.prove_equal(huge * huge // 7 * 7 + huge * huge % 7, huge * huge).method == "exhaustive"
    found = eqsat.prove_equal(huge * huge, huge * huge + huge // (2**70 + 99))
    assert found.counterexample == {"h": 2**70 + 99}


# where a side has no value -----------------------------------------------------------------------------------------
def test_sides_have_values_at_the_same_points() -> None:
    d = var("d", -3, 3)
    lost = eqsat.prove_equal(X // d * 0, 0)
    assert lost.counterexample is not None
    assert lost.counterexample["d"] == 0
    assert lost.note == "no value and 0"
    assert eqsat.prove_equal(X // d * 0, 0, extends=True)
    assert eqsat.prove_equal(0, X // d * 0, extends=True).counterexample is not None
    assert eqsat.prove_equal((SMALL // d) * 1, SMALL // d).method == "bounds"
    assert eqsat.prove_equal(SMALL // d * d + SMALL % d, SMALL + d // d - 1).method == "exhaustive"
    assert eqsat.prove_equal(apply("shl", SMALL, d), SMALL * where(d < 0, 1, 2**d.hi), extends=False).counterexample is not None


def test_a_branch_that_is_not_taken_must_have_a_value_too() -> None:
    d = var("d", 0, 3)
    found = eqsat.prove_equal(where(d > 0, 12 // d, 0), where(d > 1, 12 // d, 12 * apply("int", d > 0)))
    assert found, str(found)
    assert eqsat.prove_equal(where(d > 0, 12 // d, 0), 12 // maximum(d, 1)).counterexample == {"d": 0}


# integer sets ------------------------------------------------------------------------------------------------------
FORMS: dict[str, tuple[Index, Index]] = {
    "division": (X // 8 * 8 + X % 8, X),
    "negative divisors": (X % -3 + X // -3 * -3, X),
    "nested divisions": ((X // 3 + 5) // 7, (X + 15) // 21),
    "shifts": (apply("shr", apply("shl", X, 3), 5), X // 4),
    "a mask": (X & 12, X // 4 % 4 * 4),
    "a negative mask": (X & -8, X // 8 * 8),
    "or": (X | 7, X // 8 * 8 + 7),
    "xor": (X ^ -1, -X - 1),
    "min and max": (minimum(X, Y) + maximum(X, Y), X + Y),
    "abs": (abs(X - Y), maximum(X, Y) - minimum(X, Y)),
    "where": (where(X < Y, X, Y), minimum(X, Y)),
    "truth": (apply("not", (X < 5) & (Y > 3)), (X >= 5) | (Y <= 3)),
    "comparison": (X // 4 < 3, X < 12),
    "equality": (apply("eq", X % 2, 1), apply("ne", X // 2 * 2, X)),
    "truth values as numbers": (apply("int", X > 0) - apply("int", X < 0), maximum(-1, minimum(X, 1))),
    "a product by a truth value": (X * apply("int", X > 0), maximum(X, 0)),
    "a divisor of few values": (X // var("n", 2, 5) * 0 + X % 2, X % 2),
    "what has no form": ((X * Y + 3) // 2 * 2 + (X * Y + 3) % 2, X * Y + 3),
    "operations on equal operands": (X // (Y // 2 // 3 + 1), X // (Y // 6 + 1)),
}


@needs_islpy
@pytest.mark.parametrize("name", FORMS)
def test_integer_sets_prove(name: str) -> None:
    left, right = FORMS[name]
    found = only_sets(left, right)
    assert found, str(found)
    wrong = only_sets(left, right ^ (apply("eq", X, 12345))) if right.kind == "bool" else only_sets(left, right + apply("int", X > BIG - 2))
    assert not wrong


@needs_islpy
def test_a_set_of_differences_gives_a_counterexample() -> None:
    found = only_sets((X + 1) // 8, X // 8)
    assert found.counterexample is not None
    assert found.counterexample["x"] % 8 == 7


@needs_islpy
@pytest.mark.parametrize("seed", range(3))
def test_integer_sets_agree_with_all_points(seed: int) -> None:
    rng, decided = random.Random(seed), 0
    for k in range(examples(100)):
        term = draw(seed, k)
        other = rng.choice((term + 1 if term.kind == "int" else apply("not", term), draw(seed + 50, k), apply("int", term)))
        for pair in (Pair(term, other), Pair(term, other, extends=True)):
            if pair.size > CHUNK or not pair.fits:
                continue
            answer, difference = integer_sets.compare(pair), pair.exhaustive()
            assert not (answer.equal and difference), f"{term} == {other}"
            assert not (answer.difference and difference is None), f"{term} == {other}"
            decided += answer.equal or answer.difference is not None
    assert decided >= examples(60)


# anything ----------------------------------------------------------------------------------------------------------
@STABLE
@given(terms(depth=2), terms(depth=2))
def test_a_proof_is_right_and_a_counterexample_is_one(a: Index, b: Index) -> None:
    found = eqsat.prove_equal(a, b)
    assert bool(found) == really_equal(a, b), str(found)


@STABLE
@given(st.integers(0, 10_000), st.booleans())
def test_proofs_are_right_where_divisors_may_be_zero(position: int, extends: bool) -> None:
    term = draw(3, position)
    pair = Pair(term, eqsat.simplify(term), extends)
    if pair.size <= 5000:
        assert bool(prove(pair)) == really_equal(pair.left, pair.right, extends), f"{pair.left} == {pair.right}"


def test_search_is_the_same_every_time_and_finds_what_happens_near_multiples() -> None:
    pair = Pair((Y + 7) // 4096, Y // 4096)
    assert pair.search() == pair.search()
    assert pair.search() is not None


def test_conditions_are_what_bounds_leave_open() -> None:
    d = var("d", -3, 3)
    assert conditions(X // Y + X % 4) == (apply("ne", Y, 0),)
    assert conditions(apply("shr", X, d)) == (apply("ge", d, 0),)
    assert conditions(X // (Y + 1)) == ()
    assert not disagreement(Pair(SMALL, SMALL), {SMALL: np.arange(-9, 10)}, (19,)).any()


# bad input ---------------------------------------------------------------------------------------------------------
def test_integers_and_truth_values_are_expressions() -> None:
    assert eqsat.prove_equal(3, 3)
    assert eqsat.prove_equal(True, apply("le", Y, BIG))
    assert eqsat.prove_equal(3, 4).counterexample == {}
    assert "every point" in str(eqsat.prove_equal(3, 4))
    assert eqsat.prove_equal(apply("int", X > 3), X > 3)


@pytest.mark.parametrize("wrong", ["x", 1.5, None, [1]])
def test_what_is_no_index_expression_is_refused(wrong: object) -> None:
    with pytest.raises(UsageError, match="expected an integer or an index expression"):
        eqsat.prove_equal(X, wrong)  # type: ignore[arg-type]


def test_one_name_with_two_ranges_is_refused() -> None:
    with pytest.raises(UsageError, match=r"found x in 0..7 and in 0..9, expected one range for a name"):
        eqsat.prove_equal(var("x", 0, 7), var("x", 0, 9))


@pytest.mark.parametrize(
    ("left", "right", "proved"),
    [
        ("min((g*6 + s)*64, 2936) + k", "min(2936, g*384 + s*64) + k", True),
        ("max(g*2 + s*2, k)*3", "3*max(k, (s + g)*2)", True),
        ("min(max(2*(g + s), k), 5)", "min(5, max(k, 2*s + 2*g))", True),
        ("((g + s)*2) // 7 + k", "k + (s*2 + g*2) // 7", True),
        ("min((g*6 + s)*64, 2936)", "max((g*6 + s)*64, 2936)", False),
        ("(g*2 + s) // 7", "(g + s*2) // 7", False),
        ("(g + s) % 7", "(g + s) // 7", False),
    ],
)
def test_operations_on_equal_operands_are_one_term(left: str, right: str, proved: bool) -> None:
    """Large boxes: neither all points nor integer sets are asked."""
    names = dict.fromkeys("gsk", (0, 100_000))
    pair = Pair(eqsat.parse_index(left, names), eqsat.parse_index(right, names))
    assert by_bounds(pair) == proved
