"""Sums of neighbours added up row by row, so that rows of a stencil share the sums of the rows that they have in common.

    ((a[i,j] + a[i,j+1]) + a[i+1,j]) + a[i+1,j+1]   ->   (a[i,j] + a[i,j+1]) + (a[i+1,j] + a[i+1,j+1])

Chains of additions, of maxima or of minima, whose parts are used nowhere else; terms of no row come last.  This changes the order in which
a sum is added up.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from eqsat.ir.index import Var
from eqsat.ir.loops import Load
from eqsat.ir.tensor import Call, Scalar, operands, rebuild, scalars
from eqsat.lowering.affine import Forms
from eqsat.lowering.blocks import over_forms
from eqsat.lowering.nest import Nest

CHAINED = ("add", "maximum", "minimum")
# terms of a chain at least: below that there is no other order that shares more
LEAST_TERMS = 4


def by_rows(nest: Nest, row: Var) -> Nest:
    """The nest with its chains ordered by the rows along an axis."""
    forms, uses = Forms(), dict[Scalar, int]()
    for term in scalars(nest.body):
        for arg in operands(term):
            uses[arg] = uses.get(arg, 0) + 1
    inside = {arg for term in scalars(nest.body) if _chained(term) for arg in operands(term) if _continues(term, arg, uses)}
    done: dict[Scalar, Scalar] = {}
    for term in scalars(nest.body):
        if _chained(term) and term not in inside:
            terms = [done[leaf] for leaf in _leaves(term, uses)]
            if len(terms) >= LEAST_TERMS:
                done[term] = _in_rows(term, terms, nest, row, forms)
                continue
        done[term] = rebuild(term, tuple(done[arg] for arg in operands(term)))
    return Nest(nest.loops, done[nest.body], nest.index)


def _chained(term: Scalar) -> bool:
    return isinstance(term, Call) and term.op in CHAINED


def _continues(term: Scalar, arg: Scalar, uses: dict[Scalar, int]) -> bool:
    """Whether an operand is a part of the same chain."""
    return isinstance(term, Call) and isinstance(arg, Call) and (arg.op, arg.dtype) == (term.op, term.dtype) and uses[arg] == 1


def _leaves(root: Scalar, uses: dict[Scalar, int]) -> Iterator[Scalar]:
    """What a chain combines, in order."""
    stack = [root]
    while stack:
        term = stack.pop()
        for arg in reversed(operands(term)) if term is root or _continues(root, term, uses) else ():
            stack.append(arg)
        if term is not root and not _continues(root, term, uses):
            yield term


def _in_rows(chain: Scalar, terms: list[Scalar], nest: Nest, row: Var, forms: Forms) -> Scalar:
    """The terms of each row together, all rows in the same order."""
    rows: dict[int | None, list[tuple[str, Scalar]]] = {}
    for term in terms:
        number = _row_of(term, nest, row, forms)
        there = over_forms(term, {row: row - number}, forms) if number is not None else term
        rows.setdefault(number, []).append((str(there), term))
    numbers = sorted(number for number in rows if number is not None)
    parts = [_combined(chain, [term for _, term in sorted(rows[number], key=lambda one: one[0])]) for number in numbers]
    return _combined(chain, [*parts, *(term for _, term in rows.get(None, ()))])


def _combined(chain: Scalar, terms: list[Scalar]) -> Scalar:
    assert isinstance(chain, Call)
    return functools.reduce(lambda total, term: Call(chain.op, (total, term), chain.dtype), terms)


def _row_of(term: Scalar, nest: Nest, row: Var, forms: Forms) -> int | None:
    """How many rows from its own an element's first load is, of the same layer; None where it loads nothing along the axis."""
    for load in (below for below in scalars(term) if isinstance(below, Load)):
        form = forms(load.index)
        strides = {v: form.stride(v) or 0 for v in nest.loops}
        place = form.constant
        for layer in sorted((stride for stride in strides.values() if stride > strides[row] > 0), reverse=True):
            place -= _rounded(place, layer) * layer
        if strides[row] > 0:
            return _rounded(place, strides[row])
    return None


def _rounded(place: int, step: int) -> int:
    """The nearest whole number of steps: places of a row are on both sides of where it begins."""
    return (2 * place + step) // (2 * step)
