"""Expressions over sizes, 25 or in thorough tests 200, simplified under declared facts and compared over sampled sizes; a planted error."""

from __future__ import annotations

import eqsat
from eqsat.ir.index import apply, var
from tests.effort import examples
from tests.fuzz.sizes import Case, cases, check, difference

COUNT = examples(200, 8)


def test_expressions_are_equal_wherever_their_facts_hold() -> None:
    counts, wrong = check(COUNT, 0)
    assert wrong == []
    assert counts["cases"] == COUNT
    assert counts["never"] <= COUNT // 20
    assert counts["cheaper for the facts"] >= COUNT // 20


def test_a_result_that_its_fact_does_not_carry_is_found() -> None:
    n = eqsat.dim("n", 1, 64)
    even = Case(n // 2 * 2, (apply("eq", n % 2, 0),))
    assert difference(even, n)[0] is None
    assert difference(Case(n // 4 * 4, even.facts), n)[0] is not None
    assert difference(Case(var("i", 0, 7) % n, (apply("le", n, 8),)), var("i", 0, 7))[0] is not None


def test_a_seed_gives_the_same_cases() -> None:
    assert cases(20, 3) == cases(20, 3) != cases(20, 4)
