"""Windows that slide over the last one to three axes: convolution and pooling, one Generic each.  NumPy has no names for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eqsat.ir.dtypes import carrier, is_float, is_inexact, promote
from eqsat.ir.errors import DTypeError, ShapeError, UsageError
from eqsat.ir.index import Index, Var, apply
from eqsat.ir.tensor import Arg, Position, Scalar, Tensor, axes, reduction
from eqsat.operations.elementwise import call, cast, elementwise
from eqsat.operations.generic import integer, integers, make_generic, tensor_of
from eqsat.operations.padding import pad as padded
from eqsat.operations.reductions import settled, sum_of_products

LETTERS = {1: "W", 2: "H, W", 3: "D, H, W"}
CONVOLUTION = """Cross-correlation: x (N, C, {axes}) and w (O, C / groups, its {axes}) give (N, O, ...), with zeros around x and no bias.

    stride, dilation  one number, or one for each axis
    pad               one number, one for each axis, (before, after) for each axis, "valid" for none, or "same" for as many windows as
                      elements, divided by the stride and rounded up

    The result has (extent + before + after - dilation * (size - 1) - 1) // stride + 1 places along an axis.  Raises ShapeError where
    channels, groups or sizes do not fit."""
MAXIMUM = """The greatest element of every window: x (N, C, {axes}) gives (N, C, ...); what is around x is less than all of it.

    k is the size of a window, one number, or one for each axis; stride, pad and dilation as in the convolution of as many axes."""
MEAN = """The mean of every window: x (N, C, {axes}) gives (N, C, ...), of integers in float64.

    k is the size of a window, one number, or one for each axis; stride and pad as in the convolution of as many axes.  The zeros around x
    are elements too, unless `count_pad` is False."""


@dataclass(frozen=True)
class Sliding:
    """How windows slide along an axis of `extent`: every `stride` places, over `size` places that are `dilation` apart, and how far they
    go beyond its ends."""

    extent: int
    size: int
    stride: int
    dilation: int
    before: int
    after: int

    @property
    def reach(self) -> int:
        return (self.size - 1) * self.dilation + 1

    @property
    def count(self) -> int:
        return (self.extent + self.before + self.after - self.reach) // self.stride + 1

    def place(self, window: Var, inside: Var) -> Index:
        """Where a window reads in the axis with what is around it."""
        start = window * self.stride if self.stride > 1 else window
        return start + (inside * self.dilation if self.dilation > 1 else inside)

    def inside(self, window: Var) -> Index:
        """How many places of a window are in the axis itself, if they are neighbours."""
        start = window * self.stride - self.before
        return apply("min", start + self.size, self.extent) - apply("max", start, 0)


def convolution(rank: int) -> Callable[..., Tensor]:
    """conv1d, conv2d or conv3d."""
    name = f"conv{rank}d"

    def function(x: Any, w: Any, stride: Any = 1, pad: Any = 0, groups: Any = 1, dilation: Any = 1) -> Tensor:
        source, kernel = tensor_of(name, x), tensor_of(name, w)
        if len(source.shape) != rank + 2 or len(kernel.shape) != rank + 2:
            found = f"the shapes {source.shape} and {kernel.shape}"
            raise ShapeError(f"{name}: found {found}, expected (N, C, {LETTERS[rank]}) and (O, C / groups, kernel's {LETTERS[rank]})")
        parts = integer(name, "groups", groups)
        channels, (outputs, inner, *sizes) = source.shape[1], kernel.shape
        if parts < 1 or channels % parts or outputs % parts or inner != channels // max(parts, 1):
            raise ShapeError(
                f"{name}: found {channels} channels and a kernel {kernel.shape} in {parts} groups, which do not fit each other"
            )
        if promote(source.dtype, kernel.dtype) == "bool":
            raise DTypeError(f"{name}: found bool operands, expected numbers; use astype first")
        slides = _slides(name, source.shape[2:], sizes, stride, pad, dilation)
        whole = _framed(source, slides, 0)
        shape = (source.shape[0], outputs, *(slide.count for slide in slides))
        n, o, *windows = axes(shape)
        c, *inside = (reduction(level, extent) for level, extent in enumerate((inner, *sizes)))
        channel = c if parts == 1 else (o // (outputs // parts)) * inner + c
        places = tuple(slide.place(window, k) for slide, window, k in zip(slides, windows, inside, strict=True))
        return sum_of_products(shape, (inner, *sizes), (whole, kernel), ((n, channel, *places), (o, c, *inside)))

    return _named(function, name, CONVOLUTION)


def max_pooling(rank: int) -> Callable[..., Tensor]:
    """maxpool1d, maxpool2d or maxpool3d."""
    name = f"maxpool{rank}d"

    def function(x: Any, k: Any = 3, stride: Any = 2, pad: Any = 0, dilation: Any = 1) -> Tensor:
        source = _pooled(name, x, rank)
        slides = _slides(name, source.shape[2:], _each(name, "k", k, rank), stride, pad, dilation)
        around = any(slide.before or slide.after for slide in slides)
        if around and not is_float(source.dtype):
            raise DTypeError(f"{name}: found {source.dtype} with pad, expected floats, which have a least value")
        return _over_windows(_framed(source, slides, -np.inf), slides, Arg(0, source.dtype), "max")

    return _named(function, name, MAXIMUM)


def mean_pooling(rank: int) -> Callable[..., Tensor]:
    """avgpool1d, avgpool2d or avgpool3d."""
    name = f"avgpool{rank}d"

    def function(x: Any, k: Any = 3, stride: Any = 2, pad: Any = 0, count_pad: bool = True) -> Tensor:
        source = _pooled(name, x, rank)
        slides = _slides(name, source.shape[2:], _each(name, "k", k, rank), stride, pad, 1)
        dtype = source.dtype if is_inexact(source.dtype) else "float64"
        inside = carrier(dtype)
        total = _over_windows(_framed(source, slides, 0), slides, cast(Arg(0, source.dtype), inside), "sum")
        if count_pad or not any(slide.before or slide.after for slide in slides):
            count = float(np.prod([slide.size for slide in slides]))
            return elementwise(name, (total,), lambda value: cast(call("divide", value, count), dtype))
        if 0 in total.shape:
            return settled(total, dtype)
        block: Scalar = Arg(0, inside)
        loops = axes(total.shape)
        for slide, loop in zip(slides, loops[2:], strict=True):
            block = call("divide", block, cast(Position(slide.inside(loop), "int64"), inside))
        return make_generic(total.shape, (), (total,), (loops,), cast(block, dtype))

    return _named(function, name, MEAN)


def _named(function: Callable[..., Tensor], name: str, text: str) -> Callable[..., Tensor]:
    function.__name__, function.__doc__ = name, text.format(axes=LETTERS[int(name[-2])])
    return function


def _pooled(name: str, x: Any, rank: int) -> Tensor:
    source = tensor_of(name, x)
    if len(source.shape) != rank + 2:
        raise ShapeError(f"{name}: found the shape {source.shape}, expected (N, C, {LETTERS[rank]})")
    return source


def _over_windows(whole: Tensor, slides: Sequence[Sliding], block: Scalar, combine: str) -> Tensor:
    shape = (*whole.shape[:2], *(slide.count for slide in slides))
    n, c, *windows = axes(shape)
    inside = [reduction(level, slide.size) for level, slide in enumerate(slides)]
    places = tuple(slide.place(window, k) for slide, window, k in zip(slides, windows, inside, strict=True))
    return make_generic(shape, tuple(slide.size for slide in slides), (whole,), ((n, c, *places),), block, combine)


def _framed(source: Tensor, slides: Sequence[Sliding], value: float) -> Tensor:
    if not any(slide.before or slide.after for slide in slides):
        return source
    return padded(source, ((0, 0), (0, 0), *((slide.before, slide.after) for slide in slides)), constant_values=value)


def _slides(name: str, extents: Sequence[int], sizes: Sequence[int], stride: Any, pad: Any, dilation: Any) -> list[Sliding]:
    """How windows slide along every axis; ShapeError where none fits, UsageError for numbers that are none of their kind."""
    rank = len(extents)
    strides, dilations = _each(name, "stride", stride, rank), _each(name, "dilation", dilation, rank)
    if min(*strides, *dilations) < 1:
        raise UsageError(f"{name}: found the stride {stride} and the dilation {dilation}, expected 1 or more")
    reaches = [(size - 1) * apart + 1 for size, apart in zip(sizes, dilations, strict=True)]
    around = _around(name, pad, extents, reaches, strides)
    found = [
        Sliding(extent, size, step, apart, *pair)
        for extent, size, step, apart, pair in zip(extents, sizes, strides, dilations, around, strict=True)
    ]
    if any(slide.size < 1 or slide.count < 1 for slide in found):
        raise ShapeError(f"{name}: found a window {tuple(sizes)} over {tuple(extents)}, expected one that fits")
    return found


def _each(name: str, what: str, value: Any, rank: int) -> tuple[int, ...]:
    """One integer for each axis."""
    found = integers(name, what, value)
    if len(found) not in (1, rank) or (len(found) == 1 and isinstance(value, tuple | list) and rank > 1):
        raise UsageError(f"{name}: found {what} {value}, expected a number, or {rank} of them")
    return found * rank if len(found) == 1 else found


def _around(name: str, pad: Any, extents: Sequence[int], reaches: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int]]:
    """How far windows go beyond the two ends of every axis."""
    if pad == "valid":
        return [(0, 0)] * len(extents)
    if pad == "same":
        total = [max((-(-n // step) - 1) * step + reach - n, 0) for n, reach, step in zip(extents, reaches, strides, strict=True)]
        return [(n // 2, n - n // 2) for n in total]
    if isinstance(pad, str):
        raise UsageError(f"{name}: found pad={pad!r}, expected numbers, 'same' or 'valid'")
    pairs = isinstance(pad, tuple | list) and len(pad) == len(extents) and all(isinstance(side, tuple | list) for side in pad)
    found = [_each(name, "pad", side, 2) for side in pad] if pairs else [(n, n) for n in _each(name, "pad", pad, len(extents))]
    if any(n < 0 for side in found for n in side):
        raise UsageError(f"{name}: found the pad {pad}, expected 0 or more")
    return [(before, after) for before, after in found]
