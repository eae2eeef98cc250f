"""Polynomials of sizes: arithmetic and bounds as of their values, and numbers that they are read off."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
import pytest
from hypothesis import given

from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Var
from eqsat.ir.polynomials import Polynomial, named, polynomial_of, read_off

N, M = Var("$n", 2, 6), Var("$m", 1, 4)
VALUES = [{N: n, M: m} for n, m in itertools.product(range(2, 7), range(1, 5))]
MONOMIALS: list[tuple[Var, ...]] = [(), (N,), (M,), (N, M), (N, N)]
polynomials = st.lists(st.tuples(st.sampled_from(MONOMIALS), st.integers(-9, 9)), max_size=5).map(Polynomial.of)


@given(polynomials, polynomials)
def test_arithmetic_is_that_of_values(a: Polynomial, b: Polynomial) -> None:
    for values in VALUES:
        assert (a + b).at(values) == a.at(values) + b.at(values)
        assert (a - b).at(values) == a.at(values) - b.at(values)
        assert (a * b).at(values) == a.at(values) * b.at(values)


@given(polynomials)
def test_bounds_hold_and_are_reached_where_no_size_is_multiplied(a: Polynomial) -> None:
    found = [a.at(values) for values in VALUES]
    low, high = a.bounds
    assert low <= min(found)
    assert max(found) <= high
    if all(len(monomial) < 2 for monomial, _ in a.terms):
        assert (low, high) == (min(found), max(found))


@given(polynomials, st.sampled_from([Polynomial.number(3), Polynomial.size(N), Polynomial.size(M), Polynomial.of([((N,), 2)])]))
def test_quotients_are_floors(a: Polynomial, by: Polynomial) -> None:
    quotient = a.divided(by)
    if quotient is not None:
        assert all(quotient.at(values) == a.at(values) // by.at(values) for values in VALUES)


def test_quotients_that_are_known() -> None:
    n, m = Polynomial.size(N), Polynomial.size(M)
    assert (n.times(64) - Polynomial.number(1)).divided(Polynomial.number(64)) == n - Polynomial.number(1)
    assert (n * m - Polynomial.number(1)).divided(m) == n - Polynomial.number(1)
    assert n.divided(Polynomial.number(2)) is None
    assert (n + Polynomial.number(3)).divided(n) is None


@given(polynomials)
def test_terms_mean_the_same(a: Polynomial) -> None:
    assert all(int(evaluate_index(a.term, values)) == a.at(values) for values in VALUES)
    assert polynomial_of(a.term) == a
    assert named(a.by_name, {"n": N, "m": M}.__getitem__) == a


@given(polynomials)
def test_polynomials_are_read_off_numbers(a: Polynomial) -> None:
    markers = {N: 1_009, M: 10**12 + 39}
    assert read_off(a.at(markers), markers, 250) == a


@pytest.mark.parametrize("number", [500, 1009 * 300, 1009 * 5 + 400])
def test_numbers_that_are_made_of_nothing_are_left(number: int) -> None:
    assert read_off(number, {N: 1_009}, 250) is None
