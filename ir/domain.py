"""Where an operation has a value: what must hold of its last operand, of which it alone depends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eqsat.ir.interval import Interval


@dataclass(frozen=True)
class Domain:
    """The numbers n with `n op 0`, by the name of a comparison of index expressions.

    holds    whether numbers, or which of an array of them, are in it
    proved   whether all numbers of an interval are
    nearest  numbers that are in it, those that were already as they are
    """

    op: str
    holds: Callable[[Any], Any]
    proved: Callable[[Interval], bool]
    nearest: Callable[[Any], Any]


NOT_ZERO = Domain("ne", lambda n: n != 0, lambda bounds: not bounds[0] <= 0 <= bounds[1], lambda n: n + (n == 0))
NOT_NEGATIVE = Domain(
    "ge", lambda n: n >= 0, lambda bounds: bounds[0] >= 0, lambda n: np.maximum(n, 0) if isinstance(n, np.ndarray) else max(n, 0)
)
