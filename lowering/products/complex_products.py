"""Sums of products of complex numbers as sums of real ones, which are computed in tiles (lowering/products/product.py).

    out[i, j] = g(sum over k of a(i, k) * b(k, j))

The columns' factor is stored in planes: minus its imaginary part, its real part, its imaginary part.  Two planes behind each other are what
the real part of a is multiplied with for the real and for the imaginary part of a sum, or what the imaginary part of a is:

    t[p, i, j] = (sum over k of real(a(i, k)) * planes[1 + p](k, j)) + (sum over k of imag(a(i, k)) * planes[p](k, j))

and out[i, j] = g(t[0, i, j] + t[1, i, j] times i).  Factors that were made of real numbers take half of that where nothing is infinite.
"""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import NamedTuple

from eqsat.ir.dtypes import is_complex, part_of
from eqsat.ir.index import Const, Index, Var, apply
from eqsat.ir.loops import over
from eqsat.ir.tensor import Build, Call, Position, Read, Reduce, Scalar, as_dtype, axes, axis, reindexed, scalars
from eqsat.lowering.nest import Stages, chains, free_variables
from eqsat.lowering.products.product import LEAST_COLUMNS, LEAST_TERMS, factors

# the columns' factor is stored where it has at most so many elements by those that it is made of
MOST_COPIES = 2


class _Sides(NamedTuple):
    """A sum of products: its folds, the factor that columns do not change, the other one, and what that varies with, columns last."""

    chain: tuple[Reduce, ...]
    left: Scalar
    right: Scalar
    variables: tuple[Var, ...]

    @property
    def is_stored(self) -> bool:
        """Whether the factor of the columns takes little more memory than what it is made of."""
        read = sum(term.tensor.size for term in scalars(self.right) if isinstance(term, Read))
        return prod(variable.extent for variable in self.variables) <= MOST_COPIES * read


def in_reals(build: Build, finite: bool) -> tuple[Stages, Build] | None:
    """The planes and the parts of the sums, and the build over them; None where it is not made of one sum of products of complex numbers,
    of few, or of a factor that takes much memory.  `finite`: there are no infinities, of which the part of a real number that is zero makes
    NaN."""
    sides = _sides(build)
    if sides is None:
        return None
    moved: dict[Var, Index] = {axis(k, n): axis(k + 1, n) for k, n in enumerate(build.shape)}
    left, part = reindexed(sides.left, moved), axis(0, 2)
    real_left, real_right = (_made_of_real(side) if finite else None for side in (left, reindexed(sides.right, moved)))
    stored: Stages = ()
    if real_right is not None:
        total = _sum(sides.chain, _chosen(part, [_part("real", left), _part("imag", left)]), real_right)
    elif not sides.is_stored:
        return None
    else:
        planes = _planes(sides, three=real_left is None)
        stored, at = ((planes,),), tuple(moved.get(variable, variable) for variable in sides.variables)
        if real_left is not None:
            total = _sum(sides.chain, real_left, Read(planes, (part, *at)))
        else:
            sums = (_sum(sides.chain, _part(name, left), Read(planes, (part + k, *at))) for k, name in ((1, "real"), (0, "imag")))
            total = Call("add", tuple(sums), planes.dtype)
    made = Build((2, *build.shape), total)
    parts = tuple(Read(made, (Const(number), *axes(build.shape))) for number in range(2))
    whole = Call("complex", parts, sides.chain[0].dtype)
    return (*stored, (made,)), Build(build.shape, over(build.body, {}, {sides.chain[0]: whole}))


def _sides(build: Build) -> _Sides | None:
    found = chains(build.body)
    if len(found) != 1 or len(build.shape) < 2 or build.shape[-1] < LEAST_COLUMNS:
        return None
    (chain,), (*others, column) = found, axes(build.shape)
    folds = [fold.variable for fold in chain]
    if chain[0].op != "sum" or not is_complex(chain[0].dtype) or prod(v.extent for v in folds) < LEAST_TERMS or any(v.lo for v in folds):
        return None
    free, every = free_variables(chain[-1].body), list(factors(chain[-1].body))
    left, right = ([factor for factor in every if (column in free[factor]) is changed] for changed in (False, True))
    if not left or not right:
        return None
    known = frozenset[Var]().union(*(free[factor] for factor in right))
    return _Sides(chain, _product(left), _product(right), (*(v for v in (*others, *folds) if v in known), column))


def _planes(sides: _Sides, three: bool) -> Build:
    """Both parts of the factor of the columns, or the imaginary one before them as well, with another sign."""
    extents = tuple(variable.extent for variable in sides.variables)
    at: dict[Var, Index] = {variable: axis(k + 1, variable.extent) for k, variable in enumerate(sides.variables)}
    right = reindexed(sides.right, at)
    real, imaginary = _part("real", right), _part("imag", right)
    values = [Call("negative", (imaginary,), imaginary.dtype), real, imaginary] if three else [real, imaginary]
    return Build((len(values), *extents), _chosen(axis(0, len(values)), values))


def _chosen(number: Var, values: list[Scalar]) -> Scalar:
    """The value of a number."""
    *before, found = values
    for k, value in reversed(list(enumerate(before))):
        found = Call("where", (Position(apply("eq", number, k), "bool"), value, found), value.dtype)
    return found


def _sum(chain: tuple[Reduce, ...], left: Scalar, right: Scalar) -> Scalar:
    total: Scalar = Call("multiply", (left, right), left.dtype)
    for fold in reversed(chain):
        total = Reduce("sum", fold.variable, total)
    return total


def _part(name: str, term: Scalar) -> Scalar:
    return Call(name, (term,), part_of(term.dtype))


def _made_of_real(term: Scalar) -> Scalar | None:
    """The real number that a complex one was made of."""
    if isinstance(term, Call) and term.op == "astype" and not is_complex(term.args[0].dtype):
        return as_dtype(term.args[0], part_of(term.dtype))
    return None


def _product(terms: list[Scalar]) -> Scalar:
    return reduce(lambda one, other: Call("multiply", (one, other), one.dtype), terms)
