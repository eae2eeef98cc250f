"""Folds down columns, many columns at a time.

    for j: t = fold over k of f(k, j); u = fold over k of g(k, j, t); for i: out[i, j] = h(i, j, t, u)

jumps through memory with every step of k.  For a block of neighbouring columns instead: t of all of them, row by row, in scratch memory of
the first cache, then u of all of them, and then the rows of the result.  Sums are added up row by row, as NumPy adds up columns, long ones
of float32 in float64; of a few columns several rows side by side in registers (see lowering.narrow).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod

from eqsat.ir.dtypes import carrier, is_complex
from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.loops import Bind, Fold, For, Let, Load, Stmt, Store, Temp, over
from eqsat.ir.ops import identity_of
from eqsat.ir.tensor import Literal, Reduce, Scalar, as_dtype, scalars
from eqsat.lowering import order
from eqsat.lowering.affine import Forms
from eqsat.lowering.blocks import BlockPlacer, Body, first_of
from eqsat.lowering.narrow import NarrowFold, inlined, is_narrow
from eqsat.lowering.nest import Nest, Several, chains
from eqsat.lowering.order import block_size, needed_by_folds
from eqsat.lowering.outward import LONGEST_SUM
from eqsat.lowering.parted import WIDER
from eqsat.lowering.place import nested
from eqsat.lowering.product import EVENLY

# columns whose values are kept at the same time
MOST_COLUMNS = 4096
# of a block whose number does not divide that of all: a multiple of so many
UNIT = 16


def in_columns(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str], markers: Collection[int] = ()) -> Body | None:
    """The statements and their scratch memory; None where nothing is folded down columns, or columns end at a size known at run time, which
    are the extents that are `markers`."""
    column = _column(nest)
    if column is None or isinstance(nest.body, Several) or column.extent in markers:
        return None
    needed = needed_by_folds(nest)
    around = tuple(v for v in nest.loops if v in needed and v is not column)
    inside = tuple(v for v in nest.loops if v not in needed)
    size = block_size(column.extent, prod(v.extent for v in around), order.LEAST_BLOCK) or _about(column.extent)
    if column not in needed or size > MOST_COLUMNS:
        return None
    statements = nested(Nest((*around, column, *inside), nest.body, nest.index), outputs, buffers)
    return _Fission(column, size, buffers, markers).result(statements)


def _about(extent: int) -> int:
    """How many columns are a block where their number does not divide: whole vectors, and blocks that two threads share evenly; the last
    one goes back to where the columns end."""
    count = extent // order.LEAST_BLOCK // EVENLY * EVENLY
    return min(extent, -(-extent // count // UNIT) * UNIT)


def one_by_one(nest: Nest, column: Var, outputs: tuple[str, ...], buffers: frozenset[str]) -> Body | None:
    """What a nest does for one column after the other, each statement for all columns; the statements and their scratch memory."""
    return _Fission(column, column.extent, buffers).result(nested(nest, outputs, buffers))


def _column(nest: Nest) -> Var | None:
    """The loop along which neighbours lie in memory, for the result and for what folds jump through."""
    forms = Forms()
    folds = [fold for chain in chains(nest.body) for fold in chain]
    loads = [term for fold in folds for term in scalars(fold.body) if isinstance(term, Load)]
    if not all(_adds_up(fold) for fold in folds):
        return None
    for column in nest.loops:
        if column.lo or forms(nest.index).stride(column) != 1:
            continue
        for load in loads:
            form = forms(load.index)
            if form.stride(column) == 1 and any(form.stride(fold.variable) not in (0, 1, -1) for fold in folds):
                return column
    return None


def _adds_up(fold: Reduce) -> bool:
    """Whether it may be done element by element in its own dtype."""
    return carrier(fold.dtype) == fold.dtype and not is_complex(fold.dtype) and fold.dtype != "bool" and not fold.variable.lo


class _Fission:
    """One loop over columns as several, what one hands to the next in scratch memory."""

    def __init__(self, column: Var, size: int, buffers: frozenset[str], markers: Collection[int] = ()) -> None:
        self.column, self.size, self.markers = column, size, markers
        self.block = Var(f"{column.name}_block", 0, -(-column.extent // size) - 1)
        self.first: Index = first_of(self.block, self.block.extent, size, column.extent)
        self.bound: tuple[Bind, ...] = ()
        if column.extent % size:
            variable = Var(f"{column.name}_first", *self.first.bounds)
            self.first, self.bound = variable, (Bind(variable, self.first),)
        self.placer = BlockPlacer(buffers)
        self.kept: dict[str, tuple[str, str]] = {}
        self.rows = 0

    def result(self, statements: Sequence[Stmt]) -> Body | None:
        found = self.down(statements)
        return (found, tuple(self.placer.scratch)) if found is not None else None

    def down(self, statements: Sequence[Stmt]) -> tuple[Stmt, ...] | None:
        """The loop over columns, which the loops around it hold but for values before it, in its new form."""
        *before, loop = statements
        if not isinstance(loop, For) or not all(isinstance(stmt, Let) for stmt in before):
            return None
        if loop.variable is not self.column:
            below = self.down(loop.body)
            return None if below is None else (*before, For(loop.variable, loop.kind, below))
        parts = [self.part(stmt) for stmt in loop.body]
        if any(part is None for part in parts):
            return None
        body = tuple(stmt for part in parts if part is not None for stmt in part)
        return (*before, For(self.block, "parallel", (*self.bound, *body))) if self.block.extent > 1 else (*before, *body)

    def part(self, stmt: Stmt) -> tuple[Stmt, ...] | None:
        """A statement for all columns of a block; None where it cannot be."""
        if isinstance(stmt, Let):
            kept = self.keep(stmt.name, stmt.value)
            return (self.row((), kept, None, stmt.value),)
        if isinstance(stmt, Fold):
            return self.fold(stmt)
        if isinstance(stmt, Store):
            return (self.row((), stmt.buffer, stmt.index, stmt.value, stmt.combine),)
        return self.inner(stmt) if isinstance(stmt, For) else None

    def fold(self, stmt: Fold) -> tuple[Stmt, ...] | None:
        folds = [stmt]
        while len(folds[-1].body) == 1 and isinstance(below := folds[-1].body[0], Fold):
            if below.op != stmt.op or folds[-1].value != Temp(below.name, below.dtype):
                return None
            folds.append(below)
        *lets, _ = (*folds[-1].body, stmt)
        if not all(isinstance(let, Let) for let in lets):
            return None
        value = inlined(folds[-1].value, {let.name: let.value for let in lets if isinstance(let, Let)})
        known = not any(fold.variable.extent in self.markers for fold in folds)
        if known and is_narrow(self.size, value, max(fold.variable.extent for fold in folds)):
            return self.side_by_side(NarrowFold(stmt.name, stmt.op, stmt.dtype, tuple(fold.variable for fold in folds), value, self.size))
        long = stmt.op == "sum" and prod(fold.variable.extent for fold in folds) > LONGEST_SUM
        dtype = WIDER.get(stmt.dtype, stmt.dtype) if long else stmt.dtype
        start, value = Literal(identity_of(stmt.op, dtype).item(), dtype), as_dtype(folds[-1].value, dtype)
        kept = self.keep(stmt.name, value)
        first = self.row((), kept, None, start)
        again: Stmt = self.row(lets, kept, None, value, stmt.op)
        for fold in reversed(folds):
            again = For(fold.variable, "serial", (again,))
        return first, again

    def side_by_side(self, fold: NarrowFold) -> tuple[Stmt, ...]:
        """A fold of narrow rows."""
        kept = self.keep(fold.name, fold.value)
        sums = self.placer.memory(fold.sides * self.size, fold.dtype) if fold.sides > 1 else kept
        return fold.statements(lambda env, lane: self.over(fold.value, {**env, **self.at(lane)}, lane), sums, kept)

    def inner(self, stmt: For) -> tuple[Stmt, ...] | None:
        """A loop that no fold needs: its iterations row by row."""
        if len(stmt.body) == 1 and isinstance(stmt.body[0], For):
            below = self.inner(stmt.body[0])
            return None if below is None else (For(stmt.variable, stmt.kind, below),)
        *lets, store = stmt.body
        if not isinstance(store, Store) or not all(isinstance(let, Let) for let in lets):
            return None
        return (For(stmt.variable, stmt.kind, (self.row(lets, store.buffer, store.index, store.value, store.combine),)),)

    def keep(self, name: str, value: Scalar) -> str:
        """Scratch memory for what a name stands for in all columns of a block."""
        memory = self.placer.memory(self.size, value.dtype)
        self.kept[name] = memory, value.dtype
        return memory

    def row(self, lets: Sequence[Stmt], buffer: str, index: Index | None, value: Scalar, combine: str | None = None) -> For:
        """A store for all columns of a block, after what it needs by itself; without an index to scratch memory."""
        lane = Var(f"{self.column.name}_row{self.rows}", 0, self.size - 1)
        self.rows += 1
        env = self.at(lane)
        before = tuple(Let(let.name, self.over(let.value, env, lane)) for let in lets if isinstance(let, Let))
        place = lane if index is None else substitute(index, env)
        return For(lane, "parallel", (*before, Store(buffer, place, self.over(value, env, lane), combine)))

    def at(self, lane: Var) -> dict[Var, Index]:
        """Where the columns of a block are."""
        return {self.column: self.first + lane if self.block.extent > 1 else lane}

    def over(self, root: Scalar, env: Mapping[Var, Index], lane: Var) -> Scalar:
        """An element of a column of the block; what is kept is read from where it is."""
        kept = {term: self.kept[term.name] for term in scalars(root) if isinstance(term, Temp) and term.name in self.kept}
        return over(root, env, {term: as_dtype(Load(name, lane, dtype), term.dtype) for term, (name, dtype) in kept.items()})
