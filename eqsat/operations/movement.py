"""Movement operations: the elements of one tensor in another order, as an indexing map."""

from __future__ import annotations

import math
from typing import Any

from eqsat.ir.errors import ShapeError, UnsupportedError
from eqsat.ir.index import Const, Index, Var
from eqsat.ir.tensor import Shape, Tensor
from eqsat.operations.generic import (
    Map,
    broadcast_map,
    broadcast_shapes,
    integers,
    is_its_own_row,
    normalize_axes,
    one_axis,
    tensor_of,
    view,
)
from eqsat.sizes.markers import is_one


def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Tensor:
    """The elements under another shape, in C order or in that of Fortran, where the first axis is the fastest; one extent may be -1."""
    source = tensor_of("reshape", a)
    if order not in ("C", "F"):  # 'A' asks how elements lie in memory
        raise UnsupportedError(f"reshape: found order {order!r}, supported are 'C' and 'F'")
    target = filled_shape(source.shape, integers("reshape", "extent", shape))
    if order == "F":
        return transpose(reshape(transpose(source), target[::-1]))
    return view(source, target, lambda loops: reshape_map(source.shape, loops))


def filled_shape(source: Shape, shape: Shape) -> Shape:
    """A shape that has as many elements as another, its -1 filled in; ShapeError where there is none."""
    size, rest = math.prod(source), math.prod(n for n in shape if n != -1)
    fits = shape.count(-1) <= 1 and all(n >= -1 for n in shape)
    fits = fits and (rest > 0 and size % rest == 0 if -1 in shape else rest == size)
    if not fits:
        raise ShapeError(f"reshape: found {size} elements of shape {source}, which do not fill the shape {shape}")
    return tuple(size // rest if n == -1 else n for n in shape)


def reshape_map(source: Shape, loops: tuple[Var, ...]) -> Map:
    """Index of each source dimension where loops run over what it is reshaped to.

    Dimensions of one take no part.  The others fall into the smallest groups with equal products on both sides; within a group
    flat = sum loop * stride, and dimension k is flat // stride[k] % extent[k], where the first needs no %, the last no //.
    """
    index: list[Index] = [Const(0)] * len(source)
    here = [k for k, n in enumerate(source) if n != 1]
    there = [loop for loop in loops if loop.extent != 1]
    while here:
        taken, found = [here.pop(0)], [there.pop(0)]
        while (a := math.prod(source[k] for k in taken)) != (b := math.prod(loop.extent for loop in found)):
            if a < b:
                taken.append(here.pop(0))
            else:
                found.append(there.pop(0))
        for k, term in zip(taken, _split(_flat(found), tuple(source[k] for k in taken)), strict=True):
            index[k] = term
    return tuple(index)


def _flat(loops: list[Var]) -> Index:
    """Row-major position of a point."""
    terms = [scaled(loop, math.prod(inner.extent for inner in loops[k + 1 :])) for k, loop in enumerate(loops)]
    flat = terms[0]
    for term in terms[1:]:
        flat = flat + term
    return flat


def scaled(term: Index, factor: int) -> Index:
    return term if factor == 1 else term * factor


def _split(flat: Index, shape: Shape) -> Map:
    """The indices of a flat position in a row-major array."""
    terms = []
    for k, extent in enumerate(shape):
        stride = math.prod(shape[k + 1 :])
        term = flat if stride == 1 else flat // stride
        terms.append(term if k == 0 else term % extent)
    return tuple(terms)


def ravel(a: Any, order: str = "C") -> Tensor:
    return reshape(a, -1 if a.size else 0, order=order)


def transpose(a: Any, axes: Any = None) -> Tensor:
    """Axes in another order, reversed by default."""
    source = tensor_of("transpose", a)
    rank = len(source.shape)
    order = tuple(reversed(range(rank))) if axes is None else normalize_axes("transpose", axes, rank)
    if len(order) != rank:
        raise ShapeError(f"transpose: found {len(order)} axes {order}, expected {rank} for the shape {source.shape}")
    return view(source, tuple(source.shape[k] for k in order), lambda loops: tuple(loops[order.index(k)] for k in range(rank)))


def sliding_window_view(x: Any, window_shape: Any, axis: Any = None, *, writeable: bool = False) -> Tensor:
    """Every window over some axes, all by default: (..., n, ...) gives (..., n - w + 1, ..., w), a window's axes last.  ShapeError where a
    window is longer than its axis.  A view where nothing else is done with it; sums and products of windows read x itself."""
    del writeable  # there is no memory yet
    source, sizes = tensor_of("sliding_window_view", x), integers("sliding_window_view", "window_shape", window_shape)
    rank = len(source.shape)
    on = range(rank) if axis is None else [one_axis("sliding_window_view", k, rank) for k in integers("sliding_window_view", "axis", axis)]
    if len(on) != len(sizes):
        raise ShapeError(f"sliding_window_view: found {len(sizes)} sizes {sizes}, expected one for each of the {len(on)} axes")
    counts = list(source.shape)
    for size, k in zip(sizes, on, strict=True):
        if not 0 <= size <= counts[k]:
            raise ShapeError(
                f"sliding_window_view: found a window of {size} over axis {k} of the shape {source.shape}, expected 0..{counts[k]}"
            )
        counts[k] -= size - 1

    def places(loops: tuple[Var, ...]) -> Map:
        index: list[Index] = list(loops[:rank])
        for inside, k in zip(loops[rank:], on, strict=True):
            index[k] = index[k] + inside
        return tuple(index)

    return view(source, (*counts, *sizes), places)


def permute_dims(a: Any, axes: Any = None) -> Tensor:
    return transpose(a, axes)


def matrix_transpose(x: Any, /) -> Tensor:
    if len(x.shape) < 2:
        raise ShapeError(f"matrix_transpose: found the shape {x.shape}, expected two dimensions or more")
    return swapaxes(x, -1, -2)


def swapaxes(a: Any, axis1: int, axis2: int) -> Tensor:
    source = tensor_of("swapaxes", a)
    rank = len(source.shape)
    order = list(range(rank))
    first, second = one_axis("swapaxes", axis1, rank), one_axis("swapaxes", axis2, rank)
    order[first], order[second] = second, first
    return transpose(source, tuple(order))


def moveaxis(a: Any, source: Any, destination: Any) -> Tensor:
    """Axes at new places, the others in their order."""
    tensor = tensor_of("moveaxis", a)
    rank = len(tensor.shape)
    start, end = normalize_axes("moveaxis", source, rank), normalize_axes("moveaxis", destination, rank)
    if len(start) != len(end):
        raise ShapeError(f"moveaxis: found {len(start)} source and {len(end)} destination axes, expected equally many")
    order = [k for k in range(rank) if k not in start]
    for place, k in sorted(zip(end, start, strict=True)):
        order.insert(place, k)
    return transpose(tensor, tuple(order))


def flip(m: Any, axis: Any = None) -> Tensor:
    """The elements of some axes in reverse, of all by default."""
    source = tensor_of("flip", m)
    rank = len(source.shape)
    reversed_axes = range(rank) if axis is None else normalize_axes("flip", axis, rank)
    shape = source.shape
    return view(source, shape, lambda loops: tuple(Const(shape[k] - 1) - i if k in reversed_axes else i for k, i in enumerate(loops)))


def broadcast_to(array: Any, shape: Any) -> Tensor:
    source = tensor_of("broadcast_to", array)
    target = integers("broadcast_to", "extent", shape)
    if any(n < 0 for n in target) or broadcast_shapes("broadcast_to", source.shape, target) != target:
        raise ShapeError(f"broadcast_to: found the shape {source.shape}, which does not broadcast to {target}")
    return view(source, target, lambda loops: broadcast_map(source.shape, loops))


def expand_dims(a: Any, axis: Any) -> Tensor:
    """Dimensions of one at the given axes of the result."""
    source = tensor_of("expand_dims", a)
    added = integers("expand_dims", "axis", axis)
    new = normalize_axes("expand_dims", added, len(source.shape) + len(added))
    extents = iter(source.shape)
    shape = tuple(1 if k in new else next(extents) for k in range(len(source.shape) + len(new)))
    return view(source, shape, lambda loops: tuple(i for k, i in enumerate(loops) if k not in new))


def squeeze(a: Any, axis: Any = None) -> Tensor:
    """The tensor without some dimensions of one, all of them by default."""
    source = tensor_of("squeeze", a)
    rank = len(source.shape)
    if is_its_own_row(rank, axis):
        return source
    removed = tuple(k for k, n in enumerate(source.shape) if is_one(n)) if axis is None else normalize_axes("squeeze", axis, rank)
    ones = tuple(k for k in removed if is_one(source.shape[k]))
    if any(k not in ones for k in removed):
        raise ShapeError(f"squeeze: found the shape {source.shape}, expected dimensions of one at the axes {removed}")
    kept = [k for k in range(rank) if k not in removed]
    shape = tuple(source.shape[k] for k in kept)
    return view(source, shape, lambda loops: tuple(loops[kept.index(k)] if k in kept else Const(0) for k in range(rank)))


def strided(loop: Var, start: int, step: int) -> Index:
    """start + loop * step."""
    moved = scaled(loop, abs(step))
    if step < 0:
        return Const(start) - moved
    return moved + start if start else moved
