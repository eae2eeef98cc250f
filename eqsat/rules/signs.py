"""Sum rows for comparisons, which are signs and zeros of sums, and for truth values in sums.

as-scaled S g q r     S = g*q + r, for comparisons of S with zero
as-quotient S k x m r S = k*(x // m) + r, for comparisons of S with zero
"""

from __future__ import annotations

from math import gcd

from eqsat.egraph.forms import SIGNS
from eqsat.egraph.linear import Linear
from eqsat.egraph.schema import DIVISIONS
from eqsat.rules.joined import OPPOSITE, chain, where_of
from eqsat.rules.products import split_by
from eqsat.rules.row import CHOICES, PRODUCTS, SumRow
from eqsat.rules.sums import by_factor
from eqsat.rules.visit import Visit


def split_scaled(v: Visit) -> None:
    """Sums under a comparison by common factors of their coefficients."""
    for op, name in v.signs():
        for form in v.alternatives(name):
            sizes = [abs(k) for _, k in form.terms]
            whole = gcd(*sizes)
            for g in dict.fromkeys((whole, *sizes) if op == "Nonneg" else (whole,)):
                if g > 1 and v.first("split-scaled", op, name, g, form):
                    quotient, rest = by_factor(form, g)
                    lo, hi = v.bounds_of(rest)
                    if lo // g == hi // g and (quotient.terms or quotient.constant):
                        v.state("as-scaled", name, g, v.sum(quotient), v.sum(rest))


def split_quotient(v: Visit) -> None:
    """Sums under a comparison or a division by each quotient among their terms; under a comparison by each remainder too."""
    compared = {name for _, name in v.signs()}
    divided = {name for op, name, _ in v.divisions() if op == "Floordiv"}
    for name in dict.fromkeys((*compared, *divided)):
        for form in v.alternatives(name):
            for atom, k in form.terms if form.single is None else ():
                rest = form.without(atom)
                for node in dict.fromkeys((v.node(atom), v.node_as(atom, "Floordiv"))):
                    divisor = v.constant(node.args[1]) if node.op in DIVISIONS else None
                    if not divisor or divisor < 0 or abs(k) != 1 or (name in divided and (k != 1 or node.op == "Mod")):
                        continue
                    if v.first("split-quotient", name, form, atom, node):
                        if node.op == "Floordiv":
                            v.state("as-quotient", name, k, node.args[0], divisor, v.sum(rest))
                        elif not rest.terms:
                            v.state("as-step", name, k, atom, rest.constant)
                        if not rest.terms and k == 1:
                            v.state("as-offset", name, atom, rest.constant)
                        below = v.node(node.args[0])
                        inner = v.constant(below.args[1]) if node.op == "Mod" and below.op == "Floordiv" else None
                        if inner is not None and inner > 0:  # x // a % n = x % (a*n) // a
                            remainder = v.encoder.node("Mod", below.args[0], v.encoder.number(inner * divisor))
                            v.encoder.bounded(remainder, (0, inner * divisor - 1))
                            v.state("as-quotient", name, k, remainder, inner, v.sum(rest))


def simplex(v: Visit) -> None:
    """c - k*x - m*y >= 0 with x, y >= 0 and c less than every coefficient: all terms are zero; and k*x + m*y >= c with c no more
    than any: one is not."""
    for name, node in v.nodes("Nonneg"):
        for form in v.alternatives(node.args[0]):
            least = min((-k for _, k in form.terms), default=0)
            nonnegative = all(v.bounds(atom)[0] >= 0 for atom, _ in form.terms)
            scaled = any(k != -1 for _, k in form.terms)
            if scaled and nonnegative and 0 <= form.constant < least and v.first("simplex", name, form):
                v.encoder.same(name, v.truth("Nonneg", v.sum(Linear(0, tuple((a, -1) for a, _ in form.terms)))))
            least = min((k for _, k in form.terms), default=0)
            scaled = form.constant != -1 or any(k != 1 for _, k in form.terms)
            if scaled and nonnegative and 0 < -form.constant <= least and v.first("simplex", name, form):
                v.encoder.same(name, v.truth("Nonneg", v.sum(Linear(-1, tuple((a, 1) for a, _ in form.terms)))))


