"""What a stack of views means: at every place of the last one, a position in the source and whether there is an element at all.

    place of the last view -> its position -> split over the shape of the view below -> ... -> position in the source

An element exists where no view on the way excludes its place.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from math import prod
from typing import Any

import numpy as np

from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Apply, Const, Index, Var, conjunction, var
from eqsat.ir.tensor import Shape
from eqsat.views.strided import View, row_major

Views = tuple[View, ...]
Array = np.ndarray[Any, Any]


def loops(shape: Shape) -> tuple[Index, ...]:
    """idx0, idx1, ...: a variable for each axis, 0 for axes of one element."""
    return tuple(var(f"idx{axis}", 0, n - 1) if n > 1 else Const(0) for axis, n in enumerate(shape))


@lru_cache(maxsize=1024)
def reading(views: Views) -> tuple[Index, Index]:
    """(position in the source, whether there is an element), as written, in the variables of `loops` of the last shape.

    The position means nothing where there is no element; it is 0 where there is none anywhere.
    """
    if any(view.reads_nothing for view in views):
        return Const(0), Const(0 in views[-1].shape)
    place: Sequence[Index] = loops(views[-1].shape)
    conditions: list[Index] = []
    for below, view in zip((*views[-2::-1], None), reversed(views), strict=True):
        conditions = _conditions(view, place) + conditions
        position = _sum(zip(place, view.strides, strict=True), view.offset)
        place = split(position, below.shape) if below else ()
    return position, conjunction(conditions)


def split(position: Index, shape: Shape) -> tuple[Index, ...]:
    """The place of a position in C order, every axis by // and %, the outermost by // alone."""
    place: list[Index] = []
    for axis, (n, stride) in enumerate(zip(shape, row_major(shape), strict=True)):
        quotient = position // stride if stride > 1 else position
        place.append(Const(0) if n == 1 else quotient if prod(shape[:axis]) == 1 else quotient % n)
    return tuple(place)


def _conditions(view: View, place: Sequence[Index]) -> list[Index]:
    found: list[Index] = []
    for index, n, (lo, hi) in zip(place, view.shape, view.box, strict=True):
        found += [index >= lo] if lo > 0 else []
        found += [index < hi] if hi < n else []
    return found


def _sum(terms: Iterable[tuple[Index, int]], offset: int) -> Index:
    """offset + sum of index * stride."""
    total: Index | None = None
    for index, stride in terms:
        if isinstance(index, Const):
            offset += index.value * stride
        elif stride:
            scaled = index if stride == 1 else index * stride
            total = scaled if total is None else total + scaled
    if total is None:
        return Const(offset)
    return total + offset if offset else total


def largest_stride_first(position: Index) -> Index:
    """The same sum with its operands in the order of falling coefficients, a constant last, as positions are usually written."""
    operands = _operands(position)
    ordered = sorted(operands, key=lambda operand: (isinstance(operand, Const), -_coefficient(operand)))
    return reduce(operator.add, ordered)


def _operands(term: Index) -> list[Index]:
    if isinstance(term, Apply) and term.op == "add":
        return [operand for arg in term.args for operand in _operands(arg)]
    return [term]


def _coefficient(operand: Index) -> int:
    if isinstance(operand, Apply) and operand.op == "mul" and isinstance(operand.args[1], Const):
        return operand.args[1].value
    return 1


def read_at(views: Views, coordinates: Sequence[Array]) -> tuple[Array, Array]:
    """`reading` at the grid of these coordinates, one integer array an axis: int64 positions and bool, of the shape of the grid."""
    grid = np.ix_(*coordinates) if coordinates else ()
    env = {index: values for index, values in zip(loops(views[-1].shape), grid, strict=True) if isinstance(index, Var)}
    shape = tuple(len(values) for values in coordinates)
    position, valid = (np.broadcast_to(evaluate_index(term, env), shape) for term in reading(views))
    return position.astype(np.int64), valid.astype(np.bool_)
