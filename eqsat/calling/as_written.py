"""What a program costs as it is written, asked for in any of the forms that there are of it."""

from __future__ import annotations

from typing import Any

from eqsat.calling.subject import subject_of
from eqsat.ir.errors import UsageError
from eqsat.ir.index import Index
from eqsat.ir.tensor import Program
from eqsat.options import Options, fallback_by_default
from eqsat.pricing import costs
from eqsat.pricing.costs import Cost
from eqsat.pricing.target import DEFAULT_TARGET, Target


def cost(target: Any, *specs: Any, options: Options | Target = DEFAULT_TARGET) -> Cost:
    """Cost of a program as written, where every generic and build is a kernel of its own; of an index expression as written.

    target   what `eqsat.optimize` takes, with its specs: a Program, a function, lazy tensors, an index expression
    options  a Target, on which nanoseconds are estimated, or Options, of which the target and the cost model are used; the default is the
             named default target, the same everywhere.  Behind a Program they may stand by position
    Raises UsageError for what is none of these, and what `trace` raises.
    """
    if isinstance(target, Program | Index) and len(specs) == 1:
        (options,) = specs
        specs = ()
    if not isinstance(options, Options | Target):
        raise UsageError(f"cost: found options of type {type(options).__name__}, expected eqsat.Options or eqsat.Target")
    fallback = options.fallback if isinstance(options, Options) else fallback_by_default()
    subject = subject_of(target, specs, fallback, "cost")
    if isinstance(subject, Program):
        return costs.cost(subject, options)
    return costs.cost_of_term(subject, options.cost) if isinstance(options, Options) else costs.cost_of_term(subject)
