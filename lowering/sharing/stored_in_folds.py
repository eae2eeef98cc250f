"""A loop that stores what a fold of the same range is made of, or what is made of the same elements, and that fold, as one loop.

for j: t[j] = f(j)
s = fold over j of g(f(j), j)     ->     s = fold over j: { t[j] = f(j); yield g(t[j], j) }
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count, product

from eqsat.ir.index import depends, substitute
from eqsat.ir.loops import Clip, Fold, For, Let, Load, Pick, Stmt, Store, Temp, bound_in, loaded, over, statements
from eqsat.ir.tensor import Scalar, scalars
from eqsat.lowering.affine import Forms, bounds
from eqsat.lowering.blocks import over_forms
from eqsat.lowering.joining.renaming import Renaming, unused_end


def stored_in_folds(body: Sequence[Stmt], around: tuple[Stmt, ...] = ()) -> tuple[Stmt, ...]:
    """Statements with those loops in folds whose values or elements these share; nothing reads what is stored meanwhile.  Names are others
    than those of statements `around` them."""
    done: list[Stmt] = []
    for stmt in body:
        known = (*around, *body, *done)
        if isinstance(stmt, For):
            done.append(replace(stmt, body=stored_in_folds(stmt.body, known)) if stmt.kind != "tile" else stmt)
        elif isinstance(stmt, Fold) and (found := _shared(done, stmt, known)) is not None:
            k, both = found
            del done[k]
            done.append(both)
        else:
            done.append(stmt)
    return tuple(done)


def _shared(before: Sequence[Stmt], fold: Fold, around: tuple[Stmt, ...]) -> tuple[int, Fold] | None:
    """The place of a loop before a fold that may be done within it, and both as one."""
    for k in reversed(range(len(before))):
        loop = before[k]
        if isinstance(loop, For) and (both := _together(loop, fold, around)) is not None:
            return (k, both) if _may_wait(loop, fold, tuple(before[k + 1 :])) else None
        if any(isinstance(one, Clip) for one in statements((loop,))):
            return None
    return None


def _may_wait(loop: For, fold: Fold, between: tuple[Stmt, ...]) -> bool:
    """Whether a loop may be done behind statements: they read nothing that it stores, and store nothing that it or the fold needs, nor
    where it stores."""
    here, there = ([stmt for stmt in statements(body) if isinstance(stmt, Store)] for body in ((loop,), between))
    if not loaded(between).isdisjoint(stmt.buffer for stmt in here) or not loaded((loop, fold)).isdisjoint(stmt.buffer for stmt in there):
        return False
    bound, forms = bound_in(statements(between)), Forms()
    for one, other in product(here, there):
        least, most = bounds(forms(one.index - substitute(other.index, bound)))
        if one.buffer == other.buffer and least <= 0 <= most:
            return False
    return True


def _together(loop: For, fold: Fold, around: tuple[Stmt, ...]) -> Fold | None:
    """A loop of plain stores and a fold as one fold; None where they have nothing in common."""
    if loop.kind != "parallel" or (loop.variable.lo, loop.variable.hi) != (fold.variable.lo, fold.variable.hi):
        return None
    moved = [stmt for stmt in loop.body if isinstance(stmt, Let) or (isinstance(stmt, Store) and stmt.combine is None)]
    stored, inside = {stmt.buffer for stmt in moved if isinstance(stmt, Store)}, _inlined(fold.body)
    if inside is None or len(moved) < len(loop.body) or not loaded((loop,)).isdisjoint(stored):
        return None
    forms, end = Forms(), unused_end("_stored", around)
    renaming = Renaming("", {}, {})
    renaming.variables[loop.variable] = fold.variable
    body: list[Stmt] = []
    known, own = dict[Scalar, Scalar](), dict[Scalar, Scalar]()  # the names of values, and what names stand for
    lets = {stmt.name for stmt in moved if isinstance(stmt, Let)}
    unused = (f"t{number}" for number in count() if f"t{number}" not in lets)
    for stmt in (renaming.statement(stmt) for stmt in moved):
        if isinstance(stmt, Let | Store):
            value = over_forms(over(stmt.value, {}, own), {}, forms)
            name = f"{stmt.name if isinstance(stmt, Let) else next(unused)}{end}"
            if value not in known:
                body.append(Let(name, over(value, {}, known)))
                known[value] = Temp(name, value.dtype)
            if isinstance(stmt, Let):
                own[Temp(stmt.name, value.dtype)] = value
            else:
                body.append(replace(stmt, value=known[value]))
                known[over_forms(Load(stmt.buffer, stmt.index, value.dtype), {}, forms)] = known[value]
    whole = over_forms(over(fold.value, {}, inside), {}, forms)
    terms = set(scalars(whole))
    read = [term for term in terms if isinstance(term, Load | Pick) and term.buffer in stored]
    if any(term not in known for term in read):  # of another iteration
        return None
    both = (term for value in known for term in scalars(value) if term in terms)
    if not read and not any(isinstance(term, Load) and depends(term.index, fold.variable) for term in both):
        return None
    return replace(fold, body=tuple(body), value=over(whole, {}, known))


def _inlined(body: Iterable[Stmt]) -> dict[Scalar, Scalar] | None:
    """The values of what stands before others, by their names; None where anything else does."""
    inside: dict[Scalar, Scalar] = {}
    for one in body:
        if not isinstance(one, Let):
            return None
        inside[Temp(one.name, one.value.dtype)] = over(one.value, {}, inside)
    return inside
