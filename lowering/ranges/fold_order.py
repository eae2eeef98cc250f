"""Folds along several axes in the order in which what they fold lies in memory.

    sum over r0 < 301, r1 < 200, r2 < 3 of x[r1, r0, r2]     ->     sum over r0 < 200, r1 < 301, r2 < 3 of x[r0, r1, r2]

Such ranges are one, as all of a transpose is all of what is transposed, and what is cut into parts is cut into neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from eqsat.ir.affine import step_in_memory
from eqsat.ir.dtypes import is_inexact
from eqsat.ir.index import Index, Var
from eqsat.ir.loops import over
from eqsat.ir.ops import BIT_FOLDS
from eqsat.ir.tensor import Build, Read, Reduce, Scalar, level_of, operands, rebuild, reduction, scalars
from eqsat.lowering.nest import chains
from eqsat.lowering.ranges.fold_seams import folds_cut

# folds whose order never matters
ANY_ORDER = ("max", "min", *BIT_FOLDS)


def folds_arranged(build: Build, reorder: bool = True) -> Build:
    """A build with its folds in the order of memory, and cut at seams (`folds_cut`); `reorder`: whether floats may be added in another
    order."""
    return folds_cut(in_memory_order(build, reorder), reorder)


def in_memory_order(build: Build, reorder: bool = True) -> Build:
    """The build with the folds of one operation in each other arranged; as it is where what they fold disagrees."""
    arranged: dict[Scalar, Sequence[Reduce]] = {}
    for chain in chains(build.body):
        free = reorder or chain[0].op in ANY_ORDER or not is_inexact(chain[0].dtype)
        if free and len(chain) > 1 and all(fold.variable.lo == 0 and level_of(fold.variable) is not None for fold in chain):
            arranged[chain[0]] = chain
    orders = {first: _by_steps(chain) for first, chain in arranged.items()}
    if all(orders[first] == [fold.variable for fold in chain] for first, chain in arranged.items()):
        return build
    done: dict[Scalar, Scalar] = {}
    for term in scalars(build.body):
        if isinstance(term, Reduce) and term in arranged:
            done[term] = _folded(term, arranged[term], orders[term], done[arranged[term][-1].body])
        else:
            done[term] = rebuild(term, tuple(done[arg] for arg in operands(term)))
    return Build(build.shape, done[build.body])


def _by_steps(chain: Sequence[Reduce]) -> list[Var]:
    """The variables of folds in each other by how far a step goes, the farthest first; as they are where two reads disagree."""
    variables = [fold.variable for fold in chain]
    steps: dict[Var, list[int]] = {v: [] for v in variables}
    for read in (term for term in scalars(chain[-1].body) if isinstance(term, Read)):
        for v in variables:
            step = step_in_memory(read.indices, read.tensor.shape, v)
            if step is None:
                return variables
            steps[v].append(abs(step))
    found = sorted(variables, key=lambda v: -sum(steps[v]))
    # what does not vary with one of two folds lies alike in either order
    agree = all(one >= other or not one for u, v in combinations(found, 2) for one, other in zip(steps[u], steps[v], strict=True))
    return found if agree else variables


def _folded(first: Reduce, chain: Sequence[Reduce], order: Sequence[Var], body: Scalar) -> Scalar:
    """A body folded along variables, the first outermost; those of a place have the names of those that were there."""
    levels = [level_of(fold.variable) for fold in chain]
    named = {v: reduction(level, v.extent) for v, level in zip(order, levels, strict=True) if level is not None}
    env: dict[Var, Index] = dict(named)
    body = over(body, env)
    for v in reversed(order):
        body = Reduce(first.op, named[v], body)
    return body
