"""What a fold adds up that is made of other folds, computed before it by a kernel of its own.

    out[i, j] = sum over r of g(sum over k of f(i, r, k, j))   ->   t[i, r, j] = g(sum over k of f(i, r, k, j)),
    and out[i, j] = sum over r of t[i, r, j]

Within another fold sums of products are kept in no tiles.  So are places that are made of folds, of what a fold gathers:

    out[i, j] = sum over k of f(w[argmax over e of g(i, e), k, j])   ->   p[i] = argmax over e of g(i, e), and out over w[p[i], k, j]
"""

from __future__ import annotations

from collections.abc import Iterator

from eqsat.ir.index import Var
from eqsat.ir.loops import over
from eqsat.ir.tensor import Build, Gather, Read, Reduce, Scalar, axes, has_fold, scalars
from eqsat.lowering.folds.parted import for_threads, terms_of
from eqsat.lowering.nest import Stages, alike, chains, free_variables
from eqsat.lowering.products.product import stored

# folds within others of fewer terms are written out
LEAST_TERMS = 8


def places_first(build: Build) -> tuple[Stages, Build] | None:
    """The places of what a fold gathers that are made of folds themselves, as an argmax chooses matrices, and the build over them; else
    they stand between the loops of the fold and those around it."""
    body = alike(build.body)
    free = free_variables(body)
    found: dict[Scalar, Scalar] = {}
    for chain in chains(body):
        folded = {fold.variable for fold in chain}
        for term in scalars(chain[-1].body):
            for place in term.args if isinstance(term, Gather) else ():
                if has_fold(place) and folded.isdisjoint(free[place]):
                    found[place] = stored(place, [v for v in axes(build.shape) if v in free[place]])
    if not found:
        return None
    made = (read.tensor for read in found.values() if isinstance(read, Read) and isinstance(read.tensor, Build))
    return tuple((tensor,) for tensor in made), Build(build.shape, over(body, {}, found))


def terms_first(build: Build) -> Iterator[tuple[Stages, Build]]:
    """The terms of each fold that is made of others, and the build over them: with the variables of folds in the last places, outer ones
    first, and with these before the last axis."""
    body = alike(build.body)
    free = free_variables(body)
    for chain in chains(body):
        term, folded = chain[-1].body, [fold.variable for fold in chain]
        within = (below for below in scalars(term) if isinstance(below, Reduce))
        if any(v.lo for v in free[term]) or not any(terms_of(one) >= LEAST_TERMS and not free[one].isdisjoint(folded) for one in within):
            continue
        known = [v for v in axes(build.shape) if v in free[term]]
        inner = sorted(free[term].difference(known), key=lambda v: v.name, reverse=True)
        orders: dict[tuple[Var, ...], None] = dict.fromkeys(((*known, *inner), (*known[:-1], *inner, *known[-1:])))
        for order in orders:
            read = stored(term, order)
            assert isinstance(read.tensor, Build)
            rest = Build(build.shape, over(body, {}, {term: read}))
            before, rest = for_threads(rest)
            yield ((read.tensor,), *before), rest
