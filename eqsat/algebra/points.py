"""Sums of which one element counts: the element.

    sum k of where(k == e, x[k], 0)   =   x[e]        one-hot rows, identity and diagonal matrices, shifts by a product of matrices

A factor that is not zero at one value of a bound variable only takes the sum over that variable with it.  One that is not zero at one place
of the result only says where the rest of the product is added:

    sum k of (p[k] == i) * x[k, j]   =   sum k of where(p[k] == i, x[k, j], 0)        groups, tables of pairs
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from eqsat.algebra.constants import as_function
from eqsat.algebra.products import Number, Opener, Product, exact, function_of, is_call, multiplied, tensor_of, through_movements
from eqsat.egraph.schema import GATHER_RANKS
from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import integer_range, is_integer, promote
from eqsat.ir.index import Apply, Const, Index, Var, apply, maximum, minimum, substitute, variables
from eqsat.ir.interval import within
from eqsat.ir.places import PLACE
from eqsat.ir.tensor import (
    Build,
    Call,
    Constant,
    Gather,
    Literal,
    Position,
    Read,
    Scalar,
    Tensor,
    as_dtype,
    axes,
    index_terms,
    operands,
    rebuild,
    reindexed,
    scalars,
)


@dataclass(frozen=True)
class Spike:
    """An element that is `value` where two integer elements are equal, and zero elsewhere."""

    left: Scalar
    right: Scalar
    value: Scalar


@dataclass(frozen=True)
class Chosen:
    """A product with sums of one element replaced by that element.

    multiplied  the tensors of which elements were multiplied by zero, which makes them zero only if they are finite
    shows       whether there are others, each of which is a factor of the product somewhere, so that it is not finite if they are not
    overflows   whether what was multiplied by zero may be infinite although those tensors are finite
    """

    product: Product
    multiplied: tuple[Tensor, ...] = ()
    shows: bool = False
    overflows: bool = False


def without_spikes(tensor: Build) -> Chosen | None:
    """The product that a tensor is, with every sum of one element replaced by that; None where there is none."""
    product = Opener().product(tensor)
    found = of_one_point(product) if product is not None else None
    return found if found is not None and found.product is not product else None


def at_places(tensor: Build) -> Chosen | None:
    """The sum of products that a tensor is, of which some factors say at which place of the result the others are added, as a sum of what
    these comparisons choose; None where it is not of that kind."""
    product = Opener().product(tensor)
    if product is None or not product.bound or len(product.factors) < 2:
        return None
    found = {k: spike for k, factor in enumerate(product.factors) if (spike := _place_of_result(factor, product, axes(tensor.shape)))}
    if not found:
        return None
    others = tuple(factor for k, factor in enumerate(product.factors) if k not in found)
    values = (spike.value for spike in found.values() if not (isinstance(spike.value, Literal) and exact(spike.value) == 1))
    conditions = [Call("equal", (as_dtype(one.left, PLACE), as_dtype(one.right, PLACE)), "bool") for one in found.values()]
    condition = functools.reduce(lambda one, other: Call("logical_and", (one, other), "bool"), conditions)
    value = multiplied(1, (*values, *others), tensor.dtype)
    chosen = Call("where", (condition, value, Literal(0, tensor.dtype)), tensor.dtype)
    return Chosen(
        Product(product.coefficient, product.bound, (chosen,)), _read_by(others), overflows=_may_overflow(product.coefficient, others)
    )


def _place_of_result(factor: Scalar, product: Product, loops: tuple[Var, ...]) -> Spike | None:
    """A factor that is not zero at one place of the result only, which an element says that varies with what is summed."""
    spike = spike_of(factor)
    if spike is None:
        return None
    for mine, other in ((spike.left, spike.right), (spike.right, spike.left)):
        if isinstance(mine, Position) and not isinstance(other, Position) and other.dtype != "uint64":
            along = [v for v in loops if _place(mine.index, v) is not None and not _depends_on(other, v)]
            if along and any(_depends_on(other, v) for v in product.bound):
                return spike
    return None


def of_one_point(product: Product) -> Chosen:
    """A product with every sum of one element replaced by that."""
    found = Chosen(product)
    while (smaller := _smaller(found)) is not None:
        found = smaller
    return found


def _smaller(before: Chosen) -> Chosen | None:
    """The product without one more of its sums."""
    product = before.product
    for k, factor in enumerate(product.factors):
        spike = spike_of(factor)
        for variable in product.bound if spike is not None else ():
            assert spike is not None
            others = (*product.factors[:k], *product.factors[k + 1 :])
            factors = _chosen((spike.value, *others), spike, variable)
            if factors is not None:
                smaller = Product(product.coefficient, tuple(v for v in product.bound if v is not variable), factors)
                overflows = _may_overflow(product.coefficient, others)
                if overflows and _is_everywhere(spike, variable, others):
                    return Chosen(smaller, before.multiplied, True, before.overflows)
                zeros = tuple(dict.fromkeys((*before.multiplied, *_read_by(others))))
                return Chosen(smaller, zeros, before.shows, before.overflows or overflows)
    return None


def _read_by(factors: tuple[Scalar, ...]) -> tuple[Tensor, ...]:
    """The tensors that factors read, each once."""
    reads = (below for factor in factors for below in scalars(factor) if isinstance(below, Read))
    return tuple(dict.fromkeys(tensor_of(through_movements(below)) for below in reads))


def _is_everywhere(spike: Spike, variable: Var, others: tuple[Scalar, ...]) -> bool:
    """Whether a spike's places go with one other variable through all values of this one, and nothing else does: as in the product with a
    diagonal matrix, where every element of the other matrix is multiplied by one that is not zero."""
    if not isinstance(spike.left, Position) or not isinstance(spike.right, Position):
        return False
    place = _place(spike.left.index - spike.right.index, variable)
    found = variables(place) if place is not None else ()
    if place is None or len(found) != 1 or coefficient(place, found[0]) not in (1, -1) or place.bounds != variable.bounds:
        return False
    return not any(_depends_on(other, found[0]) for other in others)


def _may_overflow(coefficient: Number, factors: tuple[Scalar, ...]) -> bool:
    """Whether a product may be infinite although all that it reads is finite: it is more than one element, ones and zeros aside."""
    large = [factor for factor in factors if (spike := spike_of(factor)) is None or not _is_small(spike.value)]
    return len(large) > 1 or any(not _is_read(factor) for factor in large) or (bool(large) and not -1 <= coefficient <= 1)


def _is_read(factor: Scalar) -> bool:
    """Whether a factor is an element as it is read, or in a dtype that has all of its values."""
    while isinstance(factor, Call) and factor.op == "astype" and np.can_cast(factor.args[0].dtype, factor.dtype):
        factor = factor.args[0]
    return isinstance(factor, Read)


def _is_small(value: Scalar) -> bool:
    return isinstance(value, Literal) and (number := exact(value)) is not None and -1 <= number <= 1


def _chosen(factors: tuple[Scalar, ...], spike: Spike, variable: Var) -> tuple[Scalar, ...] | None:
    """Factors where the spike is, with the first zero if that is not in the variable's range; None where its place is not known."""
    left, right = spike.left, spike.right
    if isinstance(left, Position) and isinstance(right, Position):
        place = _place(left.index - right.index, variable)
        return _at_index(factors, variable, place) if place is not None else None
    for mine, other in ((left, right), (right, left)):
        offset = _place(mine.index, variable) if isinstance(mine, Position) else None
        if offset is not None and isinstance(mine, Position) and not _depends_on(other, variable):
            found = as_dtype(other, PLACE)
            signed = found if coefficient(mine.index, variable) == 1 else Call("negative", (found,), PLACE)
            moved = signed if offset.bounds == (0, 0) else Call("add", (signed, Position(offset, PLACE)), PLACE)
            return _at_element(factors, variable, moved)
    return None


