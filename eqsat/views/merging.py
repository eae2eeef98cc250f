"""One view for several, wherever one exists.

A view is determined by its values: its box is where there are elements, its strides are differences of positions inside.  So there is at
most one candidate, and the question is whether it is right.  Three ways, the quicker first:

    strides    two views, by `strides.merge_by_strides`
    equality   any number: the e-graph simplifies gate and position, and the view is read off the terms
    points     any number: positions at some places refute a candidate, positions at all places prove it
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

import numpy as np

from eqsat.indices.simplifier import simplify, simplify_gated
from eqsat.ir.errors import InternalError
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Apply, Const, Index, Var, substitute, var, variables
from eqsat.ir.tensor import Shape
from eqsat.lowering.affine import Forms
from eqsat.views.reading import Array, Views, loops, read_at, reading
from eqsat.views.strided import Box, View, padding
from eqsat.views.strides import merge_by_strides

# at so many places a candidate is tried first
SOME_PLACES = 2**12
# up to here all places are looked at and the e-graph is not asked, as in prove_equal
FEW_PLACES = 2**16
# up to here all places are looked at where the e-graph finds nothing
ALL_PLACES = 2**22


# equality ----------------------------------------------------------------------------------------------------------
def merge_by_equality(views: Views) -> View | None:
    """The view that the e-graph finds: a gate of conditions on one axis each, and inside of that box an affine position.

    What the last mask excludes is padding whatever is below; it is taken off first, and put around what was found.
    """
    last, shape = views[-1], views[-1].shape
    if last.mask is not None:
        once = [1] * len(shape)
        inner = last.remapped(tuple(hi - lo for lo, hi in last.mask), once, [lo for lo, _ in last.mask])
        found = merge_by_equality((*views[:-1], inner))
        return found and found.remapped(shape, once, [-lo for lo, _ in last.mask])
    position, gate = simplify_gated(*reading(views))
    box = _box_of(gate, shape)
    if box is None:
        return None
    if any(lo >= hi for lo, hi in box):
        return padding(shape)
    # inside of the box an axis runs over hi - lo places: more is known of it there
    inside = {
        index: var(index.name, 0, hi - lo - 1) + lo if hi - lo > 1 else Const(lo)
        for index, (lo, hi) in zip(loops(shape), box, strict=True)
        if isinstance(index, Var)
    }
    form = Forms()(simplify(substitute(position, inside)))
    slopes = {atom.name: slope for atom, slope in form.terms.items() if isinstance(atom, Var)}
    if len(slopes) < len(form.terms):
        return None
    strides = tuple(slopes.get(f"idx{axis}", 0) for axis in range(len(shape)))
    return View(shape, strides, form.constant - sum(stride * lo for stride, (lo, _) in zip(strides, box, strict=True)), box)


def _box_of(gate: Index, shape: Shape) -> Box | None:
    """The box of the places at which a gate holds: no condition is on several axes, and those on one together are an interval."""
    if isinstance(gate, Const):
        return tuple((0, n if gate.value else 0) for n in shape)
    of_axis: dict[Index, list[Index]] = {}
    for condition in _conjuncts(gate):
        free = variables(condition)
        if len(free) != 1:
            return None
        of_axis.setdefault(free[0], []).append(condition)
    box = [_interval(index, of_axis[index]) if index in of_axis else (0, n) for index, n in zip(loops(shape), shape, strict=True)]
    return tuple(pair for pair in box if pair) if None not in box else None


def _interval(index: Index, conditions: Sequence[Index]) -> tuple[int, int] | None:
    """The values of a variable at which conditions on it alone hold, if they are neighbours and it has not too many values to try."""
    if not isinstance(index, Var) or index.extent > ALL_PLACES:
        return None
    tried = {index: np.arange(index.extent)}
    values = np.flatnonzero(np.logical_and.reduce([evaluate_index(condition, tried) for condition in conditions]))
    if not len(values):
        return 0, 0
    return (int(values[0]), int(values[-1]) + 1) if values[-1] - values[0] + 1 == len(values) else None


def _conjuncts(gate: Index) -> list[Index]:
    if isinstance(gate, Apply) and gate.op == "and":
        return [part for arg in gate.args for part in _conjuncts(arg)]
    return [gate]


# points ------------------------------------------------------------------------------------------------------------
def fit(views: Views, coordinates: Sequence[Array]) -> View | None:
    """The view with the values of the stack at a grid; None where no view has them.

    coordinates  for each axis of the last view places inside of its mask, in ascending order; one is enough where its stride is 0
    """
    upper = views[-1]
    position, valid = read_at(views, coordinates)
    if not valid.any():
        return padding(upper.shape)
    block, box = [], []
    for axis, (places, stride) in enumerate(zip(coordinates, upper.strides, strict=True)):
        some = np.flatnonzero(valid.any(axis=tuple(other for other in range(valid.ndim) if other != axis)))
        first, last = int(some[0]), int(some[-1])
        block.append(slice(first, last + 1))
        box.append((int(places[first]), int(places[last]) + 1) if stride else upper.box[axis])
    if not valid[tuple(block)].all():
        return None
    inside = [places[part] for places, part in zip(coordinates, block, strict=True)]
    return _through(position[tuple(block)], inside, upper.shape, tuple(box))


def _through(position: Array, places: Sequence[Array], shape: Shape, box: Box) -> View | None:
    """The affine function with these positions at these places, as a view."""
    origin = (0,) * position.ndim
    strides = []
    for axis, along in enumerate(places):
        step = position[(*origin[:axis], 1, *origin[axis + 1 :])] - position[origin] if len(along) > 1 else 0
        width = along[1] - along[0] if len(along) > 1 else 1
        if step % width:
            return None
        strides.append(int(step // width))
    offset = int(position[origin]) - sum(stride * int(along[0]) for stride, along in zip(strides, places, strict=True))
    grid = np.ix_(*places) if places else ()
    if not np.array_equal(position, np.broadcast_to(sum((s * i for s, i in zip(strides, grid, strict=True)), offset), position.shape)):
        return None
    return View(shape, tuple(strides), offset, box)


def places_of(view: View) -> int:
    """How many places inside of the mask a view can tell apart."""
    return prod(hi - lo for stride, (lo, hi) in zip(view.strides, view.box, strict=True) if stride)


def grid_of(view: View, most: int) -> list[Array]:
    """A grid of at most so many places inside of the mask of a view: all of them if they are few, else of the longest axes the first,
    and more spread over the rest."""
    counts = [hi - lo if stride else 1 for stride, (lo, hi) in zip(view.strides, view.box, strict=True)]
    taken = list(counts)
    while prod(taken) > most:
        longest = taken.index(max(taken))
        taken[longest] = -(-taken[longest] // 2)
    return [
        lo + (np.arange(n) if few == n else np.union1d(np.arange(few // 2), np.linspace(0, n - 1, few - few // 2).astype(np.int64)))
        for (lo, _), n, few in zip(view.box, counts, taken, strict=True)
    ]


# all three ---------------------------------------------------------------------------------------------------------
@lru_cache(maxsize=4096)
def one_view(views: Views) -> View | None:
    """The view that equals a stack, or None: there is none, or neither the rules nor ALL_PLACES places show it."""
    if any(view.reads_nothing for view in views):
        return padding(views[-1].shape)
    found = merge_by_strides(*views) if len(views) == 2 else None
    if found is not None:
        return found
    some, places = grid_of(views[-1], SOME_PLACES), places_of(views[-1])
    if fit(views, some) is None:
        return None
    found = merge_by_equality(views) if places > FEW_PLACES else None
    if found is None:
        return fit(views, grid_of(views[-1], ALL_PLACES)) if places <= ALL_PLACES else None
    _check(found, views, some)
    return found


def _check(found: View, views: Views, coordinates: Sequence[Array]) -> None:
    """Raises InternalError where a view that the e-graph found differs from the stack at one of these places."""
    position, valid = read_at(views, coordinates)
    ours, exists = read_at((found,), coordinates)
    if not np.array_equal(valid, exists) or not np.array_equal(position[valid], ours[valid]):
        raise InternalError(f"merge_by_equality: found {found}, which differs from {views}")


def fewest_views(views: Views) -> Views:
    """An equal stack in which no run of views equals a single one; of the runs that do, the longest are replaced first."""
    for width in range(len(views), 1, -1):
        for start in range(len(views) - width + 1):
            found = one_view(views[start : start + width])
            if found is not None:
                return fewest_views((*views[:start], found, *views[start + width :]))
    return views
