"""Sums of products: like terms added up, and common factors of sums taken out."""

from __future__ import annotations

from collections.abc import Mapping

from eqsat.algebra.contraction import folded
from eqsat.algebra.products import (
    MOST_TERMS,
    Addend,
    Number,
    Opener,
    Product,
    TooLong,
    exact,
    function_of,
    is_call,
    multiplied,
    number,
    variables_of,
)
from eqsat.ir.index import Index, Var
from eqsat.ir.ops import RING
from eqsat.ir.tensor import Build, Call, Literal, Read, Scalar, axis, has_fold, reindexed, scalars

# of polynomials: products, and factors of one of them
MOST_PRODUCTS = 64
MOST_POWERS = 32
# a polynomial: its coefficients by the factors of each product, in the order of their texts
Polynomial = dict[tuple[Scalar, ...], Number]


def collected(tensor: Build) -> Build | None:
    """A build without folds as a polynomial with like terms added up; None where that saves no operation."""
    if has_fold(tensor.body):
        return None
    expansion = _Expansion()
    try:
        polynomial = expansion.of(tensor.body, {})
    except TooLong:
        return None
    result = _spelled(polynomial, tensor.dtype)
    if _operations(result) >= expansion.operations:
        return None
    return Build(tensor.shape, result)


class _Expansion:
    """Polynomials of elements, through elementwise tensors; `operations` counts those that were opened."""

    def __init__(self) -> None:
        self._known: dict[tuple[Scalar, tuple[Index, ...]], Polynomial] = {}
        self.operations = 0

    def of(self, term: Scalar, env: Mapping[Var, Index]) -> Polynomial:
        key = (term, tuple(env.values()))
        if key not in self._known:
            self._known[key] = self._of(term, env)
            if len(self._known[key]) > MOST_PRODUCTS:
                raise TooLong
        return self._known[key]

    def _of(self, term: Scalar, env: Mapping[Var, Index]) -> Polynomial:
        if isinstance(term, Literal) and (value := exact(term)) is not None:
            return {(): value}
        if isinstance(term, Call) and term.op in RING:
            self.operations += 1
            parts = [self.of(arg, env) for arg in term.args]
            if term.op == "multiply":
                return _product(*parts)
            return _sum(parts[0], parts[1], 1 if term.op == "add" else -1) if len(parts) == 2 else _sum({}, parts[0], -1)
        inner = function_of(term, env)
        if inner is not None and is_call(inner[0], *RING):
            return self.of(*inner)
        return {(reindexed(term, env),): 1}


def _sum(left: Polynomial, right: Polynomial, factor: Number) -> Polynomial:
    result = dict(left)
    for factors, coefficient in right.items():
        result[factors] = result.get(factors, 0) + factor * coefficient
    return {factors: coefficient for factors, coefficient in result.items() if coefficient}


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    if len(left) * len(right) > MOST_PRODUCTS:
        raise TooLong
    result: Polynomial = {}
    for a, x in left.items():
        for b, y in right.items():
            if len(a) + len(b) > MOST_POWERS:
                raise TooLong
            factors = tuple(sorted((*a, *b), key=str))
            result[factors] = result.get(factors, 0) + x * y
    return {factors: coefficient for factors, coefficient in result.items() if coefficient}


def _spelled(polynomial: Polynomial, dtype: str) -> Scalar:
    result: Scalar | None = None
    for factors, coefficient in sorted(polynomial.items(), key=lambda item: item[1] < 0):
        if result is None:
            result = multiplied(coefficient, factors, dtype)
        else:
            part = multiplied(coefficient if coefficient > 0 else -coefficient, factors, dtype)
            result = Call("add" if coefficient > 0 else "subtract", (result, part), dtype)
    return number(0, dtype) if result is None else result


def _operations(term: Scalar) -> int:
    return sum(isinstance(below, Call) for below in scalars(term))


def with_common_factor(tensor: Build) -> tuple[Build, tuple[Build, ...]] | None:
    """A build that adds up products under sums of which several have a factor in common, over one sum of what is left of them.

    sum k of A[i,k]*B[k,j]  +  sum k of A[i,k]*C[k,j]   =   sum k of A[i,k] * u[k,j]   where u = B + C
    """
    terms = Opener().sum(tensor)
    if not 2 <= len(terms) <= MOST_TERMS:
        return None
    for first in terms:
        product = first.product
        if not product.bound or any(has_fold(factor) for factor in product.factors):
            continue
        for factor in product.factors:
            if set(variables_of(factor)) >= set(product.bound):
                rests = {term: rest for term in terms if (rest := _without(factor, product.bound, term.product)) is not None}
                if len(rests) >= 2:
                    return _factored(tensor, factor, product.bound, rests, [term for term in terms if term not in rests])
    return None


def _factored(
    tensor: Build, factor: Scalar, bound: tuple[Var, ...], rests: Mapping[Addend, Product], others: list[Addend]
) -> tuple[Build, tuple[Build, ...]]:
    loops = variables_of(*(part for rest in rests.values() for part in rest.factors))
    places: dict[Var, Index] = {v: axis(k, v.extent) for k, v in enumerate(loops)}
    parts = [multiplied(rest.coefficient, (reindexed(part, places) for part in rest.factors), tensor.dtype) for rest in rests.values()]
    inner = Build(tuple(v.extent for v in loops), _added([(part, 1) for part in parts], tensor.dtype))
    body = folded("sum", bound, Call("multiply", (factor, Read(inner, loops)), tensor.dtype), {})
    whole = _added([(body, 1), *((term.element, term.sign) for term in others)], tensor.dtype)
    return Build(tensor.shape, whole), (inner,)


def _added(terms: list[tuple[Scalar, int]], dtype: str) -> Scalar:
    """Elements added up, or subtracted; the first is added."""
    result = terms[0][0]
    for term, sign in terms[1:]:
        result = Call("add" if sign > 0 else "subtract", (result, term), dtype)
    return result


def _without(factor: Scalar, bound: tuple[Var, ...], product: Product) -> Product | None:
    """What is left of a product without a factor under these bound variables; None where it does not have that factor."""
    for mine in product.factors:
        names = _renaming(factor, mine, bound, product.bound)
        if names is not None and len(names) == len(product.bound):
            left = list(product.factors)
            left.remove(mine)
            return Product(product.coefficient, bound, tuple(reindexed(part, names) for part in left))
    return None


def _renaming(factor: Scalar, other: Scalar, bound: tuple[Var, ...], others: tuple[Var, ...]) -> dict[Var, Index] | None:
    """What the bound variables of an element are called in an equal one."""
    mine, theirs = variables_of(factor), variables_of(other)
    if len(mine) != len(theirs):
        return None
    names: dict[Var, Index] = {}
    for a, b in zip(mine, theirs, strict=True):
        if (a in bound) != (b in others) or (a not in bound and a is not b) or a.extent != b.extent:
            return None
        if a in bound:
            names[b] = a
    return names if reindexed(other, names) is factor else None
