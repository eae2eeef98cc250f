"""Facts that the user declares: while they are, simplifying, proofs and certificates are about the points where they hold."""

from __future__ import annotations

import pytest

import eqsat
from eqsat.ir.errors import UsageError

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
