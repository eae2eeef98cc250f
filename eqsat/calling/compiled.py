"""What `jit` makes: a callable that leaves Python out once it has seen a call twice."""

from __future__ import annotations

import functools
import threading
import types
from typing import Any, cast

from eqsat.running.direct_call import direct_call, learn
from eqsat.running.plan import Plan

# plans are tried one after the other
MOST_PLANS = 64
_learning = threading.Lock()


class Compiled(functools.partial[Any]):
    """A partial of nothing, since CPython calls what a partial holds without making a frame: first a function that finds the plan of
    a call, later one in machine code that knows plans.  `__wrapped__` is the function as it was written, `title` its name."""

    title: str

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<compiled function {self.title}>"

    def __reduce__(self) -> Any:
        """By name, as functions are pickled; copies are the function itself."""
        return getattr(self, "__qualname__", self.title)

    def called(self, plan: Plan, takes_out: bool) -> None:
        """Remember a plan that was called with arrays alone; from the second time on it is called directly, if it can be."""
        with _learning:
            seen: dict[int, bool] = self.__dict__.setdefault("_seen", {})
            first = id(plan) not in seen
            if first or seen[id(plan)] or plan.direct is None or sum(seen.values()) >= MOST_PLANS:
                seen.setdefault(id(plan), False)
                return
            direct = self.__dict__.get("_direct")
            if direct is None:
                direct = self.__dict__["_direct"] = direct_call(self.title, self.func, takes_out)
                cast(Any, self).__setstate__((direct.function, (), {}, self.__dict__))
            learn(direct, plan.direct, plan)
            seen[id(plan)] = True
