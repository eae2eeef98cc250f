"""numpy.r_ and numpy.c_ with traced arrays among the items: one behind the other, as rows or as columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from eqsat.capture.signature import is_number
from eqsat.capture.traces import Traced, traced_deep
from eqsat.ir.errors import UnsupportedError, UsageError


class Rows:
    """enp.r_[x, 0, 1:5, [2, 3]]: arrays, numbers and ranges along the first axis."""

    plain: Any = np.r_

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        if not any(True for _ in traced_deep(items)):
            return self.plain[key]
        if any(isinstance(item, str) for item in items):
            raise UnsupportedError("r_: found directions in a string beside traced arrays; use concatenate, stack or column_stack")
        dtype = np.result_type(*(_kind(item) for item in items))
        try:
            return self.joined([np.asarray(item, dtype) if is_number(item) else _array(item).astype(dtype) for item in items])
        except OverflowError as error:
            raise UsageError(f"r_: found a number that {dtype} does not hold: {error}") from None

    def joined(self, parts: list[Any]) -> Any:
        return np.concatenate([part.reshape(-1) if part.ndim < 1 else part for part in parts])


class Columns(Rows):
    """enp.c_[x, y]: the same along the last axis, of two dimensions at least; rows become columns."""

    plain: Any = np.c_

    def joined(self, parts: list[Any]) -> Any:
        return np.concatenate([part.reshape(-1, 1) if part.ndim < 2 else part for part in parts], axis=-1)


def _array(item: Any) -> Any:
    if isinstance(item, slice):
        return np.r_[item]
    return item if isinstance(item, Traced) else np.asarray(item)


def _kind(item: Any) -> Any:
    """What decides about the dtype: of a Python number no more than its kind."""
    return item if is_number(item) else _array(item).dtype
