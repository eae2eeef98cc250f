"""Where arrays begin within pages, so that no load waits for a store that has nothing to do with it.

A processor takes a load for one of what an earlier store writes as long as it has compared the last twelve bits of their addresses alone
(4K aliasing; Intel 64 and IA-32 Architectures Optimization Reference Manual, "Memory Disambiguation").  What is stored at a place of a
result, and loaded beside the same place of an operand soon after, is such a pair if both begin at the same place of a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
PAGE, ALIGNMENT = 4096, 64
# places of a page that are told apart
PLACES = 8
SLOT = PAGE // PLACES
# arrays of fewer bytes are read too shortly to matter
LEAST = 64 << 10


def marks(arrays: Iterable[Array]) -> int:
    """The places at which arrays begin, a bit for each."""
    found = 0
    for array in arrays:
        if array.nbytes >= LEAST:
            found |= 1 << (address_of(array) % PAGE // SLOT)
    return found


def address_of(array: Array) -> int:
    """Of its first element."""
    return int(array.__array_interface__["data"][0])


def _farthest(marked: int) -> int:
    taken = [place * SLOT + SLOT // 2 for place in range(PLACES) if marked >> place & 1]
    return max(range(PLACES), key=lambda place: min((_apart(place * SLOT, other) for other in taken), default=0))


def _apart(one: int, other: int) -> int:
    return min((one - other) % PAGE, (other - one) % PAGE)


# for all marks the byte of a page that is farthest from them, in slots
FARTHEST = bytes(_farthest(marked) for marked in range(1 << PLACES))


def apart_from(arrays: Iterable[Array], first: bool = False) -> int:
    """The byte of a page at which an array begins that is used with these; `first`: and with some at the first place, as NumPy's large
    arrays are."""
    return FARTHEST[marks(arrays) | first] * SLOT


def aligned_bytes(nbytes: int, others: Sequence[Array] = ()) -> Array:
    """New memory that begins with a line of the cache, and within pages apart from others that are used with it."""
    memory = np.empty(nbytes + PAGE, np.uint8)
    skip = (apart_from(others, first=True) - address_of(memory)) % PAGE if nbytes >= LEAST else -address_of(memory) % ALIGNMENT
    return memory[skip : skip + nbytes]
