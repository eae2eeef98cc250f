"""The index terms of loop nests, simplified.

Terms that bounds alone make sums of variables need no e-graph: most of those of split and of plain loops are.  Where results are certified
they go there like others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eqsat.egraph.linear import sum_term
from eqsat.indices.simplifier import simplify_terms
from eqsat.ir.index import Index, Var
from eqsat.ir.loops import Kernel, index_terms
from eqsat.lowering.affine import Forms
from eqsat.options import Options
from eqsat.report import Report


def simplifier(kernels: Sequence[Kernel], options: Options, report: Report) -> Callable[[Index], Index]:
    """A function from the index terms of all kernels to their simplified forms, the others found in one run of the e-graph."""
    terms = dict.fromkeys(term for kernel in kernels for term in index_terms(kernel))
    known, forms = dict[Index, Index](), Forms()
    for term in terms if not options.certify else ():
        form = forms(term)
        if term.kind == "int" and all(isinstance(atom, Var) for atom in form.terms):
            known[term] = sum_term(form.constant, tuple(form.terms.items()))
    others = [term for term in terms if term not in known]
    known.update(zip(others, simplify_terms(others, options, report, within=True), strict=True))
    return known.__getitem__
