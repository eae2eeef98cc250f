"""Distances between places: constants where sums differ in nothing else, by every value of the variables."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings, strategies as st

from eqsat.ir.affine import distance
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Const, Index, Var, apply
from tests.effort import examples

ROW, COLUMN = Var("i", 0, 3), Var("j", 0, 3)
SUMS = st.recursive(
    st.sampled_from([ROW, COLUMN]) | st.integers(-5, 5).map(Const),
    lambda below: st.one_of(
        st.tuples(below, below).map(lambda both: both[0] + both[1]),
        st.tuples(below, below).map(lambda both: both[0] - both[1]),
        st.tuples(below, st.integers(-4, 4)).map(lambda both: both[0] * both[1]),
        below.map(lambda one: apply("min", one, Const(2))),
    ),
    max_leaves=6,
)


def test_what_is_known() -> None:
    assert distance(ROW * 4 + COLUMN + 3, COLUMN + ROW * 4) == 3
    assert distance(4 * ROW + 1, COLUMN - (-4) * ROW - COLUMN - 2) == 3
    least = apply("min", ROW * 16, Const(25))
    assert distance(least * 4 + 3, least * 4 + 1) == 2
    assert distance(ROW * 4 + 3, ROW * 4 + COLUMN) is None
    assert distance(ROW * 4, ROW * 3) is None


@settings(max_examples=examples(200), deadline=None)
@given(SUMS, SUMS)
def test_a_distance_is_that_of_all_values(one: Index, other: Index) -> None:
    found = distance(one, other)
    values = [{ROW: i, COLUMN: j} for i, j in product(range(4), repeat=2)]
    differences = {evaluate_index(one, each) - evaluate_index(other, each) for each in values}
    assert found is None or differences == {found}
    assert distance(one + 7, one) == 7
