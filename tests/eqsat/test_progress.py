"""Progress of long work: seen where somebody looks, gone at the end, and nowhere else."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat import progress
from eqsat.progress import BAR, CLEAR, Line, Lines, Output, Stage, find_place, tell, work


class Terminal(io.StringIO):
    """A standard error on which somebody looks."""

    def isatty(self) -> bool:
        return True


class Shell:
    """IPython's shell in a kernel, with what was published."""

    kernel = None

    def __init__(self) -> None:
        self.display_pub = self
        self.published: list[tuple[dict[str, str], str, bool]] = []

    def publish(self, data: dict[str, str], transient: dict[str, str], update: bool) -> None:
        self.published.append((data, transient["display_id"], update))


class Told:
    """The work of a thread, which writes down all that is told."""

    def __init__(self) -> None:
        object.__setattr__(self, "stages", [])

    def __setattr__(self, name: str, stage: Stage) -> None:
        self.stages.append(stage)  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work counts as long at once; nothing is said in the environment."""
    monkeypatch.setattr(progress, "DELAY", 0.01)
    monkeypatch.setattr(progress, "INTERVAL", 0.005)
    monkeypatch.delenv("EQSAT_PROGRESS", raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Where progress is shown."""
    stream = Terminal()
    monkeypatch.setattr(progress, "find_place", lambda: Line(stream))
    return stream


def wait_for(condition: Callable[[], object]) -> None:
    end = time.perf_counter() + 10
    while not condition():
        assert time.perf_counter() < end, "nothing was shown"
        time.sleep(0.002)


def test_long_work_is_a_line_on_the_terminal_that_is_gone_at_the_end(terminal: Terminal) -> None:
    with work("measuring"):
        wait_for(lambda: "eqsat: measuring (0 s)" in terminal.getvalue())
        tell("lowering kernels", 3, 12)
        wait_for(lambda: "eqsat: lowering kernels [#####...............] 3 of 12 (0 s)" in terminal.getvalue())
    assert terminal.getvalue().endswith(CLEAR)
    assert "\n" not in terminal.getvalue()


