"""Transposes in blocks: what is read across memory is copied to scratch memory by squares that are turned in registers.

    out[.., i, .., j] = f(a[.. + i + c*j], ..)

where the loop j runs along the memory that is written, and i along that of a, forwards or backwards: for every block of i and j first
the block of a, row by row, then f.
"""

from __future__ import annotations

from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.joint import LANES
from eqsat.ir.loops import Load, Store, over
from eqsat.ir.tensor import Reduce, Scalar, scalars
from eqsat.lowering.affine import Forms
from eqsat.lowering.blocks import BlockPlacer, Body, first_of, tile_over
from eqsat.lowering.nest import Nest
from eqsat.lowering.place import Scope, stores

# a block is a square of so many elements, or of a line of the cache of what is read: one square that is turned in registers
SIDE, LINE_BYTES = 16, 64
# along both loops there are at least as many
LEAST = 8


def turned(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str]) -> Body | None:
    """The statements and their scratch memory; None where nothing is read like that."""
    forms = Forms()
    if len(nest.loops) < 2 or any(isinstance(term, Reduce) for term in scalars(nest.body)):
        return None
    for lane in (v for v in nest.loops if v.extent >= LEAST and forms(nest.index).stride(v) == 1):
        across = [load for load in nest.loads if forms(load.index).stride(lane) not in (0, 1, None) and load.dtype in LANES]
        others = [v for v in nest.loops if v is not lane and v.extent >= LEAST]
        rows = {v: [load for load in across if forms(load.index).stride(v) in (1, -1)] for v in others}
        row = max(others, key=lambda v: len(rows[v]), default=lane)
        if row is not lane and rows[row]:
            return _Blocks(nest, outputs, buffers, row, lane).result(rows[row])
    return None


class _Blocks:
    """The statements of one nest."""

    def __init__(self, nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str], row: Var, lane: Var) -> None:
        self.nest, self.outputs = nest, outputs
        self.row, self.lane = row, lane
        self.placer = BlockPlacer(buffers)

    def result(self, across: list[Load]) -> Body:
        row, lane = self.row, self.lane
        side = min(SIDE, LINE_BYTES // min(itemsize(load.dtype) for load in across))
        high, wide = min(row.extent, side), min(lane.extent, side)
        down, along = -(-row.extent // high), -(-lane.extent // wide)
        below, beside = Var(f"{row.name}_block", 0, down - 1), Var(f"{lane.name}_block", 0, along - 1)
        others = [v for v in self.nest.loops if v not in (row, lane)]
        opened = self.placer.nest(self.placer.top, *others, below, beside)
        first: dict[Var, Index] = {row: first_of(below, down, high, row.extent), lane: first_of(beside, along, wide, lane.extent)}
        inner_row, inner_lane = Var(f"{row.name}_row", 0, high - 1), Var(f"{lane.name}_lane", 0, wide - 1)
        here: dict[Var, Index] = {row: first[row] + inner_row, lane: first[lane] + inner_lane}
        known: dict[Scalar, Scalar] = {}
        for load in across:
            forwards = Forms()(load.index).stride(row) == 1
            if load is not self.nest.body or not forwards:
                name = self.copy(load, first, (high, wide), forwards, opened[-1])
                known[load] = Load(name, (inner_row if forwards else high - 1 - inner_row) * wide + inner_lane, load.dtype)
        written = stores(self.outputs, substitute(self.nest.index, here), over(self.nest.body, here, known))
        opened[-1].body.append(tile_over(inner_row, inner_lane, *written))
        self.placer.close_all(opened)
        return tuple(self.placer.top.body), tuple(self.placer.scratch)

    def copy(self, load: Load, first: dict[Var, Index], shape: tuple[int, int], forwards: bool, scope: Scope) -> str:
        """Scratch memory with the block of a load, row by row, the last row first where rows go backwards in memory."""
        name = self.placer.memory(shape[0] * shape[1], load.dtype)
        row, lane = (Var(f"{name}_{v.name}", 0, n - 1) for v, n in zip((self.row, self.lane), shape, strict=True))
        step = row if forwards else shape[0] - 1 - row
        source = substitute(load.index, {self.row: first[self.row] + step, self.lane: first[self.lane] + lane})
        element = Store(name, row * shape[1] + lane, Load(load.buffer, source, load.dtype))
        scope.body.append(tile_over(row, lane, element))
        return name
