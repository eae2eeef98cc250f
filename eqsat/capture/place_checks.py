"""Gathers that are checked, made explicit: they clip like all others, and the least and the greatest place are results of the program.
All of them read what is not another array under another shape.

NumPy raises an IndexError for an index out of range.  A plan computes such results beside its own and looks at them after its kernels,
before it hands anything out.  What terms show to be in range is not looked at, and what no result needs is not computed, so not checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal as OneOf

import numpy as np

from eqsat.algebra.gathers import clipped, held
from eqsat.capture.through_reshapes import through_reshapes
from eqsat.ir.definitions import redefined
from eqsat.ir.dtypes import itemsize
from eqsat.ir.errors import BoundsError
from eqsat.ir.generics import as_builds
from eqsat.ir.index import Index, Var, variables
from eqsat.ir.steps import Parts
from eqsat.ir.tensor import (
    Build,
    Call,
    Constant,
    Gather,
    Literal,
    Program,
    Reduce,
    Scalar,
    Tensor,
    as_dtype,
    index_terms,
    is_size,
    level_of,
    operands,
    rebuild,
    reduction,
    reindexed,
    scalars,
    tensors,
)
from eqsat.ir.value_bounds import scalar_bounds

INT64 = np.iinfo(np.int64)


@dataclass(frozen=True)
class PlaceLimit:
    """What indices of a dimension have to be, of which one value is looked at.

    side   "low": the least of them, which is not too low; "high": the greatest, which is less than `extent`; "both": the greatest distance
           from the first, in numbers of so many `bits` without a sign, where an index below it is far away
    wraps  whether negative ones count from the end
    """

    side: OneOf["low", "high", "both"]
    extent: int
    dimension: int
    wraps: bool = True
    bits: int = 64

    @property
    def first(self) -> int:
        """The least index."""
        return first_of(self.extent, self.wraps)

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest of the values that keep it, as int64."""
        least, most = int(INT64.min), int(INT64.max)
        return {"low": (self.first, most), "high": (least, self.extent - 1), "both": (0, self.extent - 1 - self.first)}[self.side]

    def check(self, value: int) -> None:
        """BoundsError for a value that is out of range."""
        least, most = self.range
        if not least <= value <= most:
            index = signed(value + self.first, self.bits) if self.side == "both" else value
            raise BoundsError(
                f"call: found index {index} in dimension {self.dimension} of an array, expected {self.first}..{self.extent - 1}"
            )


def first_of(extent: int, wraps: bool) -> int:
    """The least index of a dimension."""
    return -extent if wraps else 0


def signed(value: int, bits: int) -> int:
    """The number with a sign whose bits, of which there are so many, are those of a value."""
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def explicit(parts: Parts) -> tuple[Parts, tuple[PlaceLimit, ...]]:
    """The program around its steps as builds, with outputs behind its own for limits of places, one for each, and no checked gathers."""
    stated, limits = with_places(parts.around)
    return parts.over(as_builds(stated).outputs), limits


def with_places(whole: Program) -> tuple[Program, tuple[PlaceLimit, ...]]:
    """A program with outputs behind its own for limits of places, one for each, and no checked gathers in its builds."""
    changed: dict[Tensor, Tensor] = {}
    found: dict[tuple[PlaceLimit, Build], None] = {}
    least = {size.marker: size.variable.lo for size in whole.sizes}
    for tensor in tensors(*whole.outputs):
        if isinstance(tensor, Build) and (gathers := [g for g in scalars(tensor.body) if isinstance(g, Gather)]):
            body = _unchecked(tensor.body, sized=bool(whole.sizes))
            if body is not tensor.body:
                changed[tensor] = Build(tensor.shape, body)
            found.update(dict.fromkeys(limit for gather in gathers if gather.checked for limit in _limits(gather, least)))
    outputs = (*whole.outputs, *(places for _, places in found))
    done = redefined(outputs, changed)
    return replace(whole, outputs=tuple(done[output] for output in outputs)), tuple(limit for limit, _ in found)


