"""Memory of results: aligned to lines of the cache, and apart from operands within pages; blocks that were given back are kept for the next
results.

NumPy aligns arrays to 16 bytes, so that every store of a whole vector crosses two lines, and returns what is large to the system, which
has to clear it again then.  An array remembers who allocated it (NEP 49, https://numpy.org/neps/nep-0049.html), so results stay ordinary
arrays that own their data.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Iterable
from math import prod
from typing import Any

import numpy as np

from eqsat.codegen.calls.direct import NEW_FROM_DESCR, numpy_function, supported as objects_are_known
from eqsat.codegen.calls.direct_checks import ALIGNED, CONTIGUOUS, FLAGS, HANDLER, OWNS, WRITEABLE
from eqsat.codegen.llvm.machine import host, library, object_code
from eqsat.codegen.memory.places import ALIGNMENT, LEAST, PAGE, apart_from

Array = np.ndarray[Any, Any]
# so many blocks are kept, the latest ones, together of at most so many bytes
SLOTS, KEPT_MOST = 32, 256 << 20
# from here on in pages of 2 MB, as NumPy's own; 14 is MADV_HUGEPAGE
HUGE = 4 << 20
# words of what is kept: bytes, which slot is the next one, what makes arrays (the handler, NumPy's function and its type), the sizes of
# blocks, 0 where there is none, and the blocks
BYTES, NEXT, MADE_BY, MAKE, NDARRAY, SIZES = range(6)
BLOCKS = SIZES + SLOTS
# flags of arrays that can be written to
PLAIN = CONTIGUOUS | ALIGNED | WRITEABLE
# the domain of NumPy's arrays in tracemalloc; NumPy takes them out of it where it frees them
TRACED = 389047
# position of PyDataMem_GetHandler among the functions of NumPy's C API
GET_HANDLER = 305

CODE = f"""
declare noalias ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i32 @madvise(ptr, i64, i32)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.umin.i64(i64, i64)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyErr_NoMemory()
declare i32 @PyTraceMalloc_Track(i32, i64, i64)

