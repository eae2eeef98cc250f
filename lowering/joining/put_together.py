"""Arrays that another kernel copies whole into a part of its result: they are made where they stand in it.

for i < n: t[i] = f(i)
out[0] = a;  for i < n: out[i + 1] = t[i]      ->      out[0] = a;  for i < n: out[i + 1] = f(i)

So are those that stand in rows of it, as within the edge of an image or beside others in the last axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.loops import Bind, Buffer, Fold, For, Kernel, Load, Pick, Stmt, Store, bound_in, loaded, loads, statements, values_of
from eqsat.ir.tensor import scalars
from eqsat.lowering.affine import Affine, Forms, bounds, divided, rebuilt, sum_of
from eqsat.lowering.joining.renaming import Renaming, unused_end


class Rows(NamedTuple):
    """How far neighbours are apart in the array, and how far in the target."""

    apart: int
    there: int


class Part(NamedTuple):
    """`source` stands in `target` from `first` on, in rows within rows, the longest steps first; `before` and `behind`: what its kernel
    does beside copying it there; `stays`: whether nothing of that writes there."""

    source: str
    target: Buffer
    first: int
    rows: tuple[Rows, ...]
    before: tuple[Stmt, ...]
    behind: tuple[Stmt, ...]
    stays: bool


def parts_of(kernel: Kernel) -> Iterator[Part]:
    """What a kernel copies whole, and reads for nothing else, beside other things that it does."""
    if kernel.sizes:
        return
    targets = {buffer.name: buffer for buffer in kernel.outputs}
    sources = {buffer.name: buffer for buffer in kernel.buffers if buffer.role == "in"}
    once = {name for name, buffer in targets.items() if _is_written_once(kernel, buffer)}
    for at, stmt in enumerate(kernel.body):
        for store in _in_loops(stmt):
            source = sources.get(store.value.buffer) if isinstance(store.value, Load) else None
            if source is None:
                continue
            rest, copied = _without((stmt,), store), _copied(_only((stmt,), store), store, source.size)
            before, behind = kernel.body[:at], (*rest, *kernel.body[at + 1 :])
            if copied is None or not (before or behind) or source.name in loaded((*before, *behind)):
                continue
            first, rows = copied
            apart = store.buffer in once
            if apart or (len(rows) == 1 and not rest):
                stays = apart or not _is_written((*before, *behind), store.buffer, first, source.size)
                yield Part(source.name, targets[store.buffer], first, rows, before, behind, stays)


def _in_loops(stmt: Stmt) -> Iterator[Store]:
    """The stores of a statement around which there are loops alone."""
    if isinstance(stmt, Store):
        yield stmt
    for inner in stmt.body if isinstance(stmt, For) else ():
        yield from _in_loops(inner)


def _is_written_once(kernel: Kernel, target: Buffer) -> bool:
    """Whether the stores to a result, of which each element is made, are no more than its elements, and none reads what others stored."""
    stores = [stmt for stmt in statements(kernel.body) if isinstance(stmt, Store) and stmt.buffer == target.name]
    added = any(store.combine is not None for store in stores)
    return not added and target.name not in loaded(kernel.body) and _stored(kernel.body, target.name) == target.size


def _stored(body: tuple[Stmt, ...], name: str) -> int:
    """How often statements store elements of a buffer."""
    return sum(
        stmt.variable.extent * _stored(stmt.body, name) if isinstance(stmt, For | Fold) else isinstance(stmt, Store) and stmt.buffer == name
        for stmt in body
    )


def _only(body: tuple[Stmt, ...], store: Store) -> tuple[Stmt, ...]:
    """What of statements a store needs that is within loops alone."""
    found: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For) and any(one is store for one in statements((stmt,))):
            found.append(For(stmt.variable, stmt.kind, _only(stmt.body, store)))
        elif stmt is store or isinstance(stmt, Bind):
            found.append(stmt)
    return tuple(found)


def _without(body: tuple[Stmt, ...], store: Store) -> tuple[Stmt, ...]:
    """Statements without a store, and without loops that did nothing else."""
    found: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For) and any(one is store for one in statements((stmt,))):
            rest = _without(stmt.body, store)
            found += [For(stmt.variable, stmt.kind, rest)] if any(not isinstance(one, Bind) for one in rest) else []
        elif stmt is not store:
            found.append(stmt)
    return tuple(found)


def _is_written(body: tuple[Stmt, ...], name: str, first: int, size: int) -> bool:
    """Whether statements write some of so many elements of a buffer, from the first of them on."""
    bound, forms = bound_in(statements(body)), Forms()
    for stmt in statements(body):
        if isinstance(stmt, Store) and stmt.buffer == name:
            least, most = bounds(forms(substitute(stmt.index, bound)))
            if least < first + size and most >= first:
                return True
    return False


def _copied(body: tuple[Stmt, ...], store: Store, size: int) -> tuple[int, tuple[Rows, ...]] | None:
    """Where the copy of an array of so many elements begins and how its rows lie, if that is what a store makes in these loops."""
    loops = [stmt.variable for stmt in statements(body) if isinstance(stmt, For)]
    if store.combine is not None or not isinstance(store.value, Load):
        return None
    bound, forms = bound_in(statements(body)), Forms()
    read, written = (forms(substitute(index, bound)) for index in (store.value.index, store.index))
    if read.constant or _counted(read.terms, loops) != size or set(read.terms) != set(written.terms):
        return None
    rows = [Rows(1, 1)]
    for loop in sorted((one for one in loops if one.extent > 1), key=lambda one: read.terms[one]):
        here, last = Rows(read.terms[loop], written.terms[loop]), rows[-1]
        if here.there * last.apart != here.apart * last.there:
            rows.append(here)
    # what stands apart, one by one, is written together faster than where it is made
    return (written.constant, tuple(reversed(rows))) if all(row.apart > 1 for row in rows[1:]) else None


def _counted(strides: Mapping[Index, int], loops: Sequence[Var]) -> int | None:
    """How many elements, one behind the other from the first on, loops with these strides go through, each once."""
    known, count = dict(strides), 1
    for loop in sorted((one for one in loops if one.extent > 1), key=lambda one: known.get(one, 0)):
        if known.pop(loop, 0) != count or loop.lo:
            return None
        count *= loop.extent
    return count if not known else None


def made_in_place(maker: Kernel, whole: Kernel, part: Part) -> Kernel | None:
    """One kernel that makes what is copied where it is copied to, in the place of the copy, and all else that both make; None where they
    cannot be one."""
    made, scratch = {buffer.name for buffer in maker.outputs}, (*maker.scratch, *whole.scratch)
    moved = _in_the_copy(maker, part)
    if moved is None or maker.sizes or not made.isdisjoint(loaded(part.before)) or len({buffer.name for buffer in scratch}) < len(scratch):
        return None
    beside = Renaming(unused_end("_beside", moved), {}, {})
    read = {one.name: one for kernel in (maker, whole) for one in kernel.buffers if one.role == "in" and one.name not in made}
    outputs = (*(buffer for buffer in maker.outputs if buffer.name != part.source), *whole.outputs)
    body = (*beside.block(part.before), *moved, *beside.block(part.behind))
    return Kernel(maker.name, (*read.values(), *outputs), body, scratch=scratch)


def read_in_place(reader: Kernel, part: Part) -> Kernel | None:
    """The kernel with what it reads of a copied array read in the copy; None where that is written over, or elements say what it reads."""
    moved = None if reader.sizes or not part.stays else _in_the_copy(reader, part)
    if moved is None:
        return None
    buffers = {part.target.name: Buffer(part.target.name, part.target.dtype, part.target.size, "in")}
    buffers |= {buffer.name: buffer for buffer in reader.buffers if buffer.name != part.source}
    return Kernel(reader.name, tuple(buffers.values()), moved, scratch=reader.scratch)


class _InTheCopy(Renaming):
    """Statements about the copy of an array, with the place in it for every place in the array."""

    def __init__(self, part: Part, places: Mapping[Index, Index]) -> None:
        super().__init__("", {part.source: part.target.name}, {})
        self.source, self.places = part.source, places

    def element(self, buffer: str, index: Index) -> tuple[str, Index]:
        return super().element(buffer, self.places[index] if buffer == self.source else index)


def _in_the_copy(kernel: Kernel, part: Part) -> tuple[Stmt, ...] | None:
    """What a kernel does with an array, done with the copy of it; None where elements say which of its elements are read, or it goes across
    the rows of the copy as if they were one."""
    body = list(statements(kernel.body))
    values = values_of(body)
    if any(isinstance(term, Pick) and term.buffer == part.source for term in scalars(*values)):
        return None
    places = {load.index for value in values for load in loads(value) if load.buffer == part.source}
    places |= {stmt.index for stmt in body if isinstance(stmt, Store) and stmt.buffer == part.source}
    bound, forms = bound_in(body), Forms()
    found = dict[Index, Index]()
    for place in places:
        there = place + part.first if len(part.rows) == 1 else _place(forms(substitute(place, bound)), part)
        if there is None:
            return None
        found[place] = there
    return _InTheCopy(part, found).block(kernel.body)


def _place(form: Affine, part: Part) -> Index | None:
    """The place in the copy of an element of the array; None where it may be of several rows."""
    there = Affine(part.first, {})
    for row in part.rows:
        which, rest = divided("floordiv", form, row.apart), divided("mod", form, row.apart)
        if which is None or rest is None:
            return None
        there, form = sum_of(((there, 1), (which, row.there))), rest
    return rebuilt(there)
