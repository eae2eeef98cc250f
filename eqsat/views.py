"""Movements of movements: a tensor that only rearranges another is a view of the nearest tensor that computes something.

Layout changes come in long chains, and their composed maps grow with every step; so they are composed from the source on and
simplified step by step in the e-graph, all chains of a program side by side.  Movements that only movements read are gone then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from eqsat.ir.check import in_range
from eqsat.ir.index import Apply, Index, substitute, walk
from eqsat.ir.tensor import Build, Program, Read, Tensor, axes, sources, tensors

# a composed map with more divisions than this is simplified before the next movement is put on it
LARGE_MAP = 16
Simplify = Callable[[list[Index]], list[Index]]


@dataclass(frozen=True)
class View:
    """base[indices], read at the loops of the view."""

    base: Tensor
    indices: tuple[Index, ...]


def movement(tensor: Tensor) -> View | None:
    """The read that a tensor consists of, if it is nothing else."""
    if isinstance(tensor, Build) and isinstance(tensor.body, Read):
        return View(tensor.body.tensor, tensor.body.indices)
    return None


def compose_views(program: Program, simplify: Simplify) -> dict[Tensor, Build]:
    """For every movement of movements in a program of builds one movement that is equal.

    A composed map is taken if its parts show that it stays in range; the movements that it is made of show it one by one.
    """
    views: dict[Tensor, View] = {}
    composed: dict[Tensor, View] = {}
    ends = _ends(program)
    for level in _levels(program):
        below = {tensor: (view, views[view.base]) for tensor, view in level.items() if view.base in views}
        made = {tensor: _compose(outer, inner) for tensor, (outer, inner) in below.items()}
        made.update(_simplified({tensor: view for tensor, view in made.items() if _size(view) > LARGE_MAP}, simplify))
        composed.update(made)
        views.update({**level, **made})
    composed.update(_simplified({tensor: view for tensor, view in composed.items() if tensor in ends}, simplify))
    return {
        tensor: Build(tensor.shape, Read(view.base, view.indices)) for tensor, view in composed.items() if in_range(view.base, view.indices)
    }


def _levels(program: Program) -> Iterable[dict[Tensor, View]]:
    """Movements by how many movements are below them."""
    depth: dict[Tensor, int] = {}
    levels: list[dict[Tensor, View]] = []
    for tensor in tensors(*program.outputs):
        view = movement(tensor)
        if view is not None:
            depth[tensor] = depth.get(view.base, -1) + 1
            if depth[tensor] == len(levels):
                levels.append({})
            levels[depth[tensor]][tensor] = view
    return levels


def _ends(program: Program) -> frozenset[Tensor]:
    """Tensors that something else than a movement reads, or that are outputs."""
    found = set(program.outputs)
    for tensor in tensors(*program.outputs):
        if movement(tensor) is None:
            found.update(sources(tensor))
    return frozenset(found)


def _size(view: View) -> int:
    """How many divisions a map contains."""
    return sum(isinstance(term, Apply) and term.op in ("floordiv", "mod") for term in walk(*view.indices))


def _compose(outer: View, inner: View) -> View:
    env = dict(zip(axes(outer.base.shape), outer.indices, strict=True))
    return View(inner.base, tuple(substitute(index, env) for index in inner.indices))


def _simplified(views: Mapping[Tensor, View], simplify: Simplify) -> dict[Tensor, View]:
    terms = list(dict.fromkeys(index for view in views.values() for index in view.indices))
    known = dict(zip(terms, simplify(terms), strict=True)) if terms else {}
    return {tensor: View(view.base, tuple(known[index] for index in view.indices)) for tensor, view in views.items()}
