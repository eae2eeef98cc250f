"""Index terms in the longest piece of loops that are cut at their seams (lowering/ranges/seams.py): what a kernel costs is decided there.
Where operands of a minimum or maximum hold for long pieces each, the one that varies along the loop counts: the other costs nothing there.

min(max(j, 1), 510)  ->  j        (j + 1) % 512  ->  j + 1        j < 511 and j >= 1  ->  True        for j from 0 to 511
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import OPS, Apply, Const, Index, Var, apply, substitute, variables, walk
from eqsat.ir.interval import Interval
from eqsat.ir.tensor import is_size, level_of
from eqsat.lowering.affine import DIVISIONS, Affine, Forms
from eqsat.lowering.ranges.seams import LEAST_PIECE, MOST_PIECES, SEAM_MARKS, begins

# operations on truth values, which the pieces decide where they decide all comparisons
LOGIC = frozenset(("and", "or", "not"))
# a loop x, a and b of x // a % b
Digit = tuple[Var, int, int]


class Pieces:
    """What index terms are in pieces of loops; what is found of a term is kept."""

    def __init__(self) -> None:
        self._forms = Forms()
        self._longest: dict[Index, Index] = {}
        self._decided: dict[Index, bool] = {}

    def longest(self, *terms: Index) -> tuple[Index, ...]:
        """The terms with each minimum, maximum, choice, quotient and remainder that changes along one loop alone as it mostly is."""
        for term in walk(*terms, known=self._longest):
            again = apply(term.op, *(self._longest[arg] for arg in term.args)) if isinstance(term, Apply) else term
            self._longest[term] = _mostly(again, self._forms) if isinstance(again, Apply) else again
        return tuple(self._longest[term] for term in terms)

    def are_decided(self, term: Apply) -> bool:
        """Whether pieces decide a quotient or remainder, or an operation on truth values: each comparison below it is of one loop alone."""
        if term.op in DIVISIONS:
            return _quotient(term, self._forms) is not None
        if term.op not in LOGIC:
            return False
        for below in walk(term, known=self._decided):
            self._decided[below] = not isinstance(below, Apply) or (
                self._is_decided(below) and all(self._decided[arg] for arg in below.args)
            )
        return self._decided[term]

    def _is_decided(self, term: Apply) -> bool:
        """Whether pieces decide this operation of a truth value, if they decide its operands."""
        if term.op in SEAM_MARKS:
            form = _at_most(self._forms(term.args[0] - term.args[1]))
            return len(form.terms) == 1 and all(isinstance(v, Var) for v in form.terms)
        return term.op in (*LOGIC, "add", "sub", "neg", "mul")


def _mostly(term: Apply, forms: Forms) -> Index:
    """What an operation is for a long piece of a loop; the term itself where several loops, or none, decide."""
    if term.op in ("min", "max"):
        form = _at_most(forms(term.args[0] - term.args[1]))
        loop = _decides(form)
        if loop is not None:
            chosen = [term.args[0 if (value < 0) == (term.op == "min") else 1] for value in _quarters(form, loop)]
            return next((arg for arg in chosen if loop in variables(arg)), chosen[1])
    elif term.op == "where" and (holds := _holds(term.args[0], forms)) is not None:
        return term.args[1] if holds else term.args[2]
    elif term.op in DIVISIONS and (quotient := _quotient(term, forms)) is not None:
        return Const(quotient) if term.op == "floordiv" else term.args[0] - term.args[1] * quotient
    return term


def _holds(condition: Index, forms: Forms) -> bool | None:
    """Whether a comparison holds in the middle of the loop that decides it; None where there is none."""
    if not isinstance(condition, Apply) or condition.op not in SEAM_MARKS:
        return None
    form = _at_most(forms(condition.args[0] - condition.args[1]))
    loop = _decides(form)
    return None if loop is None else bool(OPS[condition.op].evaluate(_middle(form, loop), 0))


def _at_most(form: Affine) -> Affine:
    """A form where sizes are as large as they may be, as loops are that end at them (lowering/ranges/size_seams.py), and short folds, which
    are written out, in their middle."""
    known = {v: k * v.hi if is_size(v) else k * (v.extent // 2) for v, k in form.terms.items() if isinstance(v, Var) and _is_known(v)}
    return Affine(form.constant + sum(known.values()), {v: k for v, k in form.terms.items() if v not in known}) if known else form


def _is_known(variable: Var) -> bool:
    return is_size(variable) or (level_of(variable) is not None and variable.extent < LEAST_PIECE)


def _decides(form: Affine) -> Var | None:
    """The loop that a form depends on, if it is one that is worth pieces."""
    loop = next(iter(form.terms), None) if len(form.terms) == 1 else None
    return loop if isinstance(loop, Var) and loop.extent >= LEAST_PIECE else None


def _middle(form: Affine, loop: Var) -> int:
    """The value of a form in the middle of its loop."""
    return form.terms[loop] * ((loop.lo + loop.hi) // 2) + form.constant


def _quarters(form: Affine, loop: Var) -> tuple[int, int, int]:
    """The values of a form at a quarter, half and three quarters of its loop."""
    low, middle, high = (loop.lo + (loop.hi - loop.lo) * k // 4 for k in (1, 2, 3))
    step = form.terms[loop]
    return step * low + form.constant, step * middle + form.constant, step * high + form.constant


def _quotient(term: Apply, forms: Forms) -> int | None:
    """The quotient of a division in the middle of the loop that decides it in few pieces; None where there is none."""
    form, divisor = forms(term.args[0]), term.args[1]
    loop = _decides(form)
    if loop is None or not isinstance(divisor, Const) or divisor.value <= 0:
        return None
    first, last = sorted((form.terms[loop] * v + form.constant) // divisor.value for v in (loop.lo, loop.hi))
    return _middle(form, loop) // divisor.value if last - first < MOST_PIECES else None


@dataclass(frozen=True)
class Box:
    """Where conditions hold, of loops that boxes cut (`lowering.seams.in_boxes`).

    spans  (a loop or a digit of one, that loop, the ranges of its values), of each loop or digit once
    rest   (the loops of a condition of several, for how much of them it holds)
    """

    spans: tuple[tuple[Var, Var, tuple[Interval, ...]], ...] = ()
    rest: tuple[tuple[frozenset[Var], float], ...] = ()

    @functools.cached_property
    def loops(self) -> frozenset[Var]:
        """The loops that decide."""
        return frozenset(loop for _, loop, _ in self.spans).union(*(loops for loops, _ in self.rest))

    def meet(self, other: Box) -> Box:
        """The box of places that lie in both."""
        spans = {v: (loop, ranges) for v, loop, ranges in self.spans}
        for v, loop, ranges in other.spans:
            known = spans[v][1] if v in spans else (v.bounds,)
            both = ((max(a, c), min(b, d)) for a, b in known for c, d in ranges)
            spans[v] = loop, tuple((low, high) for low, high in both if low <= high)
        return Box(tuple((v, *span) for v, span in spans.items()), (*self.rest, *other.rest))

    def share(self, around: frozenset[Var]) -> float:
        """How much of these loops is in the box."""
        total = 1.0
        for v, loop, ranges in self.spans:
            if loop in around:
                total *= sum(high - low + 1 for low, high in ranges) / v.extent
        for loops, part in self.rest:
            total *= part if around.issuperset(loops) else 1.0
        return total


@functools.lru_cache(maxsize=4096)
def box_of(condition: Index) -> Box | None:
    """Where a condition holds; None where loops in boxes do not decide it."""
    found = Box()
    for one in _conjuncts(condition):
        box = _box_of_one(one)
        if box is None:
            return None
        found = found.meet(box)
    return found


@functools.lru_cache(maxsize=4096)
def _box_of_one(condition: Index) -> Box | None:
    """Where a condition that is no conjunction holds."""
    plain, digits = _plain(substitute(condition, {v: Const(v.hi) for v in variables(condition) if is_size(v)}))
    loops = variables(plain)
    if any(level_of(v) is not None for v in loops):
        return None
    if len(loops) == 1 and _compares_sums(plain):
        return Box(((loops[0], digits.get(loops[0], loops[0]), _ranges(plain, loops[0])),))
    part = _share_of_several(plain)
    return None if part is None else Box((), ((frozenset(digits.get(v, v) for v in loops), part),))


def _conjuncts(condition: Index) -> Iterator[Index]:
    """What has to hold."""
    if isinstance(condition, Apply) and condition.op == "and":
        for arg in condition.args:
            yield from _conjuncts(arg)
    elif isinstance(condition, Apply) and condition.op in ("bool", "int") and condition.args[0].kind == "bool":
        yield from _conjuncts(condition.args[0])
    else:
        yield condition


def _ranges(condition: Index, loop: Var) -> tuple[Interval, ...]:
    """The values of the one loop of a condition for which it holds."""
    starts = begins((condition,), loop)
    pieces = zip(starts, [*starts[1:], loop.hi + 1], strict=True)
    return tuple((begin, end - 1) for begin, end in pieces if evaluate_index(condition, {loop: begin}))


def _share_of_several(condition: Index) -> float | None:
    """For how much of several loops, or of none, a condition holds."""
    if not isinstance(condition, Apply) or condition.op not in ("or", "not"):
        return None
    none = 1.0
    for arg in condition.args:
        box = box_of(arg)
        if box is None:
            return None
        none *= 1.0 - box.share(box.loops)
    return none if condition.op == "not" else 1.0 - none


def _compares_sums(condition: Index) -> bool:
    """Whether a truth value is made of comparisons of sums of loops."""
    forms = Forms()
    for term in walk(condition):
        if isinstance(term, Apply) and (term.op in SEAM_MARKS or term.op == "bool"):
            difference = term.args[0] if term.op == "bool" else term.args[0] - term.args[1]
            if not all(isinstance(v, Var) for v in forms(difference).terms):
                return False
        elif isinstance(term, Apply) and term.op not in (*LOGIC, "add", "sub", "neg", "mul"):
            return False
    return True


def _plain(root: Index) -> tuple[Index, dict[Var, Var]]:
    """A condition with loops of their own for digits of loops that are divided evenly, and without changes of the kind of truth values;
    and the loop of each digit."""
    found = {term: Var(f"{digit[0].name}_{digit[1]}_{digit[2]}", 0, digit[2] - 1) for term in walk(root) if (digit := even_digit(term))}
    done: dict[Index, Index] = {}
    for term in walk(root):
        if term in found:
            done[term] = found[term]
        elif isinstance(term, Apply):
            args = tuple(done.get(arg, arg) for arg in term.args)
            done[term] = args[0] if term.op in ("bool", "int") and args[0].kind == "bool" else apply(term.op, *args)
    return done.get(root, root), {v: variables(term)[0] for term, v in found.items()}


def even_digit(term: Index) -> Digit | None:
    """x // a, x // a % b or x % (a * b) // a for a loop x that such parts divide evenly."""
    if not isinstance(term, Apply) or term.op not in DIVISIONS:
        return None
    (below, a), b = _divided(term.args[0], "floordiv"), _constant(term.args[1])
    if term.op == "floordiv":
        (below, whole), a = _divided(term.args[0], "mod"), b
        b = whole // a if a > 0 and whole % a == 0 else 0
        if below is term.args[0]:
            b = below.extent // a if isinstance(below, Var) and a > 0 else 0
    even = isinstance(below, Var) and not is_size(below) and below.lo == 0 and a > 0 and b > 0 and below.extent % (a * b) == 0
    return (below, a, b) if even and isinstance(below, Var) else None


def _divided(term: Index, op: str) -> tuple[Index, int]:
    """x and a where a term is x divided by a constant in this way; the term itself and 1 where it is not."""
    divides = isinstance(term, Apply) and term.op == op and _constant(term.args[1])
    return (term.args[0], _constant(term.args[1])) if divides and isinstance(term, Apply) else (term, 1)


def _constant(term: Index) -> int:
    """The value of a constant; of another term 0."""
    return int(term.value) if isinstance(term, Const) else 0
