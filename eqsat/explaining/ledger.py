"""Equalities with reasons: congruence closure over ground nodes that can tell why two of them are equal.

Nodes are e-nodes whose operands are nodes (by number), so every number stands for one term.  Equalities are stated with the name of
the rule that found them; those that follow by congruence refer to the operands.  The forest of reasons is that of Nieuwenhuis
and Oliveras, "Proof-producing congruence closure" (RTA 2005).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from eqsat.egraph.forms import index_children
from eqsat.egraph.schema import OP_OF_NODE
from eqsat.egraph.snapshot import ENode
from eqsat.egraph.spell import index_term
from eqsat.ir.index import OPS, Index

Places = tuple[int, ...]
# operands of two congruent nodes that belong together, by position
Pairs = tuple[tuple[int, int], ...]
UNORDERED = frozenset(node for node, op in OP_OF_NODE.items() if OPS[op].commutative) | {"Add", "Mul", "Prod", "Sum"}


class Reason(NamedTuple):
    """The row that found an equality; `quiet` if it is just another way to write the same sum."""

    row: str
    quiet: bool = False


class Equality(NamedTuple):
    """Two nodes that a rule made equal."""

    left: int
    right: int
    reason: Reason


class Change(NamedTuple):
    """One equality used at a place (operand positions from the top) of a term: the whole term before and after."""

    before: int
    after: int
    place: Places
    reason: Reason


REORDER = Reason("flatten-sum", True)


def with_children(node: ENode, children: Iterable[int]) -> ENode:
    """The node with other operands."""
    below = list(children)
    if node.op == "Sum":
        return ENode("Sum", (node.args[0], *((child, k) for child, (_, k) in zip(below, node.args[1:], strict=True))))
    if node.op == "Given":
        return ENode("Given", (below[0], node.args[1]))
    return ENode(node.op, (*node.args[: len(node.args) - len(below)], *below))


class Ledger:
    """Nodes by number, and `stated`: every equality that taught something, in order."""

    def __init__(self) -> None:
        self.nodes: list[ENode] = []
        self.stated: list[Equality] = []
        self._numbers: dict[ENode, int] = {}
        self._closure = _Closure(self.nodes)

    def add(self, node: ENode) -> int:
        """The number of a node whose operands are numbers."""
        if node not in self._numbers:
            self._numbers[node] = len(self.nodes)
            self.nodes.append(node)
            self._closure.register(self._numbers[node])
        return self._numbers[node]

    def term(self, number: int) -> Index:
        """The index term that a node is."""
        return index_term(dict(enumerate(self.nodes)), number)

    def equal(self, a: int, b: int) -> bool:
        return self._closure.find(a) == self._closure.find(b)

    def state(self, a: int, b: int, reason: Reason) -> None:
        """State a = b."""
        if not self.equal(a, b):
            self.stated.append(Equality(a, b, reason))
            self._closure.union(a, b, reason)

    def steps(self, a: int, b: int) -> list[Change]:
        """The changes that lead from one node to an equal one, each needed equality used where it must be."""
        needed = self._needed(a, b)
        closure = self._restricted(needed, a, b)
        return _without_loops(a, list(_Explainer(self, closure).chain(a, b)))

    def _needed(self, a: int, b: int) -> list[Equality]:
        """Equalities none of which can be left out: those of one explanation, tried one after the other, the latest first."""
        rows = _Explainer(self, self._closure)
        rows.chain(a, b)
        used = [e for e in self.stated if e in rows.used]
        for equality in reversed(used):
            fewer = [e for e in used if e is not equality]
            closure = self._restricted(fewer, a, b)
            if closure.find(a) == closure.find(b):
                used = fewer
        return used

    def _restricted(self, equalities: list[Equality], *roots: int) -> _Closure:
        """The closure of these equalities over the nodes that they mention."""
        closure = _Closure(self.nodes)
        for root in (*roots, *(side for e in equalities for side in e[:2])):
            closure.register_all(root)
        for e in equalities:
            closure.union(e.left, e.right, e.reason)
        return closure


class _Closure:
    """Union-find with congruence, and its forest of reasons: for each number another one that it equals, and why."""

    def __init__(self, nodes: list[ENode]) -> None:
        self.nodes = nodes
        self.reason: dict[int, tuple[int, Reason | Pairs]] = {}
        self._leader: dict[int, int] = {}
        self._members: dict[int, list[int]] = {}
        self._parents: dict[int, list[int]] = {}
        self._signatures: dict[tuple[object, ...], int] = {}

    def register_all(self, root: int) -> None:
        """A node and all below it."""
        stack = [root]
        while stack:
            missing = [child for child in index_children(self.nodes[stack[-1]]) if child not in self._leader]
            if missing:
                stack.extend(missing)
            elif (number := stack.pop()) not in self._leader:
                self.register(number)

    def register(self, number: int) -> None:
        self._leader[number], self._members[number], self._parents[number] = number, [number], []
        for child in index_children(self.nodes[number]):
            self._parents[self.find(child)].append(number)
        self._meet([number])

    def find(self, number: int) -> int:
        return self._leader[number]

    def union(self, a: int, b: int, why: Reason | Pairs) -> None:
        """Make two equal, and what follows by congruence."""
        todo: list[tuple[int, int, Reason | Pairs]] = [(a, b, why)]
        while todo:
            a, b, why = todo.pop()
            small, large = self.find(a), self.find(b)
            if small == large:
                continue
            if len(self._members[small]) > len(self._members[large]):
                small, large, a, b, why = large, small, b, a, _turned(why)
            self._hang(a, b, why)
            for member in self._members[small]:
                self._leader[member] = large
            self._members[large] += self._members.pop(small)
            moved = self._parents.pop(small)
            self._parents[large] += moved
            todo += self._congruent(moved)

    def _meet(self, numbers: list[int]) -> None:
        for a, b, pairs in self._congruent(numbers):
            self.union(a, b, pairs)

    def _congruent(self, numbers: list[int]) -> Iterator[tuple[int, int, Pairs]]:
        """Nodes among these that have become like another one of another class."""
        for number in numbers:
            signature = self._signature(self.nodes[number])
            other = self._signatures.setdefault(signature, number)
            if self.find(other) != self.find(number):
                yield number, other, self._pairs(number, other)

    def _signature(self, node: ENode) -> tuple[object, ...]:
        keys = self._keys(node)
        parameters = node.args[: 1 if node.op == "Sum" else len(node.args) - len(keys)]
        if node.op == "Given":
            parameters = node.args[1:]
        return (node.op, parameters, *(sorted(keys) if node.op in UNORDERED else keys))

    def _keys(self, node: ENode) -> list[tuple[int, int]]:
        """Class and coefficient of each operand."""
        if node.op == "Sum":
            return [(self.find(atom), k) for atom, k in node.args[1:]]
        return [(self.find(child), 1) for child in index_children(node)]

    def _pairs(self, a: int, b: int) -> Pairs:
        left, right = (self._keys(self.nodes[n]) for n in (a, b))
        if self.nodes[a].op not in UNORDERED:
            return tuple((k, k) for k in range(len(left)))
        first, second = (sorted(range(len(keys)), key=keys.__getitem__) for keys in (left, right))
        return tuple(zip(first, second, strict=True))

    def _hang(self, a: int, b: int, why: Reason | Pairs) -> None:
        """Turn the reasons on the way up from a, then let a equal b."""
        below, reason = b, why
        here: int | None = a
        while here is not None:
            up = self.reason.get(here)
            self.reason[here] = (below, reason)
            here, below, reason = (up[0], here, _turned(up[1])) if up is not None else (None, here, reason)

    def path(self, a: int, b: int) -> list[tuple[int, int, Reason | Pairs]]:
        """The reasons that lead from a to b."""
        ups = self._way_up(a)
        at = {number: k for k, (number, _, _) in enumerate(ups)}
        at.setdefault(ups[-1][1] if ups else a, len(ups))
        downs: list[tuple[int, int, Reason | Pairs]] = []
        here = b
        while here not in at:
            above, why = self.reason[here]
            downs.append((above, here, _turned(why)))
            here = above
        return [*ups[: at[here]], *reversed(downs)]

    def _way_up(self, number: int) -> list[tuple[int, int, Reason | Pairs]]:
        found = []
        while number in self.reason:
            above, why = self.reason[number]
            found.append((number, above, why))
            number = above
        return found


def _turned(why: Reason | Pairs) -> Reason | Pairs:
    return why if isinstance(why, Reason) else tuple((b, a) for a, b in why)


class _Explainer:
    """Chains of changes from a closure; `used` collects the equalities that they rest on."""

    def __init__(self, ledger: Ledger, closure: _Closure) -> None:
        self.ledger, self.closure = ledger, closure
        self.used: set[Equality] = set()
        self._known: dict[tuple[int, int], list[Change]] = {}

    def chain(self, a: int, b: int) -> list[Change]:
        if (a, b) not in self._known:
            found: list[Change] = []
            for u, v, why in self.closure.path(a, b):
                if isinstance(why, Reason):
                    self.used |= {Equality(u, v, why), Equality(v, u, why)}
                    found.append(Change(u, v, (), why))
                else:
                    found += self._lifted(u, v, why)
            self._known[a, b] = found
        return self._known[a, b]

    def _lifted(self, u: int, v: int, pairs: Pairs) -> Iterator[Change]:
        """Operand by operand; the last change brings the operands into the order of v."""
        node = self.ledger.nodes[u]
        mine, other = list(index_children(node)), index_children(self.ledger.nodes[v])
        here = u
        for at, k in pairs:
            for change in self.chain(mine[at], other[k]):
                mine[at] = change.after
                there = self.ledger.add(with_children(node, mine))
                yield Change(here, there, (at, *change.place), change.reason)
                here = there
        if here != v:
            yield Change(here, v, (), REORDER)


def _without_loops(start: int, changes: list[Change]) -> list[Change]:
    """The chain without ways that come back to a term."""
    found: list[Change] = []
    seen = {start: 0}
    for change in changes:
        found.append(change)
        if change.after in seen:
            del found[seen[change.after] :]
            seen = {start: 0, **{c.after: k + 1 for k, c in enumerate(found)}}
        else:
            seen[change.after] = len(found)
    return found


def subterm(nodes: Mapping[int, ENode] | list[ENode], number: int, place: Places) -> int:
    """The node at a place of a term."""
    for position in place:
        number = index_children(nodes[number])[position]
    return number
