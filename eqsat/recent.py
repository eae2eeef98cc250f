"""Values by key, the most recently used ones kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """The `capacity` most recently used values (None: all); who looks or keeps holds `lock`, for several steps if they belong together."""

    def __init__(self, capacity: int | None = None) -> None:
        self.capacity = capacity
        self.lock = threading.Lock()
        self._kept: OrderedDict[Hashable, T] = OrderedDict()

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
