"""Saturation, step by step: phases are data, budgets are checked between steps, contradictions raise an alarm."""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from eqsat.egraph.encode import Encoder
from eqsat.egraph.engine import Engine, PerThread, Row
from eqsat.egraph.forms import RECIPES, Forms, Reading, read
from eqsat.egraph.index_cost import DEFAULT_WEIGHTS, IndexWeights
from eqsat.egraph.schema import CLASS_SORTS
from eqsat.egraph.snapshot import Snapshot, extended, only_nary_forms, take_snapshot, written_snapshot
from eqsat.ir.errors import UnsoundRuleError
from eqsat.journal import WRITTEN, Transcript
from eqsat.options import Limits, Options
from eqsat.report import Report, StopReason
from eqsat.rules import TABLES, Rule, Table, egglog_program, own_table
from eqsat.rules.bounds import BOUNDS_TABLE
from eqsat.rules.row import SumRow
from eqsat.rules.visit import Visit

# whether the caller is content with the cheapest forms of a snapshot, and why
Done = Callable[[Reading], StopReason | None]
# as many looks at an e-graph, two a step mostly, find nothing cheaper: the next ones seldom do; a term of many, and one that is asked for
FEW_LOOKS, MANY_LOOKS = 4, 8
# a visit ends where what it found, or what it looks at, is so many times the nodes that a run may have
SPENT = 2
# a rule that matches so large a part of the nodes that a run may have in one step rests for the others: it would soon take them all
FLOOD = 1 / 8


class Patience:
    """Ends a run in which the classes that are asked for get no cheaper; `looks`: as many times in a row."""

    def __init__(self, roots: Iterable[int], looks: int = FEW_LOOKS) -> None:
        self.roots, self.left, self._looks, self._least = tuple(roots), looks, looks, float("inf")

    def __call__(self, reading: Reading) -> StopReason | None:
        cycles = sum(reading.cost.get(reading.snapshot.name(root), float("inf")) for root in self.roots)
        self.left = self._looks if cycles < self._least else self.left - 1
        self._least = min(self._least, cycles)
        return None if self.left > 0 else StopReason.NO_GAIN


@dataclass(frozen=True)
class Phase:
    """Tables that run together, one step of each in turn.

    bounds  whether the analysis of bounds follows every step
    repeat  steps between two looks at the budget, fewer if nothing changes
    visits_sums  whether sum rows visit the n-ary nodes after every step
    settle  tables that run until nothing changes after every step: those whose rows carry out what others asked for
    """

    name: str
    bounds: bool = False
    repeat: int = 1
    visits_sums: bool = True
    settle: frozenset[str] = frozenset()

    def schedule(self, engine: Engine, tables: tuple[str, ...], present: Set[str], resting: Set[str]) -> str:
        """One step in egglog's words: rules of which all that they match is there, and that do not rest."""
        once = engine.combined(self._once(engine, tables, present, resting))
        return f"(seq {' '.join([f'(run {once})', *(schedule for _, schedule in self._after(engine, tables, present))])})"

    def parts(self, engine: Engine, tables: tuple[str, ...], present: Set[str], resting: Set[str]) -> list[tuple[str, str]]:
        """The same step with each ruleset alone: (ruleset, its schedule) in order; later ones see what the ones before found."""
        alone = [(name, f"(run {name})") for name in self._once(engine, tables, present, resting)]
        return [*alone, *self._after(engine, tables, present)]

    def _once(self, engine: Engine, tables: tuple[str, ...], present: Set[str], resting: Set[str]) -> list[str]:
        """The rulesets that run once in a step."""
        names = [name for table in tables if table not in self.settle for name in engine.applicable(table, present)]
        return [name for name in names if name not in resting]

    def _after(self, engine: Engine, tables: tuple[str, ...], present: Set[str]) -> list[tuple[str, str]]:
        """What follows: rulesets that run until nothing changes, and bounds."""
        settled = [name for table in tables if table in self.settle for name in engine.applicable(table, present)]
        found = [(name, f"(saturate (run {name}))") for name in settled]
        if self.bounds:
            found.append((BOUNDS_TABLE, f"(run {engine.combined(engine.applicable(BOUNDS_TABLE, {*present, *RECIPES}))})"))
        return found


