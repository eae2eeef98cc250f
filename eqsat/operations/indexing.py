"""Indexing: slices are movements, arrays of integers are gathers.

NumPy's errors for indices out of range come in two ways: what is known while the program is recorded is looked at there, and a gather that
reads at values of a call is `checked`: the plan looks at them.  What cannot be out of range is not checked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

import numpy as np

from eqsat.ir.errors import BoundsError, DTypeError, ShapeError, UnsupportedError, UsageError
from eqsat.ir.index import Const, Index, Var
from eqsat.ir.tensor import Build, Constant, Gather, Position, Read, Scalar, Shape, Tensor, axes
from eqsat.ir.value_bounds import tensor_bounds
from eqsat.operations.elementwise import call, cast
from eqsat.operations.generic import broadcast_map, broadcast_shapes, integer, known, tensor_of, view
from eqsat.operations.movement import moveaxis, reshape, scaled, strided
from eqsat.sizes.markers import least_of

# dimensions that a gather reads
MOST_DIMENSIONS = 4
MASKS = "its result would have as many elements as the mask is true; use where(mask, x, other), or sum(where=mask)"


@dataclass(frozen=True)
class Slice:
    """Every `step`-th place of a dimension from `start` on, `length` of them."""

    start: int
    step: int
    length: int


# an Ellipsis that stands for no dimension still parts the arrays on both sides of it
Entry = Slice | Tensor | int | EllipsisType | None


def getitem(a: Tensor, key: Any) -> Tensor:
    """a[key]: integers, slices of any step, None, Ellipsis, arrays of integers, and masks that are known while the program is recorded.

    Raises BoundsError for an integer out of range, ShapeError for too many indices or indices that do not broadcast, UnsupportedError
    for masks of the trace.
    """
    entries = _entries(key if isinstance(key, tuple) else (key,), a.shape)
    return indexed("getitem", a, entries)


def indexed(name: str, a: Tensor, entries: Sequence[Entry]) -> Tensor:
    """The array at entries, one a dimension, and None for new ones; integers and arrays broadcast together, as in NumPy."""
    arrays = [entry for entry in entries if isinstance(entry, Tensor)]
    broadcast, together = arrangement(name, entries)
    entries, checked = _in_range(name, a.shape, [entry for entry in entries if entry is not Ellipsis], 0 not in broadcast)
    taken = _taken(entries)
    if len(a.shape) > MOST_DIMENSIONS and arrays and 0 not in broadcast:
        return _flattened(name, a, entries, taken, len(broadcast), together)
    shape, start, before = shape_of(entries, broadcast, together)
    if 0 in shape:
        return Constant(np.empty(shape, a.dtype))
    loops = axes(shape)
    inner = loops[start : start + len(broadcast)]
    extents = iter(a.shape)
    places = [
        _place(entry, next(extents), loops[k] if isinstance(entry, Slice) else None, inner)
        for entry, k in zip(entries, before, strict=True)
        if entry is not None
    ]
    known = tuple(place for place in places if isinstance(place, Index))
    if len(known) == len(places):
        return view(a, shape, lambda _: known)
    read = tuple(Position(place, "int64") if isinstance(place, Index) else place for place in places)
    return Build(shape, Gather(a, read, checked))


def index_array(name: str, indices: Any) -> Tensor:
    """An array of integers, as indices have to be."""
    found = tensor_of(name, indices)
    if not found.size:
        return Constant(np.empty(found.shape, np.int64))
    if np.dtype(found.dtype).kind not in "iu":
        raise DTypeError(f"{name}: found indices of {found.dtype}, expected integers")
    return found


def arrangement(name: str, entries: Sequence[Entry]) -> tuple[Shape, bool]:
    """The shape that the arrays among entries broadcast to, and whether its axes are in their place: else they come first."""
    arrays = [entry for entry in entries if isinstance(entry, Tensor)]
    return broadcast_shapes(name, *(array.shape for array in arrays)), bool(arrays) and _are_neighbours(_taken(entries))


def shape_of(entries: Sequence[Entry], broadcast: Shape, together: bool) -> tuple[Shape, int, list[int]]:
    """The shape of an array at entries, where the axes of the arrays begin, and how many axes are before each entry's."""
    taken = _taken(entries)
    first = taken[0] if together else 0
    shape: list[int] = []
    before: list[int] = []
    start = 0
    for k, entry in enumerate(entries):
        if k == first:
            start = len(shape)
            shape += broadcast
        before.append(len(shape))
        if not isinstance(entry, Tensor | int):
            shape.append(entry.length if isinstance(entry, Slice) else 1)
    return tuple(shape), start, before


