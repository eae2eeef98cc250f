"""Every case of operation_cases.py gives what NumPy gives: traced on several dtypes, some of them compiled."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import eqsat
from tests.eqsat.operation_cases import function, given, sources
from tests.eqsat.tracing_cases import Array, traced

SOURCES = [source for _, source in sources()]
DTYPES = ("float32", "int64", "int32")


def flat(result: Any) -> list[Any]:
    if isinstance(result, list | tuple):
        return [part for inner in result for part in flat(inner)]
    return [np.asarray(result)]


def assert_equal(found: Any, wanted: Any) -> None:
    """Same containers, dtypes, shapes and values, floats to rounding."""
    assert type(found) is type(wanted) or not isinstance(wanted, list | tuple)
    for one, other in zip(flat(found), flat(wanted), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        tolerance = 2e-5 if other.dtype == np.float32 else 1e-11
        scale = np.max(np.abs(other[np.isfinite(other)]), initial=1.0)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * scale)


def expected(called: Any, arrays: dict[str, Array]) -> Any:
    """What NumPy gives."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return called(*arrays.values())


@pytest.mark.parametrize("source", SOURCES)
def test_the_traced_program_equals_numpy(source: str) -> None:
    for dtype in DTYPES:
        arrays = given(source, dtype)
        called = function(source, list(arrays))
        assert_equal(traced(called, [*arrays.values()]), expected(called, arrays))


@pytest.mark.parametrize("source", SOURCES[::9])
def test_the_compiled_program_equals_numpy(source: str) -> None:
    arrays = given(source, "float32")
    called = function(source, list(arrays))
    compiled: Any = eqsat.jit(called)
    assert_equal(compiled(*arrays.values()), expected(called, arrays))
