"""The candidates: ranges split or not, axes in several orders, ranges merged, reductions inside or outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eqsat.ir.loops import Buffer, Kernel, Stmt
from eqsat.ir.tensor import Build, Size, Tensor, sources
from eqsat.lowering.nest import Nest, nest_of
from eqsat.lowering.order import merge, orders, shared_columns, unit_folds_innermost, widened
from eqsat.lowering.outward import outward
from eqsat.lowering.place import nested
from eqsat.lowering.seams import in_pieces
from eqsat.lowering.split import split
from eqsat.lowering.tiles import tiled
from eqsat.lowering.turned import turned
from eqsat.lowering.unroll import unrolled

MOST = 16
# statements, and the scratch memory that they use
Body = tuple[tuple[Stmt, ...], tuple[Buffer, ...]]


def candidates(
    builds: tuple[Build, ...], name: str, names: Mapping[Tensor, str], sizes: tuple[Size, ...] = (), tiles: bool = True
) -> tuple[Kernel, ...]:
    """Loop nests that compute builds of one shape together, at most MOST, the one as written first; they differ in speed only.

    `names` gives the buffers of the builds and of every tensor that they read, none of which is one of them.  Buffers are C-ordered;
    the kernel's are those read, in order of first read, and the outputs last.  Offsets are left for the caller to simplify.
    Sums may be added in another order; all else is equal bit for bit.  `tiles`: whether sums may be kept in registers side by side.
    """
    read = dict.fromkeys(tensor for build in builds for tensor in sources(build))
    outputs = tuple(Buffer(names[build], build.dtype, build.size, "out") for build in builds)
    buffers = (*(Buffer(names[t], t.dtype, t.size, "in") for t in read), *outputs)
    written = tuple(output.name for output in outputs)
    known = {size.marker: size.variable for size in sizes}
    found = _bodies(nest_of(builds, names, known), written, frozenset(b.name for b in buffers), frozenset(known), tiles)
    bodies = dict.fromkeys(found)
    return tuple(Kernel(name, buffers, body, sizes, scratch) for body, scratch in tuple(bodies)[:MOST])


def _bodies(written: Nest, outputs: tuple[str, ...], buffers: frozenset[str], markers: frozenset[int], tiles: bool) -> Iterator[Body]:
    cut = split(written)
    yield nested(written, outputs, buffers), ()
    yield nested(cut, outputs, buffers), ()
    if tiles and not markers:
        for nest in dict.fromkeys((merge(cut), cut)):
            in_tiles = tiled(nest, outputs[0], buffers)
            if in_tiles is not None:
                yield in_tiles
    if not markers:
        in_blocks = turned(cut, outputs, buffers)
        if in_blocks is not None:
            yield in_blocks
    arranged = orders(merge(unit_folds_innermost(cut), markers))
    wide = [widened(nest) for nest in orders(unit_folds_innermost(cut))]
    if tiles:
        for nest in dict.fromkeys(merge(unrolled(nest), markers) for nest in arranged):
            yield nested(nest, outputs, buffers), ()
    for nest in dict.fromkeys((*(merge(nest, markers) for nest in arranged), merge(written, markers), *wide)):
        yield nested(nest, outputs, buffers), ()
        pieces = in_pieces(nest, outputs, buffers) if not markers else None
        if pieces is not None:
            yield pieces, ()
        for arrangement in (nest, None if markers else shared_columns(nest)):
            moved = outward(arrangement, outputs[0], buffers) if arrangement is not None else None
            if moved is not None:
                yield moved, ()
