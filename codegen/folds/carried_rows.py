"""Rows of which each is made of the one before: short ones are carried in registers.

    for k serial: for j: out[k, j] = f(out[k - 1, j], k, j)                                    with few j
    for k serial: for j: { row[j] = f(row[j], k, j); out[k, j] = g(row[j], k, j) }

LLVM stores each row and loads it again, and what loads waits until what was stored is on its way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from eqsat.codegen.builder import Value
from eqsat.codegen.emitter import Emitter
from eqsat.codegen.folds.accumulator import Carried
from eqsat.codegen.folds.recurrence import difference
from eqsat.codegen.scope import Scope
from eqsat.codegen.tiles.parts import pieces_of
from eqsat.codegen.tiles.tile import Cell, cell_of, value_in
from eqsat.codegen.tiles.vectors import spread, vector_load, vector_store
from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.loops import Bind, For, Let, Load, Stmt, Store, bound_in, loads
from eqsat.ir.vectorizable import is_joint

# vectors of a row
MOST_VECTORS = 4
# a row that is a vector of its own, though its length is no power of two
ODD = 3


@dataclass(frozen=True)
class CarriedRow:
    """The serial loop, and the one along a row; what of the row before that loads, and what it stores of its own; `stays`: whether all rows
    are at one place in memory, where the last one is needed only."""

    loop: For
    row: For
    before: Load
    store: Store
    stays: bool

    @property
    def body(self) -> Sequence[Stmt]:
        return self.row.body


def emit_carried_row(e: Emitter, loop: For, scope: Scope) -> bool:
    """Write loops that carry a row; False for any others."""
    found = carried_row(loop)
    if found is None or any(e.kernel.size_of(v) is not None for v in (loop.variable, found.row.variable)):
        return False
    lane, bound = found.row.variable, bound_in(found.body, bound_in(loop.body))
    lanes = e.registers.bytes // max(itemsize(stmt.value.dtype) for stmt in found.body if isinstance(stmt, Let | Store))
    if lane.extent > MOST_VECTORS * lanes:
        return False
    pieces = [(lane.lo, ODD)] if lane.extent == ODD <= lanes else list(pieces_of(lane, lanes, again=False))

    def cells(counter: Value) -> list[Cell]:
        """The vectors of a row."""
        here = scope.inner()
        here.indices[e.typed[loop.variable]] = counter
        every = [replace(cell_of(e, here, {}, lane, piece), bound=bound, turned={}) for piece in pieces]
        for stmt in (*loop.body, *found.body):
            if isinstance(stmt, Bind):
                for cell in every:
                    e.index(stmt.variable, cell.scope)
        return every

    def step(counter: Value, carried: Carried) -> Carried:
        rows: list[Value] = []
        for cell, before in zip(cells(counter), carried, strict=True):
            cell.turned[found.before] = before
            for stmt in found.body:
                if isinstance(stmt, Let):
                    cell.scope.temps[stmt.name] = value_in(e, stmt.value, cell)
                elif isinstance(stmt, Store):
                    value = spread(e, value_in(e, stmt.value, cell), cell.width)
                    if stmt is found.store:
                        rows.append(value)
                    if stmt is not found.store or not found.stays:
                        vector_store(e, stmt, cell.scope, value)
        return tuple(rows)

    first, end = e.range(loop.variable, scope)
    begin = cells(first)
    last = e.loop(first, end, tuple(vector_load(e, found.before, cell.scope, cell.width) for cell in begin), step)
    for cell, value in zip(begin, last, strict=True) if found.stays else ():
        vector_store(e, found.store, cell.scope, value)
    return True


def carried_row(loop: For) -> CarriedRow | None:
    """The row that loops carry; None where there is none, or where elements are no neighbours in memory."""
    *binds, row = loop.body
    if loop.kind != "serial" or not isinstance(row, For) or row.kind != "parallel" or not all(isinstance(stmt, Bind) for stmt in binds):
        return None
    if not all(isinstance(stmt, Bind | Let | Store) and is_joint(stmt) for stmt in row.body):
        return None
    stores = [stmt for stmt in row.body if isinstance(stmt, Store)]
    read = dict.fromkeys(load for stmt in row.body if isinstance(stmt, Let | Store) for load in loads(stmt.value))
    again = [(load, stmt) for stmt in stores for load in read if load.buffer == stmt.buffer]
    if len(again) != 1 or any(stmt.combine is not None for stmt in stores) or len({stmt.buffer for stmt in stores}) < len(stores):
        return None
    ((before, store),) = again
    bound, along = bound_in(row.body, bound_in(loop.body)), row.variable

    def place(index: Index) -> Index:
        return substitute(index, bound)

    def steps(variable: Var, *indices: Index) -> set[int | None]:
        return {coefficient(place(index), variable) for index in indices}

    (step,) = steps(loop.variable, store.index)
    moves = step and abs(step) >= along.extent and difference(place(store.index), place(before.index)) == step
    stays = step == 0 and difference(place(store.index), place(before.index)) == 0
    if not (moves or stays) or before.dtype != store.value.dtype:
        return None
    neighbours = steps(along, *(stmt.index for stmt in stores)) == {1} and steps(along, *(load.index for load in read)) <= {0, 1}
    return CarriedRow(loop, row, before, store, stays) if neighbours else None
