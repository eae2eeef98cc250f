"""eqsat: an equality-saturation optimizer and compiler for tensor programs.

Write with NumPy's names, call `optimize()` or decorate with `@eqsat.jit`; explore what the e-graph found in the result.

What is named here is imported when it is asked for: `import eqsat` costs a millisecond, and who simplifies indices loads no compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eqsat import cache, testing
    from eqsat.calling.as_written import cost
    from eqsat.calling.iteration import fori
    from eqsat.calling.jitting import jit
    from eqsat.calling.lazy import realize
    from eqsat.capture.own_operations import Operation, check_operation, operation
    from eqsat.capture.specs import Spec, spec
    from eqsat.capture.tracing import trace
    from eqsat.driver import missing, optimize
    from eqsat.explaining.ablation import Ablation, leave_one_out
    from eqsat.explaining.contrast import Contrast, compare
    from eqsat.explaining.guards import Missing
    from eqsat.exploring import EGraph, explore
    from eqsat.indices.equality import prove_equal
    from eqsat.indices.parse import parse_index
    from eqsat.indices.simplifier import simplify, simplify_gated, simplify_many
    from eqsat.ir.errors import (
        BoundsError,
        DTypeError,
        EqsatError,
        InternalError,
        MissingError,
        ParseError,
        ShapeError,
        TraceError,
        UnsoundRuleError,
        UnsupportedError,
        UsageError,
    )
    from eqsat.ir.index import Index, maximum, minimum, var, where
    from eqsat.ir.tensor import Program
    from eqsat.options import Limits, Options
    from eqsat.pricing.costs import Cost
    from eqsat.pricing.cycles import Costs
    from eqsat.pricing.kernel_work import KernelWork
    from eqsat.pricing.target import DEFAULT_TARGET, Target
    from eqsat.proving.certificate import Certificate
    from eqsat.proving.operation_check import OperationVerdict
    from eqsat.proving.proof import Proof
    from eqsat.proving.rule_check import RuleVerdict, check_rule
    from eqsat.report import Report, StopReason
    from eqsat.result import IndexResult, Result
    from eqsat.rules.own import Rule
    from eqsat.rules.variables import pattern
    from eqsat.running.plan import Plan
    from eqsat.sizes.facts import Fact, assume, dim
    from eqsat.threads import num_threads, set_num_threads
    from eqsat.views.stack import ViewStack
    from eqsat.views.strided import View

_MODULES = ("cache", "codegen", "ir", "lowering", "numpy", "rules", "testing")
_HOMES = {
    "calling.as_written": ("cost",),
    "calling.iteration": ("fori",),
    "calling.jitting": ("jit",),
    "calling.lazy": ("realize",),
    "capture.own_operations": ("Operation", "check_operation", "operation"),
    "capture.specs": ("Spec", "spec"),
    "capture.tracing": ("trace",),
    "driver": ("missing", "optimize"),
    "explaining.ablation": ("Ablation", "leave_one_out"),
    "explaining.contrast": ("Contrast", "compare"),
    "explaining.guards": ("Missing",),
    "exploring": ("EGraph", "explore"),
    "indices.equality": ("prove_equal",),
    "indices.parse": ("parse_index",),
    "indices.simplifier": ("simplify", "simplify_gated", "simplify_many"),
    "ir.errors": (
        "BoundsError",
        "DTypeError",
        "EqsatError",
        "InternalError",
        "MissingError",
        "ParseError",
        "ShapeError",
        "TraceError",
        "UnsoundRuleError",
        "UnsupportedError",
        "UsageError",
    ),
    "ir.index": ("Index", "maximum", "minimum", "var", "where"),
    "ir.tensor": ("Program",),
    "options": ("Limits", "Options"),
    "pricing.costs": ("Cost",),
    "pricing.cycles": ("Costs",),
    "pricing.kernel_work": ("KernelWork",),
    "pricing.target": ("DEFAULT_TARGET", "Target"),
    "proving.certificate": ("Certificate",),
    "proving.operation_check": ("OperationVerdict",),
    "proving.proof": ("Proof",),
    "proving.rule_check": ("RuleVerdict", "check_rule"),
    "report": ("Report", "StopReason"),
    "result": ("IndexResult", "Result"),
    "rules.own": ("Rule",),
    "rules.variables": ("pattern",),
    "running.plan": ("Plan",),
    "sizes.facts": ("Fact", "assume", "dim"),
    "threads": ("num_threads", "set_num_threads"),
    "views.stack": ("ViewStack",),
    "views.strided": ("View",),
}
_HOME = {name: f"eqsat.{module}" for module, names in _HOMES.items() for name in names}

__version__ = "0.1.0"
__all__ = [
    "DEFAULT_TARGET",
    "Ablation",
    "BoundsError",
    "Certificate",
    "Contrast",
    "Cost",
    "Costs",
    "DTypeError",
    "EGraph",
    "EqsatError",
    "Fact",
    "Index",
    "IndexResult",
    "InternalError",
    "KernelWork",
    "Limits",
    "Missing",
    "MissingError",
    "Operation",
    "OperationVerdict",
    "Options",
    "ParseError",
    "Plan",
    "Program",
    "Proof",
    "Report",
    "Result",
    "Rule",
    "RuleVerdict",
    "ShapeError",
    "Spec",
    "StopReason",
    "Target",
    "TraceError",
    "UnsoundRuleError",
    "UnsupportedError",
    "UsageError",
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
