"""Loop nests of eqsat.ir made into machine code by LLVM.  llvmlite is imported when the first kernel is compiled."""

from eqsat.codegen.routine import MachineCode, Routine, compile_kernels

__all__ = ["MachineCode", "Routine", "compile_kernels"]