def entries_of(shape: Shape, key: Any) -> list[Entry]:
    """What a key of an assignment says about every dimension, and None for new ones; integers are counted from the front."""
    entries = _entries(key if isinstance(key, tuple) else (key,), shape)
    return _in_range("setitem", shape, [entry for entry in entries if entry is not Ellipsis], reads=True)[0]


def _taken(entries: Sequence[Entry]) -> list[int]:
    """Which entries broadcast together."""
    return [k for k, entry in enumerate(entries) if isinstance(entry, Tensor | int)]


def _are_neighbours(places: Sequence[int]) -> bool:
    return places[-1] - places[0] == len(places) - 1


def _place(entry: Entry, extent: int, loop: Var | None, inner: tuple[Var, ...]) -> Index | Scalar:
    """Where to read along a dimension: an index term where that is known, else an element of the index array."""
    if isinstance(entry, int):
        return Const(entry)
    if isinstance(entry, Slice):
        assert loop is not None
        return strided(loop, entry.start, entry.step)
    assert isinstance(entry, Tensor)
    indices = broadcast_map(entry.shape, inner)
    progression = _progression(entry, indices)
    return _wrapped(Read(entry, indices), tensor_bounds(entry), extent) if progression is None else progression


def _wrapped(place: Scalar, bounds: tuple[int, int], extent: int) -> Scalar:
    """A place in int64, counted from the end where it is negative: in 32 bits if they hold it, of which vectors have twice as many."""
    short = np.can_cast(place.dtype, np.int32) and extent <= np.iinfo(np.int32).max
    negative = bounds[0] < 0 or bounds[1] > np.iinfo(np.int64).max  # as NumPy casts those of uint64
    found = cast(place, "int32" if short and negative else "int64")
    if negative:
        found = call("where", call("less", found, 0), call("add", found, extent), found)
    return cast(found, "int64")


def _progression(entry: Tensor, indices: tuple[Index, ...]) -> Index | None:
    """The elements of a known array as a function of its index, where they go on by one step along every axis."""
    if not isinstance(entry, Constant):
        return None
    data = entry.data.astype(np.int64)
    first = int(data.flat[0])
    steps = [int(np.take(data, 1, axis=k).flat[0]) - first if extent > 1 else 0 for k, extent in enumerate(data.shape)]
    grid = sum((step * places for step, places in zip(steps, np.indices(data.shape, sparse=True), strict=True)), np.int64(first))
    if not np.array_equal(np.broadcast_to(grid, data.shape), data):
        return None
    found: Index = Const(first)
    for step, index in zip(steps, indices, strict=True):
        if step:
            term = scaled(index, abs(step))
            found = found - term if step < 0 else term if found is Const(0) else found + term
    return found


def _in_range(name: str, shape: Shape, entries: Sequence[Entry], reads: bool) -> tuple[list[Entry], bool]:
    """The entries, known ones counted from the front, and whether a call has to look at some; BoundsError for what is out of range.

    `reads`: whether the arrays broadcast to one with elements."""
    found: list[Entry] = []
    checked = False
    dimension = 0
    for entry in entries:
        if isinstance(entry, Tensor | int) and (not isinstance(entry, Tensor) or entry.size):
            extent, least = shape[dimension], least_of(shape[dimension])
            low, high = tensor_bounds(entry) if isinstance(entry, Tensor) else (entry, entry)
            known = not isinstance(entry, Tensor) or isinstance(entry, Constant)
            outside = low < -extent or high >= extent if known else high < -extent or low >= extent or not extent
            if outside and (reads or isinstance(entry, int)):
                index = high if high >= extent else low
                expected = f"{-extent}..{extent - 1}" if extent else "none"
                raise BoundsError(f"{name}: found index {index} in dimension {dimension}, expected {expected}")
            checked |= low < -least or high >= least
            if isinstance(entry, int):
                entry %= extent
            elif isinstance(entry, Constant) and low < 0:
                entry = Constant(np.where(entry.data < 0, entry.data + extent, entry.data))
        found.append(entry)
        dimension += entry is not None
    return found, checked


