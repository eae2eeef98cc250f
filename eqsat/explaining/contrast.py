"""Two results side by side: what differs in cost, in rules and in programs."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan

from eqsat.ir.errors import UsageError
from eqsat.pricing.amounts import amount
from eqsat.pricing.costs import Cost
from eqsat.report import Report
from eqsat.result import IndexResult, Result


@dataclass(frozen=True)
class KernelDifference:
    """A kernel of two programs, by the text of what it computes: its cost in each, None where it is not there; units: what they are in."""

    text: str
    first: float | None
    second: float | None
    units: tuple[str, str] = ("ns", "ns")

    def __str__(self) -> str:
        sides = ("absent" if cost is None else amount(cost, unit) for cost, unit in zip((self.first, self.second), self.units, strict=True))
        return f"{' -> '.join(f'{side:>15}' for side in sides)}  {self.text}"


@dataclass(frozen=True, repr=False)
class Contrast:
    """What differs between two results.

    costs             of the first and the second; ratio: the second by the first, NaN where they are counted in two units
    kernels           those that differ in cost or are in one only, the largest difference first
    only_first, only_second  rows that matched in one only, with how often
    diff              the programs, or expressions, as a unified diff; empty where they are the same
    reports           stop reason, iterations and nodes of each
    """

    costs: tuple[Cost, Cost]
    kernels: tuple[KernelDifference, ...]
    only_first: tuple[tuple[str, int], ...]
    only_second: tuple[tuple[str, int], ...]
    diff: str
    reports: tuple[str, str]

    @property
    def ratio(self) -> float:
        first, second = (cost.total for cost in self.costs)
        if self.costs[0].unit != self.costs[1].unit:
            return float("nan")
        return second / first if first else (float("inf") if second else 1.0)

    @property
    def same(self) -> bool:
        """Whether both are one program at one cost."""
        return not self.diff and not self.kernels

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        first, second = (cost.text for cost in self.costs)
        yield f"cost {first} -> {second} ({'counted in two units' if isnan(self.ratio) else f'ratio {self.ratio:.3g}'})"
        yield from map(str, self.kernels)
        for which, rows in (("first", self.only_first), ("second", self.only_second)):
            if rows:
                yield f"rows that matched in the {which} only: {', '.join(f'{name} ({count})' for name, count in rows)}"
        yield from (f"{which}: {report}" for which, report in zip(("first", "second"), self.reports, strict=True))
        yield self.diff or "the programs are the same"


def compare(first: Result | IndexResult, second: Result | IndexResult) -> Contrast:
    """What differs between two results of `eqsat.optimize`, of programs or of index expressions.

    Raises UsageError for anything else, and for one of each.
    """
    if not isinstance(first, Result | IndexResult) or type(first) is not type(second):
        raise UsageError(f"compare: found {type(first).__name__} and {type(second).__name__}, expected two Results or two IndexResults")
    one, other = (str(result.program if isinstance(result, Result) else result.expr).splitlines() for result in (first, second))
    diff = "\n".join(difflib.unified_diff(one, other, "first", "second", lineterm="", n=1))
    matches = [result.report.fired for result in (first, second)]
    only = [tuple(sorted((name, n) for name, n in mine.items() if name not in theirs)) for mine, theirs in (matches, matches[::-1])]
    reports = (_shown(first.report), _shown(second.report))
    return Contrast((first.cost, second.cost), tuple(_kernels(first, second)), only[0], only[1], diff, reports)


def _kernels(first: Result | IndexResult, second: Result | IndexResult) -> list[KernelDifference]:
    """The kernels that differ."""
    costs = [_by_text(one) for one in (first, second)]
    units = first.cost.unit, second.cost.unit
    every = [KernelDifference(text, costs[0].get(text), costs[1].get(text), units) for text in dict.fromkeys((*costs[0], *costs[1]))]
    changed = [one for one in every if one.first != one.second or units[0] != units[1]]
    return sorted(changed, key=lambda one: -abs((one.first or 0.0) - (one.second or 0.0)))


def _by_text(result: Result | IndexResult) -> dict[str, float]:
    """The costs of kernels by what they compute; equal ones together."""
    if isinstance(result, IndexResult):
        return dict(result.cost.kernels)
    names = {nest.kernel.name: " and ".join(str(build).splitlines()[0] for build in nest.builds) for nest in result.nests}
    found: dict[str, float] = {}
    for name, ns in result.cost.kernels:
        text = names.get(name) or name
        found[text] = found.get(text, 0.0) + ns
    return found


def _shown(report: Report) -> str:
    return f"{report.end}, {report.nodes} nodes in {report.classes} classes"