PHASES = {
    "fusion": Phase("fusion", repeat=4, visits_sums=False, settle=frozenset({"substitution"})),
    "index": Phase("index", repeat=2, bounds=True),
}


# by the identity of tables, which the entries keep alive: hashing all their rows would take longer than a simple session
_ENGINES = PerThread[tuple[Engine, tuple[Table, ...]]]()


def tables_for(sorts: tuple[str, ...], tables: tuple[Table, ...]) -> tuple[Table, ...]:
    """The tables that may match in classes of these sorts: without tensors those of index terms alone."""
    return tables if "Tx" in sorts else tuple(table for table in tables if table.phase == "index")


def engine_for(tables: tuple[Table, ...] = TABLES, sorts: tuple[str, ...] = CLASS_SORTS) -> Engine:
    """The engine whose program holds these tables for classes of these sorts.

    For the built-in tables a thread has one for index terms alone and one for tensor programs with their index terms, since
    every table of egglog costs time at every step.
    """
    tables = tables_for(sorts, tables)

    def made() -> tuple[Engine, tuple[Table, ...]]:
        program, rulesets = egglog_program(tables, sorts)
        return Engine(program, sorts, rulesets), tables

    return _ENGINES.get((sorts, *map(id, tables)), made)[0]


@dataclass
class Session:
    """One transaction on the e-graph: encode, run phases, read classes.

    timed  run every ruleset alone and report its time: slower, and rules may match in another order and more often
    """

    engine: Engine
    tables: tuple[Table, ...]
    limits: Limits
    report: Report
    encoder: Encoder = field(default_factory=Encoder)
    sorts: tuple[str, ...] = CLASS_SORTS
    weights: IndexWeights = DEFAULT_WEIGHTS
    timed: bool = False
    transcript: Transcript | None = None
    started: float = field(default_factory=time.perf_counter)
    _earlier: float = field(init=False)
    _seen: set[tuple[object, ...]] = field(default_factory=set)
    _fired: tuple[tuple[str, ...], ...] = ()
    _present: set[str] = field(default_factory=set)
    _resting: set[str] = field(default_factory=set)
    _read: Reading | None = None
    _last: Reading | None = None

    def __post_init__(self) -> None:
        self._earlier = self.report.seconds

    def run(self, phase: Phase, done: Done | None = None) -> Snapshot:
        """Step a phase until nothing changes, a limit is met, or the caller is content with the cheapest forms of a snapshot.

        What the encoder holds at the end is loaded when the session goes on.
        """
        tables = [table for table in self.tables if table.phase == phase.name]
        enabled = [row for table in tables for row in table.rows if isinstance(row, SumRow)]
        iterations = 0
        if phase.visits_sums and not self._present:
            held, _ = self._visit(read(written_snapshot(self.encoder), self.weights), enabled)
            self.encoder.hold(held)
        while True:
            self.load()
            schedule = self._schedule(phase, tables)
            changed = self._step(phase, tables, schedule)
            iterations += 1
            reason: StopReason | None = None
            if phase.visits_sums:
                snapshot = self.snapshot()
                reading = self._last = read(snapshot, self.weights, self._read)
                reason = done(reading) if done is not None else None
                if reason is None:
                    changed = changed or self._schedule(phase, tables) != schedule
                    snapshot, changed = self._visited(reading, enabled, changed)
                    reason = done(self._reading(snapshot)) if changed and done is not None and snapshot is not reading.snapshot else None
                nodes = snapshot.nodes
            else:
                nodes = self.engine.size()
            self.engine.grew(nodes)
            reason = self._limit(nodes, iterations, changed, reason)
            if reason is not None:
                if not phase.visits_sums:
                    snapshot = self.snapshot()
                self.report.stopped(reason)
                self._note(phase, iterations, snapshot)
                if self.transcript is not None:
                    self.transcript.ended(snapshot, self.forms(snapshot) if phase.visits_sums else {})
                return snapshot

    def _visit(self, reading: Reading, rows: list[SumRow]) -> tuple[dict[str, list[Row]], int]:
        """Sum rows look at classes; the encoder holds only what they find then -> what it held before, and the first handle since."""
        held, since = self.encoder.take(), self.encoder.new_handle()
        self.credit(WRITTEN)
        visit = Visit(reading, self.encoder, self._seen)
        self.credit("flatten-product")
        for row in filter(visit.concerns, rows):
            if max(reading.snapshot.nodes, sum(map(len, self.encoder.facts.values()))) > SPENT * self.limits.nodes:
                break  # the run ends here; what else rows find is no longer read, and would take longest to find now
            visit.run(row)
            self.credit(row.name)
        self.report.matches.update(visit.counts)
        for name, seconds in visit.seconds.items():
            self.report.took(name, seconds)
        if self.transcript is not None:
            self.transcript.visited(visit.counts)
        self._read = self._last = reading
        return held, since

    def credit(self, row: str) -> None:
        """What the encoder made since the last call is this row's."""
        if self.transcript is not None:
            self.transcript.credit(row)

    def _visited(self, reading: Reading, rows: list[SumRow], changed: bool) -> tuple[Snapshot, bool]:
        """The classes with what sum rows find in them, which is left in the encoder, and whether another step is due."""
        held, since = self._visit(reading, rows)
        snapshot = reading.snapshot
        if self.encoder.facts:
            changed = changed or bool(reading.postponed) or not only_nary_forms(snapshot, self.encoder, since)
            snapshot = extended(snapshot, self.encoder, since)
        self.encoder.hold(held)
        return snapshot, changed

    def _schedule(self, phase: Phase, tables: list[Table]) -> str:
        names = tuple(table.name for table in tables)
        key = (phase.name, *names, frozenset(self._present), frozenset(self._resting))
        return self.engine.remembered(key, lambda: phase.schedule(self.engine, names, self._present, self._resting))

    def _step(self, phase: Phase, tables: list[Table], schedule: str) -> bool:
        """Run the rules at most `repeat` times, until nothing changes or a rule is to rest -> whether the last time changed something."""
        fired: Counter[str] = Counter()
        for _ in range(phase.repeat):
            changed, matches = self._run_apart(phase, tables) if self.timed else self.engine.run(schedule)
            found: Counter[str] = Counter()
            for name, count in matches.items():
                if (row := name.partition("~")[0]) in self._row_names:
                    found[row] += count
            fired.update(found)
            if self.transcript is not None:
                self.transcript.ran(phase.name, tuple(table.name for table in tables), self._present, self._resting, found)
            if self._rest(matches) or not changed:
                break
        self.report.matches.update(fired)
        self._fired = (*self._fired[-1:], tuple(sorted(fired)))
        return changed

    def _rest(self, matches: Mapping[str, int]) -> bool:
        """Rules that flood the e-graph rest from now on -> whether any began to."""
        flooding = {name for name, count in matches.items() if count > FLOOD * self.limits.nodes and self.engine.is_ruleset(name)}
        begun = flooding - self._resting
        self._resting |= begun
        self.report.rested |= {name.partition("~")[0] for name in begun}
        return bool(begun)

    def _run_apart(self, phase: Phase, tables: list[Table]) -> tuple[bool, dict[str, int]]:
        """A step with each ruleset alone, their times reported; egglog's own times are of whole milliseconds."""
        changed, matches = False, Counter[str]()
        for ruleset, schedule in phase.parts(self.engine, tuple(table.name for table in tables), self._present, self._resting):
            started = time.perf_counter()
            changed_here, found = self.engine.run(schedule)
            self.report.took(ruleset.partition("~")[0], time.perf_counter() - started)
            changed = changed or changed_here
            matches.update(found)
        return changed, matches

    def snapshot(self) -> Snapshot:
        """The classes as they are; UnsoundRuleError if two different values became equal."""
        snapshot = take_snapshot(self.engine, self.encoder, self.sorts)
        self._present |= snapshot.ops
        if snapshot.alarm:
            # bounds may need a step to show what the step before made equal
            fired = tuple(dict.fromkeys(name for step in reversed(self._fired) for name in step))
            raise UnsoundRuleError(f"two different values became equal; rules of the last two steps: {', '.join(fired)}", fired)
        return snapshot

    def forms(self, snapshot: Snapshot) -> Forms:
        """The cheapest forms of a snapshot, with what the last visit found in it."""
        return self._reading(snapshot).forms

    def _reading(self, snapshot: Snapshot) -> Reading:
        if self._last is None or self._last.snapshot is not snapshot:
            self._last = read(snapshot, self.weights, self._read)
        return self._last

    def load(self) -> None:
        """Hand over what the encoder collected."""
        facts = self.encoder.take()
        self._present.update(facts)
        self.engine.load(facts)
        if self.transcript is not None:
            self.transcript.loaded(facts)

    @functools.cached_property
    def _row_names(self) -> frozenset[str]:
        return frozenset[str]().union(*(table.names for table in self.tables))

    def _limit(self, nodes: int, iterations: int, changed: bool, content: StopReason | None) -> StopReason | None:
        """Why a run ends here: a limit, or that the caller is content; None if it goes on."""
        if nodes > self.limits.nodes:
            return StopReason.NODE_LIMIT
        if content is not None:
            return content
        if not changed:
            return StopReason.SATURATED
        if iterations >= self.limits.iterations:
            return StopReason.ITERATION_LIMIT
        if self.limits.seconds is not None and time.perf_counter() - self.started > self.limits.seconds:
            return StopReason.TIME_LIMIT
        return None

    def _note(self, phase: Phase, iterations: int, snapshot: Snapshot) -> None:
        self.report.phases.append((phase.name, iterations, snapshot.nodes))
        self.report.iterations += iterations
        if snapshot.nodes >= self.report.nodes:
            self.report.nodes, self.report.classes = snapshot.nodes, snapshot.size
        self.report.seconds = self._earlier + time.perf_counter() - self.started


