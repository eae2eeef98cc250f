"""How long a cycle of the processor takes: a chain of operations whose latency is the same on every machine that LLVM knows here."""

from __future__ import annotations

import ctypes
import time

from eqsat.codegen.llvm.machine import library, object_code

# an exclusive or takes one cycle and a product of 64-bit integers three, on x86-64 and AArch64 alike
STEP_CYCLES, STEPS, RUNS = 4, 200_000, 20
CODE = """
define i64 @chain(i64 %count) {
entry:
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k1, %next ]
  %x = phi i64 [ 1, %entry ], [ %product, %next ]
  %mixed = xor i64 %x, %k
  %product = mul i64 %mixed, 6364136223846793005
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, %count
  br i1 %more, label %next, label %done
done:
  ret i64 %product
}
"""


def cycle_ns() -> float:
    """Nanoseconds of a cycle, the best of several measurements."""
    code = library(object_code(CODE), ("chain",))
    chain = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address("chain"))
    best = float("inf")
    for _ in range(RUNS):
        start = time.perf_counter()
        chain(STEPS)
        best = min(best, time.perf_counter() - start)
    return best * 1e9 / (STEPS * STEP_CYCLES)
