"""Element types: the NumPy names that tensors may have, and NumPy 2's promotion between them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from eqsat.ir.errors import DTypeError

DTYPES = ("bool", "int32", "int64", "float32", "float64")
_NAMES = {np.dtype(name): name for name in DTYPES}


def dtype_name(dtype: Any, where: str = "dtype") -> str:
    """The canonical name of a NumPy dtype; DTypeError names `where` when it is none of DTYPES."""
    if isinstance(dtype, np.dtype) and dtype in _NAMES:  # every call of a plan asks; NumPy's own way to the name is slow
        return _NAMES[dtype]
    try:
        name: str = np.dtype(dtype).name
    except TypeError:
        name = repr(dtype)
    if name not in DTYPES:
        raise DTypeError(f"{where}: found {name}, expected one of {', '.join(DTYPES)}")
    return name


@functools.cache
def promote(*dtypes: str) -> str:
    """NumPy's result type of an arithmetic operation on arrays of these dtypes."""
    return np.result_type(*(np.dtype(name) for name in dtypes)).name


def is_float(dtype: str) -> bool:
    return dtype.startswith("float")


def itemsize(dtype: str) -> int:
    """Bytes of one element in memory; bool is stored as a byte."""
    return np.dtype(dtype).itemsize
