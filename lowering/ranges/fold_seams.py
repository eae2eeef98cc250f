"""Folds cut at seams, where what they fold changes: at the edges of padding, where a roll wraps round, where one array of several ends.

    sum over r < n + 4: where(2 <= r < n + 2, x[r - 2], 0)   ->   sum over r < n: x[r], and 0.0

A piece that is the same in every iteration is folded at once.  Where floats may not be added in another order, all pieces of their sums and
products but one change nothing.
"""

from __future__ import annotations

import functools
from itertools import pairwise

from eqsat.ir.dtypes import is_inexact
from eqsat.ir.index import Const
from eqsat.ir.ops import BIT_FOLDS, REDUCE_OPS, identity_of
from eqsat.ir.tensor import Build, Call, Literal, Position, Reduce, Scalar, level_of, operands, rebuild, reduction, scalars
from eqsat.lowering.affine import Forms, bounds
from eqsat.lowering.nest import free_variables
from eqsat.lowering.ranges.seams import begins, decided

# pieces of a fold, and terms of one that is worth them
MOST_PIECES, LEAST_TERMS = 3, 8
# folds that may be done piece by piece, and those of one term as often as may be
IN_PIECES, SAME = ("max", "min", *BIT_FOLDS), ("max", "min", "and", "or")


def folds_cut(build: Build, reorder: bool = True) -> Build:
    """A build with its folds cut where that shortens them or leaves no condition on their variables; `reorder`: whether floats may be added
    in another order."""
    body = _cut_in(build.body, reorder)
    return build if body is build.body else Build(build.shape, body)


def _cut_in(root: Scalar, reorder: bool) -> Scalar:
    if not any(isinstance(term, Reduce) for term in scalars(root)):
        return root
    done: dict[Scalar, Scalar] = {}
    for term in scalars(root):
        made = rebuild(term, tuple(done[arg] for arg in operands(term)))
        done[term] = (_cut(made, reorder) or made) if isinstance(made, Reduce) else made
    return done[root]


def _cut(fold: Reduce, reorder: bool) -> Scalar | None:
    variable, level = fold.variable, level_of(fold.variable)
    if variable.extent < LEAST_TERMS or level is None:
        return None
    conditions = [term.index for term in scalars(fold.body) if isinstance(term, Position) and term.dtype == "bool"]
    starts = begins(conditions, variable)
    if not 1 < len(starts) <= MOST_PIECES:
        return None
    pieces = [_piece(fold, level, *ends) for ends in pairwise([*starts, variable.hi + 1])]
    kept = [piece for piece in pieces if not _is_neutral(fold.op, piece)]
    in_order = reorder or len(kept) == 1 or fold.op in IN_PIECES or not is_inexact(fold.dtype)
    if not kept or not in_order:
        return None
    if fold.op == "sum" and is_inexact(fold.dtype) and len(kept) < len(pieces):  # with a zero the sum is not -0.0
        kept.append(Literal(identity_of(fold.op, fold.dtype).item(), fold.dtype))
    return functools.reduce(lambda one, other: Call(REDUCE_OPS[fold.op].step, (one, other), fold.dtype), kept)


def _piece(fold: Reduce, level: int, begin: int, end: int) -> Scalar:
    """What is folded of some terms; where all are the same the term, if that is what they are folded to."""
    piece, forms = reduction(level, end - begin), Forms()
    place = piece + begin if piece.extent > 1 else Const(begin)
    body = decided(fold.body, {fold.variable: place}, lambda term: bounds(forms(term)))
    if piece.extent == 1 or (piece not in free_variables(body)[body] and (fold.op in SAME or _is_neutral(fold.op, body))):
        return body
    return Reduce(fold.op, piece, body)


def _is_neutral(op: str, piece: Scalar) -> bool:
    return isinstance(piece, Literal) and piece.value == identity_of(op, piece.dtype).item()
