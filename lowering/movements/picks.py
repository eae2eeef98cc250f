"""Where gathers read: places that are the digits of one number, as those of a reshaped array are, are that number; and rows that are chosen
from an array in one row are rows of an array.

a[clip s // n, s % n]    is    a[clip s]       of a as one row, for s within it
a[clip s * n + j]        is    a[clip s, j]    of a as rows of n, for a place j in one of them and an element s that says which
"""

from __future__ import annotations

from eqsat.ir import interval
from eqsat.ir.tensor import Call, Literal, Position, Scalar, Shape
from eqsat.ir.value_bounds import scalar_bounds


def joined_places(shape: Shape, places: tuple[Scalar, ...]) -> tuple[Shape, tuple[Scalar, ...]]:
    """The shape and the places with neighbouring dimensions made one as long as the last two places are digits of one number; dimensions
    with one place left out, and what is clipped as every place is."""
    long = [k for k, extent in enumerate(shape) if extent > 1] or [0]
    if len(places) > 1:
        shape, places = tuple(shape[k] for k in long), tuple(places[k] for k in long)
    while len(places) > 1:
        *around, high, low = places
        number = _number(high, low, *shape[-2:])
        if number is None:
            break
        shape, places = (*shape[:-2], shape[-2] * shape[-1]), (*around, number)
    return shape, tuple(_unclipped(place, extent) for place, extent in zip(places, shape, strict=True))


def in_rows(shape: Shape, places: tuple[Scalar, ...]) -> tuple[Shape, tuple[Scalar, ...]]:
    """The shape and the places with the last dimension as rows, if an element chooses the row and a loop the place in it."""
    *around, last = places
    for product, place in _sums(last):
        length = _factor(product)
        if isinstance(place, Position) and 1 < length < shape[-1] and shape[-1] % length == 0:
            row = _operand(product, "multiply", length)
            rows = shape[-1] // length
            if row is not None and _is_within(place, length) and _is_within(row, rows):
                return (*shape[:-1], rows, length), (*around, row, place)
    return shape, places


def _sums(term: Scalar) -> list[tuple[Scalar, Scalar]]:
    one, other = term.args if isinstance(term, Call) and term.op == "add" else (term, term)
    return [(one, other), (other, one)] if one is not other else []


def _factor(term: Scalar) -> int:
    """The constant that a product is a multiple of."""
    factor = term.args[1] if isinstance(term, Call) and term.op == "multiply" else None
    return int(factor.value) if isinstance(factor, Literal) and isinstance(factor.value, int) else 0


def _is_within(place: Scalar, extent: int) -> bool:
    return interval.within(scalar_bounds(place), (0, extent - 1))


def _unclipped(place: Scalar, extent: int) -> Scalar:
    """A place in the place of itself clipped to a dimension."""
    inner = _operand(place, "minimum", extent - 1) or place
    return _operand(inner, "maximum", 0) or inner


def _number(high: Scalar, low: Scalar, many: int, few: int) -> Scalar | None:
    """The number below many * few of which `low` is the last digit and `high` what stands before that; None if there is none."""
    s = _operand(low, "remainder", few)
    if s is None:
        return None
    if s == _operand(high, "floor_divide", few):
        return s if interval.within(scalar_bounds(s), (0, many * few - 1)) else None
    above = _operand(high, "remainder", many)
    if above is not None and s == _operand(above, "floor_divide", few):
        return Call("remainder", (s, Literal(many * few, s.dtype)), s.dtype)
    return None


def _operand(term: Scalar, op: str, constant: int) -> Scalar | None:
    """The other operand of an operation with a constant."""
    if isinstance(term, Call) and term.op == op and term.args[1] == Literal(constant, term.args[0].dtype):
        return term.args[0]
    return None
