"""Elements that other arrays choose: along axes, from several arrays, and added to places of an array."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from eqsat.ir.dtypes import carrier
from eqsat.ir.errors import BoundsError, DTypeError, ShapeError, UnsupportedError, UsageError
from eqsat.ir.host_functions import VALUES_DECIDE
from eqsat.ir.ops import BOOL_FOLD, FOLD_OF, given_dtype, identity_of
from eqsat.ir.tensor import Arg, Constant, Literal, Position, Scalar, Shape, Tensor, axes, reduction
from eqsat.ir.value_bounds import tensor_bounds
from eqsat.operations.elementwise import astype, call, cast, elementwise, given, scalar_operation
from eqsat.operations.generic import broadcast_shapes, is_its_own_row, make_generic, one_axis, tensor_of
from eqsat.operations.host import host_call
from eqsat.operations.indexing import MOST_DIMENSIONS, Entry, Slice, index_array, indexed
from eqsat.operations.movement import broadcast_to, ravel, reshape
from eqsat.operations.placing import MOST_COMPARISONS, from_the_front


def take(a: Any, indices: Any, axis: Any = None, out: None = None, mode: str = "raise") -> Tensor:
    """The elements, or slices of an axis, at places; out of range they are an error, wrapped round or clipped."""
    source = tensor_of("take", a)
    if axis is None or is_its_own_row(len(source.shape), axis):
        source, axis = ravel(source), 0
    k = one_axis("take", axis, len(source.shape))
    places = index_array("take", indices)
    if places.size and not source.shape[k] and all(source.shape[:k]):
        raise BoundsError(f"take: found places in the shape {source.shape}, expected elements along the axis {k}")
    if not source.shape[k]:
        return Constant(np.empty((*source.shape[:k], *places.shape, *source.shape[k + 1 :]), source.dtype))
    return indexed(
        "take", source, [*_whole(source.shape[:k]), _moded("take", places, source.shape[k], mode), *_whole(source.shape[k + 1 :])]
    )


def compress(condition: Any, a: Any, axis: Any = None, out: None = None) -> Tensor:
    """The slices of an axis, the elements where it is None, of which a condition that is known when the program is recorded is true."""
    chosen = _known_places("compress", condition)
    source = tensor_of("compress", a)
    extent = source.size if axis is None else source.shape[one_axis("compress", axis, len(source.shape))]
    if chosen.size and chosen[-1] >= extent:
        raise BoundsError(f"compress: found a condition that is true at {chosen[-1]}, expected places below {extent}")
    return take(source, chosen, axis)


def extract(condition: Any, arr: Any) -> Tensor:
    """The elements where a condition that is known when the program is recorded is true, in one row."""
    chosen, source = _known_places("extract", condition), ravel(tensor_of("extract", arr))
    if chosen.size and chosen[-1] >= source.size:
        raise BoundsError(f"extract: found a condition that is true at {chosen[-1]}, expected places below {source.size}")
    return take(source, chosen)


def _known_places(name: str, condition: Any) -> np.ndarray[Any, Any]:
    known = tensor_of(name, condition)
    if not isinstance(known, Constant):
        raise UnsupportedError(f"{name}: found a condition whose elements decide about the shape of the result; {VALUES_DECIDE}")
    if name == "compress" and len(known.shape) != 1:
        raise ShapeError(f"compress: found a condition of {len(known.shape)} dimensions, expected one")
    return np.flatnonzero(known.data)


def _whole(shape: Shape) -> list[Entry]:
    return [Slice(0, 1, extent) for extent in shape]


def _moded(name: str, places: Tensor, extent: int, mode: str) -> Tensor:
    """Places that NumPy's mode has brought into range."""
    if mode == "raise" or not places.size:
        return places
    if mode == "wrap":
        return elementwise(name, (places,), lambda place: call("remainder", cast(place, "int64"), extent))
    if mode == "clip":
        return elementwise(name, (places,), lambda place: call("minimum", call("maximum", cast(place, "int64"), 0), extent - 1))
    raise UsageError(f"{name}: found the mode {mode!r}, expected 'raise', 'wrap' or 'clip'")


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Tensor:
    """The elements at places along an axis; the other axes of both broadcast."""
    source, places = tensor_of("take_along_axis", arr), index_array("take_along_axis", indices)
    if axis is None:
        source, axis = ravel(source), 0
    rank = len(source.shape)
    k = one_axis("take_along_axis", axis, rank)
    if len(places.shape) != rank:
        raise ShapeError(f"take_along_axis: found indices of {len(places.shape)} dimensions, expected {rank} as of the array")
    shape = broadcast_shapes(
        "take_along_axis", (*source.shape[:k], 1, *source.shape[k + 1 :]), (*places.shape[:k], 1, *places.shape[k + 1 :])
    )
    if rank > MOST_DIMENSIONS:  # what stands before the axis is one dimension, and what stands behind it
        whole, wanted = (broadcast_to(a, (*shape[:k], a.shape[k], *shape[k + 1 :])) for a in (source, places))
        taken, at = (reshape(a, (prod(shape[:k]), a.shape[k], prod(shape[k + 1 :]))) for a in (whole, wanted))
        return reshape(take_along_axis(taken, at, 1), wanted.shape)
    entries: list[Entry] = []
    for dimension, extent in enumerate(shape):
        if dimension == k:
            entries.append(places)
        else:
            along = np.arange(extent) if source.shape[dimension] == extent else np.zeros(extent, np.int64)
            entries.append(Constant(along.reshape(tuple(-1 if d == dimension else 1 for d in range(rank)))))
    return indexed("take_along_axis", source, entries)


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Tensor:
    """From which of the choices, which broadcast, each element is."""
    which = index_array("choose", a)
    if isinstance(choices, Tensor):
        options = [indexed("choose", choices, [k, *_whole(choices.shape[1:])]) for k in range(choices.shape[0])]
    else:
        options = list(choices)
    if mode == "raise":
        low, high = tensor_bounds(which)
        if low < 0 or high >= len(options):
            raise UnsupportedError(f"choose: found {len(options)} choices and places that may be others; give mode='clip' or 'wrap'")
    which = _moded("choose", which, len(options), mode)

    def block(place: Scalar, *elements: Any) -> Scalar:
        dtype = given_dtype(list(map(given, elements)))
        found = cast(elements[-1], dtype, wraps=True)
        for k in reversed(range(len(elements) - 1)):
            found = call("where", call("equal", place, k), cast(elements[k], dtype, wraps=True), found)
        return found

    return elementwise("choose", (which, *options), block)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Tensor:
    """The element of the choice of the first condition that holds, else the default."""
    if len(condlist) != len(choicelist) or not len(condlist):
        raise UsageError(f"select: found {len(condlist)} conditions and {len(choicelist)} choices, expected as many, one at least")
    for condition in condlist:
        if tensor_of("select", condition).dtype != "bool":
            raise DTypeError(f"select: found a condition of {tensor_of('select', condition).dtype}, expected bool; compare first (x != 0)")
    count = len(condlist)

    def block(*elements: Any) -> Scalar:
        conditions, values = elements[:count], elements[count:]
        dtype = given_dtype(list(map(given, values)))
        found = cast(values[-1], dtype, wraps=True)  # of choices NumPy takes no integer that is wrapped
        for condition, value in zip(reversed(conditions), reversed(values[:-1]), strict=True):
            found = call("where", condition, cast(value, dtype), found)
        return found

    return elementwise("select", (*condlist, *choicelist, default), block)


