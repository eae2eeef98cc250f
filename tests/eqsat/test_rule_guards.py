"""Guards of Pattern rows by mutation: without a condition, or with one looser by one, the prover finds a counterexample.

What is not needed for the equality is listed here with its reason; where a divisor is zero neither side has a value, so that
`n > 0` and `n >= 0` are the same condition of an equality.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from eqsat.ir.index import Apply, Index
from eqsat.proving.prove import check_pattern
from eqsat.rules import rows
from eqsat.rules.row import Pattern
from tests.eqsat.row_instances import readings

PATTERNS = {row.name: row for _, row in rows() if isinstance(row, Pattern)}

# reason -> row -> conditions that the equality holds without
NOT_NEEDED: dict[str, dict[str, str]] = {
    "a negative constant divisor turns first (negative-divisor, negative-modulus); zero gives no value; larger ones leave 62 bits": {
        "composed-div-mod": "a > 0",
        "merge-digits": "a > 0",
        "merge-upper-digits": "d > 0",
        "mod-from-div": "n > 0",
        "div-from-mod": "n > 0",
        "quotient-in-quotient": "a > 0, a * d <= 36028797018963968",
        "nested-division": "a > 0, a * d <= 36028797018963968",
        "quotient-of-shifted-digit": "a > 0, a * d <= 36028797018963968",
        "offset-into-quotient": "a > 0, n > 0",
        "division-of-division": "a > 0, a * d <= 36028797018963968",
        "mod-of-multiple": "n > 0",
        "div-of-multiple": "n > 0",
        "div-of-two-values": "n > 0",
        "mod-of-two-values": "n > 0",
        "mod-inside-mod": "n > 0",
        "mod-of-mod": "n > 0",
        "div-of-mod": "n > 0",
        "xor-with-remainder": "n > 0",
        "and-with-remainder": "n > 0",
        "quotient-of-and": "n > 0",
        "remainder-of-and": "n > 0",
        "quotient-of-or": "n > 0",
        "remainder-of-or": "n > 0",
        "quotient-of-xor": "n > 0",
        "remainder-of-xor": "n > 0",
        "quotient-and-remainder-are": "n > 0",
        "quotient-is-and-remainder-above": "n > 0",
        "quotient-is-and-remainder-below": "n > 0",
    },
    "where d divides n the quotient is a digit itself, by another row; for the others see above": {
        "quotient-of-digit": "a > 0, n % d != 0, a * d <= 36028797018963968",
    },
    "one direction is enough: signs turn towards positive divisors only": {"negative-divisor": "y < 0", "negative-modulus": "y < 0"},
    "zero gives no value; a divisor that is nothing but zero is left alone": {
        "exact-symbolic-quotient": "w != 0",
        "exact-symbolic-remainder": "w != 0",
        "mod-of-symbolic-multiple": "z != 0",
        "div-of-symbolic-multiple": "z != 0",
        "symbolic-division-of-division": "z != 0",
        "symbolic-mod-of-mod": "z != 0",
        "symbolic-div-of-mod": "z != 0",
        "quotient-of-where": "n != 0",
        "remainder-of-where": "n != 0",
        "where-of-quotients": "n != 0",
        "where-of-remainders": "n != 0",
        "where-of-symbolic-quotients": "z != 0",
        "where-of-symbolic-remainders": "z != 0",
    },
    "follows from the other conditions; makes the bounds that they are read from those of a positive divisor": {
        "mod-in-bucket": "n > 0",
        "mod-in-bucket-of-term": "k >= 0, y > 0",
        "drop-small-offset": "d > 0",
        "cancel-common-factor": "g > 1",
        "common-factor-of-mod": "g > 1",
        "sign-of-multiple": "g > 1",
        "never-a-multiple": "g > 1",
        "cancel-symbolic-factor": "z > 0",
        "symbolic-factor-of-mod": "z > 0",
    },
    "division in steps by one or by negative steps leads nowhere": {"divide-in-steps": "g > 1"},
    "shifts by negative amounts have no value; larger ones leave 62 bits": {
        "shift-left": "k >= 0, k <= 30",
        "shift-right": "k >= 0, k <= 30",
    },
    "a truth value is at most 1; what lies above 1 on one side is below it on the other": {
        "or-of-nots": "p <= 1, q <= 1",
        "not-zero-or": "p <= 1",
        "not-of-and": "p <= 1, q <= 1",
        "not-of-or": "p <= 1, q <= 1",
        "where-or-false": "p <= 1",
        "where-or-true": "p <= 1",
        "nested-where-and": "p <= 1, q <= 1",
        "nested-where-or": "p <= 1, q <= 1",
    },
}
# reason -> row -> conditions that the equality needs, but that may be looser by one
LOOSER: dict[str, dict[str, str]] = {
    "zero gives no value": {
        "merge-digits": "n > 0",
        "merge-upper-digits": "a > 0, n > 0",
        "quotient-in-quotient": "d > 0",
        "nested-division": "d > 0",
        "division-of-division": "d > 0",
        "quotient-of-shifted-digit": "n > 0, d > 0",
        "quotient-of-digit": "n > 0, d > 0",
        "cancel-common-factor": "k > 0",
        "common-factor-of-mod": "k > 0",
        "div-of-mod": "k > 0",
        "symbolic-division-of-division": "w > 0",
        "symbolic-div-of-mod": "w > 0",
        "cancel-symbolic-factor": "w > 0",
        "symbolic-factor-of-mod": "w > 0",
        "min-of-quotients": "d > 0",
        "max-of-quotients": "d > 0",
        "quotient-of-min": "d > 0",
        "quotient-of-max": "d > 0",
    },
    "a division by one leads nowhere": {"divide-in-steps": "k > 1", "zero-of-multiple": "g > 1"},
}


def refuted(row: Pattern, conditions: tuple[Index, ...]) -> bool:
    """Whether the row is false with these conditions instead of its own, in any reading."""
    return any(check_pattern(replace(reading, when=conditions)).counterexample is not None for reading in readings(row))


def others(row: Pattern, position: int) -> tuple[Index, ...]:
    return (*row.when[:position], *row.when[position + 1 :])


def looser(condition: Index) -> Index | None:
    """The condition with one value more; None for equalities."""
    assert isinstance(condition, Apply)
    a, b = condition.args
    ways = {"lt": a < b + 1, "le": a <= b + 1, "gt": a > b - 1, "ge": a >= b - 1}
    return ways.get(condition.op)


def listed(table: dict[str, dict[str, str]], row: Pattern) -> list[str]:
    return [text for found in table.values() if row.name in found for text in found[row.name].split(", ")]


@pytest.mark.parametrize("name", [name for name, row in PATTERNS.items() if row.when])
def test_a_row_without_one_of_its_conditions_is_refuted_unless_the_condition_is_listed(name: str) -> None:
    row = PATTERNS[name]
    superfluous = [str(c) for k, c in enumerate(row.when) if not refuted(row, others(row, k))]
    assert superfluous == listed(NOT_NEEDED, row)


@pytest.mark.parametrize("name", [name for name, row in PATTERNS.items() if row.when])
def test_a_row_with_a_condition_looser_by_one_is_refuted_unless_it_is_listed(name: str) -> None:
    row, found = PATTERNS[name], []
    for k, condition in enumerate(row.when):
        weaker = looser(condition)
        if weaker is not None and str(condition) not in listed(NOT_NEEDED, row) and not refuted(row, (*others(row, k), weaker)):
            found.append(str(condition))
    assert found == listed(LOOSER, row)


def test_listed_rows_exist_and_stand_once() -> None:
    for table in (NOT_NEEDED, LOOSER):
        names = [name for found in table.values() for name in found]
        assert len(names) == len(set(names))
        assert set(names) <= PATTERNS.keys()


@pytest.mark.parametrize("name", PATTERNS)
def test_a_row_is_proved_as_the_e_graph_holds_truth_values(name: str) -> None:
    for reading in readings(PATTERNS[name]):
        assert check_pattern(reading).proved, reading.equation
