"""What rows for the engine define: the way back from Engine.load."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from eqsat.egraph.engine import Row
from eqsat.egraph.schema import CONSTRUCTORS
from eqsat.egraph.snapshot import ENode


def definitions_of(facts: Mapping[str, Iterable[Row]], names: list[str]) -> dict[int, ENode]:
    """The nodes that rows for Engine.load define, by handle."""
    found: dict[int, ENode] = {}
    members: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for handle, k, atom in facts.get("term", ()):
        members[handle].append((atom, k))
    factors: defaultdict[int, list[int]] = defaultdict(list)
    for handle, atom, count in facts.get("factor", ()):
        factors[handle] += [atom] * count
    for kind, rows in facts.items():
        for handle, *operands in rows:
            if kind in CONSTRUCTORS:
                sorts = CONSTRUCTORS[kind].operands
                found[handle] = ENode(kind, tuple(names[v] if sort == "Name" else v for sort, v in zip(sorts, operands, strict=True)))
            elif kind == "Sum":
                found[handle] = ENode("Sum", (operands[0], *members[handle]))
            elif kind.startswith("Sum"):
                pairs = zip(operands[2::2], operands[1::2], strict=True)
                found[handle] = ENode("Sum", (operands[0], *pairs))
            elif kind == "Prod":
                found[handle] = ENode("Prod", tuple(factors[handle]))
    return found
