"""Short rows that elements choose: a loop along one is a vector of all its iterations.

    for i: p = places[i]; for j < 4: out[4 * i + j] = f(table[p, j])

LLVM writes the loop over j out and gathers a line of rows, number by number, each of which takes about as long as a whole row.
"""

from __future__ import annotations

from collections.abc import Iterator

from eqsat.codegen.folds.rolled import SORTED
from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.loops import Fold, For, Kernel, Let, Load, Pick, Stmt, Store, bound_in, values_of
from eqsat.ir.picked_rows import place_in_row
from eqsat.ir.tensor import Scalar, scalars
from eqsat.ir.vectorizable import is_joint

# bytes of an element: LLVM has loops of its own for rows of less
LEAST_BYTES = 4


def gathered_rows(kernel: Kernel, vector_bytes: int) -> frozenset[For]:
    """The innermost loops along rows of up to SORTED elements that elements choose, if these fit into a vector."""
    sizes = frozenset(size.marker for size in kernel.sizes)
    return frozenset(loop for loop, bound in _loops(kernel.body, {}) if _is_gathered_row(loop, bound, sizes, vector_bytes))


def _loops(body: tuple[Stmt, ...], bound: dict[Var, Index], inside: bool = False) -> Iterator[tuple[For, dict[Var, Index]]]:
    """The loops in loops, each with what index variables stand for."""
    bound = bound_in(body, bound)
    for stmt in body:
        if isinstance(stmt, For | Fold):
            if inside and isinstance(stmt, For):
                yield stmt, bound_in(stmt.body, bound)
            yield from _loops(stmt.body, bound, True)


def _is_gathered_row(loop: For, bound: dict[Var, Index], sizes: frozenset[int], vector_bytes: int) -> bool:
    variable = loop.variable
    if loop.kind != "parallel" or not 1 < variable.extent <= SORTED or not all(isinstance(stmt, Let | Store) for stmt in loop.body):
        return False
    terms = list(scalars(*values_of(loop.body)))
    rows = [term for term in terms if isinstance(term, Pick)]
    widest = max(itemsize(term.dtype) for term in terms)
    if not rows or not LEAST_BYTES <= widest <= vector_bytes // variable.extent or not all(is_joint(stmt, rows) for stmt in loop.body):
        return False
    own = [stmt.name for stmt in loop.body if isinstance(stmt, Let)]
    stored = [stmt.index for stmt in loop.body if isinstance(stmt, Store)]
    along = all(_is_along(row, variable, own, bound, sizes) for row in rows)
    return along and _steps(stored, variable, bound) == {1} and _steps(_loaded(terms, rows), variable, bound) <= {0, 1}


def _steps(places: list[Index], variable: Var, bound: dict[Var, Index]) -> set[int | None]:
    return {coefficient(substitute(index, bound), variable) for index in places}


def _is_along(row: Pick, variable: Var, own: list[str], bound: dict[Var, Index], sizes: frozenset[int]) -> bool:
    """Whether a gather goes along one row, and within it."""
    place, extent = place_in_row(row, variable, own, bound), row.shape[-1]
    if place is None or extent in sizes or coefficient(place, variable) != 1:
        return False
    return place.bounds[0] >= 0 and place.bounds[1] < extent


def _loaded(terms: list[Scalar], rows: list[Pick]) -> list[Index]:
    """Where is loaded, but for what chooses rows."""
    choosing = {term for row in rows for term in scalars(*row.args)}
    return [term.index for term in terms if isinstance(term, Load) and term not in choosing]
