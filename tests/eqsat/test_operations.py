"""Every case of operation_cases.py gives what NumPy gives: traced on several dtypes, some of them compiled."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import EqsatError, ShapeError
from tests.effort import some
from tests.eqsat.operation_cases import function, given, sources
from tests.eqsat.tracing_cases import Array, traced

SOURCES = [source for _, source in sources()]
# every source is traced with three of them
DTYPES = ("float32", "int64", "uint8", "complex64", "bool", "float64", "int16", "float16", "uint64", "int8", "complex128", "int32")
TOLERANCES = {"float16": 8e-3, "float32": 2e-5, "complex64": 2e-5, "float64": 1e-11, "complex128": 1e-11}


def flat(result: Any) -> list[Any]:
    if isinstance(result, list | tuple):
        return [part for inner in result for part in flat(inner)]
    return [np.asarray(result)]


def assert_equal(found: Any, wanted: Any) -> None:
    """Same containers, dtypes, shapes and values, floats to rounding."""
    assert type(found) is type(wanted) or not isinstance(wanted, list | tuple)
    for one, other in zip(flat(found), flat(wanted), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        tolerance = TOLERANCES.get(other.dtype.name, 0)
        scale = np.max(np.abs(other[np.isfinite(other)]), initial=1.0)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * scale)


def expected(called: Any, arrays: dict[str, Array]) -> Any:
    """What NumPy gives, or the error that it raises."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return called(*arrays.values())
        except (TypeError, ValueError, OverflowError) as error:
            return error


@pytest.mark.parametrize("position", range(len(SOURCES)), ids=SOURCES)
def test_the_traced_program_equals_numpy_or_is_refused_as_by_numpy(position: int) -> None:
    source = SOURCES[position]
    for dtype in some((DTYPES[(position * 3 + k) % len(DTYPES)] for k in range(3)), 2):
        arrays = given(source, dtype)
        called = function(source, list(arrays))
        wanted = expected(called, arrays)
        if isinstance(wanted, Exception):
            with pytest.raises(EqsatError):
                traced(called, [*arrays.values()])
        else:
            assert_equal(traced(called, [*arrays.values()]), wanted)


@pytest.mark.parametrize("source", some(SOURCES[::9], 2))
def test_the_compiled_program_equals_numpy(source: str) -> None:
    arrays = given(source, "float32")
    called = function(source, list(arrays))
    compiled: Any = eqsat.jit(called)
    assert_equal(compiled(*arrays.values()), expected(called, arrays))


def test_nested_lists_of_traced_arrays_and_numbers_are_stacked() -> None:
    x = np.arange(6.0, dtype=np.float32)
    turned = eqsat.jit(lambda t: enp.array([[enp.cos(t), -enp.sin(t)], [enp.sin(t), 0]]))(np.float64(0.5))
    np.testing.assert_array_equal(turned, np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), 0]]))
    rows = eqsat.jit(lambda x: enp.array([x, x * 2], dtype="float64"))(x)
    np.testing.assert_array_equal(rows, np.array([x, x * 2], dtype="float64"), strict=True)
    np.testing.assert_array_equal(eqsat.jit(lambda x: enp.array([1, 2, 3]) + x[1])(x), np.array([1, 2, 3]) + x[1])


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "amin", "any", "all", "argmax", "argmin", "count_nonzero", "nansum", "ptp"])
def test_one_number_has_the_axis_of_numpys_ufuncs(name: str, axis: int) -> None:
    for options in ({}, {"keepdims": True}):
        found = eqsat.jit(lambda x, o=options: getattr(np, name)(x, axis=axis, **o))(np.array(3.0))
        assert (found.shape, found) == ((), getattr(np, name)(np.array(3.0), axis=axis, **options))
    with pytest.raises(ShapeError):
        eqsat.trace(lambda x: np.mean(x, axis=axis), np.array(3.0))


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_more_half_floats_than_half_floats_count_have_numpys_moments(name: str) -> None:
    many = np.tile(np.array([0.5, 0.25, -0.5, -0.25, 3.0], "float16"), 14_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for array in (many, np.abs(many)):
            ours: Any = eqsat.jit(lambda x: getattr(enp, name)(x))
            got, wanted = np.asarray(ours(array)), np.asarray(getattr(np, name)(array))
            np.testing.assert_allclose(got, wanted, rtol=2e-3)
            assert got.dtype == wanted.dtype == np.float16
