"""Loop nests of eqsat.ir made into machine code by LLVM.  llvmlite is imported when the first kernel is compiled."""

from eqsat.codegen.calls.routine import Entry, MachineCode, Routine, compile_kernels, load_kernels
from eqsat.codegen.llvm.machine import host, object_code
from eqsat.codegen.shared_loops import Units, parallel_extent, shared_units, shares

__all__ = [
    "Entry",
    "MachineCode",
    "Routine",
    "Units",
    "compile_kernels",
    "host",
    "load_kernels",
    "object_code",
    "parallel_extent",
    "shared_units",
    "shares",
]
