"""A thread's egglog e-graphs: the only module that loads egglog.

They cannot leave the thread that made them, and are given their rows by files, so that a process that was forked makes its own.

Work on it is a transaction: what is added in `with engine.session():` is gone before the next.  Emptying the tables takes a
twentieth of egglog's push and pop, which copy all tables and rules; they are used after errors, and now and then to give
memory back.  Calls from several threads take turns.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Generic, TypeVar

from eqsat.egraph.schema import GATHERED, ROW_WIDTH, load_ruleset, loadable
from eqsat.ir.errors import InternalError

T = TypeVar("T")
Row = tuple[int, ...]
_PADDING = (0,) * (ROW_WIDTH - 1)
SESSIONS_PER_POP = 128
# tables of more nodes are popped at the end of their session: that takes 5 ms, and a microsecond a node is what they would cost the next
WORN = 5000


# where a process finds the files that it has open, also those without a name
_OPEN_FILES = "/proc/self/fd"


class _Rows:
    """A file without a name, which is gone however the process ends; in memory where the system has a folder there, since opening one
    elsewhere takes five times as long.  Who closes all that is open, as a process does that goes into the background, may open other
    files by the same number: those are neither written nor closed."""

    def __init__(self) -> None:
        shared = "/dev/shm"
        with tempfile.TemporaryFile(buffering=0, dir=shared if os.access(shared, os.W_OK) else None) as file:
            self.number = os.dup(file.fileno())
        self._made = self._found()

    def _found(self) -> tuple[int, int] | None:
        try:
            found = os.fstat(self.number)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    @property
    def is_open(self) -> bool:
        return self._found() == self._made

    def write(self, text: str) -> None:
        os.ftruncate(self.number, 0)
        os.pwrite(self.number, text.encode(), 0)

    def close(self) -> None:
        if self.is_open:
            os.close(self.number)


class _Loading:
    """Held while egglog is loaded, and whether that was in a parent of this process."""

    lock = threading.Lock()
    is_parents = False


def _after_fork() -> None:
    """egglog gives memory back in the threads that it has, of which a child has none: it would wait for them without end."""
    _Loading.lock = threading.Lock()
    _Loading.is_parents = _Loading.is_parents or BINDINGS in sys.modules or bindings.cache_info().currsize > 0
    for engine in _EVERY:
        engine.keep_forever()


BINDINGS, THREADS = "egglog.bindings", "RAYON_NUM_THREADS"


class _Loaded(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds egglog.bindings, which cannot be loaded twice, for who imports egglog's package later."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(fullname, self) if fullname == BINDINGS else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: the module has run already."""


@functools.cache
def bindings() -> Any:
    """egglog itself, written in Rust: its package is a language in Python around it, which takes twenty times as long to import."""
    if BINDINGS in sys.modules:
        return sys.modules[BINDINGS]
    package = importlib.util.find_spec("egglog")
    folders = (package.submodule_search_locations if package is not None else None) or ()
    found = importlib.machinery.PathFinder.find_spec(BINDINGS, list(folders))
    if found is None or found.loader is None:
        raise ImportError("egglog is not installed: no egglog.bindings", name=BINDINGS)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    _start_alone(module)
    sys.modules.pop(BINDINGS, None)
    sys.meta_path.insert(0, _Loaded(module))
    return module


def _owner() -> tuple[int, int]:
    """This process and thread."""
    return os.getpid(), threading.get_ident()


def _start_alone(egglog: Any) -> None:
    """Let egglog start its threads, of which it gets one: it would share large tables among more, of which forked processes have none, and
    match in another order."""
    wanted = os.environ.get(THREADS)
    os.environ[THREADS] = "1"
    try:
        egglog.EGraph()
    finally:
        if wanted is None:
            del os.environ[THREADS]
        else:
            os.environ[THREADS] = wanted


class PerThread(threading.local, Generic[T]):
    """What holds engines, by key, of the thread that asks for it, made when it is first asked for."""

    def __init__(self) -> None:
        self._owner, self._made = _owner(), dict[Hashable, T]()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        if self._owner != _owner():
            self._owner, self._made = _owner(), {}
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


_EVERY: weakref.WeakSet[Engine] = weakref.WeakSet()


