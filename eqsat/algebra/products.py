"""Elements as products under sums, seen through the tensors that they read.

    product ::= coefficient * sum over bound variables of factor * factor * ...

A factor is an element without folds over the axes of the tensor and the bound variables, which are b0, b1, ...
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from eqsat.ir.dtypes import is_complex, is_integer, wrapped
from eqsat.ir.index import Index, Var, substitute, variables
from eqsat.ir.tensor import (
    Build,
    Call,
    Literal,
    Read,
    Reduce,
    Scalar,
    Tensor,
    axes,
    has_fold,
    index_terms,
    is_size,
    operands,
    rebuild,
    reindexed,
    scalars,
)

# coefficients of floats are exact until they are written, so that no two products become one by rounding to zero or infinity
Number = int | Fraction
MOST_TERMS = 8
# of floats; the least is one by that
LARGEST_COEFFICIENT = {"float32": 1e10, "float64": 1e30, "complex64": 1e10, "complex128": 1e30}
MOST_FACTORS = 7


@dataclass(frozen=True)
class Product:
    """coefficient * sum over `bound` of the product of `factors`."""

    coefficient: Number = 1
    bound: tuple[Var, ...] = ()
    factors: tuple[Scalar, ...] = ()

    def times(self, other: Product) -> Product:
        """The product of two of which no bound variable is in both."""
        return Product(self.coefficient * other.coefficient, (*self.bound, *other.bound), (*self.factors, *other.factors))

    def scaled(self, by: Number) -> Product:
        return Product(self.coefficient * by, self.bound, self.factors)


@dataclass(frozen=True)
class Addend:
    """An element that is added (sign 1) or subtracted (sign -1), and what it is, with that sign, as a product."""

    element: Scalar
    sign: int
    product: Product


class TooLong(Exception):
    """A product has more factors, or a polynomial more products, than are looked at."""


class Opener:
    """Reads elements as products, opening tensors that are products or sums themselves; `opened` are those that it looked through.

    What is shared is read once, so that the work grows with the nodes of a program and not with the paths through it."""

    def __init__(self) -> None:
        self.opened: dict[Tensor, None] = {}
        self._fresh = (f"b{k}" for k in itertools.count())
        self._known: dict[Scalar, Product | None] = {}

    def fresh(self, variable: Var) -> Var:
        """A bound variable with the range of another."""
        return Var(next(self._fresh), variable.lo, variable.hi)

    def product(self, tensor: Build) -> Product | None:
        """The one product that a tensor is; None where it has folds of another kind or too many factors."""
        return self._opened(tensor.body)

    def sum(self, tensor: Build) -> list[Addend]:
        """What a tensor adds up, of more than MOST_TERMS terms the first of them and one more."""
        terms = itertools.islice(self._addends(tensor.body, {}, 1), MOST_TERMS + 1)
        return [Addend(element, sign, self._factors(element).scaled(sign)) for element, sign in terms]

    def _addends(self, term: Scalar, env: Mapping[Var, Index], sign: int) -> Iterator[tuple[Scalar, int]]:
        if isinstance(term, Call) and term.op in ("add", "subtract"):
            yield from self._addends(term.args[0], env, sign)
            yield from self._addends(term.args[1], env, sign if term.op == "add" else -sign)
        elif isinstance(term, Call) and term.op == "negative":
            yield from self._addends(term.args[0], env, -sign)
        elif (inner := function_of(term, env)) is not None and is_call(inner[0], "add", "subtract", "negative"):
            self.opened[tensor_of(term)] = None
            yield from self._addends(*inner, sign)
        else:
            yield reindexed(term, env), sign

    def _factors(self, term: Scalar) -> Product:
        """An element as a product; one that has too many factors is its own only factor."""
        try:
            return self._product(term)
        except TooLong:
            return Product(factors=(term,))

    def _opened(self, body: Scalar) -> Product | None:
        try:
            found = self._product(body)
        except TooLong:
            return None
        return found if not any(has_fold(factor) for factor in found.factors) else None

    def _product(self, term: Scalar) -> Product:
        """TooLong above MOST_FACTORS; bound variables are the caller's own."""
        if term in self._known:
            known = self._known[term]
            if known is None:
                raise TooLong
            return self._placed(known, {})
        self._known[term] = None
        found = self._read(term)
        if len(found.factors) > MOST_FACTORS:
            raise TooLong
        self._known[term] = found
        return found

    def _read(self, term: Scalar) -> Product:
        if isinstance(term, Literal) and (value := exact(term)) is not None:
            return Product(coefficient=value)
        if isinstance(term, Call) and term.op == "multiply":
            return self._product(term.args[0]).times(self._product(term.args[1]))
        if isinstance(term, Call) and term.op == "negative":
            return self._product(term.args[0]).scaled(-1)
        if isinstance(term, Call) and (by := divisor(term)) is not None:
            return self._product(term.args[0]).scaled(Fraction(1) / by)
        if isinstance(term, Reduce) and term.op == "sum":
            variable = self.fresh(term.variable)
            inside = self._placed(self._product(term.body), {term.variable: variable})
            return Product(inside.coefficient, (variable, *inside.bound), inside.factors)
        inner = function_of(term, {})
        if inner is not None and (isinstance(inner[0], Read | Reduce) or is_call(inner[0], "multiply", "negative", "divide")):
            found = self._opened(inner[0])
            if found is not None:
                self.opened[tensor_of(term)] = None
                return self._placed(found, inner[1])
        return Product(factors=(term,))

    def _placed(self, product: Product, env: Mapping[Var, Index]) -> Product:
        """A product at other indices, with bound variables of its own."""
        bound = tuple(map(self.fresh, product.bound))
        if not bound and not env:
            return product
        names: dict[Var, Index] = {**env, **dict(zip(product.bound, bound, strict=True))}
        return Product(product.coefficient, bound, tuple(reindexed(factor, names) for factor in product.factors))


