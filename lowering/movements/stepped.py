"""Loops that step over elements: every second, third or fourth one is picked out of whole vectors.

    out[i] = f(a[2*i], a[2*i + 1], a[2*i + 2])        pooling, downsampling, slices with a step

LLVM picks them out of vectors too, but does not look behind the last element that a loop reads, so it does the last 16 iterations one by
one: half of a row of 32.  Shorter rows it writes out and gathers.  As one tile the loop ends with a vector that begins earlier.  For
functions, which are vectors of LLVM's loops only, tiles pick the elements of a block of iterations first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.loops import For, Load, LoopKind, Stmt, Store, over
from eqsat.ir.tensor import Scalar, has_fold
from eqsat.ir.vectorizable import LANES, LARGEST_STEP
from eqsat.lowering.affine import Forms
from eqsat.lowering.blocks import BlockPlacer, Body, blocks_of
from eqsat.lowering.nest import Nest
from eqsat.lowering.place import nested, stores

# iterations of the innermost loop: fewer fill no vector, of more the last ones matter less than the length of the code
FEWEST, MOST = 4, 128
# rows whose elements are picked before any of them is used, at most: a processor waits where a vector is loaded right behind two stores of
# its parts
ROWS = 8
# loads that are picked first, at most
MOST_PICKED = 4


def stepped(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str]) -> Body | None:
    """The statements, and their scratch memory; None where nothing steps, or something else does not go along memory."""
    tiles = in_tiles(nest, outputs, buffers)
    if tiles is not None:
        return tiles, ()
    steps = _steps(nest)
    picked = {load: _is_picked(load, step) for load, step in (steps or {}).items() if step not in (-1, 0, 1)}
    return _picked_first(nest, picked, outputs, buffers) if 0 < len(picked) <= MOST_PICKED and not nest.is_joint else None


def in_tiles(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str]) -> tuple[Stmt, ...] | None:
    """The statements with a tile as the innermost loop."""
    return tuple(_as_tile(stmt) for stmt in nested(nest, outputs, buffers)) if picks_elements(nest) else None


def picks_elements(nest: Nest) -> bool:
    """Whether the innermost loop picks elements out of vectors, as a tile."""
    steps = _steps(nest)
    if steps is None or nest.loops[-1].extent > MOST or not nest.is_joint:
        return False
    return max(steps.values(), default=0) > 1 and all(0 <= step <= LARGEST_STEP for step in steps.values())


def _steps(nest: Nest) -> dict[Load, int] | None:
    """How far each load goes with every iteration of the innermost loop, along which results lie; None where that is not so or not known,
    loops are short, or something is folded."""
    if not nest.loops or nest.loops[-1].extent < FEWEST or has_fold(nest.body):
        return None
    forms, lane = Forms(), nest.loops[-1]
    steps = {load: step for load in nest.loads if (step := forms(load.index).stride(lane)) is not None}
    return steps if len(steps) == len(nest.loads) and forms(nest.index).stride(lane) == 1 else None


def _is_picked(load: Load, step: int) -> bool:
    """Whether a tile picks elements out of whole vectors."""
    return 1 < step <= LARGEST_STEP and load.dtype in LANES


def _picked_first(nest: Nest, picked: Mapping[Load, bool], outputs: tuple[str, ...], buffers: frozenset[str]) -> Body:
    """Blocks of the two innermost loops, each after what it picks, by tiles or one by one."""
    *around, lane = nest.loops
    row = around.pop() if around else Var(f"{lane.name}_only", 0, 0)
    wide = min(lane.extent, MOST)
    high = min(row.extent, max(1, MOST // wide), ROWS)
    blocks, first = blocks_of({row: high, lane: wide})
    placer = BlockPlacer(buffers)
    opened = placer.nest(placer.top, *around, *blocks)

    def loops(name: str) -> tuple[Var, Var]:
        return Var(f"{name}_row", 0, high - 1), Var(f"{name}_lane", 0, wide - 1)

    def block(kind: LoopKind, here: tuple[Var, Var], *body: Stmt) -> Stmt:
        inner = For(here[1], kind, body)
        return For(here[0], "parallel", (inner,)) if high > 1 else inner

    def at(here: tuple[Var, Var]) -> dict[Var, Index]:
        return {row: first[row] + here[0] if high > 1 else first[row], lane: first[lane] + here[1]}

    within, known = loops(lane.name), dict[Scalar, Scalar]()
    for load, by_tiles in picked.items():
        name = placer.memory(high * wide, load.dtype)
        element = loops(name)
        source = Load(load.buffer, substitute(load.index, at(element)), load.dtype)
        opened[-1].body.append(block("tile" if by_tiles else "parallel", element, Store(name, _place(*element), source)))
        known[load] = Load(name, _place(*within), load.dtype)
    written = stores(outputs, substitute(nest.index, at(within)), over(nest.body, at(within), known))
    opened[-1].body.append(block("parallel", within, *written))
    placer.close_all(opened)
    return tuple(placer.top.body), tuple(placer.scratch)


def _place(row: Var, lane: Var) -> Index:
    return row * lane.extent + lane if row.extent > 1 else lane


def _as_tile(stmt: Stmt) -> Stmt:
    if not isinstance(stmt, For):
        return stmt
    innermost = not any(isinstance(below, For) for below in stmt.body)
    return replace(stmt, kind="tile") if innermost else replace(stmt, body=tuple(_as_tile(below) for below in stmt.body))
