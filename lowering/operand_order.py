"""Products whose results lie in another order than what they read, computed in the order of that, and moved.

    out[o, h, i, w, j] = g(sum over c of x[c, h, w] * f(c, o, i, j))   ->   t[o, i, j, h, w], the sum, and out = g(t), moved

Where results go along short axes only, as those of an image that is magnified do, tiles have no columns.
"""

from __future__ import annotations

from eqsat.ir.index import Var, variables
from eqsat.ir.loops import over
from eqsat.ir.tensor import Build, Read, axes
from eqsat.lowering.nest import Stages, chains, free_variables
from eqsat.lowering.product import factors, stored

# columns of a tile: more at the end of a result leave nothing to be gained, fewer at the end of what is read neither
MOST_LAST, LEAST_COLUMNS = 8, 16


def in_operand_order(build: Build) -> tuple[Stages, Build] | None:
    """The sums with the axes of a factor last, in its order, and the build over them; None where results have columns, or no factor has."""
    found = chains(build.body)
    if len(found) != 1 or found[0][0].op != "sum" or len(build.shape) < 2 or build.shape[-1] > MOST_LAST:
        return None
    total, terms, every = found[0][0], tuple(factors(found[0][-1].body)), axes(build.shape)
    along = next((read for read in terms if isinstance(read, Read) and len(terms) > 1 and _has_columns(read, every)), None)
    if along is None:
        return None
    own = [v for index in along.indices for v in variables(index) if v in every]
    free = free_variables(build.body)[total]
    read = stored(total, [v for v in (*(v for v in every if v not in own), *dict.fromkeys(own)) if v in free])
    assert isinstance(read.tensor, Build)
    return ((read.tensor,),), Build(build.shape, over(build.body, {}, {total: read}))


def _has_columns(read: Read, every: tuple[Var, ...]) -> bool:
    """Whether a factor goes along memory with an axis that is long enough, and is not the last one."""
    last = read.indices[-1] if read.indices else None
    return isinstance(last, Var) and last in every[:-1] and last.extent >= LEAST_COLUMNS
