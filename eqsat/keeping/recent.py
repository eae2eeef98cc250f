"""Values by key, the most recently used ones kept."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


# all of this process
_EVERY: weakref.WeakSet[Recent[Any]] = weakref.WeakSet()


def _unlock_all() -> None:
    for values in _EVERY:
        values.unlock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_all)


class Recent(Generic[T]):
    """The `capacity` most recently used values (None: all); who looks or keeps holds `lock`, for several steps if they belong together."""

    def __init__(self, capacity: int | None = None) -> None:
        self.capacity = capacity
        self.lock = threading.Lock()
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        _EVERY.add(self)

    def unlock(self) -> None:
        """Let go of what threads hold that a fork has left behind."""
        self.lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._kept

    def __getitem__(self, key: Hashable) -> T:
        """The value of a key that is kept; it is the most recently used one then."""
        self._kept.move_to_end(key)
        return self._kept[key]

    def __setitem__(self, key: Hashable, value: T) -> None:
        self._kept[key] = value
        while self.capacity is not None and len(self._kept) > self.capacity:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        with self.lock:
            self._kept.clear()
