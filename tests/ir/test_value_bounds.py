"""Bounds of integer elements, exhaustively: what NumPy makes of all numbers between those of the operands is between theirs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.value_bounds import CALLS, limits

ENDS = (-128, -7, -3, -1, 0, 1, 2, 5, 127)
RANGES = [(lo, hi) for lo, hi in itertools.product(ENDS, ENDS) if lo <= hi]
TWO = (
    "add",
    "subtract",
    "multiply",
    "minimum",
    "maximum",
    "remainder",
    "floor_divide",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "right_shift",
)


@pytest.mark.parametrize("op", TWO)
def test_results_of_two_operands_are_within_their_bounds(op: str) -> None:
    """In 64 bits, so that nothing wraps round: bounds that leave a dtype are its range."""
    for a, b in itertools.product(RANGES, RANGES[::4]):
        x, y = np.arange(a[0], a[1] + 1), np.arange(b[0], b[1] + 1)
        y = y[y != 0] if op in ("remainder", "floor_divide") else y[y >= 0] if op == "right_shift" else y
        if y.size:
            found = getattr(np, op)(x[:, None], y)
            lo, hi = CALLS[op](a, b)
            assert lo <= found.min(), (a, b)
            assert found.max() <= hi, (a, b)


@pytest.mark.parametrize("op", ["negative", "absolute"])
def test_results_of_one_operand_are_within_their_bounds(op: str) -> None:
    for lo, hi in RANGES:
        found = getattr(np, op)(np.arange(lo, hi + 1))
        assert (found.min(), found.max()) == CALLS[op]((lo, hi))


def test_shifts_by_numbers_that_are_no_numbers_of_bits() -> None:
    assert CALLS["right_shift"]((5, 9), (-1, 3)) == limits("int64")
    assert CALLS["right_shift"]((0, 1), (1 << 40, 1 << 41)) == (0, 0)
    assert CALLS["right_shift"]((-8, 1), (2, 1 << 41)) == (-2, 0)


PLACES = {
    "masked": lambda xp, i: i & 63,
    "shifted": lambda xp, i: (i & 255) >> 2,
    "a digit": lambda xp, i: i % 64,
    "magnitudes": lambda xp, i: abs(xp.clip(i, -63, 63)),
    "bits of both": lambda xp, i: (i & 31) | ((i >> 5) & 31),
    "other bits": lambda xp, i: (i & 63) ^ 21,
}


@pytest.mark.parametrize("name", PLACES)
def test_places_that_are_in_range_are_not_checked(name: str) -> None:
    table, at = np.arange(64) * 3, np.random.default_rng(0).integers(-1000, 1000, 500)
    result = eqsat.optimize(lambda t, i: t[PLACES[name](enp, i)], table, at)
    assert len(result.nests) == 1
    np.testing.assert_array_equal(result(table, at), table[PLACES[name](np, at)])
