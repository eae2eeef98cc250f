"""Transposes in blocks: what is read across memory is copied to scratch memory by squares that are turned in registers.

    out[.., i, .., j] = f(a[.. + i + c*j], ..)

where the loop j runs along the memory that is written, and i along that of a, forwards or backwards: for every block of i and j first
the block of a, row by row, then f.  Where all that f reads lies along i, f first, and then what it results in is turned.
"""

from __future__ import annotations

from dataclasses import dataclass

from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.loops import For, Load, Stmt, Store, over
from eqsat.ir.tensor import Scalar, has_fold
from eqsat.ir.vectorizable import LANES, is_joint_value, is_moved
from eqsat.lowering.affine import Forms
from eqsat.lowering.blocks import BlockPlacer, Body, blocks_of, tile_over
from eqsat.lowering.nest import Nest, Several
from eqsat.lowering.place import Scope, stores

# a block is a square of so many elements, or of a line of the cache of what is read: one square that is turned in registers
SIDE, LINE_BYTES = 16, 64
# along both loops there are at least as many
LEAST = 8


def turned(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str]) -> Body | None:
    """The statements and their scratch memory; None where nothing is read like that."""
    found = crossing(nest)
    if found is None:
        return None
    placer = BlockPlacer(buffers)
    place_turned(placer, placer.top, found, outputs)
    return tuple(placer.top.body), tuple(placer.scratch)


def results_turned(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str]) -> Body | None:
    """The same with what is computed turned; None where it is no more than what is read, or reads other memory along the results."""
    found, forms = crossing(nest), Forms()
    if found is None or isinstance(nest.body, Load | Several) or nest.body.dtype not in LANES:
        return None
    if any(forms(load.index).stride(found.row) not in (0, 1, -1) for load in nest.loads):
        return None
    placer = BlockPlacer(buffers)
    block = _opened(placer, placer.top, found, min(SIDE, LINE_BYTES // itemsize(nest.body.dtype)))
    memory = placer.memory(block.row.extent * block.lane.extent, nest.body.dtype)
    row, lane = (Var(f"{memory}_{v.name}", 0, v.extent - 1) for v in (block.row, block.lane))
    line = Store(memory, lane * row.extent + row, over(nest.body, block.at(row, lane)))
    block.body.append(For(lane, "parallel", (For(row, "parallel", (line,)),)))
    turned_back = Load(memory, block.lane * row.extent + block.row, nest.body.dtype)
    written = stores(outputs, substitute(nest.index, block.at(block.row, block.lane)), turned_back)
    block.body.append(tile_over(block.row, block.lane, *written))
    placer.close_all(block.opened)
    return tuple(placer.top.body), tuple(placer.scratch)


@dataclass(frozen=True)
class Crossing:
    """A nest, the loop along the memory of what is read across the memory that is written, the loop along that, and those loads."""

    nest: Nest
    row: Var
    lane: Var
    across: tuple[Load, ...]


def crossing(nest: Nest) -> Crossing | None:
    """What is turned in a nest; None where nothing is read like that."""
    forms = Forms()
    if len(nest.loops) < 2 or has_fold(nest.body):
        return None
    for lane in (v for v in nest.loops if v.extent >= LEAST and forms(nest.index).stride(v) == 1):
        moved = is_moved(nest.body)
        across = [load for load in nest.loads if forms(load.index).stride(lane) not in (0, 1, None) and (moved or load.dtype in LANES)]
        others = [v for v in nest.loops if v is not lane and v.extent >= LEAST]
        rows = {v: [load for load in across if forms(load.index).stride(v) in (1, -1)] for v in others}
        row = max(others, key=lambda v: len(rows[v]), default=lane)
        if row is not lane and rows[row]:
            return Crossing(nest, row, lane, tuple(rows[row]))
    return None


def place_turned(placer: BlockPlacer, scope: Scope, found: Crossing, outputs: tuple[str, ...]) -> None:
    """The nest inside of a scope, in blocks."""
    nest, row, lane = found.nest, found.row, found.lane
    block = _opened(placer, scope, found, min(SIDE, LINE_BYTES // min(itemsize(load.dtype) for load in found.across)))
    high, wide = block.row.extent, block.lane.extent
    known: dict[Scalar, Scalar] = {}
    for load in found.across:
        forwards = Forms()(load.index).stride(row) == 1
        if load is not nest.body or not forwards:
            name = _copied(placer, block.opened[-1], load, {row: (block.first[row], high), lane: (block.first[lane], wide)}, forwards)
            known[load] = Load(name, (block.row if forwards else high - 1 - block.row) * wide + block.lane, load.dtype)
    here = block.at(block.row, block.lane)
    written = stores(outputs, substitute(nest.index, here), over(nest.body, here, known))
    joint = is_moved(nest.body) or all(is_joint_value(stmt.value) for stmt in written)
    lines = For(block.row, "parallel", (For(block.lane, "parallel", tuple(written)),))  # functions are vectors of LLVM's loops
    block.body.append(tile_over(block.row, block.lane, *written) if joint else lines)
    placer.close_all(block.opened)


@dataclass(frozen=True)
class _Block:
    """Blocks of a crossing: the loops over them, where each begins, and its rows and lanes."""

    opened: list[Scope]
    first: dict[Var, Index]
    row: Var
    lane: Var

    @property
    def body(self) -> list[Stmt]:
        return self.opened[-1].body

    def at(self, row: Var, lane: Var) -> dict[Var, Index]:
        """Where a row and a lane of a block are."""
        return {loop: first + within for (loop, first), within in zip(self.first.items(), (row, lane), strict=True)}


def _opened(placer: BlockPlacer, scope: Scope, found: Crossing, side: int) -> _Block:
    """Loops over blocks of so many rows and lanes, or of all where there are less."""
    row, lane = found.row, found.lane
    high, wide = min(row.extent, side), min(lane.extent, side)
    blocks, first = blocks_of({row: high, lane: wide})
    opened = placer.nest(scope, *(v for v in found.nest.loops if v not in (row, lane)), *blocks)
    inner_row, inner_lane = Var(f"{row.name}_row", 0, high - 1), Var(f"{lane.name}_lane", 0, wide - 1)
    return _Block(opened, first, inner_row, inner_lane)


def _copied(placer: BlockPlacer, scope: Scope, load: Load, block: dict[Var, tuple[Index, int]], forwards: bool) -> str:
    """Scratch memory with the block of a load, row by row, the last row first where rows go backwards in memory.

    block  for rows and lanes, in this order, where they begin and how many there are
    """
    (row, (top, high)), (lane, (left, wide)) = block.items()
    name = placer.memory(high * wide, load.dtype)
    down, along = Var(f"{name}_{row.name}", 0, high - 1), Var(f"{name}_{lane.name}", 0, wide - 1)
    source = substitute(load.index, {row: top + (down if forwards else high - 1 - down), lane: left + along})
    scope.body.append(tile_over(down, along, Store(name, down * wide + along, Load(load.buffer, source, load.dtype))))
    return name
