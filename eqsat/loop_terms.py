"""The index terms of loop nests, simplified."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eqsat.ir.index import Index
from eqsat.ir.loops import Kernel, index_terms
from eqsat.options import Options
from eqsat.report import Report
from eqsat.simplifier import simplify_terms


def simplifier(kernels: Sequence[Kernel], options: Options, report: Report) -> Callable[[Index], Index]:
    """A function from the index terms of all kernels to their simplified forms, found in one run of the e-graph."""
    terms = list(dict.fromkeys(term for kernel in kernels for term in index_terms(kernel)))
    known = dict(zip(terms, simplify_terms(terms, options, report, within=True), strict=True))
    return lambda term: known[term]
