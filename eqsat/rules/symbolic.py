"""Sum rows for divisors that are terms: the ways to write a dividend, and the identity of quotient and remainder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations
from math import gcd
from typing import NamedTuple

from eqsat.egraph.linear import Linear
from eqsat.rules.digits import divisions_in
from eqsat.rules.products import divided_by, product_of, split_by
from eqsat.rules.visit import Visit


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
            if (whole.constant and whole.terms) or len(whole.terms) > 1:
                _split_by_sum(v, name, divisor, form, whole)


def _split_by_sum(v: Visit, name: int, divisor: int, form: Linear, whole: Linear) -> None:
    """A dividend as k times the sum that divides it, or k times that sum without its common factor, and what is left."""
    g = whole.content
    bare = whole.over(g)
    k = bare.times_in(form)
    if not k or not v.first("split-symbolic", name, divisor, form, whole):
        return
    rest = form.plus(bare, -k)
    if k % g == 0:
        v.state("as-multiple-of", name, divisor, v.encoder.number(k // g), v.sum(rest))
    else:
        taken = v.sum(bare)
        v.difference(taken, v.sum(rest))
        v.state("as-common-of", name, divisor, taken, v.encoder.number(k), v.encoder.number(g), v.sum(rest))


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
                z, w = product_of(v, taken).times(g), divided_by(v, atom, taken).times(k // g)
                if z != Linear(1) and w != Linear(1):
                    v.state("as-product", divisor, v.sum(z), v.sum(w))


def _divided_by_terms(v: Visit) -> bool:
    """Whether any divisor is no constant."""
    return any(v.constant(node.args[1]) is None for op in ("Floordiv", "Mod") for _, node in v.by_op.get(op, ()))


def symbolic_identity(v: Visit) -> None:
    """x % z + z*(x // z) = x, and x - z*(x // z) = x % z, for divisors that are terms."""
    if not _divided_by_terms(v):
        return
    for name in v.sums:
        for form in v.alternatives(name):
            for term in form.terms if len(form.terms) > 1 else ():
                for quotient, extra, c in _symbolic_quotients(v, *term):
                    below, divisor = v.node(quotient).args
                    mod = v.encoder.node("Mod", below, divisor)
                    rest = form.without(term[0])
                    remainder, whole = _times(v, mod, extra).times(c), _spread(v, v.form(below), extra).times(c)
                    if remainder.terms[0] in rest.terms and v.first("symbolic-identity", name, form, term, below, divisor):
                        v.encoder.same(name, v.sum(rest.plus(remainder, -1).plus(whole)))
                    left = rest.plus(whole)
                    if len(left.terms) < len(rest.terms) and v.first("symbolic-identity", name, form, term, below, divisor, "mod"):
                        v.encoder.same(name, v.sum(left.plus(remainder, -1)))
                node, k = v.node(term[0]), term[1]
                if node.op != "Mod" or v.constant(node.args[1]) is not None:
                    continue
                left = form.without(term[0]).plus(v.form(node.args[0]), k)
                if len(left.terms) < len(form.terms) - 1 and v.first("symbolic-identity", name, form, term, node, "div"):
                    multiple = product_of(v, (node.args[1], v.encoder.node("Floordiv", *node.args)))
                    v.encoder.same(name, v.sum(left.plus(multiple, -k)))


class Digit(NamedTuple):
    """A term of a sum that is a digit, coefficient * (x // low % size), or coefficient * (x // low) where the size is None."""

    atom: int
    coefficient: Linear
    x: int
    low: Linear
    divided: int
    size: int | None


def symbolic_digits(v: Visit) -> None:
    """z*(y // z % w) + y % z = y % (z*w), and z*(y // z) + y % z = y, for y = x // t, where a term is among t, z and w."""
    if not _divided_by_terms(v):
        return
    for name in v.sums:
        for form in v.alternatives(name):
            found = [digit for term in form.terms for digit in _digits(v, *term)] if len(form.terms) > 1 else []
            for low, high in permutations(found, 2):
                joined = _joined(v, low, high) if low.x == high.x and low.atom != high.atom else None
                if joined is not None and v.first("symbolic-digits", name, form, low, high):
                    v.encoder.same(name, v.sum(form.without(low.atom, high.atom).plus(joined)))


def _digits(v: Visit, atom: int, k: int) -> Iterator[Digit]:
    """The ways to read a term as a digit."""
    for factor in dict.fromkeys(v.encoder.factors.get(atom, (atom,))):
        coefficient = divided_by(v, atom, (factor,)).times(k)
        for x, divisor in divisions_in(v, factor, "Floordiv"):
            yield Digit(atom, coefficient, x, _monomial(v, divisor), factor, None)
        for divided, size in divisions_in(v, factor, "Mod"):
            yield Digit(atom, coefficient, divided, Linear(1), divided, size)
            for x, divisor in divisions_in(v, divided, "Floordiv"):
                yield Digit(atom, coefficient, x, _monomial(v, divisor), divided, size)


def _joined(v: Visit, low: Digit, high: Digit) -> Linear | None:
    """Two digits of one term as one, if the upper one begins where the lower one ends; digits among constants have rows of their own."""
    sizes = [size for size in (low.size, high.size) if size is not None]
    if (
        low.size is None
        or any(v.bounds(size)[0] <= 0 for size in sizes)
        or not (low.low.terms or any(v.form(size).terms for size in sizes))
    ):
        return None
    size = _monomial(v, low.size)
    if high.low != _product(v, low.low, size) or high.coefficient != _product(v, low.coefficient, size):
        return None
    if high.size is not None:
        size = _product(v, size, _monomial(v, high.size))
    digit = low.divided if high.size is None else v.encoder.node("Mod", low.divided, v.sum(size))
    return v.form(digit).times(low.coefficient.constant) if not low.coefficient.terms else _product(v, low.coefficient, _atom(digit))


def _monomial(v: Visit, name: int) -> Linear:
    """A class as a constant or a multiple of a product; a sum of several terms is a factor by itself."""
    form = v.form(name)
    return form if not form.terms or (len(form.terms) == 1 and not form.constant) else _atom(name)


def _product(v: Visit, one: Linear, other: Linear) -> Linear:
    """The product of two constants or multiples of products."""
    (first, k), (second, c) = (form.terms[0] if form.terms else (None, form.constant) for form in (one, other))
    return product_of(v, [atom for atom in (first, second) if atom is not None]).times(k * c)


def _atom(name: int) -> Linear:
    return Linear(0, ((name, 1),))


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
    return product_of(v, (atom, *extra))


def _spread(v: Visit, form: Linear, extra: tuple[int, ...]) -> Linear:
    """form * extra, term by term."""
    if not extra:
        return form
    total = product_of(v, extra).times(form.constant)
    for atom, k in form.terms:
        total = total.plus(_times(v, atom, extra), k)
    return total


def _symbolic_factors(v: Visit, whole: Linear, form: Linear) -> dict[tuple[int, tuple[int, ...]], None]:
    """(coefficient, atoms) of monomials that may be taken out of a divisor: all of it, and what it shares with terms."""
    if len(whole.terms) != 1 or whole.constant:
        found: dict[tuple[int, tuple[int, ...]], None] = {(1, (v.sum(whole),)): None}
        if whole.terms:
            first, *others = (v.encoder.factors.get(atom, (atom,)) for atom, _ in whole.terms)
            found[whole.content, _shared(first, others) if not whole.constant else ()] = None
        found.pop((1, ()), None)
        return found
    atom, k = whole.terms[0]
    factors = v.encoder.factors.get(atom, (atom,))
    found = {(k, factors): None}
    terms = [(t, list(v.encoder.factors.get(t, (t,)))) for t, _ in form.terms]
    shared = _shared(factors, [parts for _, parts in terms])
    g = gcd(k, form.constant, *(c for _, c in form.terms))
    found[g, shared if not form.constant else ()] = None
    for coefficient in (k, g, 1):
        for (_, parts), (_, c) in zip(terms, form.terms, strict=True):
            common = tuple(f for f in dict.fromkeys(factors) if f in parts)
            found[gcd(coefficient, c), common] = None
    found.pop((1, ()), None)
    return found


def _shared(factors: Iterable[int], others: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The factors that all others have too."""
    return tuple(f for f in dict.fromkeys(factors) if all(f in parts for parts in others))


def _state_symbolic(v: Visit, name: int, divisor: int, form: Linear, whole: Linear, common: tuple[int, tuple[int, ...]]) -> None:
    g, atoms = common
    quotient, rest = split_by(v, form, atoms, g)
    if not quotient.terms and not quotient.constant:
        return
    taken = v.sum(product_of(v, atoms).times(g))
    q, r = v.sum(quotient), v.sum(rest)
    if taken == divisor or Linear(0, ((taken, 1),)) == whole:
        v.state("as-multiple-of", name, divisor, q, r)
    else:
        left = Linear(whole.constant // g)
        for atom, k in whole.terms:
            left = left.plus(divided_by(v, atom, atoms), k // g)
        v.difference(taken, r)
        v.state("as-common-of", name, divisor, taken, q, v.sum(left), r)
