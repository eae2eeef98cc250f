"""Scalar operations on elements: one row says what an operation means and which dtypes it takes and gives.

The NumPy function is the meaning (the reference interpreter calls it).  Cost weights live in eqsat/costs.py and code in
codegen/, both under the same name; a test holds the three tables together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from eqsat.ir.dtypes import is_float, promote
from eqsat.ir.errors import DTypeError

Rule = Literal["same", "float", "compare", "logic", "select", "cast"]


@dataclass(frozen=True)
class ScalarOp:
    """`rule` gives the result dtype: see `result_dtype`."""

    name: str
    arity: int
    rule: Rule
    meaning: Callable[..., Any]
    symbol: str = ""
    takes_bool: bool = False


@dataclass(frozen=True)
class ReduceOp:
    """A fold: `step` is the scalar operation, `meaning` reduces a NumPy array over an axis."""

    name: str
    step: str
    meaning: Callable[..., Any]


def _scalar(*rows: ScalarOp) -> dict[str, ScalarOp]:
    return {row.name: row for row in rows}


SCALAR_OPS = _scalar(
    ScalarOp("add", 2, "same", np.add, "+"),
    ScalarOp("subtract", 2, "same", np.subtract, "-"),
    ScalarOp("multiply", 2, "same", np.multiply, "*"),
    ScalarOp("divide", 2, "float", np.divide, "/"),
    ScalarOp("floor_divide", 2, "same", np.floor_divide, "//"),
    ScalarOp("remainder", 2, "same", np.remainder, "%"),
    ScalarOp("negative", 1, "same", np.negative, "-"),
    ScalarOp("absolute", 1, "same", np.absolute, takes_bool=True),
    ScalarOp("sqrt", 1, "float", np.sqrt),
    ScalarOp("exp", 1, "float", np.exp),
    ScalarOp("log", 1, "float", np.log),
    ScalarOp("tanh", 1, "float", np.tanh),
    ScalarOp("maximum", 2, "same", np.maximum, takes_bool=True),
    ScalarOp("minimum", 2, "same", np.minimum, takes_bool=True),
    ScalarOp("less", 2, "compare", np.less, "<", takes_bool=True),
    ScalarOp("less_equal", 2, "compare", np.less_equal, "<=", takes_bool=True),
    ScalarOp("greater", 2, "compare", np.greater, ">", takes_bool=True),
    ScalarOp("greater_equal", 2, "compare", np.greater_equal, ">=", takes_bool=True),
    ScalarOp("equal", 2, "compare", np.equal, "==", takes_bool=True),
    ScalarOp("not_equal", 2, "compare", np.not_equal, "!=", takes_bool=True),
    ScalarOp("logical_and", 2, "logic", np.logical_and, "and", takes_bool=True),
    ScalarOp("logical_or", 2, "logic", np.logical_or, "or", takes_bool=True),
    ScalarOp("logical_not", 1, "logic", np.logical_not, "not", takes_bool=True),
    ScalarOp("where", 3, "select", np.where, takes_bool=True),
    ScalarOp("astype", 1, "cast", lambda x: x, takes_bool=True),
)

REDUCE_OPS = {
    "sum": ReduceOp("sum", "add", np.add.reduce),
    "prod": ReduceOp("prod", "multiply", np.multiply.reduce),
    "max": ReduceOp("max", "maximum", np.maximum.reduce),
    "min": ReduceOp("min", "minimum", np.minimum.reduce),
}


def result_dtype(name: str, *dtypes: str) -> str:
    """The dtype that NumPy 2 gives for an operation on arrays of these dtypes.

    same     promotion of the operands; bool only where NumPy has a loop for it and means the same
    float    the same for floats; integers and bool become float64
    compare  bool, operands compared in their promoted dtype
    logic    bool operands only (use `x != 0` for others)
    select   where(bool, a, b): promotion of a and b
    """
    row = SCALAR_OPS[name]
    if len(dtypes) != row.arity:
        raise DTypeError(f"{name}: found {len(dtypes)} operands, expected {row.arity}")
    if row.rule == "logic" and any(dtype != "bool" for dtype in dtypes):
        raise DTypeError(f"{name}: found dtypes {', '.join(dtypes)}, expected bool; compare first (x != 0)")
    if row.rule == "select":
        if dtypes[0] != "bool":
            raise DTypeError(f"where: found a condition of dtype {dtypes[0]}, expected bool; compare first (x != 0)")
        return promote(*dtypes[1:])
    promoted = promote(*dtypes)
    if promoted == "bool" and not row.takes_bool and row.rule == "same":
        raise DTypeError(f"{name}: found bool operands, expected numbers; use & | ~ for logic, or astype first")
    if row.rule in ("compare", "logic"):
        return "bool"
    if row.rule == "float" and not is_float(promoted):
        return "float64"
    return promoted


def identity_of(reduction: str, dtype: str) -> Any:
    """The value that a fold starts from: 0 for sum, 1 for prod, the least (greatest) value of the dtype for max (min)."""
    kind = np.dtype(dtype)
    if reduction in ("sum", "prod"):
        return kind.type(reduction == "prod")
    low, high = (False, True) if dtype == "bool" else (-np.inf, np.inf)
    if dtype in ("int32", "int64"):
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
    return kind.type(low if reduction == "max" else high)