def test_short_work_is_not_seen(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", 60.0)
    with work("measuring"):
        tell("more")
    assert terminal.getvalue() == ""


def test_the_same_line_is_written_once(terminal: Terminal) -> None:
    line = Line(terminal)
    line.show(Stage("measuring"), 1.0)
    line.show(Stage("measuring"), 1.1)
    assert terminal.getvalue().count("measuring") == 1


def test_a_long_line_is_cut_where_the_terminal_ends(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    Line(terminal).show(Stage("x" * 100), 1.0)
    assert len(terminal.getvalue().removeprefix(CLEAR)) == 29


@pytest.mark.parametrize("done", [0, 1, 50, 99, 100, 101])
def test_a_bar_is_as_long_as_what_is_done(done: int) -> None:
    text = str(Stage("kernels", done, 100))
    assert text.count("#") == BAR * min(done, 100) // 100
    assert text.count("#") + text.count(".") == BAR


def test_an_error_ends_the_work(terminal: Terminal) -> None:
    def fail() -> None:
        with work("measuring"):
            wait_for(terminal.getvalue)
            raise ValueError("of its own")

    with pytest.raises(ValueError, match="of its own"):
        fail()
    assert terminal.getvalue().endswith(CLEAR)
    length = len(terminal.getvalue())
    tell("afterwards")
    time.sleep(0.03)
    assert len(terminal.getvalue()) == length


def test_work_within_work_is_one_line(terminal: Terminal) -> None:
    with work("outer"):
        with work("inner"):
            wait_for(lambda: "inner" in terminal.getvalue())
        assert not terminal.getvalue().endswith(CLEAR)
    assert terminal.getvalue().endswith(CLEAR)


def test_of_two_threads_the_first_is_shown(terminal: Terminal) -> None:
    def other() -> None:
        with work("second"):
            tell("second")
            time.sleep(0.05)

    with work("first"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        wait_for(lambda: "first" in terminal.getvalue())
    assert "second" not in terminal.getvalue()
    with work("third"):
        wait_for(lambda: "third" in terminal.getvalue())


def test_nothing_is_shown_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    for other in (stream, None, object()):
        monkeypatch.setattr(sys, "stderr", other)
        assert find_place() is None
    stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    assert find_place() is None
    threads = threading.active_count()
    with work("measuring"):
        assert threading.active_count() == threads


def test_terminals_have_it_unless_they_cannot_clear_lines_or_the_environment_says_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert isinstance(find_place(), Line)
    monkeypatch.setenv("EQSAT_PROGRESS", "0")
    assert find_place() is None
    monkeypatch.delenv("EQSAT_PROGRESS")
    monkeypatch.setenv("TERM", "dumb")
    assert find_place() is None


def test_the_environment_asks_for_lines_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("EQSAT_PROGRESS", "1")
    assert isinstance(find_place(), Lines)
    with work("measuring"):
        wait_for(stream.getvalue)
        time.sleep(0.05)
        tell("lowering kernels", 3, 12)
        wait_for(lambda: "lowering" in stream.getvalue())
    first, second = stream.getvalue().splitlines()
    assert first == "eqsat: measuring (0 s)"
    assert second.startswith("eqsat: lowering kernels [#####.")


def test_a_notebook_has_one_output_that_is_empty_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = Shell()
    monkeypatch.setattr(progress, "_shell", lambda: shell)
    with work("a < b"):
        wait_for(lambda: shell.published)
    (first, name, update), *_, (last, same, updated) = shell.published
    assert first == {"text/plain": "eqsat: a < b (0 s)", "text/html": "<small>eqsat: a &lt; b (0 s)</small>"}
    assert (update, last, updated, same) == (False, {"text/plain": "", "text/html": ""}, True, name)


def test_ipython_on_a_terminal_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress, "_shell", object)
    assert isinstance(find_place(), Line)
    monkeypatch.setattr(progress, "_shell", Shell)
    assert isinstance(find_place(), Output)


def test_the_stages_of_the_pipeline_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: Any = Told()
    monkeypatch.setattr(progress._CURRENT, "work", told)
    x = np.arange(24.0).reshape(4, 6)
    eqsat.jit(lambda a: np.transpose(np.exp(a).reshape(6, 4)) + 1)(x)
    names = list(dict.fromkeys(stage.name for stage in told.stages))
    assert names[:3] == ["compiling", "optimizing", "saturating with rules of fusion"]
    assert names[-2:] == ["writing kernels", "LLVM compiles the kernels"]
    assert {"simplifying index terms", "lowering"} <= set(names)
    told.stages.clear()
    eqsat.optimize(lambda a: a.sum(axis=0), eqsat.spec((60, 70), "float32"), options=eqsat.Options(tune=0.3))
    assert any(stage.name.startswith("measuring loop nests: 1, ") for stage in told.stages)


def test_many_index_terms_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    x = eqsat.var("x", 0, 100)
    told: Any = Told()
    monkeypatch.setattr(progress._CURRENT, "work", told)
    eqsat.simplify_many([(x * 3 + k) // 7 % 5 for k in range(300)], eqsat.Options(cache=False))
    assert told.stages[0] == Stage("simplifying")
    counts = [stage.done for stage in told.stages if stage.total]
    assert counts == sorted(counts)
    assert {stage.total for stage in told.stages[1:]} == {300}


def test_a_real_terminal_sees_it_come_and_go() -> None:
    code = (
        "import time\nfrom eqsat import progress\nprogress.DELAY = 0.05\n"
        "with progress.work('measuring'):\n    time.sleep(0.5)\nprint('done')"
    )
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs, env=environment, check=True)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert done.stdout == b"done\n"
    assert shown.startswith(f"{CLEAR}eqsat: measuring (")
    assert shown.endswith(CLEAR)
