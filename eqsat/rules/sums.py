"""Sum rows: the canonical form and bounds of n-ary nodes, and the ways to write a sum that division and remainder need.

Views state nothing but a way to write a sum:
    as-multiple S d q r      S = d*q + r
    as-common S d g q r      S = g*q + r, g divides d
    as-offset S x c          S = x + c
    as-step S k x c          S = k*x + c, x one atom
    as-inner S k x m r       S = k*(x % m) + r, for the cheapest form x % m of a term
    as-pair S a x b y r      S = a*x + b*y + r
    as-multiple-of S z q r   S = z*q + r
    as-common-of S d z q w r S = z*q + r, d = z*w
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations, permutations
from math import gcd

from eqsat.egraph.encode import LIMIT
from eqsat.egraph.forms import SIGNS
from eqsat.egraph.linear import Linear
from eqsat.egraph.snapshot import ENode
from eqsat.ir import interval
from eqsat.ir.interval import Interval
from eqsat.rules.row import DIVISIONS, PRODUCTS, SumRow, Table
from eqsat.rules.visit import Visit

LEAVES = ("Num", "Var", "Axis", "RAxis", "Given")
MAX_DISTRIBUTED = 4
MAX_FACTORS = 8
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
            if form.single is None and lo > -LIMIT and hi < LIMIT:
                _tighten(v, name, (lo, hi))
    for name, node in v.nodes("Prod", "Mul"):
        total: Interval = (1, 1)
        for arg in node.args:
            total = interval.mul(total, v.bounds(arg))
        if max(map(abs, total)) < LIMIT:
            _tighten(v, name, total)


def _tighten(v: Visit, name: int, bounds: Interval) -> None:
    known = v.encoder.bounds.get(name)
    v.encoder.bounded(name, bounds)
    v.counts["bounds-of-sum"] += v.encoder.bounds[name] != known


def distribute(v: Visit) -> None:
    """x*(p + q) = x*p + x*q, where the product stands in a sum or is divided."""
    read = {atom for _, node in v.by_op.get("Sum", ()) for atom, _ in node.args[1:]}
    read |= {node.args[0] for op in ("Floordiv", "Mod", *SIGNS) for _, node in v.by_op.get(op, ())}
    for name, node in v.by_op.get("Prod", ()):
        forms = [v.form(arg) for arg in node.args]
        wide = [k for k, form in enumerate(forms) if len(form.terms) + (form.constant != 0) > 1]
        if name in read and len(wide) == 1 and len(forms[wide[0]].terms) <= MAX_DISTRIBUTED:
            others = tuple(arg for k, arg in enumerate(node.args) if k != wide[0])
            if v.first("distribute", name, node):
                form = forms[wide[0]]
                total = _product(v, others).times(form.constant)
                for atom, k in form.terms:
                    total = total.plus(_product(v, (*others, atom)), k)
                v.encoder.same(name, v.sum(total))


def _product(v: Visit, atoms: Iterable[int]) -> Linear:
    flat = tuple(sorted(f for atom in atoms for f in v.encoder.factors.get(atom, (atom,))))
    return Linear(0, ((flat[0] if len(flat) == 1 else v.encoder.product(flat), 1),)) if flat else Linear(1)


def factor_common(v: Visit) -> None:
    """x*p + x*q = x*(p + q)."""
    for name in v.sums:
        for form in v.alternatives(name):
            shared = _shared_factors(v, form)
            if shared and len(form.terms) > 1 and not form.constant and v.first("factor-common", name, form):
                rest = Linear(0)
                for atom, k in form.terms:
                    rest = rest.plus(_divided(v, atom, shared), k)
                v.encoder.same(name, v.encoder.product((*shared, v.sum(rest))))


def factor_some(v: Visit) -> None:
    """x*p + x*q + r = x*(p + q) + r, for factors x that some terms share."""
    for name in v.sums:
        for form in v.alternatives(name):
            groups = {atom: v.encoder.factors.get(atom, (atom,)) for atom, _ in form.terms}
            counts = Counter(factor for group in groups.values() for factor in dict.fromkeys(group))
            for factor, count in counts.items():
                if count > 1 and (count < len(groups) or form.constant) and v.first("factor-some", name, form, factor):
                    inner, rest = Linear(0), Linear(form.constant)
                    for atom, k in form.terms:
                        if factor in groups[atom]:
                            inner = inner.plus(_divided(v, atom, (factor,)), k)
                        else:
                            rest = rest.plus(Linear(0, ((atom, k),)))
                    product = v.encoder.product((factor, v.sum(inner)))
                    v.encoder.same(name, v.sum(rest.plus(Linear(0, ((product, 1),)))))


def _shared_factors(v: Visit, form: Linear) -> tuple[int, ...]:
    """Atoms that are factors of every term."""
    groups = [list(v.encoder.factors.get(atom, (atom,))) for atom, _ in form.terms]
    shared: list[int] = []
    for factor in groups[0] if groups else ():
        if all(factor in group for group in groups):
            shared.append(factor)
            for group in groups[1:]:
                group.remove(factor)
    return tuple(shared)


def _divided(v: Visit, atom: int, factors: tuple[int, ...]) -> Linear:
    """The product `atom` without these factors of it."""
    left = list(v.encoder.factors.get(atom, (atom,)))
    for factor in factors:
        left.remove(factor)
    return _product(v, left)


def flatten_product(v: Visit) -> None:
    """(x*p) * q = x * (p*q), for every way in which a factor is a product."""
    for name, node in v.nodes("Prod"):
        for k, arg in enumerate(node.args):
            for inner in v.classes.get(arg, ()):
                if inner.op == "Prod" and arg not in inner.args and len(node.args) + len(inner.args) <= MAX_FACTORS:
                    factors = tuple(sorted((*node.args[:k], *node.args[k + 1 :], *inner.args)))
                    if v.first("flatten-product", name, factors):
                        v.encoder.same(name, v.encoder.product(factors))


def take_content(v: Visit) -> None:
    """(g*p + g*q) * x = g * ((p + q)*x)."""
    for name, node in v.nodes("Prod"):
        for k, arg in enumerate(node.args):
            form = v.form(arg)
            g = gcd(form.constant, *(c for _, c in form.terms))
            if g > 1 and len(form.terms) + (form.constant != 0) > 1 and v.first("take-content", name, node, arg, form):
                exact = Linear(form.constant // g, tuple((a, c // g) for a, c in form.terms))
                rest = v.encoder.product((*node.args[:k], *node.args[k + 1 :], v.sum(exact)))
                v.encoder.same(name, v.sum(Linear(0, ((rest, g),))))


# pairs -----------------------------------------------------------------------------------------------------------
def pairs(v: Visit) -> None:
    """Pairs that stand apart are joined side by side, each in what the ones before it leave; others each in the whole sum."""
    for name in v.sums:
        for form in v.alternatives(name):
            here, left = name, form
            for x, a, y, b in _pairs(v, form):
                taken = v.form(x).times(a).plus(Linear(0, ((y, b),)))
                apart = left.plus(taken, -1)
                if len(apart.terms) != len(left.terms) - len(taken.terms):
                    apart, at = form.plus(taken, -1), name
                else:
                    at, left = here, apart
                rest = v.sum(apart)
                if v.first("split-pair", at, x, a, y, b, rest):
                    v.state("as-pair", at, a, x, b, y, rest)
                    if at != name:  # the pairs before it need not be joined
                        v.encoder.same(name, v.encoder.sum(form.plus(left, -1).plus(taken, -1).plus(Linear(0, ((here, 1),)))))
                here = rest if left is apart else here


def _pairs(v: Visit, form: Linear) -> Iterator[tuple[int, int, int, int]]:
    """(x, a, y, b) for terms a*x + b*y of a sum: a remainder with a multiple of it, c*(x % n) + c*n*y; and a term with its quotient
    or remainder, c*x - c*n*(x // n) and c*x - c*(x % n), where taking them out leaves no more terms than there were."""
    for atom, k in form.terms if len(form.terms) > 1 else ():
        for n in moduli(v, atom):
            yield from ((atom, k, other, m) for other, m in form.terms if m == k * n and other != atom and _is_digit(v, other))
    for atom, m in form.terms if len(form.terms) > 1 else ():
        node = v.node(atom)
        divisor = v.constant(node.args[1]) if node.op in ("Floordiv", "Mod") else None
        if divisor is not None and divisor > 1 and (node.op == "Mod" or m % divisor == 0):
            c = -m // (divisor if node.op == "Floordiv" else 1)
            rest = form.plus(Linear(0, ((atom, 1),)), -m).plus(v.form(node.args[0]), -c)
            if len(rest.terms) < len(form.terms):
                yield node.args[0], c, atom, m


def _is_digit(v: Visit, name: int) -> bool:
    """Whether a class holds a quotient or a remainder."""
    return any(node.op in RELATIONS for node in v.classes.get(name, ()))


def moduli(v: Visit, name: int) -> list[int]:
    """The constants n for which the class holds a remainder x % n; none for a leaf, which is its own remainder.

    A product that this visit made is not in the e-graph yet, and holds none.
    """
    if name not in v.forms or v.node(name).op in LEAVES:
        return []
    divisors = (v.constant(node.args[1]) for node in v.classes.get(name, ()) if node.op == "Mod")
    return list(dict.fromkeys(d for d in divisors if d is not None))


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
    for op, name, d in v.divisions():
        forms = v.alternatives(name)
        for form in forms if v.changed("split-multiple", (op, name, d), forms) else ():
            for rest in _rests(v, op, form, d):
                quotient = form.plus(rest, -1)
                if (quotient.terms or quotient.constant) and v.first("split-multiple", name, d, form, rest):
                    exact = Linear(quotient.constant // d, tuple((a, k // d) for a, k in quotient.terms))
                    v.state("as-multiple", name, d, v.sum(exact), v.sum(rest))


def _rests(v: Visit, op: str, form: Linear, d: int) -> Iterator[Linear]:
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
                    rest = Linear(form.constant, tuple(t for t in form.terms if t[0] != atom))
                    v.state("as-inner", name, k, node.args[0], modulus, v.sum(rest))


def floor_difference(v: Visit) -> None:
    """k*((x + c) // n) - k*(x // n) = k*((x % n + c) // n); with n = 2 also their sum, for c = 1."""
    for name in v.sums:
        for form in v.alternatives(name):
            quotients = [(a, k, v.node(a)) for a, k in form.terms if v.node(a).op in ("Floordiv", "Mod")]
            for (a, k, first), (b, m, second) in permutations(quotients, 2):
                n = v.constant(first.args[1])
                if n is None or n < 2 or n != v.constant(second.args[1]):
                    continue
                offset = v.form(first.args[0]).plus(v.form(second.args[0]), -1)
                joined = _joined(v, first, second, offset, n, k, m)
                if joined is not None and v.first("floor-difference", name, form, a, b, first, second):
                    rest = Linear(form.constant, tuple(t for t in form.terms if t[0] not in (a, b)))
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
                fits = 1 < g < a * n and len(quotient.terms) == 1 and lo >= 0 and hi < g
                if fits and v.first("digit-of-sum", name, a, n, g, form):
                    modulus = a * n // g
                    inner = v.encoder.node("Mod", v.sum(quotient), v.encoder.number(modulus))
                    v.encoder.bounded(inner, (0, modulus - 1))
                    whole = v.sum(Linear.of(rest.constant, ((inner, g), *rest.terms)))
                    v.encoder.same(name, v.encoder.node("Floordiv", whole, below.args[1]))


# division by a term ----------------------------------------------------------------------------------------------
def split_symbolic(v: Visit) -> None:
    for here, node in v.nodes("Floordiv", "Mod"):
        name, divisor = node.args
        if v.constant(divisor) is not None:
            continue
        whole = v.form(divisor)
        if v.constant(name) == 0 and v.bounds(divisor) != (0, 0):
            if v.first("zero-divided", here):
                v.encoder.same(here, name)
            continue
        if v.first("split-symbolic", name, divisor):
            v.difference(divisor, name)
            _state_products(v, divisor, whole)
        for form in v.alternatives(name):
            for common in _symbolic_factors(v, whole, form):
                if v.first("split-symbolic", name, divisor, form, common):
                    _state_symbolic(v, name, divisor, form, whole, common)


def _state_products(v: Visit, divisor: int, whole: Linear) -> None:
    """Every way to write a divisor as a product of two."""
    if len(whole.terms) != 1 or whole.constant:
        return
    atom, k = whole.terms[0]
    factors = v.encoder.factors.get(atom, (atom,))
    if len(factors) == 1 and k == 1:
        return
    for size in range(len(factors) + 1):
        for taken in dict.fromkeys(combinations(factors, size)):
            for g in dict.fromkeys((1, k)):
                z, w = _product(v, taken).times(g), _divided(v, atom, taken).times(k // g)
                if z != Linear(1) and w != Linear(1):
                    v.state("as-product", divisor, v.sum(z), v.sum(w))


def symbolic_identity(v: Visit) -> None:
    """x % z + z*(x // z) = x, and x - z*(x // z) = x % z, for divisors that are terms."""
    divisions = (node for op in ("Floordiv", "Mod") for _, node in v.by_op.get(op, ()))
    if all(v.constant(node.args[1]) is not None for node in divisions):
        return
    for name in v.sums:
        for form in v.alternatives(name):
            for term in form.terms if len(form.terms) > 1 else ():
                for quotient, extra, c in _symbolic_quotients(v, *term):
                    below, divisor = v.node(quotient).args
                    mod = v.encoder.node("Mod", below, divisor)
                    rest = Linear(form.constant, tuple(t for t in form.terms if t is not term))
                    remainder, whole = _times(v, mod, extra).times(c), _spread(v, v.form(below), extra).times(c)
                    if remainder.terms[0] in rest.terms and v.first("symbolic-identity", name, form, term, below, divisor):
                        v.encoder.same(name, v.sum(rest.plus(remainder, -1).plus(whole)))
                    left = rest.plus(whole)
                    if len(left.terms) < len(rest.terms) and v.first("symbolic-identity", name, form, term, below, divisor, "mod"):
                        v.encoder.same(name, v.sum(left.plus(remainder, -1)))
                node, k = v.node(term[0]), term[1]
                if node.op != "Mod" or v.constant(node.args[1]) is not None:
                    continue
                left = Linear(form.constant, tuple(t for t in form.terms if t is not term)).plus(v.form(node.args[0]), k)
                if len(left.terms) < len(form.terms) - 1 and v.first("symbolic-identity", name, form, term, node, "div"):
                    multiple = _product(v, (node.args[1], v.encoder.node("Floordiv", *node.args)))
                    v.encoder.same(name, v.sum(left.plus(multiple, -k)))


def _symbolic_quotients(v: Visit, atom: int, k: int) -> Iterator[tuple[int, tuple[int, ...], int]]:
    """(x // z, extra, c) for the ways to read a term as c * z*(x // z) * extra."""
    factors = v.encoder.factors.get(atom, (atom,))
    for quotient in dict.fromkeys(factors):
        node = v.node(quotient)
        if node.op != "Floordiv" or v.constant(node.args[1]) is not None:
            continue
        whole = v.form(node.args[1])
        single = len(whole.terms) == 1 and not whole.constant
        atoms = v.encoder.factors.get(whole.terms[0][0], (whole.terms[0][0],)) if single else (node.args[1],)
        size = whole.terms[0][1] if single else 1
        left = list(factors)
        left.remove(quotient)
        if k % size == 0 and all(left.count(f) >= atoms.count(f) for f in atoms):
            for f in atoms:
                left.remove(f)
            yield quotient, tuple(left), k // size


def _times(v: Visit, atom: int, extra: tuple[int, ...]) -> Linear:
    return _product(v, (atom, *extra))


def _spread(v: Visit, form: Linear, extra: tuple[int, ...]) -> Linear:
    """form * extra, term by term."""
    if not extra:
        return form
    total = _product(v, extra).times(form.constant)
    for atom, k in form.terms:
        total = total.plus(_times(v, atom, extra), k)
    return total


def _symbolic_factors(v: Visit, whole: Linear, form: Linear) -> dict[tuple[int, tuple[int, ...]], None]:
    """(coefficient, atoms) of monomials that may be taken out of a divisor: all of it, and what it shares with terms."""
    if len(whole.terms) != 1 or whole.constant:
        atoms = (v.sum(whole),)
        return {(1, atoms): None}
    atom, k = whole.terms[0]
    factors = v.encoder.factors.get(atom, (atom,))
    found = {(k, factors): None}
    terms = [(t, list(v.encoder.factors.get(t, (t,)))) for t, _ in form.terms]
    shared = tuple(f for f in dict.fromkeys(factors) if all(f in parts for _, parts in terms))
    g = gcd(k, form.constant, *(c for _, c in form.terms))
    found[g, shared if not form.constant else ()] = None
    for coefficient in (k, g, 1):
        for (_, parts), (_, c) in zip(terms, form.terms, strict=True):
            common = tuple(f for f in dict.fromkeys(factors) if f in parts)
            found[gcd(coefficient, c), common] = None
    found.pop((1, ()), None)
    return found


def _state_symbolic(v: Visit, name: int, divisor: int, form: Linear, whole: Linear, common: tuple[int, tuple[int, ...]]) -> None:
    g, atoms = common
    quotient, rest = Linear(0), Linear(form.constant)
    if not atoms:
        quotient, rest = Linear(form.constant // g), Linear(form.constant % g)
    for atom, k in form.terms:
        parts = v.encoder.factors.get(atom, (atom,))
        if k % g == 0 and all(parts.count(f) >= atoms.count(f) for f in atoms):
            quotient = quotient.plus(_divided(v, atom, atoms), k // g)
        else:
            rest = rest.plus(Linear(0, ((atom, k),)))
    if not quotient.terms and not quotient.constant:
        return
    taken = v.sum(_product(v, atoms).times(g))
    q, r = v.sum(quotient), v.sum(rest)
    if taken == divisor or Linear(0, ((taken, 1),)) == whole:
        v.state("as-multiple-of", name, divisor, q, r)
    elif len(whole.terms) == 1:
        left = _divided(v, whole.terms[0][0], atoms).times(whole.terms[0][1] // g)
        v.difference(taken, r)
        v.state("as-common-of", name, divisor, taken, q, v.sum(left), r)


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
        SumRow("bounds-of-sum", "lo and hi of c + k*p + ..  and of p*q", "interval arithmetic, and what min, max, // and % are", bound),
        SumRow("distribute", "x*(p + q) = x*p + x*q", "where a sum or a division reads the product", distribute),
        SumRow("factor-common", "x*p + x*q = x*(p + q)", "a factor that all terms share", factor_common, PRODUCTS),
        SumRow("factor-some", "x*p + x*q + r = x*(p + q) + r", "a factor that some terms share", factor_some, PRODUCTS),
        SumRow("flatten-product", "(x*p)*q = x*(p*q)", "associativity, for every way in which a factor is a product", flatten_product),
        SumRow("take-content", "(g*p + g*q) * x = g * ((p + q)*x)", "common factors of a factor's coefficients", take_content),
        SumRow(
            "floor-difference",
            "(x + c) // n - x // n = (x % n + c) // n",
            "also the sum of two halves",
            floor_difference,
            ("Floordiv", "Mod"),
        ),
        SumRow("digit-of-sum", "(g*x + r) // a % n = (g*(x % (a*n // g)) + r) // a", "where g divides a*n and 0 <= r < g", digit_of_sum),
        SumRow(
            "symbolic-identity",
            "x % z + z*(x // z) = x",
            "solved for x, the remainder and the multiple",
            symbolic_identity,
            ("Floordiv", "Mod"),
        ),
        SumRow("read-forms", "C = x // n, C = x % n", "the cheapest form of a class, for quotients of quotients", read_forms),
        SumRow(
            "split-multiple", "S = d*q + r  under S // d and S % d", "multiples of d, and coefficients reduced modulo d", split_multiple
        ),
        SumRow("split-common", "S = g*q + r  under S // d and S % d", "for every g = gcd(d, coefficient)", split_common),
        SumRow("split-offset", "S = x + c", "with the largest remainder that x can have", split_offset),
        SumRow("split-step", "S = k*x + c", "for x of two values", split_step),
        SumRow("split-inner", "S = k*(x % m) + r", "each remainder among the terms", split_inner),
        SumRow("split-pair", "S = c*(x % n) + c*n*y + r", "pairs that a div/mod identity may join", pairs, DIVISIONS),
        SumRow("zero-divided", "0 // z = 0 and 0 % z = 0", "where z is not zero"),
        SumRow("split-symbolic", "S = z*q + r  under S // (z*w) and S % (z*w)", "for divisors that are products of terms", split_symbolic),
    ),
)
