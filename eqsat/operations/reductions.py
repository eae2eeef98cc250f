"""Reductions: a Generic with reduction iterators.

As in NumPy, `where` leaves elements out and `initial` takes part in the fold; they broadcast to the array and to the result.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from eqsat.ir.dtypes import carrier, dtype_name, is_integer, sum_dtype
from eqsat.ir.errors import DTypeError, ShapeError, UsageError
from eqsat.ir.index import Const, Index
from eqsat.ir.ops import REDUCE_OPS, identity_of
from eqsat.ir.tensor import Arg, Call, Position, Scalar, Shape, Tensor, axes, reduction
from eqsat.operations.elementwise import call, cast, elementwise, truth
from eqsat.operations.generic import Map, literal, make_generic, normalize_axes, tensor_of
from eqsat.sizes.markers import shape_text


def fold(name: str, combine: str, source: Tensor, axis: Any, keepdims: bool, dtype: str, where: Any = True, initial: Any = None) -> Tensor:
    """Fold of the elements, cast to `dtype`, over some axes (None: all)."""
    folded = folded_axes(name, source, axis)
    shape = tuple(1 if k in folded else n for k, n in enumerate(source.shape) if keepdims or k not in folded)
    loops = iter(axes(shape))
    index: list[Index] = []
    for k, extent in enumerate(source.shape):
        if k not in folded:
            index.append(next(loops))
            continue
        index.append(reduction(folded.index(k), extent))
        if keepdims:
            next(loops)
    operands, maps, block = [source], [tuple(index)], carried(cast(Arg(0, source.dtype), dtype), combine)
    inside = block.dtype
    if where is not True:
        mask = _mask(name, where, source.shape)
        operands.append(mask)
        maps.append(_aligned(mask.shape, index))
        block = call("where", truth(Arg(1, mask.dtype)), block, literal(identity_of(combine, inside).item(), inside))
    found = make_generic(shape, tuple(source.shape[k] for k in folded), operands, maps, block, combine)
    if initial is not None:
        if is_integer(dtype) and isinstance(initial, float | np.floating) and not np.isfinite(initial):
            raise UsageError(f"{name}: found the initial value {initial} for {dtype}, expected one that it holds")
        step = REDUCE_OPS[combine].step
        found = elementwise(name, (initial, found), lambda first, rest: call(step, cast(cast(first, dtype), inside), rest))
    return settled(found, dtype)


def carried(element: Scalar, combine: str) -> Scalar:
    """What a fold adds up: NumPy carries sums and products of float16 in float32."""
    return element if combine in ("max", "min") else cast(element, carrier(element.dtype))


def settled(total: Tensor, dtype: str) -> Tensor:
    """A finished fold in the dtype of its result."""
    return total if total.dtype == dtype else elementwise("astype", (total,), lambda value: cast(value, dtype))


def sum_of_products(shape: Shape, folded: Shape, operands: Sequence[Tensor], maps: Sequence[Map], where: Index | None = None) -> Tensor:
    """The sum of products of the elements of tensors in NumPy's dtypes; of bool, whether all hold anywhere.  `where`: a condition on the
    loops without which a product does not count, whatever its elements are."""
    dtype = functools.reduce(_product_dtype, (tensor.dtype for tensor in operands))
    held = carrier(dtype)
    first, *others = (cast(cast(Arg(k, tensor.dtype), dtype), held) for k, tensor in enumerate(operands))
    block = functools.reduce(lambda product, element: call("multiply", product, element), others, first)
    if where is not None:
        block = Call("where", (Position(where, "bool"), block, literal(0, held)), held)
    combine = ("max" if dtype == "bool" else "sum") if folded else None
    return settled(make_generic(shape, folded, operands, maps, block, combine), dtype)


@functools.cache
def _product_dtype(first: str, second: str) -> str:
    """NumPy's: the promoted one, but float32 for bfloat16."""
    return np.matmul.resolve_dtypes((np.dtype(first), np.dtype(second), None))[-1].name


