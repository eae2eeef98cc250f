"""What the tests of tracing share: running a function as it is and through its traced program."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.exceptions import ComplexWarning

from eqsat.capture.tracing import trace
from eqsat.ir.check import check_program
from eqsat.ir.containers import rebuild_result
from eqsat.ir.dtypes import UNSIGNED, is_complex, is_integer
from eqsat.ir.evaluate import evaluate
from eqsat.testing import TOLERANCE

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]


def traced(function: Function, arrays: Sequence[Array]) -> Any:
    """The result of the traced program on the arrays, in the function's containers."""
    program = trace(function, *arrays)
    check_program(program)
    return rebuild_result(program.structure, evaluate(program, arrays))


def assert_same(function: Function, *arrays: Array) -> None:
    """The traced program gives NumPy's shapes, dtypes and values (floats to rounding)."""
    with np.errstate(all="ignore"), warnings.catch_warnings(category=ComplexWarning, action="ignore"):
        expected = np.asarray(function(*arrays))
    found = traced(function, arrays)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    tolerance = TOLERANCE.get(expected.dtype.name, 0)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def sample(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    """Small values without zeros, so that division is defined, signed where the dtype is; both truth values for bool."""
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.random(shape) < 0.5
    values = random.integers(1, 7, shape) * random.choice([1 if dtype in UNSIGNED else -1, 1], shape)
    if is_integer(dtype):
        return np.asarray(values).astype(dtype)
    values = values + random.random(shape) / 2
    return np.asarray(values + 1j * random.integers(-3, 4, shape) if is_complex(dtype) else values).astype(dtype)
