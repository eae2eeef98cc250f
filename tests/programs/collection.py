"""Where the programs of this folder are kept: plain functions over NumPy arrays, each with arguments to run it on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class NumpyProgram:
    """A function as it stands in a textbook or a library, and arguments; rtol as `eqsat.testing.assert_close` takes it."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    rtol: float | None


PROGRAMS: dict[str, NumpyProgram] = {}


def program(*arguments: Any, rtol: float | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Keeps the function under its name."""

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        assert name not in PROGRAMS
        PROGRAMS[name] = NumpyProgram(function, arguments, rtol)
        return function

    return keep


def normal(*shape: int, seed: int = 0, dtype: str = "float32") -> Array:
    """Standard normal values of the shape."""
    return np.random.default_rng((seed, *shape)).standard_normal(shape).astype(dtype)


def uniform(*shape: int, seed: int = 0, low: float = 0.0, high: float = 1.0, dtype: str = "float32") -> Array:
    """Values of the shape between low and high."""
    return np.random.default_rng((seed, *shape)).uniform(low, high, shape).astype(dtype)


def integers(*shape: int, below: int, seed: int = 0, dtype: str = "int64") -> Array:
    """Integers of the shape from 0 up to and without the bound."""
    return np.random.default_rng((seed, *shape)).integers(0, below, shape).astype(dtype)
