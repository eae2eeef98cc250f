"""What a run of tests learns about costs: measured programs beside their snapshots, which of these nothing uses, and what is written.

Only one process of a run writes: the one that all reports come to.  Workers of pytest-xdist read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eqsat.costs_in_tests import FOLDER
from eqsat.costs_in_tests.changes import CostChange, Verdict
from eqsat.costs_in_tests.snapshots import Calls, Tests, has_source, read_snapshots, snapshot_of, snapshot_path, write_snapshots
from eqsat.ir.errors import UsageError


@dataclass(frozen=True)
class Measured:
    """One call of the fixture `cost`: where it stands, and its cost beside its snapshot."""

    source: Path
    test: str
    call: str
    change: CostChange


@dataclass(frozen=True)
class Unused:
    """A snapshot that no test asks for; without a test all those of a file that is gone."""

    source: Path
    test: str = ""
    call: str = ""


@dataclass(frozen=True)
class _Run:
    """What one test measured, by call, and whether it passed."""

    calls: Calls
    passed: bool


class CostSession:
    """The snapshots and measurements of a run of tests.

    update  whether snapshots are brought up to date; writes  whether those that are missing are written without being asked

    What `finish` found and did: `unused` snapshots, how many were `written` and `removed`, and `failures` to write, in words.
    """

    def __init__(self, update: bool, writes: bool) -> None:
        self.update, self.writes = update, update or writes
        self.unused: list[Unused] = []
        self.written = self.removed = 0
        self.failures: list[str] = []
        self._stored: dict[Path, Tests] = {}
        self._tests: dict[tuple[Path, str], _Run] = {}
        self._collected: dict[Path, frozenset[str]] = {}

    def stored(self, source: Path) -> Tests:
        """The snapshots of a file with tests as they were when they were first asked for; UsageError for a file of something else."""
        if source not in self._stored:
            self._stored[source] = read_snapshots(snapshot_path(source))
        return self._stored[source]

    def change(self, source: Path, test: str, call: str, fields: Mapping[str, Any]) -> CostChange:
        """A cost, as `fields_of` gives it, beside its snapshot."""
        return CostChange(self.stored(source).get(test, {}).get(call), snapshot_of(fields))

    def add(self, run: Mapping[str, Any]) -> None:
        """Take what a test measured: its source and test, its calls as `fields_of` gives them, and whether it passed."""
        calls = {call: snapshot_of(fields) for call, fields in run["calls"].items()}
        self._tests[Path(run["source"]), run["test"]] = _Run(calls, run["passed"])

    def add_collected(self, collected: Mapping[Path, frozenset[str]]) -> None:
        """Take the names of all tests of files that were collected as a whole."""
        self._collected.update(collected)

    def measured(self) -> list[Measured]:
        """Every measured program, by file, test and call; not those of files that cannot be read, which failed their tests."""
        found = []
        for source, test in sorted(self._tests):
            with suppress(UsageError):
                stored = self.stored(source).get(test, {})
                calls = self._tests[source, test].calls
                found += [Measured(source, test, call, CostChange(stored.get(call), after)) for call, after in calls.items()]
        return found

    def _find_unused(self) -> list[Unused]:
        """Snapshots of files, tests and calls that are gone.  A test that did not run, or failed before it was done, keeps its own."""
        found = [Unused(source) for source in self._gone_sources()]
        for source in sorted(self._collected.keys() | {source for source, _ in self._tests}):
            with suppress(UsageError):
                stored = ((test, call) for test, calls in self.stored(source).items() for call in calls)
                found += [Unused(source, *place) for place in stored if self._is_unused(source, *place)]
        return found

    def _is_unused(self, source: Path, test: str, call: str) -> bool:
        if (source, test) in self._tests:
            run = self._tests[source, test]
            return run.passed and call not in run.calls
        return source in self._collected and test not in self._collected[source]

    def _gone_sources(self) -> Iterator[Path]:
        """Files with tests that are gone while their snapshots are there, beside files that were collected."""
        for folder in sorted({source.parent / FOLDER for source in self._collected}):
            for path in sorted(folder.glob("*.json")):
                if not has_source(path):
                    yield path.parent.parent / f"{path.stem}.py"

    def finish(self) -> None:
        """Write what is due: missing snapshots, and to update them those that differ; then those that nothing uses are removed."""
        self.unused = self._find_unused()
        changed: dict[Path, Tests] = {}
        for one in self.measured():
            if one.change.before != one.change.after and (self.update or (self.writes and one.change.verdict is Verdict.NEW)):
                changed.setdefault(one.source, {}).setdefault(one.test, {})[one.call] = one.change.after
        gone = self.unused if self.update else []
        for source in sorted(changed.keys() | {one.source for one in gone}):
            try:
                self._write(source, changed.get(source, {}), [one for one in gone if one.source == source])
            except (OSError, UsageError) as error:
                self.failures.append(f"not written: {error}")

    def _write(self, source: Path, changed: Tests, gone: list[Unused]) -> None:
        """Bring a file up to date, as it is now: another run may have written to it."""
        path = snapshot_path(source)
        tests = {} if Unused(source) in gone else read_snapshots(path)
        for test, calls in changed.items():
            tests.setdefault(test, {}).update(calls)
        for one in gone:
            tests.get(one.test, {}).pop(one.call, None)
        write_snapshots(path, tests)
        self.written += sum(map(len, changed.values()))
        self.removed += len(gone)
