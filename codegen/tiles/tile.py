"""Tiles: loops whose iterations run together, the innermost of them in vectors, their folds side by side in registers."""

from __future__ import annotations

import functools
from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from eqsat.codegen import scalar
from eqsat.codegen.builder import LLVM_TYPES, MEMORY_TYPES, Value, integer, is_real
from eqsat.codegen.emitter import Emitter
from eqsat.codegen.folds.accumulator import Carried
from eqsat.codegen.index import llvm_type
from eqsat.codegen.math import FUNCTIONS
from eqsat.codegen.memory.ahead import emit_written_ahead
from eqsat.codegen.scope import Scope
from eqsat.codegen.tiles.parts import BEGUN, part_shape, parts_of, pieces_of, turned_part_shape
from eqsat.codegen.tiles.vectors import neighbours, spread, stepped, transposed, vector_load, vector_type, widened
from eqsat.ir import vectorizable as joint
from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import is_complex, itemsize
from eqsat.ir.index import Index, Var, substitute, variables
from eqsat.ir.loops import (
    Bind,
    Fold,
    For,
    Kernel,
    Let,
    Load,
    Pick,
    Stmt,
    Store,
    Temp,
    bound_in,
    loads,
    nested_loops,
    statements,
    value_of,
    values_of,
)
from eqsat.ir.ops import identity_of
from eqsat.ir.tensor import Call, Literal, Scalar, operands, scalars
from eqsat.ir.typed import Bound, Cast, Operation, Vector

# index terms that are made of others
COMPUTED = (Operation, Cast, Vector, Bound)


@dataclass(frozen=True)
class Cell:
    """`width` iterations of the innermost loop from `first` on, and one of every loop around it, as `scope` knows; `turned`: what it loads
    across memory; `bound`: what index variables stand for that are computed in the loop."""

    scope: Scope
    lane: Var
    first: int
    width: int
    turned: dict[Load, Value] = field(default_factory=dict)
    bound: Mapping[Var, Index] = field(default_factory=dict)

    def inner(self) -> Cell:
        return replace(self, scope=self.scope.inner(), turned={})

    def over_loops(self, index: Index) -> Index:
        """The index with the loops' own variables."""
        return substitute(index, self.bound) if self.bound else index


def emit_tile(e: Emitter, outer: For, scope: Scope) -> bool:
    """Write a tile, if all that is in it can be written for several iterations at once."""
    loops = nested_loops(outer)
    body = loops[-1].body
    if e.exact or not all(joint.is_joint(stmt) for stmt in statements(body)):
        return False
    *around, lane = (loop.variable for loop in loops)
    rows = list(product(*(range(variable.lo, variable.hi + 1) for variable in around)))
    lanes = e.registers.bytes // max(_bytes(stmt) for stmt in statements(body))
    down = around[-1] if around and any(_is_turned(load, around[-1], lane) for load in _loads(body)) else None
    if down is not None:
        lanes = min(lanes, 1 << (down.extent.bit_length() - 1))
    pieces = list(pieces_of(lane, lanes))
    tile = len(rows), len(pieces), e.registers.sums
    high, wide = turned_part_shape(*tile, lanes) if down is not None else part_shape(*tile)
    if wide < len(pieces) and any(isinstance(stmt, Store) and stmt.combine is not None for stmt in statements(body)):
        pieces = list(pieces_of(lane, lanes, again=False))
    alone = any(isinstance(stmt, Fold) for stmt in body) and _computes_functions(e.kernel)
    if alone:
        _empty_registers(e)
    for some in parts_of(pieces, wide):
        for several in parts_of(rows, high):
            cells = [cell_of(e, scope, dict(zip(around, row, strict=True)), lane, piece) for row in several for piece in some]
            if down is not None:
                _turn(e, body, cells, down)
            _block(e, body, cells)
    if alone:
        _empty_registers(e)
    return True


