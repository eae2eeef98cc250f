"""Sum rows for where: choices by one condition, and what their branches have in common."""

from __future__ import annotations

from itertools import combinations
from math import gcd

from eqsat.egraph.linear import Linear, common_factor, common_part
from eqsat.egraph.snapshot import ENode
from eqsat.rules.joined import chain, where_of
from eqsat.rules.products import divided_by
from eqsat.rules.row import SumRow
from eqsat.rules.visit import Visit

# branches of choices in each other that are looked at together
MOST_BRANCHES = 64


def _condition(v: Visit, node: ENode) -> tuple[int, int, int]:
    """Condition and branches, without negation."""
    condition, x, y = node.args
    below = v.node(condition)
    return (below.args[0], y, x) if below.op == "Not" else (condition, x, y)


def merge_wheres(v: Visit) -> None:
    """k*where(p, x, y) + m*where(p, z, t) = where(p, k*x + m*z, k*y + m*t)."""
    for name in v.sums:
        for form in v.alternatives(name):
            choices = [(atom, k, _condition(v, v.node(atom))) for atom, k in form.terms if v.node(atom).op == "Where"]
            for (atom, k, (p, x, y)), (other, m, (q, z, t)) in combinations(choices, 2):
                if opposite(v, p, q):
                    q, z, t = p, t, z
                if p == q and v.first("merge-wheres", name, form, atom, other, p, x, y, z, t):
                    merged = where_of(v, p, *(v.sum(v.form(a).times(k).plus(v.form(b), m)) for a, b in ((x, z), (y, t))))
                    rest = form.without(atom, other)
                    v.encoder.same(name, v.sum(rest.plus(Linear(0, ((merged, 1),)))))


def opposite(v: Visit, p: int, q: int) -> bool:
    """Whether one condition is the negation of the other."""
    a, b = v.node(p), v.node(q)
    if a.op == b.op == "Nonneg":
        return v.form(a.args[0]).plus(v.form(b.args[0])) == Linear(-1)
    return False


def shift_where(v: Visit) -> None:
    """where(p, x + r, y + r) = where(p, x, y) + r and where(p, k*x, k*y) = k*where(p, x, y); the terms that all branches of nested
    choices share go out of all of them at once."""
    for name, node in v.nodes("Where"):
        if all(map(v.is_truth, node.args[1:])):
            continue
        branches = _branches(v, node)
        everywhere = tuple(t for t in branches[0].terms if all(t in form.terms for form in branches[1:]))
        if everywhere and len(branches) > 2 and v.first("shift-where", name, node, everywhere):
            v.encoder.same(name, v.sum(Linear.of(0, [*everywhere, (_less(v, node, Linear(0, everywhere)), 1)])))
        whole = [v.form(arg) for arg in node.args[1:]]
        shared = common_part(*whole)
        if not any(form.plus(shared, -1).terms for form in whole):
            shared = Linear(0, shared.terms)  # two constants are chosen from as they are
        first, second = (form.plus(shared, -1) for form in whole)
        factor = common_factor(first, second) if first.terms or second.terms else 1
        if (shared != Linear(0) or factor != 1) and v.first("shift-where", name, node):
            inner = where_of(v, node.args[0], *(v.sum(form.over(factor)) for form in (first, second)))
            v.encoder.same(name, v.sum(shared.plus(Linear(0, ((inner, factor),)))))


def _branches(v: Visit, node: ENode) -> list[Linear]:
    """What a choice chooses from, choices within it open, as far as they are few."""
    found: list[Linear] = []
    stack = list(node.args[:0:-1])
    while stack:
        name = stack.pop()
        below = v.node(name)
        if below.op == "Where" and len(found) + len(stack) < MOST_BRANCHES:
            stack += below.args[:0:-1]
        else:
            found.append(v.form(name))
    return found


def _less(v: Visit, node: ENode, shared: Linear) -> int:
    """A choice of which every branch has these terms, without them."""
    kept = []
    for name in node.args[1:]:
        below = v.node(name)
        kept.append(_less(v, below, shared) if below.op == "Where" else v.sum(v.form(name).plus(shared, -1)))
    return where_of(v, node.args[0], *kept)


def factor_where(v: Visit) -> None:
    """where(p, x*y, x*z) = x*where(p, y, z), for products and multiples."""
    for name, node in v.nodes("Where"):
        forms = [v.form(arg) for arg in node.args[1:]]
        if any(len(form.terms) != 1 or form.constant for form in forms):
            continue
        groups = [v.encoder.factors.get(form.terms[0][0], (form.terms[0][0],)) for form in forms]
        shared = tuple(factor for factor in dict.fromkeys(groups[0]) if factor in groups[1])
        if shared and forms[0] != forms[1] and v.first("factor-where", name, node, *forms):
            rests = [v.sum(divided_by(v, atom, shared).times(k)) for form in forms for atom, k in form.terms]
            v.encoder.same(name, v.encoder.product((*shared, where_of(v, node.args[0], *rests))))


def where_is_order(v: Visit) -> None:
    """where(x >= y, x, y) = max(x, y)."""
    for name, node in v.nodes("Where"):
        condition, x, y = node.args
        for sign in (n for n in v.classes.get(condition, ()) if n.op == "Nonneg"):
            difference = v.form(x).plus(v.form(y), -1)
            for op, direction in (("Max", 1), ("Min", -1)):
                if v.form(sign.args[0]) in _signs(difference.times(direction)) and v.first("where-is-order", name, node, op):
                    v.encoder.same(name, chain(v, op, (x, y)))


def _signs(form: Linear) -> tuple[Linear, Linear]:
    """What is not negative where a sum is not, and where it is above zero, without factors of its terms."""
    g = gcd(*(k for _, k in form.terms)) or 1
    bare = tuple((atom, k // g) for atom, k in form.terms)
    return Linear(form.constant // g, bare), Linear((form.constant - 1) // g, bare)


SELECTIONS: tuple[SumRow, ...] = (
    SumRow(
        "merge-wheres",
        "k*where(p, x, y) + m*where(p, z, t) = where(p, k*x + m*z, k*y + m*t)",
        "one condition",
        merge_wheres,
        ("Where",),
    ),
    SumRow(
        "shift-where", "where(p, k*x + r, k*y + r) = k*where(p, x, y) + r", "what both branches have in common", shift_where, ("Where",)
    ),
    SumRow("factor-where", "where(p, x*y, x*z) = x*where(p, y, z)", "factors that both branches share", factor_where, ("Where",)),
    SumRow("where-is-order", "where(x >= y, x, y) = max(x, y)", "and min for the other branch", where_is_order, ("Where",)),
)
