"""One program for all sizes in a range: a function is traced with two sets of numbers that stand for its sizes, what is made of them is
read off the numbers, and both programs have to say the same.

A function may decide by numbers, and by those that stand for sizes it decides as for large ones; the program is therefore compared with
those of small sizes and of the corners of their ranges, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from eqsat.capture.resized import extents, integers, literals, numbers, resized
from eqsat.ir.canonical import canonical_text
from eqsat.ir.dtypes import is_inexact
from eqsat.ir.errors import BoundsError, EqsatError
from eqsat.ir.evaluate import evaluate
from eqsat.ir.index import Const, Index, Var
from eqsat.ir.polynomials import Polynomial
from eqsat.ir.tensor import Constant, Input, Program, Shape, Size, tensors
from eqsat.sizes.markers import APART, DerivedSizeError, Markers, check_generic, meanings, sizes_for

Array = np.ndarray[Any, Any]
Traced = Callable[[tuple[Size, ...]], Program]
# numbers below that are not taken for what is made of sizes; loops of so many iterations are not written out
FEW, MANY = 1 << 8, 1 << 10
MADE_BY_US = "use eqsat.numpy.zeros, ones, arange"
MADE_BY_NUMPY = f"found an array of a size that is known at run time only, made by NumPy; {MADE_BY_US}"
# how many small sizes a program is looked at with, from the least on; how much greater than all others a large one is; corners of ranges
SMALL, MORE, MOST_CORNERS = 4, 9, 16
# of elements of two programs, which may add in another order
TOLERANCE = 1e-4
# numbers around which elements of two programs are compared, at the most, and how far from them these may be
MOST_MIDDLES, FAR = 6, 64


def program_of_any_size(dims: Sequence[Var], above: int, traced: Traced, at: Callable[[Mapping[str, int]], Program]) -> Program:
    """The Program of a function for all sizes of `dims`.

    traced  the function's Program with numbers for sizes; `at`: the one for known sizes; `above`: a number that all markers are above

    Raises DerivedSizeError where there is no such Program.
    """
    names = ", ".join(dict.fromkeys(dim.name for dim in dims))
    above, far = max(above, FEW), False
    while True:
        first, second = _twice(dims, above, far, traced)
        program = _general(first, second, dims)
        if program is not None:
            check_generic(program.outputs, program.sizes)
            _check_small(program, dims, at)
            return program
        common = max({*numbers(first)} & {*numbers(second)}, default=1)
        if _length(first) != _length(second) or (common <= above and (far or len(dims) == 1)):
            raise DerivedSizeError(f"found another program for other values of {names}, expected one for all")
        above, far = max(above, common), common <= above


def _length(program: Program) -> int:
    """How many tensors there are: another number where a loop of Python's goes as far as a size."""
    return sum(1 for _ in tensors(*program.outputs))


def _twice(dims: Sequence[Var], above: int, far: bool, traced: Traced) -> tuple[Program, Program]:
    """The programs for two sets of numbers."""
    try:
        first = traced(sizes_for(dims, above, far=far))
        return first, traced(sizes_for(dims, above if far else max(size.marker for size in first.sizes), prime=False, far=far))
    except MemoryError:
        raise DerivedSizeError(f"found an array of elements of the size of one that is known at run time only; {MADE_BY_US}") from None


def _general(first: Program, second: Program, dims: Sequence[Var]) -> Program | None:
    """What two programs of the same function are for all sizes; None where they differ."""
    if any(map(Markers(first.sizes).polynomial, itertools.chain(*(_shapes(first) - _shapes(second))))):
        raise DerivedSizeError(MADE_BY_NUMPY)
    fixed = _fixed(first, second)
    if (made := _made(first, fixed)) is None or made != _made(second, fixed):
        return None
    marks = Markers(first.sizes)
    known = (abs(number) for number in numbers(first) if number in fixed or marks.polynomial(number) is None)
    above = max(MANY, *known, *(abs(k) for polynomial in made for _, k in polynomial.terms))
    sizes = (marks.polynomial(number) for number in extents(first) if number not in fixed)
    table = _table(sizes_for(dims, above), {found for found in sizes if found is not None})
    one, two = (_resized(program, Markers(program.sizes), table, fixed) for program in (first, second))
    return one if one is not None and two is not None and canonical_text(one) == canonical_text(two) else None


def _fixed(first: Program, second: Program) -> frozenset[int]:
    """The numbers that do not change with what stands for sizes."""
    one, two = ({*numbers(program), *integers(program)} for program in (first, second))
    return frozenset(one & two)


def _shapes(program: Program) -> set[Shape]:
    """The shapes of arrays that NumPy has made."""
    return {tensor.shape for tensor in tensors(*program.outputs) if isinstance(tensor, Constant)}


def _made(program: Program, fixed: Collection[int]) -> set[Polynomial] | None:
    """What the numbers of a program are that are made of sizes; None where one is large, and is not."""
    marks = Markers(program.sizes)
    large = {number for number in (*numbers(program), *integers(program)) if abs(number) >= marks.limit and number not in fixed}
    made = {marks.polynomial(number) for number in large}
    return None if None in made else {polynomial for polynomial in made if polynomial is not None}


