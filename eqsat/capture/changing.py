"""Functions of NumPy that change an array of a trace: `out=`, `copyto`, and the like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from eqsat.ir.errors import DTypeError, ShapeError, UnsupportedError, UsageError
from eqsat.operations.generic import literal


def put_into(out: Any, call: Callable[[], Any], name: str, where: Any = True) -> Any:
    """np.add(x, y, out=z): an array of the trace stands for the result, or for that where a mask is true."""
    targets = out if isinstance(out, tuple) else (out,)
    if not all(hasattr(target, "memory") for target in targets):
        found = ", ".join(type(one).__name__ for one in targets)
        raise UnsupportedError(
            f"{name}: found out= of {found}, whose elements are those of now; use the result, or begin with enp.zeros_like(x)"
        )
    made = call()
    for target, found in zip(targets, made if isinstance(made, tuple) else (made,), strict=True):
        result = found if hasattr(found, "memory") else np.zeros_like(target, np.asarray(found).dtype) + found
        chosen = result if where is True else np.where(where, result, target)
        whole = chosen if chosen.shape == target.shape else np.broadcast_to(chosen, target.shape)
        target._put(whole, f"{name}(out=)", f"x = {name}(...)")
    return targets if len(targets) > 1 else targets[0]


def _copyto(target: Any, source: Any, casting: Any = "same_kind", where: Any = True) -> None:
    is_number = type(source) in (int, float, complex)
    dtype = source.dtype if hasattr(source, "dtype") else np.result_type(*([target.dtype] if is_number else []), source)
    if not np.can_cast(dtype, target.dtype, casting):
        raise DTypeError(f"copyto: found {getattr(source, 'dtype', type(source).__name__)}, which is not cast to {target.dtype}")
    if is_number:
        literal(source, str(target.dtype))
    _choose(target, where, source, "copyto")


def _choose(target: Any, mask: Any, values: Any, name: str) -> None:
    """Let an array have values, cast to its dtype, where a mask is true."""
    given = values if hasattr(values, "astype") else np.asarray(values)
    target._put(np.where(mask, given.astype(target.dtype), target), name, "x = where(mask, y, x)")


def _fill_diagonal(target: Any, value: Any, wrap: bool = False) -> None:
    if target.ndim < 2 or np.ndim(value) or (wrap and target.shape[0] > target.shape[1]):
        raise UnsupportedError(
            "fill_diagonal: supported are one value, two dimensions or more, and no wrapping; use where(eye(n, m), value, x)"
        )
    if target.ndim > 2 and len(set(target.shape)) > 1:
        raise ShapeError(f"fill_diagonal: found the shape {target.shape}, expected equal dimensions")
    places = np.arange(min(target.shape))
    target[(places,) * target.ndim] = value


def _put_along_axis(target: Any, indices: Any, values: Any, axis: Any = -1) -> None:
    if not isinstance(axis, int | np.integer):
        raise UnsupportedError(f"put_along_axis: found the axis {axis!r}, supported is one; reshape the array first")
    if np.ndim(indices) != target.ndim:
        raise ShapeError(f"put_along_axis: found indices of {np.ndim(indices)} dimensions, expected {target.ndim}")
    k = int(axis) % target.ndim
    others = [np.arange(n).reshape(-1, *(1,) * (target.ndim - d - 1)) for d, n in enumerate(target.shape)]
    target[tuple(indices if d == k else places for d, places in enumerate(others))] = values


def _putmask(target: Any, mask: Any, values: Any) -> None:
    if np.ndim(values) and np.shape(values) != target.shape:
        raise UnsupportedError(f"putmask: found values of the shape {np.shape(values)}, supported are one, or those of {target.shape}")
    _choose(target, mask, values, "putmask")


def _place(target: Any, mask: Any, vals: Any) -> None:
    if np.size(mask) != target.size:
        raise ShapeError(f"place: found a mask of {np.size(mask)} elements, expected {target.size}")
    if np.size(vals) != 1:
        raise UnsupportedError(f"place: found {np.size(vals)} values, supported is one; use where(mask, values, x)")
    _choose(target, np.reshape(mask, target.shape), np.reshape(vals, ()), "place")


def _put(target: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    if mode not in ("raise", "wrap", "clip"):
        raise UsageError(f"put: found the mode {mode!r}, expected 'raise', 'wrap' or 'clip'")
    _check_real("put", v, target)
    count, size = np.size(ind), target.size
    places = np.reshape(ind, (count,))
    places = places.astype(np.int64) if places.dtype == np.bool_ else places  # truth values are numbers here
    if mode != "raise":
        places = np.remainder(places, size) if mode == "wrap" else np.clip(places, 0, size - 1)
    if count and np.size(v):
        target.flat[places] = np.reshape(v, ()) if np.size(v) == 1 else np.resize(v, (count,))


def _check_real(name: str, value: Any, target: Any) -> None:
    dtype = value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype
    if dtype.kind == "c" and target.dtype.kind != "c":
        raise DTypeError(f"{name}: found {dtype}, which is not cast to {target.dtype}")


# functions of NumPy that change their first argument
CHANGING: Mapping[Any, Callable[..., None]] = {
    np.copyto: _copyto,
    np.fill_diagonal: _fill_diagonal,
    np.putmask: _putmask,
    np.place: _place,
    np.put: _put,
    np.put_along_axis: _put_along_axis,
}
