"""Why an index expression became what it is: a chain of equalities from the original to the result, each by a named row."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby, takewhile

from eqsat.egraph.forms import index_children
from eqsat.egraph.spell import index_term
from eqsat.explaining.ledger import Change, Ledger, Places, subterm
from eqsat.explaining.matches import FLATTEN
from eqsat.explaining.replay import Replay
from eqsat.indices.simplifier import INVALID
from eqsat.ir.errors import UnsupportedError
from eqsat.ir.index import Const, Index, variables, where
from eqsat.options import Limits, Options
from eqsat.proving.proof import ALWAYS
from eqsat.rules import TABLES, Rule, own_table, rows

# nodes of the ledger: a tenth of a millisecond each
LIMITS = Limits(nodes=8000, iterations=18)
WIDTH = 100


@dataclass(frozen=True, repr=False)
class Step:
    """One equality, `before = after`, that holds wherever `before` has a value.

    rows   the rows that it rests on: the one that states it, with those that wrote a sum as it asks for and brought it into
           normal form afterwards
    whole  the whole expression after the step
    own    the user's own rules, among them those of `rows`
    """

    before: Index
    after: Index
    rows: tuple[str, ...]
    whole: Index
    own: tuple[Rule, ...] = ()

    def __str__(self) -> str:
        known = equations(self.own)
        by = "; ".join(f"{name}: {known[name]}" if name in known else name for name in self.rows)
        whole = f"\n    {self.whole}" if self.whole is not self.after and len(str(self.whole)) <= WIDTH else ""
        return f"  {self.before}  =  {self.after}\n      {by}{whole}"

    __repr__ = __str__


def explain_steps(
    original: Index, result: Index, options: Options, matched: tuple[str, ...] = (), fact: Index = ALWAYS
) -> tuple[Step, ...]:
    """Steps from an expression to a simplified one, in order; `whole` of the last is the result.  Where facts were declared both are
    the branch of a selection that holds under `fact`.

    The saturation is done again and every match written down (replay.py), until both are equal; steps that the result does not
    need are left out.  If that takes more than LIMITS, there is one step, whose rows are `matched`: all that matched.
    """
    if original is result:
        return ()
    if not isinstance(fact, Const):
        original, result = (where(fact, side, INVALID) for side in (original, result))
    found = _traced(original, result, options)
    if found is None:
        return (Step(original, result, matched, result),)
    replay, first, last = found
    changes = replay.ledger.steps(first, last)
    steps = _with_ends(original, result, replay.ledger.term(first), _Steps(replay.ledger).of(changes))
    ending = _ending(list(_joined(original, list(steps))), result)
    return tuple(replace(step, own=options.own_rules) for step in ending)


def _traced(original: Index, result: Index, options: Options) -> tuple[Replay, int, int] | None:
    """A replay in which both are equal, and their numbers in its ledger: of the original alone, or of both."""
    for terms in ((original,), (original, result)):
        replay = Replay(options.tables, LIMITS, options.cost.index, options.own_rules)
        try:
            first, last = replay.node_of(original), replay.node_of(result)
            replay.state_grouping(result)
            if replay.run(terms, (first, last)):
                return replay, first, last
            if not replay.saturated:
                return None
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


def _ending(steps: list[Step], result: Index) -> list[Step]:
    """The steps; a constant at the end is a truth value where the result is one: in the e-graph both are numbers."""
    if steps and isinstance(result, Const):
        last = steps[-1]
        steps[-1] = replace(last, after=result if last.after is last.whole else last.after, whole=result)
    return steps


def _joined(original: Index, steps: list[Step]) -> Iterator[Step]:
    """The steps; neighbours that only write sums in another way are one."""
    here = original
    for plain, group in groupby(steps, lambda step: step.rows == (FLATTEN.row,)):
        found = list(group)
        last = found[-1].whole
        if plain and len(found) > 1:
            found = [Step(here, last, (FLATTEN.row,), last)] if str(here) != str(last) else []
        yield from found
        here = last


class _Steps:
    """Changes of a ledger as steps: ways to write sums go with the rows that ask for them."""

    def __init__(self, ledger: Ledger) -> None:
        self.nodes = dict(enumerate(ledger.nodes))

    def term(self, number: int) -> Index:
        return index_term(self.nodes, number)

    def of(self, changes: list[Change]) -> list[Step]:
        """One step for each change that is not quiet; an equality that was shown is not shown again."""
        steps: list[Step] = []
        shown: set[tuple[Index, Index]] = set()
        unseen: tuple[str, ...] = ()
        for group in self._groups(changes):
            step = self._step(group, unseen)
            if step.before is step.after:
                unseen = step.rows
            elif (step.before, step.after) not in shown:
                shown.add((step.before, step.after))
                steps.append(step)
                unseen = ()
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

    def _step(self, group: list[Change], unseen: tuple[str, ...]) -> Step:
        """A group as a step, with rows of earlier steps whose two sides are written alike."""
        place = self._unconditional(group, _common([change.place for change in group]))
        before, after = (self.term(subterm(self.nodes, side, place)) for side in (group[0].before, group[-1].after))
        named = dict.fromkeys(change.reason.row for change in group if not change.reason.quiet or self._shows(change))
        return Step(before, after, (*unseen, *(row for row in named if row not in unseen)), self.term(group[-1].after))

    def _unconditional(self, group: list[Change], place: Places) -> Places:
        """The place, or the choice or conjunction around it if it rests on what holds there only (Given)."""
        if not any(self._is_given(subterm(self.nodes, side, place)) for change in group for side in (change.before, change.after)):
            return place
        choices = [
            k for k in range(len(place)) if self.nodes[subterm(self.nodes, group[0].before, place[:k])].op in ("Where", "Min", "Max")
        ]
        return place[: min(choices, default=0)]

    def _is_given(self, number: int) -> bool:
        """Whether a node rests on an assumption."""
        node = self.nodes[number]
        return node.op == "Given" or any(map(self._is_given, index_children(node)))

    def _shows(self, change: Change) -> bool:
        return self.term(change.before) is not self.term(change.after)


def _common(places: list[Places]) -> Places:
    """The place that all these are in."""
    return tuple(positions[0] for positions in takewhile(lambda p: len(set(p)) == 1, zip(*places, strict=False)))


@functools.cache
def equations(own: tuple[Rule, ...] = ()) -> dict[str, str]:
    """The equation of every row by its name, the user's own ones among them."""
    return {row.name: row.equation for _, row in rows((*TABLES, *own_table(own)))}
