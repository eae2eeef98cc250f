"""Rows that are added up in registers.

    for k serial: for j: out[j] = combine(out[j], f(k, j))        with few j

The row of results is loaded once, carried in vectors through all iterations of k, and stored once.  LLVM does so only where it writes the
loop over j out whole before it makes vectors of it; else every iteration waits for what the one before has stored, longest where a vector
is loaded that was stored in parts.  A row of one or two vectors is kept several times, each for every second or fourth k, since an addition
takes as long as several can be begun.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace

from eqsat.codegen.emitter import Emitter
from eqsat.codegen.scope import Scope
from eqsat.codegen.tiles.parts import pieces_of
from eqsat.codegen.tiles.tile import cell_of, fold_cells
from eqsat.codegen.tiles.vectors import vector_load
from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import is_float, itemsize
from eqsat.ir.index import Index, Var, substitute, variables
from eqsat.ir.loops import Bind, Fold, For, Let, Load, Pick, Stmt, Store, Temp, bound_in
from eqsat.ir.tensor import scalars
from eqsat.ir.vectorizable import is_joint, is_joint_value

# shorter rows are left to LLVM
SHORTEST = 4
COMBINED = ("sum", "max", "min")
# the greater of two floats takes a register for masks, of which there are few
MASKS = 7


@dataclass(frozen=True)
class KeptRow:
    """Serial loops, what they compute before the innermost loop, that loop's variable and what it stores; `bound`: what index variables
    stand for."""

    loops: tuple[Var, ...]
    before: tuple[Stmt, ...]
    lane: Var
    store: Store
    bound: Mapping[Var, Index]

    @property
    def dtype(self) -> str:
        return self.store.value.dtype

    @property
    def widest(self) -> int:
        """Bytes of the widest of its numbers."""
        values = [stmt.value for stmt in (*self.before, self.store) if isinstance(stmt, Let | Store)]
        return max(itemsize(term.dtype) for term in scalars(*values))

    @functools.cached_property
    def fold(self) -> Fold:
        """The serial loops as folds in each other."""
        assert self.store.combine is not None
        names = [f"{loop.name}.kept" for loop in self.loops]
        found = Fold(names[-1], self.store.combine, self.dtype, self.loops[-1], self.before, self.store.value)
        for name, loop in zip(names[-2::-1], self.loops[-2::-1], strict=True):
            found = Fold(name, self.store.combine, self.dtype, loop, (found,), Temp(found.name, self.dtype))
        return found


def kept_row(outer: For, vector_bytes: int, registers: int) -> KeptRow | None:
    """The row that serial loops add up in so many vector registers, if that is all that they do."""
    loops, before = [outer], list[Stmt]()
    while loops[-1].kind == "serial":
        *first, below = loops[-1].body
        if not isinstance(below, For) or not all(isinstance(stmt, Bind | Let) for stmt in first):
            return None
        before += first
        loops.append(below)
    *around, inner = loops
    *lets, store = inner.body
    before += lets
    if not around or inner.kind != "parallel" or not isinstance(store, Store) or store.combine is None:
        return None
    row = KeptRow(tuple(loop.variable for loop in around), tuple(before), inner.variable, store, bound_in(before))
    kept = registers if store.combine == "sum" or not is_float(row.dtype) else min(registers, MASKS)
    if not SHORTEST <= inner.variable.extent <= kept * (vector_bytes // row.widest):
        return None
    known = store.combine in COMBINED and is_joint_value(store.value) and all(map(is_joint, before))
    return row if known and _goes_along(row) else None


def _goes_along(row: KeptRow) -> bool:
    """Whether the place of the row stays, all that is read lies side by side, or is one number, and nothing reads what is stored."""
    place = substitute(row.store.index, row.bound)
    if coefficient(place, row.lane) != 1 or not set(variables(place)).isdisjoint(row.loops):
        return False
    if any(variable in row.bound and not _stays(row, variable) for variable in variables(row.store.index)):
        return False
    for stmt in (*row.before, row.store):
        for term in scalars(stmt.value) if isinstance(stmt, Let | Store) else ():
            if isinstance(term, Pick) or (isinstance(term, Load) and term.buffer == row.store.buffer):
                return False
            if isinstance(term, Load) and coefficient(substitute(term.index, row.bound), row.lane) not in (0, 1):
                return False
    return True


def _stays(row: KeptRow, bound: Var) -> bool:
    """Whether what an index variable stands for is the same in all iterations of the serial loops."""
    return set(variables(row.bound[bound])).isdisjoint(row.loops)


def emit_kept_row(e: Emitter, outer: For, scope: Scope) -> bool:
    """Write serial loops around a row that stays in registers, if they are such."""
    row = kept_row(outer, e.registers.bytes, e.registers.sums)
    if row is None or e.kernel.size_of(row.lane) is not None or (e.exact and len(row.loops) > 1):
        return False
    place = Load(row.store.buffer, row.store.index, row.dtype)
    cells = [
        replace(cell_of(e, scope, {}, row.lane, piece), bound=row.bound) for piece in pieces_of(row.lane, e.registers.bytes // row.widest)
    ]
    for stmt in row.before:
        if isinstance(stmt, Bind) and _stays(row, stmt.variable):
            for cell in cells:
                e.index(stmt.variable, cell.scope)
    start = tuple(vector_load(e, place, cell.scope, cell.width) for cell in cells)
    for cell, total in zip(cells, fold_cells(e, row.fold, cells, start), strict=True):
        address = e.address(e.buffer(row.store.buffer, row.dtype), row.store.index, cell.scope)
        e.b.lines.append(f"  store {total}, {address}, align {itemsize(row.dtype)}")
    return True
