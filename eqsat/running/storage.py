"""Arrays between kernels: which share memory, by when they are alive, and the memory itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Lifetime:
    """An array of so many bytes, written in the group of kernels `first` and read for the last time in the group `last`."""

    nbytes: int
    first: int
    last: int


def share_storage(lifetimes: Sequence[Lifetime]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(storage of each array, bytes of each storage): arrays that are never alive in the same group may share one.

    Arrays take their places in the order in which they are written, the larger first, each the free storage that fits best, or the
    largest free one, grown.
    """
    sizes: list[int] = []
    free_after: list[int] = []
    chosen = [0] * len(lifetimes)
    for k in sorted(range(len(lifetimes)), key=lambda k: (lifetimes[k].first, -lifetimes[k].nbytes)):
        life = lifetimes[k]
        free = [s for s, last in enumerate(free_after) if last < life.first]
        fitting = [s for s in free if sizes[s] >= life.nbytes]
        if fitting:
            place = min(fitting, key=sizes.__getitem__)
        elif free:
            place = max(free, key=sizes.__getitem__)
            sizes[place] = life.nbytes
        else:
            place = len(sizes)
            sizes.append(life.nbytes)
            free_after.append(life.last)
        free_after[place] = life.last
        chosen[k] = place
    return tuple(chosen), tuple(sizes)


def array_in(storage: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array at the beginning of a storage."""
    count = int(np.prod(shape, dtype=np.int64))
    return storage[: count * dtype.itemsize].view(dtype).reshape(shape)
