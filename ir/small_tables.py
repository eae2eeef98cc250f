"""Arrays so small that registers hold them: elements at computed places are chosen there (codegen/elements/small_tables.py)."""

from __future__ import annotations

from math import prod

from eqsat.ir.dtypes import is_complex, itemsize

# elements at most, by their bytes: choosing from more takes as long as loading them one by one
MOST = {1: 256, 2: 512, 4: 256, 8: 32}


def is_small_table(dtype: str, shape: tuple[int, ...]) -> bool:
    """Whether an array is so small, and of more than one element."""
    return not is_complex(dtype) and 1 < prod(shape) <= MOST.get(itemsize(dtype), 0)
