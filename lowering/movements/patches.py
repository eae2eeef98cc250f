"""Short runs that change places: patches of rows and lanes, of which each reads and writes whole lines of the cache.

    out[.., i, .., j, k] = f(a[.. + k + n*i + c*j], ..)

where the short loop k runs along memory, that of j goes on in the output where k ends, and i in a, forwards or backwards: what lies in a
line of a is written to as many places as there are runs in it, far from each other, and the line would be read again for each.
"""

from __future__ import annotations

from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.loops import Stmt, over
from eqsat.ir.tensor import has_fold
from eqsat.lowering.affine import Forms
from eqsat.lowering.blocks import BlockPlacer, blocks_of
from eqsat.lowering.nest import Nest
from eqsat.lowering.place import stores

# a patch: so many bytes of rows of what is read and of what is written, but at least and at most so many rows of what is read
PATCH_BYTES, LEAST_ROWS, MOST_ROWS = 256, 8, 32


def in_patches(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str]) -> tuple[Stmt, ...] | None:
    """The statements; None where no short runs change places."""
    forms = Forms()
    if len(nest.loops) < 3 or has_fold(nest.body):
        return None
    run, written = nest.loops[-1], forms(nest.index)
    widest = max((itemsize(load.dtype) for load in nest.loads), default=1)
    lane = next((v for v in nest.loops[:-1] if written.stride(v) == run.extent), None)
    if written.stride(run) != 1 or lane is None or run.extent * widest >= PATCH_BYTES:
        return None
    read = [form for load in nest.loads if (form := forms(load.index)).stride(run) in (1, -1)]
    rows = (v for v in nest.loops[:-1] if v is not lane)
    row = next((v for v in rows if any(form.stride(v) in (run.extent, -run.extent) for form in read)), None)
    if row is None:
        return None
    runs = -(-PATCH_BYTES // (run.extent * widest))
    high, wide = min(row.extent, runs), min(lane.extent, max(LEAST_ROWS, min(runs, MOST_ROWS)))
    blocks, first = blocks_of({row: high, lane: wide}, "patch")
    inner_row, inner_lane = Var(f"{row.name}_row", 0, high - 1), Var(f"{lane.name}_lane", 0, wide - 1)
    here: dict[Var, Index] = {row: first[row] + inner_row, lane: first[lane] + inner_lane}
    placer = BlockPlacer(buffers)
    others = (v for v in nest.loops[:-1] if v not in (row, lane))
    opened = placer.nest(placer.top, *others, *blocks, inner_row, inner_lane, run)
    opened[-1].body += stores(outputs, substitute(nest.index, here), placer.place(over(nest.body, here), opened[-1]))
    placer.close_all(opened)
    return tuple(placer.top.body)
