"""The loops in an iteration of another one that several threads may share.

Each thread does its part of these loops, and for itself all else that the iteration does, which may therefore only fill memory of the
thread's own, and has to be little: it copies the operands of products, say.  What a loop keeps in such memory is for the same iteration.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping

from eqsat.codegen.folds.rolled import is_written_out
from eqsat.ir.affine import coefficient
from eqsat.ir.index import Const, Index, Var, substitute
from eqsat.ir.loops import Bind, Clip, Fold, For, Kernel, Load, Pick, Stmt, Store, bound_in, loaded, statements, values_of
from eqsat.ir.monomials import sum_of, term_of
from eqsat.ir.tensor import scalars

# what each thread does for itself is at the most such a part of an iteration
PART = 64
Bounds = tuple[int, int]
# what index variables stand for
Values = Mapping[Var, Index]


def nested(outer: For, enough: int) -> tuple[For, ...]:
    """The loop, and those that are all there is in the one before, until they have enough iterations together."""
    found, iterations = [outer], outer.variable.extent
    while iterations < enough:
        *before, last = found[-1].body
        if not isinstance(last, For) or last.kind != "parallel" or not all(isinstance(stmt, Bind) for stmt in before):
            break
        if not any(isinstance(inner, For | Fold) and not _is_in_vectors(inner) for inner in last.body):
            break
        found.append(last)
        iterations *= last.variable.extent
    return tuple(found)


def _is_in_vectors(inner: For | Fold) -> bool:
    """Whether a loop is written out, so that the loop around it runs in vectors."""
    return not any(isinstance(stmt, For | Fold) for stmt in inner.body) and is_written_out(inner)


def divided(kernel: Kernel, loops: tuple[For, ...]) -> tuple[tuple[For, ...], bool]:
    """The loops inside `loops`, none where an iteration may not be divided; and whether threads have anything to do for themselves."""
    own, values, body = {buffer.name for buffer in kernel.scratch}, bound_in(statements(loops[:1])), loops[-1].body
    inside = list(_loops_in(body))
    while inside and (wrong := set(_read_elsewhere(body, inside, own, values))):
        inside = [loop for loop in inside if wrong.isdisjoint(_written((loop,)))]
    rest = _rest(body, inside)
    fits = inside and _written(rest) <= own and steps(rest) * PART <= steps(inside)
    if not fits or any(isinstance(stmt, Clip) for stmt in statements(body)) or not _end_apart(loops, inside, own, values):
        return (), False
    return tuple(inside), any(not isinstance(stmt, Bind) for stmt in rest)


def steps(body: Iterable[Stmt]) -> int:
    """How often the innermost statements of loops are carried out, all together."""
    return sum(max(stmt.variable.extent, 0) * max(steps(stmt.body), 1) for stmt in body if isinstance(stmt, For | Fold))


def are_different(one: Index, other: Index) -> bool:
    """Whether two places, each anywhere in its loops, are never the same: by their bounds, or by those of what is left of them within
    steps of one size, such as rows."""
    if _miss(one.bounds, other.bounds):
        return True
    sizes = {abs(k) for index in (one, other) for k, _ in sum_of(index)[1]} - {0, 1}
    left = ((_within(one, size), _within(other, size)) for size in sizes)
    return any(here is not None and there is not None and _miss(here, there) for here, there in left)


def _miss(one: Bounds, other: Bounds) -> bool:
    return one[1] < other[0] or other[1] < one[0]


@functools.lru_cache(maxsize=4096)
def _within(index: Index, size: int) -> Bounds | None:
    """The bounds of an index modulo a size, where what is no multiple of it stays within one; else None."""
    constant, parts = sum_of(index)
    low, high = term_of(constant, [part for part in parts if part[0] % size]).bounds
    return (low % size, high % size) if low // size == high // size else None


def _loops_in(body: tuple[Stmt, ...]) -> Iterator[For]:
    """Loops of loops, whose iterations may be done in any order, in all that is done one after the other."""
    for stmt in body:
        if isinstance(stmt, For) and stmt.kind == "serial":
            yield from _loops_in(stmt.body)
        elif isinstance(stmt, For) and stmt.kind == "parallel" and any(isinstance(inner, For | Fold) for inner in stmt.body):
            yield stmt


def _rest(body: tuple[Stmt, ...], inside: list[For]) -> tuple[Stmt, ...]:
    """The statements that are in none of the loops."""
    found: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For) and stmt.kind == "serial":
            found += _rest(stmt.body, inside)
        elif not any(stmt is loop for loop in inside):
            found.append(stmt)
    return tuple(found)


def _stores(body: Iterable[Stmt]) -> Iterator[Store]:
    return (stmt for stmt in statements(tuple(body)) if isinstance(stmt, Store))


def _written(body: Iterable[Stmt]) -> set[str]:
    return {store.buffer for store in _stores(body)}


def _read_elsewhere(body: tuple[Stmt, ...], inside: list[For], own: set[str], values: Values) -> Iterator[str]:
    """What loops write to memory of a thread's own and that other iterations read, or the rest."""
    rest = _rest(body, inside)
    others = _written(rest) | loaded(rest)
    for name in own & _written(inside):
        if name not in others and sum(name in _written((loop,)) | loaded((loop,)) for loop in inside) == 1:
            continue
        steps = {_step(loop, index, values) for loop in inside for index in _places(name, loop)}
        if name in loaded(rest) or None in steps or len(steps) > 1:
            yield name


def _places(name: str, loop: For) -> Iterator[Index | None]:
    """Where a loop reads or writes a buffer; None for a place that is computed."""
    yield from (store.index for store in _stores((loop,)) if store.buffer == name)
    for term in scalars(*values_of(statements((loop,)))):
        if isinstance(term, Load | Pick) and term.buffer == name:
            yield term.index if isinstance(term, Load) else None


def _step(loop: For, index: Index | None, values: Values) -> tuple[int, int] | None:
    """(iterations, elements) of a loop each of whose iterations has so many elements of a buffer alone, and stays there; else None."""
    if index is None:
        return None
    whole = substitute(index, values)
    step = coefficient(whole, loop.variable)
    low, high = substitute(whole, {loop.variable: Const(0)}).bounds
    return (loop.variable.extent, step) if step and 0 <= low <= high < step and not loop.variable.lo else None


def _end_apart(loops: tuple[For, ...], inside: list[For], own: set[str], values: Values) -> bool:
    """Whether what loops write for others is not read, not added to, and of each loop elsewhere."""
    ends = [[store for store in _stores((loop,)) if store.buffer not in own] for loop in inside]
    if any(store.combine is not None or store.buffer in loaded(loops[-1].body) for store in itertools.chain(*ends)):
        return False
    still: Values = {loop.variable: Const(loop.variable.lo) for loop in loops}
    return all(
        one.buffer != other.buffer or are_different(*(substitute(substitute(store.index, values), still) for store in (one, other)))
        for here, there in itertools.combinations(ends, 2)
        for one, other in itertools.product(here, there)
    )
