"""Bounds against brute force: every function on all small intervals, its result sound everywhere and exact where it claims to be."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from eqsat.ir import interval
from eqsat.ir.index import OPS
from eqsat.ir.interval import Interval

SMALL: list[Interval] = [(lo, hi) for lo in range(-6, 7) for hi in range(lo, 7)]
NARROW: list[Interval] = [(lo, hi) for lo in range(-3, 4) for hi in range(lo, 4)]
BOOLS: list[Interval] = [(0, 0), (0, 1), (1, 1)]
SHIFTS: list[Interval] = [(lo, hi) for lo in range(4) for hi in range(lo, 4)]
POSITIVE: list[Interval] = [(lo, hi) for lo in range(1, 7) for hi in range(lo, 7)]

# the operands that an operation takes; integers where nothing is said
DOMAINS: dict[str, tuple[list[Interval], ...]] = {
    "and": (BOOLS, BOOLS),
    "or": (BOOLS, BOOLS),
    "not": (BOOLS,),
    "where": (BOOLS, NARROW, NARROW),
    "shl": (SMALL, SHIFTS),
    "shr": (SMALL, SHIFTS),
}
INEXACT = ("mod", "bitand", "bitor", "bitxor")


def cases(op: str) -> itertools.product[tuple[Interval, ...]]:
    return itertools.product(*DOMAINS.get(op, (SMALL,) * OPS[op].arity))


def extremes(op: str, spans: tuple[Interval, ...]) -> Interval | None:
    """The least and the largest value, None where there is none; a division by zero has no value."""
    grid = np.ix_(*(np.arange(lo, hi + 1) for lo, hi in spans))
    if op in ("floordiv", "mod"):
        grid = (grid[0], grid[1][grid[1] != 0][np.newaxis, :])
    values = OPS[op].evaluate(*grid)
    return (int(values.min()), int(values.max())) if values.size else None


@pytest.mark.parametrize("op", OPS)
def test_bounds_contain_every_value_and_are_attained(op: str) -> None:
    for spans in cases(op):
        expected = extremes(op, spans)
        lo, hi = OPS[op].bounds(*spans)
        assert lo <= hi, f"{op} of {spans}"
        if expected is not None:
            assert lo <= expected[0], f"{op} of {spans}"
            assert hi >= expected[1], f"{op} of {spans}"
            assert op in INEXACT or (lo, hi) == expected, f"{op} of {spans}: found {lo}..{hi}, values {expected}"


def test_only_functions_that_say_so_are_inexact() -> None:
    for op in INEXACT:
        text = getattr(interval, op).__doc__
        assert "exact" in text.lower()


@pytest.mark.parametrize("divisor", [-5, -2, -1, 1, 2, 3, 5])
def test_bounds_of_a_remainder_by_a_constant_within_one_quotient_are_attained(divisor: int) -> None:
    for span in SMALL:
        if span[0] // divisor == span[1] // divisor:
            assert interval.mod(span, (divisor, divisor)) == extremes("mod", (span, (divisor, divisor)))


@pytest.mark.parametrize("divisor", [-5, -3, -2, -1, 1, 2, 3, 5])
def test_bounds_of_a_remainder_by_a_constant_are_attained(divisor: int) -> None:
    wrong = [span for span in SMALL if interval.mod(span, (divisor, divisor)) != extremes("mod", (span, (divisor, divisor)))]
    assert not wrong


def test_bounds_of_a_remainder_stay_below_the_divisor() -> None:
    for span, divisor in itertools.product(SMALL, POSITIVE):
        lo, hi = interval.mod(span, divisor)
        assert lo >= 0
        assert hi < divisor[1]
        assert hi <= span[1] or span[0] < 0


@pytest.mark.parametrize("op", ["bitand", "bitor", "bitxor"])
def test_bounds_of_bit_operations_on_constants_are_the_value(op: str) -> None:
    for a, b in itertools.product(range(-6, 7), repeat=2):
        value = OPS[op].evaluate(a, b)
        assert OPS[op].bounds((a, a), (b, b)) == (value, value)


@pytest.mark.parametrize("op", ["floordiv", "mod"])
def test_a_division_by_zero_only_has_harmless_bounds(op: str) -> None:
    lo, hi = OPS[op].bounds((-3, 4), (0, 0))
    assert lo <= hi
