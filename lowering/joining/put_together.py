"""Arrays that another kernel copies whole into a part of its result: they are made where they stand in it.

for i < n: t[i] = f(i)
out[0] = a;  for i < n: out[i + 1] = t[i]      ->      out[0] = a;  for i < n: out[i + 1] = f(i)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from eqsat.ir.index import Const, Index, Var, substitute
from eqsat.ir.loops import Bind, Buffer, For, Kernel, Load, Pick, Stmt, Store, bound_in, loaded, statements, values_of
from eqsat.ir.tensor import scalars
from eqsat.lowering.affine import Forms, bounds
from eqsat.lowering.joining.renaming import Renaming, unused_end


class Part(NamedTuple):
    """`source` stands in `target`, element by element from `first` on; `copy`: the statement that copies it there; `stays`: whether no
    other statement of its kernel writes there."""

    source: str
    target: Buffer
    first: int
    copy: Stmt
    stays: bool


def parts_of(kernel: Kernel) -> Iterator[Part]:
    """What a kernel copies whole, and reads for nothing else, beside other things that it does."""
    if kernel.sizes or len(kernel.body) < 2:
        return
    targets = {buffer.name: buffer for buffer in kernel.outputs}
    for stmt in kernel.body:
        store = next((one for one in statements((stmt,)) if isinstance(one, Store)), None)
        if store is None or not isinstance(load := store.value, Load):
            continue
        source = next((buffer for buffer in kernel.buffers if (buffer.name, buffer.role) == (load.buffer, "in")), None)
        first = None if source is None else _first(stmt, source.size)
        others = tuple(other for other in kernel.body if other is not stmt)
        if source is not None and first is not None and source.name not in loaded(others):
            yield Part(source.name, targets[store.buffer], first, stmt, not _is_written(others, store.buffer, first, source.size))


def _is_written(body: tuple[Stmt, ...], name: str, first: int, size: int) -> bool:
    """Whether statements write some of so many elements of a buffer, from the first of them on."""
    bound, forms = bound_in(statements(body)), Forms()
    for stmt in statements(body):
        if isinstance(stmt, Store) and stmt.buffer == name:
            least, most = bounds(forms(substitute(stmt.index, bound)))
            if least < first + size and most >= first:
                return True
    return False


def _first(stmt: Stmt, size: int) -> int | None:
    """Where the copy of an array of so many elements begins, if that is what a statement makes."""
    body = list(statements((stmt,)))
    *around, store = [one for one in body if not isinstance(one, Bind)]
    loops = [one.variable for one in around if isinstance(one, For)]
    if len(loops) < len(around) or not isinstance(store, Store) or store.combine is not None or not isinstance(store.value, Load):
        return None
    bound, forms = bound_in(body), Forms()
    read, written = (forms(substitute(index, bound)) for index in (store.value.index, store.index))
    whole = read.constant == 0 and read.terms == written.terms and _counted(read.terms, loops) == size
    return written.constant if whole else None


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
    made, at = {buffer.name for buffer in maker.outputs}, next(k for k, stmt in enumerate(whole.body) if stmt is part.copy)
    before, behind = whole.body[:at], whole.body[at + 1 :]
    scratch = (*maker.scratch, *whole.scratch)
    reads_before = not made.isdisjoint(loaded(before))
    moved = _in_the_copy(maker, part)
    if moved is None or maker.sizes or reads_before or len({buffer.name for buffer in scratch}) < len(scratch):
        return None
    beside = Renaming(unused_end("_beside", moved), {}, {})
    read = {one.name: one for kernel in (maker, whole) for one in kernel.buffers if one.role == "in" and one.name not in made}
    outputs = (*(buffer for buffer in maker.outputs if buffer.name != part.source), *whole.outputs)
    return Kernel(maker.name, (*read.values(), *outputs), (*beside.block(before), *moved, *beside.block(behind)), scratch=scratch)


def read_in_place(reader: Kernel, part: Part) -> Kernel | None:
    """The kernel with what it reads of a copied array read in the copy; None where that is written over, or elements say what it reads."""
    moved = None if reader.sizes or not part.stays else _in_the_copy(reader, part)
    if moved is None:
        return None
    buffers = {part.target.name: Buffer(part.target.name, part.target.dtype, part.target.size, "in")}
    buffers |= {buffer.name: buffer for buffer in reader.buffers if buffer.name != part.source}
    return Kernel(reader.name, tuple(buffers.values()), moved, scratch=reader.scratch)


def _in_the_copy(kernel: Kernel, part: Part) -> tuple[Stmt, ...] | None:
    """What a kernel does with an array, done with the copy of it; None where elements say which of its elements are read."""
    picks = (term for term in scalars(*values_of(statements(kernel.body))) if isinstance(term, Pick))
    if any(pick.buffer == part.source for pick in picks):
        return None
    return Renaming("", {part.source: part.target.name}, {part.source: Const(part.first)} if part.first else {}).block(kernel.body)
