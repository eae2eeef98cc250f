"""Arrays so small that registers hold them: elements at computed places are chosen there (codegen/elements/small_tables.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from eqsat.ir.dtypes import is_complex, itemsize
from eqsat.ir.index import Var, variables
from eqsat.ir.loops import Pick
from eqsat.ir.tensor import Position

# elements at most, by their bytes: choosing from more takes as long as loading them one by one
MOST = {1: 256, 2: 512, 4: 256, 8: 32}
# bytes of a part of a larger array: it is loaded for every row of a loop
MOST_OF_PART = 512


def is_small_table(dtype: str, shape: Sequence[int]) -> bool:
    """Whether an array is so small, and of more than one element."""
    return not is_complex(dtype) and 1 < prod(shape) <= MOST.get(itemsize(dtype), 0)


def table_axis(term: Pick, varies: Callable[[Var], bool]) -> int | None:
    """The first of the last axes of an array that are a small table for a loop in which some variables vary: the places along those before
    are the same; None where there are none such."""
    for axis, place in enumerate(term.args):
        own = term.shape[axis:]
        if is_small_table(term.dtype, own) and (not axis or prod(own) * itemsize(term.dtype) <= MOST_OF_PART):
            return axis
        if not isinstance(place, Position) or any(map(varies, variables(place.index))):
            return None
    return None
