"""The reference interpreter of loop nests: what a kernel means, one NumPy scalar at a time.  Slow, and the specification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eqsat.ir.errors import InternalError
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Index, Var
from eqsat.ir.loops import Bind, Clip, Fold, For, Kernel, Let, Load, Pick, Stmt, Store, Temp
from eqsat.ir.ops import REDUCE_OPS, SCALAR_OPS, converted, identity_of
from eqsat.ir.tensor import Call, Literal, Position, Scalar, scalars

Array = np.ndarray[Any, Any]
# what scratch memory holds at first, so that reading it shows
GARBAGE = 113


def run_kernel(kernel: Kernel, arrays: list[Array], sizes: Sequence[int] = ()) -> None:
    """Run the kernel on flat arrays, one a buffer in the order of `kernel.buffers`, and sizes; its outputs are written in place.

    Raises InternalError where arrays do not fit the buffers, and for a load or store outside its buffer.
    """
    if len(arrays) != len(kernel.buffers):
        raise InternalError(f"kernel {kernel.name}: found {len(arrays)} arrays, expected {len(kernel.buffers)}")
    for buffer, array in zip(kernel.buffers, arrays, strict=True):
        fits = array.shape == (buffer.size,) or (kernel.sizes and array.ndim == 1 and array.size <= buffer.size)
        if not fits or array.dtype.name != buffer.dtype:
            found = f"{array.dtype.name}{list(array.shape)}"
            raise InternalError(f"kernel {kernel.name}, buffer {buffer.name}: found {found}, expected {buffer.dtype}[{buffer.size}]")
    with np.errstate(all="ignore"):
        _Run(kernel, arrays, sizes).block(kernel.body)


def apply_scalar(op: str, dtype: str, *args: Any) -> Any:
    """One scalar operation on NumPy scalars or arrays of the dtypes that it is computed in, with a result of `dtype`."""
    row = SCALAR_OPS[op]
    if row.rule == "cast":
        return converted(args[0], dtype)
    return row.meaning(*args)[()]


class _Run:
    """One run: the values of variables and Temps."""

    def __init__(self, kernel: Kernel, arrays: list[Array], sizes: Sequence[int]) -> None:
        self.kernel = kernel
        self.arrays = {buffer.name: array for buffer, array in zip(kernel.buffers, arrays, strict=True)}
        self.arrays |= {buffer.name: np.full(buffer.size, GARBAGE).astype(buffer.dtype) for buffer in kernel.scratch}
        self.variables: dict[Var, int] = {size.variable: value for size, value in zip(kernel.sizes, sizes, strict=True)}
        self.extents = {size.marker: value for size, value in zip(kernel.sizes, sizes, strict=True)}
        self.variables |= {blocks.variable: blocks.count(self.variables[blocks.size.variable]) for blocks in kernel.blocks}
        self.temps: dict[str, Any] = {}

    def block(self, body: tuple[Stmt, ...]) -> None:
        for stmt in body:
            if isinstance(stmt, For):
                for value in self.values(stmt.variable):
                    self.variables[stmt.variable] = value
                    self.block(stmt.body)
            elif isinstance(stmt, Bind):
                self.variables[stmt.variable] = evaluate_index(stmt.value, self.variables)
            elif isinstance(stmt, Clip):
                self.variables[stmt.variable] = min(max(int(self.scalar(stmt.value)), stmt.variable.lo), stmt.variable.hi)
            elif isinstance(stmt, Let):
                self.temps[stmt.name] = self.scalar(stmt.value)
            elif isinstance(stmt, Fold):
                self.temps[stmt.name] = self.fold(stmt)
            else:
                self.store(stmt)

    def values(self, variable: Var) -> range:
        """The values of a loop."""
        size = self.kernel.size_of(variable)
        return range(variable.lo, variable.hi + 1 if size is None else self.variables[size.variable])

    def fold(self, stmt: Fold) -> Any:
        step = REDUCE_OPS[stmt.op].step
        total = identity_of(stmt.op, stmt.dtype)
        for value in self.values(stmt.variable):
            self.variables[stmt.variable] = value
            self.block(stmt.body)
            total = apply_scalar(step, stmt.dtype, total, self.scalar(stmt.value))
        return total

    def store(self, stmt: Store) -> None:
        offset = self.offset(stmt.buffer, stmt.index)
        value = self.scalar(stmt.value)
        array = self.arrays[stmt.buffer]
        if stmt.combine is not None:
            value = apply_scalar(REDUCE_OPS[stmt.combine].step, array.dtype.name, array[offset], value)
        array[offset] = value

    def offset(self, buffer: str, index: Index) -> int:
        """The value of a buffer index, inside the buffer."""
        value = int(evaluate_index(index, self.variables))
        size = self.arrays[buffer].size
        if not 0 <= value < size:
            raise InternalError(f"kernel {self.kernel.name}: found {buffer}[{index}] at element {value}, expected 0..{size - 1}")
        return value

    def scalar(self, root: Scalar) -> Any:
        values: dict[Scalar, Any] = {}
        for term in scalars(root):
            if isinstance(term, Call):
                values[term] = apply_scalar(term.op, term.dtype, *(values[arg] for arg in term.args))
            elif isinstance(term, Load):
                values[term] = self.arrays[term.buffer][self.offset(term.buffer, term.index)]
            elif isinstance(term, Temp):
                values[term] = self.temps[term.name]
            elif isinstance(term, Pick):
                shape = tuple(self.extents.get(n, n) for n in term.shape)
                places = tuple(int(np.clip(values[arg], 0, n - 1)) for arg, n in zip(term.args, shape, strict=True))
                values[term] = self.arrays[term.buffer].reshape(shape)[places]
            elif isinstance(term, Position):
                values[term] = np.dtype(term.dtype).type(evaluate_index(term.index, self.variables))
            else:
                assert isinstance(term, Literal)
                values[term] = np.dtype(term.dtype).type(term.value)
        return values[root]
