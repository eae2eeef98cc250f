"""What index operations cost, in processor cycles: the weights that choose between forms of an index term.

A division by a constant that is no power of two is a multiply-high, a shift and corrections; by a power of two a shift or a
mask; by a variable a hardware division.  The ratios are those that published simplifiers are scored with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from eqsat.egraph.schema import INDEX_LEAVES, OP_OF_NODE
from eqsat.egraph.snapshot import ENode
from eqsat.ir.index import Apply, Const, Index, walk

# by operation; what it divides by is part of a division's name, and what is not here has the name in SAME_AS
INDEX_CYCLES = {
    "add": 1.0,
    "mul": 2.0,
    "floordiv": 20.0,
    "floordiv_constant": 10.0,
    "floordiv_power_of_two": 2.0,
    "mod": 20.0,
    "mod_constant": 10.0,
    "mod_power_of_two": 1.0,
    "compare": 1.0,
    "min": 1.0,
    "max": 1.0,
    "where": 1.0,
    "abs": 1.0,
    "bitand": 1.0,
    "bitor": 1.0,
    "bitxor": 1.0,
    "shl": 2.0,
    "shr": 2.0,
}
# conjunctions and disjunctions are minima and maxima in the e-graph
SAME_AS = {
    **dict.fromkeys(("sub", "neg"), "add"),
    **dict.fromkeys(("lt", "le", "gt", "ge", "eq", "ne"), "compare"),
    "and": "min",
    "or": "max",
}
# rules turn divisors positive; what is read through such a form meets more rules, and is spelled with a negative one where that is less
NEGATIVE_DIVISOR = 2.5
# not is free, for it inverts a comparison or a branch; Given costs just enough that a term without it is preferred, which shares more
FREE_NODES = dict.fromkeys((*INDEX_LEAVES, "Not"), 0.0)
GIVEN = 1e-3
# and beside such a term a division costs more than what rests on a few assumptions and has none
DIVIDED = 4e-3
FREE_OPS = ("not", "int", "bool")
# nodes that are no program: recipes and pending substitutions
PENDING = ("Comp", "Pick", "Up")
OTHER = 1.0


@dataclass(frozen=True)
class IndexWeights:
    """Cycles of index operations; equal where the same names have other cycles than in INDEX_CYCLES.

    changes  (name, cycles) of those, in order
    """

    changes: tuple[tuple[str, float], ...] = ()
    add: float = field(init=False, compare=False)
    multiply: float = field(init=False, compare=False)
    compare: float = field(init=False, compare=False)
    least: float = field(init=False, compare=False)
    divisions: Mapping[str, tuple[float, float, float]] = field(init=False, compare=False, repr=False)
    nodes: Mapping[str, float] = field(init=False, compare=False, repr=False)
    ops: Mapping[str, float] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        cycles = {**INDEX_CYCLES, **dict(self.changes)}
        divisions = {op: (cycles[op], cycles[f"{op}_constant"], cycles[f"{op}_power_of_two"]) for op in ("floordiv", "mod")}
        nodes = {node: cycles[op] for node, op in OP_OF_NODE.items() if op in cycles and op not in divisions}
        signs = dict.fromkeys(("Nonneg", "Zero"), cycles["compare"])
        ops = {**{op: cycles[same] for op, same in SAME_AS.items()}, **cycles, **dict.fromkeys(FREE_OPS, 0.0)}
        values = {
            "add": cycles["add"],
            "multiply": cycles["mul"],
            "compare": cycles["compare"],
            "least": min(cycles.values()),
            "divisions": {**divisions, "Floordiv": divisions["floordiv"], "Mod": divisions["mod"]},
            "nodes": {**FREE_NODES, **nodes, **signs, "Given": GIVEN, "Add": cycles["add"]},
            "ops": ops,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def sum_cycles(self, constant: int, coefficients: tuple[int, ...]) -> float:
        """A sum of scaled terms: its additions, a product for every magnitude, a negation where there is nothing to subtract from."""
        if not coefficients:
            return 0.0
        magnitudes = {abs(k) for k in coefficients}
        work = self.multiply * len(magnitudes - {1}) + self.add * (len(coefficients) - 1 + (constant != 0))
        return work + self.add * (constant == 0 and magnitudes == {1} and all(k < 0 for k in coefficients))

    def sign_cycles(self, op: str, constant: int, coefficients: tuple[int, ...]) -> float:
        """A comparison of a sum with zero, each side written without negation."""
        sides = [tuple(abs(k) for k in coefficients if (k > 0) == positive) for positive in (True, False)]
        offset = self.add * has_offset(op, constant, sides)
        return self.compare + offset + sum(self.sum_cycles(0, side) for side in sides)

    def sign_saving(self, op: str, node: ENode) -> float:
        """How much less than its sum and one more operation a comparison of this sum costs."""
        if node.op != "Sum":
            return 0.0
        constant, coefficients = node.args[0], tuple(k for _, k in node.args[1:])
        return self.sum_cycles(constant, coefficients) + self.compare - self.sign_cycles(op, constant, coefficients)

    def division_cycles(self, op: str, divisor: int | None) -> float:
        """Floordiv or Mod by a constant, or by None for a variable."""
        variable, constant, power_of_two = self.divisions[op]
        if divisor is None:
            return variable
        return power_of_two if is_power_of_two(divisor) else constant

    def node_cycles(self, node: ENode, constant_of: Callable[[int], int | None]) -> float | None:
        """Own cost of an e-node; None for nodes that are no program (recipes and pending substitutions)."""
        op = node.op
        if op == "Sum":
            return self.sum_cycles(node.args[0], tuple([k for _, k in node.args[1:]]))
        fixed = self.nodes.get(op)
        if fixed is not None:
            return fixed
        if op in ("Floordiv", "Mod"):
            divisor = constant_of(node.args[1])
            return self.division_cycles(op, divisor) + (NEGATIVE_DIVISOR if divisor is not None and divisor < 0 else 0.0)
        if op in ("Prod", "Mul"):
            return self.multiply * (len(node.args) - 1)
        if op == "Scale":
            return self.sum_cycles(0, (node.args[0],))
        if op in PENDING:
            return None
        if op.startswith("Raw"):
            return self._written_cycles(node.args[0], [constant_of(arg) for arg in node.args[1:]])
        return OTHER

    def _written_cycles(self, op: str, constants: list[int | None]) -> float:
        if op in self.divisions:
            return self.division_cycles(op, constants[1])
        if op == "mul":
            known = [k for k in constants if k is not None]
            return self.sum_cycles(0, (known[0],)) if known else self.multiply
        return self.ops.get(op, OTHER)

    def term_cycles(self, term: Apply) -> float:
        """Own cost of an operation in a term."""
        return self._written_cycles(term.op, [arg.value if isinstance(arg, Const) else None for arg in term.args])


DEFAULT_WEIGHTS = IndexWeights()


def index_cycles(*terms: Index, weights: IndexWeights = DEFAULT_WEIGHTS) -> float:
    """Cycles of index expressions, equal subterms counted once."""
    return sum(weights.term_cycles(sub) for sub in walk(*terms) if isinstance(sub, Apply))


def is_power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def has_offset(op: str, constant: int, sides: Sequence[object]) -> bool:
    """Whether a comparison adds its constant to a side: where one side is empty the constant stands there, and x > y is x - y - 1 >= 0."""
    return all(sides) and constant not in ((0, -1) if op == "Nonneg" else (0,))
