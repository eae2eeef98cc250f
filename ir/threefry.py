"""Threefry-2x32 with 20 rounds: numbers that look random as a function of a key and a counter.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011).  A key and a counter are two
words of 32 bits each, here the halves of one of 64, the first word the high half.  For one key, different counters give different results.
"""

from __future__ import annotations

from typing import Any

import numpy as np

PARITY = 0x1BD11BDA
# how far the second word is rotated, in rounds of four; behind each four the key comes in
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
FOURS = 5


def threefry(key: Any, counter: Any) -> Any:
    """The result for uint64 keys and counters, which broadcast."""
    with np.errstate(over="ignore"):
        key0, key1 = _words(key)
        keys = (key0, key1, key0 ^ key1 ^ np.uint32(PARITY))
        first, second = _words(counter)
        first, second = first + keys[0], second + keys[1]
        for four in range(FOURS):
            for distance in ROTATIONS[four % 2]:
                first = first + second
                second = (second << np.uint32(distance) | second >> np.uint32(32 - distance)) ^ first
            first = first + keys[(four + 1) % 3]
            second = second + keys[(four + 2) % 3] + np.uint32(four + 1)
    return first.astype(np.uint64) << np.uint64(32) | second.astype(np.uint64)


def _words(value: Any) -> tuple[Any, Any]:
    whole = np.asarray(value, np.uint64)
    return (whole >> np.uint64(32)).astype(np.uint32), whole.astype(np.uint32)
