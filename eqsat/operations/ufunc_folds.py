"""Folds by ufuncs of which NumPy has no function: np.bitwise_or.reduce, np.logaddexp.reduce, np.fmax.reduce, np.logical_or.accumulate."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from eqsat.ir.dtypes import carrier, dtype_name, is_complex, is_integer
from eqsat.ir.errors import DTypeError
from eqsat.ir.ops import loop_dtypes
from eqsat.ir.tensor import Scalar, Tensor
from eqsat.operations import reductions, statistics
from eqsat.operations.elementwise import Element, astype, call, cast, elementwise
from eqsat.operations.generic import tensor_of
from eqsat.operations.host import as_numpy, extreme_scan
from eqsat.operations.movement import squeeze

Fold = Callable[..., Tensor]


def _bits(name: str, combine: str, of_truths: str) -> Fold:
    """Of integers the bits, of truth values what these are."""

    def function(
        array: Any, axis: Any = 0, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Tensor:
        source = tensor_of(name, array) if dtype is None else astype(tensor_of(name, array), dtype)
        if source.dtype == "bool":
            return _truths(name, of_truths, source, axis, keepdims, initial, where)
        if not is_integer(source.dtype):
            raise DTypeError(f"{name}: found {source.dtype}, expected integers or bool")
        return reductions.fold(name, combine, source, axis, keepdims, source.dtype, where, initial)

    return function


def _truths(name: str, combine: str, source: Tensor, axis: Any, keepdims: bool, initial: Any, where: Any) -> Tensor:
    if combine != "odd":
        return reductions.fold(name, combine, source, axis, keepdims, "bool", where, None if initial is None else bool(initial))
    count = reductions.fold(name, "sum", source, axis, keepdims, "int64", where, None if initial is None else int(bool(initial)))
    return elementwise(name, (count,), lambda one: call("equal", call("bitwise_and", one, 1), 1))


def _odd(
    array: Any, axis: Any = 0, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Tensor:
    """Whether the number of elements that are not zero is odd."""
    source = astype(tensor_of("logical_xor.reduce", array), "bool")
    return _truths("logical_xor.reduce", "odd", source, axis, keepdims, initial, where)


def _logaddexp(name: str, exp: str, unit: float) -> Fold:
    """The logarithm of the sum of powers, over the greatest exponent, whose power is one: what others add to it may be as small as it
    wants.  `unit`: of the logarithm."""

    def function(
        array: Any, axis: Any = 0, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Tensor:
        source = tensor_of(name, array)
        if is_complex(source.dtype):
            raise DTypeError(f"{name}: found {source.dtype}, expected real numbers")
        chosen = loop_dtypes("hypot", source.dtype, source.dtype)[-1] if dtype is None else dtype
        source = astype(astype(source, chosen), carrier(dtype_name(chosen, name)))
        start = float(-np.inf if initial is None else initial)
        most = reductions.max(source, axis, keepdims=True, initial=start, where=where)

        def power(one: Element, top: Scalar) -> Scalar:
            return call("where", call("equal", one, top), 0.0, call(exp, call("subtract", one, top)))

        def found(others: Scalar, equal: Scalar, top: Scalar) -> Scalar:
            again = call("subtract", call("add", equal, call("where", call("equal", start, top), 1, 0)), 1)
            more = call("log1p", call("add", call("add", others, power(start, top)), cast(again, top.dtype)))
            return call("where", call("isfinite", top), call("add", call("multiply", more, unit), top), top)

        others = reductions.sum(elementwise(name, (source, most), power), axis, keepdims=True, where=where)
        is_most = elementwise(name, (source, most), lambda one, top: call("equal", one, top))
        equal = reductions.sum(is_most, axis, keepdims=True, where=where)
        whole = astype(elementwise(name, (others, equal, most), found), chosen)
        return whole if keepdims else squeeze(whole, reductions.folded_axes(name, source, axis))

    return function


def _numbers(name: str, extreme: Fold) -> Fold:
    """NaN only where there is nothing else."""

    def function(
        array: Any, axis: Any = 0, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Tensor:
        source = tensor_of(name, array) if dtype is None else astype(tensor_of(name, array), dtype)
        if initial is None:
            reductions.check_elements(name, source, axis)
        return extreme(source, axis, keepdims=keepdims, initial=initial, where=where)

    return function


def _truths_so_far(name: str, extreme: str) -> Fold:
    """Of truth values the least or greatest so far, compiled; of others NumPy's own."""

    def function(array: Any, axis: Any = 0, dtype: Any = None) -> Tensor:
        source = tensor_of(name, array)
        if source.dtype != "bool" or dtype not in (None, bool, np.dtype(bool)):
            return as_numpy(name)(source, axis, dtype)  # type: ignore[no-any-return]
        return extreme_scan(extreme)(source, axis)

    return function


OPERATIONS: dict[str, Fold] = {
    "logical_and.accumulate": _truths_so_far("logical_and.accumulate", "cumulative_min"),
    "logical_or.accumulate": _truths_so_far("logical_or.accumulate", "cumulative_max"),
    "bitwise_and.reduce": _bits("bitwise_and.reduce", "and", "min"),
    "bitwise_or.reduce": _bits("bitwise_or.reduce", "or", "max"),
    "bitwise_xor.reduce": _bits("bitwise_xor.reduce", "xor", "odd"),
    "logical_xor.reduce": _odd,
    "logaddexp.reduce": _logaddexp("logaddexp.reduce", "exp", 1.0),
    "logaddexp2.reduce": _logaddexp("logaddexp2.reduce", "exp2", math.log2(math.e)),
    "fmax.reduce": _numbers("fmax.reduce", statistics.nanmax),
    "fmin.reduce": _numbers("fmin.reduce", statistics.nanmin),
}
