"""Threads that wait for kernels: machine code, so that handing out a kernel takes a microsecond and no GIL.

One pool serves one kernel at a time; a call that finds it at work does all of its kernel itself.  What is claimed stands in one word, so
that a worker which comes late claims nothing:

    claim    number of the job << 48 | pieces << 32 | claimed from the last on << 16 | claimed from the first on

Who calls takes part and claims from the first on, workers from the last: so two threads find in their caches what they had in the call
before.  The job is written before the word and stays until every claimed piece is done.  A worker that finds nothing for a while sleeps
until `signal` changes (futex(2)).  One that finds itself on the processor of who calls leaves it: the system may take a second to do so,
where other threads were at work on the other processors before, as those of a BLAS are.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eqsat.codegen.llvm.machine import host, library, object_code

# looks at the word before a worker sleeps: some 100 us, about as long as waking one takes
LOOKS = 5000
MOST_PIECES = (1 << 16) - 1
# 64-bit words of a pool, the ones that are written often in cache lines of their own
CLAIM, DONE, JOB, SIGNAL, SLEEPERS, BUSY, WORDS = 0, 8, 16, 24, 32, 40, 48
# behind the four of a job: the processor of who calls
CALLER = JOB + 4
# 64-bit words of a set of processors
PROCESSORS = 16
# number of the system call, and the instruction for a loop that waits
SYSTEMS = {"x86_64": (202, "call void @llvm.x86.sse2.pause()"), "aarch64": (98, "call void @llvm.aarch64.hint(i32 1)")}
WAIT, WAKE = 128, 129


def _code(futex: int, pause: str) -> str:
    """The functions of a pool: `futex` is the number of the system call, `pause` the instruction for a loop that waits."""
    return f"""
declare i64 @syscall(i64, ...)
declare i32 @sched_yield()
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare void @llvm.x86.sse2.pause()
declare void @llvm.aarch64.hint(i32)

; claim one piece, the first (step 1) or the last (step 65536) that is left, and run it; false where there is none
define internal i1 @take(ptr %pool, i64 %step) {{
entry:
  %claim_at = getelementptr i64, ptr %pool, i64 {CLAIM}
  br label %look
look:
  %word = load atomic i64, ptr %claim_at acquire, align 8
  %first = and i64 %word, 65535
  %shifted = lshr i64 %word, 16
  %last = and i64 %shifted, 65535
  %above = lshr i64 %word, 32
  %pieces = and i64 %above, 65535
  %taken = add i64 %first, %last
  %any = icmp ult i64 %taken, %pieces
  br i1 %any, label %try, label %none
try:
  %claimed = add i64 %word, %step
  %pair = cmpxchg ptr %claim_at, i64 %word, i64 %claimed acq_rel acquire, align 8
  %mine = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %mine, label %run, label %look
run:
  %code_at = getelementptr i64, ptr %pool, i64 {JOB}
  %values_at = getelementptr i64, ptr %code_at, i64 1
  %slots_at = getelementptr i64, ptr %code_at, i64 2
  %extent_at = getelementptr i64, ptr %code_at, i64 3
  %code = load ptr, ptr %code_at
  %values = load ptr, ptr %values_at
  %slots = load ptr, ptr %slots_at
  %extent = load i64, ptr %extent_at
  %from_first = icmp eq i64 %step, 1
  %behind = sub i64 %pieces, %last
  %from_last = sub i64 %behind, 1
  %next = select i1 %from_first, i64 %first, i64 %from_last
  %after = add i64 %next, 1
  %low = mul i64 %extent, %next
  %high = mul i64 %extent, %after
  %begin = udiv i64 %low, %pieces
  %end = udiv i64 %high, %pieces
  call void %code(ptr %values, ptr %slots, i64 %begin, i64 %end)
  %done_at = getelementptr i64, ptr %pool, i64 {DONE}
  %before = atomicrmw add ptr %done_at, i64 1 acq_rel, align 8
  ret i1 true
none:
  ret i1 false
}}