def emit_run(e: Emitter, run: For, scope: Scope) -> bool:
    """Write a short loop along memory in whole vectors, and what is left in smaller ones, if all that is in it can be written so and
    vectors do leave something: LLVM stores that under masks, which takes ten times as long where these are no registers of their own."""
    lanes = e.registers.bytes // max(_bytes(stmt) for stmt in run.body)
    if e.exact or run.variable.extent % lanes == 0 or not all(map(joint.is_joint, run.body)):
        return False
    pieces = pieces_of(run.variable, lanes, again=e.stored.isdisjoint(e.loaded))
    _block(e, run.body, [replace(cell_of(e, scope, {}, run.variable, piece), bound=bound_in(run.body)) for piece in pieces])
    return True


def emit_row(e: Emitter, run: For, scope: Scope) -> None:
    """Write a short loop along rows that elements choose as one vector of all its iterations."""
    piece = (run.variable.lo, run.variable.extent)
    _block(e, run.body, [replace(cell_of(e, scope, {}, run.variable, piece), bound=bound_in(run.body))])


def _computes_functions(kernel: Kernel) -> bool:
    """Whether there are functions in a kernel, which are computed with many numbers."""
    values = values_of(statements(kernel.body))
    return any(isinstance(term, Call) and term.op in FUNCTIONS for value in values for term in scalars(value))


def _empty_registers(e: Emitter) -> None:
    """Nothing is in a vector register here.  Else LLVM keeps the numbers that loops around a fold compute with, the 22 of a tanh, in
    registers over it, and its sums in memory."""
    if e.registers.names:
        e.b.lines.append(f'  call void asm sideeffect "", "{",".join(f"~{{{name}}}" for name in e.registers.names)}"()')


def _loads(body: tuple[Stmt, ...]) -> Iterator[Load]:
    for stmt in statements(body):
        value = value_of(stmt)
        yield from loads(value) if value is not None else ()


def _is_turned(load: Load, row: Var, lane: Var) -> bool:
    """Whether a load goes along memory from row to row, and across it from lane to lane."""
    return coefficient(load.index, row) == 1 and coefficient(load.index, lane) not in (0, 1, None)


def _turn(e: Emitter, body: tuple[Stmt, ...], cells: list[Cell], row: Var) -> None:
    """What is loaded across memory, for as many rows at once as there are lanes: whole vectors of rows, turned in registers."""
    width = cells[0].width
    for load in dict.fromkeys(stmt.value for stmt in body if isinstance(stmt, Store)):
        if not isinstance(load, Load) or not _is_turned(load, row, cells[0].lane) or width == 1:
            continue
        for piece in dict.fromkeys((cell.first, cell.width) for cell in cells):
            column = [cell for cell in cells if (cell.first, cell.width) == piece]
            for square in parts_of(column, width):
                if len(square) == width == piece[1]:
                    lines = [vector_load(e, load, _lane(e, square[0], k), width) for k in range(width)]
                    for cell, value in zip(square, transposed(e, lines), strict=True):
                        cell.turned[load] = value


def _bytes(stmt: Stmt) -> int:
    value = value_of(stmt)
    return itemsize(value.dtype) if value is not None else 1


def cell_of(e: Emitter, scope: Scope, around: dict[Var, int], lane: Var, piece: tuple[int, int]) -> Cell:
    inner = scope.inner()
    for variable, value in {**around, lane: piece[0]}.items():
        _set(e, inner, variable, value)
    return Cell(inner, lane, *piece)


def _set(e: Emitter, scope: Scope, variable: Var, value: int) -> None:
    place = e.typed[variable]
    scope.indices[place] = integer(value, llvm_type(place))


def _block(e: Emitter, body: tuple[Stmt, ...], cells: list[Cell]) -> None:
    for stmt in body:
        around = e.b.write_for(stmt)
        if isinstance(stmt, Bind):
            for cell in cells:
                e.index(stmt.variable, cell.scope)
        elif isinstance(stmt, Fold):
            for cell, total in zip(cells, fold_cells(e, stmt, cells), strict=True):
                cell.scope.temps[stmt.name] = total
        elif isinstance(stmt, Let):
            for cell in cells:
                cell.scope.temps[stmt.name] = value_in(e, stmt.value, cell)
        else:
            assert isinstance(stmt, Store)
            _store(e, stmt, cells)
        e.b.write_for(around)


