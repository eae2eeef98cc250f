"""Kernels that read each other row by row, one behind the other in one loop over the rows.

    for row < R: for k < n: t[row * n + k] = f(row, k)
    for row < R: for k serial: s[row * n + k] = s[row * n + k - 1] + t[row * n + k]

    ->  for row < R: { for k < n: t'[k] = f(row, k);  for k serial: s[row * n + k] = s[row * n + k - 1] + t'[k] }

Of what is between them a row is enough, which stays in the first cache.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.loops import Bind, Buffer, For, Kernel, Pick, Stmt, statements, values_of
from eqsat.ir.tensor import scalars
from eqsat.lowering.affine import Affine, Forms, bounds, rebuilt
from eqsat.lowering.joining.renaming import Renaming


def outermost(kernel: Kernel) -> For | None:
    """The loop around all that a kernel does, whose iterations are independent, in order from 0."""
    if len(kernel.body) != 1 or kernel.sizes:
        return None
    (stmt,) = kernel.body
    return stmt if isinstance(stmt, For) and stmt.kind == "parallel" and not stmt.variable.lo else None


def row_by_row(kernels: Sequence[Kernel], between: Collection[str], rows: int) -> Kernel | None:
    """One kernel of so many rows that runs others, one behind the other, in each; buffers `between` them, which are read by no other,
    become rows of scratch memory.  None where one of the others is no loop over rows, or a row reads of another what is between them."""
    row = Var("row", 0, rows - 1)
    sizes = {buffer.name: buffer.size // rows for kernel in kernels for buffer in kernel.outputs if buffer.name in between}
    body: list[Stmt] = []
    read: dict[str, Buffer] = {}
    scratch: list[Buffer] = []
    outputs: list[Buffer] = []
    for k, kernel in enumerate(kernels):
        outer = outermost(kernel)
        if outer is None or outer.variable.extent % rows or picks(kernel, between):
            return None
        own = {buffer.name: f"{buffer.name}_{k}" for buffer in kernel.scratch}
        within = _WithinRow(f"_{k}", own, row, sizes)
        body += within.rows_of(outer)
        if not within.stays:
            return None
        scratch += [replace(buffer, name=own[buffer.name]) for buffer in kernel.scratch]
        scratch += [replace(one, size=sizes[one.name], role="scratch") for one in kernel.outputs if one.name in between]
        outputs += [buffer for buffer in kernel.outputs if buffer.name not in between]
        read.update((buffer.name, buffer) for buffer in kernel.buffers if buffer.role == "in" and buffer.name not in between)
    return Kernel("kernel", (*read.values(), *outputs), (For(row, "parallel", tuple(body)),), scratch=tuple(scratch))


def picks(kernel: Kernel, between: Collection[str]) -> bool:
    """Whether places of what is between kernels are computed."""
    elements = scalars(*values_of(statements(kernel.body)))
    return any(isinstance(term, Pick) and term.buffer in between for term in elements)


class _WithinRow(Renaming):
    """The statements of one row, in which buffers of so many elements a row have but that row; `stays`: whether no place in them is in
    another row."""

    def __init__(self, suffix: str, buffers: Mapping[str, str], row: Var, sizes: Mapping[str, int]) -> None:
        super().__init__(suffix, buffers, {})
        self.row, self.sizes = row, sizes
        self.stays = True
        self._bound: dict[Var, Index] = {}
        self._forms = Forms()

    def rows_of(self, outer: For) -> tuple[Stmt, ...]:
        """What a kernel does for one row, of which its outermost loop may have several."""
        count = outer.variable.extent // self.row.extent
        if count == 1:
            self.variables[outer.variable] = self.row
            return self.block(outer.body)
        inner = self.variable(Var(outer.variable.name, 0, count - 1))
        self.variables[outer.variable] = self.row * count + inner
        return (For(inner, outer.kind, self.block(outer.body)),)

    def statement(self, stmt: Stmt) -> Stmt:
        made = super().statement(stmt)
        if isinstance(made, Bind):
            self._bound[made.variable] = substitute(made.value, self._bound)
        return made

    def element(self, buffer: str, index: Index) -> tuple[str, Index]:
        name, here = super().element(buffer, index)
        size = self.sizes.get(buffer)
        if size is None:
            return name, here
        form = self._forms(substitute(here, self._bound))
        place = Affine(form.constant, {atom: c for atom, c in form.terms.items() if atom is not self.row})
        least, most = bounds(place)
        self.stays = self.stays and form.stride(self.row) == size and least >= 0 and most < size
        return name, rebuilt(place)
