"""Sum rows for quotients and remainders among the terms of a sum: what goes into a dividend, and what is left of a remainder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from eqsat.egraph.linear import Linear
from eqsat.egraph.schema import DIVISIONS
from eqsat.rules.bits import BITS_BY_DIGIT
from eqsat.rules.row import CHOICES, SumRow, Table
from eqsat.rules.sums import by_factor
from eqsat.rules.visit import Visit
from eqsat.rules.wraps import WRAPS

# as many changes of a quotient are compared one by one
MAX_STEPS = 8


def into_quotient(v: Visit) -> None:
    """x // d + r = (x + d*r) // d, and r - x // d = (d*r - x + d - 1) // d, for the part r of a sum that is cheaper there."""
    for name in v.sums:
        for form in v.alternatives(name):
            for atom, k in form.terms if form.single is None else ():
                node = v.node_as(atom, "Floordiv")
                d = v.constant(node.args[1]) if node.op == "Floordiv" and abs(k) == 1 else None
                if d is None or d < 2:
                    continue
                below = v.form(node.args[0])
                dividend = below if k > 0 else Linear(d - 1).plus(below, -1)
                rest = form.without(atom)
                inside = {a for a, _ in dividend.terms} | {a for a, _ in _cancelled(v, dividend, rest, d)}
                taken = Linear(rest.constant, tuple(t for t in rest.terms if t[0] in inside))
                whole, left = dividend.plus(taken, d), rest.plus(taken, -1)
                after = v.cycles(whole) + v.cycles(left.plus(Linear(0, ((atom, 1),))))
                gains = after < v.cycles(below) + v.cycles(form) or len(inside) > len(dividend.terms)
                if gains and v.first("into-quotient", name, form, atom, node):
                    v.encoder.same(name, v.sum(left.plus(Linear(0, ((_divided(v, whole, node.args[1], d), 1),)))))


