"""What index operations cost, in processor cycles: the weights that choose between forms of an index term.

A division by a constant that is no power of two is a multiply-high, a shift and corrections; by a power of two a shift or a
mask; by a variable a hardware division.  The ratios are those that published simplifiers are scored with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eqsat.egraph.snapshot import ENode
from eqsat.ir.index import Apply, Const, Index, walk

ADD = 1.0
MULTIPLY = 2.0
HARDWARE_DIVIDE = 20.0
CONSTANT_DIVIDE = 10.0
SHIFT = 2.0
MASK = 1.0

# rules turn divisors positive; what is read through such a form meets more rules, and is spelled with a negative one where that is less
NEGATIVE_DIVISOR = 2.5

# operations of one instruction; Not is free, for it inverts a comparison or a branch; Given costs just enough that a term without
# it is preferred, which shares more
NODE_CYCLES = {
    **dict.fromkeys(("Num", "Var", "Axis", "RAxis", "Not", "Int", "Bool"), 0.0),
    "Given": 1e-3,
    "Shl": 2.0,
    "Shr": 2.0,
    "Abs": 1.0,
}


def is_power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def sum_cycles(constant: int, coefficients: tuple[int, ...]) -> float:
    """A sum of scaled terms: its additions, a product for every magnitude, a negation where there is nothing to subtract from."""
    if not coefficients:
        return 0.0
    magnitudes = {abs(k) for k in coefficients}
    work = MULTIPLY * len(magnitudes - {1}) + ADD * (len(coefficients) - 1 + (constant != 0))
    return work + ADD * (constant == 0 and magnitudes == {1} and all(k < 0 for k in coefficients))


def sign_cycles(op: str, constant: int, coefficients: tuple[int, ...]) -> float:
    """A comparison of a sum with zero, each side written without negation."""
    sides = [tuple(abs(k) for k in coefficients if (k > 0) == positive) for positive in (True, False)]
    return ADD * (1 + has_offset(op, constant, sides)) + sum(sum_cycles(0, side) for side in sides)


def has_offset(op: str, constant: int, sides: Sequence[object]) -> bool:
    """Whether a comparison adds its constant to a side: where one side is empty the constant stands there, and x > y is x - y - 1 >= 0."""
    return all(sides) and constant not in ((0, -1) if op == "Nonneg" else (0,))


def sign_saving(op: str, node: ENode) -> float:
    """How much less than its sum and one more operation a comparison of this sum costs."""
    if node.op != "Sum":
        return 0.0
    constant, coefficients = node.args[0], tuple(k for _, k in node.args[1:])
    return sum_cycles(constant, coefficients) + ADD - sign_cycles(op, constant, coefficients)


def division_cycles(op: str, divisor: int | None) -> float:
    """Floordiv or Mod by a constant, or by None for a variable."""
    if divisor is None:
        return HARDWARE_DIVIDE
    if is_power_of_two(divisor):
        return SHIFT if op == "Floordiv" else MASK
    return CONSTANT_DIVIDE


def node_cycles(node: ENode, constant_of: Callable[[int], int | None]) -> float | None:
    """Own cost of an e-node; None for nodes that are no program (recipes and pending substitutions)."""
    if node.op == "Sum":
        return sum_cycles(node.args[0], tuple(k for _, k in node.args[1:]))
    if node.op in ("Floordiv", "Mod"):
        divisor = constant_of(node.args[1])
        return division_cycles(node.op, divisor) + (NEGATIVE_DIVISOR if divisor is not None and divisor < 0 else 0.0)
    if node.op in ("Prod", "Mul"):
        return MULTIPLY * (len(node.args) - 1)
    if node.op == "Add":
        return ADD
    if node.op == "Scale":
        return sum_cycles(0, (node.args[0],))
    if node.op in ("Comp", "Pick", "Up"):
        return None
    if node.op.startswith("Raw"):
        return _written_cycles(node.args[0], [constant_of(arg) for arg in node.args[1:]])
    return NODE_CYCLES.get(node.op, 1.0)


def _written_cycles(op: str, constants: list[int | None]) -> float:
    if op in ("floordiv", "mod"):
        return division_cycles("Floordiv" if op == "floordiv" else "Mod", constants[1])
    if op == "mul":
        known = [k for k in constants if k is not None]
        return sum_cycles(0, (known[0],)) if known else MULTIPLY
    return NODE_CYCLES.get(op.capitalize(), ADD)


def term_cycles(term: Apply) -> float:
    """Own cost of an operation in a term."""
    return _written_cycles(term.op, [arg.value if isinstance(arg, Const) else None for arg in term.args])


def index_cycles(*terms: Index) -> float:
    """Cycles of index expressions, equal subterms counted once."""
    return sum(term_cycles(sub) for sub in walk(*terms) if isinstance(sub, Apply))
