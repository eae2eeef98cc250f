"""Sums of index terms as a constant and monomials: products of a constant and factors that are no sums, products or constants."""

from __future__ import annotations

from typing import TypeVar

from eqsat.ir.index import Apply, Const, Index, apply

T = TypeVar("T")
Monomial = tuple[int, tuple[Index, ...]]


def divided(constant: int, parts: list[Monomial], by: Monomial) -> tuple[Index | None, Index]:
    """(q, r) with sum = by*q + r: terms that are multiples, and the others; no q if there are none."""
    g, factors = by
    if g == 0:
        return None, term_of(constant, parts)
    quotient: list[Monomial] = []
    rest: list[Monomial] = []
    for k, monomial in parts:
        left = without(monomial, factors) if k % g == 0 else None
        if left is None:
            rest.append((k, monomial))
        else:
            quotient.append((k // g, left))
    whole = constant // g if not factors else 0
    if not quotient and not whole:
        return None, term_of(constant, parts)
    return term_of(whole, quotient), term_of(constant - whole * g, rest)


def without(factors: tuple[T, ...], taken: tuple[T, ...]) -> tuple[T, ...] | None:
    """Factors less some of them; None if they do not hold them."""
    left = list(factors)
    for factor in taken:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left)


def sum_of(term: Index) -> tuple[int, list[Monomial]]:
    """Constant and monomials of a sum."""
    constant = 0
    terms: dict[tuple[Index, ...], int] = {}
    stack: list[tuple[Index, int]] = [(term, 1)]
    while stack:
        here, k = stack.pop()
        if isinstance(here, Const):
            constant += k * int(here.value)
        elif isinstance(here, Apply) and here.op in ("add", "sub", "neg"):
            signs = {"add": (1, 1), "sub": (1, -1), "neg": (-1,)}[here.op]
            stack += [(arg, k * sign) for arg, sign in zip(here.args, signs, strict=True)]
        elif isinstance(here, Apply) and here.op == "mul" and any(isinstance(arg, Const) for arg in here.args):
            factor, other = here.args if isinstance(here.args[0], Const) else here.args[::-1]
            assert isinstance(factor, Const)
            stack.append((other, k * int(factor.value)))
        else:
            size, factors = monomial_of(here)
            terms[factors] = terms.get(factors, 0) + k * size
    return constant, [(k, factors) for factors, k in terms.items() if k]


def monomial_of(term: Index) -> Monomial:
    """A product as its constant and its factors."""
    if isinstance(term, Const):
        return int(term.value), ()
    if isinstance(term, Apply) and term.op == "mul":
        (k, left), (m, right) = map(monomial_of, term.args)
        return k * m, tuple(sorted((*left, *right), key=str))
    return 1, (term,)


def product_of(monomial: Monomial) -> Index:
    """The term of a monomial: its factors multiplied, the coefficient last and left out where it is one."""
    coefficient, factors = monomial
    result: Index | None = None
    for factor in factors:
        result = factor if result is None else apply("mul", result, factor)
    if result is None:
        return Const(coefficient)
    return result if coefficient == 1 else apply("mul", result, coefficient)


def term_of(constant: int, parts: list[Monomial]) -> Index:
    """The sum of monomials and a constant as a term, positive parts first, negative ones subtracted."""
    if not parts:
        return Const(constant)
    (first, factors), *rest = sorted(parts, key=lambda part: part[0] < 0)
    result = product_of((abs(first), factors))
    if first < 0:
        result = apply("neg", result)
    for k, factors in rest:
        result = apply("add" if k > 0 else "sub", result, product_of((abs(k), factors)))
    return result if not constant else apply("add" if constant > 0 else "sub", result, abs(constant))
