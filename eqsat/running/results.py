"""New arrays for results."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np

from eqsat.codegen.calls.direct_code import LEAST_BYTES
from eqsat.codegen.memory.results import Memory, memory, supported
from eqsat.keeping.kept import common_code

Array = np.ndarray[Any, Any]


def results_memory() -> Memory | None:
    """The memory of results that are not small; None where NumPy's serves."""
    return memory(common_code) if supported() else None


def new_array(shape: tuple[int, ...], dtype: np.dtype[Any], others: Iterable[Array] = ()) -> Array:
    """An array of a result, its elements undefined; `others` are used with it."""
    if dtype.itemsize * prod(shape) < LEAST_BYTES or (here := results_memory()) is None:
        return np.empty(shape, dtype)
    return here.empty(shape, dtype, others)
