"""Quotients and remainders of 64 bits by constants, multiplied by halves: exact at every edge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
from tests.effort import examples, some

SMALL = (3, 5, 6, 7, 9, 10, 11, 12, 100, 125, 255, 641, 1000, 1_000_003)
LARGE = (2**31 - 1, 2**31 + 1, 2**32 - 1, 2**32 + 1, 2**33 + 7, 10**12, 10**18, 2**62 - 1, 2**62 + 1, 2**63 - 1)
BEYOND = (2**63 + 1, 3 * 2**62, 2**64 - 3, 2**64 - 1)


def around(divisor: int, low: int, high: int) -> list[int]:
    """Numbers around multiples of a divisor and around powers of two, and the ends of the range."""
    most = [low, high, *(s * 2**k for k in (0, 31, 32, 62) for s in (1, -1)), *(k * divisor for k in (0, 1, -1, 7, -7, 2**29 + 1))]
    most += [high // divisor * divisor, low // divisor * divisor]
    return sorted({n + e for n in most for e in (-1, 0, 1) if low <= n + e <= high})


def check(divisor: int, numbers: list[int], dtype: str) -> None:
    x, d = np.array(numbers, dtype), np.array(divisor, dtype)[()]
    quotient, remainder = eqsat.jit(lambda x: (x // d, x % d))(x)
    np.testing.assert_array_equal(quotient, x // d)
    np.testing.assert_array_equal(remainder, x % d)


@pytest.mark.parametrize("divisor", some((*SMALL, *LARGE)))
def test_signed_numbers_are_divided_exactly(divisor: int) -> None:
    check(divisor, around(divisor, -(2**63), 2**63 - 1), "int64")
    check(-divisor, around(divisor, -(2**63), 2**63 - 1), "int64")


@pytest.mark.parametrize("divisor", some((*SMALL, *LARGE, *BEYOND)))
def test_unsigned_numbers_are_divided_exactly(divisor: int) -> None:
    check(divisor, around(divisor, 0, 2**64 - 1), "uint64")


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(st.integers(2, 2**63 - 1), st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_any_numbers_by_any_constant(divisor: int, numbers: list[int]) -> None:
    check(divisor, numbers + around(divisor, -(2**63), 2**63 - 1), "int64")
    check(divisor, around(divisor, 0, 2**64 - 1), "uint64")


def test_they_are_products_of_vectors() -> None:
    assert "div" not in eqsat.optimize(lambda x: x // 7, eqsat.spec((1000,), "int64")).llvm_ir.split("kernel_0.arrays")[0]
