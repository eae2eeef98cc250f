"""Whole numbers in 32 bits where that says the same, in comparisons and in sums: a vector holds twice as many.

int64(x) == k, for x of int32 and a place k in its range  ->  x == int32(k)
sum of int64(x > t), of fewer than 2^31 elements          ->  int64(sum of int32(x > t))
sum of float64(x), of bytes                               ->  float64(sum of int32(x)), which is exact as the sum of floats was; so are
                                                              sums of such sums
"""

from __future__ import annotations

from eqsat.ir.dtypes import itemsize
from eqsat.ir.interval import within
from eqsat.ir.ops import COMPARISONS, RING
from eqsat.ir.tensor import Call, Literal, Position, Reduce, Scalar, as_dtype, operands, rebuild, scalars
from eqsat.ir.value_bounds import Bounds, bounds_below, is_whole, limits, sum_bounds

WIDE_INTEGER, NARROW_INTEGER = "int64", "int32"
# up to here floats hold all whole numbers, so that no order of adding such rounds
EXACT_TO = {"float32": 1 << 24, "float64": 1 << 53}


def narrowed(root: Scalar) -> Scalar:
    """An element with comparisons and sums in 32 bits of what has no more."""
    return _Narrowed(root).whole[root]


def narrow(value: Scalar) -> Scalar:
    """A value that 32 bits hold in them, without casts where it is chosen from places and numbers, or was one of 32 bits."""
    return _Narrowed(value).in_32_bits[value]


class _Narrowed:
    """An element and all that it is made of: as what it is, and in 32 bits what these hold.

    whole       of its own dtype, with comparisons and sums in 32 bits
    in_32_bits  the same numbers as int32, of terms whose bounds say that it holds them
    summed      sums of floats that are such numbers, as they are carried, and the bounds of these
    """

    def __init__(self, root: Scalar) -> None:
        self.bounds = bounds_below(root)
        self.whole: dict[Scalar, Scalar] = {}
        self.in_32_bits: dict[Scalar, Scalar] = {}
        self.summed: dict[Scalar, tuple[Scalar, Bounds]] = {}
        for term in scalars(root):
            self.whole[term] = self._whole(term)
            if is_whole(term.dtype) and within(self.bounds[term], limits(NARROW_INTEGER)):
                self.in_32_bits[term] = self._in_32_bits(term, self.whole[term])

    def _whole(self, term: Scalar) -> Scalar:
        args = operands(term)
        if isinstance(term, Reduce) and term.op == "sum" and (found := self._sum(term)) is not None:
            return found
        compares = isinstance(term, Call) and term.op in COMPARISONS and any(isinstance(arg, Call) for arg in args)
        chosen = self.in_32_bits if compares and all(map(self._is_narrow, args)) else self.whole
        return rebuild(term, tuple(chosen[arg] for arg in args))

    def _sum(self, fold: Reduce) -> Scalar | None:
        """A sum carried in 32 bits, if these hold it and whatever it passes through; None where they do not."""
        number, own = self._number(fold.body)
        if number is None:
            return None
        found, most = sum_bounds(fold.variable, own), EXACT_TO.get(fold.dtype, limits(NARROW_INTEGER)[1])
        if not within(found, _common(limits(NARROW_INTEGER), (-most, most))):
            return None
        carried = Reduce("sum", fold.variable, number)
        if fold.dtype in EXACT_TO:
            self.summed[fold] = carried, found
        return as_dtype(carried, fold.dtype)

    def _number(self, term: Scalar) -> tuple[Scalar | None, Bounds]:
        """A whole number that 32 bits hold as that, and its bounds; what is no integer is one that became a float, or a sum of such."""
        if term in self.summed:
            return self.summed[term]
        number = term.args[0] if term.dtype in EXACT_TO and isinstance(term, Call) and term.op == "astype" else term
        if number not in self.in_32_bits or (number is term and term.dtype not in (WIDE_INTEGER, "uint64")):
            return None, limits(NARROW_INTEGER)
        return self.in_32_bits[number], self.bounds[number]

    def _is_narrow(self, value: Scalar) -> bool:
        """Whether a number of 64 bits was one of 32, or is chosen from such, or a place or a number in their range."""
        known = value.op in ("astype", "where") if isinstance(value, Call) else isinstance(value, Position | Literal)
        return known and value.dtype == WIDE_INTEGER and value in self.in_32_bits

    def _in_32_bits(self, term: Scalar, whole: Scalar) -> Scalar:
        if itemsize(term.dtype) < itemsize(NARROW_INTEGER):  # it wraps, or is cut off, where it is
            return as_dtype(whole, NARROW_INTEGER)
        if isinstance(term, Position):
            return Position(term.index, NARROW_INTEGER)
        if isinstance(term, Literal):
            return Literal(term.value, NARROW_INTEGER)
        if isinstance(whole, Call) and whole.op == "astype" and within(limits(whole.args[0].dtype), limits(NARROW_INTEGER)):
            return as_dtype(whole.args[0], NARROW_INTEGER)
        if isinstance(term, Call) and term.op == "where" and all(arg in self.in_32_bits for arg in term.args[1:]):
            return Call("where", (self.whole[term.args[0]], *(self.in_32_bits[arg] for arg in term.args[1:])), NARROW_INTEGER)
        if isinstance(term, Call) and term.op in RING and all(arg in self.in_32_bits for arg in term.args):
            return Call(term.op, tuple(self.in_32_bits[arg] for arg in term.args), NARROW_INTEGER)
        return as_dtype(whole, NARROW_INTEGER)


def _common(one: Bounds, other: Bounds) -> Bounds:
    return max(one[0], other[0]), min(one[1], other[1])
