"""Products whose results lie in another order than what they read, computed in the order of that, and moved.

    out[o, h, i, w, j] = g(sum over c of x[c, h, w] * f(c, o, i, j))   ->   t[o, i, j, h, w], the sum, and out = g(t), moved

Where results go along short axes only, as those of an image that is magnified do, tiles have no columns.

    out[j, i] = g(fold over k of f(x[k, i, j], y[k, i]))           ->   t[i, j], the fold, and out = g(t), moved

What has all axes of the result is read as it lies in memory.

    out[b, i, j] = g(sum over k of w[i, k] * x[b, k, j])   ->   p[k, b, j] = x[b, k, j], t[i, b, j], the sum, and out = g(t), moved

Columns of few elements, of many products with the same left factor, are the columns of one product.
"""

from __future__ import annotations

from math import prod

from eqsat.ir.dtypes import is_float
from eqsat.ir.index import Var, variables
from eqsat.ir.loops import over
from eqsat.ir.tensor import Build, Read, Reduce, Scalar, axes, scalars
from eqsat.lowering.nest import Stages, chains, free_variables
from eqsat.lowering.products.product import factors, stored

# columns of a tile: more at the end of a result leave nothing to be gained, fewer at the end of what is read neither
MOST_LAST, LEAST_COLUMNS = 8, 16
# columns of one product that are taken together with those of others, and of how many
MOST_SHARED, LEAST_BATCHES = 64, 4


def in_operand_order(build: Build) -> tuple[Stages, Build] | None:
    """The folds with the axes of what they read last, in its order, and the build over them; None where results have columns, or nothing
    that is read has."""
    found, every = chains(build.body), axes(build.shape)
    if len(found) != 1 or len(build.shape) < 2:
        return None
    fold, terms = found[0][0], found[0][-1].body
    along = _short_result(fold, terms, every) if build.shape[-1] <= MOST_LAST else _has_all(terms, every)
    if along is None:
        return None
    own = [v for index in along.indices for v in variables(index) if v in every]
    free = free_variables(build.body)[fold]
    read = stored(fold, [v for v in (*(v for v in every if v not in own), *dict.fromkeys(own)) if v in free])
    assert isinstance(read.tensor, Build)
    return ((read.tensor,),), Build(build.shape, over(build.body, {}, {fold: read}))


def _short_result(fold: Reduce, terms: Scalar, every: tuple[Var, ...]) -> Read | None:
    """The factor of a product that has columns."""
    known = tuple(factors(terms)) if fold.op == "sum" else ()
    return next((read for read in known if isinstance(read, Read) and len(known) > 1 and _has_columns(read, every)), None)


def _has_all(terms: Scalar, every: tuple[Var, ...]) -> Read | None:
    """The first read that depends on all axes of the result; None unless every such read goes along memory with another axis than it."""
    whole = [read for read in scalars(terms) if isinstance(read, Read) and set(every).issubset(variables(*read.indices))]
    return whole[0] if whole and all(_has_columns(read, every) for read in whole) else None


def batches_last(build: Build) -> tuple[Stages, Build] | None:
    """The right factor with its terms first, the sums with the axes that they have of it last, and the build over them; None where columns
    are many, or those of one product."""
    found = chains(build.body)
    if len(found) != 1 or len(build.shape) < 3 or not 1 < build.shape[-1] <= MOST_SHARED:
        return None
    if found[0][0].op != "sum" or not is_float(found[0][0].dtype):
        return None
    chain, every, free = found[0], axes(build.shape), free_variables(build.body)
    terms, factored = [fold.variable for fold in chain], tuple(factors(chain[-1].body))
    right = [factor for factor in factored if every[-1] in free[factor]]
    left = frozenset[Var]().union(*(free[factor] for factor in factored if factor not in right))
    if len(right) != 1 or any(term.lo or term not in free[right[0]] or term not in left for term in terms):
        return None
    rows = [v for v in every if v in left]
    columns = [v for v in every if v in free[right[0]]]
    if not rows or not left.isdisjoint(columns) or prod(v.extent for v in columns[:-1]) < LEAST_BATCHES:
        return None
    packed = stored(right[0], [*terms, *columns])
    total = stored(over(chain[0], {}, {right[0]: packed}), [*rows, *columns])
    assert isinstance(packed.tensor, Build)
    assert isinstance(total.tensor, Build)
    return ((packed.tensor,), (total.tensor,)), Build(build.shape, over(build.body, {}, {chain[0]: total}))


def _has_columns(read: Read, every: tuple[Var, ...]) -> bool:
    """Whether a factor goes along memory with an axis that is long enough, and is not the last one."""
    last = read.indices[-1] if read.indices else None
    return isinstance(last, Var) and last in every[:-1] and last.extent >= LEAST_COLUMNS
