"""Folds that no loop around them changes, before these loops.

    for b: { for i in the block: out[..] = f(x[..], sum of y) }   ->   t = sum of y; for b: ...

Loops that go block by block begin with what all of a block share; what all blocks share is folded once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from eqsat.ir.index import variables
from eqsat.ir.loops import Bind, Clip, Fold, For, Let, Load, Stmt, Store, Temp, loaded, statements, values_of
from eqsat.ir.tensor import Position, scalars


def folds_outside(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The statements with what is folded anew in every iteration of a loop, and is the same in all, before the loop."""
    stored = {stmt.buffer for stmt in statements(body) if isinstance(stmt, Store)}
    found: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For):
            moved = [inner for inner in _folds(stmt) if _is_the_same(inner, stored)]
            found += moved
            found.append(_without(stmt, frozenset(moved)) if moved else stmt)
        else:
            found.append(stmt)
    return tuple(found)


def _folds(loop: For) -> Iterator[Fold]:
    for stmt in loop.body:
        if isinstance(stmt, Fold):
            yield stmt
        elif isinstance(stmt, For):
            yield from _folds(stmt)


def _is_the_same(fold: Fold, stored: Collection[str]) -> bool:
    """Whether a fold needs nothing but memory that is not written to."""
    inside = tuple(statements((fold,)))
    own = {stmt.variable for stmt in inside if isinstance(stmt, Fold | For | Bind | Clip)}
    made = {stmt.name for stmt in inside if isinstance(stmt, Fold | Let)}
    terms = list(scalars(*values_of(inside)))
    needed = {term.name for term in terms if isinstance(term, Temp)}
    indices = [term.index for term in terms if isinstance(term, Load | Position)] + [one.value for one in inside if isinstance(one, Bind)]
    places = {variable for index in indices for variable in variables(index)}
    return needed <= made and places <= own and loaded((fold,)).isdisjoint(stored)


def _without(loop: For, moved: Collection[Stmt]) -> For:
    kept = (stmt for stmt in loop.body if stmt not in moved)
    return replace(loop, body=tuple(_without(stmt, moved) if isinstance(stmt, For) else stmt for stmt in kept))
