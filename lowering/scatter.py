"""Values put, or added, at places that an array says, as loops.

    out = x;  for k: p = places[k];  out[i, p, j] = values[i, k, j], or is combined with it

One step follows the other: places may be the same.
"""

from __future__ import annotations

from math import prod

from eqsat.ir.index import Index, Var, as_index
from eqsat.ir.loops import Buffer, Clip, For, Kernel, Load, Stmt, Store
from eqsat.ir.tensor import Shape, Size
from eqsat.lowering.affine import Affine, rebuilt


def scattered(
    shape: Shape,
    axis: int,
    given: tuple[Buffer, Buffer, Buffer],
    result: Buffer,
    combine: str | None,
    name: str,
    sizes: tuple[Size, ...] = (),
) -> Kernel:
    """An array of this shape with values put at places of an axis, or combined with what is there.

    given  the array, as many places as there are values along the axis, and the values, of the array's shape but for that axis
    sizes  of the program; none of these arrays has one
    """
    first, places, values = given
    before, extent, behind = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    every, row, lane = Var("every", 0, result.size - 1), Var("row", 0, before - 1), Var("lane", 0, behind - 1)
    step, place = Var("step", 0, places.size - 1), Var("place", 0, extent - 1)

    def at(along: Var) -> Index:
        parts = ((row, along.extent * behind), (along, behind), (lane, 1))
        return rebuilt(Affine(0, {v: stride for v, stride in parts if v.extent > 1}))

    start = For(every, "serial", (Store(result.name, every, Load(first.name, every, first.dtype)),))
    body: Stmt = Store(result.name, at(place), Load(values.name, at(step), values.dtype), combine)
    body = For(lane, "parallel", (body,)) if behind > 1 else body
    chosen = Clip(place, Load(places.name, step if places.size > 1 else as_index(0), places.dtype))
    loop: Stmt = For(step, "serial", (chosen, body))
    loop = For(row, "serial", (loop,)) if before > 1 else loop
    return Kernel(name, (*dict.fromkeys(given), result), (start, loop), sizes)
