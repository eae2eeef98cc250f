"""Calls of arrays alone whose plans need Python, found again by how the arrays lie in memory."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from eqsat.running.plan import Plan

# plans that are remembered
MOST_LAYOUTS = 64


class Layouts:
    """Plans by shapes, dtypes and strides of all arrays of a call."""

    def __init__(self) -> None:
        self._plans: dict[Hashable, Plan] = {}

    def find(self, values: Sequence[Any]) -> Plan | None:
        """The plan of a call with arrays that lie as these do; None where there is none, or not all are arrays."""
        return self._plans.get(_layout(values)) if self._plans else None

    def know(self, values: Sequence[Any], plan: Plan) -> None:
        """A plan that takes these arrays as they are, in their order."""
        if len(self._plans) >= MOST_LAYOUTS:
            self._plans = {}
        self._plans[_layout(values)] = plan


def _layout(values: Sequence[Any]) -> Hashable:
    arrays = [value for value in values if type(value) is np.ndarray]
    return tuple([(array.shape, array.dtype, array.strides) for array in arrays]) if len(arrays) == len(values) else None
