"""Loops that end at a size, cut where what they read changes, at places that are sizes themselves:

    for i < n + m: where(i < n, x[i], y[i - n])     ->  for i < n: x[i], and for i < m: y[i]

for sizes of LEAST_SIZE and more, of which the order of seams is known.  Conditions are decided by what polynomials of sizes say of bounds,
where `seams` has numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise

from eqsat.ir.index import Apply, Const, Index, Var, substitute, walk
from eqsat.ir.interval import Interval
from eqsat.ir.loops import Bind, Part, Stmt
from eqsat.ir.polynomials import Polynomial, named, polynomial_of
from eqsat.ir.size_bounds import SizeBounds
from eqsat.ir.tensor import Reduce, Size, is_size
from eqsat.lowering.affine import DIVISIONS
from eqsat.lowering.blocks import BlockPlacer
from eqsat.lowering.nest import Nest, free_variables
from eqsat.lowering.place import Scope, stores
from eqsat.lowering.ranges.seams import MOST_PIECES, QUOTIENTS, SEAM_MARKS, branches, decided, either_way

# sizes for which the loops are written
LEAST_SIZE = 16
# iterations of other loops that a comparison changes with
MOST_STEPS = 16
ZERO, ONE = Polynomial.number(0), Polynomial.number(1)


# statements, and what parts of sizes their loops end at
Cut = tuple[tuple[Stmt, ...], tuple[Part, ...]]


def at_seams(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str], sizes: Sequence[Size]) -> Cut | None:
    """The loops of a nest in pieces; None where nothing changes along a size, or where that is not known."""
    if not any(loop.extent == size.marker for loop in nest.loops for size in sizes) or any(size.most < LEAST_SIZE for size in sizes):
        return None
    cuts = _SizeCuts(outputs, buffers, sizes)
    cuts.place(nest, 0, cuts.placer.top)
    return cuts.result() if cuts.made else None


class _Known:
    """What is known of index terms where sizes are no less than LEAST_SIZE.

    own      sizes with these bounds, as they are written in polynomials, and as the kernel has them
    extents  what extents of loops stand for
    wholes   of pieces by their extents: those of the loops to sizes that they are of
    """

    def __init__(self, sizes: Sequence[Size]) -> None:
        told = {size.name: size.variable for size in sizes if not size.is_made}
        larger = {name: Var(v.name, max(v.lo, LEAST_SIZE), max(v.hi, LEAST_SIZE + 1)) for name, v in told.items()}
        self.extents = {size.marker: named(size.terms, larger.__getitem__) for size in sizes}
        self.markers = {larger[size.name]: size.marker for size in sizes if not size.is_made}
        self.own: dict[Var, Index] = {larger[name]: v for name, v in told.items()}
        self.env: dict[Var, Index] = {size.variable: self.extents[size.marker].term for size in sizes}
        self.variables = {size.marker: size.variable for size in sizes}
        self.wholes: dict[int, int] = {}
        self.bounds = SizeBounds(self.extents)

    def polynomial(self, term: Index) -> Polynomial | None:
        return polynomial_of(substitute(term, self.env))

    def interval(self, term: Index) -> Interval:
        lows, highs = self.bounds.of(substitute(term, self.env))
        return max(low.bounds[0] for low in lows), min(high.bounds[1] for high in highs)

    def written(self, value: Polynomial) -> Index:
        """In the sizes of the kernel."""
        return substitute(value.term, self.own)

    def may_end(self, counts: Iterable[Polynomial]) -> bool:
        """Whether extents can stand for so many iterations: each is greater than they ever are, and stands for nothing else."""
        known = dict(self.extents)
        return all(
            count.is_number
            or (all(k > 0 for monomial, k in count.terms if monomial) and known.setdefault(count.at(self.markers), count) == count)
            for count in counts
        )

    def part(self, name: str, loop: Var, count: Polynomial) -> Var:
        """So many iterations of a loop."""
        if count.is_number:
            return Var(name, 0, count.constant - 1)
        marker = count.at(self.markers)
        self.extents[marker] = count
        self.wholes.setdefault(marker, self.wholes.get(loop.extent, loop.extent))
        return Var(name, 0, marker - 1)

    def compared(self, one: Polynomial, other: Polynomial) -> int | None:
        """Whether one is less, the same or greater, whatever sizes are; None where that is not known."""
        low, high = (one - other).bounds
        return -1 if high < 0 else 1 if low > 0 else 0 if low == high == 0 else None


class _SizeCuts:
    """Places a nest in pieces of its loops; `made`: whether there are several."""

    def __init__(self, outputs: tuple[str, ...], buffers: frozenset[str], sizes: Sequence[Size]) -> None:
        self.outputs, self.known, self.made = outputs, _Known(sizes), False
        self.placer = BlockPlacer(buffers)

    def result(self) -> Cut:
        known = self.known
        own = {marker: Var(f"$part{k}", 1, marker) for k, marker in enumerate(known.wholes) if marker not in known.variables}
        counts = (Bind(variable, known.written(known.extents[marker])) for marker, variable in own.items())
        variables = known.variables | own
        parts = (Part(variables[marker], marker, whole) for marker, whole in known.wholes.items())
        return (*counts, *self.placer.top.body), tuple(parts)

    def place(self, nest: Nest, at: int, scope: Scope) -> None:
        """The nest inside of a scope; its loops before this one stay whole."""
        for k in range(at, len(nest.loops)):
            starts = self._begins(nest, nest.loops[k])
            if len(starts) > 1:
                break
        else:
            opened = self.placer.nest(scope, *nest.loops)
            opened[-1].body += stores(self.outputs, nest.index, self.placer.place(nest.body, opened[-1]))
            self.placer.close_all(opened)
            return
        around = self.placer.nest(scope, *nest.loops[:k])
        ends = [*starts, self.known.extents[nest.loops[k].extent]]
        self.made = True
        for number, (first, end) in enumerate(pairwise(ends)):
            cut = self._piece(nest, k, number, first, end - first)
            self.place(cut, k, around[-1])
        self.placer.close_all(around)

    def _piece(self, nest: Nest, k: int, number: int, first: Polynomial, count: Polynomial) -> Nest:
        """The loops of a nest from one on, that over some of its values."""
        loop, inner = nest.loops[k], nest.loops[k + 1 :]
        piece = self.known.part(f"{loop.name}_{number}", loop, count)
        own = {v: Var(f"{v.name}_{number}", v.lo, v.hi) for v in (*inner, *_folds_over(nest, nest.loops[k:]))}
        begin, step = self.known.written(first), piece if piece.extent > 1 else Const(0)
        env: dict[Var, Index] = {**own, loop: step if first == ZERO else begin if piece.extent == 1 else begin + step}
        loops = (*(() if piece.extent == 1 else (piece,)), *(own[v] for v in inner))
        return Nest(loops, decided(nest.body, env, self.known.interval), substitute(nest.index, env))

    def _begins(self, nest: Nest, loop: Var) -> list[Polynomial]:
        """Where pieces of a loop to a size begin: at its first value, and where some comparison of it decides otherwise; nothing where that
        is not known."""
        end = self.known.extents.get(loop.extent)
        if end is None or loop.lo:
            return []
        found = [ZERO]
        for seam, *others in self._seams(nest, loop):
            if not set(found).isdisjoint(others):
                continue
            sides = [self.known.compared(seam, other) for other in (*found, end)]
            if sides[0] == -1 or sides[-1] in (0, 1) or 0 in sides:
                continue
            if None in sides:
                return []
            found.insert(sides.index(-1), seam)
        counts = (following - first for first, following in pairwise([*found, end]))
        return found if len(found) <= MOST_PIECES and self.known.may_end(counts) else []

    def _seams(self, nest: Nest, loop: Var) -> Iterator[tuple[Polynomial, ...]]:
        """The values of a loop from which on a comparison may decide otherwise; of several in one any will do, and they come last."""
        either: list[tuple[Polynomial, ...]] = []
        for term in walk(*nest.terms):
            if not isinstance(term, Apply):
                continue
            if term.op in DIVISIONS:
                divisor = self.known.polynomial(term.args[1])
                if divisor is not None and not divisor.is_number:
                    for k in QUOTIENTS:
                        yield from zip(self._reached(term.args[0], loop, divisor.times(k)))
            elif term.op == "bool":
                for mark in SEAM_MARKS["ne"]:
                    yield from zip(self._reached(term.args[0], loop, Polynomial.number(mark)))
            elif compared := either_way(term.op, *term.args) or (term.args if term.op in SEAM_MARKS else ()):
                for one, other in itertools.product(*map(branches, compared)):
                    reached = [tuple(self._reached(one - other, loop, Polynomial.number(mark))) for mark in SEAM_MARKS.get(term.op, (0, 1))]
                    if term.op in SEAM_MARKS:
                        yield from zip(itertools.chain(*reached))
                    else:  # where both are equal, either of them will do
                        either += zip(*reached, strict=True)
        yield from either

    def _reached(self, term: Index, loop: Var, mark: Polynomial) -> Iterator[Polynomial]:
        """The values of a loop from which on a term is at least a mark, or below: for some, and for all values of other loops."""
        form = self.known.polynomial(term)
        step = dict(form.terms).get((loop,), 0) if form else 0
        if form is None or not step:
            return
        rest = form - Polynomial.size(loop).times(step)
        others = {v for monomial, _ in rest.terms for v in monomial if not is_size(v)}
        if (
            any(len(monomial) > 1 and not others.isdisjoint(monomial) for monomial, _ in rest.terms)
            or loop in others
            or any(v.extent in self.known.extents or v.extent > MOST_STEPS for v in others)
        ):
            return
        ends = [Polynomial.of(_at(rest, others, side)) for side in (1, -1)] if others else [rest]
        for end in ends:  # the least value that is no less than (mark - end) / step, or greater than (end - mark) / -step
            before = mark - end - ONE if step > 0 else end - mark
            found = before.divided(Polynomial.number(abs(step)))
            if found is not None:
                yield found + ONE


def _at(form: Polynomial, loops: Collection[Var], side: int) -> Iterator[tuple[tuple[Var, ...], int]]:
    """The terms of a form where loops make it least, or most."""
    for monomial, k in form.terms:
        if monomial and monomial[0] in loops:
            yield (), k * (monomial[0].lo if k * side > 0 else monomial[0].hi)
        else:
            yield monomial, k


def _folds_over(nest: Nest, loops: Collection[Var]) -> Iterator[Var]:
    """The variables of the folds that depend on some loops, outer ones first; what others result in is the same in all pieces."""
    free, over = free_variables(nest.body), set(loops)
    for term in reversed(tuple(free)):
        if isinstance(term, Reduce) and not over.isdisjoint(free[term]) and term.variable not in over:
            over.add(term.variable)
            yield term.variable