; leave the processor of who calls, where this thread may run on others
define internal void @leave(ptr %pool) {{
entry:
  %set = alloca [{PROCESSORS} x i64]
  %caller_at = getelementptr i64, ptr %pool, i64 {CALLER}
  %caller = load atomic i64, ptr %caller_at monotonic, align 8
  %processor = call i32 @sched_getcpu()
  %here = sext i32 %processor to i64
  %same = icmp eq i64 %here, %caller
  %told = icmp sge i64 %here, 0
  %both = and i1 %same, %told
  br i1 %both, label %ask, label %done
ask:
  %size = mul i64 {PROCESSORS}, 8
  %known = call i32 @sched_getaffinity(i32 0, i64 %size, ptr %set)
  %fine = icmp eq i32 %known, 0
  br i1 %fine, label %move, label %done
move:
  %word = lshr i64 %here, 6
  %bits_at = getelementptr i64, ptr %set, i64 %word
  %bits = load i64, ptr %bits_at
  %within = and i64 %here, 63
  %bit = shl i64 1, %within
  %rest = xor i64 %bits, %bit
  store i64 %rest, ptr %bits_at
  %moved = call i32 @sched_setaffinity(i32 0, i64 %size, ptr %set)
  store i64 %bits, ptr %bits_at
  %back = call i32 @sched_setaffinity(i32 0, i64 %size, ptr %set)
  br label %done
done:
  ret void
}}

define ptr @work(ptr %pool) {{
entry:
  %claim_at = getelementptr i64, ptr %pool, i64 {CLAIM}
  %signal_at = getelementptr i64, ptr %pool, i64 {SIGNAL}
  %sleepers_at = getelementptr i64, ptr %pool, i64 {SLEEPERS}
  br label %again
again:
  call void @leave(ptr %pool)
  br label %look
look:
  %looks = phi i64 [ 0, %again ], [ %more, %pause ]
  %took = call i1 @take(ptr %pool, i64 65536)
  br i1 %took, label %again, label %pause
pause:
  {pause}
  %more = add i64 %looks, 1
  %patient = icmp ult i64 %more, {LOOKS}
  br i1 %patient, label %look, label %doze
doze:
  call void @leave(ptr %pool)
  %counted = atomicrmw add ptr %sleepers_at, i64 1 seq_cst, align 8
  %signal = load atomic i32, ptr %signal_at seq_cst, align 8
  %late = call i1 @take(ptr %pool, i64 65536)
  br i1 %late, label %awake, label %sleep
sleep:
  %status = call i64 (i64, ...) @syscall(i64 {futex}, ptr %signal_at, i64 {WAIT}, i32 %signal, ptr null, ptr null, i32 0)
  br label %awake
awake:
  %left = atomicrmw sub ptr %sleepers_at, i64 1 seq_cst, align 8
  br label %again
}}

; so many workers; how many could be started
define i64 @start(ptr %pool, i64 %workers) {{
entry:
  %thread = alloca i64
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k1, %started ]
  %more = icmp ult i64 %k, %workers
  br i1 %more, label %create, label %done
create:
  %error = call i32 @pthread_create(ptr %thread, ptr null, ptr @work, ptr %pool)
  %fine = icmp eq i32 %error, 0
  br i1 %fine, label %started, label %done
started:
  %k1 = add i64 %k, 1
  %handle = load i64, ptr %thread
  %ignored = call i32 @pthread_detach(i64 %handle)
  br label %next
done:
  ret i64 %k
}}