def scatter_add(x: Any, indices: Any, updates: Any, axis: Any = 0) -> Tensor:
    """The array with `updates` added at places of an axis, every one that is named twice twice: what np.add.at does in place.

    `updates` broadcast to the array's shape with that of the indices in the place of the axis.  Every place is compared with every index,
    or, where that are many, they are added one by one.
    """
    return _scattered("add", x, indices, updates, axis)


def scatter_at(op: str) -> Callable[..., Tensor]:
    """What the `at` of a ufunc does in place, along the first axis."""

    def scattered(x: Any, indices: Any, updates: Any) -> Tensor:
        return _scattered(op, x, indices, updates, 0)

    return scattered


def _scattered(op: str, x: Any, indices: Any, updates: Any, axis: Any) -> Tensor:
    """The array with `updates` combined with what is at places of an axis, by one of FOLD_OF."""
    name = f"scatter_{op}"
    source, places = tensor_of(name, x), index_array(name, indices)
    k = one_axis(name, axis, len(source.shape))
    extent, count = source.shape[k], places.size
    wanted = (*source.shape[:k], *places.shape, *source.shape[k + 1 :])
    given = broadcast_to(astype(tensor_of(name, updates), source.dtype), wanted)
    if not count or not source.size:
        return source
    rows = reshape(given, (*source.shape[:k], count, *source.shape[k + 1 :]))
    whole = from_the_front(name, ravel(places), extent)
    in_order = op == "multiply" and carrier(source.dtype) != source.dtype  # NumPy rounds products of 16 bits at every step
    if source.size * count > MOST_COMPARISONS or in_order:
        found: Tensor = host_call(name, (source, whole, rows), {"axis": k})
        return found
    combine = BOOL_FOLD.get(FOLD_OF[op], FOLD_OF[op]) if source.dtype == "bool" else FOLD_OF[op]
    loops, update = axes(source.shape), reduction(0, count)
    here = call("equal", Arg(1, "int64"), Position(loops[k], "int64"))
    nothing = Literal(identity_of(combine, source.dtype).item(), source.dtype)
    block = call("where", here, Arg(0, source.dtype), nothing)
    maps = ((*loops[:k], update, *loops[k + 1 :]), (update,))
    return scalar_operation(op)(source, make_generic(source.shape, (count,), (rows, whole), maps, block, combine))
