"""A short text for every class: its smallest term, cut off where it gets long."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping, Sequence

from eqsat.exploring.data import Node
from eqsat.exploring.labels import MAP

MOST_CHARACTERS = 48
MOST_LEVELS = 5


def class_terms(nodes: Mapping[int, Sequence[Node]]) -> dict[int, str]:
    """The text of the smallest term of every class, given its nodes; of a class without a finite term its id."""
    writer = _Writer(_least_nodes(nodes))
    return {id: _shortened(writer.text(id)) for id in nodes}


def _least_nodes(nodes: Mapping[int, Sequence[Node]]) -> dict[int, Node]:
    """The node of each class with the smallest tree (Knuth's generalization of Dijkstra's algorithm); nodes that no program is made of
    are taken where there is no other."""
    waiting = {}
    users: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    ready: list[tuple[int, int, int]] = []
    size: dict[int, int] = {}
    least: dict[int, Node] = {}
    for id, members in nodes.items():
        for place, node in enumerate(members):
            below = set(node.operands)
            waiting[id, place] = len(below)
            for operand in below:
                users[operand].append((id, place))
            if not below:
                heapq.heappush(ready, (_own(node), id, place))
    while ready:
        total, id, place = heapq.heappop(ready)
        if id in size:
            continue
        size[id], least[id] = total, nodes[id][place]
        for user in users[id]:
            waiting[user] -= 1
            if not waiting[user]:
                node = nodes[user[0]][user[1]]
                heapq.heappush(ready, (_own(node) + sum(size[operand] for operand in node.operands), *user))
    return least


def _own(node: Node) -> int:
    return 1 if node.cost is not None or not node.operands else 4


class _Writer:
    """Writes the terms of the least nodes, a few levels of them."""

    def __init__(self, least: Mapping[int, Node]) -> None:
        self.least = least

    def text(self, id: int, levels: int = MOST_LEVELS) -> str:
        node = self.least.get(id)
        if node is None or not levels:
            return f"c{id}"
        if node.operation in ("cons", "nil"):
            return f"({', '.join(self._items(id, levels))})"
        if node.operation == "read":
            return f"{self._tensor(node.operands[0])}[{', '.join(self._items(node.operands[1], levels))}]"
        if node.operation == "element":
            return f"{self._tensor(node.operands[0])}[i...]"
        if node.operation == "build":
            return f"build {self.text(node.operands[0])}: {self.text(node.operands[1], levels - 1)}"
        alone = _is_loose(node)
        return node.template.removesuffix(MAP).format(*(self._operand(operand, levels - 1, alone) for operand in node.operands))

    def _operand(self, id: int, levels: int, alone: bool) -> str:
        """An operand, in brackets where it has to stand `alone` between operators."""
        node = self.least.get(id)
        text = self.text(id, levels)
        return f"({text})" if alone and levels and node is not None and _is_loose(node) else text

    def _items(self, id: int, levels: int) -> list[str]:
        """The terms of a list."""
        found = []
        node = self.least.get(id)
        while node is not None and node.operation == "cons":
            found.append(self.text(node.operands[0], levels - 1))
            id = node.operands[1]
            node = self.least.get(id)
        return found if node is not None and node.operation == "nil" else [*found, f"*c{id}"]

    def _tensor(self, id: int) -> str:
        """An input by its name, another tensor by its class."""
        node = self.least.get(id)
        return node.template.format() if node is not None and node.operation == "input" else f"c{id}"


def _is_loose(node: Node) -> bool:
    """Whether the text of a node falls apart between operators: it is no name, number, call or load."""
    return bool(node.operands) and "(" not in node.template and not node.template.endswith("]")


def _shortened(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"
