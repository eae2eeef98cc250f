"""The pieces that all operations share: operands, Generic over tensors of any size, axes.

Tensors without elements are settled here: an empty result is a Constant, a fold over nothing its identity, so no Generic reads or
makes an empty tensor.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eqsat.ir.dtypes import dtype_name, integer_range, is_integer, wrapped
from eqsat.ir.errors import EqsatError, ShapeError, TraceError, UsageError
from eqsat.ir.evaluate import evaluate_tensor
from eqsat.ir.host import flat
from eqsat.ir.index import Const, Index, Var
from eqsat.ir.ops import converted, identity_of
from eqsat.ir.tensor import Arg, Build, Constant, Generic, IteratorKind, Literal, Position, Scalar, Shape, Tensor, axes, tensors
from eqsat.sizes.markers import Extent, plain, shape_text

Number = bool | int | float | complex
Operand = Tensor | Literal | Number  # a Literal is a NumPy scalar, of fixed dtype; a number adapts to the arrays beside it
Map = tuple[Index, ...]
# of the Python integers that are floats, infinite or not
LARGEST_INTEGER = int(np.finfo(np.float64).max)


def operand(name: str, value: Any) -> Operand:
    """What an operation computes with: tensors, NumPy scalars and 0-d arrays as Literal, numbers, array-likes as Constant.

    Raises DTypeError for other dtypes than eqsat's, UsageError for what is no array.
    """
    if isinstance(value, Tensor | Literal) or type(value) in (bool, int, float, complex, Extent):
        return value  # type: ignore[no-any-return]
    if not isinstance(value, np.ndarray | np.generic | list | tuple):
        raise UsageError(f"{name}: found a {type(value).__name__}, expected arrays and numbers")
    array = _array(name, value)
    dtype = dtype_name(array.dtype, name)
    return literal(array.item(), dtype) if array.ndim == 0 else Constant(array.astype(array.dtype.newbyteorder("=")))


def _array(name: str, value: Any) -> np.ndarray[Any, Any]:
    if any(isinstance(part, Tensor) for part in flat(value)):
        raise UsageError(f"{name}: found a {type(value).__name__} of traced arrays, expected one array; use stack or concatenate")
    try:
        return np.asarray(value)
    except EqsatError:
        raise UsageError(f"{name}: found a {type(value).__name__} of traced arrays, expected one array") from None
    except ValueError as error:
        raise UsageError(f"{name}: found a {type(value).__name__} that is no array: {error}") from None


# elements of what is made of constants and evaluated while a program is recorded
MOST_KNOWN = 1 << 16


def tensor_of(name: str, value: Any) -> Tensor:
    """The value as a tensor; a number gets the dtype that NumPy gives it."""
    found = operand(name, value)
    if isinstance(found, Tensor):
        return found
    if isinstance(found, Extent):
        return Build((), Position(found.polynomial.term, "int64"))
    return Constant(np.array(found.value, found.dtype) if isinstance(found, Literal) else np.array(found))


def known(tensor: Tensor) -> Tensor:
    """A tensor that is made of constants alone as a constant; any other as it is."""
    made = list(tensors(tensor))
    if isinstance(tensor, Constant) or tensor.size > MOST_KNOWN or not all(isinstance(one, Constant | Build | Generic) for one in made):
        return tensor
    return Constant(evaluate_tensor(tensor, {}))


def literal(value: Number, dtype: str, wraps: bool = False) -> Literal:
    """An element of this dtype, rounded to it; UsageError for an integer that it cannot hold, unless the value `wraps`, from int64."""
    if isinstance(value, int) and not isinstance(value, bool):
        low, high = integer_range("int64" if wraps else dtype) if is_integer(dtype) else (-LARGEST_INTEGER, LARGEST_INTEGER)
        if not low <= value <= high:
            raise UsageError(f"literal: found the Python integer {value}, which does not fit {dtype}; use a float or astype")
        value = wrapped(value, dtype) if is_integer(dtype) else float(value)
    with np.errstate(all="ignore"):
        return Literal(converted(np.array(value), dtype).item(), dtype)


def make_generic(
    shape: Shape,
    folded: Shape,
    operands: Sequence[Tensor],
    maps: Sequence[Map],
    block: Scalar,
    combine: str | None = None,
) -> Tensor:
    """Generic with parallel iterators of `shape` and reduction iterators of `folded` extents; empty ones become constants."""
    if 0 in shape:
        return Constant(np.empty(shape, block.dtype))
    if 0 in folded:
        assert combine is not None
        return Constant(np.full(shape, identity_of(combine, block.dtype)))
    iterators: list[tuple[IteratorKind, int]] = [("parallel", n) for n in shape]
    iterators += [("reduction", n) for n in folded]
    return Generic(tuple(iterators), tuple(maps), tuple(operands), block, combine if folded else None)


def view(source: Tensor, shape: Shape, index_map: Callable[[tuple[Var, ...]], Map]) -> Tensor:
    """The tensor of `shape` whose element (i0, i1, ...) is source[index_map(i0, i1, ...)]."""
    if 0 in shape:
        return Constant(np.empty(shape, source.dtype))
    return make_generic(shape, (), (source,), (index_map(axes(shape)),), Arg(0, source.dtype))


def broadcast_shapes(name: str, *shapes: Shape) -> Shape:
    """NumPy's common shape; ShapeError where there is none."""
    rank = max((len(shape) for shape in shapes), default=0)
    extents = [{shape[k - rank] for shape in shapes if len(shape) >= rank - k} - {1} for k in range(rank)]
    if any(len(found) > 1 for found in extents):
        raise ShapeError(f"{name}: found the shapes {' and '.join(shape_text(s) for s in shapes)}, which do not broadcast")
    return tuple(next(iter(found), 1) for found in extents)


