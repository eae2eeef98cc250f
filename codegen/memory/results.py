"""Memory of large results: aligned to lines of the cache, and apart from operands within pages; the latest block that was given back is
kept for the next result.

NumPy aligns arrays to 16 bytes, so that every store of a whole vector crosses two lines, and returns what is larger than 32 MB to the
system, which then has to clear it again.  An array remembers who allocated it (NEP 49, https://numpy.org/neps/nep-0049.html), so results
stay ordinary arrays that own their data.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from eqsat.codegen.calls.direct import numpy_function
from eqsat.codegen.calls.direct_code import LEAST_BYTES
from eqsat.codegen.llvm.machine import host, library, object_code
from eqsat.codegen.memory.places import ALIGNMENT, PAGE, apart_from

Array = np.ndarray[Any, Any]
# blocks of at most so many bytes are kept, the latest alone
KEPT_MOST = 256 << 20
# from here on in pages of 2 MB, as NumPy's own; 14 is MADV_HUGEPAGE
HUGE = 4 << 20
# word of where the next block begins
PLACE = 2
# position of PyDataMem_SetHandler among the functions of NumPy's C API
SET_HANDLER = 304

CODE = f"""
declare noalias ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i32 @madvise(ptr, i64, i32)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.umin.i64(i64, i64)

declare i32 @PyGC_Disable()
declare i32 @PyGC_Enable()

@set_handler = internal global ptr null

; makes PyDataMem_SetHandler, whose address is known at run time only, the one that @set_quietly calls
define void @use(ptr %function) {{
  store ptr %function, ptr @set_handler
  ret void
}}

; PyDataMem_SetHandler without collections of garbage while it runs: it allocates nodes of a context variable's tree, and if a collection
; there ran what sets the handler too, CPython would go on with a tree that is free already
define ptr @set_quietly(ptr %handler) {{
entry:
  %set = load ptr, ptr @set_handler
  %collects = call i32 @PyGC_Disable()
  %before = call ptr %set(ptr %handler)
  %again = icmp ne i32 %collects, 0
  br i1 %again, label %enable, label %done
enable:
  %ignored = call i32 @PyGC_Enable()
  br label %done
done:
  ret ptr %before
}}

; %kept: the size of a block, the block, and where in a page the next one begins

; where a block begins in memory that was allocated; before it stand the memory and the size
define internal ptr @begin(ptr %kept, ptr %memory, i64 %size) {{
  %place_at = getelementptr i64, ptr %kept, i64 {PLACE}
  %place = load i64, ptr %place_at
  %address = ptrtoint ptr %memory to i64
  %least = add i64 %address, {ALIGNMENT}
  %apart = sub i64 %place, %least
  %skipped = and i64 %apart, {PAGE - 1}
  %offset = add i64 %skipped, {ALIGNMENT}
  %block = getelementptr i8, ptr %memory, i64 %offset
  %memory_at = getelementptr ptr, ptr %block, i64 -2
  store ptr %memory, ptr %memory_at
  %size_at = getelementptr i64, ptr %block, i64 -1
  store i64 %size, ptr %size_at
  ret ptr %block
}}

define internal ptr @memory_of(ptr %block) {{
  %memory_at = getelementptr ptr, ptr %block, i64 -2
  %memory = load ptr, ptr %memory_at
  ret ptr %memory
}}

define internal void @release(ptr %block) {{
entry:
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %some
some:
  %memory = call ptr @memory_of(ptr %block)
  call void @free(ptr %memory)
  br label %done
done:
  ret void
}}

define ptr @take(ptr %kept, i64 %size) {{
entry:
  %block_at = getelementptr ptr, ptr %kept, i64 1
  %block = load ptr, ptr %block_at
  %block_size = load i64, ptr %kept
  %some = icmp ne ptr %block, null
  %fits = icmp eq i64 %block_size, %size
  %found = and i1 %some, %fits
  br i1 %found, label %again, label %new
again:
  store ptr null, ptr %block_at
  %memory = call ptr @memory_of(ptr %block)
  %moved = call ptr @begin(ptr %kept, ptr %memory, i64 %size)
  ret ptr %moved
new:
  %more = add i64 %size, {PAGE + 2 * ALIGNMENT - 1}
  %whole = and i64 %more, {-ALIGNMENT}
  %fresh = call ptr @aligned_alloc(i64 {ALIGNMENT}, i64 %whole)
  %failed = icmp eq ptr %fresh, null
  br i1 %failed, label %nothing, label %made
nothing:
  ret ptr null
made:
  %first = call ptr @begin(ptr %kept, ptr %fresh, i64 %size)
  %small = icmp ult i64 %size, {HUGE}
  br i1 %small, label %done, label %huge
huge:
  %address = ptrtoint ptr %fresh to i64
  %behind = add i64 %address, {PAGE - 1}
  %page = and i64 %behind, {-PAGE}
  %start = inttoptr i64 %page to ptr
  %ignored = call i32 @madvise(ptr %start, i64 %size, i32 14)
  br label %done
done:
  ret ptr %first
}}

