"""Scalar operations on elements: one row says what an operation means and which dtypes it takes and gives.

The NumPy function is the meaning (the reference interpreter calls it; ir/meanings.py has what NumPy lacks), and of ufuncs its loops are the
dtypes.  Cost weights live in eqsat/pricing/cycles.py and code in codegen/, both under the same name; a test holds the three tables
together.  Operations of a caller are rows of the same tables (eqsat/capture/own_operations.py).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from eqsat.ir import meanings
from eqsat.ir.dtypes import DTYPES, integer_range, is_complex, is_inexact, is_integer, part_of, promoted
from eqsat.ir.errors import DTypeError
from eqsat.ir.threefry import threefry

Rule = Literal["same", "float", "compare", "logic", "select", "part", "word", "cast", "loops"]
# the dtype of an operand, or the type of a Python number, which adapts to the operands beside it
Given = str | type[int] | type[float] | type[complex]


@dataclass(frozen=True)
class ScalarOp:
    """`rule` says how the dtypes of operands and result hang together, see `loop_dtypes`; `ufunc`: whose loops do, if not the meaning's;
    `loops`: by the dtype of the operands that of the result, where the rule says so."""

    name: str
    arity: int
    rule: Rule
    meaning: Callable[..., Any]
    symbol: str = ""
    takes_bool: bool = False
    ufunc: np.ufunc | None = None
    loops: Mapping[str, str] | None = None


@dataclass(frozen=True)
class ReduceOp:
    """A fold: `step` is the scalar operation, `meaning` reduces a NumPy array over an axis."""

    name: str
    step: str
    meaning: Callable[..., Any]


def _scalar(*rows: ScalarOp) -> dict[str, ScalarOp]:
    return {row.name: row for row in rows}


# the integers that have the bits of floats
BITS_OF = {"float16": "uint16", "float32": "uint32", "float64": "uint64"}

SCALAR_OPS = _scalar(
    ScalarOp("add", 2, "same", np.add, "+"),
    ScalarOp("subtract", 2, "same", np.subtract, "-"),
    ScalarOp("multiply", 2, "same", np.multiply, "*"),
    ScalarOp("divide", 2, "float", np.divide, "/"),
    ScalarOp("floor_divide", 2, "same", np.floor_divide, "//"),
    ScalarOp("remainder", 2, "same", np.remainder, "%"),
    ScalarOp("negative", 1, "same", np.negative, "-"),
    ScalarOp("absolute", 1, "same", np.absolute, takes_bool=True),
    ScalarOp("sign", 1, "same", np.sign),
    ScalarOp("floor", 1, "same", np.floor, takes_bool=True),
    ScalarOp("ceil", 1, "same", np.ceil, takes_bool=True),
    ScalarOp("trunc", 1, "same", np.trunc, takes_bool=True),
    ScalarOp("rint", 1, "float", np.rint),
    ScalarOp("fmod", 2, "same", np.fmod),
    ScalarOp("power", 2, "same", meanings.power, ufunc=np.power),
    ScalarOp("sqrt", 1, "float", np.sqrt),
    ScalarOp("cbrt", 1, "float", np.cbrt),
    ScalarOp("hypot", 2, "float", np.hypot),
    ScalarOp("exp", 1, "float", np.exp),
    ScalarOp("exp2", 1, "float", np.exp2),
    ScalarOp("expm1", 1, "float", np.expm1),
    ScalarOp("log", 1, "float", np.log),
    ScalarOp("log2", 1, "float", np.log2),
    ScalarOp("log10", 1, "float", np.log10),
    ScalarOp("log1p", 1, "float", np.log1p),
    ScalarOp("sin", 1, "float", np.sin),
    ScalarOp("cos", 1, "float", np.cos),
    ScalarOp("tan", 1, "float", np.tan),
    ScalarOp("arcsin", 1, "float", np.arcsin),
    ScalarOp("arccos", 1, "float", np.arccos),
    ScalarOp("arctan", 1, "float", np.arctan),
    ScalarOp("arctan2", 2, "float", np.arctan2),
    ScalarOp("sinh", 1, "float", np.sinh),
    ScalarOp("cosh", 1, "float", np.cosh),
    ScalarOp("tanh", 1, "float", np.tanh),
    ScalarOp("arcsinh", 1, "float", np.arcsinh),
    ScalarOp("arccosh", 1, "float", np.arccosh),
    ScalarOp("arctanh", 1, "float", np.arctanh),
    ScalarOp("erf", 1, "float", meanings.erf),
    ScalarOp("copysign", 2, "float", np.copysign),
    ScalarOp("nextafter", 2, "float", np.nextafter),
    ScalarOp("maximum", 2, "same", np.maximum, takes_bool=True),
    ScalarOp("minimum", 2, "same", np.minimum, takes_bool=True),
    ScalarOp("fmax", 2, "same", np.fmax, takes_bool=True),
    ScalarOp("fmin", 2, "same", np.fmin, takes_bool=True),
    ScalarOp("less", 2, "compare", np.less, "<", takes_bool=True),
    ScalarOp("less_equal", 2, "compare", np.less_equal, "<=", takes_bool=True),
    ScalarOp("greater", 2, "compare", np.greater, ">", takes_bool=True),
    ScalarOp("greater_equal", 2, "compare", np.greater_equal, ">=", takes_bool=True),
    ScalarOp("equal", 2, "compare", np.equal, "==", takes_bool=True),
    ScalarOp("not_equal", 2, "compare", np.not_equal, "!=", takes_bool=True),
    ScalarOp("isnan", 1, "compare", np.isnan, takes_bool=True),
    ScalarOp("isinf", 1, "compare", np.isinf, takes_bool=True),
    ScalarOp("isfinite", 1, "compare", np.isfinite, takes_bool=True),
    ScalarOp("signbit", 1, "compare", np.signbit, takes_bool=True),
    ScalarOp("logical_and", 2, "logic", np.logical_and, "and", takes_bool=True),
    ScalarOp("logical_or", 2, "logic", np.logical_or, "or", takes_bool=True),
    ScalarOp("logical_xor", 2, "logic", np.logical_xor, takes_bool=True),
    ScalarOp("logical_not", 1, "logic", np.logical_not, "not", takes_bool=True),
    ScalarOp("where", 3, "select", np.where, takes_bool=True),
    ScalarOp("bitwise_and", 2, "same", np.bitwise_and, "&"),
    ScalarOp("bitwise_or", 2, "same", np.bitwise_or, "|"),
    ScalarOp("bitwise_xor", 2, "same", np.bitwise_xor, "^"),
    ScalarOp("invert", 1, "same", np.invert, "~"),
    ScalarOp("left_shift", 2, "same", np.left_shift, "<<"),
    ScalarOp("right_shift", 2, "same", np.right_shift, ">>"),
    ScalarOp("conjugate", 1, "same", np.conjugate),
    ScalarOp("real", 1, "part", np.real),
    ScalarOp("imag", 1, "part", np.imag),
    ScalarOp("complex", 2, "loops", meanings.of_parts, loops={"float32": "complex64", "float64": "complex128"}),
    ScalarOp("bits", 1, "loops", meanings.bits, loops=BITS_OF),
    ScalarOp("of_bits", 1, "loops", meanings.of_bits, loops={bits: dtype for dtype, bits in BITS_OF.items()}),
    ScalarOp("threefry", 2, "word", threefry),
    ScalarOp("astype", 1, "cast", lambda x: x, takes_bool=True),
)
# those that are computed of complex numbers
COMPLEX_OPS = frozenset(
    (
        *("add", "subtract", "multiply", "divide", "negative", "absolute", "sqrt", "conjugate", "real", "imag", "maximum", "minimum"),
        *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "where", "astype"),
    )
)
# of bool, NumPy's arithmetic and bit operations are these
BOOL_FORM = {
    "add": "logical_or",
    "multiply": "logical_and",
    "bitwise_and": "logical_and",
    "bitwise_or": "logical_or",
    "bitwise_xor": "not_equal",
    "invert": "logical_not",
}

# functions of which loops, and `at` with what is at places, are folds; sums and products of bool
FOLD_OF = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}
BOOL_FOLD = {"sum": "max", "prod": "min"}

REDUCE_OPS = {
    "sum": ReduceOp("sum", "add", np.add.reduce),
    "prod": ReduceOp("prod", "multiply", np.multiply.reduce),
    "max": ReduceOp("max", "maximum", np.maximum.reduce),
    "min": ReduceOp("min", "minimum", np.minimum.reduce),
    # of integers alone
    "and": ReduceOp("and", "bitwise_and", np.bitwise_and.reduce),
    "or": ReduceOp("or", "bitwise_or", np.bitwise_or.reduce),
    "xor": ReduceOp("xor", "bitwise_xor", np.bitwise_xor.reduce),
}
BIT_FOLDS = ("and", "or", "xor")
# operations of two elements that are truth values
COMPARISONS = frozenset(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))
# operations by which polynomials are made
RING = frozenset(("add", "subtract", "multiply", "negative"))


def numbered(name: str, number: int) -> str:
    """What an operation of a caller is called in programs: the first of its name as it is, later ones are other operations."""
    return name if number == 1 else f"{name}#{number}"


def shown(op: str) -> str:
    """The name that a caller gave an operation, or eqsat."""
    return op.partition("#")[0]


def loop_dtypes(name: str, *dtypes: Given) -> tuple[str, ...]:
    """The dtypes that NumPy 2 casts operands of these dtypes to, and behind them that of the result.

    same     a ufunc: its first loop that holds the operands, mostly of one dtype for all; what is no ufunc: promotion of the operands
    float    the same for floats; integers and bool become the float that NumPy has for them
    compare  bool, operands compared in their promoted dtype, but int64 with uint64 as they are
    logic    bool operands only (use `x != 0` for others)
    select   where(bool, a, b): promotion of a and b
    part     of a complex number
    word     uint64 only
    loops    the first loop of the row that holds the promoted operands, as of a ufunc

    Raises DTypeError for dtypes that NumPy does not take.
    """
    return _loop_dtypes(name, dtypes)


def forget_loops() -> None:
    """Forget what `loop_dtypes` has answered: rows were taken out of SCALAR_OPS."""
    _loop_dtypes.cache_clear()


@functools.cache
def _loop_dtypes(name: str, dtypes: tuple[Given, ...]) -> tuple[str, ...]:
    row = SCALAR_OPS[name]
    if len(dtypes) != row.arity:
        raise DTypeError(f"{row.name}: found {len(dtypes)} operands, expected {row.arity}")
    if row.rule == "logic" and any(dtype != "bool" for dtype in dtypes):
        raise DTypeError(f"{name}: found dtypes {_listed(dtypes)}, expected bool; compare first (x != 0)")
    if row.rule == "select":
        if dtypes[0] != "bool":
            raise DTypeError(f"where: found a condition of dtype {dtypes[0]}, expected bool; compare first (x != 0)")
        chosen = given_dtype(dtypes[1:])
        return "bool", chosen, chosen, chosen
    if row.rule == "part":
        if not is_complex(str(dtypes[0])):
            raise DTypeError(f"{name}: found {_listed(dtypes)}, expected a complex number")
        return str(dtypes[0]), part_of(str(dtypes[0]))
    if row.rule == "word":
        if any(dtype != "uint64" for dtype in dtypes):
            raise DTypeError(f"{name}: found {_listed(dtypes)}, expected uint64")
        return ("uint64",) * (row.arity + 1)
    if row.rule == "loops":
        return _own_loop(row, dtypes)
    ufunc = row.ufunc or row.meaning
    if row.rule != "cast" and isinstance(ufunc, np.ufunc):
        return _ufunc_loop(name, ufunc, dtypes)
    chosen = given_dtype(dtypes)
    inside = chosen if row.rule != "float" or is_inexact(chosen) else np.sqrt.resolve_dtypes((np.dtype(chosen), None))[-1].name
    return *[inside] * row.arity, "bool" if row.rule in ("compare", "logic") else inside


def _own_loop(row: ScalarOp, dtypes: Sequence[Given]) -> tuple[str, ...]:
    chosen, loops = given_dtype(dtypes), row.loops or {}
    for dtype, result in loops.items():
        if np.can_cast(chosen, dtype, "safe"):
            return *[dtype] * row.arity, result
    raise DTypeError(f"{row.name}: found {_listed(dtypes)}, expected {' or '.join(loops)}; use astype first")


def _ufunc_loop(name: str, ufunc: np.ufunc, dtypes: Sequence[Given]) -> tuple[str, ...]:
    given = tuple(np.dtype(dtype) if isinstance(dtype, str) else dtype for dtype in dtypes)
    try:
        found = tuple(dtype.name for dtype in ufunc.resolve_dtypes((*given, None)))
    except TypeError:
        found = ()
    if not found or any(dtype not in DTYPES for dtype in found):
        if all(dtype == "bool" for dtype in dtypes):
            raise DTypeError(f"{name}: found bool operands, expected numbers; use & | ~ for logic, or astype first")
        raise DTypeError(f"{name}: found {_listed(dtypes)}, for which NumPy does not have it; use astype first")
    return found


def given_dtype(dtypes: Sequence[Given]) -> str:
    """NumPy's result type; numbers are weak, what is known of theirs is the type."""
    return promoted(*(np.dtype(dtype) if isinstance(dtype, str) else dtype(1) for dtype in dtypes))


def _listed(dtypes: Sequence[Given]) -> str:
    return " and ".join(dtype if isinstance(dtype, str) else f"a Python {dtype.__name__}" for dtype in dtypes)


def converted(array: Any, dtype: str) -> Any:
    """astype, which of a complex number takes the real part where the dtype is that of a real one, as NumPy's does with a warning."""
    real = is_complex(array.dtype.name) and not is_complex(dtype) and dtype != "bool"
    return (array.real if real else array).astype(dtype)


def identity_of(reduction: str, dtype: str) -> Any:
    """The value that a fold starts from: 0 for sum, or and xor, 1 for prod, all bits for and, the least (greatest) value of the dtype for
    max (min)."""
    kind = np.dtype(dtype)
    if reduction in BIT_FOLDS:
        return np.invert(kind.type(0)) if reduction == "and" else kind.type(0)
    if reduction in ("sum", "prod"):
        return kind.type(reduction == "prod")
    if dtype == "bool":
        return kind.type(reduction == "min")
    if is_integer(dtype):
        return kind.type(integer_range(dtype)[reduction == "min"])
    end = -np.inf if reduction == "max" else np.inf
    return kind.type(complex(end, end) if is_complex(dtype) else end)
