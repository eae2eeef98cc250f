"""Calling machine code with NumPy arrays."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eqsat.codegen.emit import Progress, write_module
from eqsat.codegen.folds.accumulator import Numerics
from eqsat.codegen.llvm.machine import Library, assembly_text, host, library, object_code, optimized_text
from eqsat.codegen.shared_loops import parallel_extent
from eqsat.ir.errors import UsageError
from eqsat.ir.loops import Kernel
from eqsat.ir.typed_kernel import TypedKernel

Entry = Callable[..., None]


@functools.cache
def _prototype(arrays: int, sizes: int) -> Any:
    return ctypes.CFUNCTYPE(None, *[ctypes.py_object] * arrays, *[ctypes.c_int64] * (2 + sizes))


def load_kernels(code: bytes, arities: Mapping[str, int], sizes: int = 0) -> tuple[Library, dict[str, Entry]]:
    """The kernels of this machine's object code, given how many buffers each has, and how many sizes all have; they stay as long as
    the library, which also has NAME.slots for each.

    `entry(*arrays, begin, end, *sizes)` is the call without checks; it holds the GIL only while ctypes converts the arguments.
    """
    loaded = library(code, tuple(f"{name}.{form}" for name in arities for form in ("arrays", "slots")))
    return loaded, {name: _prototype(arity, sizes)(loaded.address(f"{name}.arrays")) for name, arity in arities.items()}


class Routine:
    """A compiled kernel, called with checks; `entry` is the call without: see load_kernels."""

    def __init__(self, kernel: Kernel, code: Library, entry: Entry) -> None:
        self.kernel = kernel
        self.name = kernel.name
        self.parallel_extent = parallel_extent(kernel)
        self.entry = entry
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
    """Compiled kernels and the texts on their way; the later texts are made when asked for.

    object_code  the relocatable object file, or an archive of one for each function; loaded with the first routine
    """

    def __init__(
        self,
        typed: Sequence[TypedKernel],
        numerics: Numerics,
        make_object: Callable[..., bytes],
        progress: Progress = lambda done, total: None,
    ) -> None:
        module = write_module(typed, numerics, host().abilities, host().registers, progress)
        self.llvm_ir = module.text
        self.object_code = make_object(*module.parts)
        self._kernels = {one.kernel.name: one.kernel for one in typed}

    @functools.cached_property
    def _routines(self) -> dict[str, Routine]:
        code, entries = load_kernels(self.object_code, {name: len(kernel.buffers) for name, kernel in self._kernels.items()})
        return {name: Routine(kernel, code, entries[name]) for name, kernel in self._kernels.items()}

    def routine(self, name: str) -> Routine:
        """The kernel of that name; UsageError if there is none."""
        if name not in self._kernels:
            raise UsageError(f"routine: found {name!r}, expected one of {', '.join(self._kernels)}")
        return self._routines[name]

    @functools.cached_property
    def optimized_ir(self) -> str:
        """LLVM IR after O3."""
        return optimized_text(self.llvm_ir)

    @functools.cached_property
    def assembly(self) -> str:
        """Assembly for the host."""
        return assembly_text(self.llvm_ir)


def compile_kernels(
    kernels: Sequence[TypedKernel],
    numerics: Numerics = "default",
    make_object: Callable[..., bytes] = object_code,
    progress: Progress = lambda done, total: None,
) -> MachineCode:
    """Machine code for kernels with distinct names.

    numerics: "exact" evaluates as written (float32 sums are carried in float64); "default" allows fused multiply-add and
    reordered sums, and keeps NaN, infinities and the results of every single operation; "fast" besides reassociates,
    replaces divisions by reciprocals and lets maxima ignore NaN.  make_object: what makes this machine's code of texts of LLVM IR, one
    for each function, unless the caller knows a shorter way.  progress: told before each kernel how many of how many are written, and
    when LLVM begins on all of them.  Raises InternalError if a nest or its IR is illegal.
    """
    return MachineCode(tuple(kernels), numerics, make_object, progress)