def _table(sizes: tuple[Size, ...], extents: Iterable[Polynomial]) -> dict[Polynomial, Size]:
    """Sizes by what they are: those that arrays tell, and those that extents are made of."""
    markers = {size.variable: size.marker for size in sizes}
    table = {Polynomial.size(size.variable): size for size in sizes}
    for polynomial in sorted(set(extents) - set(table), key=str):
        low, high = polynomial.bounds
        if low < 1:
            raise DerivedSizeError(f"found the size {polynomial} in {low}..{high}, expected 1 or more; give its dim a larger least size")
        variable = Var(f"${polynomial}", low, max(high, low + 1))
        table[polynomial] = Size(variable, polynomial.at(markers), polynomial.by_name, high)
    least = min(markers.values()) // APART
    different = {size.marker for size in table.values() if size.marker >= max(size.variable.hi, least)}
    if len(different) < len(table):
        names = ", ".join(map(str, table))
        raise DerivedSizeError(f"found axes of {names} elements, supported are those that grow with the sizes named last; swap them")
    return table


def _resized(program: Program, marks: Markers, table: Mapping[Polynomial, Size], fixed: Collection[int]) -> Program | None:
    """The program with the markers of sizes in a table, and index terms that are made of sizes; None where one is not in it."""

    def extent(number: int) -> int:
        found = None if number in fixed else marks.polynomial(number)
        return number if found is None else table[found].marker

    def term(constant: Const | Var) -> Index:
        known = not isinstance(constant, Const) or constant.value in fixed
        found = None if known else marks.polynomial(int(constant.value))  # type: ignore[union-attr]
        return constant if found is None else found.term

    try:
        return resized(program, extent, term, tuple(table.values()))
    except KeyError:
        return None


def _check_small(program: Program, dims: Sequence[Var], at: Callable[[Mapping[str, int]], Program]) -> None:
    """DerivedSizeError where the program of some sizes is not the general one.

    What an operation decides by numbers is a comparison of sums of sizes, which markers decide as large sizes do; where some sizes of the
    range decide otherwise, one of its corners does.
    """
    for values in _corners(program, dims):
        where = ", ".join(f"{name} = {value}" for name, value in values.items())
        try:
            known = at(values)
        except EqsatError as error:
            raise DerivedSizeError(f"for {where}: {error}; give dim a larger least size") from error
        general = with_sizes_known(program, values)
        if canonical_text(general) != canonical_text(known) and not _agree(general, known):
            raise DerivedSizeError(f"found another program for {where} than for greater sizes; give dim a larger least size")


def _corners(program: Program, dims: Sequence[Var]) -> Iterator[dict[str, int]]:
    """The least sizes and some behind them, together and each with those that are greater than all of these and every number."""
    limit = Markers(program.sizes).limit
    turn = max((abs(number) for number in numbers(program) if abs(number) < limit), default=0)
    greatest = max(dim.lo for dim in dims) + turn + MORE
    steps = [tuple(min(dim.hi, dim.lo + step) for dim in dims) for step in (*range(SMALL), turn, turn + 1)]
    ends = itertools.product(*((dim.lo, min(dim.hi, greatest)) for dim in dims))
    mixed = [tuple(min(dim.hi, dim.lo + SMALL * (k == larger)) for k, dim in enumerate(dims)) for larger in range(len(dims))]
    for sizes in dict.fromkeys((*steps, *itertools.islice(ends, MOST_CORNERS), *mixed)):
        yield {dim.name: size for dim, size in zip(dims, sizes, strict=True)}


def with_sizes_known(program: Program, values: Mapping[str, int]) -> Program:
    """The program for these sizes."""
    variables = {size.variable: values[size.name] for size in program.sizes if not size.is_made}
    extents = {marker: polynomial.at(variables) for marker, polynomial in meanings(program.sizes).items()}
    return resized(program, lambda n: extents.get(n, n), lambda term: Const(variables[term]) if isinstance(term, Var) else term, ())


def _agree(one: Program, other: Program) -> bool:
    """Whether two programs give the same for some arrays: of small numbers, which may be places in others, and of numbers that all differ
    from each other, on both sides of zero and of each number that the programs are made of, since they may be compared with it."""
    shapes = [[(tensor.shape, tensor.dtype) for tensor in program.outputs] for program in (one, other)]
    if shapes[0] != shapes[1] or one.structure != other.structure:
        return False
    rng = np.random.default_rng(0)
    middles = dict.fromkeys((0.0, *itertools.chain(literals(one), literals(other))))
    draws = [[_small(rng, tensor) for tensor in one.inputs]]
    for middle, shift in itertools.product(itertools.islice(middles, MOST_MIDDLES), (0, 1, -1)):
        draws.append([_apart(rng, tensor, middle, shift) for tensor in one.inputs])
    return all(_same(_values(one, arrays), _values(other, arrays)) for arrays in draws)


def _same(found: Sequence[Array], expected: Sequence[Array]) -> bool:
    return len(found) == len(expected) and all(
        np.allclose(a, b, TOLERANCE, TOLERANCE, equal_nan=True) for a, b in zip(found, expected, strict=True)
    )


def _values(program: Program, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """What a program computes; nothing where that leads out of an array."""
    try:
        with np.errstate(all="ignore"):
            return evaluate(program, arrays)
    except BoundsError:
        return ()


def _small(rng: np.random.Generator, tensor: Input) -> Array:
    random = rng.uniform(0, 2, tensor.shape) if is_inexact(tensor.dtype) else rng.integers(0, 2, tensor.shape)
    return np.asarray(random).astype(tensor.dtype)


def _apart(rng: np.random.Generator, tensor: Input, middle: float, shift: int) -> Array:
    """Numbers that differ, in any order: around one, or with a shift of 1 or -1 above or below it."""
    size = prod(tensor.shape)
    order = 2 * rng.permutation(size).reshape(tensor.shape) - (size - 1) + shift * size
    with np.errstate(all="ignore"):
        return np.asarray(middle + order * min(1.0, FAR / max(size, 1))).astype(tensor.dtype)
