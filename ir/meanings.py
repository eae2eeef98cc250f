"""Meanings of operations for which NumPy has no function, or none that is defined everywhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_erf = np.vectorize(math.erf, otypes=[np.float64])


def erf(x: Any) -> Any:
    """The error function, computed in float64 and rounded to the dtype that NumPy's functions give."""
    dtype = np.sqrt.resolve_dtypes((np.asarray(x).dtype, None))[-1]
    return np.asarray(_erf(x)).astype(dtype)[()]


def power(x: Any, y: Any) -> Any:
    """numpy.power; integers to a negative power, for which NumPy raises, are 1 / x^-y without its fraction, and 0 for x = 0."""
    if np.result_type(x, y).kind == "f":
        return np.power(x, y)
    odd = np.where(y % 2 == 0, x * x, x)
    return np.where(y >= 0, np.power(x, np.maximum(y, 0)), np.where(np.abs(x) == 1, odd, np.zeros_like(x)))[()]


def bits(a: Any) -> Any:
    """The integers without a sign that have the bits of these floats."""
    array = np.asarray(a)
    return array.view(f"uint{8 * array.itemsize}")[()]


def of_bits(a: Any) -> Any:
    """The floats that have the bits of these integers."""
    array = np.asarray(a)
    return array.view(f"float{8 * array.itemsize}")[()]


def of_parts(real: Any, imaginary: Any) -> Any:
    """The complex numbers of these real and imaginary parts."""
    parts = np.broadcast_arrays(real, imaginary)
    found = np.empty(parts[0].shape, np.result_type(*parts, np.complex64))
    found.real, found.imag = parts
    return found[()]
