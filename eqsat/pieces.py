"""Index terms in the longest piece of loops that are cut at their seams (lowering/seams.py): what a kernel costs is decided there.

min(max(j, 1), 510)  ->  j        j < 511 and j >= 1  ->  True           for j from 0 to 511
"""

from __future__ import annotations

from eqsat.ir.index import Apply, Index, Var, apply, walk
from eqsat.lowering.affine import Forms
from eqsat.lowering.seams import LEAST, MARKS

# operations on truth values, which the pieces decide where they decide all comparisons
LOGIC = frozenset(("and", "or", "not"))


def in_longest_piece(*terms: Index) -> tuple[Index, ...]:
    """The terms with each minimum and maximum that changes along one loop alone as it is for most of the loop."""
    done: dict[Index, Index] = {}
    forms = Forms()
    for term in walk(*terms):
        if isinstance(term, Apply):
            again = apply(term.op, *(done.get(arg, arg) for arg in term.args))
            done[term] = _mostly(again, forms) if isinstance(again, Apply) and again.op in ("min", "max") else again
    return tuple(done.get(term, term) for term in terms)


def _mostly(term: Apply, forms: Forms) -> Index:
    """The operand that a minimum or maximum is for most of a loop; the term itself where several loops, or none, decide."""
    form = forms(term.args[0] - term.args[1])
    if len(form.terms) != 1:
        return term
    ((loop, step),) = form.terms.items()
    if not isinstance(loop, Var) or loop.extent < LEAST:
        return term
    middle = step * ((loop.lo + loop.hi) // 2) + form.constant
    return term.args[0] if (middle < 0) == (term.op == "min") else term.args[1]


def is_decided(term: Apply) -> bool:
    """Whether pieces decide an operation on truth values: each comparison below it is of one loop alone."""
    if term.op not in LOGIC:
        return False
    forms = Forms()
    for below in walk(term):
        if isinstance(below, Apply) and below.op in MARKS:
            form = forms(below.args[0] - below.args[1])
            if len(form.terms) != 1 or not all(isinstance(v, Var) and v.extent >= LEAST for v in form.terms):
                return False
        elif isinstance(below, Apply) and below.op not in (*LOGIC, "add", "sub", "neg", "mul"):
            return False
    return True
