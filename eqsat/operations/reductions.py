"""Reductions and matmul: a Generic with reduction iterators."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from eqsat.ir.dtypes import carrier, dtype_name, is_inexact, sum_dtype
from eqsat.ir.errors import DTypeError, ShapeError, UsageError
from eqsat.ir.index import Index
from eqsat.ir.tensor import Arg, Position, Scalar, Shape, Tensor, axes, reduction
from eqsat.operations.elementwise import call, cast, elementwise
from eqsat.operations.generic import Map, broadcast_map, broadcast_shapes, make_generic, normalize_axes, tensor_of
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
    block = carried(cast(Arg(0, source.dtype), dtype), combine)
    return settled(make_generic(shape, extents, (source,), (tuple(index),), block, combine), dtype)


def carried(element: Scalar, combine: str) -> Scalar:
    """What a fold adds up: NumPy carries sums of float16 in float32."""
    return element if combine in ("max", "min") else cast(element, carrier(element.dtype))


def settled(total: Tensor, dtype: str) -> Tensor:
    """A finished fold in the dtype of its result."""
    return total if total.dtype == dtype else elementwise("astype", (total,), lambda value: cast(value, dtype))


def sum(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Tensor:
    """Sum over axes; bool and smaller integers are summed in int64 or uint64, as in NumPy, unless `dtype` says otherwise."""
    source = tensor_of("sum", a)
    chosen = sum_dtype(source.dtype) if dtype is None else dtype_name(dtype, "sum")
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
    natural = source.dtype if is_inexact(source.dtype) else "float64"
    chosen = carrier(natural) if dtype is None else dtype_name(dtype, "mean")
    if not is_inexact(chosen):
        raise DTypeError(f"mean: found dtype {chosen}, expected a float or complex one")
    folded = range(len(source.shape)) if axis is None else normalize_axes("mean", axis, len(source.shape))
    count = product(source.shape[k] for k in folded)
    total = sum(source, axis, chosen, keepdims=keepdims)
    number: Scalar | float = float(count) if isinstance(count, int) else cast(Position(count, "int64"), chosen)
    result = natural if dtype is None else chosen
    return elementwise("mean", (total,), lambda value: cast(call("divide", value, number), result))


def matmul(x1: Any, x2: Any, /) -> Tensor:
    """NumPy's matrix product: the last axis of x1 with the last but one of x2 (the only one, if 1-D), the others broadcast."""
    a, b = tensor_of("matmul", x1), tensor_of("matmul", x2)
    if not a.shape or not b.shape:
        raise ShapeError(f"matmul: found the shapes {a.shape} and {b.shape}, expected one dimension or more; use * for 0-d arrays")
    inner = a.shape[-1]
    if b.shape[-2:][0] != inner:
        raise ShapeError(f"matmul: found the shapes {a.shape} and {b.shape}, expected {inner} rows in the second")
    rows, columns = a.shape[-2:-1], b.shape[-1:] if len(b.shape) > 1 else ()
    batch = broadcast_shapes("matmul", a.shape[:-2], b.shape[:-2])
    loops, k = axes((*batch, *rows, *columns)), reduction(0, inner)
    outer, row = loops[: len(batch)], loops[len(batch) : len(batch) + len(rows)]
    left = (*broadcast_map(a.shape[:-2], outer), *row, k)
    right = (*broadcast_map(b.shape[:-2], outer), k, *loops[len(batch) + len(rows) :])
    return multiply_add((*batch, *rows, *columns), (inner,), (a, b), (left, right))


def multiply_add(shape: Shape, folded: Shape, operands: tuple[Tensor, Tensor], maps: tuple[Map, Map]) -> Tensor:
    """The sum of products of the elements of two tensors in NumPy's dtypes; of bool, whether both hold anywhere."""
    dtype = _matmul_dtype(*(tensor.dtype for tensor in operands))
    elements = (cast(cast(Arg(k, tensor.dtype), dtype), carrier(dtype)) for k, tensor in enumerate(operands))
    total = make_generic(shape, folded, operands, maps, call("multiply", *elements), "max" if dtype == "bool" else "sum")
    return settled(total, dtype)


@functools.cache
def _matmul_dtype(*dtypes: str) -> str:
    """NumPy's: the promoted one, but float32 for bfloat16."""
    return np.matmul.resolve_dtypes((*map(np.dtype, dtypes), None))[-1].name
