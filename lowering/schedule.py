"""Schedules: loops in some order, and the way in which they become statements.

    nested   the loops as they stand, folds inside
    outward  folds around the innermost loop, whose sums are kept in memory
    abreast  the same, several iterations of the innermost fold at a time
    tiled    sums of products in registers; `tile`: rows and columns of one, else as tiles.py chooses
    turned   what is read across memory turned in squares
    upright  short rows that are folded turned so, and several of them folded at once
    jammed   rows of stencils, a few at a time, which share what they compute
    sums     the same, sums of neighbours added up row by row first
    shuffled small blocks of elements that change places in registers
    patches  short runs that change places, a patch of them at a time
    columns  folds down columns, for blocks of neighbouring columns at a time
    columns_cut  the same, every loop cut where what is read changes
    pooled   windows that step along lines, folded down for all places of a line first
    at_places  folds of which every term counts at one place only, added there
    dots     folds along memory for several rows and columns at once
    pieces   the innermost loop cut where a condition changes, and where its middle begins, if that can be split
    boxes    every loop cut where a condition changes
    picked   the same, or only the innermost, and every second, third or fourth element of memory picked out of vectors
    boxsums  boxes, and sums of neighbours in them added up row by row first
    stepped  every second, third or fourth element picked out of vectors

Not every way is open to every nest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from eqsat.ir.loops import Stmt
from eqsat.lowering.blocks import Body
from eqsat.lowering.folds.at_places import at_places
from eqsat.lowering.folds.columns import in_columns
from eqsat.lowering.folds.columns_cut import columns_cut
from eqsat.lowering.folds.dots import dots
from eqsat.lowering.folds.outward import ABREAST, outward
from eqsat.lowering.folds.pooled import pooled
from eqsat.lowering.folds.upright import upright
from eqsat.lowering.movements.patches import in_patches
from eqsat.lowering.movements.shuffled import in_shuffles
from eqsat.lowering.movements.stepped import stepped
from eqsat.lowering.movements.turned import results_turned, turned
from eqsat.lowering.nest import Nest
from eqsat.lowering.place import nested
from eqsat.lowering.products.tiles import tiled
from eqsat.lowering.ranges.seams import in_boxes, in_pieces, picked_in_pieces
from eqsat.lowering.sharing.jammed import jammed
from eqsat.lowering.sharing.repeated import repeated

# rows and columns of tiles that a search tries: what fits into 32 registers of 64 bytes, and what into 16 of 32
TILES = ((10, 32), (12, 32), (9, 48), (8, 48), (6, 64), (4, 64), (8, 32), (3, 96), (14, 16), (12, 16), (6, 32))


@dataclass(frozen=True)
class Schedule:
    nest: Nest
    way: str = "nested"
    tile: tuple[int, int] | None = None

    def body(self, outputs: tuple[str, ...], buffers: frozenset[str], markers: frozenset[int] = frozenset()) -> Body | None:
        """What it does; None where this way is not open.  `markers`: extents that stand for sizes known at run time."""
        if self.way == "columns":
            return in_columns(self.nest, outputs, buffers, markers)
        if self.way == "tiled":
            return tiled(self.nest, outputs, buffers, self.tile)
        return WAYS[self.way](self.nest, outputs, buffers)

    def neighbours(self) -> Iterator[Schedule]:
        """Schedules of which one thing differs: two loops, the way, or the shape of tiles."""
        for one, other in combinations(range(len(self.nest.loops)), 2):
            loops = list(self.nest.loops)
            loops[one], loops[other] = loops[other], loops[one]
            yield replace(self, nest=Nest(tuple(loops), self.nest.body, self.nest.index))
        yield from (Schedule(self.nest, way) for way in ("tiled", "columns", *WAYS) if way != self.way)
        if self.way == "tiled":
            yield from (replace(self, tile=tile) for tile in TILES if tile != self.tile)


def _plain(statements: tuple[Stmt, ...] | None) -> Body | None:
    return None if statements is None else (statements, ())


WAYS: Mapping[str, Callable[[Nest, tuple[str, ...], frozenset[str]], Body | None]] = {
    "nested": lambda nest, outputs, buffers: _plain(nested(nest, outputs, buffers)),
    "outward": lambda nest, outputs, buffers: _plain(outward(nest, outputs[0], buffers)),
    "abreast": lambda nest, outputs, buffers: _plain(outward(nest, outputs[0], buffers, ABREAST)),
    "turned": turned,
    "results_turned": results_turned,
    "upright": upright,
    "jammed": lambda nest, outputs, buffers: _plain(jammed(nest, outputs, buffers)),
    "sums": lambda nest, outputs, buffers: _plain(jammed(nest, outputs, buffers, reordered=True)),
    "shuffled": lambda nest, outputs, buffers: _plain(in_shuffles(nest, outputs, buffers)),
    "patches": lambda nest, outputs, buffers: _plain(in_patches(nest, outputs, buffers)),
    "at_places": at_places,
    "dots": dots,
    "pooled": pooled,
    "columns_cut": columns_cut,
    "repeated": repeated,
    "stepped": stepped,
    "pieces": in_pieces,
    "boxes": in_boxes,
    "picked": picked_in_pieces,
    "boxsums": lambda nest, outputs, buffers: in_boxes(nest, outputs, buffers, reordered=True),
}
