"""Values that are made once for each key, however many threads ask for them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """The most recently used values by key, `capacity` of them (None: all).

    A thread that asks for a value which another one is making waits for it; other keys are made meanwhile.
    """

    def __init__(self, capacity: int | None = None) -> None:
        self.capacity = capacity
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._making: dict[Hashable, threading.RLock] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of `key`, made by `make` if there is none; if that raises, nothing is kept and the next thread tries."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            turn = self._making.setdefault(key, threading.RLock())
        with turn:
            with self._lock:
                if key in self._kept:
                    return self._kept[key]
            try:
                value = make()
                self._keep(key, value)
            finally:
                with self._lock:
                    self._making.pop(key, None)
        return value

    def _keep(self, key: Hashable, value: T) -> None:
        with self._lock:
            self._kept[key] = value
            while self.capacity is not None and len(self._kept) > self.capacity:
                self._kept.popitem(last=False)
