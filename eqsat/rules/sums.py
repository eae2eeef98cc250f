"""Sum rows: the canonical form and bounds of n-ary nodes, and the ways to write a sum that division and remainder need.

Views state nothing but a way to write a sum:
    as-multiple S d q r      S = d*q + r
    as-common S d g q r      S = g*q + r, g divides d
    as-offset S x c          S = x + c
    as-step S k x c          S = k*x + c, x one atom
    as-inner S k x m r       S = k*(x % m) + r, for the cheapest form x % m of a term
    as-pair S a x b y r      S = a*x + b*y + r (digits.py)
    as-multiple-of S z q r   S = z*q + r
    as-common-of S d z q w r S = z*q + r, d = z*w
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import permutations
from math import gcd

from eqsat.egraph.encode import NUMBER_LIMIT
from eqsat.egraph.forms import SIGNS
from eqsat.egraph.linear import Linear
from eqsat.egraph.schema import DIVISIONS
from eqsat.egraph.snapshot import ENode
from eqsat.ir import interval
from eqsat.ir.interval import Interval
from eqsat.rules.digits import join_digits, pairs, shifted_remainders
from eqsat.rules.products import distribute, factor_common, factor_some, flatten_product, take_content
from eqsat.rules.row import PRODUCTS, SumRow, Table
from eqsat.rules.symbolic import split_symbolic, symbolic_digits, symbolic_identity
from eqsat.rules.visit import Visit

RELATIONS = {"Floordiv": "quotient", "Mod": "remainder"}


# canonical form and bounds ---------------------------------------------------------------------------------------
def flatten(v: Visit) -> None:
    for name, forms in v.sums.items():
        nodes = v.classes[name]
        present = {Linear.of(n.args[0], n.args[1:]) for n in nodes if n.op == "Sum"}
        products = {tuple(sorted(n.args)) for n in nodes if n.op == "Prod"}
        for form in forms:
            as_product = form.single is not None and v.encoder.factors.get(form.single) in products
            if form not in present and form.single != name and not as_product and v.first("flatten-sum", name, form):
                v.encoder.same(name, v.sum(form))


def bound(v: Visit) -> None:
    for name, forms in v.sums.items():
        for form in forms if v.changed("bounds-of-sum", name, forms) else ():
            lo, hi = v.bounds_of(form)
            if form.single is None and lo > -NUMBER_LIMIT and hi < NUMBER_LIMIT:
                _tighten(v, name, (lo, hi))
    for name, node in v.nodes("Prod", "Mul"):
        total: Interval = (1, 1)
        for arg in node.args:
            total = interval.mul(total, v.bounds(arg))
        if max(map(abs, total)) < NUMBER_LIMIT:
            _tighten(v, name, total)


def _tighten(v: Visit, name: int, bounds: Interval) -> None:
    known = v.encoder.bounds.get(name)
    v.encoder.bounded(name, bounds)
    v.counts["bounds-of-sum"] += v.encoder.bounds[name] != known


# division by a constant ------------------------------------------------------------------------------------------
def read_forms(v: Visit) -> None:
    """Classes whose cheapest form is a quotient or a remainder, if it will stay: one of two values becomes linear."""
    for name, node in v.forms.items():
        if node.op in RELATIONS and name in v.fresh and not _of_two_values(v, name, node) and v.first("read-forms", name, node):
            divisor = v.constant(node.args[1])
            if divisor is not None:
                v.state(RELATIONS[node.op], name, node.args[0], divisor)
            else:
                v.state(f"{RELATIONS[node.op]}-of", name, *node.args)


def _of_two_values(v: Visit, name: int, node: ENode) -> bool:
    lo, hi = v.bounds(name)
    terms = v.form(node.args[0]).terms
    if hi == lo or not terms:
        return True
    low, high = v.bounds(terms[0][0])
    return len(terms) == 1 and high - low <= 1


def split_multiple(v: Visit) -> None:
    for name, d in dict.fromkeys((name, d) for _, name, d in v.divisions()):
        forms = v.alternatives(name)
        for form in forms if v.changed("split-multiple", (name, d), forms) else ():
            for rest in _rests(v, form, d):
                quotient = form.plus(rest, -1)
                if (quotient.terms or quotient.constant) and v.first("split-multiple", name, d, form, rest):
                    v.state("as-multiple", name, d, v.sum(quotient.over(d)), v.sum(rest))


def _rests(v: Visit, form: Linear, d: int) -> Iterator[Linear]:
    """What is left of a sum without multiples of d: terms that are multiples gone; and, where all its values share a quotient or it
    is cheaper, every coefficient reduced, to its least or to its absolutely least remainder."""
    plain = Linear(form.constant % d, tuple((a, k) for a, k in form.terms if k % d))
    yield plain
    if all(0 < k < d for _, k in plain.terms) and all(2 * k < d for _, k in plain.terms):
        return
    least = [(a, k % d) for a, k in plain.terms]
    found = [least, [(a, k - d if 2 * k > d else k) for a, k in least], [(a, k - d if 2 * k >= d else k) for a, k in least]]
    for terms in found:
        rest = Linear(plain.constant, tuple(terms))
        lo, hi = v.bounds_of(rest)
        fits = lo // d == hi // d
        cheaper = _weight(terms) < _weight(plain.terms)
        if rest != plain and (fits or cheaper):
            yield rest


def _weight(terms: Iterable[tuple[int, int]]) -> int:
    return sum(k != 1 for _, k in terms)


def split_common(v: Visit) -> None:
    for op, name, d in v.divisions():
        forms = v.alternatives(name)
        for form in forms if v.changed("split-common", (op, name, d), forms) else ():
            for g in dict.fromkeys((gcd(d, *(k for _, k in form.terms)), *(gcd(d, k) for _, k in form.terms))):
                if 1 < g < d and v.first("split-common", name, d, g, form, op):
                    quotient, rest = by_factor(form, g)
                    lo, hi = v.bounds_of(rest)
                    if op == "Floordiv" or lo // g == hi // g:
                        v.state("as-common", name, d, g, v.sum(quotient), v.sum(rest))


def by_factor(form: Linear, g: int) -> tuple[Linear, Linear]:
    """(q, r) with form = g*q + r: terms that g divides, and the others."""
    quotient = Linear(form.constant // g, tuple((a, k // g) for a, k in form.terms if k % g == 0))
    return quotient, Linear(form.constant % g, tuple((a, k) for a, k in form.terms if k % g))


def split_offset(v: Visit) -> None:
    for op, name, d in v.divisions():
        for form in v.alternatives(name):
            if form.constant and form.terms and v.first("split-offset", name, d, form):
                bare = Linear(0, form.terms)
                handle = v.sum(bare)
                v.state("as-offset", name, handle, form.constant)
                if op == "Floordiv":
                    v.state("residue", handle, d, _residue(v, bare, d))


def _residue(v: Visit, form: Linear, d: int) -> int:
    """The largest value of (sum of terms) % d: a multiple of gcd(d, coefficients), or within one bucket its end."""
    g = gcd(d, *(k for _, k in form.terms))
    lo, hi = v.bounds_of(form)
    return min(d - g, hi % d) if lo // d == hi // d else d - g


def split_step(v: Visit) -> None:
    for name in dict.fromkeys((*(name for _, name, _ in v.divisions()), *(name for _, name in v.signs()))):
        for form in v.alternatives(name):
            if len(form.terms) == 1:
                atom, k = form.terms[0]
                lo, hi = v.bounds(atom)
                if hi - lo == 1 and (form.constant or k != 1) and v.first("split-step", name, form):
                    v.state("as-step", name, k, atom, form.constant)


def split_inner(v: Visit) -> None:
    for op, name, d in v.divisions():
        if op != "Mod":
            continue
        for form in v.alternatives(name):
            if any(k % d == 0 for _, k in form.terms):
                continue  # multiples leave first: with them x = d*(x // d) + x % d would grow without end
            for atom, k in form.terms:
                node = v.node_as(atom, "Mod")
                modulus = v.constant(node.args[1]) if node.op == "Mod" else None
                if modulus and modulus % d == 0 and form.single is None and v.first("split-inner", name, form, node):
                    rest = form.without(atom)
                    v.state("as-inner", name, k, node.args[0], modulus, v.sum(rest))


def floor_difference(v: Visit) -> None:
    """k*((x + c) // n) - k*(x // n) = k*((x % n + c) // n); with n = 2 also their sum, for c = 1."""
    for name in v.sums:
        for form in v.alternatives(name):
            quotients = [(a, k, v.node(a)) for a, k in form.terms if v.node(a).op in ("Floordiv", "Mod")]
            atoms = {a: {b for b, _ in v.form(node.args[0]).terms} for a, _, node in quotients}
            for (a, k, first), (b, m, second) in permutations(quotients, 2):
                n = v.constant(first.args[1]) if abs(k) == abs(m) and atoms[a] & atoms[b] else None
                if n is None or n < 2 or n != v.constant(second.args[1]):
                    continue
                offset = v.form(first.args[0]).plus(v.form(second.args[0]), -1)
                joined = _joined(v, first, second, offset, n, k, m)
                if joined is not None and v.first("floor-difference", name, form, a, b, first, second):
                    rest = form.without(a, b)
                    v.encoder.same(name, v.sum(rest.plus(joined, k)))


def _joined(v: Visit, first: ENode, second: ENode, offset: Linear, n: int, k: int, m: int) -> Linear | None:
    """The sum of two quotients or remainders over k, if it is less than they are."""
    c, x, node = offset.constant, second.args[0], v.encoder.node
    shorter = len(offset.terms) < len(v.form(first.args[0]).terms) or not offset.terms
    if first.op == second.op == "Floordiv" and k == -m and (c > 0 or offset.terms) and shorter:
        below = offset.plus(Linear(0, ((v.encoder.bounded(node("Mod", x, first.args[1]), (0, n - 1)), 1),)))
        lo, hi = v.bounds_of(below)
        return Linear(0, ((v.encoder.bounded(node("Floordiv", v.sum(below), first.args[1]), (lo // n, hi // n)), 1),))
    if n == 2 and (first.op, second.op) == ("Floordiv", "Mod") and k == -m and offset == Linear(1):
        lo, hi = v.bounds(x)
        return Linear(0, ((v.encoder.bounded(node("Floordiv", x, first.args[1]), (lo // 2, hi // 2)), 1),))
    if offset.terms or n != 2 or c % 2 != (first.op == second.op):
        return None
    if first.op == second.op and k == m:
        both = v.form(x).plus(Linear(c // 2))
        return both if first.op == "Floordiv" else Linear(1)
    if (first.op, second.op) == ("Floordiv", "Mod") and k == m and c == 0:
        up = v.sum(v.form(x).plus(Linear(1)))
        lo, hi = v.bounds(up)
        return Linear(0, ((v.encoder.bounded(node("Floordiv", up, first.args[1]), (lo // 2, hi // 2)), 1),))
    return None


def digit_of_sum(v: Visit) -> None:
    """(g*x + r) // a % n = (g*(x % (a*n // g)) + r) // a for g that divides a*n and 0 <= r < g."""
    for name, node in v.nodes("Mod"):
        below, n = v.node(node.args[0]), v.constant(node.args[1])
        a = v.constant(below.args[1]) if below.op == "Floordiv" else None
        if a is None or n is None or a < 2 or n < 2:
            continue
        for form in v.alternatives(below.args[0]):
            for g in dict.fromkeys(gcd(a * n, k) for _, k in form.terms):
                quotient, rest = by_factor(form, g)
                lo, hi = v.bounds_of(rest)
                fits = 1 < g < a * n and quotient.terms and lo >= 0 and hi < g
                if fits and v.first("digit-of-sum", name, a, n, g, form):
                    modulus = a * n // g
                    inner = v.encoder.node("Mod", v.sum(quotient), v.encoder.number(modulus))
                    v.encoder.bounded(inner, (0, modulus - 1))
                    whole = v.sum(Linear.of(rest.constant, ((inner, g), *rest.terms)))
                    v.encoder.same(name, v.encoder.node("Floordiv", whole, below.args[1]))


SUMS = Table(
    "sums",
    "index",
    "sums are n-ary: their canonical form, bounds, and the ways to write them that the identities need",
    (
        SumRow(
            "flatten-sum",
            "(p + q) + k*(q + c) = p + (1+k)*q + k*c",
            "associativity, commutativity, like terms and distribution of constants",
            flatten,
        ),
        SumRow(
            "bounds-of-sum",
            "lo and hi of c + k*p + ..  and of p*q",
            "interval arithmetic, what min, max, // and % are; products that share factors in the corners",
            bound,
        ),
        SumRow("distribute", "x*(p + q) = x*p + x*q", "where a sum or a division reads the product", distribute, ("Prod",)),
        SumRow("factor-common", "x*p + x*q = x*(p + q)", "a factor that all terms share", factor_common, PRODUCTS),
        SumRow("factor-some", "x*p + x*q + r = x*(p + q) + r", "a factor that some terms share", factor_some, PRODUCTS),
        SumRow(
            "flatten-product",
            "(x*p)*q = x*(p*q)",
            "associativity, for every way in which a factor is a product",
            flatten_product,
            ("Prod",),
        ),
        SumRow("take-content", "(g*p + g*q) * x = g * ((p + q)*x)", "common factors of a factor's coefficients", take_content, ("Prod",)),
        SumRow(
            "join-digits",
            "x // a % n + n*(x // (a*n) % m) + n*m*y = x // a % (n*m*k)",
            "for y = x // (a*n*m) % k: three digits and more at once, two are joined as pairs",
            join_digits,
            DIVISIONS,
        ),
        SumRow(
            "shifted-remainder",
            "x % n = (x + k*n) % n",
            "where a quotient of that sum by n stands beside the remainder, in the place of its next digit",
            shifted_remainders,
            ("Mod",),
        ),
        SumRow("split-pair", "S = c*(x % n) + c*n*y + r", "pairs that a div/mod identity may join", pairs, DIVISIONS),
        SumRow(
            "floor-difference",
            "(x + c) // n - x // n = (x % n + c) // n",
            "also the sum of two halves",
            floor_difference,
            DIVISIONS,
        ),
        SumRow(
            "digit-of-sum",
            "(g*x + r) // a % n = (g*(x % (a*n // g)) + r) // a",
            "where g divides a*n and 0 <= r < g",
            digit_of_sum,
            ("Mod",),
        ),
        SumRow(
            "symbolic-identity",
            "x % z + z*(x // z) = x",
            "solved for x, the remainder and the multiple",
            symbolic_identity,
            DIVISIONS,
        ),
        SumRow(
            "symbolic-digits",
            "z*(y // z % w) + y % z = y % (z*w)",
            "for z and w above zero, y = x // t where y // z is x // (t*z); without % w the sum is y",
            symbolic_digits,
            ("Mod",),
        ),
        SumRow("read-forms", "C = x // n, C = x % n", "the cheapest form of a class, for quotients of quotients", read_forms, DIVISIONS),
        SumRow(
            "split-multiple",
            "S = d*q + r  under S // d and S % d",
            "multiples of d, and coefficients reduced modulo d",
            split_multiple,
            DIVISIONS,
        ),
        SumRow("split-common", "S = g*q + r  under S // d and S % d", "for every g = gcd(d, coefficient)", split_common, DIVISIONS),
        SumRow("split-offset", "S = x + c", "with the largest remainder that x can have", split_offset, DIVISIONS),
        SumRow("split-step", "S = k*x + c", "for x of two values", split_step, (*DIVISIONS, *SIGNS)),
        SumRow("split-inner", "S = k*(x % m) + r", "each remainder among the terms", split_inner, ("Mod",)),
        SumRow("zero-divided", "0 // z = 0 and 0 % z = 0", "where z is not zero"),
        SumRow(
            "split-symbolic",
            "S = z*q + r  under S // (z*w) and S % (z*w)",
            "for divisors that are products of terms",
            split_symbolic,
            DIVISIONS,
        ),
    ),
)
