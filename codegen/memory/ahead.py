"""Memory that a later iteration of a loop reads or writes, asked for while an earlier one runs.

A processor brings the next lines of a stream by itself, but only where it has seen some of them, and not past the end of a page: it
waits at every row of two pages and less, and for every line of what is read across rows.  To ask for what is there anyway costs a few
instructions, and changes no result.  Some processors begin loads so many instructions ahead that they find several rows, or lines across
rows, at once: of these nothing is asked, for that only keeps what is read now waiting.

To write a part of a line a processor needs all of it, and stores go one after the other: where several rows are written that begin anywhere
in lines, each store waits for two of them.  The same processors do not look ahead there, so lines to write are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import NamedTuple

from eqsat.codegen.builder import Value, integer
from eqsat.codegen.emitter import Emitter
from eqsat.codegen.folds.accumulator import Carried
from eqsat.codegen.index import llvm_type
from eqsat.codegen.memory.lines import LINE_BYTES, begins_within
from eqsat.codegen.scope import Scope
from eqsat.ir.dtypes import itemsize
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Const, Index, Var, substitute, variables
from eqsat.ir.loops import Bind, Fold, For, Kernel, Load, Stmt, Store, loads, nested_loops, statements, value_of
from eqsat.ir.tensor import is_size

# kernels over so many bytes wait for memory; what is smaller stays in caches, where it costs a sixth more to ask.  Of their buffers these
LEAST_BYTES, LEAST_BUFFER = 10 << 20, 1 << 20
# what goes on for so many bytes is a stream
STREAM = 8 << 10
# bytes to ask for in an iteration, and how many bytes before they are read
FEWEST, MOST, AHEAD = 512, 16 << 10, 8 << 10
# what has fewer bytes has a line more than they fill, mostly
SHORT = 256
PREFETCH = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"
# to read, into the second cache, since lines of several rows push each other out of the first; to write, into the first
HOW = "i32 0, i32 2, i32 1"
TO_WRITE = "i32 1, i32 3, i32 1"
# buffers of fewer bytes stay in the first cache; and how many bytes before they are written lines are asked for, in how many iterations
LEAST_WRITTEN, WRITTEN_AHEAD, LEAST_STEPS = 32 << 10, 256, 4


@dataclass(frozen=True)
class Piece:
    """What an iteration of a loop reads of a buffer.

    load     where it begins, the variables of inner loops being at `corner`, and those of `binds` following
    repeats  how often there is the same again, so many bytes behind; outer ones first
    lines    a byte of every line, from where it begins
    """

    load: Load
    binds: tuple[Bind, ...]
    corner: tuple[tuple[Var, int], ...]
    repeats: tuple[tuple[int, int], ...]
    lines: tuple[int, ...]

    @property
    def bytes(self) -> int:
        return LINE_BYTES * len(self.lines) * prod(count for count, _ in self.repeats)


class Access(NamedTuple):
    """A load in loops, outer ones first, or what a store writes as if it were loaded; `element`: which one, over their variables alone,
    `binds` followed."""

    load: Load
    element: Index
    loops: tuple[For | Fold, ...]
    binds: tuple[Bind, ...]


class Stretch(NamedTuple):
    """`bytes` that loads next to each other read, from that of `read` on; `steps`: how many bytes further with every loop, None where
    that differs."""

    read: Access
    bytes: int
    steps: tuple[int | None, ...]

    @property
    def is_stream(self) -> bool:
        """Whether loop after loop goes on where the one in it ended, for long or to the end."""
        length = self.bytes
        for loop, step in zip(reversed(self.read.loops), reversed(self.steps), strict=True):
            if step is None or not 0 <= step <= length + LINE_BYTES:
                return length >= STREAM
            length += step * (loop.variable.extent - 1)
        return True


def pieces_ahead(kernel: Kernel, looks_ahead: bool = False) -> dict[Var, tuple[Piece, ...]]:
    """What to ask for in iterations of loops, by their variables: nothing of a processor that looks ahead by itself."""
    sizes = kernel.bytes
    if looks_ahead or kernel.sizes or sum(sizes.values()) < LEAST_BYTES:
        return {}
    reads = list(_reads(kernel.body))
    touched = {buffer.name: sizes[buffer.name] for buffer in kernel.outputs} | dict.fromkeys((read.load.buffer for read in reads), 0)
    for read in reads:
        name, times = read.load.buffer, prod(loop.variable.extent for loop in read.loops)
        touched[name] = min(sizes[name], touched[name] + times * itemsize(read.load.dtype))
    if sum(touched.values()) < LEAST_BYTES:
        return {}
    found: dict[Var, list[Piece]] = {}
    for stretch in _stretches(read for read in reads if touched[read.load.buffer] >= LEAST_BUFFER):
        if not stretch.is_stream and (first := next(_pieces(stretch), None)) is not None:
            found.setdefault(first[0], []).append(first[1])
    return {variable: tuple(pieces) for variable, pieces in found.items() if _bytes(pieces) >= FEWEST}


def written_ahead(kernel: Kernel, looks_ahead: bool = False) -> dict[Store, int]:
    """The stores of tiles that ask for lines, and how many bytes behind the one that they write those are: where what they write begins
    anywhere in a line, on a processor that looks ahead only for what it reads."""
    sizes = kernel.bytes
    if not looks_ahead or kernel.sizes:
        return {}
    found: dict[Store, int] = {}
    for store, written in _tiled_stores(kernel.body):
        around = next(loop.variable for loop in reversed(written.loops) if isinstance(loop, For) and loop.kind != "tile")
        lane, size, step = written.loops[-1].variable, itemsize(store.value.dtype), _step(written, around)
        if sizes[store.buffer] < LEAST_WRITTEN or around.extent < LEAST_STEPS or not step:
            continue
        whole = _step(written, lane) == size and lane.extent * size >= LINE_BYTES
        if whole and begins_within(substitute(written.element, {lane: Const(lane.lo)}), size):
            found[store] = step * -(-WRITTEN_AHEAD // abs(step))
    return found


def _tiled_stores(body: Sequence[Stmt], loops: tuple[For, ...] = (), binds: tuple[Bind, ...] = ()) -> Iterator[tuple[Store, Access]]:
    """The stores of tiles in loops that fold nothing and add nothing to memory."""
    for stmt in body:
        if isinstance(stmt, Bind):
            binds = (*binds, stmt)
        elif isinstance(stmt, For) and stmt.kind != "tile":
            yield from _tiled_stores(stmt.body, (*loops, stmt), binds)
        elif isinstance(stmt, For) and loops:
            tile, inside = nested_loops(stmt), list(statements(stmt.body))
            known, around = (*binds, *(one for one in inside if isinstance(one, Bind))), (*loops, *tile)
            if any(isinstance(one, Fold) for one in inside):
                continue
            for store in inside:
                if isinstance(store, Store) and store.combine is None:
                    access = Access(Load(store.buffer, store.index, store.value.dtype), _followed(store.index, known), around, known)
                    if {loop.variable for loop in around}.issuperset(_loop_variables(access.element)):
                        yield store, access


def emit_ahead(e: Emitter, variable: Var, pieces: Sequence[Piece], counter: Value, end: Value, scope: Scope) -> None:
    """Ask for what an iteration after `counter` reads, the last one before `end` at most."""
    b = e.b
    b.declarations.add(PREFETCH)
    distance = max(1, min(AHEAD // _bytes(pieces), variable.extent // 4))
    last = b.binary("sub", end, integer(1, end.type), "nsw")
    later = b.intrinsic("smin", b.binary("add", counter, integer(distance, counter.type), "nsw"), last)
    for piece in pieces:
        there = scope.inner()
        there.indices[e.typed[variable]] = later
        for inner, first in piece.corner:
            there.indices[e.typed[inner]] = integer(first, llvm_type(e.typed[inner]))
        for bind in piece.binds:
            if e.typed[bind.variable] not in scope.indices:
                e.index(bind.variable, there)
        _ask(e, e.address(e.buffer(piece.load.buffer, piece.load.dtype), piece.load.index, there), piece.repeats, piece.lines)


def emit_written_ahead(e: Emitter, place: Value, behind: int) -> None:
    """Ask for the line so many bytes behind a place, to write it."""
    e.b.declarations.add(PREFETCH)
    e.b.lines.append(f"  call void @llvm.prefetch.p0({e.b.element('i8', place.text, integer(behind), '')}, {TO_WRITE})")


def _ask(e: Emitter, begin: Value, repeats: tuple[tuple[int, int], ...], lines: tuple[int, ...]) -> None:
    b = e.b
    if not repeats:
        for line in lines:
            b.lines.append(f"  call void @llvm.prefetch.p0({b.element('i8', begin.text, integer(line), '')}, {HOW})")
        return
    (count, step), *inner = repeats

    def again(counter: Value, carried: Carried) -> Carried:
        _ask(e, b.element("i8", begin.text, b.binary("mul", counter, integer(step), "nuw nsw"), ""), tuple(inner), lines)
        return ()

    e.loop(integer(0), integer(count), (), again, b.keep_rolled if inner else str)


def _bytes(pieces: Iterable[Piece]) -> int:
    return sum(piece.bytes for piece in pieces)


def _reads(body: Sequence[Stmt], loops: tuple[For | Fold, ...] = (), binds: tuple[Bind, ...] = ()) -> Iterator[Access]:
    for stmt in body:
        inner = loops
        if isinstance(stmt, Bind):
            binds = (*binds, stmt)
        elif isinstance(stmt, For | Fold):
            inner = (*loops, stmt)
            yield from _reads(stmt.body, inner, binds)
        if (value := value_of(stmt)) is not None:
            known = (*binds, *(below for below in stmt.body if isinstance(below, Bind))) if isinstance(stmt, Fold) else binds
            reads = (Access(load, _followed(load.index, known), inner, known) for load in loads(value))
            # where an element says where to read there is nothing to ask for before
            yield from (read for read in reads if {loop.variable for loop in inner}.issuperset(_loop_variables(read.element)))


def _loop_variables(index: Index) -> set[Var]:
    return {variable for variable in variables(index) if not is_size(variable)}


def _followed(index: Index, binds: Sequence[Bind]) -> Index:
    for bind in reversed(binds):
        index = substitute(index, {bind.variable: bind.value})
    return index


def _stretches(reads: Iterable[Access]) -> Iterator[Stretch]:
    """Reads that move alike, joined where they are next to each other."""
    alike: dict[tuple[str, tuple[Var, ...], tuple[int | None, ...]], list[tuple[int, int, Access]]] = {}
    for count, read in enumerate(reads):
        variables = tuple(loop.variable for loop in read.loops)
        steps = tuple(_step(read, variable) for variable in variables)
        alike.setdefault((read.load.buffer, variables, steps), []).append((_place(read, {}), count, read))
    for (_, _, steps), group in alike.items():
        group.sort()
        ends = [k for k, (one, other) in enumerate(pairwise(group), 1) if other[0] - one[0] > LINE_BYTES]
        for begin, end in pairwise([0, *ends, len(group)]):
            (place, _, first), (last, _, read) = group[begin], group[end - 1]
            yield Stretch(first, last - place + itemsize(read.load.dtype), steps)


def _place(read: Access, at: dict[Var, int]) -> int:
    """Which byte of the buffer is read where variables are `at` these numbers, the others at their first."""
    env = {loop.variable: loop.variable.lo for loop in read.loops} | at
    return int(evaluate_index(read.element, env)) * itemsize(read.load.dtype)


def _step(read: Access, variable: Var) -> int | None:
    """By how many bytes a read moves from one iteration to the next, by the first ones: the last may differ."""
    places = [_place(read, {variable: variable.lo + k}) for k in range(min(variable.extent, 3))]
    steps = {after - before for before, after in pairwise(places)}
    return None if len(steps) > 1 else steps.pop() if steps else 0


def _pieces(stretch: Stretch) -> Iterator[tuple[Var, Piece]]:
    """What to ask for in a loop that jumps, by its variable; outer loops first."""
    loops, steps = stretch.read.loops, stretch.steps
    for depth, loop in enumerate(loops[:-1]):
        inner = [(below.variable, step) for below, step in zip(loops[depth + 1 :], steps[depth + 1 :], strict=True) if step is not None]
        if isinstance(loop, Fold) or loop.kind == "tile" or len(inner) < len(loops) - depth - 1:
            continue
        length, repeats = stretch.bytes, list[tuple[int, int]]()
        for variable, step in sorted(inner, key=lambda pair: abs(pair[1])):
            if repeats or abs(step) > length + LINE_BYTES:
                repeats.insert(0, (variable.extent, abs(step)))
            elif variable.extent > 1:
                length += abs(step) * (variable.extent - 1)
        along = steps[depth]
        jumps = along is None or not 0 <= along <= length + LINE_BYTES
        if length >= SHORT:
            repeats.append((-(-length // LINE_BYTES), LINE_BYTES))
        corner = tuple((variable, variable.lo if step >= 0 else variable.hi) for variable, step in inner)
        lines = (0,) if length >= SHORT else (*range(0, length, LINE_BYTES), length - 1)
        piece = Piece(stretch.read.load, stretch.read.binds, corner, tuple(repeats), lines)
        if jumps and piece.bytes <= MOST:
            yield loop.variable, piece
