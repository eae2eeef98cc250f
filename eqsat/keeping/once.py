"""Values that are made once for each key, however many threads ask for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import TypeVar

from eqsat.keeping.recent import Recent

T = TypeVar("T")


class Once(Recent[T]):
    """Values that are kept; a thread that asks for one which another thread is making waits for it, other keys are made meanwhile."""

    def __init__(self, capacity: int | None = None) -> None:
        super().__init__(capacity)
        self._making: dict[Hashable, threading.RLock] = {}

    def unlock(self) -> None:
        super().unlock()
        self._making = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of `key`, made by `make` if there is none; if that raises, nothing is kept and the next thread tries."""
        with self.lock:
            if key in self:
                return self[key]
            turn = self._making.setdefault(key, threading.RLock())
        with turn:
            with self.lock:
                if key in self:
                    return self[key]
            try:
                value = make()
                with self.lock:
                    self[key] = value
            finally:
                with self.lock:
                    self._making.pop(key, None)
        return value
