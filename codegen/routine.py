"""Calling machine code with NumPy arrays."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eqsat.codegen.emit import emit_module, outer_loop
from eqsat.codegen.fold import Numerics
from eqsat.codegen.machine import Library, assembly_text, host, library, optimized_text
from eqsat.ir.errors import UsageError
from eqsat.ir.loops import Kernel
from eqsat.ir.typed_kernel import TypedKernel


@functools.cache
def _prototype(arrays: int) -> Any:
    return ctypes.CFUNCTYPE(None, *[ctypes.py_object] * arrays, ctypes.c_int64, ctypes.c_int64)


class Routine:
    """A compiled kernel.

    `parallel_extent`: iterations of the outermost loop if that is the whole kernel and may be split over threads, else None.
    `entry(*arrays, begin, end)` is the call without checks; it holds the GIL only while ctypes converts the arguments.
    """

    def __init__(self, kernel: Kernel, code: Library) -> None:
        self.kernel = kernel
        self.name = kernel.name
        split = outer_loop(kernel)
        self.parallel_extent: int | None = max(split.variable.extent, 0) if split else None
        self.entry: Callable[..., None] = _prototype(len(kernel.buffers))(code.address(f"{kernel.name}.arrays"))
        self._code = code
        self._expected = tuple((np.dtype(buffer.dtype), buffer.size) for buffer in kernel.buffers)

    def __call__(self, buffers: Sequence[np.ndarray[Any, Any]], begin: int = 0, end: int | None = None) -> None:
        """Run iterations begin..end-1 of the outermost loop (all of them by default) on `buffers`, in the kernel's order.

        Every array must have its buffer's dtype and size, be C-contiguous, aligned and, if stored to, writeable and apart
        from the others.  Raises UsageError for an array or a range that does not fit.
        """
        extent = self.parallel_extent or 0
        end = extent if end is None else end
        if not 0 <= begin <= end <= extent:
            raise UsageError(f"{self.name}: found the range {begin}..{end}, expected one within 0..{extent}")
        if len(buffers) != len(self._expected):
            raise UsageError(f"{self.name}: found {len(buffers)} buffers, expected {len(self._expected)}")
        for array, (dtype, size) in zip(buffers, self._expected, strict=True):
            if array.dtype != dtype or array.size != size or not array.flags.carray:
                self._reject(buffers)
        self.entry(*buffers, begin, end)

    def _reject(self, buffers: Sequence[np.ndarray[Any, Any]]) -> None:
        for array, buffer in zip(buffers, self.kernel.buffers, strict=True):
            flags = array.flags
            layout = "C-contiguous" if flags.c_contiguous and flags.aligned else "strided or unaligned"
            fits = array.dtype == buffer.dtype and array.size == buffer.size and layout == "C-contiguous"
            if not fits or (buffer.role == "out" and not flags.writeable):
                found = f"{array.size} {array.dtype} {layout}{'' if flags.writeable else ' read-only'}"
                expected = f"{buffer.size} {buffer.dtype} C-contiguous{' writeable' if buffer.role == 'out' else ''}"
                raise UsageError(f"{self.name}: found for buffer {buffer.name} {found}, expected {expected}")


class MachineCode:
    """Compiled kernels and the texts on their way; the later texts are made when asked for."""

    def __init__(self, typed: Sequence[TypedKernel], numerics: Numerics) -> None:
        self.llvm_ir = emit_module(typed, numerics, host().scales)
        kernels = [one.kernel for one in typed]
        self._library = library(self.llvm_ir, tuple(f"{kernel.name}.arrays" for kernel in kernels))
        self._routines = {kernel.name: Routine(kernel, self._library) for kernel in kernels}

    def routine(self, name: str) -> Routine:
        """The kernel of that name; UsageError if there is none."""
        if name not in self._routines:
            raise UsageError(f"routine: found {name!r}, expected one of {', '.join(self._routines)}")
        return self._routines[name]

    @functools.cached_property
    def optimized_ir(self) -> str:
        """LLVM IR after O3."""
        return optimized_text(self.llvm_ir)

    @functools.cached_property
    def assembly(self) -> str:
        """Assembly for the host."""
        return assembly_text(self.llvm_ir)

    @property
    def object_code(self) -> bytes:
        """The relocatable object file."""
        return self._library.object_code


def compile_kernels(kernels: Sequence[TypedKernel], numerics: Numerics = "default") -> MachineCode:
    """Machine code for kernels with distinct names.

    numerics: "exact" evaluates as written (float32 sums are carried in float64); "default" allows fused multiply-add and
    reordered sums, and keeps NaN, infinities and the results of every single operation; "fast" besides reassociates,
    replaces divisions by reciprocals and lets maxima ignore NaN.  Raises InternalError if a nest or its IR is illegal.
    """
    return MachineCode(tuple(kernels), numerics)
