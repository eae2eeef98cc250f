"""What the tests of tracing share: running a function as it is and through its traced program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eqsat.ir.check import check_program
from eqsat.ir.evaluate import evaluate
from eqsat.ir.structure import rebuild_result
from eqsat.tracing import trace

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]


def traced(function: Function, arrays: Sequence[Array]) -> Any:
    """The result of the traced program on the arrays, in the function's containers."""
    program = trace(function, *arrays)
    check_program(program)
    return rebuild_result(program.structure, evaluate(program, arrays))


def assert_same(function: Function, *arrays: Array) -> None:
    """The traced program gives NumPy's shapes, dtypes and values (floats to rounding)."""
    with np.errstate(all="ignore"):
        expected = np.asarray(function(*arrays))
    found = traced(function, arrays)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    tolerance = 1e-5 if expected.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def sample(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    """Small signed values without zeros, so that division is defined; both truth values for bool."""
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.random(shape) < 0.5
    values = random.integers(1, 7, shape) * random.choice([-1, 1], shape)
    fraction = 0 if dtype.startswith("int") else random.random(shape) / 2
    return np.asarray(values + fraction).astype(dtype)