def broadcast_map(shape: Shape, loops: tuple[Var, ...]) -> Map:
    """How a tensor of `shape` is read by broadcast loops: aligned to the right, 0 where a dimension of one is stretched."""
    aligned = loops[len(loops) - len(shape) :]
    return tuple(loop if loop.extent == extent else Const(0) for extent, loop in zip(shape, aligned, strict=True))


def integer(name: str, what: str, value: Any) -> int:
    """A Python integer; UsageError names what it should have been, TraceError where an array would have to tell."""
    if isinstance(value, Tensor):
        raise TraceError(
            f"{name}: found an array as {what}, expected an integer that is known when the program is recorded; use enp.where to "
            "choose between values, int() of a lazy tensor"
        )
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        return plain(value) if isinstance(value, int) else operator.index(value)
    except TraceError:
        raise
    except (TypeError, EqsatError):
        raise UsageError(f"{name}: found {what} {value!r}, expected an integer") from None


def integers(name: str, what: str, value: Any) -> tuple[int, ...]:
    """One integer or a sequence of them as a tuple."""
    if isinstance(value, tuple | list):
        return tuple(integer(name, what, item) for item in value)
    return (integer(name, what, value),)


def one_axis(name: str, axis: Any, rank: int) -> int:
    """One axis of a tensor of this rank, counted from the front; UsageError for what is no integer, ShapeError where there is none."""
    return normalize_axes(name, integer(name, "axis", axis), rank)[0]


def is_its_own_row(rank: int, axis: Any) -> bool:
    """Whether an axis is that of the row of one element for which some of NumPy's functions take a 0-d array."""
    return not rank and not isinstance(axis, Tensor) and axis in (0, -1)


def normalize_axes(name: str, axis: Any, rank: int) -> tuple[int, ...]:
    """Axes of a tensor of this rank, counted from the front; ShapeError where one is missing or repeated."""
    found = integers(name, "axis", axis)
    for k in found:
        if not -rank <= k < rank:
            raise ShapeError(f"{name}: found axis {k}, expected {f'one in {-rank}..{rank - 1}' if rank else 'none for a 0-d array'}")
    normal = tuple(k % rank for k in found)
    if len(set(normal)) != len(normal):
        raise ShapeError(f"{name}: found the axes {found}, expected different ones")
    return normal
