"""Statistics: reductions of reductions.  Means of integers and bool are float64, as NumPy's are."""

from __future__ import annotations

from typing import Any

import numpy as np

from eqsat.ir.dtypes import carrier, dtype_name, is_complex, is_inexact, part_of, promote
from eqsat.ir.errors import DTypeError, ShapeError, UsageError
from eqsat.ir.tensor import Scalar, Tensor
from eqsat.operations.elementwise import Element, astype, call, cast, elementwise, scalar_operation, where as choose
from eqsat.operations.generic import normalize_axes, tensor_of
from eqsat.operations.host import cumprod, cumsum
from eqsat.operations.movement import broadcast_to, reshape, transpose
from eqsat.operations.powers import square
from eqsat.operations.reductions import all as every, count_nonzero, fold, folded_axes, max, min, prod, settled, sum
from eqsat.operations.searching import argmax, argmin
from eqsat.sizes.markers import Extent, product

_subtract, _divide, _multiply = (scalar_operation(op) for op in ("subtract", "divide", "multiply"))
_not_equal = scalar_operation("not_equal")


def mean(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, *, where: Any = True) -> Tensor:
    """Sum over axes divided by the number of elements."""
    source = tensor_of("mean", a)
    chosen = _mean_dtype("mean", source, dtype)
    inside = carrier(chosen) if dtype is None else chosen
    total = sum(source, axis, inside, keepdims=keepdims, where=where)
    return settled(over_count("mean", total, source, axis, keepdims, where), chosen)


def _mean_dtype(name: str, source: Tensor, dtype: Any) -> str:
    chosen = (source.dtype if is_inexact(source.dtype) else "float64") if dtype is None else dtype_name(dtype, name)
    if not is_inexact(chosen):
        raise DTypeError(f"{name}: found dtype {chosen}, expected a float or complex one")
    return chosen


def over_count(name: str, total: Tensor, source: Tensor, axis: Any, keepdims: bool, where: Any, ddof: Any = 0) -> Tensor:
    """Sums divided by how many elements went into each, less `ddof`, and no less than zero."""
    if where is not True:
        mask = broadcast_to(where, source.shape)
        counts = fold(name, "sum", mask, axis, keepdims, "int64")
        return elementwise(name, (total, counts, ddof), lambda value, count, less: _divided(value, count, less))
    count = product(source.shape[k] for k in folded_axes(name, source, axis))
    return elementwise(name, (total, ddof), lambda value, less: _divided(value, count, less))


def _divided(value: Scalar, count: Element, less: Element) -> Scalar:
    """A quotient of half floats is one of float32: counts above 65,504 are none."""
    total = cast(value, carrier(value.dtype))
    if not isinstance(count, Scalar | Extent) and not isinstance(less, Scalar):
        found = call("divide", total, float(np.maximum(count - less, 0)))
    else:
        rest = count if not isinstance(less, Scalar) and less == 0 else call("maximum", call("subtract", count, less), 0)
        found = call("divide", total, cast(rest, total.dtype))
    return cast(found, value.dtype)


def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Tensor:
    """The mean of squared distances from the mean, over the number of elements less `ddof` (or `correction`)."""
    return _variance("var", a, axis, dtype, _less("var", ddof, correction), keepdims, where, mean)


def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Tensor:
    """The square root of `var`."""
    found = _variance("std", a, axis, dtype, _less("std", ddof, correction), keepdims, where, mean)
    return elementwise("std", (found,), lambda value: call("sqrt", value))


def _less(name: str, ddof: Any, correction: Any) -> Any:
    """What is taken from the number of elements."""
    if correction is None:
        return ddof
    if not isinstance(ddof, int) or ddof != 0:
        raise UsageError(f"{name}: found ddof= and correction=, expected one of them")
    return correction


def _variance(name: str, a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: bool, where: Any, center: Any) -> Tensor:
    source = tensor_of(name, a)
    chosen = _mean_dtype(name, source, dtype)
    if center is None:
        total = sum(source, axis, chosen, keepdims=True, where=where)
        center = over_count(name, total, source, axis, True, where)
    distances = elementwise(name, (source, center), lambda x, y: call("subtract", cast(x, chosen), y))
    total = sum(_squares(distances), axis, part_of(chosen), keepdims=keepdims, where=where)
    return over_count(name, total, source, axis, keepdims, where, ddof)


def _squares(distances: Tensor) -> Tensor:
    """Squares of numbers, of complex ones those of their distances from zero."""
    if not is_complex(distances.dtype):
        return square(distances)
    return elementwise(
        "square", (distances,), lambda x: call("add", *(call("multiply", part, part) for part in (call("real", x), call("imag", x))))
    )


