"""Products whose rows lie side by side in memory, of the factor turned before.

    out[i, j] = g(sum over k of a[k, i] * f(k, j))   ->   t[i, k] = a[k, i], and the same sum of t[i, k] * f(k, j)

A tile of a few rows reads another line of `a` for every term, far from the one before: lines that share a set of the first cache, and
pages.  Turned at once they are read in squares, every line once.  Filters of a convolution whose terms do not lie behind each other are
so stored too; else each block of columns would arrange them again.
"""

from __future__ import annotations

from collections.abc import Sequence

from eqsat.ir.affine import coefficient, step_in_memory
from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Var, variables
from eqsat.ir.loops import over
from eqsat.ir.tensor import Build, Read, axes
from eqsat.lowering.nest import Stages, chains, free_variables
from eqsat.lowering.products.product import factors, stored

# bytes from term to term, and columns that the factor is read for
LEAST_JUMP, LEAST_COLUMNS = 1024, 32


def left_turned(build: Build) -> tuple[Stages, Build] | None:
    """The turned factor, and the build over it; None where there is no such product."""
    found = chains(build.body)
    if len(found) != 1 or len(build.shape) < 2 or build.shape[-1] < LEAST_COLUMNS:
        return None
    chain, (*others, column) = found[0], axes(build.shape)
    free, terms = free_variables(chain[-1].body), [fold.variable for fold in chain]
    if column not in free[chain[-1].body]:
        return None
    left = [factor for factor in factors(chain[-1].body) if column not in free[factor]]
    if chain[0].op != "sum" or any(term.lo for term in terms) or len(left) != 1 or not isinstance(left[0], Read):
        return None
    known = [variable for variable in (*others, *terms) if variable in free[left[0]]]
    if not (is_across(left[0], terms[0], others) if len(terms) == 1 else _is_scattered(left[0], known, terms)):
        return None
    turned = stored(left[0], known)
    assert isinstance(turned.tensor, Build)
    return ((turned.tensor,),), Build(build.shape, over(build.body, {}, {left[0]: turned}))


def _is_scattered(left: Read, known: list[Var], terms: list[Var]) -> bool:
    """Whether all terms of sums along several variables do not lie behind each other."""
    return set(terms) <= set(known) and left.indices != tuple(known)


def is_across(left: Read, term: Var, others: Sequence[Var]) -> bool:
    """Whether neighbours of an axis lie side by side in memory, and terms far apart."""
    if not left.indices:
        return False
    last = left.indices[-1]
    if term in variables(last) or not any(coefficient(last, variable) == 1 for variable in others):
        return False
    jump = step_in_memory(left.indices, left.tensor.shape, term)
    return jump is not None and abs(jump) * itemsize(left.dtype) >= LEAST_JUMP
