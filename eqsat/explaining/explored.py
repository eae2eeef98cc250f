"""The e-graph of one index expression after saturation: which other forms it holds, and whether it holds a given one."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from eqsat.egraph.choose import is_below, other_choices
from eqsat.egraph.forms import Forms, constants
from eqsat.egraph.index_cost import IndexWeights, index_cycles
from eqsat.egraph.snapshot import Snapshot
from eqsat.egraph.spell import index_term
from eqsat.indices.simplifier import INVALID, as_kind, limits_for
from eqsat.ir.errors import UnsupportedError
from eqsat.ir.index import Const, Index, where
from eqsat.options import Options
from eqsat.report import Report
from eqsat.saturate import PHASES, Session, session_of

# changes of single nodes that are tried, and from each form
MOST_TRIALS = 400
MOST_CHANGES = 40


def under(term: Index, fact: Index) -> Index:
    """A term where a fact holds, and a value that no term has elsewhere."""
    return term if isinstance(fact, Const) else where(fact, term, INVALID)


class Explored:
    """A session whose e-graph holds a term, saturated; `report` says how that went."""

    def __init__(self, work: Session, term: Index, fact: Index, weights: IndexWeights) -> None:
        self._work, self._term, self._fact, self._weights = work, term, fact, weights
        self._root = work.encoder.index(under(term, fact))
        self.snapshot = work.run(PHASES["index"])

    @property
    def report(self) -> Report:
        return self._work.report

    def others(self) -> Iterator[Index]:
        """Distinct forms of the term, each a change of single nodes from one that came before, the cheapest that are known first."""
        snapshot, forms = self.snapshot, self._work.forms(self.snapshot)
        root = self._class(snapshot)
        if root not in forms:
            return
        known = constants(snapshot)
        count = itertools.count()
        seen = {index_term(forms, root)}
        queue: list[tuple[float, int, Index, Forms]] = [(0.0, next(count), index_term(forms, root), forms)]
        trials = MOST_TRIALS
        while queue:
            _, _, term, chosen = heapq.heappop(queue)
            yield as_kind(term, self._term)
            for _, name, node in other_choices(snapshot, chosen, root, known, self._weights)[: min(MOST_CHANGES, trials)]:
                trials -= 1
                trial = {**chosen, name: node}
                if not is_below(trial, name) and (other := index_term(trial, root)) not in seen:
                    seen.add(other)
                    heapq.heappush(queue, (index_cycles(other, weights=self._weights), next(count), other, trial))

    def holds(self, term: Index) -> bool:
        """Whether saturation of the term alone has found this form."""
        return self._merged(term, False)

    def proves(self, term: Index) -> bool:
        """Whether the rules make both equal where they are given both."""
        return self._merged(term, True)

    def _merged(self, term: Index, step: bool) -> bool:
        try:
            handle = self._work.encoder.index(under(term, self._fact))
        except UnsupportedError:
            return False
        if step:
            snapshot = self._work.run(PHASES["index"])
        else:
            self._work.load()
            snapshot = self._work.snapshot()
        return snapshot.name(handle) == snapshot.name(self._root)

    def _class(self, snapshot: Snapshot) -> int:
        """The class of the term; under a fact that of the branch where it holds."""
        root = snapshot.name(self._root)
        if isinstance(self._fact, Const):
            return root
        branches = (node.args[1] for node in snapshot.classes["Ix"][root] if node.op == "Where")
        return next(branches, root)


@contextmanager
def explored(term: Index, fact: Index, options: Options) -> Iterator[Explored]:
    """The e-graph of a term, where `fact` holds.  Raises UnsupportedError for a term that it cannot hold."""
    limits = limits_for(options.limits, [under(term, fact)])
    with session_of(options, Report(), limits, sorts=("Ix",)) as work:
        yield Explored(work, term, fact, options.cost.index)