class Engine:
    """An egglog e-graph with a fixed program: schema and rules for classes of some sorts.

    rulesets  table -> its rulesets, each with the nodes and views without which it has nothing to match
    """

    def __init__(self, program: str, sorts: tuple[str, ...], rulesets: Mapping[str, tuple[tuple[str, frozenset[str]], ...]]) -> None:
        self._program, self._rulesets = program, rulesets
        self._alone = frozenset(name for sets in rulesets.values() for name, _ in sets)
        self._lock = threading.RLock()
        self._owner = _owner()
        self._is_worn = False
        self._kinds = {name: kind for kind, name in enumerate(loadable(sorts))}
        self._handles = frozenset(f"H{sort}" for sort in sorts)
        self._begin()
        _EVERY.add(self)

    def _begin(self) -> None:
        """Make the e-graph."""
        self._open_rows()
        with _Loading.lock:
            egglog = bindings()
        self._combined: dict[tuple[str, ...], str] = {}
        self._schedules: dict[tuple[object, ...], str] = {}
        self._egglog = egglog.EGraph(fact_directory=_OPEN_FILES)
        if _Loading.is_parents:
            self.keep_forever()
        self._parse = functools.lru_cache(maxsize=256)(self._egglog.parse_program)
        self.integer: Callable[[Any], int] = self._egglog.value_to_i64
        # the members of a multiset, repeated as often as they occur
        self.members: Callable[[Any], list[Any]] = self._egglog.value_to_multiset
        self._error: type[Exception] = egglog.EggSmolError
        for line in self._program.splitlines():  # egglog takes quadratic time in the length of a text
            self.run_text(line)
        self.run_text("(push)")
        self._sessions = 0

    def _open_rows(self) -> None:
        self._rows = _Rows()
        weakref.finalize(self, self._rows.close)

    def keep_forever(self) -> None:
        """Never give back the memory of its tables."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._egglog))

    def __del__(self) -> None:
        """In a forked process, what threads of its parent had goes away in another thread, where egglog does not let it."""
        if hasattr(self, "_egglog") and self._owner != _owner():
            self.keep_forever()

    def run_text(self, text: str) -> list[Any]:
        """Run egglog text; what egglog refuses is a bug of ours."""
        try:
            outputs: list[Any] = self._egglog.run_program(*self._parse(text))
        except self._error as error:
            raise InternalError(f"egglog: {error}") from error
        return outputs

    @contextmanager
    def session(self) -> Iterator[None]:
        """Everything added inside is removed at the end."""
        with self._lock:
            try:
                yield
            except BaseException:
                self._restart()
                raise
            self._sessions += 1
            if self._is_worn or not (self._sessions % SESSIONS_PER_POP or _Loading.is_parents):
                self._restart()
            else:
                self.run_text("(run clear 1)")

    def grew(self, nodes: int) -> None:
        """So many nodes were seen: of tables that were large, every later session would look at what is left of their rows."""
        self._is_worn = self._is_worn or nodes > WORN

    def _restart(self) -> None:
        self._is_worn = False
        if _Loading.is_parents:
            self._begin()
            return
        self.run_text("(pop) (push)")
        self._combined.clear()
        self._schedules.clear()

    def load(self, facts: Mapping[str, Iterable[Row]]) -> None:
        """Carry out rows of each kind of schema.loadable."""
        lines = ["\t".join(map(str, (self._kinds[kind], *row, *_PADDING[len(row) :]))) for kind, rows in facts.items() for row in rows]
        if lines:
            if not self._rows.is_open:
                self._open_rows()
            self._rows.write("\n".join(lines) + "\n")
            stated = self.combined([load_ruleset(kind) for kind in facts if kind not in GATHERED])
            gathered = [f"(run {load_ruleset(kind)})" for kind in facts if kind in GATHERED]
            self.run_text(f'(input row "{self._rows.number}")(run-schedule (run {stated}) {" ".join(gathered)})')

    def applicable(self, table: str, present: Set[str]) -> list[str]:
        """The rulesets of a table that have something to match where only these nodes and views are present; none of the user's own."""
        return [name for name, needed in self._rulesets.get(table, ()) if needed <= present]

    def is_ruleset(self, name: str) -> bool:
        """Whether this rule is a ruleset of its own: those of patterns are."""
        return name in self._alone

    def combined(self, rulesets: list[str]) -> str:
        """The name of one ruleset that holds all of these."""
        key = tuple(sorted(rulesets))
        if key not in self._combined:
            self._combined[key] = f"all{len(self._combined)}"
            self.run_text(f"(unstable-combined-ruleset {self._combined[key]} {' '.join(rulesets)})")
        return self._combined[key]

    def remembered(self, key: tuple[object, ...], schedule: Callable[[], str]) -> str:
        """A schedule over combined rulesets, written once while their names last."""
        if key not in self._schedules:
            self._schedules[key] = schedule()
        return self._schedules[key]

    def run(self, schedule: str) -> tuple[bool, dict[str, int]]:
        """Run a schedule -> whether anything changed, and how often each named rule matched."""
        report = self.run_text(f"(run-schedule {schedule})")[0].report
        return bool(report.updated), {name: count for name, count in report.num_matches_per_rule.items() if count}

    def size(self) -> int:
        """How many rows all tables hold, names of classes left out."""
        sizes = self.run_text("(print-size)")[0].sizes
        return sum(rows for name, rows in sizes if name not in self._handles)

    def freeze(self) -> Mapping[str, Any]:
        """The tables of the e-graph by constructor, relation or function name."""
        functions: Mapping[str, Any] = self._egglog.freeze().functions
        return functions


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