def _divided(v: Visit, dividend: Linear, divisor: int, d: int) -> int:
    lo, hi = v.bounds_of(dividend)
    return v.encoder.bounded(v.encoder.node("Floordiv", v.sum(dividend), divisor), (lo // d, hi // d))


def _cancelled(v: Visit, dividend: Linear, rest: Linear, d: int) -> Iterator[tuple[int, int]]:
    """Terms of a sum that, d times, cancel a term of what min, max or where in a dividend choose from."""
    for atom, k in dividend.terms:
        node = v.node(atom)
        operands = [v.form(arg) for arg in node.args[-2:]] if node.op in CHOICES else []
        for term, c in rest.terms:
            if any((term, -c * d) in operand.times(k).terms for operand in operands):
                yield term, c


def complement(v: Visit) -> None:
    """c - x % n = c - (n - 1) + (-x - 1) % n, where that is cheaper."""
    for name in v.sums:
        for form in v.alternatives(name):
            for atom, k in form.terms:
                node = v.node_as(atom, "Mod")
                n = v.constant(node.args[1]) if node.op == "Mod" and k < 0 else None
                if n is None or n < 2:
                    continue
                below = v.form(node.args[0])
                turned = Linear((-1 - below.constant) % n, tuple((a, 1 if -c % n == 1 else -c) for a, c in below.terms))
                left = form.without(atom).plus(Linear((n - 1) * k))
                after = v.cycles(turned) + v.cycles(left.plus(Linear(0, ((atom, -k),))))
                if after < v.cycles(below) + v.cycles(form) and v.first("complement", name, form, atom, node):
                    other = v.encoder.bounded(v.encoder.node("Mod", v.sum(turned), node.args[1]), (0, n - 1))
                    v.encoder.same(name, v.sum(left.plus(Linear(0, ((other, 1),)), -k)))


def opposite_remainders(v: Visit) -> None:
    """x % n = n - 1 - y % n, where n divides x + y + 1 and both remainders are there: sums that read the dearer may read the other."""
    known: dict[tuple[int, Linear], int] = {}
    for name, node in v.by_op.get("Mod", ()) if any(v.nodes("Mod")) else ():
        n = v.constant(node.args[1])
        if n is not None and n > 1:
            known.setdefault((n, _reduced(v.form(node.args[0]), n)), name)
    others: dict[int, Linear] = {}
    for (n, form), name in known.items():
        other = known.get((n, _reduced(Linear(-1).plus(form, -1), n)), name)
        if (v.reading.cost[other], other) < (v.reading.cost[name], name):
            others[name] = Linear(n - 1, ((other, -1),))
    _read_instead(v, "opposite-remainders", others)


def _read_instead(v: Visit, row: str, others: dict[int, Linear], where_cheaper: bool = False) -> None:
    """Sums that read a class of `others` may read what it is equal to."""
    readers = dict.fromkeys(name for name, node in v.by_op.get("Sum", ()) if any(atom in others for atom, _ in node.args[1:]))
    for name in readers:
        for form in v.alternatives(name):
            for atom, k in form.terms:
                if atom not in others:
                    continue
                instead = form.without(atom).plus(others[atom], k)
                if (not where_cheaper or v.all_cycles(instead) < v.all_cycles(form)) and v.first(row, name, form, atom):
                    v.encoder.same(name, v.sum(instead))


def _reduced(form: Linear, n: int) -> Linear:
    """A sum with all of its numbers reduced modulo n: equal ones have equal remainders."""
    return Linear(form.constant % n, tuple((atom, k % n) for atom, k in form.terms if k % n))


def remainder_beside_quotient(v: Visit) -> None:
    """k*(x % n) + m*(y // b) = k*x + (m - k*n)*(y // b) - k*n*c where x // n = y // b + c, if that is cheaper; where y is x and m is k*n
    it is x, which `as-pair` says."""
    for name in v.sums:
        for form in v.alternatives(name):
            quotients = [(atom, m, node) for atom, m in form.terms if (node := v.node_as(atom, "Floordiv")).op == "Floordiv"]
            for atom, k in form.terms if quotients else ():
                node = v.node_as(atom, "Mod")
                n = v.constant(node.args[1]) if node.op == "Mod" else None
                if n is None or n < 2:
                    continue
                for quotient, m, (_, divided) in quotients:
                    more = _more(v, node.args[0], n, *divided)
                    if more is None or m == 0 or (divided == node.args and m == k * n):
                        continue
                    instead = form.without(atom).plus(v.form(node.args[0]), k).plus(Linear(-k * n * more, ((quotient, -k * n),)))
                    if v.all_cycles(instead) < v.all_cycles(form) and v.first("remainder-beside-quotient", name, form, atom, quotient):
                        v.encoder.same(name, v.sum(instead))


def _more(v: Visit, x: int, n: int, y: int, divisor: int) -> int | None:
    """c where x // n = y // b + c, as x = n // b * (y + b*c) + r shows for some 0 <= r < n // b; None where it does not."""
    b = v.constant(divisor)
    if b is None or b < 1 or n % b:
        return None
    quotient, rest = by_factor(v.form(x), n // b)
    lo, hi = v.bounds_of(rest)
    more = quotient.plus(v.form(y), -1)
    return more.constant // b if lo >= 0 and hi < n // b and not more.terms and more.constant % b == 0 else None


class Stepping(NamedTuple):
    """A quotient or remainder; `first` is the quotient for the least value of the changing part, which it grows or falls with."""

    is_remainder: bool
    cost: float
    name: int
    first: int
    sign: int
    dividend: Linear
    divisor: int


def same_steps(v: Visit) -> None:
    """x // a = c + s*(y // b), where both grow or fall by one at the same values: sums that read the dearer may read the other.

    So may sums of x % a = x - a*(x // a), where that is cheaper and the quotient is not there itself.
    """
    groups: dict[tuple[Linear, tuple[int, ...]], list[Stepping]] = {}
    for name, node in (*v.by_op.get("Floordiv", ()), *v.by_op.get("Mod", ())) if any(v.nodes(*DIVISIONS)) else ():
        n = v.constant(node.args[1])
        if n is not None and n > 1 and name in v.reading.cost:
            form = v.form(node.args[0])
            sign = 1 if form.terms and form.terms[0][1] > 0 else -1
            changing = form.plus(Linear(-form.constant)).times(sign)
            lo, hi = v.bounds_of(changing)
            steps = _steps(form.constant, sign, n, lo, hi)
            if steps:
                one = Stepping(node.op == "Mod", v.reading.cost[name], name, (form.constant + sign * lo) // n, sign, form, n)
                groups.setdefault((changing, steps), []).append(one)
    quotients: dict[int, Linear] = {}
    remainders: dict[int, Linear] = {}
    for found in groups.values():
        read = min(found)
        for other in found if not read.is_remainder else ():
            turn = read.sign * other.sign
            quotient = Linear(other.first - turn * read.first, ((read.name, turn),))
            if other.is_remainder and (other.dividend, other.divisor) != (read.dividend, read.divisor):
                remainders[other.name] = other.dividend.plus(quotient, -other.divisor)
            elif not other.is_remainder and other.name != read.name:
                quotients[other.name] = quotient
    _read_instead(v, "same-steps", quotients)
    _read_instead(v, "same-steps", remainders, where_cheaper=True)


def _steps(constant: int, sign: int, n: int, lo: int, hi: int) -> tuple[int, ...]:
    """The values u, above lo and up to hi, at which (constant + sign*u) // n is not what it is at u - 1; none where they are many."""
    if (hi - lo) // n > MAX_STEPS:
        return ()
    before = -constant if sign > 0 else constant + 1
    return tuple(range(lo + 1 + (before - lo - 1) % n, hi + 1, n))


def digit_of_remainder(v: Visit) -> None:
    """x // n % m = x % (n*m) // n, where that remainder is there."""
    there: dict[tuple[int, int], int] = {}
    digits: list[tuple[int, int, int, int]] = []
    for name, node in v.by_op.get("Mod", ()) if any(v.nodes("Mod")) else ():
        m = v.constant(node.args[1])
        if m is None or m < 2:
            continue
        there.setdefault((node.args[0], m), name)
        for below in v.classes.get(node.args[0], ()):
            n = v.constant(below.args[1]) if below.op == "Floordiv" else None
            if n is not None and n > 1:
                digits.append((name, below.args[0], below.args[1], n * m))
    for name, x, n_class, modulus in digits:
        remainder = there.get((x, modulus))
        if remainder is not None and v.first("digit-of-remainder", name, remainder, n_class):
            v.encoder.same(name, v.encoder.node("Floordiv", remainder, n_class))


def take_in(v: Visit) -> None:
    """k*p + r where p, itself cheaper as a quotient or remainder, is a sum too: as a part of this one the sum may be cheaper."""
    for name in v.sums:
        for form in v.alternatives(name):
            for atom, k in form.terms if form.single is None else ():
                for node in v.classes.get(atom, ()) if v.node(atom).op in DIVISIONS else ():
                    if node.op != "Sum":
                        continue
                    opened = form.without(atom).plus(Linear.of(node.args[0], node.args[1:]), k)
                    if v.all_cycles(opened) < v.all_cycles(form) and v.first("take-in", name, form, atom, node):
                        v.encoder.same(name, v.sum(opened))


QUOTIENTS = Table(
    "quotients",
    "index",
    "quotients and remainders in sums, where the sum is cheaper inside",
    (
        SumRow(
            "into-quotient",
            "x // d + r = (x + d*r) // d",
            "also of -(x // d); what x can take in",
            into_quotient,
            ("Floordiv",),
        ),
        SumRow("take-in", "k*p + r = k*m*q + k*c + r", "where p = m*q + c, and only as a part that is cheaper", take_in, DIVISIONS),
        SumRow("complement", "n - 1 - x % n = (-x - 1) % n", "the remainder of the opposite", complement, ("Mod",)),
        SumRow(
            "opposite-remainders",
            "x % n = n - 1 - y % n",
            "where n divides x + y + 1, for remainders that are both there",
            opposite_remainders,
            ("Mod",),
        ),
        SumRow(
            "remainder-beside-quotient",
            "k*(x % n) + m*(x // n) = k*x + (m - k*n)*(x // n)",
            "one division does for both",
            remainder_beside_quotient,
            DIVISIONS,
        ),
        SumRow(
            "digit-of-remainder",
            "x // n % m = x % (n*m) // n",
            "where that remainder is there, for whoever pays for it anyway",
            digit_of_remainder,
            ("Mod",),
        ),
        SumRow(
            "same-steps",
            "x // a = c + y // b",
            "and c - y // b, where x - y or x + y is constant, both change at the same values, and both are there",
            same_steps,
            ("Floordiv",),
        ),
        *WRAPS,
        BITS_BY_DIGIT,
    ),
)
