"""Pieces that are computed alike, as one tensor with an axis for their number.

    stack([x[64*k : 64*k + 128] * w for k in range(100)])   ->   the generic over (k, i) of x[64*k + i] * w[i]

A hundred pieces are a hundred terms for every later stage, none of which asks whether they are one formula.  Tensors are alike if they are
the same operation on tensors that are alike, read at places that are, number by number, sums of digits of the number of the piece: index
terms with constants that go on evenly, again and again.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from eqsat.ir.index import Apply, Index, apply, substitute, walk
from eqsat.ir.monomials import Monomial, sum_of, term_of
from eqsat.ir.tensor import Generic, Tensor, axis, with_indices

# fewer pieces are best written by loops of their own; and if they are parts of an array in another shape, fewer than many
FEWEST, MANY = 5, 17
# operations behind each other
DEEPEST = 100


def alike(pieces: Sequence[Tensor]) -> Tensor | None:
    """The tensor of which piece k is the part [k]; None where they are not alike."""
    if len(pieces) < FEWEST or (len(pieces) < MANY and _is_reshaped(pieces)):
        return None
    return _Alike(len(pieces)).tensor(tuple(pieces))


def _is_reshaped(pieces: Sequence[Tensor]) -> bool:
    """Whether pieces are parts of one array in another shape, whose places are only linear together with what is made of the pieces."""
    while all(isinstance(piece, Generic) and len(piece.operands) == 1 for piece in pieces):
        below = {piece.operands[0] for piece in pieces if isinstance(piece, Generic)}
        if len(below) == 1:
            (source,) = below
            terms = walk(*itertools.chain(*source.maps)) if isinstance(source, Generic) else iter(())
            return any(isinstance(term, Apply) and term.op in ("floordiv", "mod") for term in terms)
        pieces = tuple(below)
    return False


def _operation(tensor: Generic) -> tuple[object, ...]:
    return tensor.iterators, tensor.block, tensor.combine, tuple(map(len, tensor.maps))


class _Alike:
    def __init__(self, count: int) -> None:
        self.count = count
        self.number = axis(0, count)
        self.done: dict[tuple[Tensor, ...], Tensor | None] = {}
        self.depth = 0

    def tensor(self, pieces: tuple[Tensor, ...]) -> Tensor | None:
        """None also for pieces that are all the same, of which there is no need of an axis."""
        if pieces not in self.done:
            self.depth += 1
            self.done[pieces] = self._tensor(pieces) if self.depth <= DEEPEST else None
            self.depth -= 1
        return self.done[pieces]

    def _tensor(self, pieces: tuple[Tensor, ...]) -> Tensor | None:
        first, others = pieces[0], pieces[1:]
        if not isinstance(first, Generic):
            return None
        for piece in others:
            if not isinstance(piece, Generic) or _operation(piece) != _operation(first):
                return None
        shift = {axis(k, extent): axis(k + 1, extent) for k, extent in enumerate(first.shape)}
        operands: list[Tensor] = []
        maps: list[tuple[Index, ...]] = []
        generics = [piece for piece in pieces if isinstance(piece, Generic)]
        for position, operand in enumerate(first.operands):
            read = tuple(piece.operands[position] for piece in generics)
            same = all(one is operand for one in read)
            found = operand if same else self.tensor(read)
            places = [
                self.index([substitute(place, shift) for place in one])
                for one in zip(*(piece.maps[position] for piece in generics), strict=True)
            ]
            known = tuple(place for place in places if place is not None)
            if found is None or len(known) < len(places):
                return None
            operands.append(found)
            maps.append(known if same else (self.number, *known))
        block = with_indices(first.block, lambda index: substitute(index, shift))
        iterators = (("parallel", self.count), *first.iterators)
        return Generic(iterators, tuple(maps), tuple(operands), block, first.combine)

    def index(self, terms: Sequence[Index]) -> Index | None:
        """The term that is the k-th of these for the number k."""
        first = terms[0]
        if all(term is first for term in terms):
            return first
        constants, parts = zip(*map(sum_of, terms), strict=True)
        if len({len(one) for one in parts}) > 1:
            return None
        found = [self._monomial(one) for one in zip(*parts, strict=True)]
        known = [monomial for monomial in found if monomial is not None]
        digits = _digits(constants, self.number)
        return None if digits is None or len(known) < len(found) else term_of(constants[0], [*known, *digits])

    def _monomial(self, parts: Sequence[Monomial]) -> Monomial | None:
        (k, first), *others = parts
        if any(other != k or len(factors) != len(first) for other, factors in others):
            return None
        factors = [self._factor(one) for one in zip(*(factors for _, factors in parts), strict=True)]
        known = tuple(factor for factor in factors if factor is not None)
        return (k, known) if len(known) == len(factors) else None

    def _factor(self, terms: Sequence[Index]) -> Index | None:
        first = terms[0]
        if all(term is first for term in terms):
            return first
        applied = [term for term in terms if isinstance(term, Apply) and isinstance(first, Apply) and term.op == first.op]
        if len(applied) < len(terms) or not isinstance(first, Apply) or first.op not in ("min", "max", "floordiv", "mod"):
            return None
        left, right = (self.index(args) for args in zip(*(term.args for term in applied), strict=True))
        divides = first.op in ("floordiv", "mod")
        return None if left is None or right is None or (divides and right is not first.args[1]) else apply(first.op, left, right)


def _digits(values: Sequence[int], number: Index) -> list[Monomial] | None:
    """What the k-th of some integers is more than the first one, for the number k: multiples of digits of k.  No other digits than those of
    the numbers that there are, so that the sum is in the bounds of the integers."""
    steps = [value - values[0] for value in values]
    if not any(steps):
        return []
    run = next((k for k, step in enumerate(steps) if step != k * steps[1]), len(steps))
    if run == len(steps):
        return [(steps[1], (number,))]
    again = all(step == steps[k - k % run] + k % run * steps[1] for k, step in enumerate(steps))
    outer = _digits(steps[::run], number // run) if again and len(steps) % run == 0 else None
    return outer if outer is None or not steps[1] else [*outer, (steps[1], (number % run,))]
