"""A short text for every class: its smallest term, cut off where it gets long."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping, Sequence

from eqsat.exploring.graph import Node

MOST_CHARACTERS = 48
MOST_LEVELS = 5


def class_terms(nodes: Mapping[int, Sequence[Node]]) -> dict[int, str]:
    """The text of the smallest term of every class, given its nodes; of a class without a finite term its id."""
    least = _least_nodes(nodes)
    return {id: _text(id, least, MOST_LEVELS) for id in nodes}


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


def _text(id: int, least: Mapping[int, Node], levels: int) -> str:
    node = least.get(id)
    if node is None or not levels:
        return f"c{id}"
    parts = [_text(operand, least, levels - 1) for operand in node.operands]
    simple = node.template in ("{0}", *(f"{node.operation}({{0}})",))
    bracketed = [part if simple or part.isidentifier() or part.isdigit() or part.endswith(")") and "(" in part[:12] else f"({part})" for part in parts]
    text = node.template.format(*bracketed)
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"
