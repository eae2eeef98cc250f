"""Arrays that are known when a program is made, as functions of their indices: one value, arange, eye, tri and what is made of them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from eqsat.ir.dtypes import is_complex
from eqsat.ir.evaluate import evaluate_tensor
from eqsat.ir.index import Const, Index, apply
from eqsat.ir.tensor import Build, Call, Constant, Literal, Position, Scalar, as_dtype, axes

Array = np.ndarray[Any, Any]
# positions are exact in every dtype that an array of them is found in; larger numbers are not looked for
LARGEST = 2**31 - 1


def as_function(constant: Constant) -> Build | None:
    """The build of a constant's elements, bit for bit, if they follow a rule; None for arrays of fewer than two elements."""
    if constant.size < 2:
        return None
    return next((Build(constant.shape, body) for body in _bodies(constant) if _same(constant, body)), None)


def _bodies(constant: Constant) -> Iterator[Scalar]:
    """What the corners of the array suggest."""
    data, dtype = constant.data, constant.dtype
    first = data.flat[0]
    yield Literal(first.item(), dtype)
    if dtype != "bool" and not is_complex(dtype):
        ramp = _ramp(data)
        if ramp is not None:
            yield as_dtype(Position(ramp, "int64"), dtype)
    yield from _single(data, dtype)
    if data.ndim >= 2:
        along = [d for d, n in enumerate(data.shape) if n > 1 and np.any(data != data.take([0], axis=d))]
        if len(along) == 2:
            yield from _bands(data, along, dtype)


def _ramp(data: Array) -> Index | None:
    """first + sum of step * index, by the neighbours of the first element."""
    corner = (0,) * data.ndim
    values = [data[corner].item()]
    values += [data[(*corner[:d], min(n - 1, 1), *corner[d + 1 :])].item() for d, n in enumerate(data.shape)]
    if any(not float(value).is_integer() or abs(value) > LARGEST for value in values):
        return None
    start, *others = (int(value) for value in values)
    index: Index = Const(start)
    for loop, value in zip(axes(data.shape), others, strict=True):
        index = index + loop * (value - start) if value != start else index
    return index if max(map(abs, index.bounds)) <= LARGEST else None


def _single(data: Array, dtype: str) -> Iterator[Scalar]:
    """One value at one place, and another elsewhere."""
    for other in {data.flat[0].item(), data.flat[-1].item()}:
        places = np.argwhere(data != other)
        if len(places) == 1:
            equal = [apply("eq", loop, int(k)) for loop, k in zip(axes(data.shape), places[0], strict=True) if loop.extent > 1]
            yield _chosen(functools.reduce(lambda a, b: apply("and", a, b), equal), data[tuple(places[0])], data.dtype.type(other), dtype)


def _bands(data: Array, along: list[int], dtype: str) -> Iterator[Scalar]:
    """One value on a diagonal of two axes, or on one side of it, and another elsewhere."""
    row, column = (axes(data.shape)[d] for d in along)
    matrix = data[tuple(slice(None) if d in along else 0 for d in range(data.ndim))]
    below, above = matrix[-1, 0], matrix[0, -1]
    if below == above:
        places = np.argwhere(matrix != below)
        if places.size:
            offset = int(places[0][1] - places[0][0])
            yield _chosen(apply("eq", column - row, offset), matrix[tuple(places[0])], below, dtype)
    else:
        places = np.argwhere(matrix == below)
        offset = int((places[:, 1] - places[:, 0]).max()) if places.size else 0
        yield _chosen(apply("le", column - row, offset), below, above, dtype)


def _chosen(condition: Index, value: Any, other: Any, dtype: str) -> Scalar:
    holds = Position(condition, "bool")
    if dtype == "bool" and bool(value):
        return holds
    return Call("where", (holds, Literal(value.item(), dtype), Literal(other.item(), dtype)), dtype)


def _same(constant: Constant, body: Scalar) -> bool:
    """Whether a function has the elements of a constant, signs of zeros and NaN included."""
    found = evaluate_tensor(Build(constant.shape, body), {})
    return found.tobytes() == constant.data.tobytes()
