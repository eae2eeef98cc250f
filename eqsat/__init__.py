"""eqsat: an equality-saturation optimizer and compiler for tensor programs.

Write with NumPy's names, call `optimize()` or decorate with `@eqsat.jit`; explore what the e-graph found in the result.

What is named here is imported when it is asked for: `import eqsat` costs a millisecond, and who simplifies indices loads no compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eqsat import cache, testing
    from eqsat.ablation import leave_one_out
    from eqsat.certificate import Certificate
    from eqsat.contrast import compare
    from eqsat.costs import Cost, cost
    from eqsat.cycles import Costs
    from eqsat.driver import missing, optimize
    from eqsat.equality import prove_equal
    from eqsat.exploring import EGraph, explore
    from eqsat.facts import Fact, assume, dim
    from eqsat.ir.errors import EqsatError
    from eqsat.ir.index import Index, maximum, minimum, var, where
    from eqsat.ir.tensor import Program
    from eqsat.iteration import fori
    from eqsat.jitting import jit
    from eqsat.kernel_work import KernelWork
    from eqsat.lazy import realize
    from eqsat.operation_check import OperationVerdict
    from eqsat.options import Limits, Options
    from eqsat.own_operations import Operation, check_operation, operation
    from eqsat.parse import parse_index
    from eqsat.plan import Plan
    from eqsat.proof import Proof
    from eqsat.report import Report, StopReason
    from eqsat.result import IndexResult, Result
    from eqsat.rule_check import RuleVerdict, check_rule
    from eqsat.rules.own import Rule
    from eqsat.rules.variables import pattern
    from eqsat.simplifier import simplify, simplify_gated, simplify_many
    from eqsat.specs import Spec, spec
    from eqsat.strided import View
    from eqsat.target import DEFAULT_TARGET, Target
    from eqsat.threads import num_threads, set_num_threads
    from eqsat.tracing import trace
    from eqsat.viewstack import ViewStack

_MODULES = ("cache", "codegen", "ir", "lowering", "numpy", "rules", "testing")
_HOMES = {
    "ablation": ("leave_one_out",),
    "certificate": ("Certificate",),
    "contrast": ("compare",),
    "costs": ("Cost", "cost"),
    "cycles": ("Costs",),
    "driver": ("missing", "optimize"),
    "equality": ("prove_equal",),
    "exploring": ("EGraph", "explore"),
    "facts": ("Fact", "assume", "dim"),
    "ir.errors": ("EqsatError",),
    "ir.index": ("Index", "maximum", "minimum", "var", "where"),
    "ir.tensor": ("Program",),
    "iteration": ("fori",),
    "jitting": ("jit",),
    "kernel_work": ("KernelWork",),
    "lazy": ("realize",),
    "operation_check": ("OperationVerdict",),
    "options": ("Limits", "Options"),
    "own_operations": ("Operation", "check_operation", "operation"),
    "parse": ("parse_index",),
    "plan": ("Plan",),
    "proof": ("Proof",),
    "report": ("Report", "StopReason"),
    "result": ("IndexResult", "Result"),
    "rule_check": ("RuleVerdict", "check_rule"),
    "rules.own": ("Rule",),
    "rules.variables": ("pattern",),
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
    "Costs",
    "EGraph",
    "EqsatError",
    "Fact",
    "Index",
    "IndexResult",
    "KernelWork",
    "Limits",
    "Operation",
    "OperationVerdict",
    "Options",
    "Plan",
    "Program",
    "Proof",
    "Report",
    "Result",
    "Rule",
    "RuleVerdict",
    "Spec",
    "StopReason",
    "Target",
    "View",
    "ViewStack",
    "assume",
    "cache",
    "check_operation",
    "check_rule",
    "compare",
    "cost",
    "dim",
    "explore",
    "fori",
    "jit",
    "leave_one_out",
    "maximum",
    "minimum",
    "missing",
    "num_threads",
    "operation",
    "optimize",
    "parse_index",
    "pattern",
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
    importlib.import_module("eqsat.showing")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
