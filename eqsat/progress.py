"""Progress of long work: one line on the terminal or in the notebook, from the first second on, removed at the end.

    with work("calibrating"):             what takes long, from beginning to end
        tell("reading from memory")       what it does now, said as often as it likes
        tell("lowering kernels", 3, 12)

Nothing is shown where standard error is no terminal and there is no notebook, so programs that use eqsat stay silent.  The environment's
EQSAT_PROGRESS overrides that: 0 is never, 1 is always, as lines of their own where there is no terminal.  Work within work tells the line
of the outer one, and of several threads that work at once the first is shown.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from html import escape
from typing import Any, Protocol

# seconds until something is shown, and between two looks at what is told
DELAY, INTERVAL = 1.0, 0.2
BAR = 20
CLEAR = "\r\x1b[K"


@dataclass(frozen=True)
class Stage:
    """What work does now; `done` of `total` parts, where they are counted."""

    name: str
    done: int = 0
    total: int = 0

    def __str__(self) -> str:
        if not self.total:
            return self.name
        full = BAR * min(self.done, self.total) // self.total
        return f"{self.name} [{'#' * full}{'.' * (BAR - full)}] {self.done} of {self.total}"


class Place(Protocol):
    """Where progress is shown."""

    def show(self, stage: Stage, seconds: float) -> None:
        """Show what is done after so many seconds of work, in the place of what was shown before."""

    def close(self) -> None:
        """Remove what was shown."""


class Line:
    """A line on a terminal."""

    def __init__(self, stream: Any) -> None:
        self.stream, self._last = stream, ""

    def show(self, stage: Stage, seconds: float) -> None:
        text = _told(stage, seconds)
        if text != self._last:
            self._last = text
            self._write(CLEAR + text[: max(shutil.get_terminal_size().columns - 1, 0)])

    def close(self) -> None:
        self._write(CLEAR)

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            self.stream.write(text)
            self.stream.flush()


class Lines(Line):
    """Lines of a file, one for each stage that lasts until somebody looks."""

    def show(self, stage: Stage, seconds: float) -> None:
        if stage.name != self._last:
            self._last = stage.name
            self._write(_told(stage, seconds) + "\n")

    def close(self) -> None:
        """Lines of files stay."""


class Output:
    """An output of a notebook's cell, which is empty in the end; `shell` is IPython's, in a kernel."""

    def __init__(self, shell: Any) -> None:
        self.shell, self._last = shell, ""
        self.name = f"eqsat-progress-{time.monotonic_ns()}"

    def show(self, stage: Stage, seconds: float) -> None:
        text = _told(stage, seconds)
        if text != self._last:
            self._publish({"text/plain": text, "text/html": f"<small>{escape(text)}</small>"})
            self._last = text

    def close(self) -> None:
        self._publish({"text/plain": "", "text/html": ""})

    def _publish(self, data: dict[str, str]) -> None:
        self.shell.display_pub.publish(data, transient={"display_id": self.name}, update=bool(self._last))


class Work:
    """Work that goes on, and the thread that looks at what it tells."""

    def __init__(self, stage: str, place: Place) -> None:
        self.stage, self.place = Stage(stage), place
        self.started = time.perf_counter()
        self._ended, self._turn, self._shown = threading.Event(), threading.Lock(), False
        threading.Thread(target=self._look, name="eqsat progress", daemon=True).start()

    def _look(self) -> None:
        wait = DELAY
        while not self._ended.wait(wait):
            with self._turn:
                if not self._ended.is_set():
                    self.place.show(self.stage, time.perf_counter() - self.started)
                    self._shown = True
            wait = INTERVAL

    def end(self) -> None:
        self._ended.set()
        with self._turn:
            if self._shown:
                self.place.close()


class _Current(threading.local):
    """The work of this thread that is shown."""

    work: Work | None = None


_CURRENT = _Current()
# held by the thread whose work is shown
_SHOWN = threading.Lock()


@contextmanager
def work(stage: str) -> Iterator[None]:
    """Show from here to the end of the block what is told, if it takes long and there is a place for it; also a decorator."""
    if _CURRENT.work is not None:
        tell(stage)
        yield
        return
    place = find_place()
    if place is None or not _SHOWN.acquire(blocking=False):
        yield
        return
    _CURRENT.work = Work(stage, place)
    try:
        yield
    finally:
        _CURRENT.work.end()
        _CURRENT.work = None
        _SHOWN.release()


def tell(stage: str, done: int = 0, total: int = 0) -> None:
    """Say what the work of this thread does now; nothing happens where none is shown."""
    if _CURRENT.work is not None:
        _CURRENT.work.stage = Stage(stage, done, total)


def find_place() -> Place | None:
    """The notebook of this process, its terminal, or with EQSAT_PROGRESS=1 its standard error, whatever that is; else None."""
    said = os.environ.get("EQSAT_PROGRESS", "")
    if said == "0":
        return None
    shell = _shell()
    if hasattr(shell, "kernel"):
        return Output(shell)
    if sys.stderr is None:
        return None
    if _is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb":
        return Line(sys.stderr)
    return Lines(sys.stderr) if said else None


def _is_terminal(stream: Any) -> bool:
    """False also for a stream that is closed, and for what some programs put in the place of one."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def _shell() -> Any:
    """IPython's shell, where this process runs one: then it is imported already."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def _told(stage: Stage, seconds: float) -> str:
    return f"eqsat: {stage} ({seconds:.0f} s)"
