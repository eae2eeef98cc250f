"""Builds that go along the same short rows, as one build: for each row a fold of what the one before computed for it, and so on.

    a[i, j] = exp(x[i, j] - max over k of x[i, k])        out[i, j] = a[i, j] / sum over k of a[i, k]

As loops of their own each would turn the rows in memory (see lowering.upright), once to read them and once to write them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from eqsat.ir.definitions import with_inlined
from eqsat.ir.index import Const
from eqsat.ir.tensor import Build, Read, Reduce, Scalar, Tensor, axes, axis, has_fold, scalars, sources
from eqsat.lowering.folds.upright import LONGEST_UPRIGHT, UPRIGHT_ROWS
from eqsat.lowering.nest import free_variables


def as_one(group: tuple[Build, ...], producers: Sequence[Build], once: Collection[Tensor] = ()) -> tuple[int, Build] | None:
    """The results of a group, computed from what the first so many producers, the last of which run first, are made of; None where that is
    none, or nothing is folded.  What is computed but `once`, for it is compared with what is made of it, stays a tensor."""
    results, *others = group
    if others:
        return None
    joined = (producer not in once and _goes_along(results, producers[:k], producer) for k, producer in enumerate(producers))
    count = next((k for k, goes_along in enumerate(joined) if not goes_along), len(producers))
    if not count or not _has_short_rows(results):
        return None
    inner, found = frozenset[Tensor](producers[:count]), results
    while not inner.isdisjoint(sources(found)):
        found = with_inlined(found, lambda tensor: _function(tensor, inner))
    return (count, found) if has_fold(found.body) else None


def _function(tensor: Tensor, inner: frozenset[Tensor]) -> Scalar | None:
    return tensor.body if isinstance(tensor, Build) and tensor in inner else None


def _has_short_rows(build: Build) -> bool:
    return 1 < build.shape[-1] <= LONGEST_UPRIGHT and build.size // build.shape[-1] >= UPRIGHT_ROWS


def _goes_along(results: Build, between: Sequence[Build], producer: Build) -> bool:
    """Whether a producer has the rows of the results, read for the same rows by these and the producers between, and computes its folds
    once for a row."""
    rows, along = results.shape[:-1], len(results.shape) - 1
    if len(producer.shape) not in (along, along + 1) or producer.shape[:along] != rows or not _is_short(producer, along):
        return False
    free, element = free_variables(producer.body), axis(along, producer.shape[-1])
    if any(isinstance(term, Reduce) and (element in free[term] or term.variable.extent > LONGEST_UPRIGHT) for term in free):
        return False
    read = [term for user in (results, *between) for term in scalars(user.body) if isinstance(term, Read) and term.tensor is producer]
    own = [v if v.extent > 1 else Const(0) for v in axes(rows)]
    return all(index is row or v.extent == 1 for term in read for index, row, v in zip(term.indices, own, axes(rows), strict=False))


def _is_short(producer: Build, along: int) -> bool:
    return len(producer.shape) == along or producer.shape[-1] <= LONGEST_UPRIGHT
