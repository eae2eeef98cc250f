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


def share_that_differs(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], finite_only: bool = False) -> float:
    """max |found - expected| / max |expected| of arrays of one shape, the maxima over finite elements, or the share of elements that differ
    in infinities and NaN, if that is more and not `finite_only`.  Of integers and truth values the share of those that differ.

    For values of which rounding may decide a few.
    """
    if not is_inexact(expected.dtype.name):
        return float(np.mean(found != expected))
    wide = np.promote_types(expected.dtype, np.float64)
    found, expected = found.astype(wide), expected.astype(wide)
    finite = np.isfinite(found) & np.isfinite(expected)
    same = finite | (found == expected) | (np.isnan(found) & np.isnan(expected))
    scale = float(np.max(np.abs(expected[finite]), initial=1e-30))
    largest = float(np.max(np.abs(found[finite] - expected[finite]), initial=0.0)) / scale
    return max(largest, 0.0 if finite_only else float(np.mean(~same)))
