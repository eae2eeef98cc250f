"""Seams: loops cut where what they read changes, at the edges of padding, where a roll wraps round, where one array of several ends.

    for j < n: where(j < 3, a[j], b[j - 3])         ->  for j < 3: a[j], for 3 <= j < n: b[j - 3]

Within a piece the condition is decided by the bounds of the loop, and the piece runs in vectors.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from eqsat.ir.index import Apply, Const, Index, Var, substitute, walk
from eqsat.ir.loops import Stmt
from eqsat.ir.tensor import Reduce
from eqsat.lowering.affine import Affine, Forms
from eqsat.lowering.blocks import BlockPlacer, over
from eqsat.lowering.nest import Nest, free_variables
from eqsat.lowering.place import stores

MOST_PIECES = 5
# below that a loop is not worth its pieces
LEAST = 16
# where a comparison is another one: when the difference of its operands reaches these numbers
MARKS = {"lt": (0,), "ge": (0,), "le": (1,), "gt": (1,), "eq": (0, 1), "ne": (0, 1)}


def in_pieces(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str]) -> tuple[Stmt, ...] | None:
    """The statements with the innermost loop in pieces; None where nothing changes along it, or too often, or a fold is computed in it."""
    if not nest.loops or nest.loops[-1].extent < LEAST:
        return None
    inner = nest.loops[-1]
    if any(isinstance(term, Reduce) and inner in free for term, free in free_variables(nest.body).items()):
        return None
    begins = sorted({inner.lo, *_seams(nest, inner)})
    if not 1 < len(begins) <= MOST_PIECES:
        return None
    placer = BlockPlacer(buffers)
    opened = placer.nest(placer.top, *nest.loops[:-1])
    for number, (first, end) in enumerate(zip(begins, [*begins[1:], inner.hi + 1], strict=True)):
        piece = Var(f"{inner.name}_{number}", first, end - 1)
        here: dict[Var, Index] = {inner: piece if piece.extent > 1 else Const(first)}
        inside = placer.nest(opened[-1], piece)
        inside[-1].body += stores(outputs, substitute(nest.index, here), placer.place(over(nest.body, here), inside[-1]))
        placer.close_all(inside)
    placer.close_all(opened)
    return tuple(placer.top.body)


def _seams(nest: Nest, inner: Var) -> set[int]:
    """The values of a loop variable from which on some index term of it alone is another one."""
    forms = Forms()
    found: set[int] = set()
    either: list[tuple[int, ...]] = []
    for term in walk(*nest.terms):
        if not isinstance(term, Apply) or len(term.args) != 2:
            continue
        if term.op in MARKS or term.op in ("min", "max"):
            for one, other in itertools.product(*map(_branches, term.args)):
                form = _of(forms(one - other), inner)
                if form and term.op in MARKS:
                    found.update(_reached(*form, inner, MARKS[term.op]))
                elif form:  # where both operands are equal, either of them will do
                    either.append(tuple(_reached(*form, inner, (0, 1))))
        elif term.op in ("floordiv", "mod") and isinstance(term.args[1], Const) and term.args[1].value > 0:
            form, divisor = _of(forms(term.args[0]), inner), int(term.args[1].value)
            if form:
                first, last = sorted((form[0] * v + form[1]) // divisor for v in (inner.lo, inner.hi))
                if last - first < MOST_PIECES:
                    found.update(_reached(*form, inner, [k * divisor for k in range(first, last + 2)]))
    for seams in either:
        if found.isdisjoint(seams):
            found.update(seams[:1])
    return found


def _branches(term: Index) -> tuple[Index, ...]:
    """What a minimum or maximum may be."""
    return term.args if isinstance(term, Apply) and term.op in ("min", "max") else (term,)


def _of(form: Affine, inner: Var) -> tuple[int, int] | None:
    """step and constant of a form that is step * variable + constant."""
    return (form.terms[inner], form.constant) if list(form.terms) == [inner] else None


def _reached(step: int, constant: int, inner: Var, marks: Sequence[int]) -> Iterator[int]:
    """The first values of the variable for which step * variable + constant is at least, or for falling ones below, a mark."""
    for mark in marks:
        found = -((constant - mark) // step) if step > 0 else (constant - mark) // -step + 1
        if inner.lo < found <= inner.hi:
            yield found