def _place(difference: Index, variable: Var) -> Index | None:
    """Where a variable has to be for a difference to be zero; None where that does not follow."""
    step = coefficient(difference, variable)
    if step not in (1, -1):
        return None
    rest = substitute(difference, {variable: Const(0)})
    return rest if step == -1 else -rest


def _at_index(factors: tuple[Scalar, ...], variable: Var, place: Index) -> tuple[Scalar, ...]:
    if within(place.bounds, variable.bounds):
        return tuple(reindexed(factor, {variable: place}) for factor in factors)
    inside = apply("and", apply("ge", place, 0), apply("lt", place, variable.extent))
    if inside.bounds == (0, 0):
        return (Literal(0, factors[0].dtype), *(reindexed(factor, {variable: Const(0)}) for factor in factors[1:]))
    here = minimum(maximum(place, 0), variable.extent - 1)
    return _gated(Position(inside, "bool"), [reindexed(factor, {variable: here}) for factor in factors])


def _at_element(factors: tuple[Scalar, ...], variable: Var, place: Scalar) -> tuple[Scalar, ...] | None:
    """Reads become gathers; None where one reads at more than the variable itself."""
    found = [_gathering(factor, variable, place) for factor in factors]
    given = [factor for factor in found if factor is not None]
    if len(given) < len(factors):
        return None
    low = Call("greater_equal", (place, Literal(0, PLACE)), "bool")
    high = Call("less", (place, Literal(variable.extent, PLACE)), "bool")
    return _gated(Call("logical_and", (low, high), "bool"), given)


