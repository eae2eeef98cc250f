"""Functions that are a few others: covariances, integrals, places of one kind from those of another, questions."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from eqsat.ir.dtypes import dtype_name, is_complex, is_inexact, is_integer, promote, promoted
from eqsat.ir.errors import BoundsError, DTypeError, ShapeError, UnsupportedError, UsageError
from eqsat.ir.tensor import Constant, Literal, Tensor
from eqsat.ir.value_bounds import tensor_bounds
from eqsat.operations.assembling import along
from eqsat.operations.differences import diff
from eqsat.operations.elementwise import astype, call, cast, elementwise, full_like, real, scalar_operation, where
from eqsat.operations.generic import integer, integers, one_axis, operand, tensor_of
from eqsat.operations.host import as_numpy
from eqsat.operations.joining import concatenate, stack
from eqsat.operations.movement import expand_dims, moveaxis, ravel, reshape, transpose
from eqsat.operations.products import diagonal, matmul
from eqsat.operations.reductions import all as every, any as some, sum
from eqsat.operations.statistics import mean, over_count
from eqsat.operations.taking import take

_add, _subtract, _multiply, _divide = (scalar_operation(op) for op in ("add", "subtract", "multiply", "divide"))
_equal, _sqrt, _not, _conjugate = (scalar_operation(op) for op in ("equal", "sqrt", "logical_not", "conjugate"))


def linspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, *, dtype: Any = None, axis: Any = 0) -> Tensor:
    """Numbers from one to another, spaced evenly, along an axis of their own; the last one is `stop` if `endpoint`."""
    count = integer("linspace", "num", num)
    if count < 0:
        raise UsageError(f"linspace: found num={count}, expected 0 or more")
    ends = operand("linspace", start), operand("linspace", stop)
    floats = promoted(*(np.dtype(end.dtype) if isinstance(end, Tensor | Literal) else end for end in ends), 1.0)
    first, last = (_in_floats(end, floats) for end in ends)
    delta = _subtract(last, first)
    place = Constant(np.arange(count).astype(delta.dtype).reshape((count,) + (1,) * len(delta.shape)))
    steps = count - 1 if endpoint else count
    found = _add(_multiply(place, _divide(delta, steps) if steps > 0 else delta), first)
    if endpoint and count > 1:
        found = where(_equal(place, count - 1), last, found)
    found = moveaxis(found, 0, axis)
    name = delta.dtype if dtype is None else dtype_name(dtype, "linspace")
    return astype(scalar_operation("floor")(found) if is_integer(name) else found, name)


def _in_floats(end: Any, floats: str) -> Any:
    """A number that arithmetic with others is arithmetic of floats with: an integer in this dtype."""
    if isinstance(end, Tensor):
        return end if is_inexact(end.dtype) else astype(end, floats)
    return end if isinstance(end, Literal) else end * 1.0


def vander(x: Any, N: Any = None, increasing: bool = False) -> Tensor:
    """The powers of numbers, a column for each, the highest first unless `increasing`."""
    source = tensor_of("vander", x)
    if len(source.shape) != 1:
        raise ShapeError(f"vander: found the shape {source.shape}, expected one dimension")
    count = source.size if N is None else integer("vander", "N", N)
    if count < 0:
        raise UsageError(f"vander: found N={count}, expected 0 or more")
    base = astype(source, promote(source.dtype, "int64"))
    if not count:
        return Constant(np.empty((source.size, 0), base.dtype))
    powers = list(itertools.accumulate([base] * (count - 1), _multiply, initial=full_like(base, 1)))
    return stack(powers if increasing else powers[::-1], 1)


def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, *, dtype: Any = None) -> Tensor:
    """The covariances of variables, the rows (columns, if not `rowvar`) of one or two arrays, over their observations."""
    parts = [_observations("cov", part, rowvar) for part in (m, y) if part is not None]
    if not parts[0].shape[0]:
        return Constant(np.empty((0, 0)))  # as NumPy, whatever the dtype
    whole = concatenate(parts, 0) if len(parts) > 1 else parts[0]
    values = astype(whole, promote(whole.dtype, "float64") if dtype is None else dtype)
    less = integer("cov", "ddof", ddof) if ddof is not None else int(not bias)
    distances = _subtract(values, mean(values, 1, keepdims=True))
    other = transpose(_conjugate(distances) if is_complex(values.dtype) else distances)
    found = over_count("cov", matmul(distances, other), whole, 1, False, True, less)
    return reshape(found, ()) if found.shape == (1, 1) else found


def _observations(name: str, part: Any, rowvar: bool) -> Tensor:
    source = tensor_of(name, part)
    if len(source.shape) > 2:
        raise ShapeError(f"{name}: found the shape {source.shape}, expected two dimensions at most")
    if len(source.shape) < 2:
        return reshape(source, (1, source.size))
    return source if rowvar or source.shape[0] == 1 else transpose(source)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Tensor:
    """The covariances divided by both deviations; the real and the imaginary part stay within -1 and 1."""
    found = cov(x, y, rowvar, dtype=dtype)
    if not found.shape:
        return _divide(found, found)
    deviations = _sqrt(real(diagonal(found)))
    scaled = _divide(_divide(found, expand_dims(deviations, 1)), expand_dims(deviations, 0))
    if is_complex(scaled.dtype):
        raise UnsupportedError(f"corrcoef: found {scaled.dtype}, supported are real numbers; use cov")
    return elementwise("clip", (scaled,), lambda value: call("minimum", call("maximum", value, -1.0), 1.0))


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Tensor:
    """The integral along an axis by the trapezoidal rule, over places `x`, or places that are `dx` apart."""
    source = tensor_of("trapezoid", y)
    k = one_axis("trapezoid", axis, len(source.shape))
    if x is None:
        steps = dx
    else:
        places = tensor_of("trapezoid", x)
        steps = diff(places) if len(places.shape) == 1 else diff(places, axis=k)
        if len(places.shape) == 1:
            steps = reshape(steps, tuple(steps.shape[0] if d == k else 1 for d in range(len(source.shape))))
    heights = _add(along(source, k, slice(1, None)), along(source, k, slice(None, -1)))
    return sum(_divide(_multiply(steps, heights), 2.0), k)


def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None) -> Tensor:
    """Whether each element is among others: every one is compared with all of them."""
    source, others = tensor_of("isin", element), ravel(tensor_of("isin", test_elements))
    found = some(_equal(expand_dims(source, len(source.shape)), others), -1)
    return _not(found) if invert else found


def resize(a: Any, new_shape: Any) -> Tensor:
    """The elements again and again in another shape."""
    source, shape = ravel(tensor_of("resize", a)), integers("resize", "extent", new_shape)
    size = int(np.prod(shape, dtype=np.int64))
    if min(shape, default=0) < 0 or (size and not source.size):
        raise UsageError(f"resize: found the shape {shape} for {source.size} elements, expected extents of 0 or more, and elements")
    found = take(source, np.arange(size) % source.size, 0) if size > source.size else along(source, 0, slice(0, size))
    return reshape(found, shape)


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Tensor, ...]:
    """The index in each dimension of places in the flattened array, int64; they must be known to be in range, as those of argmax are."""
    places, extents = _whole("unravel_index", indices), integers("unravel_index", "extent", shape)
    size = int(np.prod(extents, dtype=np.int64))
    _within("unravel_index", places, size, "indices % size")
    found: list[Tensor] = []
    for k, extent in enumerate(extents):
        below = int(np.prod(extents[k + 1 :], dtype=np.int64))
        found.append(elementwise("unravel_index", (places,), functools.partial(_digit, below, extent)))
    return tuple(found)


def _digit(below: int, extent: int, place: Any) -> Any:
    return call("remainder", call("floor_divide", cast(place, "int64"), max(below, 1)), max(extent, 1))


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Tensor:
    """Places in the flattened array, int64; "raise" only where the indices are known to be in range."""
    extents = integers("ravel_multi_index", "extent", dims)
    parts = [_whole("ravel_multi_index", part) for part in multi_index]
    modes = (mode,) * len(extents) if isinstance(mode, str) else tuple(mode)
    if len(parts) != len(extents) or len(modes) != len(extents):
        raise UsageError(f"ravel_multi_index: found {len(parts)} indices and {len(modes)} modes, expected {len(extents)}")
    for part, extent, how in zip(parts, extents, modes, strict=True):
        if how not in ("raise", "wrap", "clip"):
            raise UsageError(f"ravel_multi_index: found the mode {how!r}, expected 'raise', 'wrap' or 'clip'")
        if how == "raise":
            _within("ravel_multi_index", part, extent, "mode='wrap' or 'clip'")

    def block(*places: Any) -> Any:
        found = cast(0, "int64")
        for place, extent, how in zip(places, extents, modes, strict=True):
            index = cast(place, "int64")
            if how == "wrap":
                index = call("remainder", index, extent)
            elif how == "clip":
                index = call("minimum", call("maximum", index, 0), extent - 1)
            found = call("add", call("multiply", found, extent), index)
        return found

    return elementwise("ravel_multi_index", parts, block)


def _whole(name: str, indices: Any) -> Tensor:
    found = tensor_of(name, indices)
    if np.dtype(found.dtype).kind not in "iu":
        raise DTypeError(f"{name}: found indices of {found.dtype}, expected integers")
    return found


def _within(name: str, places: Tensor, extent: int, instead: str) -> None:
    low, high = tensor_bounds(places)
    if places.size and (low < 0 or high >= extent):
        if isinstance(places, Constant):
            raise BoundsError(f"{name}: found the index {high if high >= extent else low}, expected 0..{extent - 1}")
        raise UnsupportedError(f"{name}: found indices that may be out of 0..{extent - 1}; use {instead}")


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Tensor:
    """Whether two arrays have one shape and the same elements, as a 0-d array."""
    first, second = tensor_of("array_equal", a1), tensor_of("array_equal", a2)
    if first.shape != second.shape:
        return Constant(np.array(False))
    if not equal_nan or not is_inexact(first.dtype) or not is_inexact(second.dtype):
        return every(_equal(first, second))

    def block(a: Any, b: Any) -> Any:
        return call("logical_or", call("equal", a, b), call("logical_and", call("not_equal", a, a), call("not_equal", b, b)))

    return every(elementwise("array_equal", (first, second), block))


def array_equiv(a1: Any, a2: Any) -> Tensor:
    """Whether two arrays have the same elements when one is repeated to the shape of both, as a 0-d array."""
    first, second = tensor_of("array_equiv", a1), tensor_of("array_equiv", a2)
    try:
        np.broadcast_shapes(first.shape, second.shape)
    except ValueError:
        return Constant(np.array(False))
    return every(_equal(first, second))


def places_of(name: str) -> Callable[..., tuple[np.ndarray[Any, Any], ...]]:
    """NumPy's places of a diagonal or a triangle of an array, which its shape decides."""
    square = name == "diag_indices"

    def function(arr: Any, k: int = 0) -> tuple[np.ndarray[Any, Any], ...]:
        shape = tensor_of(f"{name}_from", arr).shape
        if (square and (len(shape) < 2 or len(set(shape)) > 1)) or (not square and len(shape) != 2):
            raise ShapeError(f"{name}_from: found the shape {shape}, expected {'equal' if square else 'two'} dimensions")
        found: Any = np.diag_indices(shape[0], len(shape)) if square else getattr(np, name)(shape[0], k, shape[1])
        return tuple(found)

    return function


