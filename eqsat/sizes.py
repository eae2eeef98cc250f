"""Sizes that are known at run time: extents that stand for them while a program is traced and optimized.

A size n is a prime in shapes, its marker, larger than the greatest n and far from every other number of the program.  What is true of all
indices below the marker is true of those below any n; so nothing is decided by the size itself, as long as no number is made of it and
an axis of that size is read at its own loops only.  `check_generic` looks for the contrary.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, NoReturn

from eqsat.ir.canonical import canonical_text
from eqsat.ir.errors import TraceError, UnsupportedError, UsageError
from eqsat.ir.generics import as_build
from eqsat.ir.index import Const, Index, Var, walk
from eqsat.ir.steps import HostCall
from eqsat.ir.tensor import Build, Gather, Generic, Literal, Program, Read, Reduce, Size, StepResult, Tensor, index_terms, scalars, tensors

# numbers of a program are below its markers by this factor
APART = 4
# a number with many divisors, so that what depends on remainders shows
COMPOSITE = 5040
BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
# index arithmetic is done in 64 bits
LARGEST = 1 << 61
# the sizes of the program that is being traced, by their markers
TRACED: ContextVar[Mapping[int, Var] | None] = ContextVar("sizes", default=None)


class DerivedSizeError(UnsupportedError):
    """A program computes with a size, which has no value before it runs."""


def sizes_for(dims: Iterable[Var], above: int, prime: bool = True) -> tuple[Size, ...]:
    """Sizes for dims, with markers that are larger than APART times `above`: primes, or numbers with many divisors."""
    found: list[Size] = []
    for dim in dict.fromkeys(dims):
        marker = max(dim.hi + 2, APART * (above + 1), *(size.marker + 1 for size in found), 2)
        if marker >= LARGEST:
            raise UnsupportedError(f"spec: found the size {dim.name} in {dim.lo}..{dim.hi}, supported are sizes below {LARGEST // APART}")
        while not (_is_prime(marker) if prime else marker % COMPOSITE == 0):
            marker += 1
        found.append(Size(Var(f"${dim.name}", dim.lo, dim.hi), marker))
    names = [size.variable.name for size in found]
    if len(set(names)) < len(names):
        raise UsageError(f"spec: found two sizes called {names[0][1:]}, expected one dim for each name")
    return tuple(found)


def _is_prime(n: int) -> bool:
    """By the test of Miller and Rabin, which with these bases is exact below 3 * 10^23."""
    if n < 2 or any(n % base == 0 for base in BASES):
        return n in BASES
    twos = ((n - 1) & (1 - n)).bit_length() - 1
    odd = (n - 1) >> twos
    return all(pow(base, odd, n) == 1 or any(pow(base, odd << k, n) == n - 1 for k in range(twos)) for base in BASES)


class Extent(int):
    """The size of an axis as a traced function sees it: it may be passed on, but Python cannot compute with it or decide by it."""

    size: Var

    def __new__(cls, size: Var, marker: int) -> Extent:
        made = super().__new__(cls, marker)
        made.size = size
        return made

    def __repr__(self) -> str:
        return self.size.name[1:]

    __str__ = __repr__

    def _computed(self, *_: Any) -> NoReturn:
        raise DerivedSizeError(f"shape: found arithmetic with the size {self!r}, which is known at run time only; use extents as they are")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __rfloordiv__ = _computed
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _computed
    __divmod__ = __rdivmod__ = __abs__ = __pos__ = __invert__ = __round__ = __trunc__ = __floor__ = __ceil__ = __int__ = _computed
    __truediv__ = __rtruediv__ = __mod__ = __rmod__ = __pow__ = __neg__ = __float__ = _computed

    def _decided(self, true: bool, false: bool, other: Any) -> bool:
        """What a comparison with another number is where bounds tell."""
        if true or false:
            return true
        raise TraceError(
            f"shape: found a decision by the size {self!r} in {self.size.lo}..{self.size.hi} ({other!r}), which is known at run time only"
        )

    def _bounds(self, other: Any) -> tuple[int, int]:
        return (int(self), int(self)) if isinstance(other, Extent) and other.size is self.size else self.size.bounds

    def __lt__(self, other: Any) -> bool:
        low, high = self._bounds(other)
        return self._decided(high < int(other), low >= int(other), other)

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __gt__(self, other: Any) -> bool:
        low, high = self._bounds(other)
        return self._decided(low > int(other), high <= int(other), other)

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Extent) and other.size is self.size:
            return True
        if not isinstance(other, int):
            return False
        low, high = other.size.bounds if isinstance(other, Extent) else (other, other)
        mine = self.size.bounds
        return self._decided(mine[0] == mine[1] == low == high, high < mine[0] or low > mine[1], other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = int.__hash__


def check_generic(roots: Iterable[Tensor], sizes: tuple[Size, ...]) -> None:
    """DerivedSizeError where a tensor has an extent, index or constant that is no small number and no marker as it stands, or is read
    where some size may have no element."""
    markers = {size.marker for size in sizes}
    least = {size.marker: size.variable.lo for size in sizes}
    limit = min(markers) // APART
    for tensor in tensors(*roots):
        build = as_build(tensor) if isinstance(tensor, Generic) else tensor
        for read in _reads_outside(build, least):
            names = ", ".join(size.variable.name[1:] for size in sizes)
            raise DerivedSizeError(f"sizes {names}: found an axis of such a size that is read at {read}, expected all of it, in order")
        for number in _numbers(build, markers):
            if abs(number) >= limit:
                names = ", ".join(size.variable.name[1:] for size in sizes)
                raise DerivedSizeError(f"sizes {names}: found a number that is computed from them, or as large as they may be ({number:g})")


def is_generic(roots: Iterable[Tensor], sizes: tuple[Size, ...]) -> bool:
    """Whether check_generic finds nothing."""
    try:
        check_generic(roots, sizes)
    except DerivedSizeError:
        return False
    return True


def _reads_outside(tensor: Tensor, least: Mapping[int, int]) -> Iterator[Index]:
    """Indices of axes whose extents are sizes that are neither a loop over the same size nor below the least of it."""
    for term in scalars(tensor.body) if isinstance(tensor, Build) else ():
        if isinstance(term, Read):
            for index, extent in zip(term.indices, term.tensor.shape, strict=True):
                own = isinstance(index, Var) and index.extent == extent
                if extent in least and not own and index.bounds[1] >= least[extent]:
                    yield index


def _numbers(tensor: Tensor, markers: set[int]) -> Iterator[float]:
    """The numbers that a tensor is made of: extents that are no markers, constants, those of indices, and arguments of calls."""
    yield from (extent for extent in tensor.shape if extent not in markers)
    if isinstance(tensor, StepResult) and isinstance(tensor.step, HostCall):
        yield from (value for value in tensor.step.invocation.values if isinstance(value, int))
    if not isinstance(tensor, Build):
        return
    for term in scalars(tensor.body):
        if isinstance(term, Literal) and term.value and any(term.value.real % marker == 0 for marker in markers):
            yield term.value.real
        elif isinstance(term, Reduce) and term.variable.extent not in markers:
            yield term.variable.extent
        elif isinstance(term, Gather):
            yield from (extent for extent in term.tensor.shape if extent in markers)  # places are computed from extents
        for index in index_terms(term):
            yield from (int(sub.value) for sub in walk(index) if isinstance(sub, Const))


def plain(value: int) -> int:
    """An extent as a number, its marker if it is a size."""
    return int.__add__(value, 0)


def is_one(extent: int) -> bool:
    """Whether an extent of the program that is traced is 1; DerivedSizeError where that depends on a size."""
    size = (TRACED.get() or {}).get(extent)
    if size is not None and size.lo == 1:
        raise DerivedSizeError(f"found the size {size.name[1:]} in {size.lo}..{size.hi}, which may be 1; name the axes")
    return extent == 1


def program_text(program: Program) -> str:
    """A text that two programs have in common if they differ in the markers of their sizes only."""
    text = canonical_text(program)
    for size in program.sizes:
        name = size.variable.name[1:]
        text = re.sub(rf"(?<![\w.:]){size.marker}(?![\w.])", name, re.sub(rf"(?<![\w.:]){size.marker - 1}(?![\w.])", f"{name}-1", text))
    return text


def largest_common(first: Iterable[Tensor], second: Iterable[Tensor]) -> int:
    """The greatest extent that a program has whatever the markers are."""
    extents = ({extent for tensor in tensors(*roots) for extent in tensor.shape} for roots in (first, second))
    return max(set.intersection(*extents), default=1)


def product(extents: Iterable[int]) -> int | Index:
    """The number of elements of axes: an index term where one is a size of the program that is traced."""
    known = TRACED.get() or {}
    total: int | Index = 1
    for extent in extents:
        factor = known.get(plain(extent), plain(extent))
        total = factor if isinstance(total, int) and total == 1 else total * factor
    return total


def shape_text(shape: Iterable[int]) -> str:
    """A shape with the names of sizes that are known at run time only."""
    known = TRACED.get() or {}
    names = [known[plain(n)].name[1:] if plain(n) in known else str(plain(n)) for n in shape]
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"
