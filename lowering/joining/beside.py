"""Kernels that read the same arrays, side by side in one: for every part of the rows of the one an element of the other.

    for i < n: a[i] = f(x[i])
    for p < P: b[p] = fold of g(x[p * n/P + k]) over k   ->   for p < P: { for i < n/P: a[p * n/P + i] = ..; b[p] = .. }

What both read is still near when the second one comes to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from eqsat.ir.index import Var
from eqsat.ir.loops import Buffer, For, Kernel
from eqsat.lowering.joining.renaming import Renaming
from eqsat.lowering.joining.row_by_row import outermost
from eqsat.lowering.sharing.alongside import abreast


def beside(rows: Kernel, parts: Kernel) -> Kernel | None:
    """One kernel that does both, with the results of both in this order; None where the outermost loops, which are all that there is, do
    not divide evenly."""
    outer, each = outermost(rows), outermost(parts)
    if rows.scratch or parts.scratch or outer is None or each is None or outer.variable.extent % each.variable.extent:
        return None
    if not {buffer.name for buffer in rows.buffers}.isdisjoint(buffer.name for buffer in parts.outputs):
        return None
    if not {buffer.name for buffer in parts.buffers}.isdisjoint(buffer.name for buffer in rows.outputs):
        return None
    count = outer.variable.extent // each.variable.extent
    renaming = Renaming("_rows", {}, {})
    within = Var(f"{outer.variable.name}_rows", 0, count - 1)
    renaming.variables[outer.variable] = each.variable * count + within if count > 1 else each.variable
    body = renaming.block(outer.body)
    inner = (For(within, outer.kind, body),) if count > 1 else body
    read = {buffer.name: buffer for kernel in (rows, parts) for buffer in kernel.buffers if buffer.role == "in"}
    buffers: Sequence[Buffer] = (*read.values(), *rows.outputs, *parts.outputs)
    whole = For(each.variable, "parallel", abreast(inner, each.body))
    return Kernel(rows.name, tuple(buffers), (whole,))