def _unchecked(body: Scalar, sized: bool) -> Scalar:
    """An element whose gathers clip, and read what is not in another shape only, but for arrays of a size that is not known."""
    done: dict[Scalar, Scalar] = {}
    for term in scalars(body):
        args = tuple(done[arg] for arg in operands(term))
        if isinstance(term, Gather) and _counts_up(term.tensor):
            done[term] = as_dtype((held if term.checked else clipped)(args[0], term.tensor.size), term.dtype)
        elif isinstance(term, Gather):
            done[term] = Gather(term.tensor, args) if sized else through_reshapes(term, args)
        else:
            done[term] = rebuild(term, args)
    return done[body]


def _index_of(place: Scalar) -> Scalar | None:
    """The index that a place is made of, which is that and more where it is negative; None where negative ones are not counted from the
    end."""
    while isinstance(place, Call) and place.op == "astype":
        (place,) = place.args
    if not isinstance(place, Call) or place.op != "where":
        return None
    _, above, index = place.args
    return index if isinstance(above, Call) and above.op == "add" and above.args[0] is index else None


def _counts_up(tensor: Tensor) -> bool:
    """Whether it is the array of all its places."""
    return isinstance(tensor, Constant) and tensor.data.ndim == 1 and np.array_equal(tensor.data, np.arange(tensor.size))


def _limits(gather: Gather, least: Mapping[int, int]) -> Iterator[tuple[PlaceLimit, Build]]:
    """The limits of a gather's places that terms do not show, each with the extremum that has to keep it; `least` extents of sizes."""
    for dimension, (place, extent) in enumerate(zip(gather.args, gather.tensor.shape, strict=True)):
        found = _index_of(place)
        index, wraps = (place, False) if found is None else (found, True)
        (low, high), shortest = scalar_bounds(index), least.get(extent, extent)
        sides = low < first_of(shortest, wraps), high >= shortest
        if all(sides) and extent not in least:
            from_first = _from_first(index, first_of(extent, wraps))
            bits = 8 * itemsize(from_first.dtype)
            yield PlaceLimit("both", extent, dimension, wraps, bits), _extremum("max", from_first)
            continue
        if sides[0]:
            yield PlaceLimit("low", extent, dimension, wraps), _extremum("min", index)
        if sides[1]:
            yield PlaceLimit("high", extent, dimension, wraps), _extremum("max", index)


def _from_first(index: Scalar, first: int) -> Scalar:
    """How far an index is from the first one, as a number without a sign: all that are out of range are too far."""
    index = _kept_in_order(index)
    unsigned = f"uint{8 * itemsize(index.dtype)}"
    found = as_dtype(index, unsigned)
    return Call("add", (found, Literal(-first, unsigned)), unsigned) if first else found


def _kept_in_order(place: Scalar) -> Scalar:
    """What a place is made of by nothing but what keeps the order, which is done to an extremum alone: vectors hold more of what is
    narrow."""
    while isinstance(place, Call) and place.op == "astype" and np.can_cast(place.args[0].dtype, place.dtype):
        (place,) = place.args
    return place


def _extremum(op: str, place: Scalar) -> Build:
    """The least or the greatest value of an element, whatever the loop variables are."""
    dtype, place = place.dtype, _kept_in_order(place)
    inside = [term.variable for term in scalars(place) if isinstance(term, Reduce)]
    free = [v for v in variables(*(index for term in scalars(place) for index in index_terms(term))) if v not in inside and not is_size(v)]
    first = max((1 + (level_of(variable) or 0) for variable in inside), default=0)
    env: dict[Var, Index] = {variable: reduction(first + k, variable.extent) for k, variable in enumerate(free)}
    body = reindexed(place, env)
    for variable in reversed(env.values()):
        assert isinstance(variable, Var)
        body = Reduce(op, variable, body)
    return Build((), as_dtype(as_dtype(body, dtype), "int64"))
