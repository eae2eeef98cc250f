"""Programs of rows whose number is known at run time, as programs of so many rows each.

Loops that end at a size are plain ones: sums of products in registers, side by side, need every extent.  Where each row of the results is
made of that row of the inputs alone, as in a network that is given batches, a program of 64 rows computes any number of them from 64 on:
so many at a time, and the last ones together with some before, which come out the same again.
"""

from __future__ import annotations

from collections.abc import Iterator

from eqsat.capture.sized_trace import with_sizes_known
from eqsat.ir.generics import as_builds
from eqsat.ir.index import variables
from eqsat.ir.loops import For, statements
from eqsat.ir.tensor import Build, Gather, Program, Read, Reduce, Size, Tensor, axis, index_terms, is_size, scalars, tensors
from eqsat.kernels.picking import Nest

# rows of a block: enough for tiles of several widths, and for batches that are small
ROWS = (64, 8)


def in_blocks(program: Program) -> Iterator[tuple[int, Program]]:
    """Programs of some rows each that together compute a program with a size, the largest first; none where it is not made of rows."""
    if len(program.sizes) != 1 or not _is_of_rows(program, program.sizes[0]):
        return
    size = program.sizes[0].variable
    yield from ((rows, with_sizes_known(program, {size.name[1:]: rows})) for rows in ROWS if rows <= size.hi)


def have_tiles(nests: tuple[Nest, ...]) -> bool:
    """Whether a kernel keeps sums of products in registers side by side."""
    return any(isinstance(stmt, For) and stmt.kind == "tile" for nest in nests for stmt in statements(nest.kernel.body))


def _is_of_rows(program: Program, size: Size) -> bool:
    """Whether rows are the first axis of all that has any, and each row is made of the same row of other tensors."""
    if program.steps or any(output.shape[:1] != (size.marker,) for output in program.outputs):
        return False
    return all(_keeps_rows(tensor, size.marker) for tensor in tensors(*program.inputs, *as_builds(program).outputs))


def _keeps_rows(tensor: Tensor, marker: int) -> bool:
    """Whether a tensor has rows as its first axis or none, and what it is made of has the same; rows count in nothing else."""
    if marker in tensor.shape[1:]:
        return False
    row = axis(0, marker) if tensor.shape[:1] == (marker,) else None
    for term in scalars(tensor.body) if isinstance(tensor, Build) else ():
        others = index_terms(term)
        if isinstance(term, Read | Gather) and term.tensor.shape[:1] == (marker,):
            if isinstance(term, Gather) or row is None or others[0] is not row:
                return False
            others = others[1:]
        counted = variables(*others)
        if row in counted or any(map(is_size, counted)) or (isinstance(term, Reduce) and term.variable.extent == marker):
            return False
    return True
