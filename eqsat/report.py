"""What happened during saturation, as a value."""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass, field

from eqsat.ir.shown import Shown
from eqsat.journal import Journal
from eqsat.proving.proof import Proof


class StopReason(enum.Enum):
    """Why saturation ended; all are answers."""

    SATURATED = "saturated"
    NODE_LIMIT = "node limit"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    NO_GAIN = "no gain"


@dataclass(repr=False)
class Report(Shown):
    """Saturation in numbers.

    stop_reason  the first limit that a phase met, else saturated; no gain: nothing that is asked for got cheaper for some steps
    iterations   steps of all phases
    nodes        e-nodes of the largest e-graph; classes: its e-classes
    seconds      wall clock of all sessions, for reading only: nothing is decided by it
    matches      how often each named row matched
    rule_seconds what each row took: the sum rows always, the others where Options(time_rules=True) asked for it; tensor rules run
                 together and stand under the name of their table, bounds under "bounds"
    rested       the rows that matched so often in a step that they were left out of what followed
    phases       (phase, iterations, nodes) in order
    proofs       what Options(certify=True) found out about every index term that was simplified, in order
    journal      what every session did, where someone is going to look at it (exploring/)
    """

    stop_reason: StopReason = StopReason.SATURATED
    iterations: int = 0
    nodes: int = 0
    classes: int = 0
    seconds: float = 0.0
    matches: Counter[str] = field(default_factory=Counter)
    rule_seconds: dict[str, float] = field(default_factory=dict)
    rested: set[str] = field(default_factory=set)
    phases: list[tuple[str, int, int]] = field(default_factory=list)
    proofs: list[Proof] = field(default_factory=list)
    journal: Journal | None = field(default=None, repr=False)

    def took(self, row: str, seconds: float) -> None:
        """Note the time of a row."""
        self.rule_seconds[row] = self.rule_seconds.get(row, 0.0) + seconds

    @property
    def fired(self) -> dict[str, int]:
        """The rows that matched, and how often: the most frequent first, equal ones by name."""
        return dict(sorted(((name, count) for name, count in self.matches.items() if count), key=lambda row: (-row[1], row[0])))

    @property
    def end(self) -> str:
        """Why saturation ended, and after how many iterations: "saturated after 2 iterations"."""
        return f"{self.stop_reason.value} after {self.iterations} iteration{'' if self.iterations == 1 else 's'}"

    def __str__(self) -> str:
        sizes = f"{self.end}: {self.nodes} nodes in {self.classes} classes"
        rows = [f"  {count:6} {name}{' (rested)' if name in self.rested else ''}" for name, count in self.fired.items()]
        return "\n".join([sizes, *rows])

    def stopped(self, reason: StopReason) -> None:
        """Note why a phase ended; a limit is not hidden by a later phase that saturates."""
        if self.stop_reason is StopReason.SATURATED:
            self.stop_reason = reason
