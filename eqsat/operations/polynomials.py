"""Polynomials by their coefficients, the highest power first: values, sums, derivatives, integrals."""

from __future__ import annotations

from typing import Any

import numpy as np

from eqsat.ir.errors import ShapeError, UsageError
from eqsat.ir.tensor import Constant, Tensor
from eqsat.operations.assembling import along
from eqsat.operations.elementwise import call, cast, elementwise, scalar_operation
from eqsat.operations.generic import integer, tensor_of
from eqsat.operations.host import as_numpy
from eqsat.operations.joining import concatenate
from eqsat.operations.movement import ravel, reshape

_add, _subtract, _multiply, _divide = (scalar_operation(op) for op in ("add", "subtract", "multiply", "divide"))


def polyval(p: Any, x: Any) -> Tensor:
    """The polynomial with these coefficients, that of the highest power first, at `x`."""
    coefficients, at = tensor_of("polyval", p), tensor_of("polyval", x)
    if len(coefficients.shape) != 1:
        raise ShapeError(f"polyval: found coefficients of the shape {coefficients.shape}, expected one dimension")
    found: Tensor = elementwise("polyval", (at,), lambda value: call("multiply", value, cast(0, value.dtype)))
    for k in range(coefficients.shape[0]):
        found = _add(_multiply(found, at), reshape(along(coefficients, 0, slice(k, k + 1)), ()))
    return found


def polyadd(a1: Any, a2: Any) -> Tensor:
    """The coefficients of a sum of polynomials, the highest power first."""
    return _add(*_of_one_degree("polyadd", a1, a2))


def polysub(a1: Any, a2: Any) -> Tensor:
    """The coefficients of a difference of polynomials, the highest power first."""
    return _subtract(*_of_one_degree("polysub", a1, a2))


def _of_one_degree(name: str, *coefficients: Any) -> list[Tensor]:
    """Both with zeros for the powers that they lack."""
    parts = [_coefficients(name, one) for one in coefficients]
    most = max(part.shape[0] for part in parts)
    return [concatenate([Constant(np.zeros(most - part.shape[0], part.dtype)), part]) for part in parts]


def polyder(p: Any, m: Any = 1) -> Tensor:
    """The coefficients of the m-th derivative of a polynomial, the highest power first."""
    found, times = _coefficients("polyder", p), integer("polyder", "m", m)
    if times < 0:
        raise UsageError(f"polyder: found m = {times}, expected 0 or more")
    for _ in range(times):
        count = found.shape[0]
        found = _multiply(along(found, 0, slice(max(count - 1, 0))), Constant(np.arange(count - 1, 0, -1)))
    return found


def polyint(p: Any, m: Any = 1, k: Any = None) -> Tensor:
    """The coefficients of the m-th integral of a polynomial, the highest power first; `k`: its constants, one or m."""
    found, times = _coefficients("polyint", p), integer("polyint", "m", m)
    if times < 0:
        raise UsageError(f"polyint: found m = {times}, expected 0 or more")
    constants = ravel(tensor_of("polyint", 0.0 if k is None else k))
    if constants.shape[0] != times and constants.shape[0] != 1:
        raise ShapeError(f"polyint: found {constants.shape[0]} constants, expected one, or one for each of {times} integrals")
    for step in range(times):
        powers = Constant(np.arange(found.shape[0], 0, -1))
        at = min(step, constants.shape[0] - 1)
        found = concatenate([_divide(found, powers), along(constants, 0, slice(at, at + 1))])
    return found


def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Tensor:
    """The coefficients of the polynomial of a degree that is nearest to values, the highest power first, by NumPy."""
    found: Tensor = as_numpy("polyfit")(x, y, integer("polyfit", "deg", deg), rcond, full, w, cov)
    return found


def _coefficients(name: str, p: Any) -> Tensor:
    found = tensor_of(name, p)
    found = ravel(found) if not found.shape else found
    if len(found.shape) != 1:
        raise ShapeError(f"{name}: found coefficients of the shape {found.shape}, expected one dimension")
    return found