def ptp(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Tensor:
    """The greatest element less the least."""
    return _subtract(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """The mean of elements times weights, of the shape of the array, or one for each place of the axes; a sum of weights of zero is no
    error: it gives NaN or infinities."""
    source = tensor_of("average", a)
    if weights is None:
        found = mean(source, axis, keepdims=keepdims)
        count = product(source.shape[k] for k in folded_axes("average", source, axis))
        total = elementwise("average", (found,), lambda value: cast(count, value.dtype))
        return (found, total) if returned else found
    given = tensor_of("average", weights)
    dtype = promote(source.dtype, given.dtype, *([] if is_inexact(source.dtype) else ["float64"]))
    given = _weights(source, given, axis)
    scale = sum(given, axis, dtype, keepdims=keepdims)
    weighted = sum(_multiply(astype(source, dtype), given), axis, dtype, keepdims=keepdims)
    found = _divide(weighted, scale)
    return (found, broadcast_to(scale, found.shape)) if returned else found


def _weights(source: Tensor, weights: Tensor, axis: Any) -> Tensor:
    """Weights that broadcast to the array."""
    if weights.shape == source.shape:
        return weights
    if axis is None:
        raise ShapeError(f"average: found weights of the shape {weights.shape} without an axis, expected {source.shape}")
    taken = normalize_axes("average", axis, len(source.shape))
    if weights.shape != tuple(source.shape[k] for k in taken):
        raise ShapeError(f"average: found weights of the shape {weights.shape}, expected {tuple(source.shape[k] for k in taken)}")
    ordered = transpose(weights, tuple(sorted(range(len(taken)), key=taken.__getitem__)))
    return reshape(ordered, tuple(n if k in taken else 1 for k, n in enumerate(source.shape)))


def _is_nan(source: Tensor) -> Tensor:
    return _not_equal(source, source)


def nansum(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Tensor:
    """The sum of the elements that are numbers."""
    return sum(_without_nan("nansum", a, 0), axis, dtype, keepdims=keepdims, initial=initial, where=where)


def nanprod(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Tensor:
    """The product of the elements that are numbers."""
    return prod(_without_nan("nanprod", a, 1), axis, dtype, keepdims=keepdims, initial=initial, where=where)


def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Tensor:
    """Running sums of the elements that are numbers."""
    return cumsum(_without_nan("nancumsum", a, 0), axis, dtype)


def nancumprod(a: Any, axis: Any = None, dtype: Any = None) -> Tensor:
    """Running products of the elements that are numbers."""
    return cumprod(_without_nan("nancumprod", a, 1), axis, dtype)


def nanmax(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Tensor:
    """The greatest of the elements that are numbers; NaN where there is none."""
    return _nan_extreme("nanmax", max, -np.inf, a, axis, keepdims, initial, where)


def nanmin(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Tensor:
    """The least of the elements that are numbers; NaN where there is none."""
    return _nan_extreme("nanmin", min, np.inf, a, axis, keepdims, initial, where)


def _without_nan(name: str, a: Any, value: float) -> Tensor:
    source = tensor_of(name, a)
    return choose(_is_nan(source), value, source) if is_inexact(source.dtype) else source


def _nan_extreme(name: str, extreme: Any, least: float, a: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> Tensor:
    source = tensor_of(name, a)
    none = is_inexact(source.dtype) and isinstance(initial, float | np.floating) and bool(np.isnan(initial))
    start = least if none else initial
    found: Tensor = extreme(_without_nan(name, source, least), axis, keepdims=keepdims, initial=start, where=where)
    if not is_inexact(source.dtype) or (initial is not None and not none):
        return found
    return choose(every(_is_nan(source), axis, keepdims=keepdims, where=where), np.nan, found)


def nanargmax(a: Any, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Tensor:
    """The first place of the greatest of the elements that are numbers; -1 where there is none, for which NumPy raises an error."""
    return _nan_place("nanargmax", argmax, -np.inf, a, axis, keepdims)


def nanargmin(a: Any, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Tensor:
    """The first place of the least of the elements that are numbers; -1 where there is none, for which NumPy raises an error."""
    return _nan_place("nanargmin", argmin, np.inf, a, axis, keepdims)


def _nan_place(name: str, place: Any, least: float, a: Any, axis: Any, keepdims: bool) -> Tensor:
    source = tensor_of(name, a)
    found: Tensor = place(_without_nan(name, source, least), axis, keepdims=keepdims)
    return choose(every(_is_nan(source), axis, keepdims=keepdims), -1, found) if is_inexact(source.dtype) else found


def nanmean(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, *, where: Any = True) -> Tensor:
    """The mean of the elements that are numbers."""
    source = tensor_of("nanmean", a)
    return mean(source, axis, dtype, keepdims=keepdims, where=_numbers(source, where))


def _numbers(source: Tensor, where: Any) -> Any:
    """Where elements are numbers, among those that count."""
    if not is_inexact(source.dtype):
        return where
    numbers = elementwise("isnan", (source,), lambda x: call("equal", x, x))
    return numbers if where is True else elementwise("isnan", (numbers, where), lambda x, y: call("logical_and", x, y))


def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Tensor:
    """The variance of the elements that are numbers; NaN where there are no more than `ddof` (or `correction`)."""
    return _nan_variance("nanvar", a, axis, dtype, _less("nanvar", ddof, correction), keepdims, where, mean)


def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Tensor:
    """The square root of `nanvar`."""
    found = _nan_variance("nanstd", a, axis, dtype, _less("nanstd", ddof, correction), keepdims, where, mean)
    return elementwise("nanstd", (found,), lambda value: call("sqrt", value))


def _nan_variance(name: str, a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: bool, where: Any, center: Any) -> Tensor:
    source = tensor_of(name, a)
    numbers = _numbers(source, where)
    found = _variance(name, source, axis, dtype, ddof, keepdims, numbers, center)
    if numbers is True:
        return found
    counts = count_nonzero(broadcast_to(numbers, source.shape), axis, keepdims=keepdims)
    enough = elementwise(name, (counts, ddof), lambda count, less: call("greater", count, less))
    return choose(enough, found, np.nan)
