"""Looking numbers up in sorted arrays: where they belong, which bin they are in, what lies between.

Few keys are compared with every number at once; of more, halves are left out:

    first = 0; for n = len(keys), then what n - n // 2 leaves, down to 1:  first += n // 2 if keys[first + n // 2 - 1] < v
    finally first += keys[first] < v

How often is known when the program is recorded, so that a loop over the numbers vectorizes.  NaN is greater than all numbers, as in
NumPy's sort.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from eqsat.ir.copied import copied
from eqsat.ir.dtypes import is_complex, promoted
from eqsat.ir.errors import DTypeError, ShapeError, UsageError
from eqsat.ir.host import flat
from eqsat.ir.tensor import Arg, Build, Constant, Gather, Read, Scalar, Tensor, axes, reduction
from eqsat.operations import reductions
from eqsat.operations.assembling import along
from eqsat.operations.elementwise import astype, call, cast, elementwise, scalar_operation
from eqsat.operations.generic import literal, make_generic, tensor_of
from eqsat.operations.host import as_numpy, host_call
from eqsat.operations.joining import concatenate
from eqsat.operations.movement import broadcast_to, flip, ravel, reshape
from eqsat.operations.sorting import below
from eqsat.operations.taking import scatter_add, take
from eqsat.sizes.markers import of_any_size

# keys that are all compared: with a vector of numbers a comparison takes a cycle or two, a look at keys that they choose twenty
MOST_COMPARED = 32
SIDES = ("left", "right")
_add, _subtract, _remainder, _divide = (scalar_operation(op) for op in ("add", "subtract", "remainder", "divide"))


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    """Where elements `v` belong in the sorted `a`, int64; `sorter`: the places of the elements of `a` in order."""
    keys = tensor_of("searchsorted", a)
    if len(keys.shape) != 1:
        raise ShapeError(f"searchsorted: found the shape {keys.shape}, expected one dimension")
    if side not in SIDES:
        raise UsageError(f"searchsorted: found side {side!r}, expected 'left' or 'right'")
    wanted = v if type(v) in (bool, int, float) else tensor_of("searchsorted", v)
    order = None if sorter is None else tensor_of("searchsorted", sorter)
    if order is not None and order.shape != keys.shape:
        raise ShapeError(f"searchsorted: found a sorter of shape {order.shape}, expected {keys.shape}")
    if order is not None:
        keys = take(keys, order)
    return _found(keys, wanted, side, known=not isinstance(a, Tensor))


def _found(keys: Tensor, wanted: Tensor | float, side: str, known: bool) -> Tensor:
    """`searchsorted`, by NumPy where keys have another order, or how many there are is not `known` in a program of any size."""
    numbers = wanted if isinstance(wanted, Tensor) else tensor_of("searchsorted", np.asarray(wanted))
    dtype = promoted(keys.dtype, numbers.dtype)
    if is_complex(dtype) or "bfloat16" in (keys.dtype, numbers.dtype) or not keys.size or (of_any_size() and not known):
        found: Tensor = host_call("searchsorted", (keys, wanted), {"side": side})
        return found
    return _places(astype(keys, dtype), astype(numbers, dtype), side)


def _places(keys: Tensor, numbers: Tensor, side: str) -> Tensor:
    """How many keys are before each number, of the same dtype."""
    (count,) = keys.shape
    before = below if side == "left" else _not_above
    if count <= MOST_COMPARED:
        block = call("where", before(Arg(1, keys.dtype), Arg(0, keys.dtype)), literal(1, "int64"), literal(0, "int64"))
        loops = axes(numbers.shape)
        return make_generic(numbers.shape, (count,), (numbers, keys), (loops, (reduction(0, count),)), block, "sum")
    if not numbers.size:
        return make_generic(numbers.shape, (), (), (), literal(0, "int64"))
    number, first = Read(numbers, axes(numbers.shape)), literal(0, "int64")
    place: Scalar = first
    while count > 1:
        half = count // 2
        key = Gather(keys, (call("add", place, half - 1),))
        place = call("add", place, call("where", before(key, number), literal(half, "int64"), first))
        count -= half
    last = call("where", before(Gather(keys, (place,)), number), literal(1, "int64"), first)
    return Build(numbers.shape, call("add", place, last))


def _not_above(key: Scalar, number: Scalar) -> Scalar:
    return call("logical_not", below(number, key))


def digitize(x: Any, bins: Any, right: bool = False) -> Tensor:
    """In which bin each element is, counted from 1: of edges that go up `bins[i-1] <= x < bins[i]`, with `right`
    `bins[i-1] < x <= bins[i]`; of edges that go down the other way round."""
    numbers, edges = tensor_of("digitize", x), tensor_of("digitize", bins)
    if is_complex(numbers.dtype) or is_complex(edges.dtype):
        raise DTypeError("digitize: found complex numbers, expected real ones")
    if len(edges.shape) != 1:
        raise ShapeError(f"digitize: found bins of the shape {edges.shape}, expected one dimension")
    if not edges.size:
        return searchsorted(edges, numbers)
    down = elementwise("digitize", [take(edges, place) for place in (-1, 0)], functools.partial(call, "less"))
    upward = elementwise("digitize", (down, flip(edges), edges), functools.partial(call, "where"))
    found = _found(upward, numbers, "left" if right else "right", known=not isinstance(bins, Tensor))
    count = literal(edges.shape[0], "int64")
    return elementwise("digitize", (down, found), lambda down, place: call("where", down, call("subtract", count, place), place))


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Tensor:
    """Values between those at the increasing places xp, on straight lines: float64, complex128 of complex values.

    left, right  the values before the first and behind the last place; without them those at the ends
    period       what places are taken modulo of, which then need no order; there are no ends
    """
    at, places, values = (tensor_of("interp", value) for value in (x, xp, fp))
    if len(places.shape) != 1 or places.shape != values.shape:
        raise ShapeError(
            f"interp: found places and values of the shapes {places.shape} and {values.shape}, expected one dimension for both"
        )
    if not places.size:
        raise ShapeError("interp: found no places, expected one or more")
    if period is None and (is_complex(at.dtype) or is_complex(places.dtype)):  # with a period NumPy casts them
        raise DTypeError("interp: found complex places, expected real ones")
    dtype = "complex128" if is_complex(values.dtype) else "float64"
    at, places, values = astype(at, "float64"), astype(places, "float64"), astype(values, dtype)
    if period is not None:
        if period == 0:
            raise UsageError("interp: found the period 0, expected another one")
        span = float(abs(period))
        at, places = _remainder(at, span), _remainder(places, span)
        order = host_call("argsort", (places, 0), {})
        places, values = take(places, order), take(values, order)
        places = concatenate([_subtract(along(places, 0, slice(-1, None)), span), places, _add(along(places, 0, slice(1)), span)])
        values = concatenate([along(values, 0, slice(-1, None)), values, along(values, 0, slice(1))])
        left = right = None
    behind = _found(places, at, "right", known=not isinstance(xp, Tensor))
    return _between(at, behind, places, values, left, right)


def _between(at: Tensor, behind: Tensor, places: Tensor, values: Tensor, left: Any, right: Any) -> Tensor:
    """On the line from the last place that is not above `at` to the next one; `behind`: how many are not above."""
    last = places.shape[0] - 1
    here = elementwise("interp", (behind,), lambda place: call("maximum", call("subtract", place, 1), 0))
    there = elementwise("interp", (here,), lambda place: call("minimum", call("add", place, 1), last))
    ends = [take(values, 0) if left is None else left, take(values, last) if right is None else right]
    chosen = [take(array, place, mode="clip") for array in (places, values) for place in (here, there)]
    dtype = values.dtype

    def block(x: Scalar, count: Scalar, x0: Scalar, x1: Scalar, y0: Scalar, y1: Scalar, before: Any, after: Any) -> Scalar:
        slope = call("divide", call("subtract", y1, y0), cast(call("subtract", x1, x0), dtype))
        line = call("add", call("multiply", slope, cast(call("subtract", x, x0), dtype)), y0)
        other = call("add", call("multiply", slope, cast(call("subtract", x, x1), dtype)), y1)
        other = call("where", call("logical_and", _undefined(other), call("equal", y0, y1)), y0, other)
        line = call("where", _undefined(line), other, line)
        line = call("where", call("logical_or", call("equal", x, x0), call("equal", count, last + 1)), y0, line)
        line = call("where", call("logical_and", call("equal", count, last + 1), call("less", x0, x)), cast(after, dtype), line)
        line = call("where", call("equal", count, 0), cast(before, dtype), line)
        return call("where", call("isnan", x), cast(x, dtype), line) if last else line  # as NumPy does

    return elementwise("interp", (at, behind, *chosen, *ends), block)


def _undefined(value: Scalar) -> Scalar:
    return call("not_equal", value, value)


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> tuple[Tensor, Tensor]:
    """How many elements are in each bin, or what they weigh together, and the edges of the bins, of which the last has both.  Where the
    elements decide about the bins, and for complex numbers, NumPy is called."""
    numbers, others = tensor_of("histogram", a), None if weights is None else tensor_of("histogram", weights)
    given, added = ravel(numbers), None if others is None else ravel(others)
    counted_by = isinstance(bins, int | np.integer)
    known = not isinstance(bins, str) and not any(isinstance(leaf, Tensor) for leaf in flat((bins, range)))
    known = known and (range is not None or not counted_by) and (others is None or others.shape == numbers.shape)
    kinds = {np.dtype(tensor.dtype).kind for tensor in (given, added) if tensor is not None}
    if not known or not given.size or not kinds <= set("biuf") or of_any_size():
        found: tuple[Tensor, Tensor] = as_numpy("histogram")(a, bins=bins, range=range, density=density, weights=weights)
        return found
    empty = np.empty(0, given.dtype)
    _, edges = np.histogram(empty, bins, range, weights=None if added is None else np.empty(0, added.dtype))
    numbers = astype(given, promoted(given.dtype, edges.dtype.name))
    count = edges.size - 1
    counted = _bins(numbers, edges, counted_by)
    dtype = "int64" if added is None else "float64"
    amounts = broadcast_to(tensor_of("histogram", 1), numbers.shape) if added is None else astype(added, dtype)
    counts = along(scatter_add(Constant(np.zeros(count + 1, dtype)), counted, amounts), 0, slice(count))
    if added is not None:
        counts = astype(counts, added.dtype)
    if density:
        counts = _divide(_divide(counts, np.diff(edges).astype(float)), reductions.sum(counts))
    return counts, copied(Constant(edges))


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Tensor, Tensor, Tensor]:
    """How many pairs are in each bin of a grid, or what they weigh together, as float64, and the edges of the bins along `x` and `y`.
    Where the pairs decide about the bins NumPy is called."""
    given = [tensor_of("histogram2d", one) for one in (x, y)]
    added = None if weights is None else tensor_of("histogram2d", weights)
    if len({one.shape for one in (*given, *([] if added is None else [added]))}) > 1 or len(given[0].shape) != 1:
        raise ShapeError(f"histogram2d: found the shapes {given[0].shape} and {given[1].shape}, expected one dimension of as many elements")
    known = not any(isinstance(leaf, Tensor) for leaf in flat((bins, range)))
    grid = list(bins) if isinstance(bins, list | tuple | np.ndarray) and len(bins) == 2 else [bins, bins]
    ranges = list(range) if isinstance(range, list | tuple | np.ndarray) and len(range) == 2 else [range, range]
    known = known and all(one is not None or not isinstance(bins_of, int | np.integer) for one, bins_of in zip(ranges, grid, strict=True))
    kinds = {np.dtype(tensor.dtype).kind for tensor in (*given, *([] if added is None else [added]))}
    if not known or not given[0].size or not kinds <= set("biuf") or of_any_size():
        found: tuple[Tensor, Tensor, Tensor] = as_numpy("histogram2d")(x, y, bins=bins, range=range, density=density, weights=weights)
        return found
    _, (first, second) = np.histogramdd(np.empty((0, 2)), grid, range)
    counts = first.size - 1, second.size - 1
    axes_of = zip(given, (first, second), grid, strict=True)
    places = [_bins(astype(one, "float64"), edges, isinstance(number, int | np.integer)) for one, edges, number in axes_of]

    def cell(row: Scalar, column: Scalar) -> Scalar:
        outside = call("logical_or", call("equal", row, counts[0]), call("equal", column, counts[1]))
        return call("where", outside, literal(counts[0] * counts[1], "int64"), call("add", call("multiply", row, counts[1]), column))

    cells = elementwise("histogram2d", places, cell)
    amounts = broadcast_to(tensor_of("histogram2d", 1.0), cells.shape) if added is None else astype(added, "float64")
    total = scatter_add(Constant(np.zeros(counts[0] * counts[1] + 1)), cells, amounts)
    grid_of = reshape(along(total, 0, slice(counts[0] * counts[1])), counts)
    if density:
        widths = np.diff(first)[:, None], np.diff(second)
        grid_of = _divide(_divide(_divide(grid_of, widths[0]), widths[1]), reductions.sum(grid_of))
    return grid_of, copied(Constant(np.asarray(first))), copied(Constant(np.asarray(second)))


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Tensor:
    """The edges of the bins of a histogram, one more than bins; where the elements decide about them NumPy is called."""
    source = tensor_of("histogram_bin_edges", a)
    if weights is not None and tensor_of("histogram_bin_edges", weights).shape != source.shape:
        raise ShapeError(f"histogram_bin_edges: found weights of another shape, expected {source.shape}")
    counted_by = isinstance(bins, int | np.integer)
    known = not isinstance(bins, str) and not any(isinstance(leaf, Tensor) for leaf in flat((bins, range)))
    if known and (range is not None or not counted_by) and not is_complex(source.dtype):
        return copied(Constant(np.histogram_bin_edges(np.empty(0, source.dtype), bins, range)))
    found: Tensor = as_numpy("histogram_bin_edges")(a, bins=bins, range=range, weights=weights)
    return found


def _bins(numbers: Tensor, edges: np.ndarray[Any, Any], of_one_width: bool) -> Tensor:
    """The number of the bin of each, and how many there are of what is in none."""
    even = of_one_width and edges.size > MOST_COMPARED
    place = _even_bins(numbers, edges) if even else _subtract(_found(Constant(edges), numbers, "right", known=True), 1)
    return elementwise("histogram", (numbers, place), functools.partial(_bin, edges[0].item(), edges[-1].item(), edges.size - 1))


def _bin(first: float, last: float, count: int, number: Scalar, place: Scalar) -> Scalar:
    """The number of a bin; the last place is that of what is in none."""
    inside = call("logical_and", call("greater_equal", number, first), call("less_equal", number, last))
    return call("where", inside, call("minimum", place, count - 1), literal(count, "int64"))


def _even_bins(numbers: Tensor, edges: np.ndarray[Any, Any]) -> Tensor:
    """In which of the bins of one width numbers are: the quotient, or the bin before or behind, as the edges say."""
    count, first, last = edges.size - 1, float(edges[0]), float(edges[-1])
    keys = astype(Constant(edges), numbers.dtype)

    def near(number: Scalar) -> Scalar:
        share = call("divide", call("subtract", cast(number, "float64"), first), last - first)
        place = cast(call("multiply", share, float(count)), "int64")
        return call("minimum", call("maximum", place, 0), count - 1)

    def exactly(number: Scalar, place: Scalar, before: Scalar, behind: Scalar) -> Scalar:
        down = cast(call("less", number, before), "int64")
        up = cast(call("greater_equal", number, behind), "int64")
        return call("add", call("subtract", place, down), up)

    place = elementwise("histogram", (numbers,), near)
    ends = [take(keys, _add(place, step), mode="clip") for step in (0, 1)]
    return elementwise("histogram", (numbers, place, *ends), exactly)
