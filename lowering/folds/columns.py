"""Folds down columns, many columns at a time.

    for j: t = fold over k of f(k, j); u = fold over k of g(k, j, t); for i: out[i, j] = h(i, j, t, u)

jumps through memory with every step of k.  For a block of neighbouring columns instead: t of all of them, row by row, in scratch memory of
the first cache, then u of all of them, and then the rows of the result.  Sums are added up row by row, as NumPy adds up columns, long ones
of float32 in float64; of a few columns several rows side by side in registers (see lowering.narrow).
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import prod

from eqsat.ir.dtypes import carrier, is_complex, is_float, itemsize
from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.loops import Bind, Fold, For, Let, Load, Pick, Stmt, Store, Temp, loaded, over, statements, values_of
from eqsat.ir.ops import REDUCE_OPS, identity_of
from eqsat.ir.picked_rows import place_in_row
from eqsat.ir.tensor import Call, Literal, Position, Reduce, Scalar, as_dtype, scalars
from eqsat.ir.value_bounds import needs_32_bits
from eqsat.lowering.affine import Forms
from eqsat.lowering.blocks import BlockPlacer, Body, first_of
from eqsat.lowering.folds.few_columns import NarrowFold, inlined, is_narrow
from eqsat.lowering.folds.outward import ABREAST, LONGEST_SUM, jumps_behind
from eqsat.lowering.folds.parted import WIDER
from eqsat.lowering.nest import Nest, chains, elements
from eqsat.lowering.place import nested
from eqsat.lowering.products.product import EVENLY
from eqsat.lowering.ranges import order
from eqsat.lowering.ranges.order import block_size, needed_by_folds

# columns whose values are kept at the same time; about as many of a block where there are more, and where memory is what results of so
# many bytes wait for, which comes faster from several places in turns
MOST_COLUMNS, MANY_COLUMNS, FAR_COLUMNS, FAR_BYTES = 4096, 512, 64, 9 << 19
# of columns that are gone through again, so many bytes are still in the second cache; rows of fewer are not worth it
NEAR_BYTES, LEAST_NEAR = 512 << 10, 512
# of a block whose number does not divide that of all: a multiple of so many
UNIT = 16
# a row that is added up by itself, and stays in registers
KEPT_BYTES = 28 * 64
# groups of rows that are added at once, at least
LEAST_GROUPS = 4


def in_columns(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str], markers: Collection[int] = ()) -> Body | None:
    """The statements and their scratch memory; None where nothing is folded down columns, or columns end at a size known at run time, which
    are the extents that are `markers`."""
    column = _column(nest, alone=False)
    if column is None:
        column = _column(nest, alone=True)
    if column is None or column.extent in markers:
        return None
    needed = needed_by_folds(nest)
    around = tuple(v for v in nest.loops if v in needed and v is not column)
    inside = tuple(v for v in nest.loops if v not in needed)
    size = block_size(column.extent, prod(v.extent for v in around), order.LEAST_BLOCK) or _about(column.extent)
    if size > MOST_COLUMNS:
        far = prod(v.extent for v in nest.loops) * itemsize(elements(nest.body)[0].dtype) >= FAR_BYTES
        size = _evenly(column.extent, -(-column.extent // (FAR_COLUMNS if far else MANY_COLUMNS)))
    if column not in needed:
        return None
    body = nested(Nest((*around, column, *inside), nest.body, nest.index), outputs, buffers)
    return _Fission(column, _near(body, column, size), buffers, markers).result(body)


def _near(body: Sequence[Stmt], column: Var, size: int) -> int:
    """How many columns are a block whose rows are gone through again: as many as are still near then, if rows of them are worth it."""
    loop = next(stmt for stmt in statements(tuple(body)) if isinstance(stmt, For) and stmt.variable is column)
    passes = [stmt for group in _with_places(_grouped(loop.body)) if isinstance(stmt := group[0], Fold | For)]
    again = loaded(passes[:1]).intersection(loaded(passes[1:]))
    widths = [itemsize(term.dtype) for term in scalars(*values_of(statements((loop,)))) if isinstance(term, Load) and term.buffer in again]
    if not widths:
        return size
    rows = prod(stmt.variable.extent for stmt in statements(tuple(passes[:1])) if isinstance(stmt, Fold | For))
    most = NEAR_BYTES // (rows * max(widths)) // UNIT * UNIT
    return min(size, _evenly(column.extent, -(-column.extent // most))) if most * max(widths) >= LEAST_NEAR else size


def _about(extent: int) -> int:
    """How many columns are a block where their number does not divide: whole vectors, and blocks that two threads share evenly; the last
    one goes back to where the columns end."""
    return min(extent, _evenly(extent, extent // order.LEAST_BLOCK // EVENLY * EVENLY))


def _evenly(extent: int, count: int) -> int:
    """How many columns each of so many blocks has: whole vectors."""
    return -(-extent // count // UNIT) * UNIT


def one_by_one(nest: Nest, column: Var, outputs: tuple[str, ...], buffers: frozenset[str]) -> Body | None:
    """What a nest does for one column after the other, each statement for all columns; the statements and their scratch memory."""
    return _Fission(column, column.extent, buffers).result(nested(nest, outputs, buffers))


def _column(nest: Nest, alone: bool) -> Var | None:
    """The loop along which neighbours lie in memory, for what folds jump through and for the result; or not for the result where there is
    but one element for each column, by itself `alone`."""
    forms = Forms()
    if alone and len(needed_by_folds(nest)) < len(nest.loops):
        return None
    folds = [fold for chain in chains(nest.body) for fold in chain]
    loads = [term for fold in folds for term in scalars(fold.body) if isinstance(term, Load)]
    if not all(adds_up(fold) for fold in folds):
        return None
    picks = [term for fold in folds for term in scalars(fold.body) if isinstance(term, Pick)]
    for column in nest.loops:
        if column.lo or (not alone and forms(nest.index).stride(column) != 1):
            continue
        if any((place := place_in_row(pick, column, (), {})) is not None and forms(place).stride(column) == 1 for pick in picks):
            return column
        for load in loads:
            if jumps_behind(forms(load.index), column, (fold.variable for fold in folds)):
                return column
    return None


def adds_up(fold: Reduce) -> bool:
    """Whether it may be done element by element in its own dtype."""
    return carrier(fold.dtype) == fold.dtype and not is_complex(fold.dtype) and not fold.variable.lo


@dataclass(frozen=True)
class _Line:
    """A store for every column of a block, after some values; without an index to scratch memory."""

    buffer: str
    index: Index | None
    value: Scalar
    combine: str | None = None
    lets: Sequence[Let] = ()


@dataclass(frozen=True)
class _Opened:
    """Folds within one another as one, over all their ranges."""

    name: str
    op: str
    dtype: str
    ranges: tuple[Var, ...]
    lets: tuple[Let, ...]
    value: Scalar

    @property
    def inlined(self) -> Scalar:
        """What is folded, by itself."""
        return inlined(self.value, {let.name: let.value for let in self.lets})


def _opened(stmt: Fold) -> _Opened | None:
    """None of one that computes more than values around a fold of another kind."""
    folds = [stmt]
    while len(folds[-1].body) == 1 and isinstance(below := folds[-1].body[0], Fold):
        if below.op != stmt.op or folds[-1].value != Temp(below.name, below.dtype):
            return None
        folds.append(below)
    lets = tuple(let for let in folds[-1].body if isinstance(let, Let))
    if len(lets) < len(folds[-1].body):
        return None
    return _Opened(stmt.name, stmt.op, stmt.dtype, tuple(fold.variable for fold in folds), lets, folds[-1].value)


def _together(opened: Sequence[_Opened]) -> int | None:
    """How many rows several folds add at once; None where that is one."""
    rows, names = opened[0].ranges[-1], any(fold.lets for fold in opened)
    return ABREAST if not names and not rows.lo and rows.extent >= LEAST_GROUPS * ABREAST else None


def _combined(line: _Line, values: Sequence[Scalar]) -> Scalar:
    """What is added of several rows."""
    assert line.combine is not None
    step = REDUCE_OPS[line.combine].step
    return functools.reduce(lambda one, other: Call(step, (one, other), one.dtype), values)


def _grouped(body: Sequence[Stmt]) -> list[list[Stmt]]:
    """Statements one by one, but for values and stores behind each other, and folds over the same ranges of the same arrays, none of which
    is made of another."""
    groups: list[list[Stmt]] = []
    for stmt in body:
        if groups and all(_goes_with(stmt, other) for other in groups[-1]):
            groups[-1].append(stmt)
        else:
            groups.append([stmt])
    return groups


def _goes_with(stmt: Stmt, other: Stmt) -> bool:
    if isinstance(stmt, Fold) and isinstance(other, Fold):
        return _fold_goes_with(stmt, other)
    return isinstance(stmt, Let | Store) and isinstance(other, Let | Store)


def _fold_goes_with(fold: Fold, other: Fold) -> bool:
    one, first = _opened(fold), _opened(other)
    if one is None or first is None or loaded([fold]).isdisjoint(loaded([other])):
        return False
    same = [(v.lo, v.hi) for v in one.ranges] == [(v.lo, v.hi) for v in first.ranges]
    needs = any(isinstance(term, Temp) and term.name == other.name for term in scalars(*values_of(statements((fold,)))))
    return same and not needs


def _with_places(groups: Sequence[list[Stmt]]) -> list[list[Stmt]]:
    """The groups, an extremum and its first place as one."""
    found: list[list[Stmt]] = []
    for group in groups:
        alone = [_opened(stmt) for one in (*found[-1:], group) for stmt in one if isinstance(stmt, Fold)]
        opened = [fold for fold in alone if fold is not None]
        if found and len(found[-1]) == len(group) == 1 and len(opened) == 2 and _is_first_place(*opened):
            found[-1] = [*found[-1], *group]
        else:
            found.append(group)
    return found


def _is_first_place(extremum: _Opened, place: _Opened) -> bool:
    """Whether a fold is the first place of the extremum: min over r of where(f(r) == extremum of f, or f(r) is NaN, r, any)."""
    if extremum.op not in ("max", "min") or place.op != "min" or len(extremum.ranges) > 1 or len(place.ranges) > 1:
        return False
    (rows,), (along,), value = extremum.ranges, place.ranges, place.inlined
    if rows.lo or along.lo or rows.extent != along.extent or not isinstance(value, Call) or value.op != "where":
        return False
    element = over(extremum.inlined, {rows: along})
    equal = Call("equal", (element, Temp(extremum.name, extremum.dtype)), "bool")
    condition, chosen, _ = value.args
    or_nan = Call("logical_or", (equal, Call("not_equal", (element, element), "bool")), "bool")
    return condition in (equal, or_nan) and isinstance(chosen, Position) and chosen.index is along


def _is_better(one: Scalar, best: Scalar, op: str) -> Scalar:
    """Whether an element is a greater or smaller one, or the first NaN."""
    better = Call("greater" if op == "max" else "less", (one, best), "bool")
    if not is_float(one.dtype):
        return better
    first = Call("logical_and", (Call("not_equal", (one, one), "bool"), Call("equal", (best, best), "bool")), "bool")
    return Call("logical_or", (better, first), "bool")


def _temps(body: Iterable[Stmt]) -> set[str]:
    """The names that statements use."""
    values = scalars(*values_of(statements(tuple(body))))
    return {term.name for term in values if isinstance(term, Temp)}


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
        """The loop over columns, which the loops around it hold but for values and folds before it, in its new form."""
        *before, loop = statements
        if not isinstance(loop, For) or not all(isinstance(stmt, Let | Fold) for stmt in before):
            return None
        if loop.variable is not self.column:
            below = self.down(loop.body)
            return None if below is None else (*before, For(loop.variable, loop.kind, below))
        groups = _with_places(_grouped(loop.body))
        body: tuple[Stmt, ...] = ()
        for k, group in enumerate(groups):
            part = self.part(group, _temps(chain.from_iterable(groups[k + 1 :])))
            if part is None:
                return None
            body += part
        return (*before, For(self.block, "parallel", (*self.bound, *body))) if self.block.extent > 1 else (*before, *body)

    def part(self, group: Sequence[Stmt], later: Collection[str]) -> tuple[Stmt, ...] | None:
        """Statements for all columns of a block, of which some names are needed later; None where it cannot be."""
        first = group[0]
        if isinstance(first, Let | Store):
            return (self.values(group, later),)
        if isinstance(first, Fold):
            opened = [_opened(fold) for fold in group if isinstance(fold, Fold)]
            found = [fold for fold in opened if fold is not None]
            if len(found) < len(opened):
                return None
            return self.searched(*found) if len(found) == 2 and _is_first_place(*found) else self.folds(found)
        return self.inner(first) if isinstance(first, For) else None

    def values(self, group: Sequence[Stmt], later: Collection[str]) -> For:
        """Values and stores, one behind the other in one loop; in memory is what is needed later."""
        lets, lines = list[Let](), list[_Line]()
        for stmt in group:
            if isinstance(stmt, Let):
                lets.append(stmt)
            elif isinstance(stmt, Store):
                lines.append(_Line(stmt.buffer, stmt.index, stmt.value, stmt.combine, lets))
                lets = []
        kept = {
            stmt.name: (self.placer.memory(self.size, stmt.value.dtype), stmt.value.dtype)
            for stmt in group
            if isinstance(stmt, Let) and stmt.name in later
        }
        for name, (memory, dtype) in kept.items():
            lines.append(_Line(memory, None, Temp(name, dtype), lets=lets))
            lets = []
        row = self.row(*lines)
        self.kept |= kept
        return row

    def folds(self, opened: Sequence[_Opened]) -> tuple[Stmt, ...]:
        """Folds of the same ranges, row by row, unless rows are so short that several are added up side by side."""
        ranges = opened[0].ranges
        if not any(variable.extent in self.markers for variable in ranges):
            narrow = [is_narrow(self.size, fold.inlined, max(v.extent for v in ranges)) for fold in opened]
            if len(opened) > 1 and any(narrow):
                return tuple(stmt for fold in opened for stmt in self.folds([fold]))
            if all(narrow):
                (fold,) = opened
                memory = self.placer.memory
                return self.side_by_side(NarrowFold(fold.name, fold.op, fold.dtype, ranges, fold.inlined, self.size, self.column, memory))
        first, again = list[_Line](), list[_Line]()
        in_registers = len(opened) == 1 and self.size * itemsize(opened[0].dtype) <= KEPT_BYTES
        together = _together(opened) if not in_registers and not any(v.extent in self.markers for v in ranges) else None
        for fold in opened:
            long = fold.op == "sum" and prod(variable.extent for variable in ranges) > LONGEST_SUM
            dtype = WIDER.get(fold.dtype, fold.dtype) if long else "int32" if needs_32_bits(fold.op, fold.inlined) else fold.dtype
            env = dict[Var, Index](zip(fold.ranges, ranges, strict=True))
            lets = [Let(let.name, over(let.value, env)) for let in fold.lets]
            start, value = Literal(identity_of(fold.op, dtype).item(), dtype), as_dtype(over(fold.value, env), dtype)
            kept, _ = self.keep(fold.name, value)
            first.append(_Line(kept, None, start))
            again.append(_Line(kept, None, value, fold.op, lets))
        rows = self.rows_of(again, ranges[-1], together)
        for variable in reversed(ranges[:-1]):
            rows = (For(variable, "serial", rows),)
        return (*(self.row(line) for line in first), *rows)

    def searched(self, extremum: _Opened, place: _Opened) -> tuple[Stmt, ...]:
        """An extremum and its first place, in one pass: the place is that of the last row which was better than all before."""
        (rows,), kind = extremum.ranges, "int32" if extremum.ranges[0].extent < 1 << 31 else place.dtype
        start = Literal(identity_of(extremum.op, extremum.dtype).item(), extremum.dtype)
        (best, _), (places, _) = self.keep(extremum.name, start), self.keep(place.name, Literal(0, kind))

        def lines(along: Sequence[Index], tag: str) -> list[_Line]:
            value: Scalar = Temp(extremum.name, extremum.dtype)
            found: Scalar = Temp(place.name, kind)
            lets: list[Let] = []
            for k, row in enumerate(along):
                names = [f"{name}_{tag}{k}" for name in (extremum.name, place.name, f"{extremum.name}_best")]
                lets.append(Let(names[0], over(extremum.inlined, {rows: row})))
                one, better = Temp(names[0], extremum.dtype), Temp(names[1], "bool")
                lets.append(Let(names[1], _is_better(one, value, extremum.op)))
                lets.append(Let(names[2], Call("where", (better, one, value), extremum.dtype)))
                value, found = Temp(names[2], extremum.dtype), Call("where", (better, Position(row, kind), found), kind)
            return [_Line(places, None, found, lets=lets), _Line(best, None, value)]

        count = ABREAST if rows.extent >= LEAST_GROUPS * ABREAST else 1
        whole, left = divmod(rows.extent, count)
        group, rest = Var(f"{rows.name}_group", 0, whole - 1), Var(f"{rows.name}_rest", 0, left - 1)
        found: list[Stmt] = [self.row(_Line(best, None, start), _Line(places, None, Literal(0, kind)))]
        found.append(For(group, "serial", (self.row(*lines([group * count + k for k in range(count)], "g")),)))
        if left:
            found.append(For(rest, "serial", (self.row(*lines([rest + whole * count], "r")),)))
        return tuple(found)

    def rows_of(self, lines: Sequence[_Line], variable: Var, together: int | None) -> tuple[Stmt, ...]:
        """What is added row by row, or several rows at once: then memory is loaded and stored once for all of them."""
        if together is None:
            return (For(variable, "serial", (self.row(*lines),)),)
        whole, left = divmod(variable.extent, together)
        group, rest = Var(f"{variable.name}_group", 0, whole - 1), Var(f"{variable.name}_rest", 0, left - 1)

        def at(line: _Line, row: Index) -> Scalar:
            return over(line.value, {variable: row})

        several = [replace(line, value=_combined(line, [at(line, group * together + k) for k in range(together)])) for line in lines]
        found: list[Stmt] = [For(group, "serial", (self.row(*several),))]
        if left:
            found.append(For(rest, "serial", (self.row(*(replace(line, value=at(line, rest + whole * together)) for line in lines)),)))
        return tuple(found)

    def side_by_side(self, fold: NarrowFold) -> tuple[Stmt, ...]:
        """A fold of narrow rows."""
        kept, _ = self.keep(fold.name, fold.value)
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
        line = _Line(store.buffer, store.index, store.value, store.combine, [let for let in lets if isinstance(let, Let)])
        return (For(stmt.variable, stmt.kind, (self.row(line),)),)

    def keep(self, name: str, value: Scalar) -> tuple[str, None]:
        """Scratch memory for what a name stands for in all columns of a block, and no index: it is one number for each."""
        memory = self.placer.memory(self.size, value.dtype)
        self.kept[name] = memory, value.dtype
        return memory, None

    def row(self, *lines: _Line) -> For:
        """Stores for all columns of a block, each after what it needs by itself."""
        lane = Var(f"{self.column.name}_row{self.rows}", 0, self.size - 1)
        self.rows += 1
        env, body = self.at(lane), list[Stmt]()
        for line in lines:
            body += [Let(let.name, self.over(let.value, env, lane)) for let in line.lets]
            place = lane if line.index is None else substitute(line.index, env)
            body.append(Store(line.buffer, place, self.over(line.value, env, lane), line.combine))
        return For(lane, "parallel", tuple(body))

    def at(self, lane: Var) -> dict[Var, Index]:
        """Where the columns of a block are."""
        return {self.column: self.first + lane if self.block.extent > 1 else lane}

    def over(self, root: Scalar, env: Mapping[Var, Index], lane: Var) -> Scalar:
        """An element of a column of the block; what is kept is read from where it is."""
        kept = {term: self.kept[term.name] for term in scalars(root) if isinstance(term, Temp) and term.name in self.kept}
        return over(root, env, {term: as_dtype(Load(name, lane, dtype), term.dtype) for term, (name, dtype) in kept.items()})