def fold_cells(e: Emitter, stmt: Fold, cells: list[Cell], start: Carried = ()) -> Carried:
    """One loop that carries the results of all cells, from `start` on, or from what changes nothing.  A few are carried several times, each
    for every second or fourth iteration, since an operation takes as long as several can be begun."""
    neutral = tuple(spread(e, scalar.literal(Literal(identity_of(stmt.op, stmt.dtype).item(), stmt.dtype)), cell.width) for cell in cells)
    place, extent, count = e.typed[stmt.variable], stmt.variable.extent, len(cells)
    fixed = e.kernel.size_of(stmt.variable) is None and stmt.variable.lo == 0 and not any(isinstance(below, Fold) for below in stmt.body)
    copies = BEGUN // count if fixed and not e.exact and count < BEGUN and extent >= 2 * BEGUN else 1
    type = llvm_type(place)

    def combined(totals: Carried, values: Carried) -> Carried:
        flags = "contract" if is_real(LLVM_TYPES[stmt.dtype]) and not e.exact else ""
        # the new one first: so a NaN is looked for beside the chain of results, which waits for one comparison only.  But sums are added to
        # in the registers where they are
        pairs = zip(totals, values, strict=True) if stmt.op not in ("max", "min") else zip(values, totals, strict=True)
        return tuple(scalar.combine(e.b, stmt.op, stmt.dtype, one, other, flags) for one, other in pairs)

    first, end = e.range(stmt.variable, cells[0].scope)

    def at(counter: Value, totals: Carried) -> Carried:
        e.ask_ahead(stmt.variable, counter, end, cells[0].scope)
        inner = [cell.inner() for cell in cells]
        for cell in inner:
            cell.scope.indices[place] = counter
        _block(e, stmt.body, inner)
        return combined(totals, tuple(spread(e, value_in(e, stmt.value, cell), cell.width) for cell in inner))

    def step(counter: Value, carried: Carried) -> Carried:
        first = e.b.binary("mul", counter, integer(copies, type), "nsw") if copies > 1 else counter
        places = [first, *(e.b.binary("add", first, integer(k, type), "nsw") for k in range(1, copies))]
        return tuple(total for k, one in enumerate(places) for total in at(one, carried[k * count : (k + 1) * count]))

    totals = start or neutral
    if extent <= 0:
        return totals
    if copies == 1:
        return e.loop(first, end, totals, step)
    rounds = extent // copies
    carried = e.loop(integer(0, type), integer(rounds, type), (*totals, *(copies - 1) * neutral), step)
    for row in range(rounds * copies, extent):
        carried = (*at(integer(row, type), carried[:count]), *carried[count:])
    return functools.reduce(combined, (carried[k * count : (k + 1) * count] for k in range(1, copies)), carried[:count])


def value_in(e: Emitter, root: Scalar, cell: Cell) -> Value:
    """The value of an element in every lane, or a scalar where it is the same in all."""
    done: dict[Scalar, Value] = {}
    for term in scalars(root):
        if isinstance(term, Load) and is_complex(term.dtype):
            continue
        if isinstance(term, Call) and joint.is_part(term):
            done[term] = _part(e, term, cell)
            continue
        args = tuple(done[arg] for arg in operands(term))
        if isinstance(term, Temp):
            done[term] = cell.scope.temps[term.name]
        elif isinstance(term, Load) and term in cell.turned:
            done[term] = cell.turned[term]
        elif isinstance(term, Load) and cell.width > 1 and _varies(term.index, cell):
            done[term] = _load(e, term, cell)
        elif isinstance(term, Pick):
            done[term] = neighbours(e, term.dtype, e.picked(term, args, cell.scope), cell.width)
        elif isinstance(term, Call) and term.op == "astype" and args[0].type.startswith("<"):
            done[term] = widened(e, term, args[0], cell.width)
        elif isinstance(term, Call) and any(arg.type.startswith("<") for arg in args):
            done[term] = scalar.call(e.b, term, tuple(spread(e, arg, cell.width) for arg in args), e.flags_of(term))
        elif isinstance(term, Call):
            done[term] = scalar.call(e.b, term, args, e.flags_of(term))
        else:
            done[term] = e.element(term, cell.scope)
    return done[root]


