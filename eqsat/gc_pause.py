"""Work without collections of garbage.

Optimizing makes hundreds of thousands of objects and next to no cycles of them, so collections find nothing, and take a tenth of its
time; in a process that holds much else, more.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_running = 0
_resumes = False


@contextmanager
def uncollected() -> Iterator[None]:
    """No collections begin inside, of any thread; the last one that leaves lets them begin again, if they could before."""
    global _running, _resumes
    with _lock:
        if not _running:
            _resumes = gc.isenabled()
            gc.disable()
        _running += 1
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            if not _running and _resumes:
                gc.enable()
