"""Sum rows of the tables `quotients` and `clamps` for what is a digit without a division being written: selections that wrap around,
intervals as long as a part, quotients of quotients; and for what is chosen by one difference."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations, product

from eqsat.egraph.index_cost import is_power_of_two
from eqsat.egraph.linear import Linear
from eqsat.egraph.snapshot import ENode
from eqsat.rules.assumptions import assumptions
from eqsat.rules.digits import digit
from eqsat.rules.joined import chain
from eqsat.rules.row import BOUNDED, SumRow
from eqsat.rules.selections import opposite
from eqsat.rules.sums import by_factor
from eqsat.rules.visit import Visit


def wrap_around(v: Visit) -> None:
    """where(x >= n, x - n, x) = x % n for 0 <= x < 2*n, and where(x < 0, x + n, x) for -n <= x < n; only for powers of two."""
    for name, node in v.nodes("Where"):
        condition, *branches = node.args
        for sign in (n for n in v.classes.get(condition, ()) if n.op in ("Nonneg", "Zero")):
            compared = v.form(sign.args[0])
            found = _wrapped(v, sign.op, compared, *(v.form(branch) for branch in branches))
            if found is not None and v.first("wrap-around", name, node, sign):
                x, n = found
                v.encoder.same(name, v.encoder.bounded(v.encoder.node("Mod", v.sum(x), v.encoder.number(n)), (0, n - 1)))


def _wrapped(v: Visit, op: str, compared: Linear, then: Linear, otherwise: Linear) -> tuple[Linear, int] | None:
    """(x, n) where what is chosen is x % n."""
    if op == "Zero":  # where(x == n, 0, x)
        for off in (otherwise.plus(compared, -1), otherwise.plus(compared)):
            if then == Linear(0) and not off.terms and is_power_of_two(off.constant) and _within(v, otherwise, 0, off.constant):
                return otherwise, off.constant
        return None
    for x, other, holds in ((otherwise, then, compared), (then, otherwise, Linear(-1).plus(compared, -1))):
        shift = other.plus(x, -1)
        if not shift.terms and is_power_of_two(n := abs(shift.constant)):
            if shift.constant < 0 and holds == other and _within(v, x, 0, 2 * n - 1):
                return x, n
            if shift.constant > 0 and holds == Linear(-1).plus(x, -1) and _within(v, x, -n, n - 1):
                return x, n
    return None


def _within(v: Visit, form: Linear, low: int, high: int) -> bool:
    lo, hi = v.bounds_of(form)
    return low <= lo and hi <= high


def interval_is_part(v: Visit) -> None:
    """0 <= n*q + r and n*q + r < n = r // n + q == 0, for powers of two."""
    for name, node in v.nodes("Min"):
        signs = [v.node(arg) for arg in node.args]
        if any(sign.op != "Nonneg" for sign in signs) or len({assumptions(v, arg) for arg in node.args}) > 1:
            continue
        low, high = (v.form(sign.args[0]) for sign in signs)
        whole = low.plus(high)
        n = whole.constant + 1
        if whole.terms or n < 2 or not is_power_of_two(n):
            continue
        for form in (low, high):
            quotient, rest = by_factor(form, n)
            if quotient.terms and rest.terms and all(k > 0 for _, k in rest.terms) and v.first("interval-is-part", name, node, form):
                lo, hi = v.bounds_of(rest)
                part = v.encoder.bounded(v.encoder.node("Floordiv", v.sum(rest), v.encoder.number(n)), (lo // n, hi // n))
                v.encoder.same(name, v.truth("Zero", v.sum(quotient.plus(Linear(0, ((part, 1),))).unsigned)))


def digits_are(v: Visit) -> None:
    """x // n == q and x % n == r is x == n*q + r, for 0 <= r < n."""
    for name, node in v.nodes("Min"):
        signs = [v.node(arg) for arg in node.args]
        if any(sign.op != "Zero" for sign in signs):
            continue
        for quotients, remainders in permutations([v.form(sign.args[0]) for sign in signs]):
            for (quotient, x, n), (remainder, y, m) in product(_solved(v, quotients, "Floordiv"), _solved(v, remainders, "Mod")):
                if (x, n) == (y, m) and _within(v, remainder, 0, n - 1) and v.first("digits-are", name, node, x, n, quotient, remainder):
                    whole = v.form(x).plus(quotient, -n).plus(remainder, -1)
                    v.encoder.same(name, v.truth("Zero", v.sum(whole.unsigned)))


def _solved(v: Visit, form: Linear, op: str) -> Iterator[tuple[Linear, int, int]]:
    """(s, x, n) for the ways to read form == 0 as x // n == s, or as x % n == s."""
    for atom, k in form.terms:
        node = v.node_as(atom, op)
        n = v.constant(node.args[1]) if node.op == op and abs(k) == 1 else None
        if n is not None and n > 0:
            yield form.without(atom).times(-k), node.args[0], n


def quotients_are_digit(v: Visit) -> None:
    """k*(x // n) - k*m*(x // (n*m)) = k*(x // n % m)."""
    for name in v.sums:
        for form in v.alternatives(name):
            for (lower, k, x, n), (upper, c, y, size) in permutations(_quotients(v, form), 2):
                cancels = x == y and size > n and size % n == 0 and c == -k * (size // n)
                if cancels and v.first("quotients-are-digit", name, form, lower, upper):
                    whole = digit(v, x, v.bounds(x), n, size)
                    v.encoder.same(name, v.sum(form.without(lower, upper).plus(Linear(0, ((whole, k),)))))


def opposite_signs(v: Visit) -> None:
    """k*p + m*q = k + (m - k)*q for comparisons p and q of which one is the negation of the other: s >= 0 and -s - 1 >= 0."""
    for name in v.sums:
        for form in v.alternatives(name):
            signs = [(atom, k) for atom, k in form.terms if v.node(atom).op == "Nonneg"]
            for (other, m), (atom, k) in combinations(signs, 2):
                if opposite(v, atom, other) and v.first("opposite-signs", name, form, atom):
                    v.encoder.same(name, v.sum(form.without(atom, other).plus(Linear(k, ((other, m - k),)))))


def _quotients(v: Visit, form: Linear) -> Iterator[tuple[int, int, int, int]]:
    """(quotient, coefficient, dividend, divisor) of the terms of a sum that are quotients by constants."""
    for atom, k in form.terms if len(form.terms) > 1 else ():
        node = v.node_as(atom, "Floordiv")
        n = v.constant(node.args[1]) if node.op == "Floordiv" else None
        if n is not None and n > 0:
            yield atom, k, node.args[0], n


def one_difference(v: Visit) -> None:
    """max(x, y) = y + p and min(x, y) = x - p for p = max(x - y, 0), and |x - y| = 2*p - x + y: a sum of several of one difference is a
    sum of one of them."""
    for name in v.sums:
        for form in v.alternatives(name):
            chosen = [(atom, k, found) for atom, k in form.terms if (found := _of_difference(v, v.node(atom))) is not None]
            for base, _, (difference, times, rest) in chosen:
                others = [one for one in chosen if one[0] != base and one[2][0] == difference]
                if others and all(many % times == 0 for _, _, (_, many, _) in others):
                    instead = form.without(*(atom for atom, _, _ in others))
                    for _, k, (_, many, more) in others:
                        instead = instead.plus(more, k).plus(Linear(0, ((base, 1),)).plus(rest, -1), k * (many // times))
                    if v.all_cycles(instead) < v.all_cycles(form) and v.first("one-difference", name, form, base):
                        v.encoder.same(name, v.sum(instead))


def beside_distance(v: Visit) -> None:
    """x + y + |x - y| = 2*max(x, y), and x + y - |x - y| = 2*min(x, y)."""
    for name in v.sums:
        for form in v.alternatives(name):
            for atom, k in form.terms if len(form.terms) > 1 else ():
                node = v.node(atom)
                if node.op != "Abs":
                    continue
                difference = v.form(node.args[0])
                x = Linear(max(difference.constant, 0), tuple(term for term in difference.terms if term[1] > 0))
                y = x.plus(difference, -1)
                for op, sign in (("Max", 1), ("Min", -1)):
                    left = form.without(atom).plus(x.plus(y), -k * sign)
                    if len(left.terms) + 1 < len(form.terms) and v.first("beside-distance", name, form, atom, op):
                        chosen = chain(v, op, (v.sum(x), v.sum(y)))
                        v.encoder.same(name, v.sum(left.plus(Linear(0, ((chosen, 2 * k * sign),)))))


def _of_difference(v: Visit, node: ENode) -> tuple[Linear, int, Linear] | None:
    """(d, a, r) where a node is a*max(d, 0) + r."""
    if node.op not in (*BOUNDED, "Abs"):
        return None
    x = v.form(node.args[0])
    y = v.form(node.args[1]) if node.op != "Abs" else Linear(0)
    if x.plus(y, -1) != x.plus(y, -1).unsigned:
        x, y = (x.times(-1), y) if node.op == "Abs" else (y, x)
    difference = x.plus(y, -1)
    if not difference.terms:
        return None
    return difference, *{"Max": (1, y), "Min": (-1, x), "Abs": (2, difference.times(-1))}[node.op]


WRAPS = (
    SumRow(
        "wrap-around", "where(x >= n, x - n, x) = x % n", "for powers of two n; also of where(x < 0, x + n, x)", wrap_around, ("Where",)
    ),
    SumRow("interval-is-part", "0 <= n*q + r < n = r // n + q == 0", "for powers of two n", interval_is_part, ("Min",)),
    SumRow("opposite-signs", "(s >= 0) + (s < 0) = 1", "one of two opposites holds", opposite_signs, ("Nonneg",)),
    SumRow("digits-are", "x // n == q and x % n == r is x == n*q + r", "for 0 <= r < n", digits_are, BOUNDED),
    SumRow(
        "quotients-are-digit",
        "k*(x // n) - k*m*(x // (n*m)) = k*(x // n % m)",
        "the identity for x // n",
        quotients_are_digit,
        ("Floordiv",),
    ),
)
DIFFERENCES = (
    SumRow("beside-distance", "x + y + abs(x - y) = 2*max(x, y)", "and x + y - abs(x - y) = 2*min(x, y)", beside_distance, ("Abs",)),
    SumRow("one-difference", "max(x, y) - max(y - x, 0) = x", "and of all that is chosen by x - y", one_difference, (*BOUNDED, "Abs")),
)
