"""Folds along rows that fill no whole vectors: what is left is a loop of its own, in vectors the last of which is under a mask.

    s = sum over r < 300 of x[r]    as    sum over r < 256, four vectors side by side, and sum over 256 <= r < 300, three vectors

LLVM folds what is left by half vectors, one behind the other, and then number by number, each waiting for the one before.
"""

from __future__ import annotations

from collections.abc import Sequence

from eqsat.codegen.builder import Value, integer
from eqsat.codegen.emitter import Emitter
from eqsat.codegen.folds.rolled import SIDE_BY_SIDE, vectors_of_fold
from eqsat.codegen.math import FUNCTIONS
from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import carrier, is_complex, itemsize
from eqsat.ir.loops import Fold, For, Load, Pick, values_of
from eqsat.ir.tensor import Call, Scalar, scalars

# the vectors of a fold of so many bytes stay a loop: LLVM would write out those of a row of 1,024 floats and join their sums into one chain
LONG_BYTES = 1024
# what takes as long across a vector as several vectors
EXTREMA = ("max", "min")
# elements of less bytes are left to LLVM
LEAST_BYTES = 4


def end_of_vectors(e: Emitter, folds: Sequence[Fold], first: Value, end: Value) -> Value | None:
    """Where a loop of whole vectors over folds ends, and another one begins; None where that leaves nothing, or is no row, and where
    vectors have no masks."""
    one, lanes = folds[0].variable, _lanes(e, folds)
    extent = one.extent
    dear = any(isinstance(term, Call) and term.op in FUNCTIONS for fold in folds for term in _terms(fold))
    block = lanes * SIDE_BY_SIDE if extent >= lanes * SIDE_BY_SIDE and not dear else lanes
    known = (first.text, end.text) == (str(one.lo), str(one.hi + 1))
    if not known or e.exact or not e.b.abilities.masks or extent < lanes or extent % block == 0:
        return None
    return integer(one.lo + extent // block * block, first.type) if all(map(_is_along_row, folds)) else None


def whole_note(e: Emitter, folds: Sequence[Fold], first: Value, middle: Value) -> str | None:
    """The note on a short loop of whole vectors, so that it stays one; None for others."""
    terms, width = int(middle.text) - int(first.text), width_of(folds[0])
    return e.b.keep_rolled(vectors_of_fold(folds[0].dtype, terms, e.registers.bytes)) if terms * width < LONG_BYTES else None


def rest_note(e: Emitter, folds: Sequence[Fold], middle: Value, end: Value) -> str:
    """The note on the loop of what is left."""
    vectors = -(-(int(end.text) - int(middle.text)) // _lanes(e, folds))
    return e.b.keep_masked(1 << (vectors - 1).bit_length())


def width_of(fold: Fold) -> int:
    """The bytes of the widest element that a fold computes with."""
    return max(itemsize(term.dtype) for term in _terms(fold))


def _terms(fold: Fold) -> list[Scalar]:
    return list(scalars(fold.value, *values_of(fold.body)))


def _lanes(e: Emitter, folds: Sequence[Fold]) -> int:
    return e.registers.bytes // width_of(folds[0])


def _is_along_row(fold: Fold) -> bool:
    """Whether all that a fold loads, something at least, lies along memory, or is the same for all of its terms, and has whole lanes of
    registers."""
    terms, loaded = _terms(fold), [term for term in _terms(fold) if isinstance(term, Load)]
    plain = (
        fold.op not in EXTREMA
        and carrier(fold.dtype) == fold.dtype
        and not any(is_complex(term.dtype) or isinstance(term, Pick) for term in terms)
    )
    inside = any(isinstance(inner, For | Fold) for inner in fold.body)
    steps = {coefficient(load.index, fold.variable) for load in loaded}
    return plain and not inside and width_of(fold) >= LEAST_BYTES and 1 in steps and steps <= {0, 1}
