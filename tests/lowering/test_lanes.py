from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings, strategies as st

from eqsat.ir.errors import InternalError
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import OPS, Const, Index, apply, as_index, maximum, var, where
from eqsat.lowering.lanes import Broadcast, Canonical, Irregular, Strided, groups, lane_terms, pattern
from tests.effort import examples
from tests.ir.typed_terms import terms_at_edges

X, J, K, N = var("i", 0, 9), var("j", 0, 4), var("k", 0, 3), var("n", 1, 50)
COMMUTATIVE = [name for name, row in OPS.items() if row.commutative]


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (X * 8 + J, "broadcast"),
        (X * 4 + K, 1),
        (K + X * 4, 1),
        (X * 4 + K * 3, 3),
        ((X * 4 + K) // 4, "broadcast"),
        ((X * 4 + K) % 4 + J, 1),
        (X * 4 - K, -1),
        ((X * 8 + K * 2) // 2, 1),
        ((X * 8 + J) // 5 * 16 + K, 1),
        (maximum(X, J) * 4 + K * 2 + 1, 2),
        (N * X + K, 1),
        ((X + K) // 4, "gather"),
        (K * K, "gather"),
        (N * K, "gather"),
        (where(K < 2, X, J), "gather"),
    ],
)
def test_the_lanes_of_a_term_are_recognized(term: Index, expected: str | int) -> None:
    terms = lane_terms(term, K)
    found = pattern(terms)
    if isinstance(expected, int):
        assert found == Strided(terms[0], expected)
    else:
        assert found == (Broadcast(terms[0]) if expected == "broadcast" else Irregular(terms))


def test_a_broadcast_and_a_progression_are_what_the_lanes_evaluate_to() -> None:
    for term in (X * 4 + K * 3 - J, (X * 4 + K) // 4 + J, X * 4 - K):
        found, terms = pattern(lane_terms(term, K)), lane_terms(term, K)
        for i, j in itertools.product(range(10), range(5)):
            values = [evaluate_index(lane, {X: i, J: j}) for lane in terms]
            step = found.step if isinstance(found, Strided) else 0
            assert values == [values[0] + k * step for k in range(4)]


@pytest.mark.parametrize("op", COMMUTATIVE)
def test_the_order_of_commutative_operands_does_not_matter(op: str) -> None:
    canonical = Canonical()
    assert canonical(apply(op, X * N, J // 3)) is canonical(apply(op, J // 3, N * X))
    one, other = apply("int", apply(op, X, N % 7)), apply("int", apply(op, N % 7, X))
    assert isinstance(pattern([one, other]), Broadcast)


@pytest.mark.parametrize("op", ["sub", "floordiv", "mod", "lt", "shl"])
def test_the_order_of_other_operands_matters(op: str) -> None:
    canonical = Canonical()
    assert canonical(apply(op, X, J + 1)) is not canonical(apply(op, J + 1, X))


def test_lanes_that_were_written_differently_are_contiguous() -> None:
    big = var("r1", 0, 99)
    lanes = [big * 8000 + J * 16, J * 16 + big * 8000 + 1, (big * 500 + J) * 16 + 2, 3 + 16 * (J + 500 * big)]
    assert pattern(lanes) == Strided(lanes[0], 1)
    inside = [(X + (J + 1)) // 7 + k if k % 2 else (1 + J + X) // 7 + k for k in range(4)]
    assert pattern(inside) == Strided(inside[0], 1)


def test_vectors_of_the_same_lanes_are_one_group() -> None:
    one, same, other = [X * 8 + k + J for k in range(4)], [J + (k + 8 * X) for k in range(4)], [X * 8 + J + 1 - k for k in range(4)]
    assert groups([one, other, same, one]) == [[0, 2, 3], [1]]


def test_one_lane_is_a_broadcast_and_none_is_an_error() -> None:
    assert pattern([X]) == Broadcast(X)
    assert pattern([as_index(3), as_index(5), Const(7)]) == Strided(as_index(3), 2)
    with pytest.raises(InternalError, match="no lanes"):
        pattern([])


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_a_canonical_form_has_the_values_of_the_term(data: st.DataObject) -> None:
    x, y = var("x", -5, 9), var("y", 2**31 - 3, 2**31)
    term = data.draw(terms_at_edges((x, y)))
    canonical = Canonical()(term)
    env = {x: data.draw(st.integers(*x.bounds)), y: data.draw(st.integers(*y.bounds))}
    assert evaluate_index(canonical, env) == evaluate_index(term, env)
