"""The LLVM IR of kernels as one text."""

from __future__ import annotations

from collections.abc import Sequence

from eqsat.codegen.builder import NO_ABILITIES, Abilities, Registers
from eqsat.codegen.emit import write_module
from eqsat.codegen.folds.accumulator import Numerics
from eqsat.codegen.kernel_code import REGISTERS
from eqsat.ir.typed_kernel import TypedKernel


def emit_module(
    typed_kernels: Sequence[TypedKernel], numerics: Numerics, abilities: Abilities = NO_ABILITIES, registers: Registers = REGISTERS
) -> str:
    """The module of kernels with distinct names, as it is handed to LLVM."""
    return write_module(typed_kernels, numerics, abilities, registers).text
