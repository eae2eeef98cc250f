"""Sum rows for min and max: n-ary canonical forms, differences of operands, and what sums have in common; with those of
rules/selections.py and rules/signs.py the table of what chooses.

difference x y d      d = x - y, for operands of min and max, and of what and/or join
total x y e           e = x + y
"""

from __future__ import annotations

from itertools import combinations

from eqsat.egraph.forms import SIGNS
from eqsat.egraph.linear import Linear, common_factor, common_part
from eqsat.rules.assumptions import assumed, assumptions
from eqsat.rules.joined import MAX_MEMBERS, OPPOSITE, chain, members_of, where_of
from eqsat.rules.row import BOUNDED, CHOICES, SumRow, Table
from eqsat.rules.selections import SELECTIONS
from eqsat.rules.signs import SIGN_ROWS
from eqsat.rules.visit import Visit


def flatten_order(v: Visit) -> None:
    """min(min(x, y), z): every two members are joined, the others kept."""
    for op in ("Min", "Max"):
        for name, node in v.nodes(op):
            if any(arg not in v.forms or assumed(v, arg) for arg in node.args) and v.node(name) != node:
                continue  # with what is under assumptions there would be a chain for every choice among the members
            members = members_of(v, op, node)
            if 2 < len(members) <= MAX_MEMBERS:
                for pair in combinations(members, 2):
                    if not _may_join(v, *pair) or not v.first("flatten-order", name, members, pair):
                        continue
                    rest = tuple(m for m in members if m not in pair)
                    v.encoder.same(name, chain(v, op, (chain(v, op, pair), *rest)))
            elif len(members) == 1 and v.first("flatten-order", name, members):
                v.encoder.same(name, members[0])


def _may_join(v: Visit, x: int, y: int) -> bool:
    """Whether rules about two members may apply: of two comparisons only where bounds of their sums decide something."""
    if v.node(x).op != "Nonneg" or v.node(y).op != "Nonneg":
        return True
    first, second = ([node.args[0] for node in v.classes[name] if node.op == "Nonneg"] for name in (x, y))
    pairs = [(p, q) for p in first for q in second if assumptions(v, p) == assumptions(v, q)]
    return any(_decided(v, p, q, sign) for p, q in pairs for sign in (1, -1))


def absorb(v: Visit) -> None:
    """min(x, max(x, y)) = x and min(max(x, y), max(x, z)) = max(x, min(y, z)), for any number of operands; and dually."""
    for op, other in OPPOSITE.items():
        for name, node in v.nodes(op):
            if any(arg not in v.forms or assumed(v, arg) for arg in node.args) and v.node(name) != node:
                continue
            members = members_of(v, op, node)
            inner = {m: members_of(v, other, v.forms[m]) for m in members if v.forms[m].op == other}
            absorbed = [m for m, below in inner.items() if any(k in below for k in members)]
            if absorbed and v.first("absorb", name, members):
                v.encoder.same(name, chain(v, op, tuple(m for m in members if m not in absorbed)))
            for a, b in combinations(inner, 2):
                shared = tuple(m for m in inner[a] if m in inner[b])
                if shared and v.first("absorb", name, members, a, b):
                    rests = [tuple(m for m in inner[k] if m not in shared) for k in (a, b)]
                    joined = chain(v, op, tuple(sorted(chain(v, other, rest) for rest in rests))) if all(rests) else None
                    factored = chain(v, other, (*shared, joined) if joined is not None else shared)
                    v.encoder.same(name, chain(v, op, (factored, *(m for m in members if m not in (a, b)))))


def compare_members(v: Visit) -> None:
    """Differences of what min and max join; of two comparisons, of their sums: those that bounds decide, for no rule reads others."""
    for _, node in v.nodes("Min", "Max"):
        x, y = node.args
        if not (v.is_truth(x) and v.is_truth(y)) or any(v.constant(arg) is not None for arg in node.args):
            _compare(v, x, y, 1)
        # of a condition and what is known under it the latter would imply the former, by what it knows of it
        for p, q in ((a, b) for a in _signed(v, x) for b in _signed(v, y) if assumptions(v, a) == assumptions(v, b)):
            _compare(v, p, q, 1)
            _compare(v, p, q, -1)


def _compare(v: Visit, x: int, y: int, sign: int) -> None:
    """State x - y, or x + y for sign -1, if it is known on which side of zero it is (of -1 for a sum)."""
    form = v.form(x).plus(v.form(y), -sign)
    if not v.changed("compare-members", (x, y, sign), [form]):
        return
    if not _decided(v, x, y, sign) or not v.first("compare-members", x, y, sign, form):
        return
    if sign > 0:
        v.difference(x, y)
    else:
        total = v.sum(form)
        v.state("total", x, y, total)
        v.state("total", y, x, total)


