"""Why an index expression became what it is: a chain of equalities from the original to the result, each by a named row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from eqsat.egraph.encode import Encoder
from eqsat.egraph.forms import index_term
from eqsat.egraph.snapshot import ENode
from eqsat.ir.errors import UnsupportedError
from eqsat.ir.index import Const, Index, variables
from eqsat.ledger import Change, Ledger, Places, subterm
from eqsat.options import Limits, Options
from eqsat.replay import FLATTEN, Replay
from eqsat.rules import rows

# what a replay may hold: it takes some ten microseconds a node
LIMITS = Limits(nodes=4000, iterations=30)
WIDTH = 100


@dataclass(frozen=True)
class Step:
    """One equality, `before = after`, that holds wherever `before` has a value.

    rows   the rows that it rests on: the one that states it, with those that wrote a sum as it asks for and brought it into
           normal form afterwards
    whole  the whole expression after the step
    """

    before: Index
    after: Index
    rows: tuple[str, ...]
    whole: Index

    def __str__(self) -> str:
        equations = _equations()
        by = "; ".join(f"{name}: {equations[name]}" if name in equations else name for name in self.rows)
        whole = f"\n    {self.whole}" if self.whole is not self.after and len(str(self.whole)) <= WIDTH else ""
        return f"  {self.before}  =  {self.after}\n      {by}{whole}"


def explain_steps(original: Index, result: Index, options: Options) -> tuple[Step, ...]:
    """Steps from an expression to a simplified one, in order; `whole` of the last is the result.

    The saturation is done again and every match written down (replay.py), until both are equal; steps that the result does not
    need are left out.  If that takes more than LIMITS, there is one step, whose rows are all that matched.
    """
    if original is result:
        return ()
    found = _traced(original, result, options)
    if found is None:
        return (Step(original, result, (), result),)
    replay, first, last = found
    changes = replay.ledger.steps(first, last)
    steps = _Steps(replay.ledger).of(changes)
    return tuple(_with_ends(original, result, index_term(_nodes(replay.ledger), first), steps))


def _traced(original: Index, result: Index, options: Options) -> tuple[Replay, int, int] | None:
    """A replay in which both are equal, and their numbers in its ledger: of the original alone, or of both."""
    limits = Limits(min(options.limits.nodes, LIMITS.nodes), LIMITS.iterations)
    for terms in ((original,), (original, result)):
        replay = Replay(options.tables, limits)
        try:
            first, last = replay.node_of(original), replay.node_of(result)
            if replay.run(terms, (first, last)):
                return replay, first, last
        except UnsupportedError:
            return None
    return None


def _with_ends(original: Index, result: Index, encoded: Index, steps: list[Step]) -> Iterator[Step]:
    """The steps; before them the n-ary form of the original, after them the way in which the result is written."""
    if encoded is not original and str(encoded) != str(original):
        yield Step(original, encoded, (FLATTEN.row,), encoded)
    yield from steps
    last = steps[-1].whole if steps else encoded
    if last is not result and str(last) != str(result) and not isinstance(result, Const):
        yield Step(last, result, (FLATTEN.row,), result)


def _nodes(ledger: Ledger) -> dict[int, ENode]:
    return dict(enumerate(ledger.nodes))


class _Steps:
    """Changes of a ledger as steps: ways to write sums go with the rows that ask for them."""

    def __init__(self, ledger: Ledger) -> None:
        self.nodes = _nodes(ledger)
        self._terms: dict[int, Index] = {}

    def term(self, number: int) -> Index:
        return index_term(self.nodes, number, self._terms)

    def of(self, changes: list[Change]) -> list[Step]:
        """One step for each change that is not quiet; an equality that was shown is not shown again."""
        steps: list[Step] = []
        shown: set[tuple[Index, Index]] = set()
        for group in self._groups(changes):
            step = self._step(group)
            if step.before is step.after or (step.before, step.after) in shown:
                continue
            shown.add((step.before, step.after))
            steps.append(step)
        if steps:
            last = steps[-1]
            steps[-1] = Step(last.before, last.after, last.rows, self.term(changes[-1].after))
        return steps

    def _groups(self, changes: list[Change]) -> list[list[Change]]:
        groups: list[list[Change]] = []
        waiting: list[Change] = []
        for change in changes:
            if groups and not waiting and (change.reason == FLATTEN or self._folds(change)):
                groups[-1].append(change)
            elif change.reason.quiet:
                waiting.append(change)
            else:
                groups.append([*waiting, change])
                waiting = []
        if waiting and groups:
            groups[-1] += waiting
        elif waiting:
            groups.append(waiting)
        return groups

    def _folds(self, change: Change) -> bool:
        """Whether a change computes with constants only."""
        return not change.reason.quiet and not variables(self.term(subterm(self.nodes, change.before, change.place)))

    def _step(self, group: list[Change]) -> Step:
        place = _common([change.place for change in group])
        before, after = (self.term(subterm(self.nodes, side, place)) for side in (group[0].before, group[-1].after))
        named = dict.fromkeys(change.reason.row for change in group if change.reason.row and (not change.reason.quiet or self._shows(change)))
        return Step(before, after, tuple(named), self.term(group[-1].after))

    def _shows(self, change: Change) -> bool:
        return self.term(change.before) is not self.term(change.after)


def _common(places: list[Places]) -> Places:
    """The place that all these are in."""
    return tuple(positions[0] for positions in takewhile(lambda p: len(set(p)) == 1, zip(*places, strict=False)))


def _equations() -> dict[str, str]:
    return {row.name: row.equation for _, row in rows()}
