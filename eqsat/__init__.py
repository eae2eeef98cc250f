"""eqsat: an equality-saturation optimizer and compiler for tensor programs.

Write with NumPy's names, call `optimize()` or decorate with `@eqsat.jit`; explore what the e-graph found in the result.

What is named here is imported when it is asked for: `import eqsat` costs a millisecond, and who simplifies indices loads no compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eqsat import cache, testing
    from eqsat.certificate import Certificate
    from eqsat.costs import Cost, cost
    from eqsat.driver import missing, optimize
    from eqsat.equality import prove_equal
    from eqsat.exploring import EGraph, explore
    from eqsat.facts import Fact, assume, dim
    from eqsat.ir.errors import EqsatError
    from eqsat.ir.index import Index, maximum, minimum, var, where
    from eqsat.ir.tensor import Program
    from eqsat.iteration import fori
    from eqsat.jitting import jit
    from eqsat.lazy import realize
    from eqsat.options import Limits, Options
    from eqsat.parse import parse_index
    from eqsat.plan import Plan
    from eqsat.proof import Proof
    from eqsat.report import Report, StopReason
    from eqsat.result import IndexResult, Result
    from eqsat.simplifier import simplify, simplify_gated, simplify_many
    from eqsat.specs import Spec, spec
    from eqsat.strided import View
    from eqsat.target import DEFAULT_TARGET, Target
    from eqsat.threads import num_threads, set_num_threads
    from eqsat.tracing import trace
    from eqsat.viewstack import ViewStack

_MODULES = ("cache", "codegen", "ir", "lowering", "numpy", "testing")
_HOMES = {
    "certificate": ("Certificate",),
    "costs": ("Cost", "cost"),
    "driver": ("missing", "optimize"),
    "equality": ("prove_equal",),
    "exploring": ("EGraph", "explore"),
    "facts": ("Fact", "assume", "dim"),
    "ir.errors": ("EqsatError",),
    "ir.index": ("Index", "maximum", "minimum", "var", "where"),
    "ir.tensor": ("Program",),
    "iteration": ("fori",),
    "jitting": ("jit",),
    "lazy": ("realize",),
    "options": ("Limits", "Options"),
    "parse": ("parse_index",),
    "plan": ("Plan",),
    "proof": ("Proof",),
    "report": ("Report", "StopReason"),
    "result": ("IndexResult", "Result"),
    "simplifier": ("simplify", "simplify_gated", "simplify_many"),
    "specs": ("Spec", "spec"),
    "strided": ("View",),
    "target": ("DEFAULT_TARGET", "Target"),
    "threads": ("num_threads", "set_num_threads"),
    "tracing": ("trace",),
    "viewstack": ("ViewStack",),
}
_HOME = {name: f"eqsat.{module}" for module, names in _HOMES.items() for name in names}

__version__ = "0.1.0"
__all__ = [
    "DEFAULT_TARGET",
    "Certificate",
    "Cost",
    "EGraph",
    "EqsatError",
    "Fact",
    "Index",
    "IndexResult",
    "Limits",
    "Options",
    "Plan",
    "Program",
    "Proof",
    "Report",
    "Result",
    "Spec",
    "StopReason",
    "Target",
    "View",
    "ViewStack",
    "assume",
    "cache",
    "cost",
    "dim",
    "explore",
    "fori",
    "jit",
    "maximum",
    "minimum",
    "missing",
    "num_threads",
    "optimize",
    "parse_index",
    "prove_equal",
    "realize",
    "set_num_threads",
    "simplify",
    "simplify_gated",
    "simplify_many",
    "spec",
    "testing",
    "trace",
    "var",
    "where",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"eqsat.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'eqsat' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
