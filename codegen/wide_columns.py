"""Blocks of columns that threads share, those of one thread as one.

    for block < 2: for row serial: for lane < 960: out[row*1920 + block*960 + lane] = ..

A thread that does both blocks goes through whole rows, as they lie in memory: half rows, one after the other, take a quarter longer where
they come from far away.  Its loops along rows are as long as all of its blocks.  Blocks that are many are so for the caches, and stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.loops import Bind, For, Kernel, Let, Load, Pick, Stmt, Store, bound_in, statements, value_of, values_of
from eqsat.ir.tensor import Position, scalars

# blocks, which more threads could not share; and bytes of a row of all of them, of which several stay in the first cache
MOST_BLOCKS, MOST_BYTES = 8, 12 << 10
# bytes of a row of a block: fewer are carried, or what is added up in them kept, in registers
LEAST_CARRIED, LEAST_KEPT = 512, 2048


@dataclass(frozen=True)
class Wide:
    """The loop over blocks, those along rows, how many columns a block has, and how many behind it the next one begins; `rows`: scratch
    memory that is a row of a block."""

    loop: For
    lanes: tuple[For, ...]
    columns: int
    step: int
    rows: frozenset[str]

    @property
    def whole(self) -> int:
        """The columns of all blocks."""
        return (self.loop.variable.extent - 1) * self.step + self.columns


def wide_columns(kernel: Kernel) -> Wide | None:
    """The blocks of columns that are all of a kernel, if they are few, and all that is done in them is done along rows."""
    if len(kernel.body) != 1 or kernel.sizes or kernel.parts:
        return None
    (loop,) = kernel.body
    if not isinstance(loop, For) or loop.kind != "parallel" or loop.variable.lo or not 1 < loop.variable.extent <= MOST_BLOCKS:
        return None
    body = tuple(statements(loop.body))
    if not all(isinstance(stmt, For | Bind | Let | Store) for stmt in body):
        return None
    lanes = list(_innermost(loop.body))
    extents = {lane.variable.extent for lane in lanes}
    along = {id(stmt) for lane in lanes for stmt in lane.body}
    if len(extents) != 1 or any(id(stmt) not in along for stmt in body if isinstance(stmt, Let | Store)):
        return None
    (columns,) = extents
    values = list(scalars(*values_of(body)))
    widest = max(itemsize(term.dtype) for term in values)
    if any(isinstance(term, Pick) for term in values):
        return None
    kept = [itemsize(stmt.value.dtype) for stmt in body if isinstance(stmt, Store) and stmt.combine is not None]
    if any(lane.kind != "parallel" or lane.variable.lo for lane in lanes):
        return None
    if columns * widest < LEAST_CARRIED or (kept and columns * min(kept) < LEAST_KEPT):
        return None
    scratch, bound, steps = frozenset(buffer.name for buffer in kernel.scratch), bound_in(body), set[int]()
    for lane in lanes:
        for buffer, index in _places(lane):
            found = _step(substitute(index, bound), loop.variable, lane.variable, buffer in scratch)
            if found is None:
                return None
            steps |= {found} - {0}
    if len(steps) != 1 or any(buffer.size != columns for buffer in kernel.scratch):
        return None
    wide = Wide(loop, tuple(lanes), columns, steps.pop(), scratch)
    return wide if 0 < wide.step <= columns and wide.whole * widest <= MOST_BYTES else None


def _innermost(body: tuple[Stmt, ...]) -> Iterator[For]:
    """The loops that have no loop in them."""
    for stmt in body:
        if isinstance(stmt, For):
            inner = list(_innermost(stmt.body))
            yield from inner or [stmt]


def _places(lane: For) -> Iterator[tuple[str, Index]]:
    """What a loop loads and stores, and where; numbers of places as well."""
    for stmt in lane.body:
        if isinstance(stmt, Store):
            yield stmt.buffer, stmt.index
        value = value_of(stmt)
        for term in scalars(value) if value is not None else ():
            if isinstance(term, Load):
                yield term.buffer, term.index
            elif isinstance(term, Position):
                yield "", term.index


def _step(index: Index, block: Var, lane: Var, is_row: bool) -> int | None:
    """How many columns a block is from the one before, by what it accesses; 0 where that does not depend on it, as a row of its own does;
    None where blocks as one would access something else."""
    by_block, by_lane = coefficient(index, block), coefficient(index, lane)
    if by_block is None or by_lane is None:
        return None
    if is_row:
        return 0 if index is lane else None
    if not by_block and not by_lane:
        return 0
    return by_block // by_lane if by_lane and by_block % by_lane == 0 and by_block else None
