"""eqsat: an equality-saturation optimizer and compiler for tensor programs.

Write with NumPy's names, call `optimize()` or decorate with `@eqsat.jit`; explore what the e-graph found in the result.
"""

from eqsat import cache, testing
from eqsat.certificate import Certificate
from eqsat.costs import Cost, cost
from eqsat.driver import missing, optimize
from eqsat.equality import prove_equal
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
from eqsat.spec import Spec, spec
from eqsat.strided import View
from eqsat.target import DEFAULT_TARGET, Target
from eqsat.threads import num_threads, set_num_threads
from eqsat.tracing import trace
from eqsat.viewstack import ViewStack

__version__ = "0.1.0"
__all__ = [
    "DEFAULT_TARGET",
    "Certificate",
    "Cost",
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
