"""Reductions and matmul: a Generic with reduction iterators."""

from __future__ import annotations

from typing import Any

from eqsat.ir.dtypes import dtype_name, is_float, promote
from eqsat.ir.errors import DTypeError, ShapeError, UsageError
from eqsat.ir.index import Index
from eqsat.ir.tensor import Arg, Position, Tensor, axes, reduction
from eqsat.operations.elementwise import call, cast, elementwise
from eqsat.operations.generic import broadcast_map, broadcast_shapes, make_generic, normalize_axes, tensor_of
from eqsat.sizes import product


def fold(name: str, combine: str, source: Tensor, axis: Any, keepdims: bool, dtype: str) -> Tensor:
    """Fold of the elements, cast to `dtype`, over some axes (None: all)."""
    rank = len(source.shape)
    folded = tuple(range(rank)) if axis is None else tuple(sorted(normalize_axes(name, axis, rank)))
    shape = tuple(1 if k in folded else n for k, n in enumerate(source.shape) if keepdims or k not in folded)
    extents = tuple(source.shape[k] for k in folded)
    loops = iter(axes(shape))
    index: list[Index] = []
    for k in range(rank):
        if k not in folded:
            index.append(next(loops))
            continue
        index.append(reduction(folded.index(k), source.shape[k]))
        if keepdims:
            next(loops)
    block = cast(Arg(0, source.dtype), dtype)
    return make_generic(shape, extents, (source,), (tuple(index),), block, combine)


def sum(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Tensor:
    """Sum over axes; bool and int32 are summed in int64, as in NumPy, unless `dtype` says otherwise."""
    source = tensor_of("sum", a)
    natural = source.dtype if is_float(source.dtype) else "int64"
    chosen = natural if dtype is None else dtype_name(dtype, "sum")
    if chosen == "bool":
        raise DTypeError("sum: found dtype bool, expected a number; use max for `any` and min for `all`")
    return fold("sum", "sum", source, axis, keepdims, chosen)


def max(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    return _extreme("max", a, axis, keepdims)


def min(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    return _extreme("min", a, axis, keepdims)


def _extreme(name: str, a: Any, axis: Any, keepdims: bool) -> Tensor:
    source = tensor_of(name, a)
    folded = range(len(source.shape)) if axis is None else normalize_axes(name, axis, len(source.shape))
    if any(source.shape[k] == 0 for k in folded):
        raise UsageError(f"{name}: found the zero-size shape {source.shape}, expected elements to compare along the axes")
    return fold(name, name, source, axis, keepdims, source.dtype)


def mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Tensor:
    """Sum over axes divided by the number of elements; integers and bool give float64."""
    source = tensor_of("mean", a)
    chosen = (source.dtype if is_float(source.dtype) else "float64") if dtype is None else dtype_name(dtype, "mean")
    if not is_float(chosen):
        raise DTypeError(f"mean: found dtype {chosen}, expected float32 or float64")
    folded = range(len(source.shape)) if axis is None else normalize_axes("mean", axis, len(source.shape))
    count = product(source.shape[k] for k in folded)
    total = sum(source, axis, chosen, keepdims=keepdims)
    if isinstance(count, int):
        return elementwise("mean", (total,), lambda value: call("divide", value, float(count)))
    return elementwise("mean", (total,), lambda value: call("divide", value, cast(Position(count, "int64"), chosen)))


def matmul(x1: Any, x2: Any, /) -> Tensor:
    """NumPy's matrix product: the last axis of x1 with the last but one of x2 (the only one, if 1-D), the others broadcast."""
    a, b = tensor_of("matmul", x1), tensor_of("matmul", x2)
    if not a.shape or not b.shape:
        raise ShapeError(f"matmul: found the shapes {a.shape} and {b.shape}, expected one dimension or more; use * for 0-d arrays")
    if promote(a.dtype, b.dtype) == "bool":
        raise DTypeError("matmul: found bool operands, expected numbers; use astype first")
    inner = a.shape[-1]
    if b.shape[-2:][0] != inner:
        raise ShapeError(f"matmul: found the shapes {a.shape} and {b.shape}, expected {inner} rows in the second")
    rows, columns = a.shape[-2:-1], b.shape[-1:] if len(b.shape) > 1 else ()
    batch = broadcast_shapes("matmul", a.shape[:-2], b.shape[:-2])
    loops, k = axes((*batch, *rows, *columns)), reduction(0, inner)
    outer, row = loops[: len(batch)], loops[len(batch) : len(batch) + len(rows)]
    left = (*broadcast_map(a.shape[:-2], outer), *row, k)
    right = (*broadcast_map(b.shape[:-2], outer), k, *loops[len(batch) + len(rows) :])
    block = call("multiply", Arg(0, a.dtype), Arg(1, b.dtype))
    return make_generic((*batch, *rows, *columns), (inner,), (a, b), (left, right), block, "sum")
