"""Equality of two index expressions, decided without the rules: by bounds, by all points, by search, by integer sets."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Literal

from eqsat.ir.index import Apply, Const, Index, Var, apply, walk
from eqsat.ir.index_points import SAMPLES, Difference, Pair, conditions
from eqsat.ir.shown import Shown
from eqsat.proving import integer_sets

Method = Literal["identical", "bounds", "exhaustive", "e-graph", "integer sets", "counterexample", "unknown"]
# evaluating every point: at once; when integer sets gave up; where Python's integers are needed
FEW_POINTS = 2**16
MANY_POINTS = 4_000_000
SLOW_POINTS = 2**12
MOST_PRODUCTS = 64
# the fact that says nothing
ALWAYS = Const(True)
# products of subterms with their coefficients
Polynomial = dict[tuple[Index, ...], int]
# an operation, and what it is done to
Atom = tuple[str, Hashable]


@dataclass(frozen=True, eq=False, repr=False)
class Proof(Shown):
    """The answer of `eqsat.prove_equal`; true only if the two sides are proved equal.

    left, right     the expressions that were compared
    method          what decided: "identical", "bounds", "exhaustive", "e-graph" or "integer sets" where they are proved equal,
                    "counterexample" where they differ, "unknown" where neither was found
    counterexample  a value for every variable, at which the sides differ or only one of them has a value; None if none was found
    points          how many points were evaluated
    note            why nothing was decided, or what the sides are at the counterexample
    """

    left: Index
    right: Index
    method: Method
    counterexample: dict[str, int] | None = None
    points: int = 0
    note: str = ""

    @property
    def proved(self) -> bool:
        """Whether the expressions are equal wherever the first has a value."""
        return self.method not in ("counterexample", "unknown")

    @property
    def refuted(self) -> bool:
        """Whether there is a point at which they differ; neither proved nor refuted is undecided."""
        return self.counterexample is not None

    def __bool__(self) -> bool:
        return self.proved

    def __str__(self) -> str:
        if self.proved:
            seen = f" of {self.points:,} points" if self.method == "exhaustive" else ""
            return f"proved ({self.method}{seen}): {self.left} == {self.right}"
        if self.counterexample is not None:
            at = ", ".join(f"{name} = {value}" for name, value in self.counterexample.items()) or "every point"
            return f"refuted: {self.left} != {self.right} at {at}: {self.note}"
        return f"undecided: {self.left} == {self.right}: {self.note}"

    __repr__ = __str__


def prove_under(fact: Index, pair: Pair, by_rules: Callable[[Pair], bool] | None = None) -> Proof:
    """`prove` for the points at which a condition holds."""
    if isinstance(fact, Const):
        return prove(pair, by_rules)
    left, right = (apply("where", fact, side, Const(False if side.kind == "bool" else 0)) for side in (pair.left, pair.right))
    return replace(prove(Pair(left, right, pair.extends), by_rules), left=pair.left, right=pair.right)


def prove(pair: Pair, by_rules: Callable[[Pair], bool] | None = None) -> Proof:
    """Whether two sides are equal: where they have a value, and in having one (with `pair.extends`: where the left one has a value).

    Methods in order: the same term; bounds that leave one value to the sides or zero to their difference; every point of a small box;
    search for a difference; `by_rules` where given; integer sets; every point of a larger box.
    """
    if pair.left is pair.right:
        return Proof(pair.left, pair.right, "identical")
    if by_bounds(pair):
        return Proof(pair.left, pair.right, "bounds")
    few, many = (FEW_POINTS, MANY_POINTS) if pair.fits else (SLOW_POINTS, SLOW_POINTS)
    if pair.size <= few:
        return _by_all_points(pair)
    difference = pair.search()
    if difference is not None:
        return _refuted(pair, difference)
    if by_rules is not None and same_domain(pair) and by_rules(pair):
        return Proof(pair.left, pair.right, "e-graph")
    answer = integer_sets.compare(pair)
    if answer.equal:
        return Proof(pair.left, pair.right, "integer sets")
    if answer.difference is not None:
        return _refuted(pair, answer.difference)
    if pair.size <= many:
        return _by_all_points(pair)
    return Proof(pair.left, pair.right, "unknown", None, SAMPLES, f"no difference found by search; {answer.note}")


def by_bounds(pair: Pair) -> bool:
    """Whether bounds leave both sides the same one value, or their difference none but zero."""
    if not same_domain(pair):
        return False
    lo, hi = pair.left.bounds
    if lo == hi and pair.right.bounds == (lo, hi):
        return True
    polynomials: dict[Index, Polynomial | None] = {}
    atoms: dict[Atom, Index] = {}
    left, right = (_polynomial(side, polynomials, atoms) for side in (pair.left, pair.right))
    return left is not None and left == right


def _polynomial(term: Index, known: dict[Index, Polynomial | None], atoms: dict[Atom, Index]) -> Polynomial | None:
    """A term as a sum of products of its subterms that are no +, - or *; None where that is long.  Subterms of one operation on equal
    operands, of min and max in any order, are one: the first of them in `atoms`."""
    for sub in walk(term):
        if sub in known:
            continue
        below = [known[arg] for arg in sub.args] if isinstance(sub, Apply) and sub.op in ("add", "sub", "neg", "mul", "int") else []
        if isinstance(sub, Const):
            known[sub] = {(): int(sub.value)} if sub.value else {}
        elif isinstance(sub, Apply) and below:
            parts = [part for part in below if part is not None]
            made = _combined(sub.op, parts) if len(parts) == len(below) else None
            known[sub] = made if made is not None and len(made) <= MOST_PRODUCTS else None
        else:
            key = _atom(sub, known)
            known[sub] = {(sub if key is None else atoms.setdefault(key, sub),): 1}
    return known[term]


def _atom(term: Index, known: dict[Index, Polynomial | None]) -> Atom | None:
    """An operation and the polynomials of its operands; None for a variable, and where one is long."""
    if not isinstance(term, Apply):
        return None
    parts = [known[arg] for arg in term.args]
    operands = [frozenset(part.items()) for part in parts if part is not None]
    if len(operands) < len(parts):
        return None
    return term.op, frozenset(operands) if term.op in ("min", "max") else tuple(operands)


def _combined(op: str, parts: list[Polynomial]) -> Polynomial:
    total: Counter[tuple[Index, ...]] = Counter()
    if op == "mul":
        for (a, j), (b, k) in itertools.product(parts[0].items(), parts[1].items()):
            total[tuple(sorted(a + b, key=id))] += j * k
    else:
        signs = (-1,) if op == "neg" else (1, -1) if op == "sub" else (1, 1)
        for part, sign in zip(parts, signs, strict=False):
            for product, k in part.items():
                total[product] += sign * k
    return {product: k for product, k in total.items() if k}


def same_domain(pair: Pair) -> bool:
    """Whether both sides have a value under the same written conditions (with `extends`: the right one under no more)."""
    left, right = set(conditions(pair.left)), set(conditions(pair.right))
    return right <= left if pair.extends else right == left


def _by_all_points(pair: Pair) -> Proof:
    difference = pair.exhaustive()
    if difference is not None:
        return _refuted(pair, difference)
    return Proof(pair.left, pair.right, "exhaustive", None, pair.size)


def _refuted(pair: Pair, difference: Difference) -> Proof:
    values = " and ".join("no value" if value is None else str(value) for value in (difference.left, difference.right))
    return Proof(pair.left, pair.right, "counterexample", named(difference.point), 1, values)


def named(point: dict[Var, int]) -> dict[str, int]:
    """A point by the names of its variables; bounds tell variables of one name apart."""
    count = Counter(v.name for v in point)
    return {v.name if count[v.name] == 1 else f"{v.name} in {v.lo}..{v.hi}": value for v, value in point.items()}
