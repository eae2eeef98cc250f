"""Specs: the shape and dtype of an array that is not there yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eqsat.ir.dtypes import dtype_name
from eqsat.ir.errors import ShapeError, UsageError
from eqsat.ir.index import Index
from eqsat.ir.polynomials import polynomial_of


@dataclass(frozen=True)
class Spec:
    """An array of this shape and of the NumPy dtype named `dtype`; an extent may be a size of `eqsat.dim`, or made of some."""

    shape: tuple[int | Index, ...]
    dtype: str

    def __str__(self) -> str:
        return describe(self.shape, self.dtype)


def spec(shape: Any, dtype: Any) -> Spec:
    """A Spec of checked parts: `shape` an integer or a sequence of them, `dtype` what numpy.dtype takes.

    An extent may be a size that is known at run time, `n = eqsat.dim("n", 1, 4096)`, or a sum of products of such, `2 * n + 1`: one plan
    then serves every size in that range.

    Raises UsageError for extents that are no integers, or sizes that may be zero, ShapeError for negative ones, DTypeError for another
    dtype than those of eqsat.ir.dtypes: bool, integers, float16 to float64, complex64 and complex128.
    """
    extents = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    for extent in extents:
        if isinstance(extent, Index):
            size = polynomial_of(extent)
            if size is None:
                raise UsageError(f"spec: found the extent {extent}, expected a sum of products of sizes")
            if size.bounds[0] < 1:
                raise UsageError(f"spec: found the size {extent} in {size.bounds[0]}..{size.bounds[1]}, expected 1 or more")
            continue
        if isinstance(extent, bool) or not isinstance(extent, int | np.integer):
            raise UsageError(f"spec: found the extent {extent!r}, expected an integer")
        if extent < 0:
            raise ShapeError(f"spec: found the extent {extent}, expected 0 or more")
    return Spec(tuple(extent if isinstance(extent, Index) else int(extent) for extent in extents), dtype_name(dtype, "spec"))


def describe(shape: tuple[int | Index, ...], dtype: str) -> str:
    """float32[3, 4]."""
    return f"{dtype}[{', '.join(str(extent) for extent in shape)}]"
