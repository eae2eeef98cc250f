"""Truth values packed into bytes, and bytes taken apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from eqsat.ir.errors import DTypeError, UsageError
from eqsat.ir.tensor import Constant, Tensor
from eqsat.operations import reductions
from eqsat.operations.assembling import along
from eqsat.operations.elementwise import astype, call, elementwise
from eqsat.operations.generic import integer, is_its_own_row, one_axis, tensor_of
from eqsat.operations.movement import expand_dims, moveaxis, ravel, reshape
from eqsat.operations.padding import pad

# how far the bits of a byte are from its lowest
SHIFTS = {"big": np.arange(7, -1, -1, dtype=np.uint8), "little": np.arange(8, dtype=np.uint8)}


def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Tensor:
    """Eight truth values in a byte, the first in its highest bit (`bitorder` "big") or its lowest ("little"); zeros fill the last byte."""
    source, k = _rows("packbits", a, axis)
    if np.dtype(source.dtype).kind not in "bui":
        raise DTypeError(f"packbits: found {source.dtype}, expected bool or integers")
    rows = moveaxis(elementwise("packbits", (source,), lambda bit: call("not_equal", bit, 0)), k, -1)
    count = -(-rows.shape[-1] // 8)
    rows = pad(rows, [(0, 0)] * (len(rows.shape) - 1) + [(0, 8 * count - rows.shape[-1])])
    rows = astype(reshape(rows, (*rows.shape[:-1], count, 8)), "uint8")
    parts = elementwise("packbits", (rows, Constant(_shifts("packbits", bitorder))), lambda bit, by: call("left_shift", bit, by))
    return moveaxis(reductions.sum(parts, -1, dtype="uint8"), -1, k)


def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Tensor:
    """The bits of bytes, as uint8; `count`: so many of them, zeros behind the last ones, or without so many at the end."""
    source, k = _rows("unpackbits", a, axis)
    if source.dtype != "uint8":
        raise DTypeError(f"unpackbits: found {source.dtype}, expected uint8")
    rows = moveaxis(source, k, -1)
    bits = elementwise(
        "unpackbits",
        (expand_dims(rows, -1), Constant(_shifts("unpackbits", bitorder))),
        lambda byte, by: call("bitwise_and", call("right_shift", byte, by), 1),
    )
    extent = 8 * rows.shape[-1]
    bits = reshape(bits, (*rows.shape[:-1], extent))
    if count is not None:
        most = integer("unpackbits", "count", count)
        most = most if most >= 0 else extent + most
        if most < 0:
            raise UsageError(f"unpackbits: found count {count}, expected {-extent} or more for {extent} bits")
        before = len(bits.shape) - 1
        bits = along(pad(bits, [(0, 0)] * before + [(0, max(0, most - extent))]), before, slice(most))
    return moveaxis(bits, -1, k)


def _rows(name: str, a: Any, axis: Any) -> tuple[Tensor, int]:
    source = tensor_of(name, a)
    rank = len(source.shape)
    if axis is None and not is_its_own_row(rank, axis):
        return ravel(source), 0
    return source, one_axis(name, 0 if axis is None else axis, rank)


def _shifts(name: str, bitorder: str) -> np.ndarray[Any, Any]:
    if bitorder not in SHIFTS:
        raise UsageError(f"{name}: found bitorder {bitorder!r}, expected 'big' or 'little'")
    return SHIFTS[bitorder]
