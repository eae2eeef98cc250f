"""Calls without Python (codegen/direct.py) with the threads and the memory of results of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from eqsat.codegen.direct import DirectCall, DirectPlan
from eqsat.keeping.kept import common_code
from eqsat.running.results import large_memory
from eqsat.threads import TEAM, make_ready

# plans are tried one after the other
MOST_PLANS = 64
# a collection of garbage within may call another plan
_learning = threading.RLock()


class KnownPlans:
    """Calls by what was seen of them: what was called twice is run without Python from then on, if it can be, and `otherwise` takes all
    other calls.

    takes_out  whether the keyword `out` names an array for the result
    """

    def __init__(self, title: str, otherwise: Callable[..., Any], takes_out: bool = True) -> None:
        self._title, self._otherwise, self._takes_out = title, otherwise, takes_out
        self._is_direct: dict[int, bool] = {}
        self._call: DirectCall | None = None

    def called(self, key: int, plan: Callable[[], DirectPlan | None], keep: Any = None) -> Callable[..., Any] | None:
        """A plan, known by `key`, was called with arrays alone -> what to call from now on, if that is something else than before.
        `keep` stays alive as long as that."""
        with _learning:
            if key not in self._is_direct:
                self._is_direct[key] = False
                return None
            direct = plan() if not self._is_direct[key] and sum(self._is_direct.values()) < MOST_PLANS else None
            if direct is None:
                return None
            first = self._call is None
            if self._call is None:
                memory = large_memory()
                handler = memory.handler if memory else (0, 0, 0)
                self._call = DirectCall(self._title, self._otherwise, TEAM, self._takes_out, handler, common_code)
            if direct.run.splits:
                make_ready()
            self._call.learn(direct, keep)
            self._is_direct[key] = True
            return self._call.function if first else None
