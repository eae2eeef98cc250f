"""Arrays split into parts and put together: slices and `concatenate` under NumPy's other names."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from eqsat.ir.errors import BoundsError, ShapeError, UnsupportedError, UsageError
from eqsat.ir.tensor import Constant, Tensor
from eqsat.operations.elementwise import astype
from eqsat.operations.generic import broadcast_shapes, integer, known, normalize_axes, one_axis, tensor_of
from eqsat.operations.indexing import getitem
from eqsat.operations.joining import concatenate, sequence_of
from eqsat.operations.movement import broadcast_to, expand_dims, flip, moveaxis, ravel, reshape, swapaxes

# slices that are put together, at most
MOST_RUNS = 8


def along(source: Tensor, axis: int, part: slice) -> Tensor:
    """A slice of one axis, the others whole."""
    return getitem(source, (*(slice(None),) * axis, part))


def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Tensor]:
    """Equal parts of an axis, so many, or what lies between given places."""
    return _split("split", ary, indices_or_sections, axis, equal=True)


def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Tensor]:
    """Parts of an axis whose lengths differ by one at most, the longer ones first, or what lies between given places."""
    return _split("array_split", ary, indices_or_sections, axis, equal=False)


def _split(name: str, ary: Any, places: Any, axis: Any, equal: bool) -> list[Tensor]:
    source = tensor_of(name, ary)
    k = one_axis(name, axis, len(source.shape))
    length = source.shape[k]
    if isinstance(places, list | tuple | np.ndarray):
        ends = [integer(name, "place", place) for place in places]
        return [along(source, k, slice(start, end)) for start, end in zip([0, *ends], [*ends, None], strict=True)]
    count = integer(name, "sections", places)
    if count < 1 or (equal and length % count):
        raise ShapeError(f"{name}: found {count} parts of {length} elements, expected {'a divisor' if equal else 'one or more'}")
    ends = [part * (length // count) + min(part, length % count) for part in range(count + 1)]
    return [along(source, k, slice(start, end)) for start, end in itertools.pairwise(ends)]


def splitting(name: str, axis: int, least: int) -> Callable[..., list[Tensor]]:
    """hsplit, vsplit or dsplit: `split` of an axis of arrays with `least` dimensions or more."""

    def function(ary: Any, indices_or_sections: Any) -> list[Tensor]:
        source = tensor_of(name, ary)
        if len(source.shape) < least:
            raise ShapeError(f"{name}: found the shape {source.shape}, expected {least} dimensions or more")
        return _split(name, source, indices_or_sections, axis if len(source.shape) > axis else 0, equal=True)

    return function


def unstack(x: Any, /, *, axis: Any = 0) -> tuple[Tensor, ...]:
    """The arrays that lie beside each other along an axis."""
    source = tensor_of("unstack", x)
    if not source.shape:
        raise ShapeError("unstack: found a 0-d array, expected one dimension or more")
    k = one_axis("unstack", axis, len(source.shape))
    return tuple(getitem(source, (*(slice(None),) * k, place)) for place in range(source.shape[k]))


def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    """Arrays behind each other along the second axis; along the first, if they are 1-D."""
    parts = [_ranked(part, 1) for part in sequence_of("hstack", tup)]
    return concatenate(parts, 0 if len(parts[0].shape) == 1 else 1, dtype=dtype, casting=casting)


def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    """Arrays behind each other along the first axis, 1-D ones as rows."""
    return concatenate([_ranked(part, 2) for part in sequence_of("vstack", tup)], 0, dtype=dtype, casting=casting)


def dstack(tup: Any) -> Tensor:
    """Arrays behind each other along the third axis."""
    return concatenate([_ranked(part, 3) for part in sequence_of("dstack", tup)], 2)


def column_stack(tup: Any) -> Tensor:
    """Columns, and matrices, beside each other."""
    parts = sequence_of("column_stack", tup)
    return concatenate([part if len(part.shape) > 1 else reshape(part, (-1 if part.size else 0, 1)) for part in parts], 1)


def block(arrays: Any) -> Tensor:
    """Nested lists of arrays: the innermost lists are joined along the last axis, those around them along the axes before."""
    depth = _depth(arrays)
    rank = max(depth, _rank(arrays))

    def joined(part: Any, level: int) -> Tensor:
        if level == depth:
            found = tensor_of("block", part)
            return reshape(found, (*(1,) * (rank - len(found.shape)), *found.shape))
        return concatenate([joined(inner, level + 1) for inner in part], rank - depth + level)

    return joined(arrays, 0)


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(part) for part in arrays}
    if len(depths) != 1:
        raise UsageError(f"block: found {'an empty list' if not depths else 'lists of several depths'}, expected arrays at one depth")
    return 1 + depths.pop()


def _rank(arrays: Any) -> int:
    return max(map(_rank, arrays)) if isinstance(arrays, list) else len(tensor_of("block", arrays).shape)


def append(arr: Any, values: Any, axis: Any = None) -> Tensor:
    """Values behind an array along an axis; both flattened without one."""
    return concatenate([tensor_of("append", arr), tensor_of("append", values)], axis)


def delete(arr: Any, obj: Any, axis: Any = None) -> Tensor:
    """The array without the places of an axis that an integer, a slice, a list or a mask names."""
    source, k = _along_axis("delete", arr, axis)
    return _rearranged(source, k, np.delete(np.arange(source.shape[k]), _known("delete", obj, source.shape[k])))


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Tensor:
    """The array with values before the places of an axis that an integer, a slice, a list or a mask names."""
    source, k = _along_axis("insert", arr, axis)
    length, places = source.shape[k], _known("insert", obj, source.shape[k])
    given = astype(tensor_of("insert", values), source.dtype)
    if not isinstance(places, slice) and np.size(places) == 1 and getattr(places, "dtype", None) != "bool":
        given = reshape(given, (*(1,) * (len(source.shape) - len(given.shape)), *given.shape))
        given = moveaxis(given, 0, k) if np.ndim(places) == 0 else given
        count = given.shape[k]
    else:
        count = np.insert(np.arange(length), places, 0).size - length
    given = broadcast_to(given, (*source.shape[:k], count, *source.shape[k + 1 :]))
    order = np.insert(np.arange(length), places, -1 - np.arange(count))
    return _rearranged(concatenate([source, given], k), k, np.where(order < 0, length - 1 - order, order))


def _along_axis(name: str, arr: Any, axis: Any) -> tuple[Tensor, int]:
    """The array, flattened without an axis, and the axis."""
    source = tensor_of(name, arr)
    if axis is None:
        return ravel(source), 0
    k = one_axis(name, axis, len(source.shape))
    return source, k


def _known(name: str, obj: Any, length: int) -> Any:
    """Places that are known while the program is recorded."""
    found = known(obj) if isinstance(obj, Tensor) else obj
    obj = found.data if isinstance(found, Constant) else found
    if isinstance(obj, Tensor):
        raise UnsupportedError(f"{name}: found an array of the trace as the places, supported are numbers, slices, lists; use where")
    if isinstance(obj, slice):
        return obj
    places = np.asarray(obj)
    if places.dtype == bool:
        if places.shape != (length,):
            raise ShapeError(f"{name}: found a mask of the shape {places.shape}, expected ({length},)")
        return np.flatnonzero(places)
    if places.size and places.dtype.kind not in "iu":
        raise UsageError(f"{name}: found places of {places.dtype}, expected integers")
    last = length - 1 if name == "delete" else length
    if places.size and (places.min() < -length or places.max() > last):
        raise BoundsError(f"{name}: found the places {places.tolist()}, expected {-length}..{last}")
    return places.astype(np.int64)


def _rearranged(source: Tensor, k: int, places: np.ndarray[Any, Any]) -> Tensor:
    """Places of an axis in another order: runs of neighbours behind each other, or a gather where these are many."""
    starts = [0, *(np.flatnonzero(np.diff(places) != 1) + 1).tolist()] if places.size else []
    if len(starts) > MOST_RUNS:
        return getitem(source, (*(slice(None),) * k, places))
    runs = zip(starts, [*starts[1:], places.size], strict=False)
    parts = [along(source, k, slice(int(places[start]), int(places[end - 1]) + 1)) for start, end in runs]
    return concatenate(parts, k) if parts else along(source, k, slice(0, 0))


def at_least(rank: int) -> Callable[..., Any]:
    """atleast_1d, atleast_2d or atleast_3d: dimensions of one added, in front, of 2-D to 3-D behind."""

    def function(*arys: Any) -> Any:
        found = tuple(_ranked(tensor_of(f"atleast_{rank}d", ary), rank) for ary in arys)
        return found[0] if len(found) == 1 else found

    return function


def _ranked(source: Tensor, rank: int) -> Tensor:
    have = len(source.shape)
    if have >= rank:
        return source
    added = {(0, 1): (0,), (0, 2): (0, 1), (1, 2): (0,), (0, 3): (0, 1, 2), (1, 3): (0, 2), (2, 3): (2,)}[have, rank]
    return expand_dims(source, added)


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Tensor, ...]:
    """All arrays in the shape that they broadcast to."""
    parts = [tensor_of("broadcast_arrays", array) for array in args]
    shape = broadcast_shapes("broadcast_arrays", *(part.shape for part in parts))
    return tuple(broadcast_to(part, shape) for part in parts)


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinates of a grid: one array for each axis; "xy" exchanges the first two axes."""
    if indexing not in ("xy", "ij"):
        raise UsageError(f"meshgrid: found indexing={indexing!r}, expected 'xy' or 'ij'")
    parts = [ravel(tensor_of("meshgrid", x)) for x in xi]
    shape = tuple(part.size for part in parts)
    grids = [reshape(part, tuple(n if d == k else 1 for d, n in enumerate(shape))) for k, part in enumerate(parts)]
    if not sparse:
        grids = [broadcast_to(grid, shape) for grid in grids]
    return tuple(swapaxes(grid, 0, 1) if indexing == "xy" and len(shape) > 1 else grid for grid in grids)


def rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Tensor:
    """A plane of two axes turned by k right angles, from the first axis towards the second."""
    source = tensor_of("rot90", m)
    first, second = _plane(axes, len(source.shape))
    turns = integer("rot90", "k", k) % 4
    if turns % 2 == 0:
        return flip(source, (first, second)) if turns else source
    return swapaxes(flip(source, second), first, second) if turns == 1 else flip(swapaxes(source, first, second), second)


def _plane(axes: Any, rank: int) -> tuple[int, int]:
    found = normalize_axes("rot90", axes, rank)
    if len(found) != 2:
        raise ShapeError(f"rot90: found the axes {axes}, expected two")
    return found[0], found[1]


def fliplr(m: Any) -> Tensor:
    """Columns in reverse."""
    source = tensor_of("fliplr", m)
    if len(source.shape) < 2:
        raise ShapeError(f"fliplr: found the shape {source.shape}, expected two dimensions or more")
    return flip(source, 1)


def flipud(m: Any) -> Tensor:
    """Rows in reverse."""
    source = tensor_of("flipud", m)
    if not source.shape:
        raise ShapeError("flipud: found a 0-d array, expected one dimension or more")
    return flip(source, 0)


def rollaxis(a: Any, axis: Any, start: Any = 0) -> Tensor:
    """One axis moved to lie before another."""
    source = tensor_of("rollaxis", a)
    rank = len(source.shape)
    k = one_axis("rollaxis", axis, rank)
    place = integer("rollaxis", "start", start)
    if not -rank <= place <= rank:
        raise ShapeError(f"rollaxis: found start {place}, expected one in {-rank}..{rank}")
    place += rank if place < 0 else 0
    return moveaxis(source, k, place - 1 if k < place else place)
