"""How many threads kernels use, and splitting the outermost loop of one among them."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from eqsat.codegen.calls.pool import Pool, supported
from eqsat.codegen.shared_loops import PIECES_PER_THREAD, Units
from eqsat.ir.errors import UsageError
from eqsat.keeping.kept import common_code

Array = np.ndarray[Any, Any]

_count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_num_threads(count: int) -> None:
    """Use up to `count` threads from now on; at first as many as the process has processors.  UsageError below 1."""
    global _count
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise UsageError(f"set_num_threads: found {count!r}, expected an integer of at least 1")
    _count = int(count)
    if _ready:
        make_ready()


def num_threads() -> int:
    """The number of threads that kernels may use."""
    return _count


@functools.cache
def _team(process: int, workers: int) -> Pool:
    """The threads of this process besides its own: those made before a fork are not there after it."""
    del process
    return Pool(workers, common_code)


# what calls without Python look at: a pool, its function `run`, and into how many pieces it cuts a kernel; zeros where there is none
TEAM = np.zeros(3, np.int64)
_ready = False


def make_ready() -> None:
    """Let calls without Python use the threads there are to be, from now on."""
    global _ready
    _ready = True
    if _count > 1 and supported():
        team = _team(os.getpid(), _count - 1)
        TEAM[:] = team.address, team.entry, PIECES_PER_THREAD * _count
    else:
        TEAM[:] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: TEAM.fill(0))


@functools.cache
def _executor(process: int, workers: int) -> ThreadPoolExecutor:
    del process
    return ThreadPoolExecutor(workers, thread_name_prefix="eqsat")


def run_split(entry: Callable[..., None], address: int | None, buffers: Sequence[Array], units: Units) -> None:
    """entry(*buffers, begin, end) over all units in about equal pieces, which the threads, this one included, claim one after the other.

    address: of the kernel's function NAME.slots, for which threads of machine code wait; where there is none, threads of Python do it.
    A call that finds the threads at work does all of it itself.
    """
    extent = units.extent
    workers, pieces = min(_count, extent), units.pieces(_count)
    if workers <= 1:
        entry(*buffers, 0, extent)
    elif address is None or not supported():
        _run_in_python(functools.partial(entry, *buffers), extent, workers, pieces)
    else:
        _team(os.getpid(), workers - 1).run(address, buffers, extent, pieces)


def _run_in_python(run: Callable[[int, int], None], extent: int, workers: int, pieces: int) -> None:
    claims = itertools.count()

    def work() -> None:
        while (piece := next(claims)) < pieces:
            run(extent * piece // pieces, extent * (piece + 1) // pieces)

    executor = _executor(os.getpid(), workers - 1)
    helpers = [executor.submit(work) for _ in range(workers - 1)]
    work()
    for helper in helpers:
        helper.result()
