"""Windows that slide over the last two axes: convolution and pooling, one Generic each.  NumPy has no names for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from eqsat.ir.dtypes import is_float, promote
from eqsat.ir.errors import DTypeError, ShapeError, UsageError
from eqsat.ir.tensor import Arg, Tensor, axes, reduction
from eqsat.operations.generic import integer, make_generic, tensor_of
from eqsat.operations.joining import pad as padded
from eqsat.operations.reductions import multiply_add


def conv2d(x: Any, w: Any, stride: Any = 1, pad: Any = 0, groups: Any = 1) -> Tensor:
    """Cross-correlation: x (N, C, H, W) and w (O, C / groups, KH, KW) give (N, O, OH, OW), with zeros around x and no bias.

    OH = (H + 2 pad - KH) // stride + 1, and so for OW.  Raises ShapeError where channels, groups or sizes do not fit.
    """
    source, kernel = tensor_of("conv2d", x), tensor_of("conv2d", w)
    step, around, parts = (integer("conv2d", what, value) for what, value in (("stride", stride), ("pad", pad), ("groups", groups)))
    if len(source.shape) != 4 or len(kernel.shape) != 4:
        raise ShapeError(f"conv2d: found the shapes {source.shape} and {kernel.shape}, expected (N, C, H, W) and (O, C / groups, KH, KW)")
    channels, (outputs, inner, height, width) = source.shape[1], kernel.shape
    if parts < 1 or channels % parts or outputs % parts or inner != channels // max(parts, 1):
        raise ShapeError(f"conv2d: found {channels} channels and a kernel {kernel.shape} in {parts} groups, which do not fit each other")
    if promote(source.dtype, kernel.dtype) == "bool":
        raise DTypeError("conv2d: found bool operands, expected numbers; use astype first")
    whole = _framed("conv2d", source, around, step, 0)
    shape = (source.shape[0], outputs, *_steps("conv2d", whole.shape, (height, width), step))
    n, o, i, j = axes(shape)
    c, k, m = (reduction(level, extent) for level, extent in enumerate((inner, height, width)))
    channel = c if parts == 1 else (o // (outputs // parts)) * inner + c
    maps = ((n, channel, i * step + k, j * step + m), (o, c, k, m))
    return multiply_add(shape, (inner, height, width), (whole, kernel), maps)


def maxpool2d(x: Any, k: Any = 3, stride: Any = 2, pad: Any = 0) -> Tensor:
    """The greatest element of every k x k window: x (N, C, H, W) gives (N, C, OH, OW); what is around x counts as less than all."""
    source = tensor_of("maxpool2d", x)
    size, step, around = (integer("maxpool2d", what, value) for what, value in (("k", k), ("stride", stride), ("pad", pad)))
    if len(source.shape) != 4:
        raise ShapeError(f"maxpool2d: found the shape {source.shape}, expected (N, C, H, W)")
    if around and not is_float(source.dtype):
        raise DTypeError(f"maxpool2d: found {source.dtype} with pad, expected floats, which have a least value")
    whole = _framed("maxpool2d", source, around, step, -np.inf)
    shape = (*source.shape[:2], *_steps("maxpool2d", whole.shape, (size, size), step))
    n, c, i, j = axes(shape)
    a, b = reduction(0, size), reduction(1, size)
    return make_generic(shape, (size, size), (whole,), ((n, c, i * step + a, j * step + b),), Arg(0, source.dtype), "max")


def _framed(name: str, source: Tensor, around: int, step: int, value: float) -> Tensor:
    if around < 0 or step < 1:
        raise UsageError(f"{name}: found the pad {around} and the stride {step}, expected 0 or more and 1 or more")
    return padded(source, ((0, 0), (0, 0), (around, around), (around, around)), constant_values=value) if around else source


def _steps(name: str, shape: tuple[int, ...], window: tuple[int, int], step: int) -> tuple[int, int]:
    """How many windows fit."""
    if any(extent < size or size < 1 for extent, size in zip(shape[2:], window, strict=True)):
        raise ShapeError(f"{name}: found a window {window} over {shape[2:]}, expected one that fits")
    height, width = ((extent - size) // step + 1 for extent, size in zip(shape[2:], window, strict=True))
    return height, width
