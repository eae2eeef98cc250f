"""Gathers of arrays that are others under another shape: they read those, at the digits of the place.

x.reshape(-1)[p]   is   x[p // n, p % n]   with p within it, of which `lowering.picks` makes one number again: nothing is copied.
"""

from __future__ import annotations

from math import prod

from eqsat.algebra.gathers import clipped
from eqsat.algebra.place_terms import simple_place
from eqsat.egraph.schema import GATHER_RANKS
from eqsat.ir.generics import as_build
from eqsat.ir.places import PLACE
from eqsat.ir.tensor import Build, Call, Gather, Generic, Literal, Read, Scalar, Shape, Tensor, axes
from eqsat.operations.movement import reshape_map


def through_reshapes(gather: Gather, places: tuple[Scalar, ...]) -> Scalar:
    """The same element at these places, clipped as those of the gather are, of what the array is a reshape of."""
    tensor = gather.tensor
    while (source := _reshaped(tensor)) is not None:
        tensor = source
    if tensor.shape == gather.tensor.shape:
        return Gather(tensor, places)
    digits = _digits(_number(places, gather.tensor.shape, tensor.shape), tensor.shape)
    return Gather(tensor, tuple(map(simple_place, digits)))


def _reshaped(tensor: Tensor) -> Tensor | None:
    """What an array has the elements of, in C order."""
    build = as_build(tensor) if isinstance(tensor, Generic) else tensor
    if not isinstance(build, Build) or not isinstance(build.body, Read):
        return None
    source = build.body.tensor
    if source.size != build.size or not 0 < len(source.shape) <= max(GATHER_RANKS):
        return None
    return source if build.body.indices == reshape_map(source.shape, axes(build.shape)) else None


def _number(places: tuple[Scalar, ...], shape: Shape, source: Shape) -> Scalar:
    """The number of an element in C order; of one dimension that both have, it is clipped later."""
    long = [k for k, extent in enumerate(shape) if extent > 1]
    if [shape[k] for k in long] == [extent for extent in source if extent > 1] and len(long) == 1:
        return places[long[0]]
    number: Scalar = Literal(0, PLACE)
    for k in long:
        term = clipped(places[k], shape[k])
        stride = prod(shape[k + 1 :])
        term = Call("multiply", (term, Literal(stride, PLACE)), PLACE) if stride > 1 else term
        number = term if k == long[0] else Call("add", (number, term), PLACE)
    return number


def _digits(number: Scalar, shape: Shape) -> tuple[Scalar, ...]:
    """The places of the element of that number in an array of this shape."""
    long = [k for k, extent in enumerate(shape) if extent > 1]
    found: list[Scalar] = [Literal(0, PLACE)] * len(shape)
    for k in long:
        stride = prod(shape[k + 1 :])
        digit = Call("floor_divide", (number, Literal(stride, PLACE)), PLACE) if stride > 1 else number
        found[k] = Call("remainder", (digit, Literal(shape[k], PLACE)), PLACE) if k != long[0] else digit
    return tuple(found)
