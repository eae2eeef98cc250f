"""Calls of a function on eqsat, NumPy and jax, whose results are arrays in memory, ready to be timed in turns on one thread."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import eqsat


def prepared() -> Any:
    """jax with 64 bits, or None where it is not installed; eqsat on one thread, and NumPy without warnings."""
    warnings.filterwarnings("ignore")
    np.seterr(all="ignore")
    eqsat.set_num_threads(1)
    if importlib.util.find_spec("jax") is None:
        return None
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    return jax


def results(found: Any) -> tuple[Any, ...]:
    return tuple(np.asarray(one) for one in (found if isinstance(found, tuple) else (found,)))


def calls_beside(function: Callable[..., Any], arrays: Sequence[Any], ours: Callable[..., Any], jax: Any) -> dict[str, Callable[[], Any]]:
    """Calls of `ours`, which is function(eqsat.numpy, ...) compiled, and of the function on NumPy and on jax, where there is one."""
    calls: dict[str, Callable[[], Any]] = {
        "eqsat": lambda: ours(*arrays),
        "numpy": lambda: [np.ascontiguousarray(one) for one in results(function(np, *arrays))],
    }
    if jax is not None:
        there, compiled = [jax.numpy.asarray(a) for a in arrays], jax.jit(lambda *given: function(jax.numpy, *given))
        calls["jax"] = lambda: jax.block_until_ready(compiled(*there))
    return calls
