"""Whether the code of an operation of the caller is what its meaning says: compared on special and random values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eqsat.codegen import compile_kernels
from eqsat.ir.dtypes import integer_range, is_float
from eqsat.ir.errors import UsageError, one_line
from eqsat.ir.index import Var
from eqsat.ir.interval import within
from eqsat.ir.loops import Buffer, For, Kernel, Load, Store
from eqsat.ir.tensor import Call
from eqsat.ir.value_bounds import Bounds, limits
from eqsat.lowering import type_indices

Array = np.ndarray[Any, Any]
ULPS = 4.0
# random operands beside every combination of special ones, of which there are no more than so many
RANDOM, COMBINED = 4096, 20_000
# boxes of operands in which bounds are tried, and values in each
BOXES, INSIDE = 200, 50
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -7.25, 10.0, 1e-7, 1e4, np.inf, -np.inf, np.nan)


@dataclass(frozen=True, eq=False)
class Definition:
    """What an operation of the caller is.

    key      its name in programs, which no other operation of this process has
    loops    by the dtype that operands are cast to the dtype of the result, as `types` of a ufunc
    meaning  what it computes, on NumPy arrays of such a dtype
    bounds   of the result of whole operands, given theirs
    cycles   of one vector operation, in the cost model
    ulps     by how many units in the last place its code may miss its meaning
    """

    name: str
    key: str
    arity: int
    loops: Mapping[str, str]
    meaning: Callable[..., Any]
    bounds: Callable[..., Bounds] | None
    cycles: float
    ulps: float

    def called(self, operands: Sequence[object]) -> str:
        """The operation on these, as it is written."""
        return f"{self.name}({', '.join(map(repr, operands))})"


@dataclass(frozen=True)
class OperationVerdict:
    """What checking an operation found: true only if nothing is wrong.

    points          how many operands, or tuples of them, were tried
    failure         what is wrong, in one line; "" if nothing is
    dtype           of the operands of the counterexample
    counterexample  operands for which the code is not what the meaning says, or the meaning is not within the bounds
    found, expected what the code gives for them and what the meaning, or the meaning and the bounds
    """

    operation: str
    points: int
    failure: str = ""
    dtype: str = ""
    counterexample: tuple[Any, ...] | None = None
    found: Any = None
    expected: Any = None

    def __bool__(self) -> bool:
        return not self.failure

    def __str__(self) -> str:
        return f"operation {self.operation}: {self.failure or f'its code is its meaning at {self.points:,} points'}"


def verdict_on(row: Definition) -> OperationVerdict:
    """Whether an operation that is in the tables computes what it means."""
    points = 0
    for dtype, result in row.loops.items():
        given = samples(dtype, row.arity)
        points += given[0].size
        expected = np.asarray(row.meaning(*given))
        backwards = np.asarray(row.meaning(*(array[::-1] for array in given)))[::-1]
        for what, found, allowed in (
            ("as its meaning among other elements", backwards, 0.0),
            ("by its code", _computed(row, given, result), row.ulps),
        ):
            wrong = np.flatnonzero(~agree(found, expected, allowed))
            if wrong.size:
                operands = tuple(array[wrong[0]].item() for array in given)
                values = found[wrong[0]].item(), expected[wrong[0]].item()
                within = f", within {allowed:g} units in the last place" if is_float(result) and allowed else ""
                failure = f"{row.called(operands)} of {dtype} is {values[0]!r} {what}, expected {values[1]!r}{within}"
                return OperationVerdict(row.name, points, failure, dtype, operands, *values)
        if row.bounds is not None and not is_float(dtype) and not is_float(result):
            outside = _outside(row, row.bounds, dtype, points)
            if outside is not None:
                return outside
    return OperationVerdict(row.name, points)


# values ---------------------------------------------------------------------------------------------------------------
def samples(dtype: str, arity: int) -> list[Array]:
    """Operands to try: every combination of special values, then random ones; the same on every run."""
    special = special_values(dtype)
    count = len(special) if len(special) ** arity <= COMBINED else int(COMBINED ** (1 / arity))
    combined = np.array(list(itertools.product(range(count), repeat=arity))).T
    rng = np.random.default_rng(0)
    return [np.concatenate([special[row], random_values(dtype, rng)]) for row in combined]


def special_values(dtype: str) -> Array:
    """Values where operations go wrong, the plainest first."""
    if dtype == "bool":
        return np.array([False, True])
    if is_float(dtype):
        info = np.finfo(dtype)
        ends = (info.max, info.min, info.tiny, -info.tiny, info.smallest_subnormal, info.eps)
        return np.array([*SPECIAL, *map(float, ends)], dtype)
    low, high = integer_range(dtype)
    powers = [1 << k for k in range(2, high.bit_length(), 5)]
    negative = (-1, -2, -3, -10, low, low + 1) if low else ()
    known = [0, 1, 2, 3, 7, 10, high, high - 1, *negative, *powers, *(power - 1 for power in powers)]
    return np.array(list(dict.fromkeys(known)), dtype)


def random_values(dtype: str, rng: np.random.Generator) -> Array:
    """Random bits, and of floats numbers of everyday size."""
    if dtype == "bool":
        return rng.integers(0, 2, RANDOM).astype(bool)
    bits = rng.integers(0, 256, RANDOM * np.dtype(dtype).itemsize, np.uint8).view(dtype)
    if is_float(dtype):
        return np.where(rng.random(RANDOM) < 0.5, bits, (rng.normal(size=RANDOM) * 10.0 ** rng.integers(-3, 4, RANDOM)).astype(dtype))
    return bits


def _computed(row: Definition, given: Sequence[Array], result: str) -> Array:
    """What the code gives, in a loop that LLVM may make vectors of."""
    size = given[0].size
    i = Var("i", 0, size - 1)
    dtypes = [array.dtype.name for array in given]
    value = Call(row.key, tuple(Load(f"in{k}", i, dtype) for k, dtype in enumerate(dtypes)), result)
    inputs = (Buffer(f"in{k}", dtype, size, "in") for k, dtype in enumerate(dtypes))
    kernel = Kernel("check", (*inputs, Buffer("out", result, size, "out")), (For(i, "parallel", (Store("out", i, value),)),))
    out = np.zeros(size, result)
    try:
        compile_kernels([type_indices(kernel)], "exact").routine("check")([*map(np.ascontiguousarray, given), out])
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"operation {row.name}: its code is refused: {one_line(error)}") from error
    return out


# comparing ------------------------------------------------------------------------------------------------------------
def agree(found: Array, expected: Array, ulps: float) -> Array:
    """Where two arrays of a dtype agree: floats within so many units in the last place, all NaN being one; with none, zeros of two signs
    differ."""
    if not is_float(expected.dtype.name):
        return np.asarray(found == expected)
    near = (_apart(found, expected) <= ulps) & (np.isinf(found) == np.isinf(expected)) & ~np.isnan(found) & ~np.isnan(expected)
    if not ulps:
        near &= np.signbit(found) == np.signbit(expected)
    return np.asarray(near | (np.isnan(found) & np.isnan(expected)))


def _apart(a: Array, b: Array) -> Any:
    """How many units in the last place lie between floats: their patterns are numbers in order, up and down from zero."""
    whole = f"int{a.dtype.itemsize * 8}"
    (x, y) = (np.abs(array).view(whole).astype(np.int64) for array in (a, b))
    return np.where(np.signbit(a) == np.signbit(b), np.abs(x - y).astype(float), x.astype(float) + y)


def _outside(row: Definition, bounds: Callable[..., Bounds], dtype: str, points: int) -> OperationVerdict | None:
    """The verdict where a result is not within the bounds that follow from those of its operands."""
    for boxes in _boxes(dtype, row.arity):
        low, high = asked_bounds(row.name, bounds, *((int(box.min()), int(box.max())) for box in boxes))
        results = np.asarray(row.meaning(*boxes))
        if not within((low, high), limits(results.dtype.name)):
            continue  # values that wrap round are not bounded
        wrong = np.flatnonzero((results.astype(object) < low) | (results.astype(object) > high))
        if wrong.size:
            operands, found = tuple(box[wrong[0]].item() for box in boxes), results[wrong[0]].item()
            ranges = ", ".join(f"{box.min()}..{box.max()}" for box in boxes)
            failure = f"{row.called(operands)} of {dtype} is {found}, expected {low}..{high}, its bounds for operands in {ranges}"
            return OperationVerdict(row.name, points, failure, dtype, operands, found, (low, high))
    return None


def asked_bounds(name: str, bounds: Callable[..., Bounds], *operands: Bounds) -> Bounds:
    """What a function of the caller says of bounds; UsageError where it raises or gives no pair of integers."""
    try:
        low, high = bounds(*operands)
        return int(low), int(high)
    except Exception as error:
        raise UsageError(f"operation {name}: its bounds raised {one_line(error)}, expected a pair of integers") from error


def _boxes(dtype: str, arity: int) -> Iterator[list[Array]]:
    """Some values within some range for each operand: near zero, and at both ends of the dtype."""
    rng = np.random.default_rng(0)
    low, high = limits(dtype)
    wide = np.uint64 if dtype == "uint64" else np.int64

    def box(widest: int) -> Array:
        near = int(rng.integers(max(low, -4 * widest), min(high, 4 * widest), endpoint=True))
        start = (near, low, high - widest)[rng.choice(3, p=(0.8, 0.1, 0.1))]
        end = min(high, start + int(rng.integers(0, widest, endpoint=True)))
        return rng.integers(start, end, INSIDE, wide, endpoint=True).astype(dtype)

    for k in range(BOXES):
        yield [box(min(high - low, 1 << k % 20)) for _ in range(arity)]
