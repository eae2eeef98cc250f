"""Sums of which one element counts: the element.

    sum k of where(k == e, x[k], 0)   =   x[e]        one-hot rows, identity and diagonal matrices, shifts by a product of matrices

A factor that is not zero at one value of a bound variable only takes the sum over that variable with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eqsat.algebra.constants import as_function
from eqsat.algebra.products import Opener, Product, function_of, is_call
from eqsat.ir.affine import coefficient
from eqsat.ir.index import Apply, Const, Index, Var, apply, substitute, where
from eqsat.ir.interval import within
from eqsat.ir.tensor import Build, Call, Constant, Literal, Position, Read, Scalar, Tensor, axes, reindexed, scalars


@dataclass(frozen=True)
class Spike:
    """An element that is `value` where `left == right` and zero elsewhere."""

    left: Index
    right: Index
    value: Scalar


def without_spikes(tensor: Build) -> tuple[Product, tuple[Tensor, ...]] | None:
    """The product that a tensor is, with every sum of one element replaced by that; and the tensors of which elements were multiplied
    by zero, which makes them zero only if they are finite.  None where there is no such sum."""
    product = Opener().product(tensor)
    multiplied: dict[Tensor, None] = {}
    changed = False
    while product is not None and (smaller := _smaller(product, multiplied)) is not None:
        product, changed = smaller, True
    return (product, tuple(multiplied)) if product is not None and changed else None


def _smaller(product: Product, multiplied: dict[Tensor, None]) -> Product | None:
    """The product without one of its sums."""
    for k, factor in enumerate(product.factors):
        spike = spike_of(factor)
        for variable in product.bound if spike is not None else ():
            assert spike is not None
            place = _place(spike, variable)
            if place is not None:
                others = (*product.factors[:k], *product.factors[k + 1 :])
                multiplied.update((below.tensor, None) for other in others for below in scalars(other) if isinstance(below, Read))
                bound = tuple(v for v in product.bound if v is not variable)
                return Product(product.coefficient, bound, _at_place((spike.value, *others), variable, place))
    return None


def _at_place(factors: tuple[Scalar, ...], variable: Var, place: Index) -> tuple[Scalar, ...]:
    """Factors at one value of a variable; the first is zero where that is not in the variable's range."""
    if within(place.bounds, variable.bounds):
        return tuple(reindexed(factor, {variable: place}) for factor in factors)
    inside = apply("and", apply("ge", place, 0), apply("lt", place, variable.extent))
    first, *others = (reindexed(factor, {variable: where(inside, place, 0)}) for factor in factors)
    return Call("where", (Position(inside, "bool"), first, Literal(0, first.dtype)), first.dtype), *others


def _place(spike: Spike, variable: Var) -> Index | None:
    """Where a variable has to be; None where that does not follow, or depends on the variable itself."""
    difference = spike.left - spike.right
    step = coefficient(difference, variable)
    if step not in (1, -1):
        return None
    rest = substitute(difference, {variable: Const(0)})
    return rest if step == -1 else -rest


def spike_of(factor: Scalar) -> Spike | None:
    """A factor as one value in one place, seen through the tensors that it reads; None for any other."""
    term = opened(factor)
    if isinstance(term, Call) and term.op == "where" and _is_zero(term.args[2]):
        equation = _equation(term.args[0])
        return Spike(*equation, term.args[1]) if equation is not None else None
    if isinstance(term, Call) and term.op == "astype":
        if term.args[0].dtype == "bool":
            equation = _equation(term.args[0])
            return Spike(*equation, Literal(1, term.dtype)) if equation is not None else None
        inner = spike_of(term.args[0])
        return Spike(inner.left, inner.right, Call("astype", (inner.value,), term.dtype)) if inner is not None else None
    return None


def _equation(condition: Scalar) -> tuple[Index, Index] | None:
    """The two index terms of which a condition says that they are equal."""
    term = opened(condition)
    if isinstance(term, Position) and isinstance(term.index, Apply) and term.index.op == "eq":
        return term.index.args[0], term.index.args[1]
    if isinstance(term, Call) and term.op == "equal":
        left, right = (_index(opened(arg)) for arg in term.args)
        return (left, right) if left is not None and right is not None else None
    return None


def _index(term: Scalar) -> Index | None:
    if isinstance(term, Literal) and isinstance(term.value, int):
        return Const(int(term.value))
    return term.index if isinstance(term, Position) else None


def opened(term: Scalar) -> Scalar:
    """What an element is that is read of an elementwise tensor, of a movement, or of a constant that follows a rule."""
    while isinstance(term, Read):
        inner = _function(term)
        if inner is None:
            return term
        term = reindexed(*inner)
    return term


def _function(term: Read) -> tuple[Scalar, Mapping[Var, Index]] | None:
    if isinstance(term.tensor, Constant):
        build = as_function(term.tensor)
        return (build.body, dict(zip(axes(build.shape), term.indices, strict=True))) if build is not None else None
    inner = function_of(term, {})
    opens = inner is not None and (isinstance(inner[0], Read | Position) or is_call(inner[0], "where", "astype", "equal"))
    return inner if opens else None


def _is_zero(term: Scalar) -> bool:
    value = opened(term)
    return isinstance(value, Literal) and value.value == 0
