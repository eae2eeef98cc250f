"""Vector lanes: whether the indices of the lanes of a vector are one index, an arithmetic progression, or neither.

What counts is the value, not how it was written: operands of commutative operations are put in one order, and sums are
compared as linear forms.  The order is for index terms alone, since operands of element arithmetic must stay where they are.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from eqsat.ir.errors import InternalError
from eqsat.ir.index import OPS, Apply, Const, Index, Var, substitute, walk
from eqsat.lowering.affine import Affine, Forms, rebuilt


@dataclass(frozen=True)
class Broadcast:
    """All lanes have this index."""

    index: Index


@dataclass(frozen=True)
class Strided:
    """Lane k has the index base + k * step; step is not zero, and 1 for lanes that are neighbours in memory."""

    base: Index
    step: int


@dataclass(frozen=True)
class Irregular:
    """Lanes have these indices, which no constant step leads through."""

    indices: tuple[Index, ...]


Pattern = Broadcast | Strided | Irregular


class Canonical:
    """Terms of equal value in one form, as far as order, brackets, signs and like terms of sums go; each is computed once.

    Commutative operands are ordered by a digest of their structure, which is the same in every process.
    """

    def __init__(self) -> None:
        self.forms = Forms()
        self._done: dict[Index, Index] = {}
        self._digests: dict[Index, bytes] = {}

    def __call__(self, root: Index) -> Index:
        for term in walk(root):
            if term not in self._done:
                self._done[term] = self._node(term)
        return self._done[root]

    def form(self, root: Index) -> Affine:
        """The linear form of a term over canonical atoms."""
        return self.forms(self(root))

    def _node(self, term: Index) -> Index:
        if not isinstance(term, Apply):
            return term
        args = [self._done[arg] for arg in term.args]
        if OPS[term.op].commutative:
            args.sort(key=self.digest)
        ordered = Apply(term.op, tuple(args))
        if ordered.kind == "bool":
            return ordered
        form = self.forms(ordered)
        if form.terms.get(ordered) == 1:
            return ordered
        return rebuilt(Affine(form.constant, dict(sorted(form.terms.items(), key=lambda item: self.digest(item[0])))))

    def digest(self, root: Index) -> bytes:
        for term in walk(root):
            if term not in self._digests:
                self._digests[term] = hashlib.blake2b(self._spelled(term), digest_size=16).digest()
        return self._digests[root]

    def _spelled(self, term: Index) -> bytes:
        if isinstance(term, Apply):
            return b"".join((term.op.encode(), b"(", *(self._digests[arg] for arg in term.args)))
        if isinstance(term, Var):
            return f"{term.name} {term.lo} {term.hi}".encode()
        assert isinstance(term, Const)
        return f"{term.kind} {int(term.value)}".encode()


def lane_terms(term: Index, lane: Var) -> tuple[Index, ...]:
    """The index of every lane where a variable numbers the lanes."""
    return tuple(substitute(term, {lane: Const(value)}) for value in range(lane.lo, lane.hi + 1))


def pattern(terms: Sequence[Index], canonical: Canonical | None = None) -> Pattern:
    """How the indices of the lanes of a vector relate.

    A pattern other than Irregular is proved; a Irregular may be a progression that linear forms do not show.  `canonical` keeps what
    is known about terms from call to call.  Raises InternalError for a vector without lanes.
    """
    if not terms:
        raise InternalError("pattern: found no lanes, expected at least one")
    known = canonical or Canonical()
    forms = [known.form(term) for term in terms]
    if all(dict(form.terms) == dict(forms[0].terms) for form in forms):
        steps = {b.constant - a.constant for a, b in itertools.pairwise(forms)}
        if steps <= {0}:
            return Broadcast(terms[0])
        if len(steps) == 1:
            return Strided(terms[0], steps.pop())
    return Irregular(tuple(terms))


def groups(vectors: Iterable[Sequence[Index]]) -> list[list[int]]:
    """Positions of vectors that have the same index in every lane, however it is written; in order of first occurrence."""
    known = Canonical()
    found: dict[tuple[Index, ...], list[int]] = {}
    for position, terms in enumerate(vectors):
        found.setdefault(tuple(known(term) for term in terms), []).append(position)
    return list(found.values())
