"""The values of a program that is being put together, and choices of them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class Nothing(Exception):
    """No value that an idiom could take."""


class Draw:
    """The values that were made so far, and a source of choices."""

    def __init__(self, rng: random.Random, values: dict[str, Array]) -> None:
        self.rng = rng
        self.values = values
        self.rounded: set[str] = set()
        self.taken: set[str] = set()
        self.exactly = False

    def value(self, kinds: str = "f", rank: int | None = None, shape: tuple[int, ...] | None = None, least: int = 1) -> str:
        """The name of a value: one of these kinds, of this rank or shape, with axes of at least this extent."""
        fitting = [
            name
            for name, v in self.values.items()
            if v.dtype.kind in kinds
            and (v.ndim == rank if rank is not None else v.ndim > 0)
            and shape in (None, v.shape)
            and min(v.shape, default=1) >= least
            and not (self.exactly and name in self.rounded)
        ]
        if not fitting:
            raise Nothing
        # the latest ones more often
        name = self.rng.choice(fitting[-3:] if self.rng.random() < 0.6 else fitting)
        self.taken.add(name)
        return name

    def exact(self, kinds: str = "f", rank: int | None = None, shape: tuple[int, ...] | None = None, least: int = 1) -> str:
        """A value that has not been rounded."""
        self.exactly = True
        try:
            return self.value(kinds, rank, shape, least)
        finally:
            self.exactly = False

    def like(self, name: str, kinds: str = "f") -> str:
        return self.value(kinds, shape=self.values[name].shape)

    def beside(self, name: str, kinds: str = "f") -> str:
        """A value that broadcasts with another one to its shape."""
        shape = self.values[name].shape
        fitting = [one for one, v in self.values.items() if v.dtype.kind in kinds and _fits(v.shape, shape)]
        if not fitting:
            raise Nothing
        chosen = self.rng.choice(fitting)
        self.taken.add(chosen)
        return chosen

    def axis(self, name: str) -> int:
        return self.rng.randrange(self.values[name].ndim) - self.rng.choice((0, self.values[name].ndim))

    def extent(self, name: str, axis: int = -1) -> int:
        extents: tuple[int, ...] = self.values[name].shape
        return extents[axis]

    def number(self) -> str:
        return self.rng.choice(("0.5", "2", "-1", "0.25", "3", "1", "-0.75"))

    def small(self, most: int, least: int = 1) -> int:
        return self.rng.randint(least, max(least, most))


def _fits(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, into) == into
    except ValueError:
        return False
