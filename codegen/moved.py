"""Kernels that only move elements of which a vector does not hold what memory does: they move them as integers of their size."""

from __future__ import annotations

from dataclasses import replace

from eqsat.ir.loops import Buffer, Kernel, Load, Store, map_loads, statements, value_of
from eqsat.ir.vectorizable import MOVED_AS


def as_integers(kernel: Kernel) -> Kernel:
    """The kernel with its elements as integers, where it does nothing but move them from place to place, or as it is."""
    buffers = (*kernel.buffers, *kernel.scratch)
    dtypes = {buffer.dtype for buffer in buffers}
    valued = (stmt for stmt in statements(kernel.body) if value_of(stmt) is not None)
    moves = (isinstance(stmt, Store) and stmt.combine is None and isinstance(stmt.value, Load) for stmt in valued)
    if not dtypes <= MOVED_AS.keys() or len(dtypes) != 1 or not all(moves):
        return kernel
    moved = map_loads(kernel, lambda load: Load(load.buffer, load.index, MOVED_AS[load.dtype]))
    return replace(moved, buffers=tuple(map(_moved, kernel.buffers)), scratch=tuple(map(_moved, kernel.scratch)))


def _moved(buffer: Buffer) -> Buffer:
    return replace(buffer, dtype=MOVED_AS[buffer.dtype])
