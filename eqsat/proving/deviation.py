"""How far arrays lie apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from eqsat.ir.dtypes import is_inexact


def deviation(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> float:
    """max |found - expected| / max |expected|, the maxima over finite elements.

    Infinite where shape, dtype, an infinity or a NaN differs, or an integer or truth value does.
    """
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return float("inf")
    largest, scale = apart(found, expected)
    return largest / (scale or 1.0)


def apart(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> tuple[float, float]:
    """(max |found - expected|, max |expected|) of arrays of one shape, the maxima over finite elements; the former infinite where an
    infinity or a NaN differs, or an integer or truth value does."""
    if not is_inexact(found.dtype.name):
        return 0.0 if np.array_equal(found, expected) else float("inf"), 1.0
    finite = np.isfinite(expected)
    if not np.array_equal(found[~finite], expected[~finite], equal_nan=True) or not np.isfinite(found[finite]).all():
        return float("inf"), 1.0
    wide = np.promote_types(expected.dtype, np.float64)
    wanted = expected[finite].astype(wide)
    return float(np.abs(found[finite].astype(wide) - wanted).max(initial=0.0)), float(np.abs(wanted).max(initial=0.0))
