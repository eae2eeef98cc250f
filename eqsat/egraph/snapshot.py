"""The e-graph as Python values: every class with its nodes, read from egglog's tables.

Classes are named by their smallest handle.  A class that rules made has no handle yet: the encoder gives it one, defined by
one of its nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any, NamedTuple

from eqsat.egraph.encode import Encoder
from eqsat.egraph.engine import Engine
from eqsat.egraph.linear import Linear
from eqsat.egraph.schema import CLASS_SORTS, Constructor, nodes_of
from eqsat.ir.interval import Interval


class ENode(NamedTuple):
    """A constructor and its operands: class names and parameters; a Sum has (constant, (class, coefficient), ...)."""

    op: str
    args: tuple[Any, ...]


@dataclass
class Snapshot:
    """Classes by sort, bounds of index classes, which kinds of nodes there are, and how many; `honest`: see forms.Honesty, once known."""

    classes: dict[str, dict[int, list[ENode]]] = field(default_factory=lambda: {sort: {} for sort in CLASS_SORTS})
    bounds: dict[int, Interval] = field(default_factory=dict)
    names: dict[str, dict[int, int]] = field(default_factory=dict)
    ops: frozenset[str] = frozenset()
    nodes: int = 0
    alarm: bool = False
    honest: frozenset[int] | None = None

    def name(self, handle: int, sort: str = "Ix") -> int:
        """The class that a handle names now."""
        return self.names[sort][handle]

    @property
    def size(self) -> int:
        """How many classes there are."""
        return sum(map(len, self.classes.values()))


def written_snapshot(encoder: Encoder) -> Snapshot:
    """The classes that an encoder has made and nobody has loaded yet: one node each."""
    snapshot = Snapshot(bounds=dict(encoder.bounds))
    made = {handle: [ENode(op, args)] for handle, op, args in encoder.made()}
    snapshot.classes["Ix"] = dict(sorted(made.items()))
    snapshot.names["Ix"] = {handle: handle for handle in made}
    return snapshot


def extended(snapshot: Snapshot, encoder: Encoder, since: int) -> Snapshot:
    """The snapshot with the n-ary forms that the encoder made since this handle, and with what it states to be equal."""
    facts = encoder.facts.get("same", ())
    names = dict(snapshot.names["Ix"])
    classes = dict(snapshot.classes["Ix"])
    for handle, op, args in encoder.made(since):
        if op in ("Num", "Sum", "Prod"):
            names[handle] = handle
            classes[handle] = [ENode(op, args)]
    for first, second in facts:
        a, b = names.get(first), names.get(second)
        if a is not None and b is not None and a != b:
            classes[a] = classes[b] = list(dict.fromkeys((*classes.get(a, ()), *classes.get(b, ()))))
    return replace(snapshot, classes={**snapshot.classes, "Ix": classes}, names={**snapshot.names, "Ix": names}, honest=None)


NARY_FACTS = frozenset(("Sum1", "Sum2", "Sum3", "Sum", "term", "Prod", "factor", "bounds", "same"))


def only_nary_forms(snapshot: Snapshot, encoder: Encoder, since: int) -> bool:
    """Whether all that the encoder holds are n-ary forms, made since this handle, of classes that have no node in common with others, and
    that sums read as sums already.

    No rule of egglog matches an n-ary node, only views of it: with these alone it would find nothing.
    """
    facts, names = encoder.facts, snapshot.names["Ix"]
    if not NARY_FACTS.issuperset(facts) or any(handle < since for handle, *_ in facts.get("bounds", ())):
        return False
    target = {new: old for old, new in facts.get("same", ())}
    if len(target) < len(facts.get("same", ())) or any(new < since or old >= since for new, old in target.items()):
        return False
    made = [ENode(op, args) for _, op, args in encoder.made(since)]
    for node in made:
        atoms = node.args if node.op == "Prod" else [atom for atom, _ in node.args[1:]]
        if any(atom in target or (atom < since and names.get(atom) != atom) for atom in atoms):
            return False
    known = [node for nodes in snapshot.classes["Ix"].values() for node in nodes if node.op in ("Sum", "Prod", "Scale", "Add")]
    if not set(made).isdisjoint(known):
        return False
    sums = {old for old in target.values() if all(node.op not in ("Num", "Sum") for node in snapshot.classes["Ix"].get(old, ()))}
    return not sums or not any(sums.intersection(_summands(node)) for node in known)


def _summands(node: ENode) -> tuple[int, ...]:
    """The classes that a sum, or a recipe of one, is made of."""
    if node.op == "Sum":
        return tuple(atom for atom, _ in node.args[1:])
    return node.args[1:] if node.op == "Scale" else node.args if node.op == "Add" else ()


def take_snapshot(engine: Engine, encoder: Encoder, sorts: tuple[str, ...] = CLASS_SORTS) -> Snapshot:
    """Read the classes of these sorts; new handles are left as facts in the encoder."""
    tables = engine.freeze()
    reader = _Reader(engine, encoder, tables)
    snapshot = Snapshot(names={sort: {} for sort in CLASS_SORTS}, alarm=bool(tables["alarm"].rows))
    # rows that are subsumed are no nodes any more, and may be of a session before
    rows = {node: [row for row in tables[node.name].rows if not row.subsumed] for node in nodes_of(sorts)}
    nodes = tuple(node for node in rows if rows[node])
    snapshot.ops = frozenset(node.name for node in nodes)
    for sort in sorts:
        reader.name_classes(sort, [row for node in nodes if node.sort == sort for row in rows[node]], snapshot)
    for node in nodes:
        reader.read(node, rows[node], snapshot)
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

    def name_classes(self, sort: str, nodes: list[Any], snapshot: Snapshot) -> None:
        """Smallest handle of every class; nodes without one get a new handle in a fixed order."""
        known, handles = self.classes[sort], {}
        for row in self.tables[f"H{sort}"].rows:
            handle, value = self.engine.integer(row.inputs[0]), row.output
            handles[handle] = value
            known[value] = min(handle, known.get(value, handle))
        snapshot.names[sort] = {handle: known[value] for handle, value in handles.items()}
        for row in nodes:
            if row.output not in known:
                handle = known[row.output] = self.encoder.new_handle()
                snapshot.names[sort][handle] = handle
                self.unnamed[sort].add(handle)

    def _operand(self, sort: str) -> Callable[[Any], Any]:
        """What reads an operand of a sort."""
        if sort == "Name":
            return lambda value: self.encoder.names[self.engine.integer(value)]
        return self.engine.integer if sort == "i64" else self.classes[sort].__getitem__

    def read(self, node: Constructor, rows: list[Any], snapshot: Snapshot) -> None:
        known, classes, unnamed = self.classes[node.sort], snapshot.classes[node.sort], self.unnamed[node.sort]
        columns = zip(node.operands, zip(*(row.inputs for row in rows), strict=True), strict=True)
        operands = zip(*(map(self._operand(sort), column) for sort, column in columns), strict=True) if node.operands else repeat(())
        for args, row in zip(operands, rows, strict=False):
            here = known[row.output]
            if here in unnamed:
                unnamed.discard(here)
                self.encoder.facts[node.name].append((here, *(self.encoder.name(arg) if isinstance(arg, str) else arg for arg in args)))
            classes.setdefault(here, []).append(ENode(node.name, args))
        snapshot.nodes += len(rows)

    def read_nary(self, snapshot: Snapshot) -> None:
        known, classes, engine = self.classes["Ix"], snapshot.classes["Ix"], self.engine
        names, terms = snapshot.names["Ix"], self.encoder.terms
        terms.update((row.output, (known[row.inputs[1]], engine.integer(row.inputs[0]))) for row in self.tables["T"].rows)
        for row in self.tables["Sum"].rows:
            listed = engine.members(row.inputs[1])
            members = [terms[member] for member in listed if member in terms]
            if len(members) < len(listed):
                continue  # egglog 13 leaves a member as it was before its class became another, now and then: most are known from then
            # members whose classes have become one are like terms
            form = Linear.of(engine.integer(row.inputs[0]), [(names[atom], k) for atom, k in members])
            node = ENode("Sum", (form.constant, *form.terms))
            classes.setdefault(known[row.output], []).append(node)
        for row in self.tables["Prod"].rows:
            listed = engine.members(row.inputs[0])
            if all(member in known for member in listed):
                classes.setdefault(known[row.output], []).append(ENode("Prod", tuple(sorted(known[member] for member in listed))))
        snapshot.nodes += len(self.tables["Sum"].rows) + len(self.tables["Prod"].rows)
