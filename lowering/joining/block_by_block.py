"""Running sums along one row, block by block, with what they are of and what is made of them, element by element.

    for k < n: t[k] = f(k);   for k serial: s[k] = s[k - 1] + t[k];   for k < n: out[k] = g(s[k], k)

    ->  for block serial: { for j: t'[j] = f(k);  for j serial: s'[j] = s'[j - 1] + t'[j];  for j: out[k] = g(s'[j], k) }

What the next block begins with goes to the room before s'.  Of what is between them a block is enough, which stays in the first cache.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from eqsat.ir.dtypes import is_complex, is_float
from eqsat.ir.index import Index, Var, as_index
from eqsat.ir.loops import Buffer, For, Kernel, Load, Pick, Stmt, Store, statements, values_of
from eqsat.ir.ops import FOLD_OF, identity_of
from eqsat.ir.tensor import Call, Literal, Scalar, scalars
from eqsat.lowering.affine import Forms, bounds, rebuilt
from eqsat.lowering.joining.renaming import Renaming

# elements of a block, and of the room before one, at whose end is what is carried: whole vectors
BLOCK, ROOM = 512, 64


@dataclass(frozen=True)
class _Running:
    """The running fold of a row: result[k] is op(result[k - 1], added), a function of the loop's variable."""

    result: Buffer
    variable: Var
    call: Call

    @property
    def beginning(self) -> Literal:
        """What changes no element: of sums the zero below zero."""
        dtype = self.call.dtype
        first = identity_of(FOLD_OF[self.call.op], dtype).item()
        return Literal(-0.0 if self.call.op == "add" and is_float(dtype) else first, dtype)


def block_by_block(kernels: Sequence[Kernel], between: Collection[str], extent: int) -> Kernel | None:
    """One kernel that runs others, one behind the other, for blocks of so many elements; buffers `between` them, which are read by no
    other, become blocks of scratch memory.  None where one of the others is no loop over all elements and no running fold of them, or
    reads other elements of what is between."""
    whole, rest = divmod(extent, BLOCK)
    if whole < 2:
        return None
    writing = _Writing(kernels, frozenset(between), extent)
    block = Var("block", 0, whole - 1)
    each = writing.block(block * BLOCK, BLOCK, "")
    last = writing.block(as_index(whole * BLOCK), rest, "_rest") if rest else ((), ())
    if each is None or last is None:
        return None
    (before, inside), (before_rest, inside_rest) = each, last
    body = (*writing.beginnings(), *before, For(block, "serial", inside), *before_rest, *inside_rest)
    return Kernel("kernel", (*writing.read.values(), *writing.outputs), body, scratch=tuple(writing.scratch.values()))


def length_of(kernel: Kernel) -> int | None:
    """Of how many elements in one row a kernel is the running fold; None for others."""
    extent = kernel.outputs[0].size
    return None if _running(kernel, extent) is None else extent


class _Writing:
    """The statements of blocks."""

    def __init__(self, kernels: Sequence[Kernel], between: frozenset[str], extent: int) -> None:
        self.kernels, self.extent = kernels, extent
        self.running = [_running(kernel, extent) for kernel in kernels]
        results = {one.result.name: one for one in self.running if one is not None}
        # by name the memory of a block, and how many elements stand before it
        self.rooms = {name: ROOM if name in results else 0 for name in {*between, *results}}
        self.scratch = {
            buffer.name: Buffer(f"{buffer.name}_block", buffer.dtype, self.rooms[buffer.name] + BLOCK, "scratch")
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
                yield Store(self.scratch[one.result.name].name, as_index(ROOM - 1), one.beginning)

    def block(self, begin: Index, length: int, suffix: str) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]] | None:
        """What stands before all blocks, and the statements of one that begins there; None where that cannot be."""
        before: list[Stmt] = []
        inside: list[Stmt] = []
        carried: list[Stmt] = []
        for number, (kernel, running) in enumerate(zip(self.kernels, self.running, strict=True)):
            within = _Within(f"_{number}{suffix}", begin, length, {n: (b.name, self.rooms[n]) for n, b in self.scratch.items()})
            if running is not None:
                inside += within.folded(running, running.result.name not in self.between)
                memory = self.scratch[running.result.name]
                last = Load(memory.name, as_index(ROOM + length - 1), memory.dtype)
                carried.append(Store(memory.name, as_index(ROOM - 1), last))
            else:
                *ahead, loop = kernel.body
                if (
                    kernel.sizes
                    or kernel.scratch
                    or not _is_over(loop, self.extent)
                    or any(isinstance(stmt, For | Store) for stmt in ahead)
                ):
                    return None
                if _picks(kernel, self.rooms):
                    return None
                before += within.block(tuple(ahead))
                inside += within.elements(loop)
            if not within.stays:
                return None
        return tuple(before), (*inside, *carried)


