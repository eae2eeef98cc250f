"""Other simplifiers of index expressions, asked the same questions: what they answer, as terms of ours, and how long they took.

A peer is a module with NAME, `simplifiers(term)` (calls without arguments, one a variant, the ordinary one first) and
`read_back(answer, names)`.  The packages come with the extra `peers`; a peer that is not installed is left out.
Subtractions and minima that a peer spells by factors of -1 are read as such, in the peer's favour.
"""

from __future__ import annotations

import importlib
import time
from dataclasses import dataclass
from types import ModuleType

from eqsat.ir.index import Apply, Const, Index, apply, variables
from tests.bench.index_score import counterexample, score

MODULES = ("tests.bench.peer_tinygrad", "tests.bench.peer_tvm")


class Untranslatable(Exception):
    """An operation that a peer, or our reading of it, does not know."""


@dataclass(frozen=True)
class Answer:
    """A peer's cheapest right answer (the term itself where it gave none), and what the peer did to give it.

    seconds  of the ordinary variant
    wrong    a wrong answer and where it differs, if a variant gave one
    """

    term: Index
    cost: int
    seconds: float
    wrong: str | None = None
    failed: str | None = None


def installed() -> list[ModuleType]:
    """The peers whose packages are there."""
    found = []
    for name in MODULES:
        try:
            found.append(importlib.import_module(name))
        except ImportError as error:
            print(f"{name.rpartition('_')[2]} is left out: {error}")
    return found


def ask(peer: ModuleType, term: Index) -> Answer:
    """The cheapest of what the peer's variants answer, wrong ones left out."""
    best, seconds, wrong, failed = term, 0.0, None, None
    names = {v.name: v for v in variables(term)}
    try:
        calls = peer.simplifiers(term)
    except Untranslatable as error:
        return Answer(term, score(term), 0.0, failed=str(error))
    for k, (variant, call) in enumerate(calls.items()):
        start = time.perf_counter()
        try:
            answer = call()
            seconds += time.perf_counter() - start if k == 0 else 0.0
            found = peer.read_back(answer, names)
        except Exception as error:
            failed = f"{variant}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            continue
        where = counterexample(term, found)
        if where:
            wrong = f"{variant}: {found} at {where}"
        elif score(found) < score(best):
            best = found
    return Answer(best, score(best), seconds, wrong, failed)


def negated(term: Index) -> Index | None:
    """The term that `term` is -1 times of, where that can be read off."""
    if isinstance(term, Const):
        return Const(-term.value)
    if isinstance(term, Apply) and term.op == "neg":
        return term.args[0]
    if isinstance(term, Apply) and term.op == "mul" and isinstance(term.args[1], Const) and term.args[1].value < 0:
        return multiplied(term.args[0], Const(-term.args[1].value))
    if isinstance(term, Apply) and term.op in ("add", "sub"):
        a, b = negated(term.args[0]), negated(term.args[1])
        if a is not None and term.op == "sub":
            return added(a, term.args[1])
        return None if a is None or b is None else added(a, b)
    return None


def added(a: Index, b: Index) -> Index:
    """a + b, as a subtraction where one is a negative multiple."""
    for left, right in ((a, b), (b, a)):
        opposite = None if isinstance(right, Apply) and right.op in ("add", "sub") else negated(right)
        if opposite is not None and not (isinstance(right, Const) and right.value >= 0) and not isinstance(left, Const):
            return left - opposite
    return apply("sub", a, negated(b)) if isinstance(a, Const) and negated(b) is not None else a + b


def multiplied(a: Index, b: Index) -> Index:
    """a * b; the negative of a maximum of negatives is a minimum."""
    if isinstance(b, Const) and b.value == 1:
        return a
    if isinstance(b, Const) and b.value == -1 and isinstance(a, Apply) and a.op in ("max", "min"):
        sides = [negated(arg) for arg in a.args]
        if sides[0] is not None and sides[1] is not None:
            return apply("min" if a.op == "max" else "max", *sides)
    return a * b


def complemented(a: Index) -> Index:
    """a ^ -1; the complement of a maximum of complements is a minimum."""
    if isinstance(a, Apply) and a.op in ("max", "min"):
        sides = [complement(arg) for arg in a.args]
        if sides[0] is not None and sides[1] is not None:
            return apply("min" if a.op == "max" else "max", *sides)
    return apply("bitxor", a, Const(-1))


def complement(term: Index) -> Index | None:
    """x where a term is written as x ^ -1, or is a constant; None where it is neither."""
    if isinstance(term, Const):
        return Const(-1 - int(term.value))
    is_one = isinstance(term, Apply) and term.op == "bitxor" and isinstance(term.args[1], Const) and term.args[1].value == -1
    return term.args[0] if is_one and isinstance(term, Apply) else None
