"""Rows of an array that elements choose, in which a loop goes along memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from eqsat.ir.affine import coefficient
from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.loops import Load, Pick, Temp
from eqsat.ir.tensor import Position, scalars


def place_in_row(gathered: Pick, variable: Var, own: Collection[str], bound: Mapping[Var, Index]) -> Index | None:
    """Where in a row a gather reads, if that is the same row in all iterations of a loop, in which the elements `own` are computed."""
    *rows, last = gathered.args
    terms = [term for row in rows for term in scalars(row)]
    if not isinstance(last, Position) or any(isinstance(term, Pick) or (isinstance(term, Temp) and term.name in own) for term in terms):
        return None
    read = [substitute(term.index, bound) for term in terms if isinstance(term, Load | Position)]
    return substitute(last.index, bound) if all(coefficient(index, variable) == 0 for index in read) else None
