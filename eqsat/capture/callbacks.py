"""Functions of NumPy that call functions: `piecewise`, `apply_along_axis`, `apply_over_axes`.

The functions get arrays of the trace, and are recorded like what is around them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eqsat.ir.errors import DTypeError, ShapeError, UnsupportedError, UsageError
from eqsat.ir.generics import as_build
from eqsat.ir.tensor import Build, Gather, Generic, Read, Tensor, axes, has_fold, scalars, sources, tensors
from eqsat.operations.generic import one_axis

# rows that a function is recorded for one by one
MOST_ROWS = 64


def _piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """Of all elements each function, which has to be one of elements, is computed; the last whose condition holds is taken, in the dtype
    of `x`."""
    if not hasattr(x, "tensor"):
        raise UnsupportedError(f"piecewise: found {type(x).__name__} beside traced conditions, expected an array of the trace; use where")
    listed = isinstance(condlist, list | tuple) and len(condlist) > 0
    several = (x.ndim == 0 or np.ndim(condlist[0]) > 0) if listed else np.ndim(condlist) > 1
    conditions = list(condlist) if several else [condlist]
    if any(np.shape(condition) != x.shape for condition in conditions):
        raise ShapeError(f"piecewise: found conditions of the shapes {[np.shape(one) for one in conditions]}, expected {x.shape}")
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise UsageError(
            f"piecewise: found {len(funclist)} functions for {len(conditions)} conditions, expected as many or one more, for elsewhere"
        )
    found = np.zeros_like(x)
    otherwise = [(True, funclist[-1])] if len(funclist) > len(conditions) else []
    for condition, function in (*otherwise, *zip(conditions, funclist, strict=False)):
        value = function(np.copy(x), *args, **kw) if callable(function) else function
        if np.ndim(value) and not (hasattr(value, "tensor") and callable(function) and _is_of_elements(value.tensor, x.tensor)):
            raise UnsupportedError(
                "piecewise: found a function whose value at an element is made of others, supported are functions of elements and numbers; "
                "use where"
            )
        if np.iscomplexobj(value) and not np.iscomplexobj(x):
            raise DTypeError(f"piecewise: found complex values, which are not cast to {x.dtype}")
        chosen = value.astype(x.dtype) if hasattr(value, "astype") else np.asarray(value).astype(x.dtype)
        found = np.where(condition, chosen, found)
    return found


def _is_of_elements(made: Tensor, source: Tensor) -> bool:
    """Whether every element of a tensor is made of that of another one at its place, and of what does not depend on that."""
    depends: dict[Tensor, bool] = {}
    for tensor in tensors(made):
        depends[tensor] = tensor is source or any(depends.get(one, False) for one in sources(tensor))
        if tensor is source or not depends[tensor]:
            continue
        build = as_build(tensor) if isinstance(tensor, Generic) else tensor
        if not isinstance(build, Build) or has_fold(build.body) or build.shape != source.shape:
            return False
        for term in scalars(build.body):
            if isinstance(term, Gather) and depends.get(term.tensor, False):
                return False
            if isinstance(term, Read) and depends.get(term.tensor, False) and not _is_at_place(term, build):
                return False
    return made.shape == source.shape and depends[made]


def _is_at_place(read: Read, build: Build) -> bool:
    return tuple(read.indices) == tuple(axes(build.shape)) or all(n == 1 for n in build.shape)


def _apply_along_axis(func1d: Callable[..., Any], axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """The function of every row; what it makes stands where the row was."""
    k = one_axis("apply_along_axis", axis, arr.ndim)
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
        k = one_axis("apply_over_axes", axis, a.ndim)
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
