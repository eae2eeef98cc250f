"""Sizes that are known at run time: extents that stand for them while a program is traced and optimized.

A size n is a prime in shapes, its marker, larger than the greatest n and far from every other number of the program; so what is made of it
can be read off a number, n - 1 and 64*n.  These are sizes of their own, whose markers are those numbers.  In index terms sizes stand as
variables, within their bounds.  What is true of all indices below a marker is true of those below any n, so nothing is decided by the size
itself, as long as every read is within its array whatever the sizes are: `check_generic` looks at that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, NoReturn

import numpy as np

from eqsat.ir.errors import TraceError, UnsupportedError, UsageError
from eqsat.ir.generics import as_build
from eqsat.ir.index import Const, Index, Var, walk
from eqsat.ir.polynomials import Polynomial, named, read_off
from eqsat.ir.size_bounds import is_within
from eqsat.ir.steps import HostCall
from eqsat.ir.tensor import Build, Generic, Literal, Read, Reduce, Size, StepResult, Tensor, index_terms, scalars, tensors

# numbers of a program are below its markers by this factor
APART = 4
# a number with many divisors, so that what depends on remainders shows
COMPOSITE = 5040
BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
# a number that stands for a size in a text is no further than that from a multiple of it
NEAR = 16
# index arithmetic is done in 64 bits
LARGEST = 1 << 61
# how far markers are from the square of the one before, where what is made of several is told
FAR = 1 << 8
# elements that no machine has memory for
FARTHEST = 1 << 46


class DerivedSizeError(UnsupportedError):
    """A program computes with a size what has no value before it runs."""


def sizes_for(dims: Iterable[Var], above: int, prime: bool = True, far: bool = False) -> tuple[Size, ...]:
    """Sizes for dims, with markers that are larger than APART times `above`: primes, or numbers with many divisors; `far` from each other,
    so that what is made of several can be told."""
    found: list[Size] = []
    named = list(dict.fromkeys(dims))
    for dim in sorted(named, key=lambda dim: (dim.hi, dim.lo)):  # so that numbers compare as most sizes do
        marker = max(dim.hi + NEAR + 2, APART * (above + 1), *(size.marker + 1 for size in found), 2)
        marker = max(marker, *(max(FARTHEST, FAR * size.marker**2) for size in found), 0) if far else marker
        if marker >= LARGEST and far:
            raise DerivedSizeError(f"found arithmetic with {len(named)} sizes, supported is that with one or two; give others numbers")
        if marker >= LARGEST:
            raise UnsupportedError(f"spec: found the size {dim.name} in {dim.lo}..{dim.hi}, supported are sizes below {LARGEST // APART}")
        while not (_is_prime(marker) if prime else marker % COMPOSITE == 0):
            marker += 1
        found.append(Size(Var(f"${dim.name}", dim.lo, max(dim.hi, dim.lo + 1)), marker, ((1, (dim.name,)),), dim.hi))
    names = [size.variable.name for size in found]
    if len(set(names)) < len(names):
        raise UsageError(f"spec: found two sizes called {names[0][1:]}, expected one dim for each name")
    return tuple(sorted(found, key=lambda size: [dim.name for dim in named].index(size.name)))


def _is_prime(n: int) -> bool:
    """By the test of Miller and Rabin, which with these bases is exact below 3 * 10^23."""
    if n < 2 or any(n % base == 0 for base in BASES):
        return n in BASES
    twos = ((n - 1) & (1 - n)).bit_length() - 1
    odd = (n - 1) >> twos
    return all(pow(base, odd, n) == 1 or any(pow(base, odd << k, n) == n - 1 for k in range(twos)) for base in BASES)


class Markers:
    """The sizes of a program that is traced, by the numbers that stand for them and for what is made of them.

    of_any_size  whether it has sizes, or is traced with numbers for them (`in_numbers`), to be compared with the program that has
    """

    def __init__(self, sizes: Iterable[Size] = (), in_numbers: bool = False) -> None:
        self.sizes = tuple(sizes)
        self.of_any_size = in_numbers or bool(self.sizes)
        self.markers = {size.variable: size.marker for size in self.sizes}
        self.limit = min(self.markers.values(), default=0) // APART
        self._known: dict[int, Polynomial | None] = {}

    def __bool__(self) -> bool:
        return bool(self.markers)

    def polynomial(self, number: int) -> Polynomial | None:
        """What of sizes a number is; None for numbers that are small, or that are not made of sizes."""
        if not self.markers or abs(number) < self.limit:
            return None
        if number not in self._known:
            self._known[number] = read_off(number, self.markers, self.limit)
        return self._known[number]

    def extent(self, number: int) -> int:
        """A number as a traced function sees it."""
        found = self.polynomial(number)
        return number if found is None else Extent(found, self)

    def made(self, polynomial: Polynomial) -> int:
        """The number that stands for what is made of sizes."""
        return polynomial.constant if polynomial.is_number else Extent(polynomial, self)


NO_SIZES = Markers()
# the sizes of the program that is being traced
TRACED: ContextVar[Markers] = ContextVar("sizes", default=NO_SIZES)


class Extent(int):
    """What is made of the sizes of axes, as a traced function sees it: it may be passed on, added, multiplied and divided where that leaves
    no rest; Python cannot decide by it."""

    polynomial: Polynomial
    known: Markers

    def __new__(cls, polynomial: Polynomial, known: Markers) -> Extent:
        made = super().__new__(cls, polynomial.at(known.markers))
        made.polynomial, made.known = polynomial, known
        return made

    def __repr__(self) -> str:
        return str(self.polynomial)

    __str__ = __repr__

    def _with(self, other: Any, change: Callable[[Polynomial, Polynomial], Polynomial]) -> int:
        if isinstance(other, bool) or not isinstance(other, int):
            return NotImplemented  # type: ignore[no-any-return]
        return self.known.made(change(self.polynomial, _polynomial(other)))

    def __add__(self, other: Any) -> int:
        return self._with(other, lambda mine, others: mine + others)

    def __sub__(self, other: Any) -> int:
        return self._with(other, lambda mine, others: mine - others)

    def __rsub__(self, other: Any) -> int:
        return self._with(other, lambda mine, others: others - mine)

    def __mul__(self, other: Any) -> int:
        return self._with(other, lambda mine, others: mine * others)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> int:
        return 0 - self

    def __pos__(self) -> int:
        return self

    def __floordiv__(self, other: Any) -> int:
        found = self.polynomial.divided(_polynomial(other)) if isinstance(other, int) and not isinstance(other, bool) else None
        return self._computed(other) if found is None else self.known.made(found)

    def _computed(self, other: Any = 0, *_: Any) -> NoReturn:
        if not isinstance(other, int | float | complex | np.generic):
            return NotImplemented  # type: ignore[misc]  # an array's operator takes the size
        raise DerivedSizeError(
            f"shape: found arithmetic with the size {self!r}, which is known at run time only; supported are sums, products and quotients "
            "without a rest"
        )

    __rfloordiv__ = __divmod__ = __rdivmod__ = __abs__ = __invert__ = __round__ = __trunc__ = __floor__ = __ceil__ = __int__ = _computed
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _computed
    __truediv__ = __rtruediv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __float__ = _computed

    def _decided(self, true: bool, false: bool, other: Any) -> bool:
        """What a comparison with another number is where bounds tell."""
        if true or false:
            return true
        low, high = self.polynomial.bounds
        raise TraceError(f"shape: found a decision by the size {self!r} in {low}..{high} ({other!r}), which is known at run time only")

    def _less(self, other: Any) -> tuple[int, int]:
        """Bounds of this one less another."""
        return (self.polynomial - _polynomial(int.__add__(other, 0) if not isinstance(other, Extent) else other)).bounds

    def __lt__(self, other: Any) -> bool:
        low, high = self._less(other)
        return self._decided(high < 0, low >= 0, other)

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __gt__(self, other: Any) -> bool:
        low, high = self._less(other)
        return self._decided(low > 0, high <= 0, other)

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int):
            return False
        low, high = self._less(other)
        return self._decided(low == high == 0, high < 0 or low > 0, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = int.__hash__


def _polynomial(value: int) -> Polynomial:
    return value.polynomial if isinstance(value, Extent) else Polynomial.number(value)


def meanings(sizes: Iterable[Size]) -> dict[int, Polynomial]:
    """What the sizes of a program are, by the extents that stand for them."""
    variables = {size.name: size.variable for size in sizes}
    return {size.marker: named(size.terms, variables.__getitem__) for size in sizes}


def check_generic(roots: Iterable[Tensor], sizes: tuple[Size, ...]) -> None:
    """DerivedSizeError where a tensor has an extent, index or constant that is no small number and no marker as it stands, or is read
    where some size may have no element."""
    known = meanings(sizes)
    limit = min(size.marker for size in sizes if not size.is_made) // APART
    names = ", ".join(size.name for size in sizes if not size.is_made)
    for tensor in tensors(*roots):
        build = as_build(tensor) if isinstance(tensor, Generic) else tensor
        for read, extent in _reads_outside(build, known):
            raise DerivedSizeError(
                f"sizes {names}: found an axis of {known.get(extent, extent)} elements that is read at {str(read).replace('$', '')}, "
                "expected a place that every size in the range has"
            )
        for number in _numbers(build, set(known)):
            if abs(number) >= limit:
                raise DerivedSizeError(f"sizes {names}: found a number that is computed from them, or as large as they may be ({number:g})")


def is_generic(roots: Iterable[Tensor], sizes: tuple[Size, ...]) -> bool:
    """Whether check_generic finds nothing."""
    try:
        check_generic(roots, sizes)
    except DerivedSizeError:
        return False
    return True


def _reads_outside(tensor: Tensor, known: Mapping[int, Polynomial]) -> Iterator[tuple[Index, int]]:
    """Indices that may be outside of their axes for some sizes, with the extents of these."""
    for term in scalars(tensor.body) if isinstance(tensor, Build) else ():
        if isinstance(term, Read):
            for index, extent in zip(term.indices, term.tensor.shape, strict=True):
                own = isinstance(index, Var) and index.extent == extent
                if not own and not is_within(index, extent, known):
                    yield index, extent


def _numbers(tensor: Tensor, markers: set[int]) -> Iterator[float]:
    """The numbers that a tensor is made of: extents that are no markers, constants, those of indices, and arguments of calls."""
    yield from (extent for extent in tensor.shape if extent not in markers)
    if isinstance(tensor, StepResult) and isinstance(tensor.step, HostCall):
        yield from (value for value in tensor.step.invocation.values if isinstance(value, int))
    if not isinstance(tensor, Build):
        return
    for term in scalars(tensor.body):
        if isinstance(term, Literal) and any(_is_of(term.value.real, marker) for marker in markers):
            yield term.value.real
        elif isinstance(term, Reduce) and term.variable.extent not in markers:
            yield term.variable.extent
        for index in index_terms(term):
            yield from (int(sub.value) for sub in walk(index) if isinstance(sub, Const))


def _is_of(value: float, marker: int) -> bool:
    """Whether a number may be a multiple of what stands for a size, or its last place."""
    return abs(value) >= marker - 1 and value % marker in (0, 1, marker - 1)


def in_names(text: str, sizes: Iterable[Size]) -> str:
    """A text about a trace with what is made of its sizes in the place of numbers that stand for that."""
    markers = Markers(sizes)

    def name(match: re.Match[str]) -> str:
        found = markers.polynomial(int(match[0]))
        near = found is not None and abs(found.constant) < NEAR
        return str(found) if near else match[0]

    return re.sub(r"(?<!\w)(?<!\d\.)-?\d+(?!\w)(?!\.\d)", name, text)


def plain(value: int) -> int:
    """An extent as a number, its marker if it is a size."""
    return int.__add__(value, 0)


def least_of(extent: int) -> int:
    """The least that an extent of the program that is traced may be."""
    size = TRACED.get().polynomial(plain(extent))
    return extent if size is None else size.bounds[0]


def of_any_size() -> bool:
    """Whether the program that is traced must not depend on extents that are numbers, for some of them may stand for sizes."""
    return TRACED.get().of_any_size


def is_one(extent: int) -> bool:
    """Whether an extent of the program that is traced is 1; DerivedSizeError where that depends on a size."""
    size = TRACED.get().polynomial(plain(extent))
    if size is not None and size.bounds[0] <= 1:
        low, high = size.bounds
        raise DerivedSizeError(f"found the size {size} in {low}..{high}, which may be 1; name the axes")
    return extent == 1


def product(extents: Iterable[int]) -> int:
    """The number of elements of axes: an Extent where one is a size of the program that is traced."""
    traced = TRACED.get()
    total = Polynomial.number(1)
    for extent in map(plain, extents):
        total = total * (traced.polynomial(extent) or Polynomial.number(extent))
    return traced.made(total)


def shape_text(shape: Iterable[int]) -> str:
    """A shape with the names of sizes that are known at run time only."""
    traced = TRACED.get()
    names = [str(traced.polynomial(plain(n)) or plain(n)) for n in shape]
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"
