"""Calls without Python (codegen/direct.py) with the threads and the memory of results of this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eqsat.codegen.direct import DirectCall, DirectPlan
from eqsat.keeping.kept import common_code
from eqsat.running.results import large_memory
from eqsat.threads import TEAM, make_ready


def direct_call(title: str, otherwise: Callable[..., Any], takes_out: bool = True) -> DirectCall:
    """What runs plans that it is told of, and calls `otherwise` for everything else."""
    memory = large_memory()
    return DirectCall(title, otherwise, TEAM, takes_out, memory.handler if memory else (0, 0, 0), common_code)


def learn(call: DirectCall, plan: DirectPlan, keep: Any) -> None:
    """Run this plan from now on where arrays fit it; `keep` stays alive as long as the call."""
    if plan.run.splits:
        make_ready()
    call.learn(plan, keep)