def _is_over(stmt: Stmt, extent: int) -> bool:
    return isinstance(stmt, For) and stmt.kind == "parallel" and not stmt.variable.lo and stmt.variable.extent == extent


def _picks(kernel: Kernel, between: Collection[str]) -> bool:
    elements = scalars(*values_of(statements(kernel.body)))
    return any(isinstance(term, Pick) and term.buffer in between for term in elements)


def _running(kernel: Kernel, extent: int) -> _Running | None:
    """The running fold of a row of so many elements that a kernel is."""
    if len(kernel.body) != 2 or len(kernel.outputs) != 1:
        return None
    first, loop = kernel.body
    if not isinstance(first, Store) or not isinstance(loop, For) or loop.kind != "serial" or len(loop.body) != 1:
        return None
    (store,), variable = loop.body, loop.variable
    if not isinstance(store, Store) or (variable.lo, variable.hi) != (1, extent - 1) or store.index is not variable:
        return None
    call = store.value
    if is_complex(store.value.dtype):
        return None
    if not isinstance(call, Call) or call.op not in FOLD_OF or not isinstance(call.args[0], Load) or call.args[0].buffer != store.buffer:
        return None
    return _Running(kernel.outputs[0], variable, call)


class _Within(Renaming):
    """The statements of one block, in which what is between has memory of a block, behind some room; `stays`: whether no place in them is
    in another block."""

    def __init__(self, suffix: str, begin: Index, length: int, memory: Mapping[str, tuple[str, int]]) -> None:
        super().__init__(suffix, {}, {})
        self.begin, self.length, self.memory = begin, length, memory
        self.stays = True
        self._forms = Forms()

    def elements(self, loop: Stmt) -> tuple[Stmt, ...]:
        assert isinstance(loop, For)
        inner = self._over(loop.variable)
        return (For(inner, "parallel", self.block(loop.body)),)

    def folded(self, running: _Running, stored: bool) -> Iterator[Stmt]:
        inner = self._over(running.variable)
        name, room = self.memory[running.result.name]
        dtype = running.call.dtype
        before = Load(name, inner + (room - 1), dtype)
        total: Scalar = Call(running.call.op, (before, self.scalar(running.call.args[1])), dtype)
        yield For(inner, "serial", (Store(name, inner + room, total),))
        if stored:
            again = Var(f"{inner.name}_stored", 0, self.length - 1)
            yield For(again, "parallel", (Store(running.result.name, self.begin + again, Load(name, again + room, dtype)),))

    def _over(self, variable: Var) -> Var:
        inner = Var(variable.name + self.suffix, 0, self.length - 1)
        self.variables[variable] = self.begin + inner
        return inner

    def element(self, buffer: str, index: Index) -> tuple[str, Index]:
        here = self.index(index)
        if buffer not in self.memory:
            return buffer, here
        name, room = self.memory[buffer]
        place = self._forms(here - self.begin)
        least, most = bounds(place)
        self.stays = self.stays and least >= 0 and most < self.length
        return name, rebuilt(place) + room
