"""Threefry-2x32 with 20 rounds gives the known answers of its authors (Random123 1.14, tests/kat_vectors)."""

from __future__ import annotations

import numpy as np
import pytest

import eqsat.numpy as enp
from eqsat.ir.threefry import threefry

# counter, key, result
KNOWN = (
    (0x0000000000000000, 0x0000000000000000, 0x6B20015999BA4EFE),
    (0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 0x1CB996FCBB002BE7),
    (0x243F6A8885A308D3, 0x13198A2E03707344, 0xC4923A9C483DF7A0),
)


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_the_known_answers(counter: int, key: int, expected: int) -> None:
    assert int(threefry(np.uint64(key), np.uint64(counter))) == expected


def test_bits_are_the_results_for_the_numbers_of_the_places() -> None:
    key = enp.random.key(2**64 - 1)
    assert int(enp.random.bits(enp.random.key(0))) == KNOWN[0][2]
    expected = threefry(np.uint64(2**64 - 1), np.arange(24, dtype=np.uint64)).reshape(2, 3, 4)
    np.testing.assert_array_equal(enp.random.bits(key, (2, 3, 4)), expected)
    np.testing.assert_array_equal(enp.random.bits(key, (2, 3, 4), "uint8"), expected >> np.uint64(56))


def test_different_counters_give_different_results() -> None:
    counters = np.arange(100_000, dtype=np.uint64) * np.uint64(0x100000001)
    assert np.unique(threefry(np.uint64(5), counters)).size == counters.size


def test_every_bit_of_key_and_counter_changes_about_half_of_the_result() -> None:
    flips = np.uint64(1) << np.arange(64, dtype=np.uint64)
    word = np.random.default_rng(0).integers(0, 2**64, (2, 200, 1), dtype=np.uint64)
    same = threefry(word[0], word[1])
    for changed in (threefry(word[0] ^ flips, word[1]), threefry(word[0], word[1] ^ flips)):
        share = np.bitwise_count(changed ^ same).mean(axis=0) / 64
        assert np.all(np.abs(share - 0.5) < 0.03)  # the standard deviation is 0.0044
