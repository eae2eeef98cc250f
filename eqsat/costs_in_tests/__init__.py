"""Costs of programs in users' tests: a plugin of pytest with the fixture `cost`, and snapshots of costs beside the tests (docs/testing.md).

plugin     what pytest calls; loaded whenever pytest starts, so the modules below are loaded when they are used first
session    what a run of tests measured, beside the snapshots, and what is written
snapshots  what is kept of a program's cost, and the files
kernels    the costs of a result, kernel by kernel and part by part
changes    what became of a cost since its snapshot
summary    what a run says at its end
"""

from __future__ import annotations

import importlib
from typing import Any

# where snapshots lie beside tests
FOLDER = "__costs__"


def __getattr__(name: str) -> Any:
    if name in ("session", "summary"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
