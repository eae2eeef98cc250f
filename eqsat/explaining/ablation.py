"""What each table of rules buys: the cost with all tables, and with each of them left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from eqsat.driver import optimize
from eqsat.ir.index import Index
from eqsat.ir.shown import Shown
from eqsat.options import Options, options_of
from eqsat.pricing.costs import Cost
from eqsat.report import Report, StopReason
from eqsat.rules import TABLES

# costs that differ by rounding only
SAME = 1e-9


@dataclass(frozen=True)
class LeftOut:
    """What a table buys.

    table     its name; cost: what is found without it, in nanoseconds
    ratio     that by the cost with all tables: above 1 the table pays, below 1 the search was better off without it
    matches   the rows of the table that matched when it was there, with how often
    """

    table: str
    cost: Cost
    ratio: float
    matches: tuple[tuple[str, int], ...]

    @property
    def changes(self) -> bool:
        """Whether the cost is another one without the table."""
        return abs(self.ratio - 1) > SAME


@dataclass(frozen=True, repr=False)
class Ablation(Shown):
    """What every table buys, the most important first; a notebook shows it as a page.

    cost    with all tables, original_cost as written
    report  of the run with all tables
    tables  one entry for each table in use
    """

    cost: Cost
    original_cost: Cost
    report: Report
    tables: tuple[LeftOut, ...]

    @property
    def stop_reason(self) -> StopReason:
        """Why saturation with all tables ended."""
        return self.report.stop_reason

    @property
    def idle(self) -> tuple[str, ...]:
        """The tables without which the cost is the same."""
        return tuple(one.table for one in self.tables if not one.changes)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"as written {self.original_cost.text}, with all tables {self.cost.text} ({self.stop_reason.value})"
        width = max((len(one.table) for one in self.tables), default=0) + 8
        yield f"{'without':{width}} {'cost':>16} {'ratio':>9}"
        yield from (f"{one.table:{width}} {one.cost.text:>16} {one.ratio:>9.3g}" for one in self.tables if one.changes)
        if self.idle:
            yield f"no difference: {', '.join(self.idle)}"


def leave_one_out(target: Any, *specs: Any, options: Options | None = None) -> Ablation:
    """Optimize with all tables of the options, then without each of them: what does each buy?

    target  what `eqsat.optimize` takes: a Program, a function with specs, lazy tensors, or an index expression
    The result is sorted by what is lost.  A ratio of inf is that of a cost of zero which is lost.  It takes one optimization for each
    table; tables for index terms only, where the target is one.  Raises what `eqsat.optimize` raises.
    """
    chosen = options_of(options, "leave_one_out")
    whole = optimize(target, *specs, options=chosen)
    base = whole.cost
    index_only = {table.name for table in TABLES if table.phase == "index"}
    found: list[LeftOut] = []
    for name in chosen.tables if not isinstance(target, Index) else (name for name in chosen.tables if name in index_only):
        cost = optimize(target, *specs, options=replace(chosen, rules=tuple(other for other in chosen.tables if other != name))).cost
        found.append(LeftOut(name, cost, _ratio(cost, base), _matches(name, whole.report)))
    found.sort(key=lambda one: -one.ratio)
    return Ablation(base, whole.original_cost, whole.report, tuple(found))


def _matches(name: str, report: Report) -> tuple[tuple[str, int], ...]:
    """The rows of a table that matched."""
    rows = sorted(row for table in TABLES if table.name == name for row in table.names)
    return tuple((row, report.matches[row]) for row in rows if report.matches.get(row))


def _ratio(cost: Cost, base: Cost) -> float:
    if base.total:
        return cost.total / base.total
    return float("inf") if cost.total else 1.0
