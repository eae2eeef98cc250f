"""Sum rows for abs: what is chosen of a term and its opposite, and how far two terms are apart."""

from __future__ import annotations

from itertools import permutations

from eqsat.egraph.linear import Linear
from eqsat.rules.row import BOUNDED, SumRow
from eqsat.rules.visit import Visit


def choice_of_opposites(v: Visit) -> None:
    """max(x, -x) = abs(x) and min(x, -x) = -abs(x)."""
    for op, sign in (("Max", 1), ("Min", -1)):
        for name, node in v.nodes(op):
            first, second = map(v.form, node.args)
            if first.terms and first.plus(second) == Linear(0) and v.first("choice-of-opposites", name, op, first):
                v.encoder.same(name, v.sum(_abs(v, first).times(sign)))


def abs_of_multiple(v: Visit) -> None:
    """abs(g*x) = g*abs(x), for negative g its opposite."""
    for name, node in v.nodes("Abs"):
        for form in v.alternatives(node.args[0]):
            if (form.unsigned != form or form.content > 1) and v.first("abs-of-multiple", name, form):
                v.encoder.same(name, v.sum(_abs(v, form)))


def apart(v: Visit) -> None:
    """max(x, y) - min(x, y) = abs(x - y)."""
    for name in v.sums:
        for form in v.alternatives(name):
            for (atom, k), (other, c) in permutations(form.terms, 2):
                most, least = v.node(atom), v.node(other)
                found = k + c == 0 and (most.op, least.op) == ("Max", "Min") and set(most.args) == set(least.args)
                if found and v.first("apart", name, form, atom, other):
                    x, y = map(v.form, most.args)
                    v.encoder.same(name, v.sum(form.without(atom, other).plus(_abs(v, x.plus(y, -1)), k)))


def _abs(v: Visit, form: Linear) -> Linear:
    """The absolute value of a sum: that of the sum without a common factor, with the sign that its first term has then."""
    bare = form.over(form.content).unsigned
    return Linear(0, ((v.encoder.node("Abs", v.sum(bare)), form.content),))


OPPOSITES: tuple[SumRow, ...] = (
    SumRow("choice-of-opposites", "max(x, -x) = abs(x)", "min(x, -x) is its opposite", choice_of_opposites, BOUNDED),
    SumRow("abs-of-multiple", "abs(g*x) = g*abs(x)", "of -g too: common factors and the sign leave", abs_of_multiple, ("Abs",)),
    SumRow("apart", "max(x, y) - min(x, y) = abs(x - y)", "how far two terms are apart", apart, BOUNDED),
)