def _varies(index: Index, cell: Cell) -> bool:
    return any(variable is cell.lane for variable in variables(cell.over_loops(index)))


def _load(e: Emitter, load: Load, cell: Cell) -> Value:
    """Neighbours in memory at once, a few steps apart out of several vectors, others one by one."""
    step = coefficient(cell.over_loops(load.index), cell.lane)
    if step == 1:
        return vector_load(e, load, cell.scope, cell.width)
    buffer = e.buffer(load.buffer, load.dtype)
    if step is not None and _is_picked(step, cell):
        return stepped(e, e.address(buffer, load.index, _lane(e, cell, 0)), load.dtype, step, cell.width)
    result = Value("poison", vector_type(load.dtype, cell.width))
    for k in range(cell.width):
        result = e.b.insert(result, e.read(buffer, e.address(buffer, load.index, _lane(e, cell, k))), k)
    return result


def _part(e: Emitter, term: Call, cell: Cell) -> Value:
    """The real or imaginary parts of complex numbers in memory: every second number of it from the first of them on."""
    (load,), place = term.args, int(term.op == "imag")
    assert isinstance(load, Load)

    def address(scope: Scope) -> Value:
        begin = e.address(e.buffer(load.buffer, load.dtype), load.index, scope)
        return e.b.element(LLVM_TYPES[term.dtype], begin.text, integer(place), "inbounds")

    def single(scope: Scope) -> Value:
        return e.b.emit(LLVM_TYPES[term.dtype], f"load {LLVM_TYPES[term.dtype]}, {address(scope)}, align {itemsize(term.dtype)}")

    if cell.width == 1 or not _varies(load.index, cell):
        return single(cell.scope)
    step = coefficient(cell.over_loops(load.index), cell.lane)
    if step is not None and _is_picked(2 * step, cell):
        return stepped(e, address(_lane(e, cell, 0)), term.dtype, 2 * step, cell.width)
    result = Value("poison", vector_type(term.dtype, cell.width))
    for k in range(cell.width):
        result = e.b.insert(result, single(_lane(e, cell, k)), k)
    return result


def _is_picked(step: int, cell: Cell) -> bool:
    """Whether elements so many steps apart are picked out of whole vectors."""
    return 1 < step <= joint.LARGEST_STEP and cell.width & (cell.width - 1) == 0


def _lane(e: Emitter, cell: Cell, k: int) -> Scope:
    """The scope of one lane, without the index terms that were computed where the lane is the first."""
    maps = cell.scope.indices.maps
    inside = next(depth for depth, own in enumerate(maps, 1) if e.typed[cell.lane] in own)
    known = {term: value for own in reversed(maps[:inside]) for term, value in own.items() if not isinstance(term, COMPUTED)}
    scope = Scope(ChainMap(known, *maps[inside:]), cell.scope.temps.new_child())
    _set(e, scope, cell.lane, cell.first + k)
    return scope


def _store(e: Emitter, stmt: Store, cells: list[Cell]) -> None:
    """What all cells store; of what is added to memory, all is read before any is written, since two cells may have elements in common."""
    buffer = e.buffer(stmt.buffer, stmt.value.dtype)
    align = f"align {itemsize(buffer.dtype)}"
    stored: list[tuple[Value, Value]] = []
    for cell in cells:
        value = spread(e, value_in(e, stmt.value, cell), cell.width)
        together = cell.width == 1 or coefficient(cell.over_loops(stmt.index), cell.lane) == 1
        for k in range(1 if together else cell.width):
            one = value if together else e.b.emit(MEMORY_TYPES[buffer.dtype], f"extractelement {value}, i64 {k}")
            place = e.address(buffer, stmt.index, cell.scope if together else _lane(e, cell, k))
            if stmt.combine is not None:
                before = e.b.emit(one.type, f"load {one.type}, {place}, {align}")
                one = scalar.combine(e.b, stmt.combine, buffer.dtype, before, one, "")
            stored.append((one, place))
            if (behind := e.written_ahead.get(stmt)) is not None:
                emit_written_ahead(e, place, behind)
    e.b.lines += [f"  store {one}, {place}, {align}" for one, place in stored]