def tensorinv(a: Any, ind: Any = 2) -> Tensor:
    """The inverse of an array as a matrix with its first `ind` dimensions as rows: its dimensions are those behind, then those before."""
    source, count = tensor_of("linalg.tensorinv", a), integer("linalg.tensorinv", "ind", ind)
    if count < 1:
        raise UsageError(f"linalg.tensorinv: found ind={count}, expected 1 or more")
    rows, columns = source.shape[:count], source.shape[count:]
    if prod(rows) != prod(columns):
        raise ShapeError(f"linalg.tensorinv: found the shape {source.shape}, expected as many elements before dimension {count} as behind")
    return reshape(as_numpy("linalg.inv")(reshape(source, (prod(rows), prod(columns)))), (*columns, *rows))


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Tensor:
    """What `a`, as a matrix with a row for every element of `b`, makes `b` of; `axes` of `a` are moved to its end first."""
    source, right = tensor_of("linalg.tensorsolve", a), tensor_of("linalg.tensorsolve", b)
    if axes is not None:
        moved = [one_axis("linalg.tensorsolve", axis, len(source.shape)) for axis in integers("linalg.tensorsolve", "axes", axes)]
        source = transpose(source, [*(k for k in range(len(source.shape)) if k not in moved), *moved])
    rest = source.shape[len(right.shape) :]
    if prod(rest) != right.size or prod(source.shape) != right.size * prod(rest):
        raise ShapeError(f"linalg.tensorsolve: found the shapes {source.shape} and {right.shape}, expected as many unknowns as equations")
    return reshape(as_numpy("linalg.solve")(reshape(source, (right.size, prod(rest))), ravel(right)), rest)