def _gathering(root: Scalar, variable: Var, place: Scalar) -> Scalar | None:
    done: dict[Scalar, Scalar] = {}
    for term in scalars(root):
        if isinstance(term, Read) and any(index is variable for index in term.indices):
            if sum(variable in variables(index) for index in term.indices) > 1 or len(term.indices) > max(GATHER_RANKS):
                return None
            done[term] = Gather(term.tensor, tuple(place if index is variable else Position(index, PLACE) for index in term.indices))
        elif any(variable in variables(index) for index in index_terms(term)):
            return None
        else:
            done[term] = rebuild(term, tuple(done[arg] for arg in operands(term)))
    return done[root]


def _gated(inside: Scalar, factors: list[Scalar]) -> tuple[Scalar, ...]:
    """Factors of which one is zero outside: one that is read, if any is, which nothing has to be read for there."""
    gate = next((k for k, factor in enumerate(factors) if not isinstance(factor, Literal)), 0)
    zero = Call("where", (inside, factors[gate], Literal(0, factors[gate].dtype)), factors[gate].dtype)
    return *factors[:gate], zero, *factors[gate + 1 :]


def _depends_on(term: Scalar, variable: Var) -> bool:
    return any(variable in variables(index) for below in scalars(term) for index in index_terms(below))


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


def _equation(condition: Scalar) -> tuple[Scalar, Scalar] | None:
    """The two integer elements of which a condition says that they are equal."""
    term = opened(condition)
    if isinstance(term, Position) and isinstance(term.index, Apply) and term.index.op == "eq":
        return Position(term.index.args[0], PLACE), Position(term.index.args[1], PLACE)
    if isinstance(term, Call) and term.op == "equal" and is_integer(term.args[0].dtype):
        left, right = (_integer(arg) for arg in term.args)
        return left, right
    return None


def _integer(term: Scalar) -> Scalar:
    """An integer element, as a position where it is one."""
    found = opened(term)
    if isinstance(found, Call) and found.op == "astype" and _keeps(found.args[0], found.dtype):
        found = opened(found.args[0])
    if isinstance(found, Literal) and within((int(found.value.real),) * 2, integer_range(PLACE)):
        return Position(Const(int(found.value.real)), PLACE)
    return found if isinstance(found, Position) else term


def _keeps(term: Scalar, dtype: str) -> bool:
    """Whether an integer dtype holds every value of an integer element."""
    if isinstance(term, Position) and term.dtype != "bool":
        return within(term.index.bounds, integer_range(dtype))
    return is_integer(term.dtype) and promote(term.dtype, dtype) == dtype


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
