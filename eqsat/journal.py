"""What sessions on the e-graph did, in order: enough to do it once more and to look at every step (exploring/).

A report that carries a Journal is kept one; without it nothing is written down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from eqsat.egraph.encode import Encoder
from eqsat.egraph.engine import Row
from eqsat.egraph.forms import Forms
from eqsat.egraph.snapshot import Snapshot
from eqsat.rules.row import Table

# the row of what a term or program holds as it is written
WRITTEN = ""


@dataclass(frozen=True)
class Loaded:
    """Rows that were handed to the e-graph; `counts`: how often sum rows found something since rows were handed over before."""

    facts: Mapping[str, list[Row]]
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Ran:
    """One pass of a phase's tables over the rules whose nodes and views were present and that did not rest; `counts`: how often each row
    matched."""

    phase: str
    tables: tuple[str, ...]
    present: frozenset[str]
    resting: frozenset[str]
    counts: Mapping[str, int]


@dataclass
class Transcript:
    """One session.

    origin      the row that made each handle; WRITTEN for those of the terms as they are written
    snapshot    the classes at the end, with what sum rows found last
    forms       the cheapest forms of its index classes, after a phase that visits sums
    extraction  of a tensor program: what was extracted (an Extraction of extract.py); nothing is written down from then on
    """

    tables: tuple[Table, ...]
    sorts: tuple[str, ...]
    encoder: Encoder
    entries: list[Loaded | Ran] = field(default_factory=list)
    origin: dict[int, str] = field(default_factory=dict)
    snapshot: Snapshot = field(default_factory=Snapshot)
    forms: Forms = field(default_factory=dict)
    extraction: Any = None
    _visited: Counter[str] = field(default_factory=Counter)
    _pending: dict[str, list[Row]] = field(default_factory=dict)

    def credit(self, row: str) -> None:
        """What the encoder made since the last call is this row's."""
        for handle, _, _ in self.encoder.made():
            if handle in self.origin:
                break
            self.origin[handle] = row

    def visited(self, counts: Mapping[str, int]) -> None:
        """Sum rows looked at the classes, and found something so often."""
        self._visited.update(counts)

    def loaded(self, facts: Mapping[str, list[Row]]) -> None:
        """These rows were handed to the e-graph."""
        self.credit(WRITTEN)
        if self.extraction is None:
            self._enter(facts)

    def ran(self, phase: str, tables: tuple[str, ...], present: Set[str], resting: Set[str], counts: Mapping[str, int]) -> None:
        """A pass of these tables was run."""
        self.entries.append(Ran(phase, tables, frozenset(present), frozenset(resting), counts))

    def ended(self, snapshot: Snapshot, forms: Forms) -> None:
        """A phase ended with these classes; what the encoder holds belongs to them, though it may never be handed over."""
        self.snapshot, self.forms = snapshot, forms
        self._pending = {kind: list(rows) for kind, rows in self.encoder.facts.items()}

    def extracted(self, extraction: Any) -> None:
        """This was extracted from the last snapshot."""
        self.extraction = extraction
        self._enter(self._pending)

    def complete(self) -> list[Loaded | Ran]:
        """All entries, with what was left to be handed over."""
        if self.extraction is None and self._pending:
            self._enter(self._pending)
        return self.entries

    def _enter(self, facts: Mapping[str, list[Row]]) -> None:
        self.entries.append(Loaded(facts, dict(self._visited)))
        self._visited.clear()
        self._pending = {}


@dataclass
class Journal:
    """The transcripts of the sessions of one report, in order."""

    transcripts: list[Transcript] = field(default_factory=list)

    def opened(self, tables: tuple[Table, ...], sorts: tuple[str, ...], encoder: Encoder) -> Transcript:
        """A session began."""
        self.transcripts.append(Transcript(tables, sorts, encoder))
        return self.transcripts[-1]
