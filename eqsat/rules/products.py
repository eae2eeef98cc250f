"""Sum rows for products: distribution, common factors, associativity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import gcd

from eqsat.egraph.forms import SIGNS
from eqsat.egraph.linear import Linear
from eqsat.rules.visit import Visit

MAX_DISTRIBUTED = 4
MAX_FACTORS = 8


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
                total = product_of(v, others).times(form.constant)
                for atom, k in form.terms:
                    total = total.plus(product_of(v, (*others, atom)), k)
                v.encoder.same(name, v.sum(total))


def product_of(v: Visit, atoms: Iterable[int]) -> Linear:
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
                    rest = rest.plus(divided_by(v, atom, shared), k)
                v.encoder.same(name, v.encoder.product((*shared, v.sum(rest))))


def factor_some(v: Visit) -> None:
    """x*p + x*q + r = x*(p + q) + r, for factors x that some terms share."""
    for name in v.sums:
        for form in v.alternatives(name):
            groups = {atom: v.encoder.factors.get(atom, (atom,)) for atom, _ in form.terms}
            counts = Counter(factor for group in groups.values() for factor in dict.fromkeys(group))
            for factor, count in counts.items():
                if count > 1 and (count < len(groups) or form.constant) and v.first("factor-some", name, form, factor):
                    inner, rest = split_by(v, form, (factor,))
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


def divided_by(v: Visit, atom: int, factors: tuple[int, ...]) -> Linear:
    """The product `atom` without these factors of it."""
    left = list(v.encoder.factors.get(atom, (atom,)))
    for factor in factors:
        left.remove(factor)
    return product_of(v, left)


def split_by(v: Visit, form: Linear, atoms: tuple[int, ...], g: int = 1) -> tuple[Linear, Linear]:
    """(q, r) with form = g * product of atoms * q + r: the terms that have these factors, with a number that g divides, and the others."""
    quotient, rest = (Linear(0), Linear(form.constant)) if atoms else (Linear(form.constant // g), Linear(form.constant % g))
    for atom, k in form.terms:
        parts = v.encoder.factors.get(atom, (atom,))
        if k % g == 0 and all(parts.count(f) >= atoms.count(f) for f in atoms):
            quotient = quotient.plus(divided_by(v, atom, atoms), k // g)
        else:
            rest = rest.plus(Linear(0, ((atom, k),)))
    return quotient, rest


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
                rest = v.encoder.product((*node.args[:k], *node.args[k + 1 :], v.sum(form.over(g))))
                v.encoder.same(name, v.sum(Linear(0, ((rest, g),))))
