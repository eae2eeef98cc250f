"""numpy.pad: frames of numbers and of elements read again (padding.py), and those that are made one axis after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eqsat.ir.errors import UsageError
from eqsat.ir.tensor import Tensor
from eqsat.operations import padding, reductions, statistics
from eqsat.operations.assembling import along
from eqsat.operations.derived import linspace
from eqsat.operations.elementwise import astype, call, elementwise
from eqsat.operations.generic import tensor_of
from eqsat.operations.joining import concatenate
from eqsat.operations.movement import broadcast_to, flip, squeeze

STATISTICS: dict[str, Callable[..., Tensor]] = {"mean": statistics.mean, "maximum": reductions.max, "minimum": reductions.min}
RAMP = "linear_ramp"


def pad(
    array: Any,
    pad_width: Any,
    mode: str = "constant",
    *,
    constant_values: Any = 0,
    reflect_type: str = "even",
    stat_length: Any = None,
    end_values: Any = 0,
) -> Tensor:
    """The elements in a frame; widths as NumPy takes them: one number, (before, after), such a pair for every axis, or by axis in a dict.

    mode  constant: numbers, one or by side and axis; edge: the nearest element; wrap, reflect, symmetric: the elements again, from the
          other end, or mirrored at an edge, which reflect does not repeat; empty: any numbers; mean, maximum, minimum: of the
          `stat_length` elements at that end, or of all; linear_ramp: on a line from the edge to `end_values`
    """
    of_another = {
        "constant_values": mode != "constant" and np.any(np.asarray(constant_values) != 0),
        "stat_length": mode not in STATISTICS and stat_length is not None,
        "end_values": mode != RAMP and np.any(np.asarray(end_values) != 0),
    }
    for key, is_of_another in of_another.items():
        if is_of_another and (mode in padding.MODES or mode in STATISTICS or mode in (RAMP, "constant", "empty")):
            raise UsageError(f"pad: found {key}=, which the mode {mode!r} does not take")
    if mode not in STATISTICS and mode != RAMP:
        return padding.pad(array, pad_width, mode, constant_values=constant_values, reflect_type=reflect_type)
    source = tensor_of("pad", array)
    widths = padding.widths_of(pad_width, len(source.shape))
    given = _by_side(end_values if mode == RAMP else stat_length, len(widths))
    for axis, (width, (first, last)) in enumerate(zip(widths, given, strict=True)):
        if not source.shape[axis] and any(width):
            raise UsageError(f"pad: found axis {axis} without elements, expected some for the mode {mode!r}")
        if mode == RAMP:
            front, behind = (_ramp(source, axis, *side) for side in ((width[0], 0, first), (width[1], -1, last)))
        else:
            front, behind = (_statistic(source, axis, mode, *side) for side in ((width[0], _end(first)), (width[1], _end(last, -1))))
        source = concatenate([*front, source, *(flip(part, axis) if mode == RAMP else part for part in behind)], axis)
    return source


def _by_side(given: Any, rank: int) -> list[list[Any]]:
    """NumPy's parameter of both sides of every axis."""
    if given is None:
        return [[None, None]] * rank
    try:
        return np.broadcast_to(np.asarray(given), (rank, 2)).tolist()  # type: ignore[no-any-return]
    except ValueError:
        raise UsageError(f"pad: found {given!r}, expected one number, a pair, or a pair for each of {rank} axes") from None


def _end(count: Any, side: int = 1) -> slice:
    """So many elements at an end, or all."""
    if count is not None and (type(count) is not int or count < 1):
        raise UsageError(f"pad: found stat_length={count!r}, expected 1 or more")
    return slice(count) if side > 0 else slice(None if count is None else -count, None)


def _statistic(source: Tensor, axis: int, mode: str, width: int, part: slice) -> list[Tensor]:
    if not width:
        return []
    whole = part.start is not None and -part.start > source.shape[axis]
    found = STATISTICS[mode](source if whole else along(source, axis, part), axis, keepdims=True)
    if mode == "mean" and np.dtype(source.dtype).kind in "iu":
        found = elementwise("pad", (found,), lambda value: call("rint", value))
    shape = tuple(width if k == axis else n for k, n in enumerate(source.shape))
    return [broadcast_to(astype(found, source.dtype), shape)]


def _ramp(source: Tensor, axis: int, width: int, edge: int, end: Any) -> list[Tensor]:
    """From the end to what is at the edge, without that."""
    if not width:
        return []
    nearest = squeeze(along(source, axis, slice(1) if edge == 0 else slice(-1, None)), axis)
    return [linspace(end, nearest, width, endpoint=False, dtype=source.dtype, axis=axis)]
