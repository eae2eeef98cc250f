"""A session done once more from its transcript, with a look at the tables after every entry.

Classes have numbers of their own here, in the order in which they appeared; of classes that became one the oldest number stays.  A node is
remembered as it was when it appeared, with its row, so the e-graph after any step can be told from the list of nodes and that of merges.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

from eqsat.egraph.encode import Encoder
from eqsat.egraph.engine import Engine
from eqsat.egraph.linear import Linear
from eqsat.egraph.schema import CLASS_SORTS, CONSTRUCTORS, nodes_of
from eqsat.egraph.snapshot import ENode, Snapshot, take_snapshot
from eqsat.exploring.traced import FORGET, Traced, relation_of, traced_engine
from eqsat.journal import WRITTEN, Loaded, Ran, Transcript
from eqsat.replay import definitions_of
from eqsat.saturate import PHASES

# classes that rules made get handles of the recorder's, beyond all that an encoder gives
FIRST_MARK = 1 << 40
# a class, and a node of it over classes
Place = tuple[int, ENode]


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
    """What changed between two looks: `kind` is "written", "rules" or "sums"; `counts` and `added` are matches and new nodes by row;
    `merged` are (class, the class that it became one with); `nodes` and `classes` count all after it."""

    kind: str
    phase: str
    counts: Mapping[str, int]
    added: Mapping[str, int]
    merged: tuple[tuple[int, int], ...]
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
    """Do a session once more.  The budget is that of the session: nothing runs that did not run there."""
    traced = traced_engine(transcript.tables, transcript.sorts)
    with traced.engine.session():
        recorder = _Recorder(transcript, traced)
        for entry in transcript.complete():
            if isinstance(entry, Loaded):
                recorder.load(entry)
            else:
                recorder.run(entry)
        traced.engine.run(f"(run {FORGET})")
    return recorder.recording


class _Recorder:
    """The state of a recording: which nodes there are, by class and form."""

    def __init__(self, transcript: Transcript, traced: Traced) -> None:
        self.transcript, self.traced = transcript, traced
        self.engine: Engine = traced.engine
        self.recording = Recording()
        self._marks = Encoder(names=transcript.encoder.names, _ids=count(FIRST_MARK))
        self._alive: dict[Place, list[Appearance]] = {}
        self._handle_of: dict[int, tuple[str, int]] = {}

    def load(self, entry: Loaded) -> None:
        """Rows, each node by the row that made its handle."""
        self.engine.load(entry.facts)
        made = definitions_of(entry.facts, self.transcript.encoder.names)
        origin = self.transcript.origin
        first = not self.recording.steps

        def explained() -> Iterator[tuple[str, Place]]:
            for handle, node in made.items():
                sort = _sort_of(node)
                yield origin.get(handle, WRITTEN), (self._number(sort, handle), over(node, self._number))

        self._look("written" if first else "sums", "", entry.counts, explained)

    def run(self, entry: Ran) -> None:
        """A pass of rules, each node by the rule that says that it made it."""
        self.engine.run(PHASES[entry.phase].schedule(self.engine, entry.tables, set(entry.present)))
        self._look("rules", entry.phase, entry.counts, self._made)
        self.engine.run(f"(run {FORGET})")

    def _made(self) -> Iterator[tuple[str, Place]]:
        """(row, node) of everything that rules made since relations were emptied last."""
        tables, integer = self.engine.freeze(), self.engine.integer
        known = {
            sort: {row.output: self._number(sort, integer(row.inputs[0])) for row in tables[f"H{sort}"].rows}
            for sort in self.transcript.sorts
        }
        names = self._marks.names
        for kind in nodes_of(self.transcript.sorts):
            for row in tables[relation_of(kind.name)].rows:
                rule, home, *values = row.inputs
                if home in known[kind.sort]:
                    args = tuple(
                        names[integer(v)] if sort == "Name" else known[sort].get(v) if sort in CLASS_SORTS else integer(v)
                        for sort, v in zip(kind.operands, values, strict=True)
                    )
                    yield self.traced.rows[integer(rule)], (known[kind.sort][home], ENode(kind.name, args))

    # looking -------------------------------------------------------------------------------------------------------
    def _look(self, kind: str, phase: str, counts: Mapping[str, int], explained: Callable[[], Iterator[tuple[str, Place]]]) -> None:
        """Compare the tables with what was there; what changed becomes a step."""
        snapshot = self.recording.snapshot = take_snapshot(self.engine, self._marks, self.transcript.sorts)
        self._mark()
        merged = self._renumber(snapshot)
        step = len(self.recording.steps)
        before = self._carried(merged)
        now: dict[Place, list[Appearance]] = {}
        new: list[tuple[str, Place]] = []
        gone = 0
        for sort, classes in snapshot.classes.items():
            for name, nodes in classes.items():
                home = self.recording.numbers[sort, name]
                for place, times in Counter((home, over(node, self._number)) for node in nodes).items():
                    kept = before.pop(place, [])
                    now[place] = kept[:times]
                    gone += _end(kept[times:], step)
                    new += [(sort, place)] * (times - len(now[place]))
        gone += _end([one for lost in before.values() for one in lost], step)
        added = self._appear(new, now, step, explained)
        self._alive = now
        if added or gone or merged:
            self.recording.steps.append(RecordedStep(kind, phase, dict(counts), added, merged, snapshot.nodes, snapshot.size))

    def _appear(
        self, new: list[tuple[str, Place]], now: dict[Place, list[Appearance]], step: int, explained: Callable[[], Iterator[tuple[str, Place]]]
    ) -> Counter[str]:
        """Enter new nodes, with the rows that made them -> how many by row."""
        added: Counter[str] = Counter()
        if new:
            rows: defaultdict[Place, dict[str, None]] = defaultdict(dict)
            for row, place in explained():
                rows[place][row] = None
            for sort, place in new:
                found = Appearance(sort, *place, step, tuple(rows.get(place, ())))
                self.recording.appearances.append(found)
                now[place].append(found)
                added.update(found.rows[:1])
        return added

    def _carried(self, merged: tuple[tuple[int, int], ...]) -> dict[Place, list[Appearance]]:
        """The nodes that there were, over the classes of now; the oldest first where several became one."""
        if not merged:
            return self._alive
        into = dict(merged)
        found: dict[Place, list[Appearance]] = {}
        for (home, node), nodes in self._alive.items():
            place = into.get(home, home), over(node, lambda _, name: into.get(name, name))
            found.setdefault(place, []).extend(nodes)
        for nodes in found.values():
            nodes.sort(key=lambda one: one.step)
        return found

    # classes -------------------------------------------------------------------------------------------------------
    def _mark(self) -> None:
        """Give the classes that have no handle one, through the node that take_snapshot chose."""
        for kind, rows in self._marks.take().items():
            node = CONSTRUCTORS[kind]
            for handle, *values in rows:
                args = (f"(H{sort} {v})" if sort in CLASS_SORTS else str(v) for sort, v in zip(node.operands, values, strict=True))
                self.engine.run_text(f"(union (H{node.sort} {handle}) ({kind} {' '.join(args)}))")

    def _renumber(self, snapshot: Snapshot) -> tuple[tuple[int, int], ...]:
        """Numbers for the classes of a snapshot -> (number, the older one that it became one with)."""
        numbers = self.recording.numbers
        numbers.clear()
        merged: list[tuple[int, int]] = []
        for number, (sort, handle) in list(self._handle_of.items()):
            older = numbers.setdefault((sort, snapshot.name(handle, sort)), number)
            if older != number:
                merged.append((number, older))
                del self._handle_of[number]
        self._known = snapshot
        for sort, classes in snapshot.classes.items():
            for name in classes:
                if (sort, name) not in numbers:
                    number = numbers[sort, name] = self._next
                    self._handle_of[number] = (sort, name)
                    self._next += 1
        return tuple(merged)

    _next = 0

    def _number(self, sort: str, handle: int) -> int:
        """The number of the class that a handle names now."""
        names = self.recording.snapshot.names[sort]
        return self.recording.numbers.get((sort, names.get(handle, handle)), -1)


def _end(nodes: list[Appearance], step: int) -> int:
    for node in nodes:
        node.gone = step
    return len(nodes)


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
