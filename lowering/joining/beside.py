"""Kernels that read the same arrays, side by side in one: for every part of the rows of the one an element of the other.

    for i < n: a[i] = f(x[i])
    for p < P: b[p] = fold of g(x[p * n/P + k]) over k   ->   for p < P: { for i < n/P: a[p * n/P + i] = ..; b[p] = .. }

What both read is still near when the second one comes to it.  Folds of all elements are cut in parts for that, which are folded in the end:

    b = fold of g(x[k]) over k < n                       ->   for p < P: { for i < n/P: a[..] = ..; t[p] = .. }; b = fold of t
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import gcd

from eqsat.ir.index import Index, Var, as_index
from eqsat.ir.loops import (
    Bind,
    Buffer,
    Clip,
    Fold,
    For,
    Kernel,
    Let,
    Load,
    Pick,
    Stmt,
    Store,
    Temp,
    loaded,
    loads,
    statements,
    values_of,
)
from eqsat.ir.ops import identity_of
from eqsat.ir.tensor import Literal, scalars
from eqsat.lowering.affine import Affine, Forms, bounds, rebuilt
from eqsat.lowering.joining.renaming import Renaming, unused_end
from eqsat.lowering.joining.row_by_row import outermost
from eqsat.lowering.sharing.alongside import abreast
from eqsat.lowering.sharing.stored_in_folds import stored_in_folds

# elements of a part of a fold: what is read of several arrays stays in the first cache, and a part is worth its beginning and its end
MOST_IN_PART, LEAST_IN_PART = 2048, 256
# rows that a loop over groups of them does at once, at most
MOST_IN_GROUP = 8


def beside(rows: Kernel, parts: Kernel, passing: Collection[str] = ()) -> Kernel | None:
    """One kernel that does both, with the results of both in this order; the second may read what the first one stores in the same part.
    What is only `passing` from the one to the other is scratch memory, of a part.  None where the outermost loops, which are all that there
    is, do not divide evenly."""
    pieces = _around_rows(rows)
    scratch = (*rows.scratch, *parts.scratch)
    if parts.sizes or pieces is None or len({buffer.name for buffer in scratch}) < len(scratch):
        return None
    before, outer, behind = pieces
    if not {buffer.name for buffer in rows.buffers}.isdisjoint(buffer.name for buffer in parts.outputs):
        return None
    stored = {buffer.name: buffer for buffer in rows.outputs}
    read = {buffer.name: buffer for kernel in (rows, parts) for buffer in kernel.buffers if buffer.role == "in"}
    passed = [stored[name] for name in read if name in stored]
    results = (*(buffer for buffer in rows.outputs if buffer.name not in passing), *parts.outputs)
    buffers = (*(buffer for name, buffer in read.items() if name not in stored), *results)
    each = outermost(parts)
    if passed and (before or behind):
        return None
    found = _parts_of_folds(outer, parts.body, passed, passing) if each is None else _rows_of(outer, each, passed, passing)
    if found is None:
        return None
    edges = Renaming(unused_end("_edge", (*rows.body, *found[0])), {}, {})
    body = stored_in_folds((*edges.block(before), *found[0], *edges.block(behind)))
    unread = {*passing} - loaded(body)
    own = tuple(buffer for buffer in found[1] if buffer.name not in unread)
    if not {buffer.name for buffer in own}.isdisjoint(buffer.name for buffer in (*buffers, *scratch)):
        return None
    return Kernel(rows.name, buffers, _without(body, unread), scratch=(*scratch, *own))


def _without(body: tuple[Stmt, ...], buffers: Collection[str]) -> tuple[Stmt, ...]:
    """Statements without those that store in some buffers."""
    left = (stmt for stmt in body if not isinstance(stmt, Store) or stmt.buffer not in buffers)
    return tuple(replace(stmt, body=_without(stmt.body, buffers)) if isinstance(stmt, For | Fold) else stmt for stmt in left)


# statements, and their scratch memory
Body = tuple[tuple[Stmt, ...], tuple[Buffer, ...]]


def _around_rows(kernel: Kernel) -> tuple[tuple[Stmt, ...], For, tuple[Stmt, ...]] | None:
    """The longest of the loops of a kernel, and what stands before and behind it: other rows of the same results, as at the edges of an
    image, which need nothing of each other."""
    if kernel.sizes or not all(isinstance(stmt, For | Store) for stmt in kernel.body):
        return None
    if not loaded(kernel.body).isdisjoint(buffer.name for buffer in (*kernel.outputs, *kernel.scratch)) and len(kernel.body) > 1:
        return None
    loops = [stmt for stmt in kernel.body if isinstance(stmt, For) and stmt.kind == "parallel" and not stmt.variable.lo]
    longest = max(loops, key=lambda loop: loop.variable.extent * _inside(loop), default=None)
    if longest is None:
        return None
    at = kernel.body.index(longest)
    return kernel.body[:at], longest, kernel.body[at + 1 :]


def _inside(loop: For) -> int:
    """How many iterations the loops in a loop have together, one behind the other."""
    return sum(stmt.variable.extent * _inside(stmt) for stmt in loop.body if isinstance(stmt, For)) or 1


def _rows_of(outer: For, each: For, passed: Sequence[Buffer], passing: Collection[str]) -> Body | None:
    """Several iterations of one loop in each of another; those that are left over stand behind."""
    parts = each.variable.extent
    count, left = divmod(outer.variable.extent, parts)
    if not count or (left and passed):
        return None
    first = _within(outer, each.variable * count, count, (outer, each))
    if not _keeps_to_parts((first, each.body), passed, each.variable):
        return None
    scratch: tuple[Buffer, ...] = ()
    body = _in_folds(first, each.body, passing)
    if body is None and count > MOST_IN_PART and (found := _folds_in_parts(first, each, passed, passing)) is not None:
        body, scratch = found
    if body is None and not passing:
        widths = {buffer.name: buffer.size // outer.variable.extent for buffer in passed}
        turns = _in_turns(first, each, widths) or _in_turns(first, _in_steps(each), widths)
        body = turns or ((*first, *each.body) if passed else abreast(first, each.body))
    if body is None:
        return None
    rest = _within(outer, as_index(parts * count), left, (outer, each, *body)) if left else ()
    return (For(each.variable, "parallel", body), *rest), scratch


def _in_folds(rows: tuple[Stmt, ...], part: tuple[Stmt, ...], passing: Collection[str]) -> tuple[Stmt, ...] | None:
    """Rows that are done on the way of a fold of their part, which is all that reads what is passing; None where they are not."""
    part = stored_in_folds(part)
    body = stored_in_folds((*rows, *part))
    return body if len(body) < len(rows) + len(part) and loaded(body).isdisjoint(passing) else None


def _folds_in_parts(rows: tuple[Stmt, ...], each: For, passed: Sequence[Buffer], passing: Collection[str]) -> Body | None:
    """Rows and folds that are one iteration of a loop, in parts of that."""
    own = [replace(buffer, size=buffer.size // each.variable.extent) for buffer in passed]
    of_part = _OfPart("", {}, {buffer.name: each.variable * -buffer.size for buffer in own})
    first, folds = of_part.block(rows), of_part.block(each.body)
    found = _parts_of_folds(first[0], folds, own, passing) if len(first) == 1 and isinstance(first[0], For) else None
    if found is None:
        return None
    of_all = _OfPart("", {}, {buffer.name: each.variable * buffer.size for buffer in own if buffer.name not in passing})
    return of_all.block(found[0]), found[1]


def _in_turns(rows: tuple[Stmt, ...], part: For, widths: Mapping[str, int]) -> tuple[Stmt, ...] | None:
    """The rows of a part, a few of them in each iteration of a loop over groups of rows; None where there is no such loop, or it reads what
    other rows store of some buffers, of so many elements a row."""
    groups = [stmt for stmt in part.body if isinstance(stmt, For) and stmt.kind == "serial" and not stmt.variable.lo]
    group = max(groups, key=lambda stmt: stmt.variable.extent, default=None)
    if group is None or len(rows) != 1 or not isinstance(loop := rows[0], For):
        return None
    count, left = divmod(loop.variable.extent, group.variable.extent)
    others = loaded(tuple(stmt for stmt in part.body if stmt is not group))
    if not 1 <= count <= MOST_IN_GROUP or (widths and left) or not others.isdisjoint(widths):
        return None
    forms = Forms()
    for load in (term for value in values_of(statements(group.body)) for term in loads(value) if term.buffer in widths):
        form, width = forms(load.index), widths[load.buffer]
        least, most = bounds(Affine(form.constant, {v: step for v, step in form.terms.items() if v not in (part.variable, group.variable)}))
        if form.stride(group.variable) != count * width or least < 0 or most >= count * width:
            return None
    few = _within(loop, group.variable * count, count, (loop, *part.body))
    rest = _within(loop, as_index(group.variable.extent * count), left, (loop, *part.body, *few)) if left else ()
    found = [replace(stmt, body=(*few, *stmt.body)) if stmt is group else stmt for stmt in part.body]
    return (*found, *rest)


def _in_steps(part: For) -> For:
    """The same with a fold whose result is all that is stored as a loop that adds to memory, so that rows can be done in its iterations."""
    folds = [stmt for stmt in part.body if isinstance(stmt, Fold)]
    stores = [stmt for stmt in part.body if isinstance(stmt, Store)]
    if len(folds) != 1 or len(stores) != 1 or any(isinstance(stmt, For | Let | Clip) for stmt in part.body):
        return part
    (fold,), (store,) = folds, stores
    if store.value != Temp(fold.name, fold.dtype) or store.combine is not None or fold.value.dtype != fold.dtype:
        return part
    first = Store(store.buffer, store.index, Literal(identity_of(fold.op, fold.dtype).item(), fold.dtype))
    again = For(fold.variable, "serial", (*fold.body, Store(store.buffer, store.index, fold.value, fold.op)))
    kept = tuple(stmt for stmt in part.body if isinstance(stmt, Bind))
    return For(part.variable, part.kind, (*kept, first, again))


def _keeps_to_parts(bodies: Sequence[tuple[Stmt, ...]], passed: Sequence[Buffer], part: Var) -> bool:
    """Whether all that is stored and loaded of some buffers is the same part of each."""
    forms, width = Forms(), {buffer.name: buffer.size // part.extent for buffer in passed}
    indices = [(stmt.buffer, stmt.index) for body in bodies for stmt in statements(body) if isinstance(stmt, Store)]
    terms = [term for body in bodies for stmt in statements(body) for value in values_of((stmt,)) for term in scalars(value)]
    indices += [(term.buffer, term.index) for term in terms if isinstance(term, Load)]
    if any(isinstance(term, Pick) and term.buffer in width for term in terms) or any(buffer.size % part.extent for buffer in passed):
        return False
    for buffer, index in indices:
        form = forms(index)
        if buffer not in width:
            continue
        if form.stride(part) != width[buffer]:
            return False
        least, most = bounds(Affine(form.constant, {term: step for term, step in form.terms.items() if term is not part}))
        if least < 0 or most >= width[buffer]:
            return False
    return True


def _parts_of_folds(outer: For, folds: tuple[Stmt, ...], passed: Sequence[Buffer], passing: Collection[str]) -> Body | None:
    """A part of a loop, and of folds of all elements, in each of a third one, and folds of what is folded then."""
    found = [stmt for stmt in folds if isinstance(stmt, Fold)]
    extents = {fold.variable.extent for fold in found}
    if len(extents) != 1 or not all(map(_is_alone, found)) or any(isinstance(stmt, For | Bind | Clip) for stmt in folds):
        return None
    if (whole := _in_folds((outer,), folds, passing)) is not None:
        return whole, ()
    (extent,) = extents
    common = gcd(extent, outer.variable.extent)
    lengths = (n for n in range(LEAST_IN_PART, min(MOST_IN_PART, extent - 1) + 1) if not extent % n and not common % (extent // n))
    length = max(lengths, default=0)
    if not length:
        return None
    count = extent // length
    part = Var("part", 0, count - 1)
    scratch = {fold: Buffer(f"parts_{fold.name}", fold.dtype, count, "scratch") for fold in found}
    folded: list[Stmt] = []
    for fold in found:
        renaming = Renaming("_part", {}, {})
        within = Var(f"{fold.variable.name}_part", 0, length - 1)
        renaming.variables[fold.variable] = part * length + within
        body = renaming.block(fold.body)
        folded.append(Fold(f"{fold.name}_part", fold.op, fold.dtype, within, body, renaming.scalar(fold.value)))
    folded += [Store(buffer.name, part, Temp(f"{fold.name}_part", fold.dtype)) for fold, buffer in scratch.items()]
    first = _within(outer, part * (outer.variable.extent // count), outer.variable.extent // count, (outer, *folds))
    if not _keeps_to_parts((first, tuple(folded)), passed, part):
        return None
    behind = scalars(*values_of(stmt for stmt in folds if not isinstance(stmt, Fold)))
    if any(isinstance(term, Load | Pick) and term.buffer in passing for term in behind):
        return None  # of which there is but the last part by then
    rest = [_of_parts(stmt, scratch[stmt]) if isinstance(stmt, Fold) else stmt for stmt in folds]
    own = [Buffer(buffer.name, buffer.dtype, buffer.size // count, "scratch") for buffer in passed if buffer.name in passing]
    each = _OfPart("", {}, {buffer.name: part * -buffer.size for buffer in own}).block((*first, *folded))
    return (For(part, "serial", each), *rest), (*scratch.values(), *own)


class _OfPart(Renaming):
    """Statements in which some buffers are a part of what they were, whose beginning is no part of an index any more."""

    def element(self, buffer: str, index: Index) -> tuple[str, Index]:
        name, there = super().element(buffer, index)
        return name, rebuilt(Forms()(there)) if buffer in self.moved else there


def _of_parts(fold: Fold, parts: Buffer) -> Fold:
    """The fold of what parts of it are folded to."""
    each = Var(f"{fold.name}_each", 0, parts.size - 1)
    return Fold(fold.name, fold.op, fold.dtype, each, (), Load(parts.name, each, fold.dtype))


def _is_alone(fold: Fold) -> bool:
    """Whether a fold of elements needs no other one, nor what stands before it."""
    known = {stmt.name for stmt in fold.body if isinstance(stmt, Let)}
    read = {term.name for value in values_of((*fold.body, fold)) for term in scalars(value) if isinstance(term, Temp)}
    return not fold.variable.lo and all(isinstance(stmt, Let) for stmt in fold.body) and read <= known


def _within(outer: For, begin: Index, count: int, beside: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """So many iterations of a loop, from one on, under names that no statement beside them has."""
    suffix = unused_end("_rows", beside)
    renaming = Renaming(suffix, {}, {})
    within = Var(f"{outer.variable.name}{suffix}", 0, count - 1)
    renaming.variables[outer.variable] = begin + within if count > 1 else begin
    body = renaming.block(outer.body)
    return (For(within, outer.kind, body),) if count > 1 else body
