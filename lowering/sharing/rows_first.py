"""What loops share that do not go along memory, as a row of its own, made before them.

    out[i, j] = f(x[i, j], g(v[j, 0]))     ->     r[j] = g(v[j, 0]), and out[i, j] = f(x[i, j], r[j])

A column of an array, or what is gathered from one, is read from as many lines of the cache as it has elements, again for every row; so are
the coordinates of points, which a short loop goes through, as a fold of three terms that is written out: they are rows then, one for each.
What goes along another loop than a larger array with all its loops is turned.
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod

from eqsat.ir.affine import step_in_memory
from eqsat.ir.index import Var, variables
from eqsat.ir.loops import over
from eqsat.ir.tensor import Build, Gather, Read, Reduce, Scalar, axes, has_fold, scalars
from eqsat.lowering.nest import Free, Stages, alike, free_variables, largest
from eqsat.lowering.products.product import stored

# how often what is made is read, and what is made at the most
LEAST_TIMES, MOST_ELEMENTS = 4, 1 << 20
# iterations of short loops
SHORT = 8


def rows_first(build: Build) -> tuple[Stages, Build] | None:
    """What is shared, and the build over it; None where all that is shared goes along memory, or serves too few."""
    if len(build.shape) < 2 and not has_fold(build.body):
        return None
    body = alike(build.body)
    free = free_variables(body)
    # of folds in each other the inner ones come first among the terms
    folds = dict.fromkeys(term.variable for term in scalars(body) if isinstance(term, Reduce))
    loops = (*axes(build.shape), *reversed(folds))
    inner, around = _innermost(body)
    found: dict[Scalar, Scalar] = {}
    for term in largest(body, {term for term in free if _is_shared(term, free, loops)}):
        along = inner if inner is not None and free[term] < around else None
        known = sorted((v for v in loops if v in free[term]), key=lambda v: (v.extent > SHORT, v is along))
        if any(_jumps(below, along) for below in scalars(term)):
            found[term] = stored(term, known)
    if not found:
        return None
    made = dict.fromkeys(read.tensor for read in found.values() if isinstance(read, Read) and isinstance(read.tensor, Build))
    return tuple((tensor,) for tensor in made), Build(build.shape, over(body, {}, found))


def _is_shared(term: Scalar, free: Free, loops: tuple[Var, ...]) -> bool:
    """Whether a term varies with some loops, and not with others around them, which go round often enough."""
    here = free[term]
    if not here or any(v.lo for v in here) or prod(v.extent for v in here) > MOST_ELEMENTS:
        return False
    last = max(loops.index(v) for v in _long(here))
    around = prod(v.extent for v in loops[:last] if v not in here)
    return around >= LEAST_TIMES and not has_fold(term)


def _innermost(body: Scalar) -> tuple[Var | None, frozenset[Var]]:
    """The loop along which the read goes through memory that has most loops, and these; None where several have as many."""
    reads = [term for term in scalars(body) if isinstance(term, Read)]
    most = max((prod(v.extent for v in variables(*read.indices)) for read in reads), default=0)
    largest = [read for read in reads if prod(v.extent for v in variables(*read.indices)) == most]
    if len(largest) != 1:
        return None, frozenset()
    around = variables(*largest[0].indices)
    units = [v for v in around if step_in_memory(largest[0].indices, largest[0].tensor.shape, v) in (1, -1)]
    return (units[0] if len(units) == 1 else None), frozenset(around)


def _jumps(term: Scalar, along: Var | None) -> bool:
    """Whether a term reads memory of which no loop, unless it is short, goes through neighbours; or not the one `along` which all goes."""
    if isinstance(term, Gather):
        return True
    if not isinstance(term, Read):
        return False
    inside = variables(*term.indices)
    loops = [along] if along in inside else _long(inside)
    return all(step_in_memory(term.indices, term.tensor.shape, v) not in (1, -1) for v in loops if v is not None)


def _long(loops: Collection[Var]) -> Collection[Var]:
    """Those of some loops that are not short; all where none is long."""
    return [v for v in loops if v.extent > SHORT] or loops
