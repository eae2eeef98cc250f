"""Loops that step over elements: every second, third or fourth one is picked out of whole vectors.

    out[i] = f(a[2*i], a[2*i + 1], a[2*i + 2])        pooling, downsampling, slices with a step

LLVM picks them out of vectors too, but does not look behind the last element that a loop reads, so it does the last 16 iterations one by
one: half of a row of 32.  Shorter rows it writes out and gathers.  As one tile the loop ends with a vector that begins earlier.
"""

from __future__ import annotations

from dataclasses import replace

from eqsat.ir.joint import LARGEST_STEP
from eqsat.ir.loops import For, Stmt
from eqsat.ir.tensor import Reduce, scalars
from eqsat.lowering.affine import Forms
from eqsat.lowering.nest import Nest
from eqsat.lowering.place import nested

# iterations of the innermost loop: fewer fill no vector, of more the last ones matter less than the length of the code
FEWEST, MOST = 4, 128


def stepped(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str]) -> tuple[Stmt, ...] | None:
    """The statements with a tile as the innermost loop; None where nothing in it steps, or something else does not go along memory."""
    if not nest.loops or any(isinstance(term, Reduce) for term in scalars(nest.body)):
        return None
    forms, lane = Forms(), nest.loops[-1]
    steps = [forms(load.index).stride(lane) for load in nest.loads]
    known = [step for step in steps if step is not None and 0 <= step <= LARGEST_STEP]
    if not FEWEST <= lane.extent <= MOST or len(known) < len(steps) or max(known, default=0) < 2 or forms(nest.index).stride(lane) != 1:
        return None
    return tuple(_as_tile(stmt) for stmt in nested(nest, outputs, buffers))


def _as_tile(stmt: Stmt) -> Stmt:
    if not isinstance(stmt, For):
        return stmt
    innermost = not any(isinstance(below, For) for below in stmt.body)
    return replace(stmt, kind="tile") if innermost else replace(stmt, body=tuple(_as_tile(below) for below in stmt.body))
