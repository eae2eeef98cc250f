"""Index terms of tensor programs, read from the classes of a snapshot."""

from __future__ import annotations

import functools

from eqsat.egraph.forms import RAW, Forms, cheapest_forms
from eqsat.egraph.index_cost import IndexWeights
from eqsat.egraph.snapshot import Snapshot
from eqsat.egraph.spell import as_number, index_term
from eqsat.ir.index import Index

AFFINE_OPS = ("add", "sub", "neg", "mul")


class IndexReader:
    """Index terms and lists of classes."""

    def __init__(self, snapshot: Snapshot, weights: IndexWeights) -> None:
        self.snapshot = snapshot
        self.forms: Forms = cheapest_forms(snapshot, weights, written=True)
        self._spelled: dict[int, Index] = {}
        self._lists: dict[int, bool] = {}
        self._items: dict[int, tuple[int, ...]] = {}

    def term(self, name: int) -> Index:
        """The cheapest known term of a class."""
        if name not in self._spelled:
            self._spelled[name] = as_number(index_term(self.forms, name))
        return self._spelled[name]

    def is_stated(self, name: int) -> bool:
        """Whether the index algebra knows this class: it holds more than terms as they are written."""
        return any(node.op not in (*RAW, "Comp", "Pick", "Up") for node in self.snapshot.classes["Ix"][name])

    @functools.cached_property
    def all_affine(self) -> bool:
        """Whether no map, as written, holds an operation that index rules could simplify."""
        written = (node for nodes in self.snapshot.classes["Ix"].values() for node in nodes if node.op in RAW)
        return all(node.args[0] in AFFINE_OPS for node in written)

    def items(self, name: int) -> tuple[int, ...]:
        """The classes of a list."""
        if name not in self._items:
            cell = next((node for node in self.snapshot.classes["Ixs"][name] if node.op == "Cons"), None)
            self._items[name] = () if cell is None else (cell.args[0], *self.items(cell.args[1]))
        return self._items[name]

    def terms(self, name: int) -> tuple[Index, ...]:
        return tuple(self.term(item) for item in self.items(name))

    def is_list(self, name: int) -> bool:
        """Whether a list is spelled out to its end."""
        if name not in self._lists:
            self._lists[name] = False  # a list that is its own tail has no end
            for node in self.snapshot.classes["Ixs"].get(name, ()):
                if node.op == "Nil" or (node.op == "Cons" and node.args[0] in self.forms and self.is_list(node.args[1])):
                    self._lists[name] = True
                    break
        return self._lists[name]
