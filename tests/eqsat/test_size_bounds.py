"""Bounds of index terms by sizes: they hold at every place of every size, and show the reads of NumPy's operations to be in range."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Const, Index, Var, apply
from eqsat.ir.polynomials import Polynomial
from eqsat.ir.size_bounds import SizeBounds, is_within
from tests.effort import examples

N, M = Var("$n", 2, 6), Var("$m", 1, 4)
# loops over n, m and n + 2 places, and over 3
ROW, J, K, R = Var("i0", 0, 10), Var("i1", 0, 12), Var("i2", 0, 12 + 16), Var("r0", 0, 2)
ONE, TWO = Polynomial.number(1), Polynomial.number(2)
SIZES = {11: Polynomial.size(N), 13: Polynomial.size(M), 29: Polynomial.size(N) + TWO}
POINTS = [
    {N: n, M: m, ROW: i, J: j, K: k, R: r}
    for n, m in itertools.product(range(2, 7), range(1, 5))
    for i, j, k, r in itertools.product(range(n), range(m), range(n + 2), range(3))
]


def combined(below: st.SearchStrategy[Index]) -> st.SearchStrategy[Index]:
    pairs = st.tuples(st.sampled_from(["add", "sub", "mul", "min", "max"]), below, below)
    divided = st.tuples(st.sampled_from(["floordiv", "mod"]), below, st.sampled_from([Const(2), Const(3), N, M, N * 2]))
    chosen = st.tuples(below, below, below, below).map(lambda t: apply("where", apply("lt", t[0], t[1]), t[2], t[3]))
    return st.one_of(pairs.map(lambda t: apply(*t)), divided.map(lambda t: apply(*t)), chosen)


terms = st.recursive(st.sampled_from([ROW, J, K, R, N, M, Const(1), Const(2), Const(-1)]), combined, max_leaves=6)


@given(terms)
@settings(max_examples=examples(300), deadline=None)
def test_bounds_hold_everywhere(term: Index) -> None:
    lows, highs = SizeBounds(SIZES).of(term)
    for point in POINTS[:: max(1, len(POINTS) // 200)]:
        value = int(evaluate_index(term, point))
        assert all(low.at({N: point[N], M: point[M]}) <= value for low in lows)
        assert all(value <= high.at({N: point[N], M: point[M]}) for high in highs)


INSIDE: dict[str, tuple[Index, int]] = {
    "reversed": (N - 1 - ROW, 11),
    "the next place": (apply("min", ROW + 1, N - 1), 11),
    "in a frame": (apply("min", apply("max", K - 1, 0), N - 1), 11),
    "rolled": ((ROW + (N - 1)) % N, 11),
    "a digit of a flat place": ((ROW * M + J) // M, 11),
    "the other digit": ((ROW * M + J) % M, 13),
    "what goes away": (ROW + N - J - N + J, 11),
    "reversed twice": (N - 1 - (N - 1 - ROW), 11),
    "either": (apply("where", apply("lt", ROW, J), N - 1 - ROW, ROW), 11),
}
OUTSIDE: dict[str, tuple[Index, int]] = {
    "behind the last": (ROW + 1, 11),
    "before the first": (ROW - 1, 11),
    "of a longer axis": (K, 11),
    "of another": (ROW, 13),
    "a place that some sizes lack": (Const(2), 11),
    "in the frame": (K - 1, 11),
}


@pytest.mark.parametrize("what", INSIDE)
def test_reads_that_are_in_range(what: str) -> None:
    term, extent = INSIDE[what]
    assert is_within(term, extent, SIZES)


@pytest.mark.parametrize("what", OUTSIDE)
def test_reads_that_are_not(what: str) -> None:
    term, extent = OUTSIDE[what]
    assert not is_within(term, extent, SIZES)
    limit = {point: SIZES[extent].at({N: values[N], M: values[M]}) for point, values in enumerate(POINTS)}
    assert any(not 0 <= int(evaluate_index(term, values)) < limit[point] for point, values in enumerate(POINTS))
