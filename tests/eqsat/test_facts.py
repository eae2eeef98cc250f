"""Facts that the user declares: while they are, simplifying, proofs and certificates are about the points where they hold."""

from __future__ import annotations

import pytest

import eqsat
from eqsat.ir.errors import UsageError
from eqsat.sizes.contradictions import cannot_hold

N = eqsat.dim("n", 1, 100)
ROUNDED = N // 4 * 4


def test_a_fact_can_be_declared_again() -> None:
    fact = eqsat.assume(N % 4 == 0)
    assert eqsat.simplify(ROUNDED) is N
    fact.retract()
    assert eqsat.simplify(ROUNDED) is not N
    with fact:
        assert eqsat.simplify(ROUNDED) is N
    assert eqsat.simplify(ROUNDED) is not N


def test_proofs_hold_under_the_facts() -> None:
    assert eqsat.prove_equal(ROUNDED, N).refuted
    with eqsat.assume(N % 4 == 0):
        proof = eqsat.prove_equal(ROUNDED, N)
        assert proof.proved
        assert proof.left is ROUNDED
        assert eqsat.prove_equal(ROUNDED, N + 1).refuted
        assert eqsat.prove_equal(N % 4 < 1, True)


def test_what_is_found_under_a_fact_is_certified_under_it() -> None:
    with eqsat.assume(N % 4 == 0):
        result = eqsat.optimize(ROUNDED, options=eqsat.Options(certify=True))
    assert result.expr is N
    assert result.certificate
    assert (result.certificate.left, result.certificate.right) == (ROUNDED, N)


@pytest.mark.parametrize("condition", [N > 100, (N < 3) & (N > 5), N % 4 > N, (N % 2 > 0) & (N % 4 < 1)])
def test_a_fact_that_never_holds_is_refused(condition: eqsat.Index) -> None:
    with pytest.raises(UsageError, match="never holds"):
        eqsat.assume(condition)


M, LARGE, OTHER = eqsat.var("m", 0, 100), eqsat.dim("big", 1, 10**9), eqsat.dim("other", 1, 10**9)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (N > 10, N < 5),
        (N % 2 == 0, N % 4 == 3),
        (N > M, M > N),
        (LARGE > 10, LARGE < 5),
        (LARGE > OTHER, OTHER > LARGE),
        (LARGE < 50, LARGE % 64 == 60),
        (2 * LARGE + OTHER < 9, OTHER >= 7),
        (LARGE // 4 > 9, LARGE // 4 < 7),
    ],
)
def test_facts_that_never_hold_together_are_refused(first: eqsat.Index, second: eqsat.Index) -> None:
    with pytest.raises(UsageError, match="never holds"):
        eqsat.assume(first & second)
    with eqsat.assume(first), pytest.raises(UsageError, match=r"`.*` never holds where `.*` does"), eqsat.assume(second):
        pass
    with eqsat.assume(second):  # it was retracted, and the refused one is not declared
        pass
    later = eqsat.assume(first)
    later.retract()
    with eqsat.assume(second), pytest.raises(UsageError, match="never holds where"):
        later.declare()


@pytest.mark.parametrize(("first", "second"), [(N > 10, N < 12), (LARGE > OTHER, OTHER > 9), (N < 5, M > 50), (N % 4 == 0, N % 6 == 2)])
def test_facts_that_hold_together_are_taken(first: eqsat.Index, second: eqsat.Index) -> None:
    with eqsat.assume(first), eqsat.assume(second), eqsat.assume(first):
        pass


def test_every_term_in_its_bounds_that_satisfies_signs_is_left() -> None:
    x, y = eqsat.var("x", -7, 7), eqsat.var("y", -7, 7)
    points = [(a, b) for a in range(-7, 8) for b in range(-7, 8)]
    for k in range(-3, 4):
        for limit in range(-30, 31):
            condition = (k * x - 2 * y <= limit) & (3 * x + y >= 5 - limit)
            if not isinstance(condition, eqsat.Index):
                continue
            assert cannot_hold(condition) is not any(k * a - 2 * b <= limit and 3 * a + b >= 5 - limit for a, b in points)


def test_several_conditions_are_one_fact() -> None:
    with eqsat.assume(N % 4 == 0, N > 8) as fact:
        assert eqsat.simplify(ROUNDED) is N
        assert eqsat.prove_equal(N > 11, True)
    assert eqsat.simplify(ROUNDED) is not N
    assert str(fact) == "assume(n % 4 == 0 and n > 8)"
    with pytest.raises(UsageError, match="found no condition"):
        eqsat.assume()
    with pytest.raises(UsageError, match="never holds"):
        eqsat.assume(N > 10, N < 5)
    with pytest.raises(UsageError, match="expected a condition"):
        eqsat.assume(N > 10, N)
