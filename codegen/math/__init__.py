"""Elementary functions as straight-line code that LLVM vectorizes in whatever loop surrounds it.

No branches, no tables; every instruction is written without fast-math flags (the reductions of the argument rely
on the order of operations), multiply-adds go through llvm.fmuladd: fused where the machine can, exact enough where not.
Coefficients: minimax polynomials of the remainders named below for the relative error of the function, by the Remez
exchange in 60-digit arithmetic, each rounded to the type.  Errors measured by tests/codegen/test_math.py: below 2 ulp.
The reductions are those of W. J. Cody and W. Waite, Software Manual for the Elementary Functions (1980): a period split
into a head of few bits, whose multiples are exact, and a tail.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable

from eqsat.codegen.builder import Builder, Value
from eqsat.codegen.math.error_function import erf
from eqsat.codegen.math.exponential import cosh, exp, exp2, expm1, sinh, tanh
from eqsat.codegen.math.logarithm import arccosh, arcsinh, arctanh, log, log1p, log2, log10
from eqsat.codegen.math.number import Number
from eqsat.codegen.math.power import power
from eqsat.codegen.math.roots import cbrt, hypot
from eqsat.codegen.math.trigonometric import arccos, arcsin, arctan, arctan2, cos, sin, tan


def _code(function: Callable[..., Number]) -> Callable[..., Value]:
    def code(b: Builder, *args: Value) -> Value:
        return function(*(Number(b, arg) for arg in args)).value

    return code


MATHEMATICS: dict[str, Callable[..., Number]] = {
    "power": power,
    "cbrt": cbrt,
    "hypot": hypot,
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "log": log,
    "log2": log2,
    "log10": log10,
    "log1p": log1p,
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "arcsin": arcsin,
    "arccos": arccos,
    "arctan": arctan,
    "arctan2": arctan2,
    "sinh": sinh,
    "cosh": cosh,
    "tanh": tanh,
    "arcsinh": arcsinh,
    "arccosh": arccosh,
    "arctanh": arctanh,
    "erf": erf,
}
FUNCTIONS: dict[str, Callable[..., Value]] = {name: _code(function) for name, function in MATHEMATICS.items()}


@functools.cache
def instructions_of(name: str, type: str) -> int:
    """How many instructions a function is, of a number of an LLVM type."""
    b, operands = Builder(), len(inspect.signature(MATHEMATICS[name]).parameters)
    FUNCTIONS[name](b, *(Value(f"%operand{k}", type) for k in range(operands)))
    return len(b.lines)
