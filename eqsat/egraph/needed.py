"""What an e-graph of index terms must hold for some of them: the others leave it, so that nobody steps, reads or visits them again.

A class is needed if it is a root, if a needed class has a node or a view that is made of it, or if it is equal to one that is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from eqsat.egraph.encode import Encoder
from eqsat.egraph.engine import Row
from eqsat.egraph.forms import Reading, index_children
from eqsat.egraph.schema import LEAVES, OF_TWO, class_columns
from eqsat.egraph.snapshot import Snapshot

Rows = Mapping[str, list[Row]]


class Needs:
    """Which classes of a snapshot are made of which.

    stated  the views that the e-graph holds; what the encoder holds is stated too
    """

    def __init__(self, snapshot: Snapshot, encoder: Encoder, stated: Rows) -> None:
        self._names = names = snapshot.names["Ix"]
        classes = snapshot.classes["Ix"]
        self._below: dict[int, list[int]] = {
            name: [child for node in nodes for child in index_children(node)] for name, nodes in classes.items()
        }
        # what a constant or a variable equals besides tells no rule anything
        self._leaves = {name for name, nodes in classes.items() if any(node.op in LEAVES for node in nodes)}
        self._pairs: dict[int, list[tuple[int, int]]] = {}
        self.mentioned: set[int] = set()
        for rows in (stated, encoder.facts):
            for kind, of_kind in rows.items():
                columns = class_columns(kind)
                for row in of_kind:
                    here = [names.get(row[column], row[column]) for column in columns]
                    self._state(kind, here)
                    if rows is encoder.facts:
                        self.mentioned.update(here)
        for name, relations in encoder.relations.items():
            self._below.setdefault(names.get(name, name), []).extend(atom for form in relations for atom, _ in form.terms)

    def name(self, handle: int) -> int:
        """The class that a handle names."""
        return self._names.get(handle, handle)

    def _state(self, kind: str, classes: list[int]) -> None:
        """A row of these classes; what is stated of two classes together is needed where both are."""
        first, *others = classes
        if kind in OF_TWO:
            y, whole = others
            self._pairs.setdefault(first, []).append((y, whole))
            self._pairs.setdefault(y, []).append((first, whole))
        elif others:
            self._below.setdefault(first, []).extend(others)
            if kind == "same":
                self._below.setdefault(others[0], []).append(first)

    def needed(self, roots: Iterable[int]) -> set[int]:
        """The classes that these handles need."""
        names, below, pairs = self._names, self._below, self._pairs
        found = {names.get(root, root) for root in roots}
        todo = list(found)
        while todo:
            here = todo.pop()
            children = [*below.get(here, ()), *(whole for other, whole in pairs.get(here, ()) if other in found)]
            for child in children:
                child = names.get(child, child)
                if child not in found:
                    found.add(child)
                    todo.append(child)
        return found

    def idle(self, roots: Iterable[int], changed: Iterable[int]) -> list[int]:
        """The handles that need no class that changed or that the encoder's rows speak of."""
        names = self._names
        above: dict[int, list[int]] = {}
        for name, children in self._below.items():
            if name in self._leaves:
                continue
            for child in children:
                above.setdefault(names.get(child, child), []).append(name)
        for name, pairs in self._pairs.items():
            for _, whole in pairs:
                above.setdefault(whole, []).append(name)
        found = ({names.get(name, name) for name in changed} | self.mentioned) - self._leaves
        todo = list(found)
        while todo:
            for name in above.get(todo.pop(), ()):
                if name not in found:
                    found.add(name)
                    todo.append(name)
        return [root for root in roots if names.get(root, root) not in found]


def reduced(reading: Reading, needed: set[int]) -> Reading:
    """A reading of the classes that are needed."""
    before = reading.snapshot
    names = {handle: name for handle, name in before.names["Ix"].items() if name in needed}
    classes = {name: nodes for name, nodes in before.classes["Ix"].items() if name in needed}
    snapshot = replace(
        before,
        classes={**before.classes, "Ix": classes},
        names={**before.names, "Ix": names},
        bounds={name: bounds for name, bounds in before.bounds.items() if name in needed},
        nodes=sum(map(len, classes.values())),
    )
    forms = {name: node for name, node in reading.forms.items() if name in needed}
    cost = {name: cycles for name, cycles in reading.cost.items() if name in needed}
    return Reading(snapshot, reading.weights, forms, cost, reading.changed & needed, reading.fresh & needed, reading.postponed & needed)
