"""The e-graph as Python values: every class with its nodes, read from egglog's tables.

Classes are named by their smallest handle.  A class that rules made has no handle yet: the encoder gives it one, defined by
one of its nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from eqsat.egraph.encode import Encoder
from eqsat.egraph.engine import Engine
from eqsat.egraph.linear import Linear
from eqsat.egraph.schema import CLASS_SORTS, nodes_of
from eqsat.ir.interval import Interval


class ENode(NamedTuple):
    """A constructor and its operands: class names and parameters; a Sum has (constant, (class, coefficient), ...)."""

    op: str
    args: tuple[Any, ...]


@dataclass
class Snapshot:
    """Classes by sort, bounds of index classes, which kinds of nodes there are, and how many."""

    classes: dict[str, dict[int, list[ENode]]] = field(default_factory=lambda: {sort: {} for sort in CLASS_SORTS})
    bounds: dict[int, Interval] = field(default_factory=dict)
    names: dict[str, dict[int, int]] = field(default_factory=dict)
    ops: frozenset[str] = frozenset()
    nodes: int = 0
    alarm: bool = False

    def name(self, handle: int, sort: str = "Ix") -> int:
        """The class that a handle names now."""
        return self.names[sort][handle]

    @property
    def size(self) -> int:
        """How many classes there are."""
        return sum(map(len, self.classes.values()))


def take_snapshot(engine: Engine, encoder: Encoder, sorts: tuple[str, ...] = CLASS_SORTS) -> Snapshot:
    """Read the classes of these sorts; new handles are left as facts in the encoder."""
    tables = engine.freeze()
    reader = _Reader(engine, encoder, tables)
    snapshot = Snapshot(names={sort: {} for sort in CLASS_SORTS}, alarm=bool(tables["alarm"].rows))
    nodes = tuple(node for node in nodes_of(sorts) if tables[node.name].rows)
    snapshot.ops = frozenset(node.name for node in nodes)
    for sort in sorts:
        reader.name_classes(sort, [node.name for node in nodes if node.sort == sort], snapshot)
    for node in nodes:
        reader.read(node.name, node.operands, node.sort, snapshot)
    reader.read_nary(snapshot)
    lows = {reader.classes["Ix"][row.inputs[0]]: engine.integer(row.output) for row in tables["lo"].rows}
    highs = {reader.classes["Ix"][row.inputs[0]]: engine.integer(row.output) for row in tables["hi"].rows}
    snapshot.bounds = {name: (low, highs[name]) for name, low in lows.items() if name in highs}
    return snapshot


class _Reader:
    """Names for egglog's values while one snapshot is read."""

    def __init__(self, engine: Engine, encoder: Encoder, tables: Mapping[str, Any]) -> None:
        self.engine, self.encoder, self.tables = engine, encoder, tables
        self.classes: dict[str, dict[Any, int]] = {sort: {} for sort in CLASS_SORTS}
        self.unnamed: dict[str, set[int]] = {sort: set() for sort in CLASS_SORTS}

    def name_classes(self, sort: str, constructors: list[str], snapshot: Snapshot) -> None:
        """Smallest handle of every class; nodes without one get a new handle in a fixed order."""
        known, handles = self.classes[sort], {}
        for row in self.tables[f"H{sort}"].rows:
            handle, value = self.engine.integer(row.inputs[0]), row.output
            handles[handle] = value
            known[value] = min(handle, known.get(value, handle))
        snapshot.names[sort] = {handle: known[value] for handle, value in handles.items()}
        for name in constructors:
            for row in self.tables[name].rows:
                if row.output not in known and not row.subsumed:
                    handle = known[row.output] = self.encoder.new_handle()
                    snapshot.names[sort][handle] = handle
                    self.unnamed[sort].add(handle)

    def operand(self, sort: str, value: Any) -> Any:
        if sort == "i64":
            return self.engine.integer(value)
        return self.encoder.names[self.engine.integer(value)] if sort == "Name" else self.classes[sort][value]

    def read(self, name: str, sorts: tuple[str, ...], sort: str, snapshot: Snapshot) -> None:
        known, classes, unnamed = self.classes[sort], snapshot.classes[sort], self.unnamed[sort]
        for row in self.tables[name].rows:
            if row.subsumed:
                continue
            args = tuple(self.operand(s, v) for s, v in zip(sorts, row.inputs, strict=True))
            here = known[row.output]
            if here in unnamed:
                unnamed.discard(here)
                self.encoder.facts[name].append((here, *(self.encoder.name(arg) if isinstance(arg, str) else arg for arg in args)))
            classes.setdefault(here, []).append(ENode(name, args))
            snapshot.nodes += 1

    def read_nary(self, snapshot: Snapshot) -> None:
        known, classes, engine = self.classes["Ix"], snapshot.classes["Ix"], self.engine
        terms = {row.output: (known[row.inputs[1]], engine.integer(row.inputs[0])) for row in self.tables["T"].rows}
        for row in self.tables["Sum"].rows:
            # members whose classes have become one are like terms
            form = Linear.of(engine.integer(row.inputs[0]), [terms[member] for member in engine.members(row.inputs[1])])
            node = ENode("Sum", (form.constant, *form.terms))
            classes.setdefault(known[row.output], []).append(node)
        for row in self.tables["Prod"].rows:
            node = ENode("Prod", tuple(sorted(known[member] for member in engine.members(row.inputs[0]))))
            classes.setdefault(known[row.output], []).append(node)
        snapshot.nodes += len(self.tables["Sum"].rows) + len(self.tables["Prod"].rows)
