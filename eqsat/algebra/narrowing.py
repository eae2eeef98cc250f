"""Tensors of which only a part is read: that part alone.

    (f(a @ b) @ c)[k]   =   f(a[k] @ b) @ c        (softmax(q @ k.T) @ v)[-1],  logits[:, -1]

Fusion computes what is read of the tensor that is sliced.  What that is made of is read along whole axes by its folds, but at one place, or
some, of others: these others need no more places than that, and so on down to the inputs.
"""

from __future__ import annotations

from math import prod

from eqsat.algebra.products import function_of
from eqsat.ir.index import Index, Var, substitute, variables
from eqsat.ir.tensor import Build, Read, Scalar, Tensor, axes, axis, has_fold, operands, rebuild, reindexed, scalars, tensors

# so many narrower tensors are made for one build; what these are made of beyond that is computed whole
MOST_MADE = 24
# for every axis the place that all reads of a tensor have, over the loops of the build that reads it; None where a fold goes along it, or
# they differ
Places = tuple[Index | None, ...]


def only_what_is_read(tensor: Build) -> tuple[Build, tuple[Build, ...]] | None:
    """The build over tensors with fewer elements, and these, sources first; None where all of what folds compute is read."""
    body, narrower = tensor.body, _Narrower()
    while (inner := function_of(body, {})) is not None:
        body = reindexed(*inner)
    found = narrower.element(body, tensor)
    return (Build(tensor.shape, found), tuple(narrower.made)) if narrower.made else None


class _Narrower:
    """`made`: narrower tensors, sources first."""

    def __init__(self) -> None:
        self.made: list[Build] = []
        self._begun: dict[tuple[Tensor, Places], Build] = {}
        self._folded: dict[Tensor, bool] = {}

    def element(self, body: Scalar, reader: Build) -> Scalar:
        """An element of a build, over narrower tensors where it reads but a part of what folds compute."""
        reads: dict[Build, list[Read]] = {}
        for term in scalars(body):
            if isinstance(term, Read) and isinstance(term.tensor, Build):
                reads.setdefault(term.tensor, []).append(term)
        parts = ((tensor, _narrow(tensor, terms, reader)) for tensor, terms in reads.items())
        known = {tensor: places for tensor, places in parts if places is not None and self._is_folded(tensor)}
        if not known or len(self._begun) >= MOST_MADE:
            return body
        instead = {tensor: self._made(tensor, places) for tensor, places in known.items()}
        done: dict[Scalar, Scalar] = {}
        for term in scalars(body):
            if isinstance(term, Read) and term.tensor in instead:
                assert isinstance(term.tensor, Build)
                places = known[term.tensor]
                along = (index for index, place in zip(term.indices, places, strict=True) if place is None)
                done[term] = Read(instead[term.tensor], (*_loops(places), *along))
            else:
                done[term] = rebuild(term, tuple(done[arg] for arg in operands(term)))
        return done[body]

    def _made(self, tensor: Build, places: Places) -> Build:
        """A tensor at some places along the axes that have such: its loops are those of the places, then the other axes."""
        if (tensor, places) not in self._begun:
            loops = _loops(places)
            whole = [n for n, place in zip(tensor.shape, places, strict=True) if place is None]
            shape = (*(v.extent for v in loops), *whole)
            env: dict[Var, Index] = {v: axis(k, v.extent) for k, v in enumerate(loops)}
            along = iter(axes(shape)[len(loops) :])
            at = {v: next(along) if place is None else substitute(place, env) for v, place in zip(axes(tensor.shape), places, strict=True)}
            begun = self._begun[tensor, places] = Build(shape, reindexed(tensor.body, at))
            build = self._begun[tensor, places] = Build(shape, self.element(begun.body, begun))
            self.made.append(build)
        return self._begun[tensor, places]

    def _is_folded(self, tensor: Tensor) -> bool:
        """Whether there is a fold in what a tensor is made of."""
        if tensor not in self._folded:
            self._folded[tensor] = any(isinstance(below, Build) and has_fold(below.body) for below in tensors(tensor))
        return self._folded[tensor]


def _narrow(tensor: Build, reads: list[Read], reader: Build) -> Places | None:
    """Where a build reads a tensor, if that is less than all of it; None where it is not."""
    loops = set(axes(reader.shape))
    indices = [dict.fromkeys(column) for column in zip(*(read.indices for read in reads), strict=True)]
    places = tuple(next(iter(column)) if len(column) == 1 and loops.issuperset(variables(*column)) else None for column in indices)
    size = prod(v.extent for v in _loops(places)) * prod(n for n, place in zip(tensor.shape, places, strict=True) if place is None)
    return places if size < tensor.size else None


def _loops(places: Places) -> tuple[Var, ...]:
    """The loops that places are over."""
    return tuple(dict.fromkeys(v for place in places if place is not None for v in variables(place)))
