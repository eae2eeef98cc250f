"""Loop nests beside the code that was made of them, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eqsat.codegen.folds.accumulator import Numerics
from eqsat.codegen.llvm.listing import Line, instructions, listings
from eqsat.ir.shown import Shown
from eqsat.ir.typed_kernel import TypedKernel


@dataclass(frozen=True, repr=False)
class KernelListing(Shown):
    """One kernel: the lines of its loop nest, and those of its LLVM IR and assembly, each with the number of the line of the loop nest
    that it belongs to, counted from 1.  Line 1 is the kernel as a whole; 0 what LLVM added, or made of several statements together."""

    name: str
    loops: tuple[str, ...]
    llvm_ir: tuple[Line, ...]
    assembly: tuple[Line, ...]

    def __str__(self) -> str:
        numbered = (f"{number:4}  {text}" for number, text in enumerate(self.loops, start=1))
        code = (f"{line.source or '':4}  {line.text}" for lines in (self.llvm_ir, self.assembly) for line in (Line("", 0), *lines))
        return "\n".join((*numbered, *code))


@dataclass(frozen=True, repr=False)
class Listing(Shown):
    """The kernels of a result in execution order.

    same_code  whether the assembly has the instructions that run, one for one; telling where they come from could have changed them
    """

    kernels: tuple[KernelListing, ...]
    same_code: bool

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.kernels))


def list_kernels(typed: Sequence[TypedKernel], numerics: Numerics, assembly: str) -> Listing:
    """The listing of kernels whose assembly is `assembly`; LLVM optimizes them once more for it."""
    plain = instructions(assembly)
    kernels = []
    same = True
    for one, listed in zip(typed, listings(typed, numerics), strict=True):
        same = same and [line.text for line in listed.assembly] == [line.text for line in plain[listed.function]]
        kernels.append(KernelListing(listed.name, tuple(str(one.kernel).split("\n")), listed.llvm_ir, listed.assembly))
    return Listing(tuple(kernels), same)
