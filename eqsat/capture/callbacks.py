"""Functions of NumPy that call functions: `piecewise`, `apply_along_axis`, `apply_over_axes`.

The functions get arrays of the trace, and are recorded like what is around them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eqsat.ir.errors import ShapeError, UnsupportedError, UsageError

# rows that a function is recorded for one by one
MOST_ROWS = 64


def _piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """Of all elements each function is computed, the last whose condition holds is taken, in the dtype of `x`."""
    rank = np.ndim(x)
    alone = not isinstance(condlist, list | tuple) and np.ndim(condlist) == rank
    conditions = [condlist] if alone or np.ndim(condlist[0]) == 0 < rank else list(condlist)
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise UsageError(
            f"piecewise: found {len(funclist)} functions for {len(conditions)} conditions, expected as many or one more, for elsewhere"
        )
    found = np.zeros_like(x)
    otherwise = [(True, funclist[-1])] if len(funclist) > len(conditions) else []
    for condition, function in (*otherwise, *zip(conditions, funclist, strict=False)):
        value = function(x, *args, **kw) if callable(function) else function
        chosen = value.astype(x.dtype) if hasattr(value, "astype") else np.asarray(value).astype(x.dtype)
        found = np.where(condition, chosen, found)
    return found


def _apply_along_axis(func1d: Callable[..., Any], axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """The function of every row; what it makes stands where the row was."""
    if not -arr.ndim <= axis < arr.ndim:
        raise ShapeError(f"apply_along_axis: found axis {axis}, expected one of an array of {arr.ndim} dimensions")
    k = axis % arr.ndim
    others = (*arr.shape[:k], *arr.shape[k + 1 :])
    rows = np.moveaxis(arr, k, -1).reshape((-1, arr.shape[k]))
    if not 0 < rows.shape[0] <= MOST_ROWS:
        raise UnsupportedError(
            f"apply_along_axis: found {rows.shape[0]} rows, supported are 1 to {MOST_ROWS}; call the function on the array with axis="
        )
    found = np.stack([func1d(row, *args, **kwargs) for row in rows])
    made = found.shape[1:]
    behind = tuple(range(len(others), len(others) + len(made)))
    return np.moveaxis(found.reshape((*others, *made)), behind, tuple(range(k, k + len(made))))


def _apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """The function along one axis after the other; the axes that it takes away stay, of one element."""
    found = a
    for axis in np.atleast_1d(axes):
        k = int(axis) % a.ndim
        made = func(found, k)
        found = made if made.ndim == found.ndim else np.expand_dims(made, k)
        if found.ndim != a.ndim:
            raise ShapeError(f"apply_over_axes: found {made.ndim} dimensions from the function, expected {a.ndim} or {a.ndim - 1}")
    return found


CALLING: Mapping[Any, Callable[..., Any]] = {
    np.piecewise: _piecewise,
    np.apply_along_axis: _apply_along_axis,
    np.apply_over_axes: _apply_over_axes,
}
