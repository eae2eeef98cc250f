"""Gathers of tensors that need not be stored: their element at a place that is an element itself.

reshape(x)[p]  =  x[p // n, p % n]          (x * w)[p]  =  x[p] * w[p]          (a @ b)[p]  =  a[p] @ b
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from eqsat.algebra.place_terms import simple_place
from eqsat.egraph.schema import GATHER_RANKS
from eqsat.ir.check import in_range
from eqsat.ir.index import Var
from eqsat.ir.places import PLACE, place_at
from eqsat.ir.tensor import (
    Build,
    Call,
    Gather,
    Literal,
    Position,
    Read,
    Scalar,
    Tensor,
    as_dtype,
    axes,
    has_fold,
    operands,
    rebuild,
    scalars,
)
from eqsat.ir.value_bounds import scalar_bounds

# at so many places a tensor is opened for one build, and so many tensors within each other
MOST_PLACES = 16
DEEPEST = 100


def without_stored_tensors(build: Build, movements_only: bool) -> Build | None:
    """The build with gathers from what its tensors are made of, as far as these are builds without folds, or have more elements than it
    has itself; `movements_only`: builds that only read another tensor.  None where there is no such gather.

    What is read at two places is made of twice as many elements: where a tensor would be opened at more than MOST_PLACES, or more than
    DEEPEST within each other, only what the build itself reads is.
    """
    try:
        body = _Opener(build, movements_only).gathered_from(build.body)
    except _TooLargeError:
        body = _Opener(build, movements_only, depth=1).gathered_from(build.body)
    return Build(build.shape, body) if body is not build.body else None


class _TooLargeError(Exception):
    """More would be computed again than anybody wants."""


class _Opener:
    """Elements of tensors that are not stored, each at one place once.

    depth  how many tensors, each made of the next, are opened; as many as there are where it is None
    least  tensors that fold are opened if they have more elements than that, the number of those that the build has
    """

    def __init__(self, build: Build, movements_only: bool, depth: int | None = None) -> None:
        self.movements_only, self.depth = movements_only, depth
        self.least = math.inf if has_fold(build.body) else build.size
        self._known: dict[tuple[Tensor, tuple[Scalar, ...], int, float], Scalar] = {}
        self._places: Counter[Tensor] = Counter()

    def gathered_from(self, body: Scalar) -> Scalar:
        """A body with what its gathers read opened."""
        done: dict[Scalar, Scalar] = {}
        for term in scalars(body):
            args = tuple(done[arg] for arg in operands(term))
            if isinstance(term, Gather) and not term.checked:
                done[term] = self._gathered(term.tensor, args, 0, self.least)
            else:
                done[term] = rebuild(term, args)
        return done[body]

    def _gathered(self, tensor: Tensor, places: tuple[Scalar, ...], below: int, least: float) -> Scalar:
        """The element of a tensor at places that are clipped to it; so many tensors are open around it.  Where a fold is open around it, or
        in its places, none is opened."""
        if least != math.inf and any(map(has_fold, places)):
            least = math.inf
        key = (tensor, places, below if self.depth is not None else 0, least)
        if key not in self._known:
            self._known[key] = self._found(tensor, places, below, least)
        return self._known[key]

    def _found(self, tensor: Tensor, places: tuple[Scalar, ...], below: int, least: float) -> Scalar:
        if isinstance(tensor, Build) and below != self.depth and self._is_open(tensor, least):
            self._places[tensor] += 1
            if self.depth is None and (self._places[tensor] > MOST_PLACES or below > DEEPEST):
                raise _TooLargeError
            inside = tuple(clipped(place, extent) for place, extent in zip(places, tensor.shape, strict=True))
            env = dict(zip(axes(tensor.shape), inside, strict=True))
            found = self._at(tensor.body, env, below + 1, math.inf if has_fold(tensor.body) else least)
            if found is not None:
                return found
        return Gather(tensor, places)

    def _is_open(self, tensor: Build, least: float) -> bool:
        return isinstance(tensor.body, Read) if self.movements_only else not has_fold(tensor.body) or tensor.size > least

    def _at(self, root: Scalar, env: Mapping[Var, Scalar], below: int, least: float) -> Scalar | None:
        """An element where its loops have these places as values; None where an index operation has no form on elements."""
        done: dict[Scalar, Scalar] = {}
        for term in scalars(root):
            args = tuple(done[arg] for arg in operands(term))
            if isinstance(term, Read):
                places = tuple(place_at(index, env) for index in term.indices)
                known = [place for place in places if place is not None]
                if len(known) < len(places) or len(places) > max(GATHER_RANKS):
                    return None
                done[term] = self._read(term.tensor, tuple(map(simple_place, known)), below, least)
            elif isinstance(term, Position):
                place = place_at(term.index, env)
                if place is None:
                    return None
                done[term] = place if place.dtype == term.dtype else Call("astype", (place,), term.dtype)
            elif isinstance(term, Gather):
                done[term] = self._gathered(term.tensor, args, below, least)
            else:
                done[term] = rebuild(term, args)
        return done[root]

    def _read(self, tensor: Tensor, places: tuple[Scalar, ...], below: int, least: float) -> Scalar:
        indices = tuple(place.index for place in places if isinstance(place, Position))
        if len(indices) == len(places) and in_range(tensor.shape, indices):
            return Read(tensor, indices)
        return self._gathered(tensor, places, below, least)


def clipped(place: Scalar, extent: int) -> Scalar:
    """A place that is within a dimension."""
    least, most = scalar_bounds(place)
    if least < 0:
        place = Call("maximum", (place, Literal(0, PLACE)), PLACE)
    return Call("minimum", (place, Literal(extent - 1, PLACE)), PLACE) if most >= extent else place


def held(place: Scalar, extent: int) -> Scalar:
    """A place that is within a dimension, the same one if it was: one comparison of numbers without a sign, of which those below 0 are the
    greatest."""
    if scalar_bounds(place)[0] >= 0:
        return clipped(place, extent)
    unsigned = Call("minimum", (as_dtype(place, "uint64"), Literal(extent - 1, "uint64")), "uint64")
    return as_dtype(unsigned, PLACE)
