"""Calls without Python (codegen/calls/direct.py) with the threads and the memory of results of this process."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from typing import Any

from eqsat.codegen.calls.direct import DirectCall, DirectPlan
from eqsat.keeping.kept import common_code
from eqsat.running.results import results_memory
from eqsat.threads import TEAM, make_ready

# plans are tried one after the other; of so many calls that were seen it is remembered whether they were seen before
MOST_PLANS, MOST_SEEN = 64, 4096


class _Learning:
    """Held while a call learns a plan; a collection of garbage or a signal then may run code that learns another."""

    lock = threading.RLock()


def _after_fork() -> None:
    _Learning.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class KnownPlans:
    """Calls by what was seen of them: what was called twice is run without Python from then on, if it can be, and `otherwise` takes all
    other calls.

    takes_out  whether the keyword `out` names an array for the result
    """

    def __init__(self, title: str, otherwise: Callable[..., Any], takes_out: bool = True) -> None:
        self._title, self._otherwise, self._takes_out = title, otherwise, takes_out
        self._is_direct: dict[Hashable, bool] = {}
        self._count = 0
        self._call: DirectCall | None = None

    def called(self, key: Hashable, plan: Callable[[], DirectPlan | None], keep: Any = None) -> Callable[..., Any] | None:
        """A plan, known by `key`, was called with arrays alone -> what to call from now on, None for the plan itself.  `keep` stays alive
        as long as that."""
        if key not in self._is_direct:
            if len(self._is_direct) < MOST_SEEN:
                self._is_direct[key] = False
        elif not self._is_direct[key] and self._count < MOST_PLANS and (direct := plan()) is not None:
            self._learn(key, direct, keep)
        return None if self._call is None else self._call.function

    def _learn(self, key: Hashable, direct: DirectPlan, keep: Any) -> None:
        if direct.run.splits:
            make_ready()
        with _Learning.lock:
            if self._call is None:
                memory = results_memory()
                new_array = memory.new_array if memory else (0, 0)
                call = DirectCall(self._title, self._otherwise, TEAM, self._takes_out, new_array, common_code)
                self._call = self._call or call
            if not self._is_direct[key]:
                self._is_direct[key] = True
                self._count += 1
                self._call.learn(direct, keep)