def multi_dot(arrays: Sequence[Any], *, out: None = None) -> Tensor:
    """The product of several matrices, of which the first and the last may be vectors; algebra chooses the order."""
    if isinstance(arrays, Tensor):
        raise UsageError("linalg.multi_dot: found one array, expected a list of two or more")
    parts = [tensor_of("linalg.multi_dot", array) for array in arrays]
    if len(parts) < 2:
        raise UsageError(f"linalg.multi_dot: found {len(parts)} arrays, expected two or more")
    ranks = [len(part.shape) for part in parts]
    if any(rank != 2 for rank in ranks[1:-1]) or not {ranks[0], ranks[-1]} <= {1, 2}:
        raise ShapeError(f"linalg.multi_dot: found arrays of {ranks} dimensions, expected two, one or two at the ends")
    return functools.reduce(matmul, parts)


def _dtype(value: Any) -> Any:
    return np.dtype(value.dtype) if isinstance(value, Tensor) else value


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype that NumPy promotes arrays, dtypes and numbers to."""
    return np.result_type(*map(_dtype, arrays_and_dtypes))


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Whether NumPy's rules allow a cast of a dtype, or of an array's."""
    return np.can_cast(_dtype(from_), to, casting)


def iscomplexobj(x: Any) -> bool:
    """Whether the elements are complex numbers."""
    return is_complex(tensor_of("iscomplexobj", x).dtype)


def isrealobj(x: Any) -> bool:
    """Whether the elements are no complex numbers."""
    return not iscomplexobj(x)
