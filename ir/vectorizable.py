"""What may stand in tiles: operations whose code serves vectors, and elements that a vector holds as memory does."""

from __future__ import annotations

from collections.abc import Collection

from eqsat.ir.dtypes import DTYPES, UNSIGNED, carrier, is_complex, is_float, itemsize
from eqsat.ir.loops import Bind, Load, Stmt, Store, Temp, value_of
from eqsat.ir.tensor import Call, Literal, Scalar, operands, scalars

JOINT_OPS = frozenset(("add", "subtract", "multiply", "divide", "negative", "absolute", "sqrt", "maximum", "minimum"))
# elements that are one number in a register as in memory, and are folded in their own dtype
LANES = frozenset(dtype for dtype in DTYPES if dtype != "bool" and not is_complex(dtype) and carrier(dtype) == dtype)
# others, and the integers as which they are moved where nothing is made of them
MOVED_AS = {"bool": "uint8", "float16": "uint16", "bfloat16": "uint16"}
# loads of every second, third and fourth element are picked out of whole vectors
LARGEST_STEP = 4


def is_joint(stmt: Stmt, rows: Collection[Scalar] = ()) -> bool:
    """Whether the code of a statement serves several iterations at once; `rows`: gathers that go along memory."""
    value = value_of(stmt)
    if value is None:
        return isinstance(stmt, Bind)
    return is_joint_value(value, rows) and not (isinstance(stmt, Store) and stmt.combine not in ("sum", None))


def is_joint_value(value: Scalar, rows: Collection[Scalar] = ()) -> bool:
    """Whether the code of an element serves several iterations at once; `rows`: gathers that go along memory."""
    places = {term for row in rows for term in scalars(*operands(row))}
    terms = [term for term in scalars(value) if term not in places]
    parts = {load for term in terms if is_part(term) for load in operands(term)}
    known = (isinstance(term, Load | Temp | Literal) or term in rows or (isinstance(term, Call) and _is_joint_call(term)) for term in terms)
    return all(known) and all(term.dtype in LANES or term in parts for term in terms)


def is_moved(value: Scalar) -> bool:
    """Whether an element is only moved, as the integer of its size."""
    return isinstance(value, Load) and value.dtype in MOVED_AS


def is_part(term: Scalar) -> bool:
    """Whether an element is one part of a complex number in memory."""
    return isinstance(term, Call) and term.op in ("real", "imag") and isinstance(term.args[0], Load)


def _is_joint_call(call: Call) -> bool:
    return call.op in JOINT_OPS or is_part(call) or (call.op == "astype" and widening(call.args[0].dtype, call.dtype) is not None)


def widening(source: str, target: str) -> str | None:
    """LLVM's instruction that makes of elements of a dtype those of another that holds more, or a float of an integer; None for others."""
    if not {source, target} <= LANES or (is_float(source) and not is_float(target)):
        return None
    if is_float(target) and not is_float(source):
        return "uitofp" if source in UNSIGNED else "sitofp"
    if itemsize(source) >= itemsize(target):
        return None
    return "fpext" if is_float(source) else "zext" if source in UNSIGNED else "sext"