def _flattened(name: str, a: Tensor, entries: Sequence[Entry], taken: Sequence[int], rank: int, together: bool) -> Tensor:
    """The same over an array of fewer dimensions: those without an index array are one."""
    if len(taken) >= MOST_DIMENSIONS:
        raise UnsupportedError(f"{name}: found {len(taken)} indices of {len(a.shape)} dimensions, supported are 3; reshape the array")
    extents = iter(a.shape)
    whole = [Slice(0, 1, extent) if isinstance(entry, Tensor | int) else entry for entry, extent in _with_extents(entries, extents)]
    sliced = moveaxis(indexed(name, a, whole), tuple(taken), tuple(range(len(taken))))
    rest = sliced.shape[len(taken) :]
    flat = reshape(sliced, (*sliced.shape[: len(taken)], math.prod(rest)))
    found = indexed(name, flat, [*(entries[k] for k in taken), Slice(0, 1, math.prod(rest))])
    found = reshape(found, (*found.shape[:rank], *rest))
    place = taken[0] if together else 0
    return moveaxis(found, tuple(range(rank)), tuple(range(place, place + rank)))


def _with_extents(entries: Sequence[Entry], extents: Iterator[int]) -> Iterator[tuple[Entry, int]]:
    """Entries with the extents of their dimensions; a new one has none."""
    return ((entry, 1 if entry is None else next(extents)) for entry in entries)


def _entries(key: tuple[Any, ...], shape: Shape) -> list[Entry]:
    """The key with Ellipsis spelled out and every dimension named."""
    parts = [_part(entry) for entry in key]
    dots = [place for place, part in enumerate(parts) if part is Ellipsis]
    used = sum(map(_dimensions, parts))
    if used > len(shape):
        raise ShapeError(f"getitem: found {used} indices, expected at most {len(shape)} for the shape {shape}")
    if len(dots) > 1:
        raise UsageError("getitem: found several ellipses, expected at most one")
    place = dots[0] if dots else len(parts)
    found: list[Entry] = []
    dimension = 0
    whole: list[Any] = [slice(None)] * (len(shape) - used) or parts[place : place + 1]
    for part in (*parts[:place], *whole, *parts[place + 1 :]):
        covered = shape[dimension : dimension + _dimensions(part)]
        dimension += len(covered)
        if isinstance(part, np.ndarray):
            found += _places(part, covered)
        else:
            found.append(_slice(part, covered[0]) if isinstance(part, slice) else part)
    return found


def _part(entry: Any) -> Any:
    """An entry of a key: an array of integers as a tensor, a mask as a plain array."""
    if entry is None or entry is Ellipsis or isinstance(entry, slice):
        return entry
    if isinstance(entry, bool | np.bool_):
        raise UnsupportedError("getitem: found a bool as the index, supported are integers, slices, None, ... and arrays; use x[None]")
    if isinstance(entry, range):
        entry = np.asarray(entry, np.int64)
    if not isinstance(entry, Tensor | np.ndarray | list | tuple):
        return integer("getitem", "the index", entry)
    found = tensor_of("getitem", np.empty(np.shape(entry), int) if isinstance(entry, list) and not np.size(entry) else entry)
    if found.dtype == "bool":
        found = known(found)
        if not isinstance(found, Constant) or not found.shape:
            raise UnsupportedError(f"getitem: found a mask of the shape {found.shape} as the index; {MASKS}")
        return found.data
    if np.dtype(found.dtype).kind not in "iu":
        raise UsageError(f"getitem: found an array of {found.dtype} as the index, expected integers")
    return int(found.data) if isinstance(found, Constant) and not found.shape else found


def _dimensions(part: Any) -> int:
    """How many dimensions a part of a key is about."""
    return part.ndim if isinstance(part, np.ndarray) else int(part is not None and part is not Ellipsis)


def _places(mask: np.ndarray[Any, Any], shape: Shape) -> list[Entry]:
    """Where a mask is true: one array of places for each of its dimensions."""
    if mask.shape != shape:
        raise BoundsError(f"getitem: found a mask of the shape {mask.shape}, expected {shape} as of the dimensions that it is for")
    return [Constant(places) for places in np.nonzero(mask)]


def _slice(entry: slice, extent: int) -> Slice:
    """A slice of a dimension."""
    for bound in (entry.start, entry.stop, entry.step):
        if bound is not None:
            integer("getitem", "the slice bound", bound)
    if entry.step == 0:
        raise UsageError("getitem: found the slice step 0, expected another step")
    start, stop, step = entry.indices(extent)
    return Slice(start, step, len(range(start, stop, step)))
