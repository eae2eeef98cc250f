"""Assignment: an array with other elements at some places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eqsat.ir.errors import ShapeError, UnsupportedError
from eqsat.ir.index import Apply, Const, Index, apply, walk
from eqsat.ir.tensor import Arg, Call, Constant, Generic, Position, Scalar, Tensor, axes
from eqsat.operations.elementwise import cast, where
from eqsat.operations.generic import Map, Operand, broadcast_shapes, make_generic, operand
from eqsat.operations.indexing import Entry, Slice, arrangement, entries_of, indexed, shape_of
from eqsat.operations.joining import clamped
from eqsat.operations.movement import broadcast_to, moveaxis, reshape
from eqsat.operations.placing import put_at
from eqsat.sizes.markers import shape_text


def setitem(a: Tensor, key: Any, value: Any) -> Tensor:
    """The array with `value` at a[key]: integers, arrays of integers, slices of any step, None, Ellipsis, or one mask, of whose shape the
    first axes are.

    The value is cast to the dtype of the array, as NumPy does; of several for one place the last one stays.  Raises ShapeError where it
    does not broadcast, BoundsError for an integer out of range, UnsupportedError for a traced mask with a value for each place.
    """
    given = operand("setitem", value)
    mask = operand("setitem", key) if isinstance(key, Tensor | np.ndarray) else None
    if isinstance(mask, Tensor) and mask.dtype == "bool" and mask.shape:
        return _masked(a, mask, given)
    if isinstance(key, tuple) and any(isinstance(part, Tensor) and part.dtype == "bool" and part.shape for part in key):
        return _partly_masked(a, key, given)
    entries = entries_of(a.shape, key)
    if any(isinstance(entry, Slice) and not entry.length for entry in entries):
        return a
    if any(isinstance(entry, Tensor) for entry in entries):
        return _at_arrays(a, entries, given)
    parts = _slices(entries)
    return _placed(a, parts, _aligned(given, entries) if isinstance(given, Tensor) else given)


@dataclass(frozen=True)
class AtKnownPlace:
    """An array with `values` at a place along some axes, whatever the index along the others (None)."""

    of: Tensor
    values: Tensor
    places: tuple[int | None, ...]


def at_known_place(tensor: Tensor) -> AtKnownPlace | None:
    """What `setitem` made of an array with integers for indices, read off the tensor."""
    if not isinstance(tensor, Generic) or len(tensor.operands) != 2 or tensor.combine is not None:
        return None
    (a, values), block = tensor.operands, tensor.block
    if not isinstance(block, Call) or block.op != "where" or not isinstance(block.args[0], Position) or len(values.shape) != len(a.shape):
        return None
    ends = [term for term in walk(block.args[0].index) if isinstance(term, Apply) and term.op in ("ge", "le")]
    found = {term.args[0]: term.args[1].value for term in ends if isinstance(term.args[1], Const)}
    places = tuple(found.get(axis) for axis in axes(a.shape))
    taken = tuple(1 if place is not None else extent for place, extent in zip(places, a.shape, strict=True))
    if all(place is None for place in places) or values.shape != taken:
        return None
    parts = [Slice(0, 1, extent) if place is None else Slice(place, 1, 1) for place, extent in zip(places, a.shape, strict=True)]
    return AtKnownPlace(a, values, places) if _placed(a, parts, values) is tensor else None


def _slices(entries: Sequence[Entry]) -> list[Slice]:
    """Integers and slices as slices, one a dimension."""
    return [entry if isinstance(entry, Slice) else Slice(entry, 1, 1) for entry in entries if isinstance(entry, Slice | int)]


def _at_arrays(a: Tensor, entries: Sequence[Entry], value: Operand) -> Tensor:
    """The array with the value at places of which some are arrays of integers: those of a part that slices are of."""
    ordered, together = arrangement("setitem", entries)
    shape, start, _ = shape_of(entries, ordered, together)
    if 0 in ordered:
        return a
    values = broadcast_to(_in_dtype(value, a.dtype), shape)
    values = moveaxis(values, tuple(range(start, start + len(ordered))), tuple(range(len(ordered))))
    parts = [entry for entry in entries if entry is not None and entry is not Ellipsis]
    lengths = tuple(entry.length for entry in parts if isinstance(entry, Slice))
    values = reshape(values, (*ordered, *lengths))
    places = [None if isinstance(part, Slice) else part for part in parts]
    slices = [part if isinstance(part, Slice) else Slice(0, 1, extent) for part, extent in zip(parts, a.shape, strict=True)]
    if all(part == Slice(0, 1, extent) for part, extent in zip(slices, a.shape, strict=True)):
        return put_at(a, places, ordered, values)
    if ordered:
        return _placed(a, slices, put_at(indexed("setitem", a, slices), places, ordered, values))
    whole = [Slice(0, 1, extent) if place is None else place for place, extent in zip(places, a.shape, strict=True)]
    rest = [part for part in parts if isinstance(part, Slice)]
    return put_at(a, places, ordered, _placed(indexed("setitem", a, whole), rest, values))


def _masked(a: Tensor, mask: Tensor, value: Operand) -> Tensor:
    rest = len(a.shape) - len(mask.shape)
    if rest < 0 or mask.shape != a.shape[: len(mask.shape)]:
        found, whole = shape_text(mask.shape), shape_text(a.shape)
        raise ShapeError(f"setitem: found a mask of the shape {found}, expected that of the first axes of {whole}")
    if isinstance(value, Tensor) and len(value.shape) > rest:
        if isinstance(mask, Constant):
            return setitem(a, np.nonzero(mask.data), value)
        raise UnsupportedError("setitem: found a value for each place of a mask, supported is one for all; use where(mask, value, x)")
    chosen = where(reshape(mask, (*mask.shape, *(1,) * rest)), _in_dtype(value, a.dtype), a)
    if chosen.shape != a.shape:
        raise ShapeError(f"setitem: found a value of the shape {shape_text(getattr(value, 'shape', ()))}, expected one that broadcasts")
    return chosen


def _partly_masked(a: Tensor, key: tuple[Any, ...], value: Operand) -> Tensor:
    """The array with one value at a key of slices, integers and a mask."""
    masks = [part for part in key if isinstance(part, Tensor) and part.dtype == "bool"]
    if len(masks) > 1 or (isinstance(value, Tensor) and value.size > 1) or any(part is None for part in key):
        raise UnsupportedError("setitem: found a mask beside other indices, supported is one, for one value; use where(mask, value, x)")
    mask = masks[0]
    at = next(k for k, part in enumerate(key) if part is mask)
    entries = entries_of(a.shape, (*key[:at], *(slice(None),) * len(mask.shape), *key[at + 1 :]))
    if not all(isinstance(entry, Slice | int) for entry in entries):
        raise UnsupportedError(
            "setitem: found a mask beside arrays of integers, supported are slices and integers; use where(mask, value, x)"
        )
    parts = _slices(entries)
    # behind an Ellipsis a mask is for the dimensions before those that are said behind it
    first = len(parts) - len(mask.shape) - len(key[at + 1 :]) if any(part is Ellipsis for part in key[:at]) else at
    covered = a.shape[first : first + len(mask.shape)]
    if covered != mask.shape:
        raise ShapeError(f"setitem: found a mask of the shape {shape_text(mask.shape)}, expected {shape_text(covered)}")
    wide = reshape(mask, (*(1,) * first, *mask.shape, *(1,) * (len(parts) - first - len(mask.shape))))
    found = where(wide, _in_dtype(value, a.dtype), indexed("setitem", a, parts))
    return _placed(a, parts, found)


def _in_dtype(value: Operand, dtype: str) -> Tensor:
    """The value in another dtype."""
    shape = value.shape if isinstance(value, Tensor) else ()
    operands = (value,) if isinstance(value, Tensor) else ()
    element = Arg(0, value.dtype) if isinstance(value, Tensor) else value
    return make_generic(shape, (), operands, [tuple(axes(shape))] * len(operands), cast(element, dtype))


def _aligned(value: Tensor, entries: Sequence[Entry]) -> Tensor:
    """The value with an axis for each axis of the array: one element where that has an integer."""
    wanted = tuple(entry.length if isinstance(entry, Slice) else 1 for entry in entries if not isinstance(entry, int))
    shape = value.shape
    while len(shape) > len(wanted) and shape[0] == 1:
        shape = shape[1:]
    if len(shape) > len(wanted) or broadcast_shapes("setitem", shape, wanted) != wanted:
        raise ShapeError(f"setitem: found the shape {shape_text(value.shape)}, expected one that broadcasts to {shape_text(wanted)}")
    extents = iter((*(1,) * (len(wanted) - len(shape)), *shape))
    aligned = [(entry, 1 if isinstance(entry, int) else next(extents)) for entry in entries]
    return reshape(value, tuple(extent for entry, extent in aligned if entry is not None))


def _placed(a: Tensor, parts: Sequence[Slice], value: Operand) -> Tensor:
    """The array with the value where every index is in its slice; elsewhere a place of the value is one at its edge, and dropped."""
    loops = axes(a.shape)
    conditions: list[Index] = []
    places: list[Index] = []
    for loop, extent, part in zip(loops, a.shape, parts, strict=True):
        low, high = sorted((part.start, part.start + (part.length - 1) * part.step))
        moved, step = loop - low if low else loop, abs(part.step) if part.length > 1 else 1
        conditions += [apply("ge", loop, low)] if low else []
        conditions += [apply("le", loop, high)] if high < extent - 1 else []
        conditions += [apply("eq", moved % step, 0)] if step > 1 else []
        place = clamped(moved // step if step > 1 else moved, part.length, low > 0, high < extent - 1)
        places.append(Const(part.length - 1) - place if part.step < 0 else place)
    operands: list[Tensor] = [a]
    maps: list[Map] = [tuple(loops)]
    element: Scalar = cast(Arg(1, value.dtype) if isinstance(value, Tensor) else value, a.dtype)
    if isinstance(value, Tensor):
        operands.append(value)
        maps.append(_read_at(value, places))
    if not conditions:
        return make_generic(a.shape, (), operands, maps, element)
    inside = conditions[0]
    for condition in conditions[1:]:
        inside = apply("and", inside, condition)
    block = Call("where", (Position(inside, "bool"), element, Arg(0, a.dtype)), a.dtype)
    return make_generic(a.shape, (), operands, maps, block)


def _read_at(value: Tensor, places: Sequence[Index]) -> Map:
    return tuple(place if extent > 1 else Const(0) for place, extent in zip(places, value.shape, strict=True))
