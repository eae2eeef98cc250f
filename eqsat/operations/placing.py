"""Values at places of an array that other arrays say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from eqsat.ir.index import Index
from eqsat.ir.tensor import Arg, Build, Call, Constant, Gather, Generic, Position, Read, Scalar, Shape, Tensor, axes, reduction
from eqsat.ir.value_bounds import tensor_bounds
from eqsat.operations.elementwise import astype, call, scalar_operation
from eqsat.operations.generic import Map, broadcast_map, make_generic, one_axis, tensor_of
from eqsat.operations.host import host_call
from eqsat.operations.indexing import index_array, indexed
from eqsat.operations.movement import broadcast_to, moveaxis, ravel, reshape

# comparisons of a place with an index, at most: more take longer than a loop that puts values where they belong
MOST_COMPARISONS = 1 << 13


def put_at(a: Tensor, places: Sequence[Tensor | int | None], shape: Shape, values: Tensor) -> Tensor:
    """The array with values at places along some dimensions, whatever the index along the others (None); of several values for one
    place the last one stays.

    shape   what the places broadcast to
    values  of that shape, and then of the extents along the other dimensions, in the dtype of the array
    """
    taken = [k for k, place in enumerate(places) if place is not None]
    counted = [from_the_front("setitem", place, a.shape[k]) for k, place in enumerate(places) if place is not None]
    if not shape:
        return _at_one(a, taken, counted, values)
    rest = tuple(extent for k, extent in enumerate(a.shape) if k not in taken)
    extents = tuple(a.shape[k] for k in taken)
    front = moveaxis(a, tuple(taken), tuple(range(len(taken))))
    rows = reshape(front, (prod(extents), *rest))
    found = _rows(rows, _flat([ravel(broadcast_to(place, shape)) for place in counted], extents), reshape(values, (prod(shape), *rest)))
    return moveaxis(reshape(found, front.shape), tuple(range(len(taken))), tuple(taken))


def scatter(x: Any, indices: Any, updates: Any, axis: Any = 0) -> Tensor:
    """The array with `updates` at places of an axis; of several for one place the last one stays: a copy after x[indices] = updates.

    `updates` broadcast to the array's shape with that of the indices in the place of the axis.
    """
    source, places = tensor_of("scatter", x), index_array("scatter", indices)
    k = one_axis("scatter", axis, len(source.shape))
    wanted = (*source.shape[:k], *places.shape, *source.shape[k + 1 :])
    values = broadcast_to(astype(tensor_of("scatter", updates), source.dtype), wanted)
    if not places.size or not source.size:
        return source
    rank = len(places.shape)
    front = moveaxis(values, tuple(range(k, k + rank)), tuple(range(rank)))
    return put_at(source, [places if d == k else None for d in range(len(source.shape))], places.shape, front)


def from_the_front(name: str, place: Tensor | int, extent: int) -> Tensor:
    """Places as int64 that are not negative, checked like any index, which may be so already, or are read off a known array of all."""
    if isinstance(place, Tensor):
        low, high = tensor_bounds(place)
        if low >= 0 and high < extent:
            return place if place.dtype == "int64" else astype(place, "int64")
    return indexed(name, Constant(np.arange(extent)), [place if isinstance(place, Tensor) else Constant(np.array(place))])


def _at_one(a: Tensor, taken: Sequence[int], places: Sequence[Tensor], values: Tensor) -> Tensor:
    """The array with values where the index along some dimensions is that one place."""
    loops = axes(a.shape)
    here: Scalar | None = None
    for number, k in enumerate(taken):
        same = call("equal", Arg(2 + number, "int64"), Position(loops[k], "int64"))
        here = same if here is None else Call("logical_and", (here, same), "bool")
    assert here is not None
    rest = tuple(loop for k, loop in enumerate(loops) if k not in taken)
    block = Call("where", (here, Arg(1, a.dtype), Arg(0, a.dtype)), a.dtype)
    maps: list[Map] = [loops, rest, *(() for _ in taken)]
    return make_generic(a.shape, (), (a, values, *places), maps, block)


@dataclass(frozen=True)
class AtOnePlace:
    """An array that differs from another one at one place along some dimensions, next to each other: `place` is that along all of them."""

    of: Tensor
    values: Tensor
    place: Tensor
    first: int
    dimensions: int


def at_one_place(tensor: Tensor) -> AtOnePlace | None:
    """What `put_at` made of an array with one place, read off the tensor."""
    if not isinstance(tensor, Generic) or len(tensor.operands) < 3 or tensor.combine is not None:
        return None
    loops, block = axes(tensor.shape), tensor.block
    if not isinstance(block, Call) or block.op != "where" or block.args[1:] != (Arg(1, tensor.dtype), Arg(0, tensor.dtype)):
        return None
    a, values, *places = tensor.operands
    taken = list(_compared(block.args[0]))
    if [number for number, _ in taken] != list(range(2, len(tensor.operands))) or tensor.maps[0] != loops or any(tensor.maps[2:]):
        return None
    dimensions = [loops.index(loop) for _, loop in taken]
    rest = tuple(loop for k, loop in enumerate(loops) if k not in dimensions)
    if dimensions != list(range(dimensions[0], dimensions[0] + len(dimensions))) or tensor.maps[1] != rest:
        return None
    flat = _flat(places, tuple(a.shape[k] for k in dimensions))
    return AtOnePlace(a, values, flat, dimensions[0], len(dimensions))


def _compared(condition: Scalar) -> Iterator[tuple[int, Index]]:
    """Operands that are compared with an index, and with which, where that is all of a condition."""
    if isinstance(condition, Call) and condition.op == "logical_and":
        for part in condition.args:
            yield from _compared(part)
    elif isinstance(condition, Call) and condition.op == "equal":
        place, index = condition.args
        if isinstance(place, Arg) and isinstance(index, Position):
            yield place.position, index.index


def _flat(places: Sequence[Tensor], extents: Shape) -> Tensor:
    """Places along several dimensions as those along one."""
    found = places[0]
    for place, extent in zip(places[1:], extents[1:], strict=True):
        found = scalar_operation("add")(scalar_operation("multiply")(found, np.int64(extent)), place)
    return found


def _rows(a: Tensor, places: Tensor, values: Tensor) -> Tensor:
    """The array with rows at places: every row is compared with every place, or, where that are many, they are put there one by one."""
    extent, count = a.shape[0], places.shape[0]
    if extent * count > MOST_COMPARISONS:
        found: Tensor = host_call("scatter", (a, places, values), {})
        return found
    loops, update = axes((extent,)), reduction(0, count)
    here = call("equal", Arg(0, "int64"), Position(loops[0], "int64"))
    block = call("where", here, Position(update, "int64"), -1)
    last = make_generic((extent,), (count,), (places,), ((update,),), block, "max")
    loops = axes(a.shape)
    writer = Read(last, (loops[0],))
    new = Gather(values, (call("maximum", writer, 0), *(Position(loop, "int64") for loop in loops[1:])), False)
    return Build(a.shape, Call("where", (call("less", writer, 0), Read(a, broadcast_map(a.shape, loops)), new), a.dtype))