def function_of(term: Scalar, env: Mapping[Var, Index]) -> tuple[Scalar, dict[Var, Index]] | None:
    """The body of the build that an element reads, and what its axes are there."""
    if not isinstance(term, Read) or not isinstance(term.tensor, Build):
        return None
    indices = (substitute(index, dict(env)) for index in term.indices)
    return term.tensor.body, dict(zip(axes(term.tensor.shape), indices, strict=True))


def opened(term: Scalar, opens: Callable[[Scalar], bool]) -> Scalar:
    """What an element is that is read of tensors without folds whose bodies are to be opened."""
    while (inner := function_of(term, {})) is not None and opens(inner[0]) and not has_fold(inner[0]):
        term = reindexed(*inner)
    return term


def elementwise(
    tensor: Build,
    depth: int,
    change: Callable[[Scalar], Scalar] = lambda term: term,
    opens: Callable[[Scalar], bool] = lambda body: False,
) -> Scalar:
    """The body of a build with its terms changed, and those of the elementwise tensors that are read so deep within, which are opened where
    something changed in them, or where that is asked for."""
    known: dict[tuple[Build, int], Scalar] = {}

    def body(build: Build, left: int) -> Scalar:
        if (build, left) not in known:
            done: dict[Scalar, Scalar] = {}
            for term in scalars(build.body):
                made = rebuild(term, tuple(done[operand] for operand in operands(term)))
                if left and isinstance(made, Read) and isinstance(made.tensor, Build) and not has_fold(made.tensor.body):
                    inner = body(made.tensor, left - 1)
                    if inner is not made.tensor.body or opens(inner):
                        made = reindexed(inner, dict(zip(axes(made.tensor.shape), made.indices, strict=True)))
                done[term] = change(made)
            known[build, left] = done[build.body]
        return known[build, left]

    return body(tensor, depth)


def through_movements(root: Scalar) -> Scalar:
    """An element that reads what its tensors are movements of."""
    done: dict[Scalar, Scalar] = {}
    for term in scalars(root):
        below: Scalar = rebuild(term, tuple(done[arg] for arg in operands(term)))
        while (inner := function_of(below, {})) is not None and isinstance(inner[0], Read):
            below = reindexed(*inner)
        done[term] = below
    return done[root]


def tensor_of(term: Scalar) -> Tensor:
    """The tensor that an element reads."""
    assert isinstance(term, Read)
    return term.tensor


def is_call(term: Scalar, *ops: str) -> bool:
    """Whether an element is one of these operations."""
    return isinstance(term, Call) and term.op in ops


def variables_of(*terms: Scalar) -> tuple[Var, ...]:
    """The loop variables that elements without folds depend on, in order of first use."""
    below = (index for term in terms for scalar in scalars(term) for index in index_terms(scalar))
    return tuple(dict.fromkeys(v for index in below for v in variables(index) if not is_size(v)))


class CoefficientError(Exception):
    """A coefficient that was put together is so large or so small that products with it may overflow or vanish."""


def exact(term: Literal) -> Number | None:
    """The value of a real literal; None where it is not finite."""
    if isinstance(term.value, complex) or not math.isfinite(term.value):
        return None
    return Fraction(term.value) if isinstance(term.value, float) else int(term.value)


def divisor(term: Scalar) -> Number | None:
    """The number that an element is a quotient by; None for any other element."""
    by = term.args[1] if isinstance(term, Call) and term.op == "divide" else None
    return (exact(by) or None) if isinstance(by, Literal) else None


def number(value: Number, dtype: str) -> Literal:
    """A coefficient as an element; integers wrap as they do in arrays."""
    if is_integer(dtype):
        return Literal(wrapped(int(value), dtype), dtype)
    if dtype == "bool":
        return Literal(bool(value), dtype)
    largest = LARGEST_COEFFICIENT[dtype]
    if value and not 1 / Fraction(largest) <= abs(Fraction(value)) <= largest:
        raise CoefficientError
    return Literal(complex(value) if is_complex(dtype) else float(value), dtype)


def multiplied(coefficient: Number, factors: Iterable[Scalar], dtype: str) -> Scalar:
    """coefficient * factor * factor * ..., without what is one."""
    negated = is_complex(dtype) and coefficient == -1
    parts = [*([number(coefficient, dtype)] if coefficient != 1 and not negated else []), *factors]
    if not parts:
        return number(coefficient, dtype)
    result = parts[0]
    for part in parts[1:]:
        result = Call("multiply", (result, part), dtype)
    return Call("negative", (result,), dtype) if negated else result
