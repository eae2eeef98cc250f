"""What a caller asks about: an index expression, or a program in one of the forms that there are of it."""

from __future__ import annotations

from typing import Any

from eqsat.calling.leaves import numbered, over_leaves
from eqsat.capture.traces import is_lazy
from eqsat.capture.tracing import trace
from eqsat.ir.errors import UsageError
from eqsat.ir.index import Index
from eqsat.ir.tensor import Program


def subject_of(what: Any, specs: tuple[Any, ...], fallback: bool, where: str) -> Index | Program:
    """An index expression or a Program as they are; what a function followed by specs or arrays does; what lazy tensors are made of,
    given the arrays under them in order of first use.

    Raises UsageError in the name of `where` for anything else, and what `trace` raises.
    """
    if isinstance(what, Index | Program) and not specs:
        return what
    if all(is_lazy(array) for array in (what, *specs)):
        return numbered(over_leaves([array.tensor for array in (what, *specs)]))[0]
    if callable(what) and not isinstance(what, Program | Index):
        return trace(what, *specs, fallback=fallback)
    raise UsageError(
        f"{where}: found a {type(what).__name__}, expected a Program, a function with specs, lazy tensors, or an index expression"
    )
