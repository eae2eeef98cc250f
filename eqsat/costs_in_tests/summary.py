"""What a run of tests says about costs at its end: what changed, what nothing uses, and the costliest programs if asked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from eqsat.costs_in_tests.changes import Verdict, change_text
from eqsat.costs_in_tests.session import CostSession, Measured, Unused
from eqsat.costs_in_tests.snapshots import snapshot_path
from eqsat.pricing.amounts import amount

SHOWN = 10
REPORTED = (Verdict.DEARER, Verdict.TARGET, Verdict.CHEAPER, Verdict.CHANGED, Verdict.NEW)


def summary_lines(session: CostSession, folder: Path, costliest: bool, everything: bool) -> list[str]:
    """The lines of the summary; none where nothing changed and nobody asked.

    folder      what paths are shown relative to
    costliest   whether to list the costliest programs; everything: whether no list is shortened
    """
    measured = session.measured()
    lines: list[str] = []
    if costliest and measured:
        lines += _costliest_lines(measured, folder, None if everything else SHOWN)
    due: list[Verdict] = []
    for verdict in REPORTED:
        those = [one for one in measured if one.change.verdict is verdict]
        lines += _shortened([f"{verdict.value:<12}  {_place(one, folder)}  {_step(one)}" for one in those], everything)
        due += [verdict] * len(those)
    lines += _shortened([f"{'unused':<12}  {_unused_place(one, folder)}" for one in session.unused], everything)
    return [*lines, *_ending(session, due)]


def _ending(session: CostSession, due: Sequence[Verdict]) -> Iterator[str]:
    """What was written, or how to."""
    yield from session.failures
    if session.update:
        if session.written or session.removed:
            yield f"snapshots updated: {session.written} written, {session.removed} removed"
        return
    if Verdict.NEW in due:
        yield "snapshots that were missing are written: commit them" if session.writes else "missing snapshots are not written on CI"
    if set(due) - {Verdict.NEW}:
        yield "`pytest --update-costs` accepts what changed"
    if session.unused:
        yield "`pytest --update-costs` removes snapshots that nothing uses"


def _shortened(lines: Sequence[str], everything: bool) -> list[str]:
    """The first of many lines, and how many more there are."""
    rest = 0 if everything else len(lines) - SHOWN
    return list(lines) if rest <= 0 else [*lines[:SHOWN], f"{'':<12}  and {rest} more, shown with -v"]


def _costliest_lines(measured: Sequence[Measured], folder: Path, most: int | None) -> list[str]:
    """A table: estimated cost, cost as written, kernels, and where."""
    ordered = sorted(measured, key=lambda one: -one.change.after.total)
    rows = [("cost", "as written", "kernels", "")]
    for one in ordered[:most]:
        after = one.change.after
        rows.append((amount(after.total, after.unit), amount(after.written, after.unit), str(len(after.kernels)), _place(one, folder)))
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    lines = ["  ".join([*(cell.rjust(width) for cell, width in zip(row, widths, strict=False)), row[3]]).rstrip() for row in rows]
    rest = len(ordered) - len(rows) + 1
    return lines + ([f"and {rest} more, shown with -v"] if rest else [])


def _step(one: Measured) -> str:
    before, after = one.change.before, one.change.after
    if before is None:
        return amount(after.total, after.unit)
    if one.change.verdict is Verdict.CHANGED:
        return f"{amount(after.total, after.unit)} as before, by another program"
    if one.change.verdict is Verdict.TARGET:
        return " -> ".join(f"{side.target}, {side.unit}" if before.unit != after.unit else side.target for side in (before, after))
    return f"{amount(before.total, after.unit)} -> {amount(after.total, after.unit)} ({change_text(before.total, after.total)})"


def _place(one: Measured, folder: Path) -> str:
    return f"{os.path.relpath(one.source, folder)}::{one.test}{_call(one.call)}"


def _unused_place(one: Unused, folder: Path) -> str:
    place = os.path.relpath(snapshot_path(one.source), folder)
    return f"{place}  {one.test}{_call(one.call)}" if one.test else f"{place}  the whole file: {one.source.name} is gone"


def _call(call: str) -> str:
    """The first call without a name goes by its test."""
    return "" if call == "1" else f" ({call})"
