"""Element types: the NumPy names that tensors may have, and NumPy 2's promotion between them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from eqsat.ir.errors import DTypeError

try:
    import ml_dtypes  # the extra `bfloat16`: it tells NumPy of the dtype

    _BRAIN: tuple[str, ...] = (np.dtype(ml_dtypes.bfloat16).name,)
except ImportError:
    _BRAIN = ()

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = (*_BRAIN, "float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGERS = SIGNED + UNSIGNED
DTYPES = ("bool", *INTEGERS, *FLOATS, *COMPLEX)
_NAMES = {np.dtype(name): name for name in DTYPES}
# floats of 16 bits are formats of storage: NumPy computes in float32 and rounds each result; folds are rounded once, at their end
_CARRIERS = {"float16": "float32", "bfloat16": "float32"}
_PARTS = {"complex64": "float32", "complex128": "float64"}


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
    """NumPy's result type of an arithmetic operation on arrays of these dtypes; DTypeError where it has none."""
    return promoted(*(np.dtype(name) for name in dtypes))


def promoted(*given: Any) -> str:
    """NumPy's result type of dtypes and numbers; DTypeError where it has none, as of bfloat16 and int32."""
    try:
        name: str = np.result_type(*given).name
    except TypeError:
        listed = " and ".join(getattr(one, "name", type(one).__name__) for one in given)
        raise DTypeError(f"found {listed}, which NumPy has no common dtype for; use astype first") from None
    return name


def is_float(dtype: str) -> bool:
    """Whether it is a real floating-point type."""
    return dtype in FLOATS


def is_complex(dtype: str) -> bool:
    return dtype in COMPLEX


def is_inexact(dtype: str) -> bool:
    """Whether its operations round."""
    return dtype in FLOATS or dtype in COMPLEX


def is_integer(dtype: str) -> bool:
    """Whether it is an integer type; bool is none."""
    return dtype in INTEGERS


def part_of(dtype: str) -> str:
    """The dtype of the real and the imaginary part of a complex number, of any other dtype itself."""
    return _PARTS.get(dtype, dtype)


def carrier(dtype: str) -> str:
    """The dtype in which NumPy carries what it folds to this one: float32 for float16, itself for others."""
    return _CARRIERS.get(dtype, dtype)


def sum_dtype(dtype: str) -> str:
    """The dtype of NumPy's sums and products: that of the elements, for bool and smaller integers the 64-bit integer of their kind."""
    if dtype in UNSIGNED:
        return "uint64"
    return "int64" if dtype == "bool" or dtype in SIGNED else dtype


def integer_range(dtype: str) -> tuple[int, int]:
    """The least and the greatest value of an integer dtype."""
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def wrapped(value: int, dtype: str) -> int:
    """The value that an integer has in an integer dtype."""
    low, high = integer_range(dtype)
    return (value - low) % (high - low + 1) + low


@functools.cache
def itemsize(dtype: str) -> int:
    """Bytes of one element in memory; bool is stored as a byte."""
    return np.dtype(dtype).itemsize


@functools.cache
def alignment(dtype: str) -> int:
    """What NumPy's aligned arrays have as a multiple in their addresses, in bytes: of a complex number the size of a part."""
    return np.dtype(dtype).alignment
