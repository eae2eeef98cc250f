"""Terms under conditions: what cannot hold is never assumed, and nested conditions hold together."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings, strategies as st

import eqsat
from eqsat.egraph.index_cost import index_cycles
from eqsat.egraph.linear import Linear
from eqsat.ir.index import Apply, apply, in_order, walk
from eqsat.rules.assumptions import MAX_TRIED, _has_solution
from tests.effort import examples, some

RANGES = {"x": (0, 20), "y": (0, 20), "z": (0, 20)}


def _numbers(depth: int) -> st.SearchStrategy[str]:
    """Terms of small variables as text, among them truth values and what is one under conditions."""
    leaves = st.sampled_from(["x", "y", "z", "w", "-2", "-1", "0", "1", "2", "3"])
    if not depth:
        return leaves
    below, truths = st.deferred(lambda: _numbers(depth - 1)), st.deferred(lambda: _truths(depth - 1))
    divided = st.tuples(below, st.sampled_from(["//", "%", "*"]), st.sampled_from(["2", "3", "4"]))
    return st.one_of(
        leaves,
        divided.map(lambda parts: f"({' '.join(parts)})"),
        st.tuples(below, below).map(lambda parts: f"({' + '.join(parts)})"),
        st.tuples(st.sampled_from(["min", "max"]), below, below).map(lambda parts: f"{parts[0]}({parts[1]}, {parts[2]})"),
        st.tuples(truths, below, below).map(lambda parts: f"where({', '.join(parts)})"),
        truths.map(lambda text: f"int({text})"),
    )


def _truths(depth: int) -> st.SearchStrategy[str]:
    below = _numbers(max(depth - 1, 0))
    compared = st.tuples(below, st.sampled_from(["<", "<=", "==", "==", "!=", ">="]), below).map(lambda parts: f"({' '.join(parts)})")
    if not depth:
        return compared
    truths = st.deferred(lambda: _truths(depth - 1))
    joined = st.tuples(truths, st.sampled_from(["and", "or"]), truths).map(lambda parts: f"({' '.join(parts)})")
    return st.one_of(compared, joined, truths.map(lambda text: f"(not {text})"))


IMPOSSIBLE = (
    "x >= 5 and x <= 5 and x % 2 == 0",
    "x >= 5 and x <= 6 and x % 4 == 3",
    "x < y and y < x",
    "x < y and y < z and z < x",
    "x + y >= 30 and x <= 8 and y % 8 == 7",
    "x % 4 == 1 and x % 4 == 2",
    "x < y and x % 4 == 0 and y % 4 == 0 and x + 3 >= y",
)


@pytest.mark.parametrize(
    ("index", "valid"), some(itertools.product(["x // 2 + y", "min(x, y) + x % 4", "where(x < 7, min(x, z), y) // 3"], IMPOSSIBLE))
)
def test_a_gate_that_never_holds_raises_no_alarm_and_changes_nothing_where_it_does_not_hold(index: str, valid: str) -> None:
    term, gate = eqsat.parse_index(index, RANGES), eqsat.parse_index(valid, RANGES)
    _, found = eqsat.simplify_gated(term, gate)
    assert eqsat.prove_equal(gate, found)
    outside = eqsat.where(gate, term, term + 1)
    assert eqsat.prove_equal(outside, eqsat.simplify(outside), extends=True)


@pytest.mark.parametrize(
    ("signs", "ranges", "solvable"),
    [
        ([Linear(0, ((1, 1), (2, -1)))], {1: range(5), 2: range(4, 9)}, True),
        ([Linear(-1, ((1, 1), (2, -1)))], {1: range(5), 2: range(4, 9)}, False),
        ([Linear(-1, ((1, 1), (2, -1))), Linear(-1, ((1, -1), (2, 1)))], {1: range(99), 2: range(99)}, False),
        ([Linear(-1, ((1, -1), (2, 1))), Linear(3, ((1, 1), (2, -1)))], {1: range(0, 21, 4), 2: range(0, 21, 4)}, False),
        ([Linear(-1, ((1, -1), (2, 1))), Linear(4, ((1, 1), (2, -1)))], {1: range(0, 21, 4), 2: range(0, 21, 4)}, True),
        ([Linear(-7, ((1, 2), (2, 3)))], {1: range(2), 2: range(2)}, False),
    ],
)
def test_values_are_found_for_relations_that_can_hold_and_for_no_others(
    signs: list[Linear], ranges: dict[int, range], solvable: bool
) -> None:
    assert _has_solution(signs, ranges, [MAX_TRIED]) == solvable


def test_an_inner_condition_holds_together_with_the_outer_one() -> None:
    ranges = {"f": (0, 131)}
    term = eqsat.parse_index("where(f < 60, f, where(f < 84, min(max(f - 60, 0), 23), f - 84))", ranges)
    clear = eqsat.parse_index("where(f < 60, f, where(f < 84, f - 60, f - 84))", ranges)
    found = eqsat.simplify(term)
    assert "min" not in str(found)
    assert "max" not in str(found)
    assert index_cycles(found) <= index_cycles(clear)


def test_an_atom_that_equals_several_sums_under_a_condition_is_replaced_once() -> None:
    """A variable of two values equals 1 + q and 2 - p: a sum with both in place of it would be another one."""
    x = eqsat.var("x", 0, 2)
    shifted = x * 2 // 4 + (1 - x * 2 // 2) * 2
    index, gate = eqsat.simplify_gated(shifted * 4 + shifted % 4, x >= 1)
    assert eqsat.prove_equal(gate, x >= 1)
    assert eqsat.prove_equal(eqsat.where(x >= 1, index, 0), eqsat.where(x >= 1, shifted * 4 + shifted % 4, 0))


def test_a_gated_index_keeps_the_digits_that_its_gate_computes() -> None:
    """Apart, index and gate are cheapest in other digits; as they are written they share them."""
    f = eqsat.var("f", 0, 107)
    row, column = f // 12 % 3, f % 3
    valid = (column >= 2) & (row + 7 >= 1) & (row + 7 < 9)
    index, gate = eqsat.simplify_gated((f // 3 % 4 + 3) * 8 + (column - 2) * 8 + (row + 7 - 1), valid)
    assert index_cycles(index, gate) <= index_cycles((column + f // 3 % 4) * 8 + row + 14, (column >= 2) & (row < 2))


SMALL = {"x": (-4, 5), "y": (-3, 6), "z": (0, 1), "w": (0, 3)}


@pytest.mark.parametrize(
    "text",
    [
        "z == x and x >= 1",
        "z == x and x >= 1 and w == 3",
        "int(w >= z) == y and 0 < y",
        "z != x or x >= 1",
        "where(x // 4 == z, x // 4, 0) + y",
        "x < y or y == 0 or (x != z or y != y) or (y < 0 or x < y)",
        "not (w == 0 and w == z) and where(x == z, z, y) < y",
    ],
)
def test_a_variable_that_is_a_truth_value_under_a_condition_is_none_outside(text: str) -> None:
    term = eqsat.parse_index(text, SMALL)
    assert eqsat.prove_equal(term, eqsat.simplify(term))


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(_truths(2), min_size=2, max_size=3), st.sampled_from([" and ", " or "]))
def test_conditions_of_small_variables_keep_their_values(parts: list[str], between: str) -> None:
    term = eqsat.parse_index(between.join(parts), SMALL)
    assert eqsat.prove_equal(term, eqsat.simplify(term))


def test_a_gate_that_reads_the_opposite_remainder_shares_the_one_of_the_index() -> None:
    x, y, z = eqsat.var("x", 0, 1), eqsat.var("y", 0, 3), eqsat.var("z", 0, 6)
    place = x * 28 + y * 7 + z
    index, gate = eqsat.simplify_gated(place // 8 * 4 - place % 8 + 3, (y - x * 28 - z + 7) % 8 >= 4)
    assert sum(isinstance(sub, Apply) and sub.op == "mod" for sub in walk(index, gate)) == 1
    assert index_cycles(index, gate) <= index_cycles(place // 8 * 4 + 3 - place % 8, place % 8 < 4) + 2


def test_a_digit_of_a_sum_of_several_terms_reads_their_remainder() -> None:
    x, y, z = eqsat.var("x", 0, 11), eqsat.var("y", 0, 9), eqsat.var("z", 0, 4)
    place = (x + y) * 5 + z
    low = (x + y) % 4 * 5 + z
    index, gate = eqsat.simplify_gated(place // 4 % 5 * 7, low >= 12)
    assert index_cycles(index, gate) <= index_cycles(low // 4 * 7, low >= 12)


def test_comparisons_of_a_digit_that_nothing_else_reads_do_without_it() -> None:
    """Neither comparison gains anything alone: x // 11 stays for the other."""
    x = eqsat.var("a", 0, 10) * 567 + eqsat.var("b", 0, 80) * 7 + eqsat.var("c", 0, 6)
    least, low, high, top = x % 11, x // 11 % 7, x // 77 % 9, x // 693 % 3
    known = (least < 5) & (least >= 2) & (top >= 1) & (high >= 3) & (high < 6)
    found = eqsat.simplify_gated(high * 3 - top, known & (low >= 3) & (low < 5))
    assert index_cycles(*found) <= index_cycles(high * 3 - top, known & (x % 77 >= 33) & (x % 77 < 55))