# of an array of no dimensions these take the axes 0 and -1, as NumPy's do
OF_UFUNCS = frozenset(("sum", "prod", "max", "min", "any", "all", "nansum", "nanprod", "nanmax", "nanmin", "count_nonzero", "ptp"))


def folded_axes(name: str, source: Tensor, axis: Any) -> tuple[int, ...]:
    """The axes that a reduction folds, counted from the front; None is all of them."""
    rank = len(source.shape)
    if axis is None or (not rank and (name in OF_UFUNCS or name.endswith(".reduce")) and type(axis) is int and axis in (0, -1)):
        return tuple(range(rank))
    return tuple(sorted(normalize_axes(name, axis, rank)))


def _mask(name: str, where: Any, shape: Shape) -> Tensor:
    mask = tensor_of(name, where)
    trailing = shape[len(shape) - len(mask.shape) :]
    if mask.dtype != "bool":
        raise DTypeError(f"{name}: found where= of {mask.dtype}, expected bool; compare first (x != 0)")
    if len(mask.shape) > len(shape) or builtins.any(m not in (1, n) for m, n in zip(mask.shape, trailing, strict=True)):
        raise ShapeError(f"{name}: found where= of the shape {mask.shape}, expected one that broadcasts to {shape_text(shape)}")
    return mask


def _aligned(shape: Shape, index: list[Index]) -> tuple[Index, ...]:
    """The index into an array of this shape, which broadcasts, where the whole has another."""
    aligned = index[len(index) - len(shape) :]
    return tuple(Const(0) if extent == 1 else term for extent, term in zip(shape, aligned, strict=True))


def sum(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Tensor:
    """Sum over axes; bool and smaller integers are summed in int64 or uint64, as in NumPy, unless `dtype` says otherwise."""
    return _accumulated("sum", a, axis, dtype, keepdims, initial, where)


def prod(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Tensor:
    """Product over axes; bool and smaller integers are multiplied in int64 or uint64, as in NumPy, unless `dtype` says otherwise."""
    return _accumulated("prod", a, axis, dtype, keepdims, initial, where)


def _accumulated(name: str, a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Tensor:
    source = tensor_of(name, a)
    chosen = sum_dtype(source.dtype) if dtype is None else dtype_name(dtype, name)
    if chosen == "bool":
        raise DTypeError(f"{name}: found dtype bool, expected a number; use max for `any` and min for `all`")
    return fold(name, name, source, axis, keepdims, chosen, where, initial)


def max(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Tensor:
    return _extreme("max", a, axis, keepdims, initial, where)


def min(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Tensor:
    return _extreme("min", a, axis, keepdims, initial, where)


def _extreme(name: str, a: Any, axis: Any, keepdims: bool, initial: Any = None, where: Any = True) -> Tensor:
    source = tensor_of(name, a)
    if initial is None:
        check_elements(name, source, axis)
        if where is not True:
            raise UsageError(f"{name}: found where= without initial=, expected the result where it leaves nothing")
    return fold(name, name, source, axis, keepdims, source.dtype, where, initial)


def check_elements(name: str, source: Tensor, axis: Any) -> None:
    """Raises UsageError where one of the axes has no elements, of which no extremum can be taken."""
    if builtins.any(source.shape[k] == 0 for k in folded_axes(name, source, axis)):
        raise UsageError(f"{name}: found the zero-size shape {source.shape}, expected elements to compare along the axes")


def any(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = True) -> Tensor:
    """Whether some element is not zero."""
    return fold("any", "max", _truths("any", a), axis, keepdims, "bool", where)


def all(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = True) -> Tensor:
    """Whether no element is zero."""
    return fold("all", "min", _truths("all", a), axis, keepdims, "bool", where)


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """How many elements are not zero."""
    return fold("count_nonzero", "sum", _truths("count_nonzero", a), axis, keepdims, "int64")


def _truths(name: str, a: Any) -> Tensor:
    source = tensor_of(name, a)
    return source if source.dtype == "bool" else elementwise(name, (source,), truth)
