"""Folds that the elements of a build share, computed before it by kernels of their own, which threads share as they do others.

    out[i, c] = g(x[i, c], sum over k of f(k, c))   ->   s[c] = sum over k of f(k, c), and out[i, c] = g(x[i, c], s[c])

In one kernel such folds stand before the loops over all elements, so one thread computes them and these loops.  Long ones are computed in
parts; what is made of them alone, as a deviation is of a variance, is computed once behind them.  Those of the middle axes of something
(`folds_apart`) keep the loops around them outside, so that neither they nor the elements go along memory; and those of columns, shared by
a row of elements (`folds_across`), go across memory there, while columns are folded side by side by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import prod

from eqsat.ir.index import Var
from eqsat.ir.loops import over
from eqsat.ir.tensor import Build, Read, Reduce, Scalar, Shape, axes, axis, operands, reindexed, scalars
from eqsat.lowering.folds.parted import columns_in_parts, for_threads, in_parts, row_in_parts, terms_of
from eqsat.lowering.nest import Stages, alike, free_variables
from eqsat.lowering.products.across import is_across
from eqsat.lowering.sharing.common_terms import stored_by_terms

# so many values are shared at the most, of so many terms at the least; of a build of so few elements what is within its folds is shared too
MOST_ELEMENTS, LEAST_TERMS, FEW = 512, 1 << 15, 128
# so many elements share a fold that is computed apart at the least
LEAST_SHARING = 4
# the axes among the variables of a term, if elements share it so that it is computed first, or None; `nested`: folds are of it
Shared = Callable[[Scalar, frozenset[Var], Shape, bool], tuple[Var, ...] | None]


def folds_first(build: Build) -> tuple[Stages, Build] | None:
    """What is computed before, and the build over it; None where its elements share no long fold, or only those beside each other do."""
    return _first(build, _shared_by_rows)


def folds_apart(build: Build) -> tuple[Stages, Build] | None:
    """The same for folds that the elements along some axes share, while loops over other axes stand within those."""
    return _first(build, _shared_between)


def folds_across(build: Build) -> tuple[Stages, Build] | None:
    """The same for folds that go across memory from term to term, as sums of the rows of a transpose do."""
    return _first(build, _shared_across)


def _first(build: Build, shared: Shared) -> tuple[Stages, Build] | None:
    body, stages = alike(build.body), list[tuple[Build, ...]]()
    while found := dict(_long_folds(build.shape, body, shared)):
        totals: dict[Scalar, Scalar] = {}
        parts: list[Build] = []
        for fold, known in found.items():
            read = stored_by_terms(fold, known)
            made = read.tensor
            assert isinstance(made, Build)
            before, whole = in_parts(made) or columns_in_parts(made) or row_in_parts(made) or (((made,),), None)
            parts += (one for group in before for one in group)
            behind = {axis(k, n): place for k, (n, place) in enumerate(zip(made.shape, read.indices, strict=True))}
            totals[fold] = read if whole is None else reindexed(whole.body, behind)
        body = over(body, {}, totals)
        derived = {term: stored_by_terms(term, known) for term, known in _made_of(set(totals.values()), build.shape, body, shared)}
        body = over(body, {}, derived)
        stages += (*_together(parts), *_together(read.tensor for read in derived.values() if isinstance(read.tensor, Build)))
    if not stages:
        return None
    rest = Build(build.shape, body)
    before, rest = for_threads(rest)
    return (*stages, *before), rest


def _together(builds: Iterable[Build]) -> Iterator[tuple[Build, ...]]:
    """Builds of one shape are computed together."""
    groups: dict[Shape, dict[Build, None]] = {}
    for build in builds:
        groups.setdefault(build.shape, {})[build] = None
    yield from map(tuple, groups.values())


def _long_folds(shape: Shape, body: Scalar, shared: Shared) -> Iterator[tuple[Reduce, tuple[Var, ...]]]:
    """The long folds that are shared, with the axes that each depends on; none that is made of another one."""
    free, nested = free_variables(body), _in_folds(body)
    found: set[Scalar] = set()
    for fold in (term for term in scalars(body) if isinstance(term, Reduce) and not term.variable.lo):
        known = shared(fold, free[fold], shape, fold in nested)
        if known is None or not found.isdisjoint(scalars(fold)):
            continue
        if prod(v.extent for v in known) * terms_of(fold) >= LEAST_TERMS:
            found.add(fold)
            yield fold, known


def _made_of(totals: set[Scalar], shape: Shape, body: Scalar, shared: Shared) -> Iterator[tuple[Scalar, tuple[Var, ...]]]:
    """The largest terms that are shared which are made of these, and of no other fold, with the axes that each depends on."""
    free, nested = free_variables(body), _in_folds(body)
    within = {below for total in totals for below in scalars(total)}
    holding, folding = set(totals), set[Scalar]()
    for term in scalars(body):
        below = operands(term)
        if term not in within and (isinstance(term, Reduce) or not folding.isdisjoint(below)):
            folding.add(term)
        if not holding.isdisjoint(below):
            holding.add(term)
    stack, seen = [body], set[Scalar]()
    while stack:
        term = stack.pop()
        if term in seen or term not in holding or isinstance(term, Read):
            continue
        seen.add(term)
        known = shared(term, free[term], shape, term in nested) if term not in folding else None
        if known is None:
            stack += operands(term)
        else:
            yield term, known


def _in_folds(body: Scalar) -> set[Scalar]:
    """The terms that folds are of."""
    return {term for fold in scalars(body) if isinstance(fold, Reduce) for term in scalars(fold.body)}


def _shared_by_rows(_term: Scalar, free: frozenset[Var], shape: Shape, nested: bool) -> tuple[Var, ...] | None:
    """Where all rows of the elements share it, or all terms of a fold; None for too many values."""
    loops, known = _loops(shape), _known(free, shape)
    shared = (bool(loops) and loops[0] not in free) or (nested and prod(shape) <= FEW)
    return known if shared and len(known) == len(free) and prod(v.extent for v in known) <= MOST_ELEMENTS else None


def _shared_between(_term: Scalar, free: frozenset[Var], shape: Shape, _nested: bool) -> tuple[Var, ...] | None:
    """Where elements along an axis share it that does not follow all of its own axes."""
    loops, known = _loops(shape), _known(free, shape)
    leading = all(v in free for v in loops[: len(known)])
    few = prod(v.extent for v in known) * LEAST_SHARING <= prod(shape)
    return known if known and not leading and len(known) == len(free) and few else None


def _shared_across(term: Scalar, free: frozenset[Var], shape: Shape, _nested: bool) -> tuple[Var, ...] | None:
    """Where it is such a fold, and elements along an axis share it."""
    known = _known(free, shape)
    few = prod(v.extent for v in known) * LEAST_SHARING <= prod(shape)
    across = isinstance(term, Reduce) and any(is_across(read, term.variable, known) for read in scalars(term) if isinstance(read, Read))
    return known if across and len(known) == len(free) and few else None


def _loops(shape: Shape) -> list[Var]:
    return [v for v in axes(shape) if v.extent > 1]


def _known(free: frozenset[Var], shape: Shape) -> tuple[Var, ...]:
    return tuple(v for v in axes(shape) if v in free)
