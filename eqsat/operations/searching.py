"""Where the extreme elements of an array are.

As in NumPy, the first of several, and the first NaN before all numbers.
"""

from __future__ import annotations

from typing import Any

from eqsat.ir.dtypes import is_inexact
from eqsat.ir.index import Const, Index
from eqsat.ir.tensor import Arg, Literal, Position, Scalar, Shape, Tensor, axes, reduction
from eqsat.operations.elementwise import call, elementwise
from eqsat.operations.generic import literal, make_generic, one_axis, tensor_of
from eqsat.operations.movement import ravel, reshape
from eqsat.operations.reductions import check_elements, fold


def argmax(a: Any, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Tensor:
    """The first place of the greatest element, or of the first NaN."""
    return _place("argmax", "max", a, axis, keepdims)


def argmin(a: Any, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Tensor:
    """The first place of the least element, or of the first NaN."""
    return _place("argmin", "min", a, axis, keepdims)


def _place(name: str, combine: str, a: Any, axis: Any, keepdims: bool) -> Tensor:
    """The least place where an element is the extremum; where that is NaN, so is the element that is looked for."""
    source = tensor_of(name, a)
    if axis is None:
        return reshape(_place(name, combine, ravel(source), 0, False), (1,) * len(source.shape) if keepdims else ())
    if not source.shape:
        return _place(name, combine, ravel(source), axis, False)
    k = one_axis(name, axis, len(source.shape))
    check_elements(name, source, k)
    shape = tuple(1 if d == k else n for d, n in enumerate(source.shape) if keepdims or d != k)
    if source.dtype == "bool":
        return _first_truth(name, source if combine == "max" else elementwise(name, (source,), _negated), k, shape)
    best = reshape(fold(name, combine, source, k, False, source.dtype), shape)
    element, extremum = Arg(0, source.dtype), Arg(1, source.dtype)
    found = call("equal", element, extremum)
    if is_inexact(source.dtype):
        found = call("logical_or", found, call("not_equal", element, element))
    return _first_place(source, k, shape, found, source.shape[k] - 1, best)


def _first_place(source: Tensor, k: int, shape: Shape, found: Scalar, last: int, *others: Tensor) -> Tensor:
    """The first place along an axis of an element that is found, else `last`; `others` have the shape of the result."""
    loops, place = iter(axes(shape)), reduction(0, source.shape[k])
    keepdims = len(shape) == len(source.shape)
    outer: list[Index] = [next(loops) if keepdims or d != k else Const(0) for d in range(len(source.shape))]
    block = call("where", found, Position(place, "int64"), Literal(last, "int64"))
    read = tuple(place if d == k else index for d, index in enumerate(outer))
    return make_generic(shape, (source.shape[k],), (source, *others), (read, *(axes(shape) for _ in others)), block, "min")


def _first_truth(name: str, source: Tensor, k: int, shape: Shape) -> Tensor:
    """The first place of True along an axis, 0 where there is none: no extremum is needed for that."""
    extent = source.shape[k]
    first = _first_place(source, k, shape, Arg(0, "bool"), extent)

    def block(place: Scalar) -> Scalar:
        within = call("minimum", place, literal(extent - 1, "int64"))  # who reads at such a place sees that there is one
        return call("where", call("equal", place, extent), literal(0, "int64"), within)

    return elementwise(name, (first,), block)


def _negated(element: Scalar) -> Scalar:
    return call("logical_not", element)
