"""Folds down columns where what they read changes along the loops of results: in boxes, each with its columns.

for j < n + 2: fold over k of where(1 <= j < n + 1, x[k, j - 1], 0)     ->   for j < n: fold over k of x[k, j], row by row; and edges
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from math import prod

from eqsat.ir.index import Index, Var
from eqsat.ir.loops import Buffer, Fold, For, Let, Stmt, statements
from eqsat.ir.tensor import Reduce, has_fold, scalars
from eqsat.lowering.affine import Forms, bounds
from eqsat.lowering.blocks import Body
from eqsat.lowering.folds.columns import in_columns
from eqsat.lowering.nest import Nest
from eqsat.lowering.place import nested
from eqsat.lowering.ranges.order import merge
from eqsat.lowering.ranges.seams import MOST_PIECES, begins, decided, piece

# boxes of a nest
MOST_BOXES = 9


def columns_cut(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str]) -> Body | None:
    """The statements; None where nothing changes along the loops, or too often, or the largest box has no columns."""
    if not has_fold(nest.body):
        return None
    boxes = list(islice(_boxes(nest, 0), MOST_BOXES + 1))
    if not 1 < len(boxes) <= MOST_BOXES:
        return None
    boxes = [_apart(merge(box), number) for number, box in enumerate(boxes)]
    bodies, scratch, taken = dict[Nest, tuple[Stmt, ...]](), list[Buffer](), buffers
    for box in sorted(boxes, key=lambda box: -prod(v.extent for v in box.loops)):
        columns = in_columns(box, outputs, taken)
        if columns is None and not bodies:
            return None
        bodies[box], memory = columns or (nested(box, outputs, taken), ())
        scratch += memory
        taken |= {buffer.name for buffer in memory} | set(_names(bodies[box]))
    return tuple(stmt for box in boxes for stmt in bodies[box]), tuple(scratch)


def _boxes(nest: Nest, at: int) -> Iterator[Nest]:
    """The pieces of the loops from one on."""
    found = ((k, starts) for k in range(at, len(nest.loops)) if len(starts := begins(nest.terms, nest.loops[k])) > 1)
    k, starts = next(found, (0, []))
    if not starts or len(starts) > MOST_PIECES:
        yield nest
        return
    inner = len(nest.loops) - 1 - k
    for number, values in enumerate(pairwise([*starts, nest.loops[k].hi + 1])):
        cut = piece(nest, k, 0, number, values)
        yield from _boxes(cut, len(cut.loops) - inner)


def _apart(nest: Nest, number: int) -> Nest:
    """A box whose folds have variables of their own."""
    forms, folded = Forms(), [term.variable for term in scalars(nest.body) if isinstance(term, Reduce)]
    own: dict[Var, Index] = {v: Var(f"{v.name}_{number}", v.lo, v.hi) for v in folded}
    return Nest(nest.loops, decided(nest.body, own, lambda term: bounds(forms(term))), nest.index)


def _names(body: Iterable[Stmt]) -> Iterator[str]:
    """The names of values and loops, with what they begin with: loops may be named after a fold that they do."""
    for stmt in statements(tuple(body)):
        if isinstance(stmt, Let | Fold | For):
            name = stmt.variable.name if isinstance(stmt, For) else stmt.name
            yield from (name, name.partition("_")[0])
