"""Functions of chosen elements are chosen from what the function makes of all of them.

f(a[p], b[p]) = t[p]  with  t[r] = f(a[r], b[r])          exp(a[p]) = t[p]  with  t[r] = exp(a[r])

Where more elements are chosen than there are to choose from: one gather in the place of two, and a function of fewer elements.  A byte is
chosen from the 256 that there are, so functions of bytes are such too:  f(x[i]) = t[x[i]]  with  t[r] = f(r).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from eqsat.algebra.products import elementwise
from eqsat.ir.index import Index, Var, variables
from eqsat.ir.tensor import (
    Build,
    Call,
    Gather,
    Literal,
    Position,
    Read,
    Scalar,
    Shape,
    axes,
    index_terms,
    is_size,
    operands,
    rebuild,
    reindexed,
    scalars,
    tensors,
)

# elements of the table by those that are chosen, at most
MOST_OF_CHOSEN = 2 / 3
# the numbers that a byte may be
BYTES = (256,)
# operations on bytes that are worth a table at the least
LEAST = 3
# tensors that are opened within each other, where there are bytes and elsewhere, and terms of what comes of that
DEPTH_OF_BYTES, DEPTH, MOST_TERMS = 12, 3, 200


@dataclass(frozen=True)
class Chosen:
    """What a term is made of: elements at one place of arrays of this shape, `along` some of whose axes loops go from end to end; and of
    what varies with `loops` alone."""

    places: tuple[Scalar, ...] = ()
    shape: Shape = ()
    along: tuple[tuple[Var, int], ...] = ()
    loops: frozenset[Var] = frozenset()

    def joined(self, other: Chosen) -> Chosen | None:
        """What is made of both; None where they are chosen by different places."""
        if self.places and other.places and (self.places, self.shape) != (other.places, other.shape):
            return None
        return replace(self if self.places else other, loops=self.loops | other.loops)

    @property
    def is_table(self) -> bool:
        """Whether it is a function of places in a table, of fewer elements than are chosen from it."""
        known = {loop for loop, _ in self.along}
        choosing = {v for place in self.places for term in scalars(place) for index in index_terms(term) for v in variables(index)}
        count = prod(v.extent for v in choosing)
        return bool(self.places) and self.loops <= known and not any(map(is_size, choosing)) and prod(self.shape) <= MOST_OF_CHOSEN * count


def in_tables(tensor: Build) -> tuple[Build, tuple[Build, ...]] | None:
    """The build with functions of chosen elements chosen from tables, and these; None where there are none of fewer elements."""
    of_bytes = any(source.dtype == "uint8" for source in tensors(tensor))
    body = elementwise(tensor, DEPTH_OF_BYTES if of_bytes else DEPTH, opens=_chooses)
    if not any(isinstance(term, Gather) or _is_byte(term) for term in scalars(body)) or sum(1 for _ in scalars(body)) > MOST_TERMS:
        return None
    known = _chosen(body).items()
    functions = {term: chosen for term, chosen in known if isinstance(term, Call) and chosen is not None and chosen.is_table}
    within = {arg for term in functions for arg in operands(term)}
    tables = {term: _table(term, chosen) for term, chosen in functions.items() if term not in within and _is_worth_it(term, chosen)}
    done: dict[Scalar, Scalar] = {}
    for term in scalars(body):
        args = tuple(done[arg] for arg in operands(term))
        done[term] = Gather(tables[term], tuple(map(_as_place, functions[term].places))) if term in tables else rebuild(term, args)
    return (Build(tensor.shape, done[body]), tuple(dict.fromkeys(tables.values()))) if tables else None


def _chooses(body: Scalar) -> bool:
    """Whether elements are chosen, or bytes read at one place: of bytes at several places nothing is a function."""
    terms = list(scalars(body))
    return any(isinstance(term, Gather) for term in terms) or sum(map(_is_byte, terms)) == 1


def _is_byte(term: Scalar) -> bool:
    return isinstance(term, Read) and term.dtype == "uint8"


def _is_worth_it(term: Scalar, chosen: Chosen) -> bool:
    """Whether a function is more than bytes as other numbers, and the like."""
    (place, *others) = chosen.places
    return bool(others) or not _is_byte(place) or sum(isinstance(below, Call) for below in scalars(term)) >= LEAST


def _chosen(root: Scalar) -> dict[Scalar, Chosen | None]:
    """What the terms of an element are made of; None for those that are made of something else."""
    found: dict[Scalar, Chosen | None] = {}
    for term in scalars(root):
        if isinstance(term, Gather) and not term.checked:
            found[term] = Chosen(term.args, term.tensor.shape, tuple(_along(term)))
        elif _is_byte(term):
            found[term] = Chosen((term,), BYTES)
        elif isinstance(term, Read):
            found[term] = Chosen(loops=frozenset(v for index in term.indices for v in variables(index)))
        elif isinstance(term, Call | Literal):
            every: list[Chosen | None] = [Chosen(), *(found[arg] for arg in operands(term))]
            found[term] = functools.reduce(_joined, every)
        else:
            found[term] = None
    return found


def _joined(one: Chosen | None, other: Chosen | None) -> Chosen | None:
    return None if one is None or other is None else one.joined(other)


def _along(gathered: Gather) -> Iterator[tuple[Var, int]]:
    """The loops that go along an axis of what is gathered from, from one end to the other."""
    for k, (place, extent) in enumerate(zip(gathered.args, gathered.tensor.shape, strict=True)):
        if isinstance(place, Position) and isinstance(place.index, Var) and (place.index.lo, place.index.hi) == (0, extent - 1):
            yield place.index, k


def _as_place(place: Scalar) -> Scalar:
    return place if place.dtype == "int64" else Call("astype", (place,), "int64")


def _table(root: Scalar, chosen: Chosen) -> Build:
    """What a function makes of all elements."""
    places = axes(chosen.shape)
    env: dict[Var, Index] = {loop: places[k] for loop, k in reversed(chosen.along)}
    done: dict[Scalar, Scalar] = {}
    for term in scalars(root):
        if isinstance(term, Gather):
            done[term] = Read(term.tensor, places)
        elif (term,) == chosen.places:
            done[term] = Call("astype", (Position(places[0], "int32"),), term.dtype)
        elif isinstance(term, Read):
            done[term] = reindexed(term, env)
        elif all(arg in done for arg in operands(term)):
            done[term] = rebuild(term, tuple(done[arg] for arg in operands(term)))
    return Build(chosen.shape, done[root])