@pytest.mark.parametrize("index", ["f", "f // 75", "f % 75 + f // 15"])
def test_a_condition_is_not_implied_by_what_is_known_under_it(index: str) -> None:
    """Where f // 75 >= 2, f - f // 75 * 75 >= 15 says that f >= 165; elsewhere it does not."""
    ranges = {"f": (0, 1199)}
    gate = eqsat.parse_index("f - f // 75 * 75 >= 15 and f // 75 >= 2", ranges)
    _, found = eqsat.simplify_gated(eqsat.parse_index(index, ranges), gate)
    assert eqsat.prove_equal(gate, found)


@pytest.mark.parametrize("beside", ["min(x, 1)", "1 - max(1 - x, 0)"])
@pytest.mark.parametrize(
    "text",
    ["where(x >= 1, x + 20 * z, y)", "where(x < 1, z * y, x * y)", "where(x < 1, 1, where(x < 2, 3, 1))", "x >= 1 and x + y < z + 4"],
)
def test_a_least_of_integers_that_is_a_truth_value_says_nothing_of_truth_values(text: str, beside: str) -> None:
    """min(x, 1) is x >= 1 for x from 0 to 2: where it is 1, x need not be."""
    ranges = {"x": (0, 2), "y": (0, 5), "z": (-3, 6)}
    both = [eqsat.parse_index(part, ranges) for part in (f"({beside}) * 7 + y", text)]
    for term, found in zip(both, eqsat.simplify_many(both, eqsat.Options(cache=False)), strict=True):
        assert eqsat.prove_equal(term, found)


