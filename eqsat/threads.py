"""How many threads kernels use, and splitting the outermost loop of one among them."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from eqsat.ir.errors import UsageError

# a thread that another process slows down then holds back one piece, not its whole share
PIECES_PER_THREAD = 4
_count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_num_threads(count: int) -> None:
    """Use up to `count` threads from now on; at first as many as the process has processors.  UsageError below 1."""
    global _count
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise UsageError(f"set_num_threads: found {count!r}, expected an integer of at least 1")
    _count = count


def num_threads() -> int:
    """The number of threads that kernels may use."""
    return _count


@functools.cache
def _pool(process: int, workers: int) -> ThreadPoolExecutor:
    """A pool for this process: one made before a fork has no threads after it."""
    del process
    return ThreadPoolExecutor(workers, thread_name_prefix="eqsat")


def run_split(run: Callable[[int, int], None], extent: int) -> None:
    """run(begin, end) over 0..extent in about equal pieces, which the threads, this one included, claim one after the other."""
    workers = min(_count, extent)
    if workers <= 1:
        run(0, extent)
        return
    pieces = min(PIECES_PER_THREAD * workers, extent)
    claims = itertools.count()

    def work() -> None:
        while (piece := next(claims)) < pieces:
            run(extent * piece // pieces, extent * (piece + 1) // pieces)

    pool = _pool(os.getpid(), workers - 1)
    helpers = [pool.submit(work) for _ in range(workers - 1)]
    work()
    for helper in helpers:
        helper.result()
