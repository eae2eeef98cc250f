"""What `jit` makes: a callable that leaves Python out once it has seen a call twice."""

from __future__ import annotations

import ctypes
import functools
import sys
import types
from typing import Any, cast

from eqsat.running.direct_call import KnownPlans
from eqsat.running.plan import Plan

# Py_TPFLAGS_HAVE_VECTORCALL, and where the flags of a type are in memory
VECTORCALL, TYPE_FLAGS = 1 << 11, 168


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
        """Remember a plan that was called with arrays alone; once it was called twice it is called directly, if it can be."""
        known = self.__dict__.get("_known") or self.__dict__.setdefault("_known", KnownPlans(self.title, self.func, takes_out))
        call = known.called(id(plan), lambda: plan.direct, plan)
        if call is not None and call is not self.func:
            cast(Any, self).__setstate__((call, (), {}, self.__dict__))


def _call_like_partial() -> None:
    """Let CPython 3.11 call a Compiled as it calls a partial, without a tuple and a dict of the arguments: a class made by Python code does
    not take that from its base there, since its `__call__` could be replaced, which nobody does here.  Later versions do."""
    flags = ctypes.c_ulong.from_address(id(Compiled) + TYPE_FLAGS)
    if flags.value == Compiled.__flags__:
        flags.value |= functools.partial.__flags__ & VECTORCALL


if sys.implementation.name == "cpython" and sys.version_info < (3, 12):
    _call_like_partial()
