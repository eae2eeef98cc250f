"""Which arrays share memory: never two that are alive in one group of kernels, and no more memory than arrays."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, strategies as st

from eqsat.codegen.memory.places import ALIGNMENT, aligned_bytes
from eqsat.running.storage import Lifetime, array_in, share_storage

spans = st.builds(lambda n, first, length: Lifetime(n, first, first + length), st.integers(0, 99), st.integers(0, 9), st.integers(0, 4))
lifetimes = st.lists(spans)


@given(lifetimes)
def test_arrays_that_share_storage_are_never_alive_together_and_fit(found: list[Lifetime]) -> None:
    places, sizes = share_storage(found)
    for k, one in enumerate(found):
        assert one.nbytes <= sizes[places[k]]
        for j, other in enumerate(found[:k]):
            apart = one.last < other.first or other.last < one.first
            assert places[j] != places[k] or apart
    assert sum(sizes) <= sum(life.nbytes for life in found)


def test_a_chain_needs_two_storages() -> None:
    places, sizes = share_storage([Lifetime(100, k, k + 1) for k in range(6)])
    assert len(sizes) == 2
    assert all(a != b for a, b in pairwise(places))


def test_memory_is_aligned_and_arrays_lie_at_its_beginning() -> None:
    for nbytes in (1, 64, 1000):
        storage = aligned_bytes(nbytes)
        assert storage.nbytes == nbytes
        assert storage.ctypes.data % ALIGNMENT == 0
    assert aligned_bytes(0).nbytes == 0
    array = array_in(aligned_bytes(104), (3, 4), np.dtype("float64"))
    assert array.shape == (3, 4)
    assert array.flags.carray
