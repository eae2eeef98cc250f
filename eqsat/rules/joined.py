"""What sum rows make of several classes: min and max of any number, and choices."""

from __future__ import annotations

from eqsat.egraph.snapshot import ENode
from eqsat.rules.visit import Visit

MAX_MEMBERS = 6
OPPOSITE = {"Min": "Max", "Max": "Min"}


def members_of(v: Visit, op: str, root: ENode) -> tuple[int, ...]:
    """The classes that nested nodes of one kind join, each once."""
    found: dict[int, None] = {}
    stack = list(root.args)
    while stack:
        name = stack.pop()
        node = v.node(name)
        if node.op == op:
            stack.extend(node.args)
        else:
            found[name] = None
    return tuple(sorted(found))


def chain(v: Visit, op: str, members: tuple[int, ...]) -> int:
    """The class of min or max of these."""
    result, *rest = members
    for member in rest:
        bounds = [v.bounds(result), v.bounds(member)]
        choose = min if op == "Min" else max
        node = v.encoder.node(op, *sorted((result, member)))
        result = v.encoder.bounded(node, (choose(b[0] for b in bounds), choose(b[1] for b in bounds)))
    return result


def where_of(v: Visit, condition: int, x: int, y: int) -> int:
    (a, b), (c, d) = v.bounds(x), v.bounds(y)
    return v.encoder.bounded(v.encoder.node("Where", condition, x, y), (min(a, c), max(b, d)))
