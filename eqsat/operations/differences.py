"""Differences and gradients along axes, correlation of vectors: compositions of slices, products and sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from eqsat.ir.dtypes import is_complex, is_inexact
from eqsat.ir.errors import DTypeError, ShapeError, UsageError
from eqsat.ir.index import apply
from eqsat.ir.tensor import Scalar, Tensor, axes, reduction
from eqsat.operations.assembling import along
from eqsat.operations.elementwise import astype, call, cast, converted_to, elementwise, scalar_operation
from eqsat.operations.generic import integer, normalize_axes, one_axis, tensor_of
from eqsat.operations.host import cumsum
from eqsat.operations.joining import clamped, concatenate
from eqsat.operations.movement import broadcast_to, flip, ravel, reshape
from eqsat.operations.padding import pad
from eqsat.operations.reductions import sum_of_products

_conjugate = scalar_operation("conjugate")
_add, _subtract, _multiply, _divide = (scalar_operation(op) for op in ("add", "subtract", "multiply", "divide"))


def diff(a: Any, n: Any = 1, axis: Any = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """The n-th differences of neighbours along an axis; of bool: whether they differ."""
    source, times = tensor_of("diff", a), integer("diff", "n", n)
    if times < 0:
        raise UsageError(f"diff: found n = {times}, expected 0 or more")
    if not source.shape:
        raise ShapeError("diff: found a 0-d array, expected one dimension or more")
    if times == 0:
        return source
    k = one_axis("diff", axis, len(source.shape))
    ends = [prepend, source, append]
    parts = [part if part is source else _beside(source, k, part) for part in ends if part is not None]
    found = concatenate(parts, k) if len(parts) > 1 else source
    change = scalar_operation("not_equal") if found.dtype == "bool" else _subtract
    for _ in range(times):
        found = change(along(found, k, slice(1, None)), along(found, k, slice(None, -1)))
    return found


def _beside(source: Tensor, k: int, part: Any) -> Tensor:
    """What is put beside an array along an axis: an array of its shape otherwise, or one number."""
    found = tensor_of("diff", part)
    return found if found.shape else broadcast_to(found, (*source.shape[:k], 1, *source.shape[k + 1 :]))


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """Differences of neighbours of the flattened array, with numbers before and behind them."""
    source = ravel(tensor_of("ediff1d", ary))
    parts = [part if part is None else ravel(converted_to("ediff1d", part, source.dtype)) for part in (to_begin, to_end)]
    change = _subtract(along(source, 0, slice(1, None)), along(source, 0, slice(None, -1)))
    return concatenate([part for part in (parts[0], change, parts[1]) if part is not None])


def unwrap(p: Any, discont: Any = None, axis: Any = -1, *, period: Any = 2 * math.pi) -> Tensor:
    """Angles without jumps: where neighbours differ by `discont` at least (half a period if not given), multiples of the period are added
    to all that follow."""
    source, least = tensor_of("unwrap", p), period / 2 if discont is None else discont
    k = one_axis("unwrap", axis, len(source.shape))
    whole = not is_inexact(source.dtype) and isinstance(period, int)
    high, ambiguous = (period // 2, period % 2 == 0) if whole else (period / 2, True)
    change = diff(source, axis=k)

    def block(step: Scalar) -> Scalar:
        near = call("add", call("remainder", call("subtract", step, -high), period), -high)
        if ambiguous:
            up = call("logical_and", call("equal", near, -high), call("greater", step, 0))
            near = call("where", up, cast(high, near.dtype), near)
        return call("where", call("less", call("absolute", step), least), cast(0, near.dtype), call("subtract", near, step))

    more = elementwise("unwrap", (change,), block)
    first, rest = along(source, k, slice(1)), along(source, k, slice(1, None))
    return concatenate([astype(part, more.dtype) for part in (first, _add(rest, cumsum(more, k)))], k)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    """Central differences along axes (all of them, as a tuple, without `axis`), at the ends differences of first or second order.

    varargs  the distance of neighbours, one number for each axis or for all, or their places, a vector for each axis
    """
    source = tensor_of("gradient", f)
    taken = tuple(range(len(source.shape))) if axis is None else normalize_axes("gradient", axis, len(source.shape))
    spacings = list(varargs or (1.0,))
    if len(spacings) == 1:
        spacings *= len(taken)
    if len(spacings) != len(taken):
        raise UsageError(f"gradient: found {len(varargs)} distances, expected one, or one for each of {len(taken)} axes")
    order = integer("gradient", "edge_order", edge_order)
    if order not in (1, 2):
        raise UsageError(f"gradient: found edge_order = {order}, expected 1 or 2")
    for k in taken:
        if source.shape[k] < order + 1:
            raise ShapeError(f"gradient: found {source.shape[k]} elements along the axis {k}, expected {order + 1} or more")
    if source.dtype == "bool":
        raise DTypeError("gradient: found bool, expected numbers; use astype first")
    values = source if is_inexact(source.dtype) else astype(source, "float64")
    found = tuple(astype(_slope(values, k, spacing, order), values.dtype) for k, spacing in zip(taken, spacings, strict=True))
    return found[0] if len(found) == 1 else found


def _slope(f: Tensor, k: int, spacing: Any, order: int) -> Tensor:
    """The gradient along one axis."""
    places = tensor_of("gradient", spacing)
    if not places.shape:
        inner = _divide(_subtract(along(f, k, slice(2, None)), along(f, k, slice(None, -2))), _multiply(2.0, spacing))
        steps = [spacing] * 4
    elif places.shape != (f.shape[k],):
        raise ShapeError(f"gradient: found places of the shape {places.shape}, expected one for each of {f.shape[k]} elements")
    else:
        apart = reshape(diff(places), tuple(f.shape[k] - 1 if d == k else 1 for d in range(len(f.shape))))
        inner = _uneven(f, k, apart)
        ends = (0, 1, -2, -1) if f.shape[k] > 2 else (0, 0, 0, 0)
        steps = [along(apart, k, slice(place, place + 1 or None)) for place in ends]
    first = [along(f, k, slice(place, place + 1)) for place in range(order + 1)]
    last = [along(f, k, slice(-place - 1, -place or None)) for place in range(order + 1)]
    begin = _end(first, steps[0], steps[1])
    end = _end(last, _multiply(-1.0, steps[3]), _multiply(-1.0, steps[2]))
    return concatenate([begin, inner, end], k)


def _end(values: Sequence[Tensor], near: Any, far: Any) -> Tensor:
    """The slope at an end, from two or three values that go away from it and the distances between them."""
    if len(values) == 2:
        return _divide(_subtract(values[1], values[0]), near)
    both = _add(near, far)
    a = _divide(_subtract(0.0, _add(_multiply(2.0, near), far)), _multiply(near, both))
    b = _divide(both, _multiply(near, far))
    c = _divide(_subtract(0.0, near), _multiply(far, both))
    return _add(_add(_multiply(a, values[0]), _multiply(b, values[1])), _multiply(c, values[2]))


def _uneven(f: Tensor, k: int, apart: Tensor) -> Tensor:
    """Slopes between the ends from three values at any distances."""
    before, behind = along(apart, k, slice(None, -1)), along(apart, k, slice(1, None))
    both = _add(before, behind)
    a = _divide(_subtract(0.0, behind), _multiply(before, both))
    b = _divide(_subtract(behind, before), _multiply(before, behind))
    c = _divide(before, _multiply(behind, both))
    low, middle, high = (along(f, k, part) for part in (slice(None, -2), slice(1, -1), slice(2, None)))
    return _add(_add(_multiply(a, low), _multiply(b, middle)), _multiply(c, high))


def convolve(a: Any, v: Any, mode: str = "full") -> Tensor:
    """Sums of products of one vector with the other, turned round, at every place where they overlap; "same": as many as the longer has,
    "valid": where they overlap wholly."""
    first, second = _vectors("convolve", a, v)
    if second.size > first.size:
        first, second = second, first
    return _correlated("convolve", first, flip(second, 0), mode)


def correlate(a: Any, v: Any, mode: str = "valid") -> Tensor:
    """Sums of products of one vector with the other (conjugated) at every place where they overlap: `convolve` says which `mode`."""
    first, second = _vectors("correlate", a, v)
    second = _conjugate(second) if is_complex(second.dtype) else second
    if second.size > first.size:
        return flip(_correlated("correlate", second, first, mode), 0)
    return _correlated("correlate", first, second, mode)


def _vectors(name: str, a: Any, v: Any) -> tuple[Tensor, Tensor]:
    first, second = (reshape(x, (1,)) if not x.shape else x for x in (tensor_of(name, a), tensor_of(name, v)))
    if len(first.shape) != 1 or len(second.shape) != 1 or not first.size or not second.size:
        raise ShapeError(f"{name}: found the shapes {first.shape} and {second.shape}, expected vectors with elements")
    return first, second


def _correlated(name: str, a: Tensor, v: Tensor, mode: str) -> Tensor:
    """Correlation with a vector that is not longer."""
    size = v.size
    frames = {"valid": (0, 0), "same": (size // 2, size - size // 2 - 1), "full": (size - 1, size - 1)}
    if mode not in frames:
        raise UsageError(f"{name}: found the mode {mode!r}, expected 'full', 'same' or 'valid'")
    before, behind = frames[mode]
    if is_inexact(v.dtype):  # products of zeros beside `a` may be NaN
        parts = [_overlap(a, v, -before, before), _overlap(a, v, 0, a.size - size + 1), _overlap(a, v, a.size - size + 1, behind)]
        return concatenate([part for part in parts if part.size]) if before or behind else parts[1]
    return _overlap(pad(a, ((before, behind),)) if before or behind else a, v, 0, before + a.size + behind - size + 1)


def _overlap(a: Tensor, v: Tensor, first: int, count: int) -> Tensor:
    """Correlation at so many places from this one on, over the elements of `v` that meet one of `a`."""
    (loop,), inside = axes((count,)), reduction(0, v.size)
    place = loop + (inside + first)
    lowest, highest = first, first + count + v.size - 2
    if lowest >= 0 and highest < a.size:
        return sum_of_products((count,), (v.size,), (a, v), ((place,), (inside,)))
    met = apply("and", place >= 0, place < a.size)
    return sum_of_products((count,), (v.size,), (a, v), ((clamped(place, a.size, lowest < 0, highest >= a.size),), (inside,)), met)
