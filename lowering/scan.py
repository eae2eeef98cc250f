"""Running sums and products along an axis, as loops.

    out[p, 0, q] = x[p, 0, q]        out[p, k, q] = out[p, k - 1, q] + x[p, k, q]

With the value that an empty one has in front, there is one more element.  Many lanes q are run in strips that stay in the first cache, and
that threads share where there are few rows p.
"""

from __future__ import annotations

from math import prod

from eqsat.ir.dtypes import carrier, is_complex
from eqsat.ir.index import Index, Var
from eqsat.ir.loops import Buffer, Kernel, Load, Store
from eqsat.ir.ops import REDUCE_OPS, identity_of
from eqsat.ir.tensor import Call, Literal, Scalar, Shape, Size, as_dtype
from eqsat.lowering.affine import Affine, rebuilt
from eqsat.lowering.blocks import BlockPlacer
from eqsat.lowering.products.product import EVENLY

# lanes of a strip at the most and at the least
STRIP, LEAST_STRIP = 1024, 64
# rows that threads share evenly enough
ENOUGH_ROWS = 8


def is_of_rows(shape: Shape, axis: int, sizes: tuple[Size, ...]) -> bool:
    """Whether no axis ends at a size that is known at run time, but for the first where sums go along another."""
    return not any(size.marker in (*shape[1:], shape[axis]) for size in sizes)


def is_ahead(op: str, dtype: str, lanes: int) -> bool:
    """Whether loops are no slower than NumPy's: extrema of numbers that take several steps to compare wait for each other in a row, where
    NumPy's loop guesses which is greater."""
    return lanes > 1 or op not in ("max", "min") or not (is_complex(dtype) or carrier(dtype) != dtype)


def is_shared(rows: int) -> bool:
    return rows % EVENLY == 0 or rows >= ENOUGH_ROWS


def strips_of(rows: int, lanes: int) -> int:
    """How many strips the lanes are, as few as may be: an even number where threads do not share the rows."""
    step = 1 if is_shared(rows) else EVENLY
    return next((n for n in range(step, lanes // LEAST_STRIP + 1, step) if lanes % n == 0 and lanes // n <= STRIP), 1)


def scan(
    op: str, shape: Shape, axis: int, initial: bool, source: Buffer, result: Buffer, name: str, sizes: tuple[Size, ...] = ()
) -> Kernel:
    """The fold `op` of what stands before and at every place along an axis of `source`, which has this shape, in the dtype of `result`; see
    `is_of_rows` for `sizes`."""
    outermost = min(axis, 1) if sizes else axis  # which may end at a size
    rows, inside, length, lanes = prod(shape[:outermost]), prod(shape[outermost:axis]), shape[axis], prod(shape[axis + 1 :])
    strips = strips_of(rows, lanes)
    row, within, strip = Var("row", 0, rows - 1), Var("within", 0, inside - 1), Var("strip", 0, strips - 1)
    first, lane = (Var(name, 0, lanes // strips - 1) for name in ("first", "lane"))
    step = Var("step", 1, length - 1 + initial)

    def at(extent: int, lane: Var, *along: tuple[Var, int], constant: int = 0) -> Index:
        parts = ((row, inside * extent * lanes), (within, extent * lanes), (strip, lanes // strips), *along, (lane, 1))
        return rebuilt(Affine(constant, {v: stride for v, stride in parts if v.extent > 1 or v is step}))

    def element(index: Index) -> Scalar:
        return as_dtype(Load(source.name, index, source.dtype), result.dtype)

    placer, whole = BlockPlacer(frozenset((source.name, result.name))), length + initial
    opened = placer.nest(placer.top, *((row, within, strip) if is_shared(rows) else (strip, row, within)))
    ahead = placer.nest(opened[-1], first)
    beginning = Literal(identity_of(op, result.dtype).item(), result.dtype) if initial else element(at(length, first))
    ahead[-1].body.append(Store(result.name, at(whole, first), beginning))
    placer.close_all(ahead)
    if whole > 1:
        along = placer.open(step, opened[-1])
        below = placer.nest(along, lane)
        before = Load(result.name, at(whole, lane, (step, lanes), constant=-lanes), result.dtype)
        taken = element(at(length, lane, (step, lanes), constant=-lanes * initial))
        total = Call(REDUCE_OPS[op].step, (before, taken), result.dtype)
        below[-1].body.append(Store(result.name, at(whole, lane, (step, lanes)), total))
        placer.close_all(below)
        placer.close(along, "serial")
    placer.close_all(opened)
    return Kernel(name, (source, result), tuple(placer.top.body), sizes)
