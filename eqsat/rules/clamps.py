"""Sum rows for min and max of sums: members that others dominate, differences of clamps, min and max under comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from eqsat.egraph.linear import Linear
from eqsat.egraph.snapshot import ENode
from eqsat.rules.assumptions import assumptions
from eqsat.rules.joined import MAX_MEMBERS, OPPOSITE, chain, members_of, where_of
from eqsat.rules.opposites import OPPOSITES
from eqsat.rules.row import BOUNDED, PRODUCTS, SumRow, Table
from eqsat.rules.visit import Visit
from eqsat.rules.wraps import DIFFERENCES


def _orders(v: Visit) -> Iterator[tuple[str, int, ENode, tuple[int, ...]]]:
    """(op, class, node, members) of min and max of classes that have a finite form."""
    for op in ("Min", "Max"):
        for name, node in v.nodes(op):
            if all(arg in v.forms for arg in node.args):
                members = members_of(v, op, node)
                if 1 < len(members) <= MAX_MEMBERS:
                    yield op, name, node, members


def dominated_members(v: Visit) -> None:
    """min(k*min(x, y) + r, z) without k*x + r where that is never less than z; max for a negative k, and dually."""
    for op, name, _, members in _orders(v):
        for member in members:
            pieces = _pieces(v, op, member)
            others = [m for m in members if m != member]
            left = [piece for piece in pieces if not any(_dominates(v, op, other, piece) for other in others)]
            if len(left) < len(pieces) and v.first("dominated-members", name, members, member, tuple(left)):
                v.encoder.same(name, chain(v, op, (*others, *(v.sum(piece) for piece in left))))


def between_members(v: Visit) -> None:
    """min(z, max(x, y)) = max(x, y) where both are at most z, and z where one is at least z; dually."""
    for op, name, _, members in _orders(v):
        for member in (m for m in members if v.forms[m].op == OPPOSITE[op]):
            inner = members_of(v, OPPOSITE[op], v.forms[member])
            for other in (m for m in members if m != member):
                bounds = [v.bounds_of(v.form(below).plus(v.form(other), -1)) for below in inner]
                least = [hi <= 0 if op == "Min" else lo >= 0 for lo, hi in bounds]
                most = [lo >= 0 if op == "Min" else hi <= 0 for lo, hi in bounds]
                dropped = other if all(least) else member if any(most) else None
                if dropped is not None and v.first("between-members", name, members, member, other):
                    v.encoder.same(name, chain(v, op, tuple(m for m in members if m != dropped)))


def _pieces(v: Visit, op: str, member: int) -> list[Linear]:
    """The sums that a member k*min(..) + r is the least of; none if it is no such sum."""
    form = v.form(member)
    for atom, k in form.terms if form.single is None else ():
        node = v.node(atom)
        if node.op == (op if k > 0 else OPPOSITE[op]):
            rest = form.without(atom)
            return [v.form(arg).times(k).plus(rest) for arg in members_of(v, node.op, node)]
    return []


def _dominates(v: Visit, op: str, member: int, piece: Linear) -> bool:
    """Whether a member is never more than a sum under min, never less under max."""
    lo, hi = v.bounds_of(piece.plus(v.form(member), -1))
    return lo >= 0 if op == "Min" else hi <= 0


def absorb_inner(v: Visit) -> None:
    """max(y, min(max(x, y), z)) = max(y, min(x, z)), and dually: what is outside need not be inside."""
    for op, name, _, members in _orders(v):
        other = OPPOSITE[op]
        for member in (m for m in members if v.forms[m].op == other):
            inner = members_of(v, other, v.forms[member])
            for below in (i for i in inner if i in v.forms and v.forms[i].op == op):
                deep = members_of(v, op, v.forms[below])
                kept = tuple(m for m in deep if m not in members)
                if 0 < len(kept) < len(deep) and v.first("absorb-inner", name, members, member, below):
                    smaller = chain(v, other, (chain(v, op, kept), *(i for i in inner if i != below)))
                    v.encoder.same(name, chain(v, op, (smaller, *(m for m in members if m != member))))


def order_difference(v: Visit) -> None:
    """min(x + a, y + b) - min(x, y) = max(b, min(a, y - x + b)) for a >= b, and max(..) - max(..) with x - y + a."""
    for name in v.sums:
        for form in v.alternatives(name):
            for (atom, k), (other, m) in combinations(form.terms, 2):
                if k + m or v.node(atom).op not in OPPOSITE or v.node(atom).op != v.node(other).op:
                    continue
                plus, minus = (atom, other) if k > 0 else (other, atom)
                clamp = _clamped_difference(v, v.node(plus), v.node(minus))
                if clamp is not None and v.first("order-difference", name, form, atom, other, v.node(atom), v.node(other)):
                    rest = form.without(atom, other)
                    v.encoder.same(name, v.sum(rest.plus(clamp, abs(k))))


def _clamped_difference(v: Visit, first: ENode, second: ENode) -> Linear | None:
    for p, q in (first.args, first.args[::-1]):
        for x, y in (second.args, second.args[::-1]):
            a, b = v.form(p).plus(v.form(x), -1), v.form(q).plus(v.form(y), -1)
            if a.terms or b.terms or a.constant < b.constant:
                continue
            if a.constant == b.constant:
                return Linear(a.constant)
            apart = v.form(y).plus(v.form(x), -1)
            inside = apart.plus(Linear(b.constant)) if first.op == "Min" else apart.times(-1).plus(Linear(a.constant))
            low, high = v.encoder.number(b.constant), v.encoder.number(a.constant)
            return Linear(0, ((chain(v, "Max", (low, chain(v, "Min", (high, v.sum(inside))))), 1),))
    return None


def order_of_quotients(v: Visit) -> None:
    """min(x // d + a, y // d + b) = min(x + a*d, y + b*d) // d: division is monotone; max for a negative divisor."""
    for op in ("Min", "Max"):
        for name, node in v.nodes(op):
            parts = [part for arg in node.args if (part := _shifted_quotient(v, arg)) is not None]
            if len(parts) < len(node.args):
                continue
            (x, d), (y, other) = parts
            plain = d > 0 and not any(v.form(arg).constant for arg in node.args)  # min-of-quotients, max-of-quotients
            if d == other and not plain and v.first("order-of-quotients", name, node, d, x, y):
                below = chain(v, op if d > 0 else OPPOSITE[op], (v.sum(x), v.sum(y)))
                ends = sorted(end // d for end in v.bounds(below))
                v.encoder.same(name, v.encoder.bounded(v.encoder.node("Floordiv", below, v.encoder.number(d)), (ends[0], ends[1])))


def _shifted_quotient(v: Visit, name: int) -> tuple[Linear, int] | None:
    """(x + c*d, d) for a class x // d + c."""
    form = v.form(name)
    node = v.node_as(form.terms[0][0], "Floordiv") if len(form.terms) == 1 and form.terms[0][1] == 1 else None
    d = v.constant(node.args[1]) if node is not None and node.op == "Floordiv" else None
    return (v.form(node.args[0]).plus(Linear(form.constant * d)), d) if node is not None and d else None


def product_of_orders(v: Visit) -> None:
    """min(x, y)*max(x, y) = x*y."""
    for name, node in v.nodes("Prod", "Mul"):
        for a, b in combinations(node.args, 2):
            first, second = v.node(a), v.node(b)
            same = first.op in OPPOSITE and second.op == OPPOSITE[first.op] and sorted(first.args) == sorted(second.args)
            if same and v.first("product-of-orders", name, node, a, b):
                others = list(node.args)
                others.remove(a)
                others.remove(b)
                v.encoder.same(name, v.encoder.product((*first.args, *others)))


def order_of_where(v: Visit) -> None:
    """min(where(p, x, y), z) = where(p, min(x, z), min(y, z)) where one of both is decided."""
    for op in ("Min", "Max"):
        for name, node in v.nodes(op):
            for choice, other in (node.args, node.args[::-1]):
                below = v.node(choice)
                if below.op != "Where" or any(arg not in v.forms for arg in (*below.args, other)):
                    continue
                decided = [_decided(v, op, branch, other) for branch in below.args[1:]]
                if any(d is not None for d in decided) and v.first("order-of-where", name, node, below, *decided):
                    sides = zip(decided, below.args[1:], strict=True)
                    branches = [chain(v, op, (branch, other)) if d is None else d for d, branch in sides]
                    v.encoder.same(name, where_of(v, below.args[0], *branches))


def _decided(v: Visit, op: str, x: int, y: int) -> int | None:
    """Which of two classes their min or max is, if bounds or their own operands tell."""
    if x in _held(v, OPPOSITE[op], y) or y in _held(v, op, x):
        return x
    if y in _held(v, OPPOSITE[op], x) or x in _held(v, op, y):
        return y
    lo, hi = v.bounds_of(v.form(x).plus(v.form(y), -1))
    if hi <= 0 or lo >= 0:
        return x if (hi <= 0) == (op == "Min") else y
    return None


def _held(v: Visit, op: str, name: int) -> tuple[int, ...]:
    """The members of a class that is a min or max."""
    return members_of(v, op, v.node(name)) if v.node(name).op == op else ()


def zero_of_clamp(v: Visit) -> None:
    """min(x, b) == c is x == c for c < b, x >= b for c = b, false for c > b; of max dually; of where each branch, if one is decided."""
    for name, node in v.nodes("Zero"):
        for form in v.alternatives(node.args[0]):
            if len(form.terms) != 1 or abs(form.terms[0][1]) != 1:
                continue
            atom, k = form.terms[0]
            below, value = v.node(atom), -form.constant * k
            for x, bound in (below.args, below.args[::-1]) if below.op in OPPOSITE else ():
                b = v.constant(bound)
                if b is not None and v.first("zero-of-clamp", name, form, below):
                    v.encoder.same(name, _is(v, below.op, x, b, value))
            if below.op == "Where" and v.first("zero-of-clamp", name, form, below):
                branches = [v.form(arg).plus(Linear(-value)) for arg in below.args[1:]]
                if any(lo > 0 or hi < 0 or lo == hi for lo, hi in map(v.bounds_of, branches)):
                    truths = [v.truth("Zero", v.sum(branch.unsigned)) for branch in branches]
                    v.encoder.same(name, where_of(v, below.args[0], *truths))


def _is(v: Visit, op: str, x: int, b: int, value: int) -> int:
    """The class of min(x, b) == value, or of max."""
    apart = v.form(x).plus(Linear(b), -1)
    if value == b:
        return v.truth("Nonneg", v.sum(apart if op == "Min" else apart.times(-1)))
    if (value < b) == (op == "Min"):
        return v.truth("Zero", v.sum(v.form(x).plus(Linear(-value)).unsigned))
    return v.encoder.number(0)


def signs_of_order(v: Visit) -> None:
    """x + r >= 0 and y + r >= 0 = min(x, y) + r >= 0; or: max; where that is cheaper."""
    for op in ("Min", "Max"):
        for name, node in v.nodes(op):
            if any(v.node(arg).op != "Nonneg" for arg in node.args) or len({assumptions(v, arg) for arg in node.args}) > 1:
                continue
            first, second = (v.form(v.node(arg).args[0]) for arg in node.args)
            terms = tuple(t for t in first.terms if t in second.terms)
            for constant in dict.fromkeys((first.constant, second.constant)) if terms else ():
                common = Linear(constant, terms)
                x, y = first.plus(common, -1), second.plus(common, -1)
                joined = Linear.of(common.constant, (*common.terms, (name, 1)))
                before = _sign_cycles(v, first) + _sign_cycles(v, second)
                after = _sign_cycles(v, joined) + v.cycles(x) + v.cycles(y)
                if after < before and v.first("signs-of-order", name, node, common, x, y):
                    made = chain(v, op, (v.sum(x), v.sum(y)))
                    v.encoder.same(name, v.truth("Nonneg", v.sum(common.plus(Linear(0, ((made, 1),))))))


def _sign_cycles(v: Visit, form: Linear) -> float:
    """What the sign of a sum costs."""
    return v.reading.weights.sign_cycles("Nonneg", form.constant, tuple(k for _, k in form.terms))


CLAMPS = Table(
    "clamps",
    "index",
    "min and max of sums of min and max",
    (
        SumRow("dominated-members", "min(k*min(x, y) + r, z) = min(k*y + r, z)", "where k*x + r >= z", dominated_members, BOUNDED),
        SumRow("between-members", "min(z, max(x, y)) = max(x, y)", "where x, y <= z; z where one is more", between_members, BOUNDED),
        SumRow(
            "absorb-inner", "max(y, min(max(x, y), z)) = max(y, min(x, z))", "what is outside need not be inside", absorb_inner, BOUNDED
        ),
        SumRow(
            "order-difference",
            "min(x + a, y + b) - min(x, y) = max(b, min(a, y - x + b))",
            "for a >= b; also of max",
            order_difference,
            BOUNDED,
        ),
        SumRow("order-of-quotients", "min(x // d + a, y // d) = min(x + a*d, y) // d", "division is monotone", order_of_quotients, BOUNDED),
        SumRow("product-of-orders", "min(x, y)*max(x, y) = x*y", "one of them is x, the other y", product_of_orders, PRODUCTS),
        SumRow(
            "order-of-where", "min(where(p, x, y), z) = where(p, min(x, z), min(y, z))", "where one is decided", order_of_where, BOUNDED
        ),
        SumRow(
            "zero-of-clamp",
            "min(x, b) == c = x == c",
            "for c < b; x >= b for c = b, false for c > b; also of max",
            zero_of_clamp,
            ("Zero",),
        ),
        SumRow(
            "signs-of-order", "x + r >= 0 and y + r >= 0 = min(x, y) + r >= 0", "where that is cheaper; or: max", signs_of_order, BOUNDED
        ),
        *DIFFERENCES,
        *OPPOSITES,
    ),
)
