"""How e-nodes and their operands read: texts in which {0}, {1}, ... stand for the classes below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eqsat.egraph.encode_tensor import literal_from
from eqsat.egraph.schema import CLASS_SORTS, CONSTRUCTORS, OP_OF_NODE
from eqsat.egraph.snapshot import ENode
from eqsat.ir.index import OPS
from eqsat.ir.tensor import Constant, Input, Tensor

# ends the text of an operation as it is written in a map of a tensor program, which index rules do not see
MAP = "  (map)"
SORTS = {"Ix": "index", "Sx": "element", "Tx": "tensor", "Ixs": "index list", "Sy": "function as written"}
INFIX = {
    "Add": "+",
    "Mul": "*",
    "Floordiv": "//",
    "Mod": "%",
    "Bitand": "&",
    "Bitor": "|",
    "Bitxor": "^",
    "Shl": "<<",
    "Shr": ">>",
}
_WRITTEN = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "floordiv": "//",
    "mod": "%",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
}
_FIXED = {
    "Not": "not {0}",
    "Nonneg": "{0} >= 0",
    "Zero": "{0} == 0",
    "Comp": "{0}[{1}]",
    "CompList": "{0}[{1}]",
    "At": "{0}[{1}]",
    "Up": "{0} in a fold",
    "UpList": "{0} in a fold",
    "Nil": "()",
    "Cons": "({0}, *{1})",
    "Read": "{0}[*{1}]",
    "Element": "{0}[i...]",
    "Build": "build {0}: {1}",
}


def operands(node: ENode) -> tuple[int, ...]:
    """The classes below a node, as its template numbers them."""
    if node.op == "Sum":
        return tuple(atom for atom, _ in node.args[1:])
    if node.op == "Prod":
        return node.args
    sorts = CONSTRUCTORS[node.op].operands
    return tuple(arg for sort, arg in zip(sorts, node.args, strict=True) if sort in CLASS_SORTS)


def operation(node: ENode) -> str:
    """What a node does, in one word that can be searched for."""
    kind = _kind(node)
    if kind.startswith(("Call", "Raw")) or kind == "Reduce":
        return str(node.args[0])
    if kind.startswith("Gather"):
        return "gather"
    names = {"Num": "constant", "Var": "variable", "Axis": "loop", "RAxis": "fold loop", "Leaf": "input"}
    return names.get(kind, OP_OF_NODE.get(kind, kind.lower()))


def template(node: ENode, leaves: Sequence[Tensor] = ()) -> str:
    """The text of a node; `leaves` are the inputs and constants by the number of their Leaf node."""
    kind, args = _kind(node), node.args
    if kind in _FIXED:
        return _FIXED[kind]
    if kind in INFIX:
        return f"{{0}} {INFIX[kind]} {{1}}"
    if kind == "Sum":
        return _sum(args[0], [k for _, k in args[1:]])
    if kind == "Prod":
        return "*".join(f"{{{k}}}" for k in range(len(args)))
    if kind in ("Num", "Var"):
        return _plain(str(args[0]))
    if kind in ("Axis", "RAxis"):
        return f"{'i' if kind == 'Axis' else 'r'}{args[0]}"
    if kind == "Scale":
        return f"{args[0]}*{{0}}"
    if kind == "Leaf":
        return _plain(_leaf(args[0], leaves))
    return _call(kind, node)


def _kind(node: ENode) -> str:
    """The kind of a node; functions as they are written read like elements."""
    return node.op[1:] if node.op.startswith("Q") else node.op


def _call(kind: str, node: ENode) -> str:
    args = node.args
    below = ", ".join(f"{{{k}}}" for k in range(len(operands(node))))
    if kind.startswith("Raw"):
        op = args[0]
        if op in _WRITTEN and OPS[op].arity == 2:
            return f"{{0}} {_WRITTEN[op]} {{1}}{MAP}"
        return f"{op}({below}){MAP}"
    if kind == "Literal":
        return _plain(str(literal_from(*args).value))
    if kind == "Position":
        return f"{args[1]}({{0}})"
    if kind.startswith("Gather"):
        return "{0}[" + ", ".join(f"{{{k}}}" for k in range(1, len(args))) + "]"
    if kind.startswith("Call"):
        return f"{args[1]}({below})" if args[0] in ("", "astype") else f"{_plain(args[0])}({below})"
    if kind == "Reduce":
        return f"{args[0]} of {args[1]}: {{0}}"
    if kind == "Generic":
        return f"tensor {args[0]}, {{0}}: {{2}}"
    if kind == "Given":
        return f"{{0}} under assumption {args[1]}"
    if kind == "Pick":
        return f"{{0}}.{args[1]}"
    return f"{OP_OF_NODE.get(kind, kind.lower())}({below})"


def _sum(constant: int, coefficients: Sequence[int]) -> str:
    return "".join(_terms(constant, coefficients)) or str(constant)


def _terms(constant: int, coefficients: Sequence[int]) -> Iterator[str]:
    for k, factor in enumerate(coefficients):
        sign = ("-" if factor < 0 else "") if k == 0 else (" - " if factor < 0 else " + ")
        yield f"{sign}{'' if abs(factor) == 1 else f'{abs(factor)}*'}{{{k}}}"
    if constant and coefficients:
        yield f" {'-' if constant < 0 else '+'} {abs(constant)}"


def _leaf(number: int, leaves: Sequence[Tensor]) -> str:
    leaf = leaves[number] if number < len(leaves) else None
    if isinstance(leaf, Constant):
        return f"constant {number}"
    return leaf.name if isinstance(leaf, Input) else f"input {number}"


def _plain(text: str) -> str:
    """A text in which no brace stands for an operand."""
    return text.replace("{", "{{").replace("}", "}}")
