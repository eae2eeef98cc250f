"""Movements of movements: a tensor that only rearranges another is a view of the nearest tensor that computes something.

Layout changes come in long chains, and their composed maps grow with every step; so they are composed from the source on and
simplified step by step in the e-graph, all chains of a program side by side.  Movements that only movements read are gone then.

A stack or concatenation of movements of one tensor is one as well, at places that are chosen:

    where(i < 3, x[i + 5], x[i - 3])  =  x[where(i < 3, i + 5, i - 3)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

from eqsat.ir.check import in_range
from eqsat.ir.index import Apply, Index, substitute, walk, where
from eqsat.ir.tensor import Build, Call, Position, Program, Read, Scalar, Tensor, axes, scalars, sources, tensors

# a composed map with more divisions than this is simplified before the next movement is put on it
LARGE_MAP = 16
# choices for one place: as many are looked at, and as many may stay
MOST_CHOICES, FEW_CHOICES = 64, 10
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
    movements = _movements(program)
    return _builds(_composed(movements, _ends(program, movements), simplify))


def clear_choices(program: Program, glance: Simplify) -> dict[Tensor, View]:
    """The tensors that choose between movements of one tensor, as views of it; not where a glance at the place leaves more than
    FEW_CHOICES of them."""
    plain = _movements(program)
    found = {tensor: view for tensor, view in _with_choices(program, plain).items() if tensor not in plain}
    looked = _simplified({tensor: view for tensor, view in found.items() if _chain(view) <= MOST_CHOICES}, glance)
    return {tensor: view for tensor, view in looked.items() if _chain(view) <= FEW_CHOICES}


def compose_choices(program: Program, choices: Mapping[Tensor, View], simplify: Simplify) -> dict[Tensor, Build]:
    """For every tensor that something else than a movement reads, and that is one of these choices, or a movement of one, one movement
    that is equal."""
    plain = _movements(program)
    views = {tensor: view for tensor in tensors(*program.outputs) if (view := plain.get(tensor) or choices.get(tensor)) is not None}
    chosen = set(choices)
    for tensor, view in views.items():
        if view.base in chosen:
            chosen.add(tensor)
    wanted = chosen & _ends(program, views)
    needed = set(wanted)
    for tensor in reversed(views):
        if tensor in needed:
            needed.add(views[tensor].base)
    views = {tensor: view for tensor, view in views.items() if tensor in needed}
    views |= _simplified({tensor: view for tensor, view in views.items() if tensor in choices}, simplify)
    composed = _composed(views, wanted, simplify)
    return _builds({tensor: composed.get(tensor, views[tensor]) for tensor in views if tensor in wanted})


def _builds(views: Mapping[Tensor, View]) -> dict[Tensor, Build]:
    return {
        tensor: Build(tensor.shape, Read(view.base, view.indices))
        for tensor, view in views.items()
        if in_range(view.base.shape, view.indices)
    }


def _movements(program: Program) -> dict[Tensor, View]:
    """The movements of a program, sources first."""
    return {tensor: view for tensor in tensors(*program.outputs) if (view := movement(tensor)) is not None}


def _with_choices(program: Program, movements: Mapping[Tensor, View]) -> dict[Tensor, View]:
    """The movements of a program, and the choices between movements of one tensor, sources first."""
    found: dict[Tensor, View] = {}
    for tensor in tensors(*program.outputs):
        view = movements.get(tensor) or _choice(tensor, found)
        if view is not None:
            found[tensor] = view
    return found


def _choice(tensor: Tensor, views: Mapping[Tensor, View]) -> View | None:
    """The read of one tensor that a tensor is if it chooses between movements of that; None where it is something else."""
    if not isinstance(tensor, Build):
        return None
    done: dict[Scalar, View | None] = {}
    for term in scalars(tensor.body):
        done[term] = None
        if isinstance(term, Read):
            done[term] = View(term.tensor, term.indices)
        elif isinstance(term, Call) and term.op == "where":
            condition, *branches = term.args
            first, other = (done[branch] for branch in branches)
            if isinstance(condition, Position) and first is not None and other is not None:
                done[term] = _chosen(condition.index, first, other, views)
    return done[tensor.body]


def _chosen(condition: Index, first: View, other: View, views: Mapping[Tensor, View]) -> View | None:
    """A choice between two reads as a read of the nearest tensor that both are movements of."""
    others = {view.base: view for view in _down(other, views)}
    for view in _down(first, views):
        if view.base in others:
            pairs = zip(view.indices, others[view.base].indices, strict=True)
            return View(view.base, tuple(i if i is j else where(condition, i, j) for i, j in pairs))
    return None


def _down(view: View, views: Mapping[Tensor, View]) -> Iterator[View]:
    """A read, and what it is as one of the tensors below, of which those above it are movements."""
    yield view
    while view.base in views:
        view = _compose(view, views[view.base])
        yield view


def _composed(movements: Mapping[Tensor, View], ends: Set[Tensor], simplify: Simplify) -> dict[Tensor, View]:
    """Movements of movements as movements of what is none, those in `ends` simplified."""
    views: dict[Tensor, View] = {}
    composed: dict[Tensor, View] = {}
    for level in _levels(movements):
        below = {tensor: (view, views[view.base]) for tensor, view in level.items() if view.base in views}
        made = {tensor: _compose(outer, inner) for tensor, (outer, inner) in below.items()}
        made.update(_simplified({tensor: view for tensor, view in made.items() if _size(view) > LARGE_MAP}, simplify))
        composed.update(made)
        views.update({**level, **made})
    composed.update(_simplified({tensor: view for tensor, view in composed.items() if tensor in ends}, simplify))
    return composed


def _levels(movements: Mapping[Tensor, View]) -> Iterable[dict[Tensor, View]]:
    """Movements by how many movements are below them."""
    depth: dict[Tensor, int] = {}
    levels: list[dict[Tensor, View]] = []
    for tensor, view in movements.items():
        depth[tensor] = depth.get(view.base, -1) + 1
        if depth[tensor] == len(levels):
            levels.append({})
        levels[depth[tensor]][tensor] = view
    return levels


def _ends(program: Program, movements: Mapping[Tensor, View]) -> frozenset[Tensor]:
    """Tensors that something else than a movement reads, or that are outputs."""
    found = set(program.outputs)
    for tensor in tensors(*program.outputs):
        if tensor not in movements:
            found.update(sources(tensor))
    return frozenset(found)


def _size(view: View) -> int:
    """How many divisions a map contains."""
    return _count(view.indices, ("floordiv", "mod"))


def _chain(view: View) -> int:
    """How many choices the place along one axis takes, at most."""
    return max((_count((index,), ("where",)) for index in view.indices), default=0)


def _count(terms: Iterable[Index], ops: tuple[str, ...]) -> int:
    return sum(isinstance(term, Apply) and term.op in ops for term in walk(*terms))


def _compose(outer: View, inner: View) -> View:
    env = dict(zip(axes(outer.base.shape), outer.indices, strict=True))
    return View(inner.base, tuple(substitute(index, env) for index in inner.indices))


def _simplified(views: Mapping[Tensor, View], simplify: Simplify) -> dict[Tensor, View]:
    terms = list(dict.fromkeys(index for view in views.values() for index in view.indices))
    known = dict(zip(terms, simplify(terms), strict=True)) if terms else {}
    return {tensor: View(view.base, tuple(known[index] for index in view.indices)) for tensor, view in views.items()}
