"""Sum rows for digits: terms of a sum that are quotients and remainders of one dividend, and belong together.

as-pair S a x b y r    S = a*x + b*y + r
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from eqsat.egraph.linear import Linear
from eqsat.egraph.schema import INDEX_LEAVES
from eqsat.ir.interval import Interval
from eqsat.rules.visit import Visit

LEAVES = (*INDEX_LEAVES, "Given")
# as many are joined at once; fewer are a pair, which egglog's identities join
LEAST_DIGITS = 3


class Digit(NamedTuple):
    """A term k*(x // low % (high // low)) of a sum; k*(x // low) where there is no `high`."""

    atom: int
    k: int
    x: int
    low: int
    high: int | None


Chain = tuple[Digit, ...]


# many digits -----------------------------------------------------------------------------------------------------
def join_digits(v: Visit) -> None:
    """Neighbouring digits of one dividend are one digit; what divides their sum waits, for then there is less to divide."""
    for name in v.sums:
        for form in v.alternatives(name):
            for chain in chains(v, form):
                if v.first("join-digits", name, form, chain):
                    v.reading.postponed.add(name)
                    rest = form.without(*(digit.atom for digit in chain))
                    v.encoder.same(name, v.sum(rest.plus(Linear(0, ((_joined(v, chain), chain[0].k),)))))


def chains(v: Visit, form: Linear) -> list[Chain]:
    """Digits of a sum of which each begins where the one before ends, the longest first; no term is part of two."""
    return v.once("chains", form, lambda: _chains(v, form))


def _chains(v: Visit, form: Linear) -> list[Chain]:
    digits = [digit for term in form.terms for digit in _digits(v, *term)] if len(form.terms) >= LEAST_DIGITS else []
    if len(digits) < LEAST_DIGITS:
        return []
    starts = {(digit.x, digit.low, digit.k): digit for digit in reversed(digits)}
    found = sorted((_chain(starts, digit) for digit in digits), key=len, reverse=True)
    taken: set[int] = set()
    kept = []
    for chain in found:
        atoms = {digit.atom for digit in chain}
        if len(atoms) == len(chain) >= LEAST_DIGITS and taken.isdisjoint(atoms):
            taken |= atoms
            kept.append(chain)
    return kept


def _chain(starts: dict[tuple[int, int, int], Digit], first: Digit) -> Chain:
    """A digit and those above it."""
    chain = [first]
    while (high := chain[-1].high) is not None and (above := starts.get((first.x, high, chain[-1].k * (high // chain[-1].low)))):
        chain.append(above)
    return tuple(chain)


def _digits(v: Visit, atom: int, k: int) -> Iterator[Digit]:
    """The ways to read a term as a digit; a remainder by 1 is none, for it would end where it begins."""
    for op, x, n in _divisions(v, atom):
        if op == "Floordiv":
            yield Digit(atom, k, x, n, None)
        elif n > 1:
            yield Digit(atom, k, x, 1, n)
            yield from (Digit(atom, k, below, low, low * n) for inner, below, low in _divisions(v, x) if inner == "Floordiv")


def _divisions(v: Visit, name: int) -> list[tuple[str, int, int]]:
    """(op, dividend, divisor) of what a class holds divided by positive constants."""
    return v.once("divisions", name, lambda: list(_found_divisions(v, name)))


def _found_divisions(v: Visit, name: int) -> Iterator[tuple[str, int, int]]:
    for node in v.classes.get(name, ()):
        n = v.constant(node.args[1]) if node.op in ("Floordiv", "Mod") else None
        if n is not None and n > 0:
            yield node.op, node.args[0], n


def digit(v: Visit, x: int, bounds: Interval, low: int, high: int | None) -> int:
    """The class of x // low % (high // low), or of x // low; x is between these bounds."""
    if low > 1:
        least, greatest = bounds
        x = v.encoder.bounded(v.encoder.node("Floordiv", x, v.encoder.number(low)), (least // low, greatest // low))
    if high is None:
        return x
    return v.encoder.bounded(v.encoder.node("Mod", x, v.encoder.number(high // low)), (0, high // low - 1))


def _joined(v: Visit, chain: Chain) -> int:
    """The class of the digit that a chain is."""
    x = chain[0].x
    return digit(v, x, v.bounds(x), chain[0].low, chain[-1].high)


# pairs -----------------------------------------------------------------------------------------------------------
def pairs(v: Visit) -> None:
    """Pairs that stand apart are classes of their own, terms of one sum in their place; others are taken out of the whole sum."""
    for name in v.sums:
        for form in v.alternatives(name):
            together = {digit.atom for chain in chains(v, form) for digit in chain}
            left, apart = form, Linear(0)
            for x, a, y, b in _pairs(v, form):
                if x in together and y in together:
                    continue
                taken = v.form(x).times(a).plus(Linear(0, ((y, b),)))
                rest = left.plus(taken, -1)
                if len(rest.terms) == len(left.terms) - len(taken.terms) and rest != Linear(0):
                    pair, left = v.sum(taken), rest
                    apart = apart.plus(Linear(0, ((pair, 1),)))
                    _state_pair(v, pair, x, a, y, b, Linear(0))
                else:
                    _state_pair(v, name, x, a, y, b, form.plus(taken, -1))
            if apart.terms and v.first("split-pair", name, left, apart):
                v.encoder.same(name, v.sum(left.plus(apart)))


def _state_pair(v: Visit, name: int, x: int, a: int, y: int, b: int, rest: Linear) -> None:
    if v.first("split-pair", name, x, a, y, b, rest):
        v.state("as-pair", name, a, x, b, y, v.sum(rest))


def _pairs(v: Visit, form: Linear) -> Iterator[tuple[int, int, int, int]]:
    """(x, a, y, b) for terms a*x + b*y of a sum: a remainder with a multiple of it, c*(x % n) + c*n*y; and a term with its quotient
    or remainder, c*x - c*n*(x // n) and c*x - c*(x % n), where taking them out leaves no more terms than there were."""
    for atom, k in form.terms if len(form.terms) > 1 else ():
        for n in moduli(v, atom):
            yield from ((atom, k, other, m) for other, m in form.terms if m == k * n and other != atom and _may_join(v, atom, other))
    for atom, m in form.terms if len(form.terms) > 1 else ():
        node = v.node(atom)
        divisor = v.constant(node.args[1]) if node.op in ("Floordiv", "Mod") else None
        if divisor is not None and divisor > 1 and (node.op == "Mod" or m % divisor == 0):
            c = -m // (divisor if node.op == "Floordiv" else 1)
            rest = form.without(atom).plus(v.form(node.args[0]), -c)
            if len(rest.terms) < len(form.terms):
                yield node.args[0], c, atom, m


def _may_join(v: Visit, remainder: int, quotient: int) -> bool:
    """Whether a class holds a remainder of what another class, or a dividend of it, holds a quotient of."""
    lower = {x for divided in _dividends(v, remainder, "Mod") for x in (divided, *_dividends(v, divided, "Floordiv"))}
    upper = _dividends(v, quotient, "Floordiv")
    return not lower.isdisjoint(upper) or any(
        not lower.isdisjoint(_dividends(v, divided, "Floordiv")) for divided in _dividends(v, quotient, "Mod")
    )


def shifted_remainders(v: Visit) -> None:
    """x % n = (x + k*n) % n where a quotient of that sum by n stands beside it: digits of one dividend then, which may be one."""
    for form in (form for name in v.sums for form in v.alternatives(name)):
        for atom, x, y, n in _shifted(v, form):
            apart = v.form(y).plus(v.form(x), -1)
            if not apart.terms and apart.constant % n == 0 and v.first("shifted-remainder", atom, x, y, n):
                remainder = v.encoder.node("Mod", y, v.encoder.number(n))
                v.encoder.same(atom, v.encoder.bounded(remainder, (0, n - 1)))


def _shifted(v: Visit, form: Linear) -> Iterator[tuple[int, int, int, int]]:
    """(remainder, x, y, n) for terms k*(x % n) beside k*n times a quotient of another y by n, or a remainder of that."""
    for atom, k in form.terms if len(form.terms) > 1 else ():
        for x, n in _constant_divisions(v, atom, "Mod"):
            beside = (other for other, m in form.terms if m == k * n and other != atom)
            yield from ((atom, x, y, n) for other in beside for y in _quotients_by(v, other, n) if y != x)


def _quotients_by(v: Visit, name: int, n: int) -> Iterator[int]:
    """What a class holds a quotient of by a number, or a remainder of such a quotient."""
    within = [x for x, _ in _constant_divisions(v, name, "Mod")]
    for divided in (name, *within):
        yield from (x for x, divisor in _constant_divisions(v, divided, "Floordiv") if divisor == n)


def _constant_divisions(v: Visit, name: int, op: str) -> list[tuple[int, int]]:
    """What a class holds divisions of by constants above one, and these."""
    return [(x, n) for found, x, n in _divisions(v, name) if found == op and n > 1]


def divisions_in(v: Visit, name: int, op: str) -> list[tuple[int, int]]:
    """What a class holds divisions of, and by what."""
    return [(node.args[0], node.args[1]) for node in v.classes.get(name, ()) if node.op == op]


def _dividends(v: Visit, name: int, op: str) -> list[int]:
    return [dividend for dividend, _ in divisions_in(v, name, op)]


def moduli(v: Visit, name: int) -> list[int]:
    """The constants n for which the class holds a remainder x % n; none for a leaf, which is its own remainder.

    A product that this visit made is not in the e-graph yet, and holds none.
    """
    if name not in v.forms or v.node(name).op in LEAVES:
        return []
    divisors = (v.constant(divisor) for _, divisor in divisions_in(v, name, "Mod"))
    return list(dict.fromkeys(d for d in divisors if d is not None))
