"""The pytest plugin that comes with eqsat: the fixture `cost`, snapshots of costs beside the tests, a summary (docs/testing.md).

pytest loads this file whenever it starts, so it imports little but pytest; the rest of eqsat is loaded when a test calls `cost`, or where
snapshots lie beside the tests.  Costs are compared where the tests run.  What was measured travels with the reports to the one process that
writes, under pytest-xdist the controller.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import eqsat
from eqsat import costs_in_tests

if TYPE_CHECKING:
    import eqsat.costs_in_tests.session
    import eqsat.costs_in_tests.summary
    import eqsat.testing

# of reports and of what a worker hands over at its end
KEY = "eqsat_costs"
Wrapper = Generator[None, Any, None]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("eqsat", "costs of programs (eqsat)")
    group.addoption("--update-costs", action="store_true", help="bring snapshots of costs up to date, remove those that nothing uses")
    group.addoption("--costs", action="store_true", help="show the costliest programs of the run; with -v all of them")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[PLUGIN] = CostPlugin(config)
    config.pluginmanager.register(config.stash[PLUGIN], KEY)


class CostPlugin:
    """What the plugin knows in one process."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.update: bool = config.getoption("--update-costs")
        # as pytest tells it
        self.is_ci = any(os.environ.get(name) for name in ("CI", "BUILD_NUMBER"))
        self.is_worker = hasattr(config, "workerinput")
        self.collected: dict[Path, set[str]] = {}
        self.incomplete: set[Path] = set()
        self._has_snapshots: dict[Path, bool] = {}

    @cached_property
    def session(self) -> costs_in_tests.session.CostSession:
        """Made when there is something to keep."""
        return costs_in_tests.session.CostSession(self.update, writes=not self.is_ci)

    def compare(self, item: pytest.Item, call: str, fields: Mapping[str, Any]) -> str:
        """What is wrong with the cost of a call; "" for nothing."""
        try:
            change = self.session.change(item.path, name_in_file(item), call, fields)
        except eqsat.EqsatError as error:
            return str(error)
        if self.update:
            return ""
        if change.before is None and self.is_ci:
            return f"{change} {call!r}; none is made on CI: run `pytest --update-costs` and commit what it writes"
        return f"{change}\n`pytest --update-costs` accepts this" if change.fails else ""

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Wrapper:
        outcome = yield
        if isinstance(collector, pytest.Module | pytest.Class) and self._is_beside_snapshots(collector.path):
            self.collected.setdefault(collector.path, set())
            if not outcome.get_result().passed:
                self.incomplete.add(collector.path)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Wrapper:
        for item in items:  # before -k, -m and other plugins take some of them away
            if item.path in self.collected:
                self.collected[item.path].add(name_in_file(item))
        yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Wrapper:
        outcome = yield
        report = outcome.get_result()
        if report.when == "call":
            item.stash[PASSED] = report.passed
        if report.when == "teardown" and (CALLS in item.stash or self._is_beside_snapshots(item.path)):
            passed, calls = item.stash.get(PASSED, False), item.stash.get(CALLS, {})
            setattr(report, KEY, {"source": str(item.path), "test": name_in_file(item), "calls": calls, "passed": passed})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, KEY) and not self.is_worker and not self._runs_nothing:
            self.session.add(getattr(report, KEY))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._add_collected(getattr(node, "workeroutput", {}).get(KEY, {}))

    def pytest_sessionfinish(self) -> None:
        whole = {str(path): sorted(names) for path, names in self.collected.items() if self._is_whole(path)}
        if self.is_worker:
            self.config.workeroutput[KEY] = whole  # type: ignore[attr-defined]  # what pytest-xdist calls it
            return
        self._add_collected(whole)
        if "session" in self.__dict__:
            self.session.finish()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if "session" not in self.__dict__:
            return
        folder, costliest = self.config.invocation_params.dir, self.config.getoption("--costs")
        lines = costs_in_tests.summary.summary_lines(self.session, folder, costliest, everything=self.config.option.verbose > 0)
        if lines:
            terminalreporter.write_sep("=", "costs")
        for line in lines:
            terminalreporter.write_line(line)

    @property
    def _runs_nothing(self) -> bool:
        return any(self.config.getoption(name, False) for name in ("collectonly", "setuponly", "setupplan"))

    def _add_collected(self, whole: Mapping[str, list[str]]) -> None:
        if whole:
            self.session.add_collected({Path(path): frozenset(names) for path, names in whole.items()})

    def _is_beside_snapshots(self, path: Path) -> bool:
        if path.parent not in self._has_snapshots:
            self._has_snapshots[path.parent] = (path.parent / costs_in_tests.FOLDER).is_dir()
        return self._has_snapshots[path.parent]

    def _is_whole(self, path: Path) -> bool:
        """Whether all tests of a file were collected, so that others are gone."""
        selects = any("::" in arg for arg in self.config.args) or self.config.getoption("lf", False)
        return path not in self.incomplete and not selects and not self._runs_nothing


PLUGIN = pytest.StashKey[CostPlugin]()
# of a test: what its calls of `cost` found, as fields; whether it passed
CALLS = pytest.StashKey[dict[str, dict[str, Any]]]()
PASSED = pytest.StashKey[bool]()


def name_in_file(item: pytest.Item) -> str:
    """TestClass::test_function[parameters]; not of the node's id, which pytest-xdist adds groups to."""
    chain = item.listchain()
    inside = next((k for k, node in enumerate(chain) if isinstance(node, pytest.File)), -1)
    return "::".join(node.name for node in chain[inside + 1 :])


@pytest.fixture
def cost(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Costs of programs, compared with their snapshots: `cost(function, *specs)`."""
    item, plugin = request.node, request.config.stash[PLUGIN]
    calls = item.stash[CALLS] = dict[str, dict[str, Any]]()

    def cost(target: Any, *specs: Any, options: eqsat.Options | None = None, name: str | None = None) -> Any:
        """Optimize, and compare the cost with the snapshot of this call: a cost that rose fails the test.

        target   what `eqsat.optimize` takes, with its specs: a function, a Program, lazy tensors, an index expression
        options  where they name no target, costs are those of `eqsat.DEFAULT_TARGET`, whatever was measured on this machine
        name     of the snapshot, one for each call of a test; calls without one are counted
        Returns the Result, or the IndexResult of an index expression.
        """
        __tracebackhide__ = True
        if name is not None and not isinstance(name, str):
            pytest.fail(f"cost: found the name {name!r}, expected a text")
        result, fields = eqsat.testing.measure(target, *specs, options=options)
        fields["eqsat"] = eqsat.__version__
        call = str(len(calls) + 1) if name is None else name
        problem = f"cost: found {call!r} twice, expected a name for each call" if call in calls else plugin.compare(item, call, fields)
        calls.setdefault(call, fields)
        if problem:
            pytest.fail(problem)
        return result

    return cost
