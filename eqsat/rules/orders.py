"""Sum rows for min, max, where and comparisons: n-ary canonical forms, differences of operands, and what sums have in common.

difference x y d      d = x - y, for operands of min and max, and of what and/or join
total x y e           e = x + y
as-scaled S g q r     S = g*q + r, for comparisons of S with zero
as-quotient S k x m r S = k*(x // m) + r, for comparisons of S with zero
"""

from __future__ import annotations

from itertools import combinations
from math import gcd

from eqsat.egraph.forms import SIGNS
from eqsat.egraph.linear import Linear
from eqsat.egraph.snapshot import ENode
from eqsat.rules.assumptions import assumed, assumptions
from eqsat.rules.products import divided_by
from eqsat.rules.row import BOUNDED, CHOICES, DIVISIONS, PRODUCTS, SumRow, Table
from eqsat.rules.sums import by_factor
from eqsat.rules.visit import Visit

MAX_MEMBERS = 6
MOST_BRANCHES = 64
OPPOSITE = {"Min": "Max", "Max": "Min"}


# min and max -----------------------------------------------------------------------------------------------------
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


def members_of(v: Visit, op: str, root: ENode) -> tuple[int, ...]:
    """The classes that nested nodes of one kind join, each once."""
    found: dict[int, None] = {}
    stack = list(root.args)
    while stack:
        name = stack.pop()
        node = v.node(name)
        if node.op == op:
            stack.extend(node.args)
        else:
            found[name] = None
    return tuple(sorted(found))


def chain(v: Visit, op: str, members: tuple[int, ...]) -> int:
    """The class of min or max of these."""
    result, *rest = members
    for member in rest:
        bounds = [v.bounds(result), v.bounds(member)]
        choose = min if op == "Min" else max
        node = v.encoder.node(op, *sorted((result, member)))
        result = v.encoder.bounded(node, (choose(b[0] for b in bounds), choose(b[1] for b in bounds)))
    return result


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
            shared = _common(*whole)
            for common in dict.fromkeys((shared, Linear(0, shared.terms))):
                first, second = (form.plus(common, -1) for form in whole)
                most = _factor(first, second)
                for factor in dict.fromkeys((most, 1 if most > 0 else -1)) if common != Linear(0) else (most,):
                    if (common == Linear(0) and factor == 1) or not v.first("shift-order", name, node, common, factor):
                        continue
                    kind = op if factor > 0 else OPPOSITE[op]
                    inner = chain(v, kind, tuple(v.sum(form.over(factor)) for form in (first, second)))
                    v.encoder.same(name, v.sum(common.plus(Linear(0, ((inner, factor),)))))


def _factor(first: Linear, second: Linear) -> int:
    """The common factor of two sums, negative if most of their coefficients are."""
    coefficients = [k for _, k in (*first.terms, *second.terms)]
    factor = gcd(first.constant, second.constant, *coefficients) or 1
    return -factor if 2 * sum(k < 0 for k in coefficients) > len(coefficients) else factor


def _common(first: Linear, second: Linear) -> Linear:
    """The terms that two sums share, and the constant of the one whose first other term comes first."""
    terms = tuple(t for t in first.terms if t in second.terms)
    rests = [(tuple(t for t in form.terms if t not in terms), form.constant) for form in (first, second)]
    return Linear(min((rest for rest in rests if rest[0]), default=((), first.constant))[1], terms)


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


# where -----------------------------------------------------------------------------------------------------------
def where_of(v: Visit, condition: int, x: int, y: int) -> int:
    (a, b), (c, d) = v.bounds(x), v.bounds(y)
    return v.encoder.bounded(v.encoder.node("Where", condition, x, y), (min(a, c), max(b, d)))


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
        shared = _common(*whole)
        if not any(form.plus(shared, -1).terms for form in whole):
            shared = Linear(0, shared.terms)  # two constants are chosen from as they are
        first, second = (form.plus(shared, -1) for form in whole)
        factor = _factor(first, second) if first.terms or second.terms else 1
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
            compared, difference = v.form(sign.args[0]), v.form(x).plus(v.form(y), -1)
            for op, direction in (("Max", 1), ("Min", -1)):
                off = compared.plus(difference, -direction)
                if not off.terms and off.constant in (0, -1) and v.first("where-is-order", name, node, op):
                    v.encoder.same(name, chain(v, op, (x, y)))


# comparisons -----------------------------------------------------------------------------------------------------
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
        SumRow("split-scaled", "S = g*q + r  under S >= 0", "for common factors g of coefficients", split_scaled, SIGNS),
        SumRow("split-quotient", "S = k*(x // m) + r  under S >= 0", "each quotient among the terms", split_quotient, (*DIVISIONS, *SIGNS)),
        SumRow(
            "simplex",
            "c - k*x - m*y >= 0 = -x - y >= 0  when 0 <= c < k, m and x, y >= 0",
            "only zero fits; or all but zero",
            simplex,
            ("Nonneg",),
        ),
        SumRow("compare-choice", "min(x, y) + r >= 0 = x + r >= 0 and y + r >= 0", "also of max and where", compare_choice, ("Nonneg",)),
        SumRow("unsigned-zero", "-x == 0 = x == 0", "one form for both signs", unsigned_zero, ("Zero",)),
        SumRow("product-of-truths", "p*q = p and q", "for truth values", product_of_truths, PRODUCTS),
        SumRow("negation-of-truth", "1 - p = not p", "for truth values", negation_of_truth, (*SIGNS, "Not")),
    ),
)
