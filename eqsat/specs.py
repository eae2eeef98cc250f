"""Specs: the shape and dtype of an array that is not there yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eqsat.ir.dtypes import dtype_name
from eqsat.ir.errors import ShapeError, UsageError
from eqsat.ir.index import Var


@dataclass(frozen=True)
class Spec:
    """An array of this shape and of the NumPy dtype named `dtype`; an extent may be a size of `eqsat.dim`."""

    shape: tuple[int | Var, ...]
    dtype: str

    def __str__(self) -> str:
        return describe(self.shape, self.dtype)


def spec(shape: Any, dtype: Any) -> Spec:
    """A Spec of checked parts: `shape` an integer or a sequence of them, `dtype` what numpy.dtype takes.

    An extent may be a size that is known at run time, `eqsat.dim("n", 1, 4096)`: one plan then serves every size in that range.

    Raises UsageError for extents that are no integers, ShapeError for negative ones, DTypeError for another dtype than
    those of eqsat.ir.dtypes: bool, integers, float16 to float64, complex64 and complex128.
    """
    extents = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    for extent in extents:
        if isinstance(extent, Var):
            if extent.lo < 1:
                raise UsageError(f"spec: found the size {extent.name} in {extent.lo}..{extent.hi}, expected 1 or more")
            continue
        if isinstance(extent, bool) or not isinstance(extent, int | np.integer):
            raise UsageError(f"spec: found the extent {extent!r}, expected an integer")
        if extent < 0:
            raise ShapeError(f"spec: found the extent {extent}, expected 0 or more")
    return Spec(tuple(extent if isinstance(extent, Var) else int(extent) for extent in extents), dtype_name(dtype, "spec"))


def describe(shape: tuple[int | Var, ...], dtype: str) -> str:
    """float32[3, 4]."""
    return f"{dtype}[{', '.join(str(extent) for extent in shape)}]"
