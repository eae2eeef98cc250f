"""Elementary functions as straight-line code that LLVM vectorizes in whatever loop surrounds it.

No branches, no tables; every instruction is written without fast-math flags (the reductions of the argument rely
on the order of operations), multiply-adds go through llvm.fmuladd: fused where the machine can, exact enough where not.
Coefficients: minimax polynomials of the remainders named below for the relative error of the function, by the Remez
exchange in 60-digit arithmetic, each rounded to the type.  Errors measured by tests/codegen/test_math.py: below 2 ulp.
The reductions are those of W. J. Cody and W. Waite, Software Manual for the Elementary Functions (1980): a period split
into a head of few bits, whose multiples are exact, and a tail.
"""

from __future__ import annotations

from collections.abc import Callable

from eqsat.codegen.builder import Value
from eqsat.codegen.math.exponential import exp, tanh
from eqsat.codegen.math.library import c_function
from eqsat.codegen.math.logarithm import log

FUNCTIONS: dict[str, Callable[..., Value]] = {
    "power": c_function("pow"),
    "cbrt": c_function("cbrt"),
    "hypot": c_function("hypot"),
    "exp": exp,
    "exp2": c_function("exp2"),
    "expm1": c_function("expm1"),
    "log": log,
    "log2": c_function("log2"),
    "log10": c_function("log10"),
    "log1p": c_function("log1p"),
    "sin": c_function("sin"),
    "cos": c_function("cos"),
    "tan": c_function("tan"),
    "arcsin": c_function("asin"),
    "arccos": c_function("acos"),
    "arctan": c_function("atan"),
    "arctan2": c_function("atan2"),
    "sinh": c_function("sinh"),
    "cosh": c_function("cosh"),
    "tanh": tanh,
    "arcsinh": c_function("asinh"),
    "arccosh": c_function("acosh"),
    "arctanh": c_function("atanh"),
    "erf": c_function("erf"),
}
