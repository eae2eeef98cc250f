"""Sums of products under sums, taken apart: each product is computed by itself, in its cheapest order.

    sum i. (sum k. A[i,k]*B[k,j]) + c[j]   =   (sum k. u[k]*B[k,j]) + n*c[j]   where u[k] = sum i. A[i,k]
    sum k. (I[i,k] - v[i]*w[k])*A[k,j]     =   A[i,j] - v[i]*u[j]              where u[j] = sum k. w[k]*A[k,j]

One factor of a product may be a sum.  Where two are, as in squares of differences, or where it is the difference of two given elements,
what is written is what people mean: the products would be far larger than their sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from eqsat.algebra.contraction import CONTRACTION_GAIN, Plan, Spelling, cheapest_order
from eqsat.algebra.operands import unmoved
from eqsat.algebra.points import of_one_point
from eqsat.algebra.products import (
    MOST_FACTORS,
    MOST_TERMS,
    Number,
    Opener,
    Product,
    TooLong,
    divisor,
    exact,
    function_of,
    is_call,
    multiplied,
    number,
    tensor_of,
    variables_of,
)
from eqsat.ir.dtypes import is_inexact
from eqsat.ir.index import Index, Var, depends
from eqsat.ir.tensor import Build, Call, Literal, Read, Reduce, Scalar, Tensor, axes, has_fold, operands, reindexed, scalars

# elements that are looked at
MOST_ELEMENTS = 400
# visits that an element counts for which is read from a row and from a column
ACROSS = 3


@dataclass(frozen=True)
class Parts:
    """A build that adds up products, the tensors that these are made of, and what is so only if tensors are finite (see Chosen)."""

    build: Build
    made: tuple[Build, ...]
    finite: tuple[Tensor, ...]
    assumes: bool


def in_parts(tensor: Build) -> Parts | None:
    """A sum of products that a tensor is, each in its cheapest order; None where that is not much less work than it is as written."""
    expansion = _Expansion()
    try:
        found = list(expansion.of(tensor.body, {}))
    except TooLong:
        return None
    folds = any(product.bound for product in found)
    if not folds or len(found) < 2 or any(has_fold(factor) for product in found for factor in product.factors):
        return None
    merged, cancelled = _like_terms(found)
    chosen = [of_one_point(product) for product in merged]
    plans = [cheapest_order(one.product, axes(tensor.shape)) for one in chosen]
    work = sum(plan.work for plan in plans) + (len(plans) - 1) * prod(tensor.shape)
    if work * CONTRACTION_GAIN > sum(map(_written, (tensor, *expansion.opened))):
        return None
    spelling = Spelling()
    terms = [(_term(spelling, plan, one.product, tensor), one.product.coefficient < 0) for plan, one in zip(plans, chosen, strict=True)]
    finite = tuple(dict.fromkeys(read for one in chosen for read in one.multiplied))
    body = _added(terms, tensor.dtype)
    return Parts(Build(tensor.shape, body), tuple(spelling.made), finite, cancelled or any(one.overflows for one in chosen))


class _Expansion:
    """Elements as sums of products, through the tensors that they read; `opened` are those with folds and those that folds go over."""

    def __init__(self) -> None:
        self.opener = Opener()
        self.opened: dict[Tensor, None] = {}
        self._left = MOST_ELEMENTS
        self._folds = 0

    def of(self, term: Scalar, env: Mapping[Var, Index]) -> Sequence[Product]:
        """TooLong for a sum of more than MOST_TERMS products, or one of more than MOST_FACTORS factors."""
        self._left -= 1
        found = list(self._of(term, env)) if self._left > 0 else []
        if not found or len(found) > MOST_TERMS or any(len(product.factors) > MOST_FACTORS for product in found):
            raise TooLong
        return found

    def _of(self, term: Scalar, env: Mapping[Var, Index]) -> Iterator[Product]:
        args = term.args if isinstance(term, Call) else ()
        if isinstance(term, Literal) and (value := exact(term)) is not None:
            yield Product(coefficient=value)
        elif self._folds and _is_difference(term):
            yield Product(factors=(reindexed(term, env),))
        elif is_call(term, "add", "subtract"):
            yield from self.of(args[0], env)
            yield from (product.scaled(1 if is_call(term, "add") else -1) for product in self.of(args[1], env))
        elif is_call(term, "negative"):
            yield from (product.scaled(-1) for product in self.of(args[0], env))
        elif is_call(term, "multiply"):
            left, right = self.of(args[0], env), self.of(args[1], env)
            if len(left) > 1 and len(right) > 1:
                yield Product(factors=(reindexed(term, env),))
            else:
                yield from (a.times(b) for a in left for b in right)
        elif (by := divisor(term)) is not None:
            yield from (product.scaled(Fraction(1) / by) for product in self.of(args[0], env))
        elif isinstance(term, Reduce) and term.op == "sum":
            variable = self.opener.fresh(term.variable)
            self._folds += 1
            inside = self.of(term.body, {**env, term.variable: variable})
            self._folds -= 1
            yield from (Product(product.coefficient, (variable, *product.bound), product.factors) for product in inside)
        elif (inner := function_of(term, env)) is not None and _is_sum_or_product(inner[0]):
            if self._folds or has_fold(inner[0]):
                self.opened[tensor_of(term)] = None
            yield from self.of(*inner)
        else:
            yield Product(factors=(reindexed(term, env),))


def _is_difference(term: Scalar) -> bool:
    """Whether a term adds up multiples of elements as they are given, of both signs, which is exact where they are close, as x[j] - x[i] of
    points far from the origin: the difference of what they are multiplied with would have lost that."""
    return is_inexact(term.dtype) and _signs(term) == {1, -1}


def _signs(term: Scalar) -> set[int]:
    """The signs of the given elements that a sum of multiples of them has, or of numbers; none of any other term."""
    if isinstance(term, Read):
        tensor = unmoved(term).tensor
        if not isinstance(tensor, Build) or not _is_sum_or_product(tensor.body):
            return {1}
        return set() if has_fold(tensor.body) else _signs(tensor.body)
    if isinstance(term, Literal):
        return {-1 if (exact(term) or 0) < 0 else 1}
    if is_call(term, "add", "subtract"):
        one, other = map(_signs, operands(term))
        return one | (other if is_call(term, "add") else {-sign for sign in other}) if one and other else set()
    if is_call(term, "negative"):
        return {-sign for sign in _signs(operands(term)[0])}
    if (by := divisor(term)) is not None:
        return {sign if by > 0 else -sign for sign in _signs(operands(term)[0])}
    if is_call(term, "multiply") and any(isinstance(arg, Literal) for arg in operands(term)):
        one, other = map(_signs, operands(term))
        return {a * b for a in one for b in other}
    return set()


def _is_sum_or_product(body: Scalar) -> bool:
    if isinstance(body, Reduce):
        return body.op == "sum"
    return isinstance(body, Read) or divisor(body) is not None or is_call(body, "add", "subtract", "multiply", "negative")


def _like_terms(products: Sequence[Product]) -> tuple[list[Product], bool]:
    """Products of which no two differ in their coefficient alone, and whether some have cancelled each other."""
    coefficients: dict[tuple[object, ...], Number] = {}
    first: dict[tuple[object, ...], Product] = {}
    for product in products:
        used = [v for v in variables_of(*product.factors) if v in product.bound]
        used += [v for v in product.bound if v not in used]
        names: dict[Var, Index] = {v: Var(f"b{k}", v.lo, v.hi) for k, v in enumerate(used)}
        key = (tuple(reindexed(factor, names) for factor in product.factors), tuple(names.values()))
        coefficients[key] = coefficients.get(key, 0) + product.coefficient
        first.setdefault(key, product)
    kept = [Product(coefficient, first[key].bound, first[key].factors) for key, coefficient in coefficients.items() if coefficient]
    return kept, len(kept) < len(coefficients)


def _written(tensor: Tensor) -> int:
    """How many elements are visited to compute a tensor as it is written; none for a movement."""
    if not isinstance(tensor, Build) or isinstance(tensor.body, Read):
        return 0
    return _visits(tensor.body) * prod(tensor.shape) * (ACROSS if _reads_across(tensor) else 1)


def _reads_across(tensor: Build) -> bool:
    """Whether a tensor adds up rows of one and columns of another, as A + A.T."""
    if len(tensor.shape) < 2 or has_fold(tensor.body):
        return False
    last = axes(tensor.shape)[-1]
    reads = [unmoved(term) for term in scalars(tensor.body) if isinstance(term, Read)]
    ways = {depends(read.indices[-1], last) for read in reads if any(depends(index, last) for index in read.indices)}
    return len(ways) == 2


def _visits(term: Scalar) -> int:
    """How many elements folds visit for one element; 1 without any."""
    inside = sum(_visits(arg) for arg in operands(term) if has_fold(arg)) or 1
    return inside * term.variable.extent if isinstance(term, Reduce) else inside


def _term(spelling: Spelling, plan: Plan, product: Product, tensor: Build) -> Scalar:
    """A product without its sign: over tensors of their own where it has folds."""
    coefficient = spelling.coefficient(plan, product)
    factors = [spelling.element(plan, axes(tensor.shape))] if plan.factors else []
    return multiplied(-coefficient if coefficient < 0 else coefficient, factors, tensor.dtype)


def _added(terms: Sequence[tuple[Scalar, bool]], dtype: str) -> Scalar:
    """Terms added up, those that are not negative first."""
    result: Scalar | None = None
    for term, negative in sorted(terms, key=lambda item: item[1]):
        if result is None:
            result = Call("negative", (term,), dtype) if negative else term
        else:
            result = Call("subtract" if negative else "add", (result, term), dtype)
    return number(0, dtype) if result is None else result