@contextmanager
def session(
    names: tuple[str, ...],
    limits: Limits,
    report: Report,
    tables: tuple[Table, ...] = TABLES,
    encoder: Encoder | None = None,
    sorts: tuple[str, ...] = CLASS_SORTS,
    weights: IndexWeights = DEFAULT_WEIGHTS,
    own: tuple[Rule, ...] = (),
    timed: bool = False,
) -> Iterator[Session]:
    """A session that uses the tables of these names and the user's own rules; what `encoder` has collected already is loaded at the
    first step.

    Snapshots read classes of `sorts`; their cheapest forms are those by `weights`.  `timed`: see Session.
    """
    engine = engine_for(tables, sorts)
    used = (*(table for table in tables if table.name in names), *own_table(own))
    encoder = encoder or Encoder()
    transcript = report.journal.opened(tables, sorts, encoder) if report.journal is not None else None
    with engine.session():
        yield Session(engine, used, limits, report, encoder, sorts, weights, timed, transcript)


def session_of(
    options: Options,
    report: Report,
    limits: Limits | None = None,
    encoder: Encoder | None = None,
    sorts: tuple[str, ...] = CLASS_SORTS,
) -> AbstractContextManager[Session]:
    """A session as options say, within their limits or others."""
    return session(
        options.tables,
        limits or options.limits,
        report,
        encoder=encoder,
        sorts=sorts,
        weights=options.cost.index,
        own=options.own_rules,
        timed=options.time_rules,
    )
