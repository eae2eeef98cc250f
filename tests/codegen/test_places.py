"""Where results begin within pages: far from what the same call reads and has made before."""

from __future__ import annotations

import numpy as np
import pytest

import eqsat
from eqsat.codegen.memory.places import FARTHEST, LEAST, PAGE, PLACES, SLOT, Array, aligned_bytes, apart_from, marks
from eqsat.codegen.memory.results import supported
from eqsat.running.results import new_array

needs_memory = pytest.mark.skipif(not supported(), reason="only NumPy allocates on this system")
SHAPE = (512, 512)


def array_at(place: int, shape: tuple[int, ...] = SHAPE) -> Array:
    """Zeros that begin so many bytes behind the beginning of a page."""
    size = 4 * int(np.prod(shape))
    memory = np.zeros(size + PAGE, np.uint8)
    first = (place - memory.ctypes.data) % PAGE
    return memory[first : first + size].view(np.float32).reshape(shape)


def apart(one: Array, other: Array) -> int:
    """Bytes between the beginnings of two arrays within a page."""
    difference = (one.ctypes.data - other.ctypes.data) % PAGE
    return min(difference, PAGE - difference)


def test_the_farthest_place_is_in_the_widest_gap() -> None:
    assert len(FARTHEST) == 1 << PLACES
    few = (marked for marked in range(1 << PLACES) if marked.bit_count() <= PLACES // 2 - 1)
    assert all(not marked >> FARTHEST[marked] & 1 for marked in few)
    for place in range(PLACES):
        assert min((FARTHEST[1 << place] - place) % PLACES, (place - FARTHEST[1 << place]) % PLACES) >= PLACES // 2 - 1


def test_short_arrays_do_not_matter() -> None:
    assert marks([array_at(0, (LEAST // 4 - 1,)), array_at(3 * SLOT)]) == 1 << 3
    assert apart_from([array_at(0)]) == apart_from([], first=True)


@needs_memory
@pytest.mark.parametrize("place", range(0, PAGE, 448))
def test_results_begin_apart_from_operands(place: int) -> None:
    x, y = array_at(place), array_at(place + 3 * SLOT)
    assert apart(new_array(SHAPE, np.dtype("float32"), [x]), x) >= 3 * SLOT
    one = eqsat.jit(lambda x: x + 1.0)
    two = eqsat.jit(lambda x, y: (x - y, x + y))
    for _ in range(4):  # the first calls go through Python
        assert apart(one(x), x) >= 3 * SLOT
        made = two(x, y)
        others = [x, y, *made]
        assert all(apart(a, b) >= SLOT // 2 for k, a in enumerate(others) for b in others[:k])
    np.testing.assert_array_equal(one(x), x + 1)


@needs_memory
def test_a_block_that_is_used_again_moves() -> None:
    one = eqsat.jit(lambda x: x + 1.0)
    for place in (0, 2048, 1024, 3072) * 2:
        x = array_at(place, (700, 700))
        assert apart(one(x), x) >= 3 * SLOT


def test_memory_between_kernels_begins_apart() -> None:
    storages = list[Array]()
    for _ in range(3):
        storages.append(aligned_bytes(LEAST, storages))
    assert all(storage.ctypes.data % 64 == 0 and storage.nbytes == LEAST for storage in storages)
    assert all(apart(a, b) >= SLOT for k, a in enumerate(storages) for b in storages[:k])