def _decided(v: Visit, x: int, y: int, sign: int) -> bool:
    """Whether bounds tell on which side of zero x - y is, or of -1 x + y for sign -1."""
    lo, hi = v.bounds_of(v.form(x).plus(v.form(y), -sign))
    return not (lo < 0 < hi if sign > 0 else lo < -1 and hi >= 0)


def _signed(v: Visit, name: int) -> list[int]:
    """The sums whose sign a class is."""
    nodes = v.classes.get(name, ())
    found = [node.args[0] for node in nodes if node.op in SIGNS]
    below = [inner for node in nodes if node.op == "Not" for inner in v.classes.get(node.args[0], ()) if inner.op == "Zero"]
    return [*found, *(node.args[0] for node in below)]


def shift_order(v: Visit) -> None:
    """min(x + r, y + r) = min(x, y) + r and min(k*x, k*y) = k*min(x, y), max for a negative k."""
    for op in ("Min", "Max"):
        for name, node in v.nodes(op):
            if all(map(v.is_truth, node.args)):
                continue
            whole = [v.form(arg) for arg in node.args]
            shared = common_part(*whole)
            for common in dict.fromkeys((shared, Linear(0, shared.terms))):
                first, second = (form.plus(common, -1) for form in whole)
                most = common_factor(first, second)
                for factor in dict.fromkeys((most, 1 if most > 0 else -1)) if common != Linear(0) else (most,):
                    if (common == Linear(0) and factor == 1) or not v.first("shift-order", name, node, common, factor):
                        continue
                    kind = op if factor > 0 else OPPOSITE[op]
                    inner = chain(v, kind, tuple(v.sum(form.over(factor)) for form in (first, second)))
                    v.encoder.same(name, v.sum(common.plus(Linear(0, ((inner, factor),)))))


def sum_into_order(v: Visit) -> None:
    """k*min(x, y) + r = min(k*x + r, k*y + r) where r cancels something."""
    for name in v.sums:
        for form in v.alternatives(name):
            for atom, k in form.terms:
                node = v.node(atom)
                if node.op not in CHOICES or len(form.terms) + (form.constant != 0) < 2:
                    continue
                rest = form.without(atom)
                branches = [v.form(arg).times(k).plus(rest) for arg in node.args[-2:]]
                in_all = frozenset.intersection(*(frozenset(a for a, _ in branch.terms) for branch in branches))
                if any(v.node(other).op in CHOICES and other in in_all for other, _ in rest.terms):
                    continue  # one that a branch cancels is welcome
                longer = sum(_length(v.form(arg)) + _length(rest) for arg in node.args[-2:])
                if sum(map(_length, branches)) < longer and v.first("sum-into-order", name, form, atom, node):
                    below = tuple(v.sum(b) for b in branches)
                    kind = node.op if k > 0 else OPPOSITE.get(node.op, "Where")
                    v.encoder.same(name, chain(v, kind, below) if kind in OPPOSITE else where_of(v, node.args[0], *below))


def _length(form: Linear) -> int:
    return len(form.terms) + (form.constant != 0)


def min_plus_max(v: Visit) -> None:
    """min(x, y) + max(x, y) = x + y."""
    for name in v.sums:
        for form in v.alternatives(name):
            for (atom, k), (other, m) in combinations(form.terms, 2):
                if k == m and v.node(other).op == OPPOSITE.get(v.node(atom).op):
                    args = v.node(atom).args
                    if sorted(args) == sorted(v.node(other).args) and v.first("min-plus-max", name, form, atom):
                        joined = v.form(args[0]).plus(v.form(args[1]))
                        rest = form.without(atom, other)
                        v.encoder.same(name, v.sum(rest.plus(joined, k)))


ORDERS = Table(
    "orders",
    "index",
    "min, max, where and comparisons of sums",
    (
        SumRow("flatten-order", "min(min(x, y), z) = min(x, min(y, z))", "associativity, for every two members", flatten_order, BOUNDED),
        SumRow(
            "absorb", "min(x, max(x, y)) = x; min(max(x, y), max(x, z)) = max(x, min(y, z))", "absorption and distribution", absorb, BOUNDED
        ),
        SumRow("compare-members", "d = x - y  under min(x, y)", "bounds of the difference decide", compare_members, BOUNDED),
        SumRow("shift-order", "min(k*x + r, k*y + r) = k*min(x, y) + r", "what both have in common; max for k < 0", shift_order, BOUNDED),
        SumRow(
            "sum-into-order",
            "k*min(x, y) + r = min(k*x + r, k*y + r)",
            "where r cancels something",
            sum_into_order,
            CHOICES,
        ),
        SumRow("min-plus-max", "min(x, y) + max(x, y) = x + y", "one of them is x, the other y", min_plus_max, BOUNDED),
        *SELECTIONS,
        *SIGN_ROWS,
    ),
)
