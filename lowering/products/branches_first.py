"""Products that conditions choose among, computed before what chooses, by kernels of their own.

    out[i, j] = where(i < n, sum over k of f(i, k, j), sum over k of g(i - n, k, j))   ->   s[i, j] and t[i, j], the sums,
    and out[i, j] = where(i < n, s[i, j], t[i - n, j])

Within a condition sums cannot be kept in tiles, and what is stacked would be computed for every piece.  Each is computed for the elements
for which the conditions around it may choose it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from eqsat.ir.index import Index, Var, apply, substitute
from eqsat.ir.loops import over
from eqsat.ir.tensor import Build, Call, Position, Read, Reduce, Scalar, Shape, axes, axis, operands, reindexed
from eqsat.lowering.affine import Forms, bounds
from eqsat.lowering.folds.parted import terms_of
from eqsat.lowering.nest import Stages, alike, free_variables, scope_order
from eqsat.lowering.ranges.seams import begins, holds

# what is computed in one of these for each element is worth a kernel
LEAST_TERMS = 8
# the first and the last value of each axis
Ranges = tuple[tuple[int, int], ...]


class _Branch(NamedTuple):
    """What conditions may choose, the axes that it depends on, and for which values of each it may be chosen."""

    term: Scalar
    known: tuple[Var, ...]
    ranges: Ranges

    def read(self) -> Read:
        """The read that takes the place of the branch once a tensor of its own holds it."""
        at: list[Index] = []
        here: dict[Var, Index] = {}
        extents: list[int] = []
        for v, (lo, hi) in zip(self.known, self.ranges, strict=True):
            inside = axis(len(extents), hi - lo + 1)
            here[v] = inside + lo if lo else inside
            index: Index = apply("min", v, hi) if hi < v.hi else v
            index = apply("max", index, lo) if lo > v.lo else index
            at.append(index - lo if lo else index)
            extents.append(inside.extent)
        return Read(Build(tuple(extents), reindexed(self.term, here)), tuple(at))


def branches_first(build: Build) -> tuple[Stages, Build] | None:
    """The branches that hold folds, and the build over them; None where conditions do not choose among them, or tiles can hold them."""
    body, every = alike(build.body), axes(build.shape)
    found = list(_branches(body, build.shape))
    everywhere = len(found) == 1 and found[0].known == every and found[0].ranges == tuple(v.bounds for v in every)
    if not found or everywhere:
        return None
    reads = {branch.term: branch.read() for branch in found}
    stages = tuple((read.tensor,) for read in reads.values() if isinstance(read.tensor, Build))
    return stages, Build(build.shape, over(body, {}, reads))


def _branches(body: Scalar, shape: Shape) -> Iterator[_Branch]:
    """The largest terms with long folds, but without conditions, that conditions decide between, where they may choose them."""
    every, terms = axes(shape), list(scope_order(body))
    holding, choosing = _holding(terms)
    if holding.isdisjoint(choosing):
        return
    free = free_variables(body)
    reached: dict[Scalar, Ranges] = {body: tuple(v.bounds for v in every)}
    chosen = set[Scalar]()
    for term in (term for term in reversed(terms) if term in reached and term in holding):
        if term in choosing:
            for arg, ranges in _within(term, reached[term], every):
                reached[arg] = tuple((min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(reached.get(arg, ranges), ranges, strict=True))
                chosen |= {arg} if _chooses(term) or term in chosen else set()
        elif term in chosen:
            known = [(v, found) for v, found in zip(every, reached[term], strict=True) if v in free[term]]
            yield _Branch(term, tuple(v for v, _ in known), tuple(found for _, found in known))


def _holding(terms: Iterable[Scalar]) -> tuple[set[Scalar], set[Scalar]]:
    """The terms with long folds, and those with conditions that decide between elements; what is within folds stays whole."""
    holding, choosing = set[Scalar](), set[Scalar]()
    for term in terms:
        below = () if isinstance(term, Reduce) else operands(term)
        if not holding.isdisjoint(below) or (isinstance(term, Reduce) and terms_of(term) >= LEAST_TERMS):
            holding.add(term)
        if _chooses(term) or not choosing.isdisjoint(below):
            choosing.add(term)
    return holding, choosing


def _chooses(term: Scalar) -> bool:
    return isinstance(term, Call) and term.op == "where" and isinstance(term.args[0], Position)


def _within(term: Scalar, ranges: Ranges, every: Sequence[Var]) -> Iterator[tuple[Scalar, Ranges]]:
    """The operands of a term that is needed at some values of the axes, and at which they are."""
    if not isinstance(term, Call) or not _chooses(term):
        yield from ((arg, ranges) for arg in operands(term))
        return
    condition, *branches = term.args
    assert isinstance(condition, Position)
    for branch, wanted in zip(branches, (True, False), strict=True):
        found = (_narrowed(condition.index, v, at, wanted) if at[0] < at[1] else at for v, at in zip(every, ranges, strict=True))
        yield branch, tuple(found)


def _narrowed(condition: Index, variable: Var, at: tuple[int, int], wanted: bool) -> tuple[int, int]:
    """The first and the last value of an axis, of these, for which a condition may be so; all where it may be for none."""
    lo, hi = at
    loop = Var(variable.name, lo, hi)
    starts = begins((substitute(condition, {variable: loop}),), loop)
    possible = []
    for first, after in zip(starts, [*starts[1:], hi + 1], strict=True):
        piece = substitute(condition, {variable: Var(variable.name, first, after - 1)})
        if holds(piece, lambda term: bounds(Forms()(term))) is not (not wanted):
            possible.append((first, after - 1))
    return (possible[0][0], possible[-1][1]) if possible else at
