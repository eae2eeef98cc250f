"""A session done once more from its transcript, with a look at the tables after every entry.

Classes have numbers of their own here, in the order in which they appeared; of classes that became one the oldest number stays.  A node is
remembered as it was when it appeared, with its row, so the e-graph after any step can be told from the list of nodes and that of merges.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from eqsat.egraph.definitions import definitions_of
from eqsat.egraph.engine import Row
from eqsat.egraph.linear import Linear
from eqsat.egraph.schema import CLASS_SORTS, CONSTRUCTORS, INDEX_LEAVES, nodes_of
from eqsat.egraph.snapshot import ENode, Snapshot, take_snapshot
from eqsat.exploring.labels import operands
from eqsat.exploring.traced import FORGET, Traced, relation_of, traced_engine
from eqsat.journal import Loaded, Ran, Transcript
from eqsat.saturate import PHASES

# classes that rules made get handles of the recorder's, beyond all that an encoder gives
FIRST_MARK = 1 << 40
# in the place of a row, of a node that is there because a class got its handle through a node that holds the class itself
NAMED = "name of a class"
# what is no class any more: only nodes that are gone are made of it
NO_CLASS = -1
# nodes that all looks at one session see together: where that is not enough for a look after every entry, some entries are one step
NODES_LOOKED_AT = 150_000
# a sort, and a name of a snapshot's class
Class = tuple[str, int]


@dataclass(eq=False)
class Appearance:
    """A node: its class and itself over the classes of the step in which it appeared, the rows that made it in that step, and the step
    after which it is no node any more (it became another one, or what it says is known of its class)."""

    sort: str
    home: int
    node: ENode
    step: int
    rows: tuple[str, ...]
    gone: int | None = None


@dataclass(frozen=True)
class RecordedStep:
    """What changed between two looks.

    phases  of the passes of rules that were run; none if rows were handed over only
    counts  matches by row; added: new nodes by row; gone: how many nodes are none any more
    merged  (class, the older class that it became one with)
    nodes, classes  how many there are after it
    """

    phases: tuple[str, ...]
    counts: Mapping[str, int]
    added: Mapping[str, int]
    merged: tuple[tuple[int, int], ...]
    gone: int
    nodes: int
    classes: int


@dataclass
class Recording:
    """All that happened in a session; `snapshot` is the last look, `number` gives the classes of its names their numbers."""

    appearances: list[Appearance] = field(default_factory=list)
    steps: list[RecordedStep] = field(default_factory=list)
    snapshot: Snapshot = field(default_factory=Snapshot)
    numbers: dict[tuple[str, int], int] = field(default_factory=dict)

    def number(self, sort: str, handle: int) -> int:
        """The number of the class that a handle names at the end."""
        return self.numbers[sort, self.snapshot.name(handle, sort)]


def record(transcript: Transcript) -> Recording:
    """Do a session once more.  The budget is that of the session: nothing runs that did not run there.

    There is a look after every entry.  In a large e-graph several entries share one, so that looking takes seconds, not minutes: what comes
    and goes between two looks is not seen.
    """
    traced = traced_engine(transcript.tables, transcript.sorts)
    entries = transcript.complete()
    with traced.engine.session():
        recorder = _Recorder(transcript, traced)
        due, left = 0, NODES_LOOKED_AT
        for place, entry in enumerate(entries):
            if isinstance(entry, Loaded):
                recorder.load(entry)
            else:
                recorder.run(entry)
            if place >= due or place == len(entries) - 1:
                nodes = recorder.look()
                left -= nodes
                looks = max(1, left // max(1, nodes))  # as many as there are, if the graph stays as large
                due = place + max(1, (len(entries) - place) // looks)
    return recorder.recording


class _Recorder:
    """The state of a recording: the nodes of every class by its name in the last snapshot, with their appearances."""

    def __init__(self, transcript: Transcript, traced: Traced) -> None:
        self.transcript, self.traced, self.engine = transcript, traced, traced.engine
        self.recording = Recording()
        self._marks = transcript.encoder.beside(FIRST_MARK)
        self._alive: dict[Class, list[tuple[ENode, Appearance]]] = {}
        self._handle_of: dict[int, Class] = {}
        self._made_by_load: list[tuple[str, int, ENode]] = []
        self._ran: list[str] = []
        self._counts: Counter[str] = Counter()
        self._next = 0

    def load(self, entry: Loaded) -> None:
        """Rows; each node is of the row that made its handle."""
        self.engine.load(entry.facts)
        self._counts.update(entry.counts)
        for handle, node in definitions_of(entry.facts, self.transcript.encoder.names).items():
            self._made_by_load.append((self.transcript.origin.get(handle, NAMED), handle, node))

    def run(self, entry: Ran) -> None:
        """A pass of rules; each node is of the rule that says that it made it."""
        self.engine.run(PHASES[entry.phase].schedule(self.engine, entry.tables, entry.present, entry.resting))
        self._counts.update(entry.counts)
        self._ran.append(entry.phase)

    def look(self) -> int:
        """Compare the tables with the last look; what changed becomes a step -> how many nodes there are."""
        snapshot = self.recording.snapshot = take_snapshot(self.engine, self._marks, self.transcript.sorts)
        self._mark()
        merged = self._renumber(snapshot)
        new, gone = self._compare(snapshot)
        added = self._appear(new)
        if new or gone or merged:
            phases = tuple(self._ran)
            step = RecordedStep(phases, +self._counts, added, merged, gone, snapshot.nodes, snapshot.size)
            self.recording.steps.append(step)
        self.engine.run(f"(run {FORGET})")
        self._made_by_load, self._ran, self._counts = [], [], Counter()
        return snapshot.nodes

    def _compare(self, snapshot: Snapshot) -> tuple[list[tuple[Class, ENode]], int]:
        """The nodes that are new, by class, and how many are gone; only classes that are not as they were are looked into."""
        now = {(sort, name): nodes for sort, classes in snapshot.classes.items() for name, nodes in classes.items()}
        changed, kept = self._carried(snapshot, now)
        new: list[tuple[Class, ENode]] = []
        for place in changed:
            self._alive[place] = []
            for node in now[place]:
                same = kept.get((place, node))
                if same:
                    same.sort(key=lambda one: -one.step)
                    self._alive[place].append((node, same.pop()))
                else:
                    new.append((place, node))
        gone = [one for left in kept.values() for one in left]
        for one in gone:
            one.gone = len(self.recording.steps)
        return new, len(gone)

    def _carried(
        self, snapshot: Snapshot, now: Mapping[Class, list[ENode]]
    ) -> tuple[dict[Class, None], dict[tuple[Class, ENode], list[Appearance]]]:
        """The classes that are not as they were, and all nodes that there were in them, as they are named now."""
        before = self._alive
        changed = {place: None for place, nodes in now.items() if place not in before or [node for node, _ in before[place]] != nodes}
        kept: dict[tuple[Class, ENode], list[Appearance]] = {}
        for place in [place for place in before if place in changed or place not in now]:
            sort, name = place
            home = sort, snapshot.name(name, sort)
            if home not in changed and home in now:  # all that a class brought where it went was there
                changed[home] = None
                for node, one in before[home]:
                    kept.setdefault((home, node), []).append(one)
            for node, one in before.pop(place):
                kept.setdefault((home, over(node, lambda sort, name: snapshot.name(name, sort))), []).append(one)
        return changed, kept

    def _appear(self, new: list[tuple[Class, ENode]]) -> Counter[str]:
        """Enter new nodes, with the rows that made them -> how many by row."""
        added: Counter[str] = Counter()
        if not new:
            return added
        rows: defaultdict[tuple[int, ENode], dict[str, None]] = defaultdict(dict)
        for row, home, node in self._made():
            rows[home, node][row] = None
        for place, node in new:
            home, numbered = self.recording.numbers[place], over(node, self._number)
            found = Appearance(place[0], home, numbered, len(self.recording.steps), tuple(rows.get((home, numbered), ())))
            self.recording.appearances.append(found)
            self._alive[place].append((node, found))
            added.update(found.rows[:1])
        return added

    def _made(self) -> Iterator[tuple[str, int, ENode]]:
        """(row, class, node) of all that was handed over, and that rules made, since the last look."""
        for row, handle, node in self._made_by_load:
            yield row, self._number(_sort_of(node), handle), over(node, self._number)
        if not self._ran:
            return
        tables, integer, names = self.engine.freeze(), self.engine.integer, self._marks.names
        known = {
            sort: {row.output: self._number(sort, integer(row.inputs[0])) for row in tables[f"H{sort}"].rows}
            for sort in self.transcript.sorts
        }
        for kind in nodes_of(self.transcript.sorts):
            for row in tables[relation_of(kind.name)].rows:
                rule, home, *values = row.inputs
                args = tuple(
                    names[integer(v)] if sort == "Name" else known[sort].get(v, NO_CLASS) if sort in CLASS_SORTS else integer(v)
                    for sort, v in zip(kind.operands, values, strict=True)
                )
                yield self.traced.rows[integer(rule)], known[kind.sort].get(home, NO_CLASS), ENode(kind.name, args)

    def _mark(self) -> None:
        """Give the classes that have no handle one, each through a node whose operands have theirs: through another one there would be
        a second class.  A class without such a node gets its handle as take_snapshot would give it."""
        classes = self.recording.snapshot.classes
        chosen = {row[0]: (CONSTRUCTORS[kind].sort, kind) for kind, rows in self._marks.take().items() for row in rows}
        waiting = {handle: classes[sort][handle] for handle, (sort, _) in chosen.items()}
        while waiting:
            ready = {
                handle: node
                for handle, nodes in waiting.items()
                for node in nodes
                if node.op in CONSTRUCTORS and waiting.keys().isdisjoint(operands(node))
            } or {handle: next(node for node in nodes if node.op == chosen[handle][1]) for handle, nodes in waiting.items()}
            facts: defaultdict[str, list[Row]] = defaultdict(list)
            for handle, node in ready.items():
                args = tuple(self._marks.name(v) if isinstance(v, str) else v for v in node.args)
                if node.op in INDEX_LEAVES:  # loading one also tells rules that it is a leaf, before the session did
                    self.engine.run_text(f"(union (H{chosen[handle][0]} {handle}) ({node.op} {' '.join(map(str, args))}))")
                else:
                    facts[node.op].append((handle, *args))
                del waiting[handle]
            self.engine.load(facts)

    def _renumber(self, snapshot: Snapshot) -> tuple[tuple[int, int], ...]:
        """Numbers for the classes of a snapshot -> (number, the older one that it became one with)."""
        numbers = self.recording.numbers = {}
        merged: list[tuple[int, int]] = []
        for number, (sort, handle) in list(self._handle_of.items()):
            older = numbers.setdefault((sort, snapshot.name(handle, sort)), number)
            if older != number:
                merged.append((number, older))
                del self._handle_of[number]
        for sort, classes in snapshot.classes.items():
            for name in classes:
                if (sort, name) not in numbers:
                    numbers[sort, name] = self._next
                    self._handle_of[self._next] = (sort, name)
                    self._next += 1
        return tuple(merged)

    def _number(self, sort: str, handle: int) -> int:
        """The number of the class that a handle names now."""
        name = self.recording.snapshot.names[sort].get(handle, handle)
        return self.recording.numbers.get((sort, name), NO_CLASS)


def _sort_of(node: ENode) -> str:
    return CONSTRUCTORS[node.op].sort if node.op in CONSTRUCTORS else "Ix"


def over(node: ENode, number: Callable[[str, int], int]) -> ENode:
    """A node over other names of its classes; terms of a sum that are of one class now are added up."""
    if node.op == "Sum":
        form = Linear.of(node.args[0], [(number("Ix", atom), k) for atom, k in node.args[1:]])
        return ENode("Sum", (form.constant, *form.terms))
    if node.op == "Prod":
        return ENode("Prod", tuple(sorted(number("Ix", atom) for atom in node.args)))
    sorts = CONSTRUCTORS[node.op].operands
    return ENode(node.op, tuple(number(sort, v) if sort in CLASS_SORTS else v for sort, v in zip(sorts, node.args, strict=True)))
