"""Loops that end at a size, as loops over blocks of so many iterations, the last of which goes back to where the size ends:

    for i in 0..n: f(i)    is    for k in 0..ceil(n / 64): first = min(64 * k, n - 64); for i in 0..64: f(first + i)

for n of 64 and more.  What is in a block has known extents, so all ways of loops are open to it but those that add to results in their
place, for threads may compute the last two blocks at the same time.  There may be one row in a block.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from eqsat.ir.index import Index, Var, apply, substitute
from eqsat.ir.loops import Bind, Blocks, Fold, For, Stmt, Store, loaded, over, statements
from eqsat.ir.tensor import Reduce, Size, scalars
from eqsat.lowering.nest import Nest


@dataclass(frozen=True)
class Opened:
    """A loop to a size, and where its blocks begin, which is one more size to what is in them."""

    loop: Var
    size: Size
    first: Var


@dataclass(frozen=True)
class InBlocks:
    """What is in blocks of so many `rows`, and the loops around it."""

    nest: Nest
    opened: tuple[Opened, ...]
    rows: int

    def may_overlap(self, body: tuple[Stmt, ...], outputs: Collection[str]) -> bool:
        """Whether the last two blocks may be computed at the same time: nothing that is written is read again, or added to."""
        if self.rows == 1:
            return True
        adds = any(isinstance(stmt, Store) and stmt.buffer in outputs and stmt.combine is not None for stmt in statements(body))
        return not adds and loaded(body).isdisjoint(outputs)

    def around(self, body: tuple[Stmt, ...]) -> tuple[tuple[Stmt, ...], tuple[Blocks, ...]]:
        """The loops over blocks around what is done in one."""
        taken = {stmt.variable.extent for stmt in statements(body) if isinstance(stmt, For | Fold)}
        counts: list[Blocks] = []
        for one in reversed(self.opened):
            marker = -(-one.size.marker // self.rows)
            while marker in taken:
                marker += 1
            taken.add(marker)
            number = Var(f"{one.loop.name}_blocks", 0, marker - 1)
            first: Index = apply("min", number * self.rows, one.size.variable - self.rows)
            body = (For(number, "parallel", (Bind(one.first, first), *body)),)
            counts.append(Blocks(Var(f"${one.loop.name}_count", 1, marker), marker, one.size, self.rows))
        return body, tuple(counts)


def in_blocks(nest: Nest, sizes: Sequence[Size], rows: int) -> InBlocks | None:
    """None where no loop of a nest ends at a size, or a fold does, or sizes are smaller."""
    markers = {size.marker: size for size in sizes}
    opened = tuple(
        Opened(loop, markers[loop.extent], Var(f"${loop.name}_first", 0, max(markers[loop.extent].most - rows, 1)))
        for loop in nest.loops
        if loop.extent in markers
    )
    folds = any(isinstance(term, Reduce) and term.variable.extent in markers for term in scalars(nest.body))
    if not opened or folds or any(one.size.most < rows for one in opened):
        return None
    inside = {one.loop: Var(one.loop.name, 0, rows - 1) for one in opened}
    env: dict[Var, Index] = {one.loop: one.first + inside[one.loop] if rows > 1 else one.first for one in opened}
    loops = tuple(inside.get(loop, loop) for loop in nest.loops if rows > 1 or loop not in inside)
    return InBlocks(Nest(loops, over(nest.body, env), substitute(nest.index, env)), opened, rows)