@pytest.mark.parametrize("factor", [-5, -2, -1, 0, 1, 3])
@pytest.mark.parametrize("bounds", [(0, 0), (-1, 0), (0, 1), (-1, 1)])
def test_a_least_of_what_never_holds_is_what_it_is(factor: int, bounds: tuple[int, int]) -> None:
    """Of k from 0 to 0, k and k * -5 are truth values by their bounds; where one of them were true, the other would be -5."""
    k, j = eqsat.var("k", *bounds), eqsat.var("j", 0, 1)
    for other in (k, k * 2, k + j - j, k * j):
        for term in (eqsat.minimum(k * factor, other), eqsat.maximum(k * factor, other)):
            assert eqsat.prove_equal(term, eqsat.simplify(term, eqsat.Options(cache=False)))


@pytest.mark.parametrize(
    "text", ["where(p * 9 + q == -2, m << p, p)", "where(p * 9 + q == -2, q >> p, m)", "where(p == 3, m << p, q >> p + 1)"]
)
def test_what_a_condition_says_of_a_shift_takes_no_value_from_the_term(text: str) -> None:
    """All of a term is evaluated: where the condition does not hold, a shift by -1 in its branch has no value."""
    term = eqsat.parse_index(text, {"p": (-1, 8), "m": (-4, -1), "q": (0, 15)})
    assert eqsat.prove_equal(term, eqsat.simplify(term, eqsat.Options(cache=False)))


