"""Laws: what operations on elements do to their own results, to numbers that change nothing, to equal operands.

They are facts of the e-graph, stated for the operations of a program; what follows from them is said by the rows of rules/elements.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from eqsat.ir.dtypes import integer_range, is_complex, is_float, is_inexact, is_integer
from eqsat.ir.tensor import Call, Literal, Scalar

# a law: the number of a row, or of rows that are one law, and names
Law = tuple[int, str, str, str, str]
RIGHT, LEFT, TWICE, AGAIN, SAME, EVEN, BOTH, OPPOSITE, TURNED, CHOICE, NOT, MINUS, DENIED, ANY, FIRST, SECOND = range(16)

# numbers that an operation on the right, or on both sides, leaves its other operand with
RIGHT_UNITS: dict[str, float] = {"subtract": 0.0, "divide": 1, "floor_divide": 1, "left_shift": 0, "right_shift": 0, "power": 1}
UNITS: dict[str, float] = {
    "add": -0.0,
    "multiply": 1,
    "bitwise_or": 0,
    "bitwise_xor": 0,
    "bitwise_and": -1,
    "logical_and": True,
    "logical_or": False,
    "logical_xor": False,
}
# of floats these round
ROUNDED = ("floor_divide", "power")
INVOLUTIONS = ("negative", "invert", "logical_not", "conjugate")
WHOLE = ("floor", "ceil", "trunc", "rint")
IDEMPOTENT = ("maximum", "minimum", "fmax", "fmin", "bitwise_and", "bitwise_or", "logical_and", "logical_or")


def laws_of(term: Scalar) -> Iterator[Law]:
    """What the e-graph is told of the root of a term, without which no row matches it."""
    if not isinstance(term, Call):
        return
    op, dtype = term.op, term.dtype
    if op in INVOLUTIONS:
        yield TWICE, op, "", "", ""
    if op in IDEMPOTENT:
        yield SAME, op, "", "", ""
        if not is_inexact(dtype):
            yield ANY, op, dtype, "", ""
    if op == "where":
        yield CHOICE, op, "", "", ""
        yield NOT, op, "logical_not", "", ""
        yield FIRST, op, text_of(Literal(True, "bool")), "bool", ""
        yield SECOND, op, text_of(Literal(False, "bool")), "bool", ""
    if op in WHOLE:
        yield from ((AGAIN, op, inner, "", "") for inner in WHOLE)
    if op == "absolute":
        yield AGAIN, op, op, "", ""
        given = term.args[0].dtype
        if is_inexact(given) or (is_integer(given) and integer_range(given)[0] < 0):
            yield EVEN, op, "negative", given, ""
    if op == "logical_not":
        yield DENIED, op, "equal", "not_equal", ""
        yield DENIED, op, "not_equal", "equal", ""
    if op in ("multiply", "divide") and not is_complex(dtype):
        yield BOTH, op, "negative", dtype, ""
    if op in ("add", "subtract"):
        yield OPPOSITE, op, "negative", "subtract" if op == "add" else "add", ""
    if op == "add":
        yield TURNED, op, "negative", "subtract", ""
    yield from _numbers(term)


def _numbers(term: Call) -> Iterator[Law]:
    """What an operation with a number is."""
    op, dtype = term.op, term.dtype
    if len(term.args) != 2 or is_complex(dtype) or (op in ROUNDED and not is_integer(dtype)):
        return
    left, right = term.args
    unit = RIGHT_UNITS.get(op, UNITS.get(op))
    if isinstance(right, Literal) and _is(right, unit):
        yield RIGHT, op, dtype, text_of(right), ""
    if isinstance(left, Literal) and _is(left, UNITS.get(op)):
        yield LEFT, op, dtype, text_of(left), ""
    if op in ("multiply", "divide") and is_float(dtype) and isinstance(right, Literal) and right.value == -1:
        yield MINUS, op, dtype, text_of(right), "negative"
        yield TWICE, "negative", "", "", ""


def _is(literal: Literal, unit: float | None) -> bool:
    """Whether a number is this one, with the sign of zero."""
    if unit is None or (unit == -1 and not is_integer(literal.dtype)):
        return False
    return text_of(literal) == text_of(Literal(unit, literal.dtype)) if literal.value == unit else False


def text_of(literal: Literal) -> str:
    """The bytes of a constant, exactly."""
    return np.array(literal.value, literal.dtype).tobytes().hex()
