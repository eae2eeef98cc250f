"""The target that is stored for this machine, and what options use where nothing else is said.

`python -m eqsat calibrate` measures it (`eqsat/pricing/calibration.py`) and every process of the user finds it from then on; where there is
none, or the environment sets EQSAT_TARGET to `default`, it is the named default, which is the same everywhere.
"""

from __future__ import annotations

import functools
import json
import os
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from eqsat.ir.errors import UsageError
from eqsat.keeping.disk import default_root
from eqsat.pricing.target import DEFAULT_TARGET, Target

FILE = "target.json"
LEAST_VECTOR_BYTES = 16


@functools.cache
def local_target() -> Target:
    """What options estimate costs for where nothing else is said; read once in a process."""
    if os.environ.get("EQSAT_TARGET", "") == "default":
        return DEFAULT_TARGET
    return stored_target() or DEFAULT_TARGET


def stored_target(root: Path | None = None) -> Target | None:
    """The target that was measured and stored on this machine; None where there is none that can be read."""
    root = root or default_root()
    try:
        return target_of(json.loads((root / FILE).read_text())) if root is not None else None
    except (OSError, ValueError, UsageError):
        return None


def target_of(fields: Any) -> Target:
    """A target of what `json` gives; UsageError where a parameter is missing, unknown or out of range."""
    names = asdict(DEFAULT_TARGET)
    if not isinstance(fields, dict) or set(fields) != set(names):
        raise UsageError(f"target: found {fields!r}, expected the parameters {', '.join(names)}")
    for name, like in names.items():
        values, model = (fields[name], like[0]) if isinstance(like, tuple) else ([fields[name]], like)
        if not isinstance(values, list) or not values or not all(_is_like(value, model) for value in values):
            raise UsageError(f"target: found {fields[name]!r} for {name}, expected what the default has there: {like!r}")
    given: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    found = Target(**given)
    if found.vector_bytes < LEAST_VECTOR_BYTES:
        raise UsageError(f"target: found {found.vector_bytes} vector_bytes, expected at least {LEAST_VECTOR_BYTES}")
    if len(found.byte_ns) != len(found.cache_bytes) + 1 or not all(a < b for a, b in pairwise(found.cache_bytes)):
        raise UsageError(
            f"target: found {len(found.byte_ns)} byte_ns for caches of {found.cache_bytes} bytes, expected one more, and larger ones last"
        )
    return found


def _is_like(value: Any, model: Any) -> bool:
    """Whether a parameter is of the kind of another, and positive."""
    if isinstance(model, str):
        return isinstance(value, str)
    kinds = int if isinstance(model, int) else int | float
    return isinstance(value, kinds) and not isinstance(value, bool) and 0 < value < float("inf")


def store_target(target: Target, root: Path | None = None) -> Path:
    """Write a target for later processes, whole or not at all; OSError where that is not possible."""
    root = root or default_root()
    if root is None:
        raise UsageError("calibrate: found no folder to store the target in, expected a home or EQSAT_CACHE_DIR")
    root.mkdir(parents=True, exist_ok=True)
    path, partial = root / FILE, root / f"{FILE}.{os.getpid()}"
    partial.write_text(json.dumps(asdict(target), indent=2) + "\n")
    partial.replace(path)
    return path


def forget_target(root: Path | None = None) -> Path | None:
    """Remove the stored target; its path, or None where there was none."""
    root = root or default_root()
    path = root / FILE if root is not None else None
    if path is None or not path.exists():
        return None
    path.unlink()
    return path