def sign_of_product(v: Visit) -> None:
    """z*q + r >= 0 is q + k >= 0 where k*z <= r < (k + 1)*z, for k = 0 and -1 and a term z above zero; z*q == 0 is q == 0."""
    for op, name in v.signs():
        for form in v.alternatives(name):
            factors = dict.fromkeys(factor for atom, _ in form.terms for factor in v.encoder.factors.get(atom, ()))
            for z in (factor for factor in factors if v.bounds(factor)[0] > 0):
                quotient, rest = split_by(v, form, (z,))
                k = _quotient_of_rest(v, rest, z) if op == "Nonneg" else 0 if rest == Linear(0) else None
                if k is not None and v.first("sign-of-product", op, name, form, z):
                    sign = quotient.plus(Linear(k)) if op == "Nonneg" else quotient.unsigned
                    v.encoder.same(v.encoder.node(op, name), v.truth(op, v.sum(sign)))


def _quotient_of_rest(v: Visit, rest: Linear, z: int) -> int | None:
    """k with k*z <= rest < (k + 1)*z, of 0 and -1, if bounds prove one."""
    whole = v.form(z)
    if v.bounds_of(rest)[0] >= 0 and v.bounds_of(whole.plus(rest, -1))[0] > 0:
        return 0
    return -1 if v.bounds_of(rest)[1] < 0 and v.bounds_of(whole.plus(rest))[0] >= 0 else None


def compare_choice(v: Visit) -> None:
    """min(x, y) + r >= 0 is x + r >= 0 and y + r >= 0; of max either; of where the one that is chosen."""
    for name, node in v.nodes("Nonneg"):
        for form in v.alternatives(node.args[0]):
            for atom, k in form.terms:
                below = v.node(atom)
                if below.op not in CHOICES or not v.first("compare-choice", name, form, atom, below):
                    continue
                rest = form.without(atom)
                sums = [v.form(arg).times(k).plus(rest) for arg in below.args[-2:]]
                decided = [lo >= 0 or hi < 0 for lo, hi in map(v.bounds_of, sums)]
                if below.op == "Where" and not any(decided):
                    continue
                x, y = (v.truth("Nonneg", v.sum(form)) for form in sums)
                if below.op == "Where":
                    v.encoder.same(name, where_of(v, below.args[0], x, y))
                else:
                    v.encoder.same(name, v.truth(below.op if k > 0 else OPPOSITE[below.op], *sorted((x, y))))


def unsigned_zero(v: Visit) -> None:
    """-x == 0 is x == 0."""
    for name, node in v.nodes("Zero"):
        for form in v.alternatives(node.args[0]):
            if form.unsigned != form and v.first("unsigned-zero", name, form):
                v.encoder.same(name, v.truth("Zero", v.sum(form.unsigned)))


def product_of_truths(v: Visit) -> None:
    """p*q = p and q."""
    for name, node in v.nodes("Prod", "Mul"):
        if len(node.args) > 1 and all(map(v.is_truth, node.args)) and v.first("product-of-truths", name, node):
            v.encoder.same(name, chain(v, "Min", tuple(dict.fromkeys(node.args))))


def negation_of_truth(v: Visit) -> None:
    """1 - p = not p for a truth value p."""
    for name in v.sums:
        for form in v.alternatives(name):
            if form.constant == 1 and len(form.terms) == 1 and form.terms[0][1] == -1:
                atom = form.terms[0][0]
                if v.node(atom).op in ("Nonneg", "Zero", "Not") and v.first("negation-of-truth", name, form):
                    v.encoder.same(name, v.truth("Not", atom))


SIGN_ROWS: tuple[SumRow, ...] = (
    SumRow("split-scaled", "S = g*q + r  under S >= 0", "for common factors g of coefficients", split_scaled, SIGNS),
    SumRow("split-quotient", "S = k*(x // m) + r  under S >= 0", "each quotient among the terms", split_quotient, (*DIVISIONS, *SIGNS)),
    SumRow(
        "simplex",
        "c - k*x - m*y >= 0 = -x - y >= 0  when 0 <= c < k, m and x, y >= 0",
        "only zero fits; or all but zero",
        simplex,
        ("Nonneg",),
    ),
    SumRow("sign-of-product", "z*q + r >= 0 = q + k >= 0", "where k*z <= r < (k + 1)*z, for z above zero", sign_of_product, SIGNS),
    SumRow("compare-choice", "min(x, y) + r >= 0 = x + r >= 0 and y + r >= 0", "also of max and where", compare_choice, ("Nonneg",)),
    SumRow("unsigned-zero", "-x == 0 = x == 0", "one form for both signs", unsigned_zero, ("Zero",)),
    SumRow("product-of-truths", "p*q = p and q", "for truth values", product_of_truths, PRODUCTS),
    SumRow("negation-of-truth", "1 - p = not p", "for truth values", negation_of_truth, (*SIGNS, "Not")),
)
