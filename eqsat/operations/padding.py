"""Arrays in a frame: of numbers, or of their own elements, which are read again.

A place in the frame reads an element inside, and a `where` over positions drops it where the frame holds a number: no read leaves its
array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from eqsat.ir.errors import UnsupportedError, UsageError
from eqsat.ir.index import Const, Index, apply
from eqsat.ir.ops import converted
from eqsat.ir.tensor import Arg, Call, Position, Scalar, Tensor, axes
from eqsat.operations.generic import integer, literal, make_generic, one_axis, tensor_of, view
from eqsat.operations.joining import clamped

Widths = list[tuple[int, int]]


def pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0, reflect_type: str = "even") -> Tensor:
    """The elements in a frame; widths as NumPy takes them: one number, (before, after), such a pair for every axis, or by axis in a dict.

    mode  constant: numbers, one or by side and axis; edge: the nearest element; wrap, reflect, symmetric: the elements again, from the
          other end, or mirrored at an edge, which reflect does not repeat; empty: any numbers
    """
    source = tensor_of("pad", array)
    widths = widths_of(pad_width, len(source.shape))
    if mode == "empty":
        return _constant(source, widths, 0)
    if mode == "constant":
        return _constants(source, widths, constant_values)
    if mode not in MODES:
        supported = ("constant", "empty", *MODES, "mean", "maximum", "minimum", "linear_ramp")
        raise UnsupportedError(f"pad: found the mode {mode!r}, supported are {', '.join(supported)}; concatenate slices instead")
    if reflect_type != "even":
        raise UnsupportedError(f"pad: found reflect_type={reflect_type!r}, supported is 'even'; use 2 * edge - pad(...)")
    for axis, (extent, width) in enumerate(zip(source.shape, widths, strict=True)):
        if not extent and any(width):
            raise UsageError(f"pad: found axis {axis} without elements, expected some for the mode {mode!r}; use constant or empty")
    shape = tuple(n + before + after for n, (before, after) in zip(source.shape, widths, strict=True))
    place = MODES[mode]
    return view(
        source,
        shape,
        lambda loops: tuple(
            place(loop - before if before else loop, n, bool(before), bool(after)) if before or after else loop
            for loop, n, (before, after) in zip(loops, source.shape, widths, strict=True)
        ),
    )


def _reflected(index: Index, extent: int, low: bool, high: bool) -> Index:
    return Const(0) if extent == 1 else _mirrored(index, extent, low, high, 0)


def _symmetric(index: Index, extent: int, low: bool, high: bool) -> Index:
    return _mirrored(index, extent, low, high, 1)


def _mirrored(index: Index, extent: int, low: bool, high: bool, twice: int) -> Index:
    """There and back, the elements at the ends once or `twice`, as often as the index goes beyond them."""
    period = 2 * extent - 2 + 2 * twice
    if index.bounds[0] < -period // 2 or index.bounds[1] > extent - 1 + period // 2:
        index, low, high = index % period, False, True
    index = apply("max", index, Const(-twice) - index) if low else index
    index = apply("min", index, Const(period - twice) - index) if high else index
    return clamped(index, extent, low, high)  # which interval bounds do not show


# where to read, from an index that may leave an axis at these ends
MODES: dict[str, Callable[[Index, int, bool, bool], Index]] = {
    "edge": clamped,
    "wrap": lambda index, extent, low, high: index % extent,
    "reflect": _reflected,
    "symmetric": _symmetric,
}


def widths_of(given: Any, rank: int) -> Widths:
    """(before, after) of every axis from what `pad` takes: a number, a pair, one of them for each axis, or a mapping from axes."""
    if isinstance(given, Mapping):
        by_axis = {one_axis("pad", axis, rank): np.broadcast_to(np.asarray(pair), (2,)) for axis, pair in given.items()}
        given = [by_axis.get(axis, (0, 0)) for axis in range(rank)]
    try:
        table = np.broadcast_to(np.asarray(given), (rank, 2)).tolist()
    except ValueError:
        raise UsageError(f"pad: found the widths {given!r}, expected one number, a pair, or a pair for each of {rank} axes") from None
    widths = [(integer("pad", "width", before), integer("pad", "width", after)) for before, after in table]
    if any(width < 0 for pair in widths for width in pair):
        raise UsageError(f"pad: found the widths {given!r}, expected 0 or more")
    return widths


def _constants(source: Tensor, widths: Widths, values: Any) -> Tensor:
    """A frame of numbers; where they differ one side of an axis after the other, as NumPy does, so that later ones have the corners."""
    try:
        table = np.broadcast_to(np.asarray(values), (len(widths), 2)).tolist()
    except (ValueError, TypeError):
        raise UsageError(f"pad: found constant_values={values!r}, expected numbers: one, a pair, or a pair for each axis") from None
    if not all(isinstance(value, bool | int | float | complex) for pair in table for value in pair):
        raise UnsupportedError("pad: found constant_values that are arrays of the trace, supported are numbers; use where")
    if len({repr(value) for pair in table for value in pair}) <= 1:
        return _constant(source, widths, table[0][0] if table else 0)
    for axis, sides in enumerate(table):
        for side, value in enumerate(sides):
            here = [(0, 0)] * len(widths)
            here[axis] = (0, widths[axis][1]) if side else (widths[axis][0], 0)
            source = _constant(source, here, value)
    return source


def _constant(source: Tensor, widths: Widths, number: Any) -> Tensor:
    """A frame of one number."""
    shape = tuple(n + before + after for n, (before, after) in zip(source.shape, widths, strict=True))
    value = literal(converted(np.asarray(number), source.dtype).item(), source.dtype)
    if source.size == 0:
        return make_generic(shape, (), (), (), value)
    inside: Index | None = None
    indices: list[Index] = []
    for loop, n, (before, after) in zip(axes(shape), source.shape, widths, strict=True):
        indices.append(clamped(loop - before if before else loop, n, bool(before), bool(after)))
        for condition in [*([apply("ge", loop, before)] if before else []), *([apply("lt", loop, before + n)] if after else [])]:
            inside = condition if inside is None else apply("and", inside, condition)
    read: Scalar = Arg(0, source.dtype)
    block = read if inside is None else Call("where", (Position(inside, "bool"), read, value), source.dtype)
    return make_generic(shape, (), (source,), (tuple(indices),), block)
