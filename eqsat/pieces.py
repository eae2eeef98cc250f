"""Index terms in the longest piece of loops that are cut at their seams (lowering/seams.py): what a kernel costs is decided there.

min(max(j, 1), 510)  ->  j        (j + 1) % 512  ->  j + 1        j < 511 and j >= 1  ->  True        for j from 0 to 511
"""

from __future__ import annotations

from eqsat.ir.index import OPS, Apply, Const, Index, Var, apply, walk
from eqsat.lowering.affine import Affine, Forms
from eqsat.lowering.seams import LEAST, MARKS, MOST_PIECES

# operations on truth values, which the pieces decide where they decide all comparisons
LOGIC = frozenset(("and", "or", "not"))
DIVISIONS = ("floordiv", "mod")


def in_longest_piece(*terms: Index) -> tuple[Index, ...]:
    """The terms with each minimum, maximum, choice, quotient and remainder that changes along one loop alone as it is for most of it."""
    done: dict[Index, Index] = {}
    forms = Forms()
    for term in walk(*terms):
        if isinstance(term, Apply):
            again = apply(term.op, *(done.get(arg, arg) for arg in term.args))
            done[term] = _mostly(again, forms) if isinstance(again, Apply) else again
    return tuple(done.get(term, term) for term in terms)


def _mostly(term: Apply, forms: Forms) -> Index:
    """What an operation is for most of a loop; the term itself where several loops, or none, decide."""
    if term.op in ("min", "max"):
        form = forms(term.args[0] - term.args[1])
        loop = _decides(form)
        if loop is not None:
            return term.args[0] if (_middle(form, loop) < 0) == (term.op == "min") else term.args[1]
    elif term.op == "where" and (holds := _holds(term.args[0], forms)) is not None:
        return term.args[1] if holds else term.args[2]
    elif term.op in DIVISIONS and (quotient := _quotient(term, forms)) is not None:
        return Const(quotient) if term.op == "floordiv" else term.args[0] - term.args[1] * quotient
    return term


def _holds(condition: Index, forms: Forms) -> bool | None:
    """Whether a comparison holds in the middle of the loop that decides it; None where there is none."""
    if not isinstance(condition, Apply) or condition.op not in MARKS:
        return None
    form = forms(condition.args[0] - condition.args[1])
    loop = _decides(form)
    return None if loop is None else bool(OPS[condition.op].evaluate(_middle(form, loop), 0))


def _decides(form: Affine) -> Var | None:
    """The loop that a form depends on, if it is one that is worth pieces."""
    loop = next(iter(form.terms), None) if len(form.terms) == 1 else None
    return loop if isinstance(loop, Var) and loop.extent >= LEAST else None


def _middle(form: Affine, loop: Var) -> int:
    """The value of a form in the middle of its loop."""
    return form.terms[loop] * ((loop.lo + loop.hi) // 2) + form.constant


def _quotient(term: Apply, forms: Forms) -> int | None:
    """The quotient of a division in the middle of the loop that decides it in few pieces; None where there is none."""
    form, divisor = forms(term.args[0]), term.args[1]
    loop = _decides(form)
    if loop is None or not isinstance(divisor, Const) or divisor.value <= 0:
        return None
    first, last = sorted((form.terms[loop] * v + form.constant) // divisor.value for v in (loop.lo, loop.hi))
    return _middle(form, loop) // divisor.value if last - first < MOST_PIECES else None


def is_decided(term: Apply) -> bool:
    """Whether pieces decide a quotient or remainder, or an operation on truth values: each comparison below it is of one loop alone."""
    if term.op in DIVISIONS:
        return _quotient(term, Forms()) is not None
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