define void @run(ptr %pool, ptr %code, ptr %values, ptr %slots, i64 %extent, i64 %pieces) {{
begin:
  %busy_at = getelementptr i64, ptr %pool, i64 {BUSY}
  %pair = cmpxchg ptr %busy_at, i64 0, i64 1 acq_rel acquire, align 8
  %free = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %free, label %entry, label %alone
alone:
  call void %code(ptr %values, ptr %slots, i64 0, i64 %extent)
  ret void
entry:
  %claim_at = getelementptr i64, ptr %pool, i64 {CLAIM}
  %done_at = getelementptr i64, ptr %pool, i64 {DONE}
  %signal_at = getelementptr i64, ptr %pool, i64 {SIGNAL}
  %sleepers_at = getelementptr i64, ptr %pool, i64 {SLEEPERS}
  %code_at = getelementptr i64, ptr %pool, i64 {JOB}
  %values_at = getelementptr i64, ptr %code_at, i64 1
  %slots_at = getelementptr i64, ptr %code_at, i64 2
  %extent_at = getelementptr i64, ptr %code_at, i64 3
  store ptr %code, ptr %code_at
  store ptr %values, ptr %values_at
  store ptr %slots, ptr %slots_at
  store i64 %extent, ptr %extent_at
  %processor = call i32 @sched_getcpu()
  %here = sext i32 %processor to i64
  %caller_at = getelementptr i64, ptr %pool, i64 {CALLER}
  store atomic i64 %here, ptr %caller_at monotonic, align 8
  store atomic i64 0, ptr %done_at release, align 8
  %word = load atomic i64, ptr %claim_at acquire, align 8
  %job = lshr i64 %word, 48
  %following = add i64 %job, 1
  %high = shl i64 %following, 48
  %middle = shl i64 %pieces, 32
  %fresh = or i64 %high, %middle
  store atomic i64 %fresh, ptr %claim_at seq_cst, align 8
  %before = atomicrmw add ptr %signal_at, i32 1 seq_cst, align 8
  %sleepers = load atomic i64, ptr %sleepers_at seq_cst, align 8
  %any = icmp ne i64 %sleepers, 0
  br i1 %any, label %wake, label %take_part
wake:
  %status = call i64 (i64, ...) @syscall(i64 {futex}, ptr %signal_at, i64 {WAKE}, i32 2147483647, ptr null, ptr null, i32 0)
  br label %take_part
take_part:
  %took = call i1 @take(ptr %pool, i64 1)
  br i1 %took, label %take_part, label %wait
wait:
  %looks = phi i64 [ 0, %take_part ], [ %more, %go_on ]
  %done = load atomic i64, ptr %done_at acquire, align 8
  %all = icmp eq i64 %done, %pieces
  br i1 %all, label %finished, label %pause
pause:
  {pause}
  %more = add i64 %looks, 1
  %patient = icmp ult i64 %more, {LOOKS}
  br i1 %patient, label %go_on, label %yield
yield:
  %ignored = call i32 @sched_yield()
  br label %go_on
go_on:
  br label %wait
finished:
  store atomic i64 0, ptr %busy_at release, align 8
  ret void
}}
"""


def architecture() -> str:
    return str(host().triple).split("-")[0]


def supported() -> bool:
    """Whether pools can be made on this system: Linux on x86-64 or AArch64."""
    return sys.platform == "linux" and architecture() in SYSTEMS


@functools.cache
def _functions(make_object: Callable[[str], bytes]) -> tuple[Any, Any]:
    """`start` and `run`.  The code stays until the process ends: threads of it are asleep, not gone."""
    futex, pause = SYSTEMS[architecture()]
    declared = {"x86_64": "llvm.x86", "aarch64": "llvm.aarch64"}[architecture()]
    lines = _code(futex, pause).splitlines()
    text = "\n".join(line for line in lines if not line.startswith("declare void @llvm.") or declared in line)
    code = library(make_object(text), ("start", "run"))
    for kept in (code, host()):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    words = ctypes.c_void_p, ctypes.c_int64
    start = ctypes.CFUNCTYPE(ctypes.c_int64, *words)(code.address("start"))
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 2)(code.address("run"))
    return start, run


class Pool:
    """So many threads besides the one that calls.  `address` is its memory, `entry` the address of the function that `run` calls;
    make_object: see compile_kernels."""

    def __init__(self, workers: int, make_object: Callable[[str], bytes] = object_code) -> None:
        start, self._run = _functions(make_object)
        self.entry = ctypes.cast(self._run, ctypes.c_void_p).value or 0
        memory = np.zeros(WORDS + 8, np.int64)
        skip = -memory.ctypes.data % 64 // 8
        # the threads look at it as long as the process runs
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))
        self.address = memory[skip:].ctypes.data
        self.workers = int(start(self.address, workers))

    def run(self, code: int, buffers: Sequence[np.ndarray[Any, Any]], extent: int, pieces: int) -> None:
        """A kernel, by the address of NAME.slots, over 0..extent in so many pieces, which the threads claim one after the other."""
        count = len(buffers)
        values = (ctypes.c_int64 * count)(*(buffer.__array_interface__["data"][0] for buffer in buffers))
        slots = (ctypes.c_int64 * count)(*range(count))
        self._run(self.address, code, ctypes.addressof(values), ctypes.addressof(slots), extent, min(pieces, MOST_PIECES))