def test_of_two_forms_that_cost_the_same_the_one_without_a_remainder_is_taken() -> None:
    """Though it rests on what the gate says of two variables."""
    i, j = eqsat.var("i", 0, 6), eqsat.var("j", 0, 5)
    index, _ = eqsat.simplify_gated((i - j * 2) % 4, (j >= 2) & (j < 4) & (i >= 2) & (i < 4))
    assert str(index) == "i - j * 2 + 4"


def test_a_conjunct_of_many_terms_is_read_under_all_others() -> None:
    """Where f // 756 % 6 is 1, by two conjuncts, the dividend below is the index itself, and its quotient 0 is two comparisons."""
    ranges = {"f": (0, 36287)}
    index = "f // 189 % 4 * 8 + f % 189 // 63 * 4 + f % 63 // 7 * 2 + f % 7 + f // 4536 * 16"
    quotient = f"({index} + f // 756 % 6 * 16 - 88) // 16 == 0"
    simple = "f % 63 < 21 and f // 756 % 6 >= 1 and f // 189 % 4 < 3 and f // 189 % 4 >= 1 and f >= 13608 and f % 63 >= 7 and f < 22680"
    gate = f"f // 756 % 6 < 2 and ({simple} and ({quotient} and f % 7 >= 2)) and f % 189 < 126 and f % 7 < 4"
    term, valid = eqsat.parse_index(f"{index} - 72", ranges), eqsat.parse_index(gate, ranges)
    found, left = eqsat.simplify_gated(term, valid)
    assert eqsat.prove_equal(valid, left)
    # 10 with egglog 13, 11 with egglog 14, which Python 3.12 gets: it numbers classes in another order, and so are equal forms met
    assert sum(isinstance(sub, Apply) and sub.op in ("floordiv", "mod") for sub in walk(found, left)) <= 11


@pytest.mark.parametrize(
    ("text", "ordered"),
    [
        ("x + y < z * 3 and x < 4 and y < 2", "x < 4 and y < 2 and x + y < z * 3"),
        ("x < 4 and (y < 2 and z < 1)", "x < 4 and y < 2 and z < 1"),
        ("x + y < 3 or x < 4 or int(x + z < 4 and y < 2) == z", "x < 4 or x + y < 3 or int(y < 2 and x + z < 4) == z"),
        ("x < 4 or x + y < 9 and z < 2", "x < 4 or (z < 2 and x + y < 9)"),
        ("x + y", "x + y"),
    ],
)
def test_the_largest_operand_of_a_conjunction_or_disjunction_is_the_outermost(text: str, ordered: str) -> None:
    term = in_order(eqsat.parse_index(text, RANGES), lambda operand: sum(1 for _ in walk(operand)))
    assert term is eqsat.parse_index(ordered, RANGES)


@pytest.mark.parametrize(
    "text",
    [
        "y > 0 and x % max(y, 1) < 5",
        "where(y > 0 and x % max(y, 1) < 5, x, z)",
        "y == 0 or x // (y + int(y == 0)) == z",
        "where(y >= 1, x // max(y, 1), z)",
        "where(y % 4 == 0 and y > 0, x // max(y, 3), z)",
    ],
)
def test_what_is_read_under_a_condition_is_no_divisor_that_is_zero_elsewhere(text: str) -> None:
    term = eqsat.parse_index(text, RANGES)
    assert eqsat.prove_equal(term, eqsat.simplify(term))
    gate = apply("bool", term) if term.kind == "int" else term
    assert eqsat.prove_equal(gate, eqsat.simplify_gated(eqsat.parse_index("x", RANGES), gate)[1])