; where a block begins in memory that was allocated, at this place of a page where it is large; before it stand the memory and the size
define internal ptr @begin(ptr %memory, i64 %size, i64 %place) {{
  %address = ptrtoint ptr %memory to i64
  %least = add i64 %address, {ALIGNMENT}
  %apart = sub i64 %place, %least
  %within = and i64 %apart, {PAGE - 1}
  %is_large = icmp uge i64 %size, {LEAST}
  %skipped = select i1 %is_large, i64 %within, i64 0
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

define internal i64 @size_of(ptr %block) {{
  %size_at = getelementptr i64, ptr %block, i64 -1
  %size = load i64, ptr %size_at
  ret i64 %size
}}

define internal void @release(ptr %block) {{
  %memory = call ptr @memory_of(ptr %block)
  call void @free(ptr %memory)
  ret void
}}

; the block of a slot, which is empty then; null if it was before
define internal ptr @taken(ptr %kept, i64 %slot) {{
  %size_word = add i64 %slot, {SIZES}
  %size_at = getelementptr i64, ptr %kept, i64 %size_word
  %size = load i64, ptr %size_at
  %none = icmp eq i64 %size, 0
  br i1 %none, label %nothing, label %some
nothing:
  ret ptr null
some:
  %block_word = add i64 %slot, {BLOCKS}
  %block_at = getelementptr ptr, ptr %kept, i64 %block_word
  %block = load ptr, ptr %block_at
  store i64 0, ptr %size_at
  %bytes_at = getelementptr i64, ptr %kept, i64 {BYTES}
  %bytes = load i64, ptr %bytes_at
  %fewer = sub i64 %bytes, %size
  store i64 %fewer, ptr %bytes_at
  ret ptr %block
}}

; a block of that size that begins at this place of a page: the latest one that is kept, or a new one; null without memory
define internal ptr @block(ptr %kept, i64 %size, i64 %place) {{
entry:
  %next_at = getelementptr i64, ptr %kept, i64 {NEXT}
  %next = load i64, ptr %next_at
  br label %look
look:
  %k = phi i64 [ 1, %entry ], [ %k1, %other ]
  %before = sub i64 %next, %k
  %slot = and i64 %before, {SLOTS - 1}
  %size_word = add i64 %slot, {SIZES}
  %size_at = getelementptr i64, ptr %kept, i64 %size_word
  %found = load i64, ptr %size_at
  %fits = icmp eq i64 %found, %size
  br i1 %fits, label %again, label %other
other:
  %k1 = add i64 %k, 1
  %left = icmp ule i64 %k1, {SLOTS}
  br i1 %left, label %look, label %new
again:
  %kept_block = call ptr @taken(ptr %kept, i64 %slot)
  %is_latest = icmp eq i64 %k, 1
  %next_then = select i1 %is_latest, i64 %slot, i64 %next
  store i64 %next_then, ptr %next_at
  %memory = call ptr @memory_of(ptr %kept_block)
  %moved = call ptr @begin(ptr %memory, i64 %size, i64 %place)
  ret ptr %moved
new:
  %is_large = icmp uge i64 %size, {LEAST}
  %around = select i1 %is_large, i64 {PAGE + 2 * ALIGNMENT - 1}, i64 {2 * ALIGNMENT - 1}
  %more = add i64 %size, %around
  %whole = and i64 %more, {-ALIGNMENT}
  %fresh = call ptr @aligned_alloc(i64 {ALIGNMENT}, i64 %whole)
  %failed = icmp eq ptr %fresh, null
  br i1 %failed, label %nothing, label %made
nothing:
  ret ptr null
made:
  %first = call ptr @begin(ptr %fresh, i64 %size, i64 %place)
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

; a new array, apart from others by where in a page it begins; null with an exception without memory
define ptr @new_array(ptr %kept, ptr %dtype, i32 %rank, ptr %extents, i64 %bytes, i64 %place) {{
entry:
  %data = call ptr @block(ptr %kept, i64 %bytes, i64 %place)
  %failed = icmp eq ptr %data, null
  br i1 %failed, label %nothing, label %make
nothing:
  %no_memory = call ptr @PyErr_NoMemory()
  ret ptr null
make:
  %function_at = getelementptr ptr, ptr %kept, i64 {MAKE}
  %function = load ptr, ptr %function_at
  %ndarray_at = getelementptr ptr, ptr %kept, i64 {NDARRAY}
  %ndarray = load ptr, ptr %ndarray_at
  call void @Py_IncRef(ptr %dtype)
  %array = call ptr %function(ptr %ndarray, ptr %dtype, i32 %rank, ptr %extents, ptr null, ptr %data, i32 {PLAIN}, ptr null)
  %no_array = icmp eq ptr %array, null
  br i1 %no_array, label %give_back, label %own
give_back:
  call void @release(ptr %data)
  ret ptr null
own:
  %flags_at = getelementptr i8, ptr %array, i64 {FLAGS}
  %set = load i32, ptr %flags_at
  %owns = or i32 %set, {OWNS}
  store i32 %owns, ptr %flags_at
  %handler_at = getelementptr ptr, ptr %kept, i64 {MADE_BY}
  %handler = load ptr, ptr %handler_at
  call void @Py_IncRef(ptr %handler)
  %address = ptrtoint ptr %data to i64
  %traced = call i32 @PyTraceMalloc_Track(i32 {TRACED}, i64 %address, i64 %bytes)
  %made_by_at = getelementptr i8, ptr %array, i64 {HANDLER}
  store ptr %handler, ptr %made_by_at
  ret ptr %array
}}

; what NumPy calls: memory for so many bytes, cleared, and of another size, and memory that is not needed any more
define ptr @take(ptr %kept, i64 %size) {{
  %fresh = call ptr @block(ptr %kept, i64 %size, i64 0)
  ret ptr %fresh
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
  %before = call i64 @size_of(ptr %block)
  %both = call i64 @llvm.umin.i64(i64 %before, i64 %size)
  call void @llvm.memcpy.p0.p0.i64(ptr %fresh, ptr %block, i64 %both, i1 false)
  call void @release(ptr %block)
  br label %done
done:
  ret ptr %fresh
}}

define void @give(ptr %kept, ptr %block, i64 %ignored) {{
entry:
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %some
some:
  %size = call i64 @size_of(ptr %block)
  %large = icmp ugt i64 %size, {KEPT_MOST}
  %empty = icmp eq i64 %size, 0
  %goes = or i1 %large, %empty
  br i1 %goes, label %let_go, label %keep
let_go:
  call void @release(ptr %block)
  ret void
keep:
  %bytes_at = getelementptr i64, ptr %kept, i64 {BYTES}
  %bytes = load i64, ptr %bytes_at
  %all = add i64 %bytes, %size
  %many = icmp ugt i64 %all, {KEPT_MOST}
  br i1 %many, label %make_room, label %put
make_room:
  call void @clear(ptr %kept)
  br label %put
put:
  %next_at = getelementptr i64, ptr %kept, i64 {NEXT}
  %slot = load i64, ptr %next_at
  %other = call ptr @taken(ptr %kept, i64 %slot)
  %was_empty = icmp eq ptr %other, null
  br i1 %was_empty, label %store, label %replace
replace:
  call void @release(ptr %other)
  br label %store
store:
  %size_word = add i64 %slot, {SIZES}
  %size_at = getelementptr i64, ptr %kept, i64 %size_word
  store i64 %size, ptr %size_at
  %block_word = add i64 %slot, {BLOCKS}
  %block_at = getelementptr ptr, ptr %kept, i64 %block_word
  store ptr %block, ptr %block_at
  %bytes_now = load i64, ptr %bytes_at
  %more = add i64 %bytes_now, %size
  store i64 %more, ptr %bytes_at
  %behind = add i64 %slot, 1
  %next = and i64 %behind, {SLOTS - 1}
  store i64 %next, ptr %next_at
  ret void
done:
  ret void
}}

; gives all blocks that are kept back to the system
define void @clear(ptr %kept) {{
entry:
  br label %next
next:
  %slot = phi i64 [ 0, %entry ], [ %following, %one ], [ %following, %free ]
  %following = add i64 %slot, 1
  %more = icmp ult i64 %slot, {SLOTS}
  br i1 %more, label %one, label %done
one:
  %block = call ptr @taken(ptr %kept, i64 %slot)
  %none = icmp eq ptr %block, null
  br i1 %none, label %next, label %free
free:
  call void @release(ptr %block)
  br label %next
done:
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
    """Where results are allocated.  It stays until the process ends, since arrays that it made may."""

    def __init__(self, make_object: Callable[[str], bytes] = object_code) -> None:
        names = ("take", "take_zeros", "resize", "give")
        code = library(make_object(CODE), (*names, "clear", "new_array"))
        self._kept = (ctypes.c_int64 * (BLOCKS + SLOTS))()
        here = ctypes.addressof(self._kept)
        handler = _Handler(b"eqsat", 1, here, *map(code.address, names))
        new_capsule = ctypes.pythonapi.PyCapsule_New
        new_capsule.restype, new_capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        name = b"mem_handler"
        capsule = new_capsule(ctypes.addressof(handler), name, None)
        self._kept[MADE_BY], self._kept[MAKE], self._kept[NDARRAY] = id(capsule), numpy_function(NEW_FROM_DESCR), id(np.ndarray)
        self.new_array = code.address("new_array"), here
        kinds = (ctypes.c_void_p, ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        self._new = ctypes.PYFUNCTYPE(ctypes.py_object, *kinds)(self.new_array[0])
        self._clear = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(code.address("clear"))
        for needed in (code, host(), handler, name, self._kept, capsule):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(needed))

    @property
    def kept_bytes(self) -> int:
        """Of the blocks that are kept."""
        return self._kept[BYTES]

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], others: Iterable[Array] = ()) -> Array:
        """numpy.empty, aligned to lines of the cache, and apart from other arrays that are used with it (codegen/memory/places.py)."""
        extents, nbytes = (ctypes.c_int64 * len(shape))(*shape), prod(shape) * dtype.itemsize
        made: Array = self._new(self.new_array[1], dtype, len(shape), ctypes.addressof(extents), nbytes, apart_from(others))
        return made

    def clear(self) -> None:
        """Give the blocks that are kept back to the system."""
        self._clear(self.new_array[1])


@functools.cache
def supported() -> bool:
    """Whether results can be allocated here: on Linux, in CPython with its lock, which guards what is kept."""
    if sys.platform != "linux" or not objects_are_known():
        return False
    probe = np.empty((3, 5), np.float32)
    get_handler = ctypes.PYFUNCTYPE(ctypes.py_object)(numpy_function(GET_HANDLER))
    return ctypes.c_int64.from_address(id(probe) + HANDLER).value == id(get_handler())


@functools.cache
def memory(make_object: Callable[[str], bytes]) -> Memory:
    """The memory of this process."""
    return Memory(make_object)
