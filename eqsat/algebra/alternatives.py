"""Rows about whole tensors: each finds other builds that are equal to one of a program, with the tensors that they are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod

from eqsat.algebra.contraction import Spelling, cheapest_order
from eqsat.algebra.polynomial import collected, with_common_factor
from eqsat.algebra.products import Opener, has_fold
from eqsat.ir.dtypes import is_float
from eqsat.ir.index import Var, variables
from eqsat.ir.tensor import Build, Program, Read, Reduce, Scalar, Tensor, axes, scalars, tensors
from eqsat.options import Numerics

# what a row does to floats: nothing; it rounds differently where all are finite, and shows where some are not; it assumes that all are
EXACT, FINITE, ASSUMES = "exact", "finite", "assumes"


@dataclass(frozen=True)
class Alternative:
    """A build that is equal to a tensor of the program.

    row      the name of the row that found it
    made     tensors that it reads and the program does not have, sources first
    checked  whether it is to be trusted only where its values are finite
    """

    row: str
    build: Build
    made: tuple[Build, ...] = ()
    checked: bool = False


@dataclass(frozen=True)
class AlgebraRow:
    """`find` gives (build, made) for a build; `floats` is what that does to floats.  Integers are a ring, wrapped as they are."""

    name: str
    floats: str
    find: Callable[[Build], Iterator[tuple[Build, tuple[Build, ...]]]]

    def allows(self, dtype: str, numerics: Numerics) -> bool:
        """Whether numerics let this row change tensors of this dtype."""
        if not is_float(dtype) or self.floats == EXACT:
            return True
        return numerics == "fast" or (numerics == "default" and self.floats != ASSUMES)


def contraction_order(tensor: Build) -> Iterator[tuple[Build, tuple[Build, ...]]]:
    """Products under sums in the order with the fewest multiplications, where that is less than as written."""
    opener = Opener()
    product = opener.product(tensor)
    if product is None or not product.bound or not product.factors:
        return
    plan = cheapest_order(product, axes(tensor.shape))
    if plan.work >= sum(_work(made) for made in (tensor, *opener.opened) if isinstance(made, Build) and has_fold(made.body)):
        return
    spelling = Spelling()
    build = spelling.result(plan, product, tensor.shape, tensor.dtype)
    if build is not tensor:
        yield build, tuple(spelling.made)


def fold_of_invariant(tensor: Build) -> Iterator[tuple[Build, tuple[Build, ...]]]:
    """The greatest or least of equal elements is that element."""
    body = tensor.body
    while isinstance(body, Reduce) and body.op in ("max", "min") and not _depends_on(body.body, body.variable):
        body = body.body
    if body is not tensor.body:
        yield Build(tensor.shape, body), ()


def factor_common(tensor: Build) -> Iterator[tuple[Build, tuple[Build, ...]]]:
    """Sums that have a factor in common are one sum of that factor and a sum."""
    found = with_common_factor(tensor)
    if found is not None:
        yield found


def collect_terms(tensor: Build) -> Iterator[tuple[Build, tuple[Build, ...]]]:
    """A polynomial with like terms added up, where that takes fewer operations."""
    found = collected(tensor)
    if found is not None:
        yield found, ()


ROWS = (
    AlgebraRow("contraction-order", FINITE, contraction_order),
    AlgebraRow("factor-common", FINITE, factor_common),
    AlgebraRow("collect-terms", ASSUMES, collect_terms),
    AlgebraRow("fold-of-invariant", EXACT, fold_of_invariant),
)


def alternatives(program: Program, numerics: Numerics) -> dict[Tensor, tuple[Alternative, ...]]:
    """For the builds of a program what the rows find; nothing where a dimension or a fold is empty."""
    found: dict[Tensor, tuple[Alternative, ...]] = {}
    builds = [tensor for tensor in tensors(*program.outputs) if isinstance(tensor, Build)]
    if any(not _work(tensor) for tensor in builds):
        return found
    for tensor in builds:
        rows = [row for row in ROWS if row.allows(tensor.dtype, numerics)]
        checked = {row.name: row.floats == FINITE and is_float(tensor.dtype) and numerics != "fast" for row in rows}
        ways = tuple(Alternative(row.name, build, made, checked[row.name]) for row in rows for build, made in row.find(tensor))
        if ways:
            found[tensor] = ways
    return found


def _work(tensor: Build) -> int:
    """How many elements the loops of a build visit."""
    return prod(tensor.shape) * prod(term.variable.extent for term in scalars(tensor.body) if isinstance(term, Reduce))


def _depends_on(term: Scalar, variable: Var) -> bool:
    return any(variable in variables(*below.indices) for below in scalars(term) if isinstance(below, Read))
