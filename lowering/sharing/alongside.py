"""Loops that stand beside each other, over the same range and the same elements of memory, as one.

for j: a[j] = x[2*j] + x[2*j + 1]
for j: b[j] = x[2*j] - x[2*j + 1]       ->   for j: { a[j] = ..; b[j] = .. }, which loads x once, in whole vectors
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from eqsat.ir.index import Var
from eqsat.ir.loops import Clip, For, Let, Load, Stmt, Store, loaded, loads, statements
from eqsat.lowering.affine import Forms
from eqsat.lowering.joining.renaming import Renaming

# what one loop stores
MOST_STORES = 8


def alongside(body: Sequence[Stmt]) -> tuple[Stmt, ...]:
    """Statements, none of which loads what one stores, with those loops as one that read the same elements, or elements between them."""
    stored = [stmt for stmt in statements(tuple(body)) if isinstance(stmt, Store)]
    if any(stmt.combine is not None for stmt in stored) or not loaded(tuple(body)).isdisjoint(stmt.buffer for stmt in stored):
        return tuple(body)
    return _joined(body, Forms())


def abreast(one: Sequence[Stmt], other: Sequence[Stmt]) -> tuple[Stmt, ...]:
    """Two blocks, neither of which reads what the other one writes, with loops of both as one that read the same elements, in the order of
    both.  Loops of one block may need each other."""
    return _abreast(one, other, Forms())


# two blocks as one
Join = Callable[[Sequence[Stmt], Sequence[Stmt], Forms], tuple[Stmt, ...]]


def _abreast(one: Sequence[Stmt], other: Sequence[Stmt], forms: Forms) -> tuple[Stmt, ...]:
    done: list[Stmt] = []
    left = list(one)
    for stmt in other:
        found = next(((k, both) for k, first in enumerate(left) if (both := _together(first, stmt, forms, _abreast)) is not None), None)
        if found is None:
            done.append(stmt)
        else:
            k, both = found
            done += [*left[:k], both]
            del left[: k + 1]
    return (*done, *left)


def _behind(one: Sequence[Stmt], other: Sequence[Stmt], forms: Forms) -> tuple[Stmt, ...]:
    return _joined((*one, *other), forms)


def _joined(body: Sequence[Stmt], forms: Forms) -> tuple[Stmt, ...]:
    done: list[Stmt] = []
    for stmt in body:
        stmt = For(stmt.variable, stmt.kind, _joined(stmt.body, forms)) if isinstance(stmt, For) else stmt
        found = next(((k, both) for k, other in enumerate(done) if (both := _together(other, stmt, forms, _behind)) is not None), None)
        if found is not None:
            done.pop(found[0])
        done.append(stmt if found is None else found[1])  # behind what the second one needs
    return tuple(done)


def _together(one: Stmt, other: Stmt, forms: Forms, join: Join) -> For | None:
    """Two loops as one; None where they are not over the same range, or read nothing in common there."""
    if not (isinstance(one, For) and isinstance(other, For) and one.kind == other.kind != "tile"):
        return None
    if (one.variable.lo, one.variable.hi) != (other.variable.lo, other.variable.hi):
        return None
    renaming = Renaming("", {}, {})
    renaming.variables[other.variable] = one.variable
    body = renaming.block(other.body)
    both = join(one.body, body, forms)
    inside = [stmt for part in (one.body, body) for stmt in part if isinstance(stmt, For)]
    shares = sum(isinstance(stmt, For) for stmt in both) < len(inside) or _read_alike(one.body, body, one.variable, forms)
    return For(one.variable, one.kind, both) if shares and len(list(_stores(both))) <= MOST_STORES else None


def _stores(body: tuple[Stmt, ...]) -> Iterator[Store]:
    return (stmt for stmt in statements(body) if isinstance(stmt, Store))


def _read_alike(one: tuple[Stmt, ...], other: tuple[Stmt, ...], variable: Var, forms: Forms) -> bool:
    """Whether two blocks of a loop load the same element somewhere, or two no farther apart than a step of several elements."""
    for first in _loads(one):
        step = forms(first.index).stride(variable)
        for second in _loads(other) if step else ():
            apart = forms(first.index - second.index) if first.buffer == second.buffer else None
            if apart is not None and not apart.terms and abs(apart.constant) < abs(step or 0):
                return True
    return False


def _loads(body: tuple[Stmt, ...]) -> Iterator[Load]:
    """What the statements of a block load, not those of loops in it."""
    for stmt in body:
        if isinstance(stmt, Let | Store | Clip):
            yield from loads(stmt.value)
