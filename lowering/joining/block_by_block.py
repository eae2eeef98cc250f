"""Running sums along long rows, block by block, with what they are of and what is made of them, element by element.

    for k < n: t[k] = f(k);   for k serial: s[k] = s[k - 1] + t[k];   for k < n: out[k] = g(s[k], k)

    ->  for block serial: { for j: t'[j] = f(k);  for j serial: s'[j] = s'[j - 1] + t'[j];  for j: out[k] = g(s'[j], k) }

What the next block begins with goes to the room before s'.  Of what is between them a block is enough, which stays in the first cache.  A
loop over fewer elements begins further behind: where g reads s[k] and s[k - w], as windows of running sums do, or f is another one for the
first elements.  The first block has statements of its own then, and so many elements are kept for the next block.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from eqsat.ir.dtypes import is_complex, is_float
from eqsat.ir.index import Index, Var, as_index
from eqsat.ir.loops import Buffer, For, Kernel, Load, Stmt, Store
from eqsat.ir.ops import FOLD_OF, identity_of
from eqsat.ir.tensor import Call, Literal, Scalar
from eqsat.lowering.affine import Forms, bounds, rebuilt
from eqsat.lowering.joining.renaming import Renaming
from eqsat.lowering.joining.row_by_row import picks

# elements of a block at least, and of the room before one, at whose end is what is carried: whole vectors; how far back elements are read
BLOCK, ROOM, FARTHEST = 512, 64, 2048


@dataclass(frozen=True)
class _Running:
    """The running fold of rows: result[k] is op(result[k - 1], added), a function of the variables of the loops along a row and over
    rows."""

    result: Buffer
    variable: Var
    row: Var | None
    call: Call

    @property
    def beginning(self) -> Literal:
        """What changes no element: of sums the zero below zero."""
        dtype = self.call.dtype
        first = identity_of(FOLD_OF[self.call.op], dtype).item()
        return Literal(-0.0 if self.call.op == "add" and is_float(dtype) else first, dtype)


def block_by_block(kernels: Sequence[Kernel], between: Collection[str], rows: int, extent: int) -> Kernel | None:
    """One kernel that runs others, one behind the other, for blocks of rows of so many elements; buffers `between` them, which are read by
    no other, become blocks of scratch memory.  None where one of the others is no loop over all elements and no running fold of them, or
    reads other elements of what is between."""
    row = Var("row", 0, rows - 1)
    writing = _BlockWriting(kernels, frozenset(between), row, extent)
    size = writing.size
    whole, rest = divmod(extent, size)
    if whole < 2 or writing.behind > FARTHEST:
        return None
    block = Var("block", int(writing.begins_apart), whole - 1)
    parts = [writing.block(as_index(0), size, "_first")] if writing.begins_apart else []
    parts.append(writing.block(block * size, size, ""))
    parts += [writing.block(as_index(whole * size), rest, "_rest")] if rest else []
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    body = list(writing.beginnings())
    for k, (before, inside) in enumerate(found):
        body += [*before, For(block, "serial", inside)] if k == int(writing.begins_apart) else [*before, *inside]
    body = [For(row, "parallel", tuple(body))] if rows > 1 else body
    return Kernel("kernel", (*writing.read.values(), *writing.outputs), tuple(body), scratch=tuple(writing.scratch.values()))


def rows_of(kernel: Kernel) -> tuple[int, int] | None:
    """(rows, elements of each) of a kernel that is a running fold along rows; None for any other kernel."""
    outer = kernel.body[0] if len(kernel.body) == 1 else None
    rows, size = outer.variable.extent if isinstance(outer, For) else 1, kernel.outputs[0].size
    return (rows, size // rows) if size % rows == 0 and _running(kernel, rows, size // rows) is not None else None


class _BlockWriting:
    """The statements of blocks."""

    def __init__(self, kernels: Sequence[Kernel], between: frozenset[str], row: Var, extent: int) -> None:
        self.kernels, self.row, self.extent = kernels, row, extent
        self.running = [_running(kernel, row.extent, extent) for kernel in kernels]
        results = {one.result.name: one for one in self.running if one is not None}
        others = [_inside(kernel, row.extent) for kernel, one in zip(kernels, self.running, strict=True) if one is None]
        loops = [stmt.variable.extent for body in others for stmt in body if isinstance(stmt, For)]
        # how much shorter the shortest loop is, and so how many elements before a block are kept; whether the first block is another one
        self.behind = max((extent - count for count in loops if count < extent), default=0)
        self.begins_apart = self.behind > 0 or any(isinstance(stmt, Store) for body in others for stmt in body)
        self.size = max(BLOCK, 1 << (2 * self.behind - 1).bit_length() if self.behind else 0)
        self.room = max(ROOM, -(-(self.behind + 1) // ROOM) * ROOM)
        # by name the memory of a block, and how many elements stand before it
        self.rooms = {name: self.room if name in results else 0 for name in {*between, *results}}
        self.scratch = {
            buffer.name: Buffer(f"{buffer.name}_block", buffer.dtype, self.rooms[buffer.name] + self.size, "scratch")
            for kernel in kernels
            for buffer in kernel.outputs
            if buffer.name in self.rooms
        }
        self.between = between
        self.outputs = [buffer for kernel in kernels for buffer in kernel.outputs if buffer.name not in between]
        made = {buffer.name for kernel in kernels for buffer in kernel.outputs}
        self.read = {b.name: b for kernel in kernels for b in kernel.buffers if b.role == "in" and b.name not in made}

    def beginnings(self) -> Iterator[Stmt]:
        for one in self.running:
            if one is not None:
                yield Store(self.scratch[one.result.name].name, as_index(self.room - 1), one.beginning)

    def block(self, begin: Index, length: int, suffix: str) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]] | None:
        """What stands before all blocks, and the statements of one that begins there; None where that cannot be."""
        before: list[Stmt] = []
        inside: list[Stmt] = []
        carried: list[Stmt] = []
        for number, (kernel, running) in enumerate(zip(self.kernels, self.running, strict=True)):
            memory_of = {name: (buffer.name, self.rooms[name]) for name, buffer in self.scratch.items()}
            within = _WithinBlock(f"_{number}{suffix}", self._first(), begin, length, memory_of, self.behind)
            if running is not None:
                inside += within.folded(running, self.row, running.result.name not in self.between)
                carried += self._carried(self.scratch[running.result.name], length, f"kept_{number}{suffix}")
            else:
                if kernel.sizes or kernel.scratch or picks(kernel, self.rooms):
                    return None
                found = within.elements(kernel, self.row, self.extent, suffix == "_first")
                if found is None:
                    return None
                before += found[0]
                inside += found[1]
            if not within.stays:
                return None
        return tuple(before), (*inside, *carried)

    def _carried(self, memory: Buffer, length: int, name: str) -> Iterator[Stmt]:
        """What the next block begins with, and reads of this one."""
        kept = max(self.behind, 1)
        if length >= kept:  # the last block may have fewer, and no next one
            each = Var(name, 0, kept - 1)
            place = each + (self.room - kept) if kept > 1 else as_index(self.room - 1)
            store = Store(memory.name, place, Load(memory.name, place + length, memory.dtype))
            yield For(each, "parallel", (store,)) if kept > 1 else store

    def _first(self) -> Index:
        """Where a row begins."""
        return self.row * self.extent if self.row.extent > 1 else as_index(0)


def _inside(kernel: Kernel, rows: int) -> tuple[Stmt, ...]:
    """What a kernel does for one of several rows, where its outermost loop is one over rows."""
    (*_, last) = kernel.body
    return last.body if rows > 1 and len(kernel.body) == 1 and isinstance(last, For) and _is_over(last, rows) else kernel.body


def _is_over(stmt: Stmt, extent: int) -> bool:
    return isinstance(stmt, For) and stmt.kind == "parallel" and not stmt.variable.lo and stmt.variable.extent == extent


def _running(kernel: Kernel, rows: int, extent: int) -> _Running | None:
    """The running fold of so many rows of so many elements that a kernel is."""
    body, row = kernel.body, None
    if len(body) == 1 and isinstance(body[0], For) and _is_over(body[0], rows):
        row, body = body[0].variable, body[0].body
    if len(body) != 2 or len(kernel.outputs) != 1 or (row is None) != (rows == 1):
        return None
    first, loop = body
    if not isinstance(first, Store) or not isinstance(loop, For) or loop.kind != "serial" or len(loop.body) != 1:
        return None
    (store,), variable = loop.body, loop.variable
    begin = as_index(0) if row is None else row * extent
    if not isinstance(store, Store) or (variable.lo, variable.hi) != (1, extent - 1) or is_complex(store.value.dtype):
        return None
    distance, call = Forms()(store.index - begin - variable), store.value
    if distance.terms or distance.constant or not isinstance(call, Call) or call.op not in FOLD_OF:
        return None
    before = call.args[0]
    return _Running(kernel.outputs[0], variable, row, call) if isinstance(before, Load) and before.buffer == store.buffer else None


class _WithinBlock(Renaming):
    """The statements of one block of a row that begins at `first`, in which what is between has memory of a block, behind some room, of
    which so many elements are those `behind` the block; `stays`: whether no place in them is elsewhere."""

    def __init__(self, suffix: str, first: Index, begin: Index, length: int, memory: Mapping[str, tuple[str, int]], behind: int) -> None:
        super().__init__(suffix, {}, {})
        self.first, self.begin, self.length, self.memory, self.behind = first, begin, length, memory, behind
        self.stays = True
        self._forms = Forms()

    def elements(self, kernel: Kernel, row: Var, extent: int, begins: bool) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]] | None:
        """What a kernel does before a row, and of a block, the first one or another; None of one that is no loop over elements.  A loop
        over fewer elements than a row has is that over the last of them, and does not begin before the first block has so many."""
        if row.extent > 1 and len(kernel.body) == 1 and _is_over(kernel.body[0], row.extent * extent):
            return (), self._block(kernel.body[0], self.first + self.begin, 0)
        statements = _inside(kernel, row.extent)
        if row.extent > 1:
            (outer,) = kernel.body if len(kernel.body) == 1 else (None,)
            if outer is None or not isinstance(outer, For) or statements is kernel.body:
                return None
            self.variables[outer.variable] = row
        before: list[Stmt] = []
        inside: list[Stmt] = []
        for stmt in statements:
            if isinstance(stmt, For):
                behind = extent - stmt.variable.extent
                if not _is_over(stmt, stmt.variable.extent) or behind < 0:
                    return None
                inside += self._block(stmt, self.begin - behind, behind if begins else 0)
            elif isinstance(stmt, Store):
                inside += [self.statement(stmt)] if begins else []
            elif inside:
                return None
            else:
                before.append(self.statement(stmt))
        return tuple(before), tuple(inside)

    def _block(self, loop: Stmt, begin: Index, first: int) -> tuple[Stmt, ...]:
        assert isinstance(loop, For)
        inner = self._over(loop.variable, begin, first)
        return (For(inner, "parallel", self.block(loop.body)),)

    def folded(self, running: _Running, row: Var, stored: bool) -> Iterator[Stmt]:
        if running.row is not None:
            self.variables[running.row] = row
        inner = self._over(running.variable, self.begin)
        name, room = self.memory[running.result.name]
        dtype = running.call.dtype
        before = Load(name, inner + (room - 1), dtype)
        total: Scalar = Call(running.call.op, (before, self.scalar(running.call.args[1])), dtype)
        yield For(inner, "serial", (Store(name, inner + room, total),))
        if stored:
            again = Var(f"{inner.name}_stored", 0, self.length - 1)
            place = self.first + self.begin + again
            yield For(again, "parallel", (Store(running.result.name, place, Load(name, again + room, dtype)),))

    def _over(self, variable: Var, begin: Index, first: int = 0) -> Var:
        inner = Var(variable.name + self.suffix, first, self.length - 1)
        self.variables[variable] = begin + inner
        return inner

    def element(self, buffer: str, index: Index) -> tuple[str, Index]:
        here = self.index(index)
        if buffer not in self.memory:
            return buffer, here
        name, room = self.memory[buffer]
        place = self._forms(here - self.first - self.begin)
        least, most = bounds(place)
        self.stays = self.stays and least >= -(self.behind if room else 0) and most < self.length
        return name, rebuilt(place) + room
