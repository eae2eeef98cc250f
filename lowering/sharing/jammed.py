"""Rows jammed together: a few rows of a stencil at a time, which compute what they have in common once.

    out[i, j] = f(g(a, i, j), g(a, i + 1, j))       rows i and i + 1 both need g(a, i + 1, j)

For every block of rows, and of one vector of columns, the elements of all rows are computed as if they were several results of one.  The
last block of an axis ends where the axis ends, and so computes again what the one before it computed.
"""

from __future__ import annotations

from collections import Counter

from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.loops import Stmt, Store, over
from eqsat.ir.tensor import Call, Scalar, scalars
from eqsat.lowering.affine import Forms
from eqsat.lowering.blocks import BlockPlacer, blocks_of, over_forms
from eqsat.lowering.nest import Nest, Several, elements
from eqsat.lowering.place import Scope
from eqsat.lowering.products.product import VECTOR_BYTES
from eqsat.lowering.sharing.row_sums import by_rows

# rows at a time
ROWS = 4
# what of the operations of all rows is left where it pays: rows that share loads alone are faster one by one
WORTH = 0.85
# larger elements are not looked at
MOST_TERMS = 200


def jammed(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str], reordered: bool = False) -> tuple[Stmt, ...] | None:
    """The statements; None where rows have too little in common.  `reordered`: sums are added up row by row first."""
    found = shared(nest, reordered)
    if found is None:
        return None
    placer = BlockPlacer(buffers)
    place_jammed(placer, placer.top, *found, outputs)
    return tuple(placer.top.body)


def place_jammed(placer: BlockPlacer, scope: Scope, nest: Nest, row: Var, outputs: tuple[str, ...]) -> None:
    """The nest inside of a scope, some rows at a time."""
    lane = nest.loops[-1]
    high, wide = min(row.extent, ROWS), _lanes(nest)
    blocks, begins = blocks_of({row: high, lane: wide}, "jam")
    inside = Var(f"{lane.name}_lane", 0, wide - 1)
    opened = placer.nest(scope, *(v for v in nest.loops[:-1] if v is not row), *blocks)
    first = {loop: placer.bound(f"{loop.name}_first", begin) for loop, begin in begins.items()}
    opened += placer.nest(opened[-1], inside)[1:]
    here = {**first, lane: first[lane] + inside}
    elements = tuple(over(value, here) for value in _rows(nest, row, high, Forms()))
    places = [substitute(nest.index, {**here, row: first[row] + k}) for k in range(high)]
    several = placer.place(Several(elements), opened[-1])
    assert isinstance(several, Several)
    each = len(outputs)
    for k, place in enumerate(places):
        opened[-1].body += [Store(*made) for made in zip(outputs, each * [place], several.args[k * each : (k + 1) * each], strict=True)]
    placer.close(opened[-1], "tile")
    placer.close_all(opened[:-1])


def shared(nest: Nest, reordered: bool = False) -> tuple[Nest, Var] | None:
    """The nest, with its sums in another order if they may be `reordered`, and the axis whose rows have the most in common, if that is
    worth it."""
    if len(nest.loops) < 2 or sum(1 for _ in scalars(nest.body)) > MOST_TERMS or not nest.is_joint:
        return None
    forms, lane = Forms(), nest.loops[-1]
    if max(Counter(load.buffer for load in nest.loads).values(), default=0) < 2 or lane.extent < _lanes(nest):
        return None
    if forms(nest.index).stride(lane) != 1 or any(forms(load.index).stride(lane) not in (0, 1) for load in nest.loads):
        return None
    rows = [row for row in nest.loops[:-1] if _meets(nest, row, forms)]
    found = [(by_rows(nest, row) if reordered else nest, row) for row in rows]
    left = [_left(*one, forms) for one in found]
    best = min(range(len(found)), key=left.__getitem__, default=None)
    return found[best] if best is not None and left[best] <= WORTH else None


def _meets(nest: Nest, row: Var, forms: Forms) -> bool:
    """Whether some row loads what one of the next rows loads."""
    seen: dict[tuple[str, frozenset[tuple[Index, int]]], set[int]] = {}
    for load in nest.loads:
        form = forms(load.index)
        seen.setdefault((load.buffer, frozenset(form.terms.items())), set()).add(form.constant)
    return any(
        place + k * step in places
        for (_, terms), places in seen.items()
        if (step := dict(terms).get(row, 0))
        for place in places
        for k in range(1, ROWS)
    )


def _lanes(nest: Nest) -> int:
    """Elements of a vector."""
    return VECTOR_BYTES // max(itemsize(value.dtype) for value in elements(nest.body))


def _left(nest: Nest, row: Var, forms: Forms) -> float:
    """Which part of the operations of some rows is left where equal ones are done once."""
    high = min(row.extent, ROWS)
    together = sum(isinstance(term, Call) for term in scalars(*_rows(nest, row, high, forms)))
    return together / (high * max(1, sum(isinstance(term, Call) for term in scalars(nest.body))))


def _rows(nest: Nest, row: Var, high: int, forms: Forms) -> tuple[Scalar, ...]:
    """The elements of so many rows from one on, with what they have in common as one term."""
    return tuple(over_forms(value, {row: row + k}, forms) for k in range(high) for value in elements(nest.body))