define ptr @take_zeros(ptr %kept, i64 %count, i64 %each) {{
entry:
  %size = mul i64 %count, %each
  %fresh = call ptr @take(ptr %kept, i64 %size)
  %failed = icmp eq ptr %fresh, null
  br i1 %failed, label %done, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr %fresh, i8 0, i64 %size, i1 false)
  br label %done
done:
  ret ptr %fresh
}}

define ptr @resize(ptr %kept, ptr %block, i64 %size) {{
entry:
  %fresh = call ptr @take(ptr %kept, i64 %size)
  %failed = icmp eq ptr %fresh, null
  br i1 %failed, label %done, label %copy
copy:
  %size_at = getelementptr i64, ptr %block, i64 -1
  %before = load i64, ptr %size_at
  %both = call i64 @llvm.umin.i64(i64 %before, i64 %size)
  call void @llvm.memcpy.p0.p0.i64(ptr %fresh, ptr %block, i64 %both, i1 false)
  call void @release(ptr %block)
  br label %done
done:
  ret ptr %fresh
}}

define void @give(ptr %kept, ptr %block, i64 %size) {{
entry:
  %large = icmp uge i64 %size, {LEAST_BYTES}
  %moderate = icmp ule i64 %size, {KEPT_MOST}
  %keeps = and i1 %large, %moderate
  br i1 %keeps, label %keep, label %let_go
keep:
  %block_at = getelementptr ptr, ptr %kept, i64 1
  %other = load ptr, ptr %block_at
  store i64 %size, ptr %kept
  store ptr %block, ptr %block_at
  call void @release(ptr %other)
  ret void
let_go:
  call void @release(ptr %block)
  ret void
}}

define void @clear(ptr %kept) {{
  %block_at = getelementptr ptr, ptr %kept, i64 1
  %block = load ptr, ptr %block_at
  store ptr null, ptr %block_at
  call void @release(ptr %block)
  ret void
}}
"""


class _Handler(ctypes.Structure):
    """PyDataMem_Handler."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        *((field, ctypes.c_void_p) for field in ("context", "malloc", "calloc", "realloc", "free")),
    )


class Memory:
    """Where large results are allocated.  It stays until the process ends, since arrays that it made may."""

    def __init__(self, make_object: Callable[[str], bytes] = object_code) -> None:
        names = ("take", "take_zeros", "resize", "give")
        code = library(make_object(CODE), (*names, "clear", "use", "set_quietly"))
        self._kept = (ctypes.c_int64 * 3)()
        handler = _Handler(b"eqsat", 1, ctypes.addressof(self._kept), *map(code.address, names))
        ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(code.address("use"))(numpy_function(SET_HANDLER))
        self._set_address = code.address("set_quietly")
        new_capsule = ctypes.pythonapi.PyCapsule_New
        new_capsule.restype, new_capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        name = b"mem_handler"
        self._capsule = new_capsule(ctypes.addressof(handler), name, None)
        self._set = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(self._set_address)
        self._clear = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(code.address("clear"))
        for needed in (code, host(), handler, name, self._kept, self._capsule):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(needed))

    @property
    def handler(self) -> tuple[int, int, int]:
        """The addresses of a function like PyDataMem_SetHandler, of the handler, which stays, and of the place of the next array."""
        return self._set_address, id(self._capsule), ctypes.addressof(self._kept) + 8 * PLACE

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], others: Iterable[Array] = ()) -> Array:
        """numpy.empty, aligned to lines of the cache, and apart from other arrays that are used with it (codegen/memory/places.py)."""
        self._kept[PLACE] = apart_from(others)
        before = self._set(self._capsule)
        try:
            return np.empty(shape, dtype)
        finally:
            self._set(before)

    def clear(self) -> None:
        """Give the block that is kept back to the system."""
        self._clear(ctypes.addressof(self._kept))


def supported() -> bool:
    """Whether results can be allocated here: on Linux, in CPython with its lock, which guards the block that is kept."""
    return sys.platform == "linux" and sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()


@functools.cache
def memory(make_object: Callable[[str], bytes]) -> Memory:
    """The memory of this process."""
    return Memory(make_object)
