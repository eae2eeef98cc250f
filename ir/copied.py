"""Tensors that hold the elements of another one as they are."""

from __future__ import annotations

import numpy as np

from eqsat.ir.tensor import Arg, Build, Constant, Generic, Input, Read, Tensor, axes


def copied(tensor: Tensor) -> Tensor:
    """A tensor that a kernel can write: an input, or a constant with elements, is read into a Build."""
    if isinstance(tensor, Input | Constant):
        return Build(tensor.shape, Read(tensor, axes(tensor.shape))) if tensor.size else Constant(np.empty(tensor.shape, tensor.dtype))
    return tensor


def uncopied(tensor: Tensor) -> Tensor:
    """What a tensor is a copy of, if it is one."""
    while True:
        loops = axes(tensor.shape)
        if isinstance(tensor, Build) and isinstance(tensor.body, Read) and tensor.body.indices == loops:
            source = tensor.body.tensor
        elif isinstance(tensor, Generic) and tensor.combine is None and tensor.block == Arg(0, tensor.dtype) and tensor.maps == (loops,):
            source = tensor.operands[0]
        else:
            return tensor
        if source.shape != tensor.shape:
            return tensor
        tensor = source
