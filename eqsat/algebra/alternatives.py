"""Rows about whole tensors: each finds other builds that are equal to one of a program, with the tensors that they are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from eqsat.algebra.constants import as_function
from eqsat.algebra.contraction import Spelling, cheapest_order
from eqsat.algebra.extrema import without_invariants
from eqsat.algebra.gathers import without_stored_tensors
from eqsat.algebra.magnitudes import with_magnitudes, with_squared_parts
from eqsat.algebra.narrowing import only_what_is_read
from eqsat.algebra.operands import Computed
from eqsat.algebra.points import Chosen, at_places, without_spikes
from eqsat.algebra.polynomial import collected, with_common_factor
from eqsat.algebra.products import LARGEST_COEFFICIENT, CoefficientError, Opener, variables_of
from eqsat.algebra.repeats import without_repeats
from eqsat.algebra.sums import in_parts
from eqsat.algebra.tables import in_tables
from eqsat.ir.dtypes import is_inexact
from eqsat.ir.tensor import Build, Constant, Program, Read, Reduce, Tensor, axes, has_fold, over, scalars, sources, tensors
from eqsat.options import Numerics

# what a row does to floats: nothing; it rounds differently; it assumes that all are finite
EXACT, ROUNDS, ASSUMES = "exact", "rounds", "assumes"


@dataclass(frozen=True)
class Found:
    """A build that is equal to another, the tensors that it reads and the program does not have, sources first, and what has to be
    finite for that: the result itself, where it shows what is not, or tensors, where it does not, or values between (`assumes`)."""

    build: Build
    made: tuple[Build, ...] = ()
    shows: bool = False
    finite: tuple[Tensor, ...] = ()
    assumes: bool = False

    @property
    def asks(self) -> bool:
        """Whether anything has to be finite."""
        return self.shows or self.assumes or bool(self.finite)


@dataclass(frozen=True)
class Alternative:
    """What a row found for a tensor of the program; `checked`: whether finite values have to be checked, and are not assumed."""

    row: str
    found: Found
    checked: bool


@dataclass(frozen=True)
class AlgebraRow:
    """`find` gives builds equal to one; `floats` is what that does to floats.  Integers are a ring, wrapped as they are.  `folds`: it finds
    something only where there is a fold in the build, or in what that is made of."""

    name: str
    floats: str
    find: Callable[[Build], Iterator[Found]]
    folds: bool = False

    def allows(self, dtype: str, numerics: Numerics) -> bool:
        """Whether numerics let this row change tensors of this dtype; float16, which overflows early, keeps the order that it is
        written in."""
        if not is_inexact(dtype) or self.floats == EXACT:
            return True
        if dtype not in LARGEST_COEFFICIENT:
            return False
        return numerics == "fast" or (numerics == "default" and self.floats != ASSUMES)


def contraction_order(tensor: Build) -> Iterator[Found]:
    """Products under sums in the order with the fewest multiplications, where that is less than as written; none that is the sum as it is
    written over all of them, which fusion finds by itself."""
    opener = Opener()
    product = opener.product(tensor)
    if product is None or not product.bound or not product.factors:
        return
    at_once = prod(tensor.shape) * prod(variable.extent for variable in product.bound)
    product = without_repeats(product, opener.fresh)
    plan = cheapest_order(product, axes(tensor.shape))
    as_written = sum(_work(made) for made in (tensor, *opener.opened) if isinstance(made, Build) and has_fold(made.body))
    in_order = [v for v in variables_of(*plan.factors) if v in product.bound] == list(product.bound)
    if plan.work < as_written and not (plan.work >= at_once and in_order):
        spelling = Spelling()
        yield Found(spelling.result(plan, product, tensor.shape, tensor.dtype), tuple(spelling.made), shows=True)


def sum_in_parts(tensor: Build) -> Iterator[Found]:
    """Products that are added up under sums, each by itself."""
    found = in_parts(tensor)
    if found is not None:
        yield Found(found.build, found.made, shows=True, finite=found.finite, assumes=found.assumes)


def sum_of_one_point(tensor: Build) -> Iterator[Found]:
    """Sums over elements of which all but one are zero."""
    found = without_spikes(tensor)
    if found is not None:
        yield _spelled(found, tensor)


def sum_at_places(tensor: Build) -> Iterator[Found]:
    """Sums of products with comparisons that say at which place a term is added."""
    found = at_places(tensor)
    if found is not None:
        yield _spelled(found, tensor)


def _spelled(chosen: Chosen, tensor: Build) -> Found:
    spelling = Spelling()
    build = spelling.result(cheapest_order(chosen.product, axes(tensor.shape)), chosen.product, tensor.shape, tensor.dtype)
    return Found(build, tuple(spelling.made), shows=chosen.shows, finite=chosen.multiplied, assumes=chosen.overflows)


def fold_of_invariant(tensor: Build) -> Iterator[Found]:
    """What does not vary with a greatest or least element is outside of the fold."""
    found = without_invariants(tensor)
    if found is not None:
        yield Found(found.build, found.made, shows=found.shows)


def common_factor_of_sums(tensor: Build) -> Iterator[Found]:
    """Sums that have a factor in common are one sum of that factor and a sum."""
    found = with_common_factor(tensor)
    if found is not None:
        yield Found(*found, shows=True)


def like_terms(tensor: Build) -> Iterator[Found]:
    """A polynomial with like terms added up, where that takes fewer operations."""
    found = collected(tensor)
    if found is not None:
        yield Found(found)


def greater_of_opposites(tensor: Build) -> Iterator[Found]:
    """Magnitudes that are written as the greater of two opposites."""
    found = with_magnitudes(tensor)
    if found is not None:
        yield Found(found)


def square_of_modulus(tensor: Build) -> Iterator[Found]:
    """Squared magnitudes of complex numbers from their parts."""
    found = with_squared_parts(tensor)
    if found is not None:
        yield Found(found)


def gather_of_elements(tensor: Build) -> Iterator[Found]:
    """What gathers from tensors that only rearrange others, or are made element by element, without storing these."""
    for movements_only in (True, False):
        found = without_stored_tensors(tensor, movements_only)
        if found is not None:
            yield Found(found)


def function_of_a_table(tensor: Build) -> Iterator[Found]:
    """Functions of chosen elements are chosen from what the functions make of all, where these are fewer."""
    found = in_tables(tensor)
    if found is not None:
        yield Found(*found)


def part_that_is_read(tensor: Build) -> Iterator[Found]:
    """What reads but some places of what folds go along, over tensors of these places alone."""
    found = only_what_is_read(tensor)
    if found is not None:
        yield Found(*found)


ROWS = (
    AlgebraRow("contraction-order", ROUNDS, contraction_order, folds=True),
    AlgebraRow("sum-in-parts", ROUNDS, sum_in_parts, folds=True),
    AlgebraRow("common-factor-of-sums", ROUNDS, common_factor_of_sums, folds=True),
    AlgebraRow("sum-of-one-point", ROUNDS, sum_of_one_point, folds=True),
    AlgebraRow("sum-at-places", ROUNDS, sum_at_places, folds=True),
    AlgebraRow("like-terms", ASSUMES, like_terms),
    AlgebraRow("greater-of-opposites", ROUNDS, greater_of_opposites),
    AlgebraRow("square-of-modulus", ROUNDS, square_of_modulus),
    AlgebraRow("fold-of-invariant", EXACT, fold_of_invariant, folds=True),
    AlgebraRow("gather-of-elements", EXACT, gather_of_elements),
    AlgebraRow("function-of-a-table", EXACT, function_of_a_table),
    AlgebraRow("part-that-is-read", EXACT, part_that_is_read, folds=True),
)


def alternatives(program: Program, numerics: Numerics) -> dict[Tensor, tuple[Alternative, ...]]:
    """For the builds and constants of a program what the rows find; nothing where a dimension or a fold is empty."""
    found: dict[Tensor, tuple[Alternative, ...]] = {}
    every = list(tensors(*program.outputs))
    if any(isinstance(tensor, Build) and not _work(tensor) for tensor in every):
        return found
    folded, computed = set[Tensor](), Computed()
    for tensor in every:
        if isinstance(tensor, Build):
            if any(isinstance(term, Reduce) or (isinstance(term, Read) and term.tensor in folded) for term in scalars(tensor.body)):
                folded.add(tensor)
            rows = [row for row in ROWS if row.allows(tensor.dtype, numerics) and (tensor in folded or not row.folds)]
            checked = is_inexact(tensor.dtype) and numerics != "fast"
            every_way = (Alternative(row.name, one, checked and one.asks) for row in rows for one in _found(row, tensor, computed))
            ways = tuple(way for way in every_way if way.found.build is not tensor and not (checked and way.found.assumes))
            if (alike := computed.before(tensor)) is not None:
                ways = (*ways, Alternative("operand-order", Found(alike), False))
        else:
            function = as_function(tensor) if isinstance(tensor, Constant) else None
            ways = (Alternative("constant-is-function", Found(function), False),) if function is not None else ()
        if ways:
            found[tensor] = ways
    return found


def _found(row: AlgebraRow, tensor: Build, computed: Computed) -> list[Found]:
    """What a row finds, over what is `computed` where it makes the same."""
    try:
        every = list(row.find(tensor))
    except CoefficientError:
        return []
    return [_over(found, computed.instead(found.made), computed) if found.made else found for found in every]


def _over(found: Found, instead: Mapping[Tensor, Build], computed: Computed) -> Found:
    """What was found over other tensors than those that were made for it; as it is where one has to be finite that would be gone."""
    build = over(found.build, {source: instead.get(source, source) for source in sources(found.build)})
    assert isinstance(build, Build)
    read = set(tensors(build))
    if any(instead[tensor] not in read for tensor in found.finite if tensor in instead):
        return found
    made = tuple(tensor for tensor in dict.fromkeys(instead.values()) if tensor in read and tensor not in computed)
    finite = tuple(dict.fromkeys(instead.get(tensor, tensor) for tensor in found.finite))
    return replace(found, build=build, made=made, finite=finite)


def _work(tensor: Build) -> int:
    """How many elements the loops of a build visit."""
    return prod(tensor.shape) * prod(term.variable.extent for term in scalars(tensor.body) if isinstance(term, Reduce))
