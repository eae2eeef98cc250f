"""Orders of elements: of few along an axis networks of comparisons, compiled with what is around them; of more, calls of NumPy.

A network compares the same places whatever the elements are, so that a loop over rows takes a vector of rows at a time, and a median of
windows reads the image that the windows are of.  What only other places need is left out.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from eqsat.ir.containers import rebuild_result
from eqsat.ir.dtypes import is_float
from eqsat.ir.errors import UsageError
from eqsat.ir.host_functions import FEW_RANKS
from eqsat.ir.index import Const, Index, apply
from eqsat.ir.ops import identity_of
from eqsat.ir.steps import HostCall
from eqsat.ir.tensor import Arg, Literal, Position, Scalar, Tensor, axes, reduction
from eqsat.operations.elementwise import astype, call, cast, elementwise
from eqsat.operations.generic import integer, is_its_own_row, literal, make_generic, tensor_of
from eqsat.operations.host import along_axis, as_numpy, host_call
from eqsat.operations.indexing import getitem
from eqsat.operations.joining import concatenate, stack
from eqsat.operations.movement import flip
from eqsat.operations.reductions import folded_axes
from eqsat.operations.taking import take_along_axis
from eqsat.sizes.markers import of_any_size

KINDS = (None, "quicksort", "mergesort", "heapsort", "stable")
# elements in a row that are put in order by a network, and of which it finds some: below, NumPy takes longer for a row
MOST_SORTED = 16
MOST_PLACED = 8
MOST_RANKED = 49
MOST_RANKS = 4
# elements of a longer row that are found one by one from its end
MOST_PASSES = 8
LONGEST = 1 << 29
# places of a row, the first of which gets what comes first
Pair = tuple[int, int]


def sort(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None, descending: bool = False) -> Tensor:
    """The elements in order, NaN last; all of them in one row where axis is None.  Descending is the reverse, NaN first."""
    source, k = along_axis("sort", a, axis)
    how = _how("sort", kind, stable, descending)
    if _is_short(source, (k,), MOST_SORTED) and not _keeps_zeros(source, how):
        return _row_in_order(source, k, bool(descending))
    found: Tensor = host_call("sort", (source, k), how)
    return found


def argsort(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None, descending: bool = False) -> Tensor:
    """The int64 places of the elements in order; the array API's `descending` keeps equal ones in order where the sort is stable."""
    source, k = along_axis("argsort", a, None if is_its_own_row(len(tensor_of("argsort", a).shape), axis) else axis)
    how = _how("argsort", kind, stable, descending)
    if _is_short(source, (k,), MOST_PLACED):
        return _places_in_order(source, k, bool(descending))
    found: Tensor = host_call("argsort", (source, k), how)
    return found


def lexsort(keys: Any, axis: Any = -1) -> Tensor:
    """The int64 places of several keys in order, by NumPy; the last one decides first."""
    found: Tensor = as_numpy("lexsort")(tuple(keys) if isinstance(keys, list) else keys, axis)
    return found


def topk(x: Any, k: Any, axis: Any = -1, largest: bool = True) -> tuple[Tensor, Tensor]:
    """The k greatest, or least, elements along an axis, the most extreme first, and their places; of equal ones the first."""
    source, along = along_axis("topk", x, axis)
    count = integer("topk", "k", k)
    if not 0 <= count <= source.shape[along]:
        raise UsageError(f"topk: found k = {count}, expected 0 to {source.shape[along]}, the extent of axis {along}")
    if 0 < count <= MOST_PASSES and _is_short(source, (along,), LONGEST):
        return _extremes(source, count, along, bool(largest))
    values, places = host_call("topk", (source, count, along, bool(largest)), {})
    return values, places


def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect") -> Tensor:
    """The elements in another order: what is at `kth` (an integer or several) is where sorting puts it, smaller ones are before it."""
    source, places, k = _parted("partition", a, kth, axis, kind)
    if _is_short(source, (k,), MOST_SORTED):
        return _row_in_order(source, k, False)
    found: Tensor = host_call("partition", (source, places, k), {})
    return found


def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect") -> Tensor:
    """The int64 places of the elements in the order of `partition`."""
    found: Tensor = host_call("argpartition", _parted("argpartition", a, kth, axis, kind), {})
    return found


class Order(NamedTuple):
    """What a call of NumPy puts in order: elements along an axis, or their `places`; `stable`: equal elements that differ stay in order."""

    source: Tensor
    axis: int
    descending: bool
    places: bool
    stable: bool


def order_of(made: HostCall) -> Order | None:
    """The order that a call makes; None of one that makes none, and of other than real numbers."""
    name = made.invocation.function
    if name not in ("sort", "argsort", "partition", "argpartition"):
        return None
    (source, *_, axis), how = rebuild_result(made.invocation.arguments, (*made.given, *made.invocation.values))
    if not _is_short(source, (axis,), LONGEST):
        return None
    return Order(source, axis, bool(how.get("descending")), name.startswith("arg"), _keeps_zeros(source, how))


def part_of_order(order: Order, low: int, high: int) -> Tensor | None:
    """What is at the places low .. high of an order, found without the others: in short rows anywhere, else places near an end."""
    source, axis, descending, places, stable = order
    extent, count = source.shape[axis], high - low + 1
    if not (places or stable) and extent <= MOST_RANKED and count <= MOST_RANKS:
        ranks = [extent - 1 - place if descending else place for place in range(low, high + 1)]
        row = _sorted(_elements(source, axis), needed(network(extent), ranks), nan_last=True)
        return _row(source, axis, [row[rank] for rank in ranks])
    if not (places or stable) and min(high + 1, extent - low) > MOST_PASSES:
        return host_call("sorted_part", (source, low, high, axis, descending), {}) if count < extent else None
    whole = (slice(None),) * axis
    if high + 1 <= max(MOST_PASSES, extent // FEW_RANKS):
        return getitem(topk(source, high + 1, axis, descending)[places], (*whole, slice(low, None)))
    if extent - low > max(MOST_PASSES, extent // FEW_RANKS):
        return None
    # the first ones of the reverse order, in which the last of equal ones is the first
    found = topk(flip(source, axis), extent - low, axis, not descending)[places]
    if places:
        found = elementwise("argsort", (found,), lambda place: call("subtract", literal(extent - 1, "int64"), place))
    return getitem(flip(found, axis), (*whole, slice(count)))


def median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The element in the middle of the order, or the mean of two; NaN where there is one; float64 of integers."""
    source = tensor_of("median", a)
    along = folded_axes("median", source, axis)
    if not _is_short(source, along, MOST_RANKED):
        found: Tensor = as_numpy("median")(a, axis=axis, keepdims=keepdims)
        return found
    last = prod(source.shape[k] for k in along) - 1
    return _ranked(source, along, keepdims, (last // 2, (last + 1) // 2), _mean)


def quantile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False, weights: Any = None) -> Tensor:
    """What a share `q`, in 0 .. 1, of the elements is not above, on lines between them; of several shares along a new first axis."""
    return _quantile("quantile", 1, a, q, axis=axis, method=method, keepdims=keepdims, weights=weights)


def percentile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False, weights: Any = None) -> Tensor:
    """`quantile` of q percent."""
    return _quantile("percentile", 100, a, q, axis=axis, method=method, keepdims=keepdims, weights=weights)


def _quantile(name: str, whole: int, a: Any, q: Any, **how: Any) -> Tensor:
    source = tensor_of(name, a)
    along = folded_axes(name, source, how["axis"])
    shares = _shares(q, whole) if how["method"] == "linear" and how["weights"] is None and source.dtype != "bool" else ()
    if not shares or not _is_short(source, along, MOST_RANKED):
        found: Tensor = as_numpy(name)(a, q, **{key: value for key, value in how.items() if value is not None})
        return found
    several = not isinstance(q, int | float)
    each = [_at_share(source, along, how["keepdims"], share, wide=several) for share in shares]
    return stack(each) if several else each[0]


def _shares(q: Any, whole: int) -> tuple[float, ...]:
    """The shares of the `whole` that one number is, or a few of them; none of what NumPy is to look at."""
    several = q.tolist() if isinstance(q, np.ndarray) and q.ndim == 1 else q
    given = tuple(several) if isinstance(several, list | tuple) else (several,)
    plain = 0 < len(given) <= MOST_RANKS and all(type(one) in (int, float) and 0 <= one <= whole for one in given)
    counted = whole == 1 and all(type(one) is int for one in given)  # NumPy takes places then, and draws no lines
    return tuple(one / whole for one in given) if plain and not counted else ()


def _at_share(source: Tensor, along: Sequence[int], keepdims: bool, share: float, wide: bool) -> Tensor:
    """A quantile; `wide`: in float64, as NumPy has several of any dtype."""
    last = prod(source.shape[k] for k in along) - 1
    before = min(int(share * last), last)
    return _ranked(source, along, keepdims, (before, min(before + 1, last)), functools.partial(_on_line, share * last - before, wide))


# networks -----------------------------------------------------------------------------------------------------------------
@functools.cache
def network(count: int) -> tuple[Pair, ...]:
    """Pairs of places that are put in order, one after the other, to sort so many elements (source: Batcher's merge exchange; Knuth,
    The Art of Computer Programming 3, 5.2.2, algorithm M)."""
    pairs = []
    half = 1 << max((count - 1).bit_length() - 1, 0)
    merged = half
    while merged:
        first, step, remainder = half, merged, 0
        while True:
            pairs += [(i, i + step) for i in range(count - step) if i & merged == remainder]
            if first == merged:
                break
            step, first, remainder = first - merged, first >> 1, merged
        merged >>= 1
    return tuple(pairs)


def needed(pairs: Sequence[Pair], wanted: Collection[int]) -> tuple[Pair, ...]:
    """The part of a network that decides what is at these places in the end."""
    known, kept = set(wanted), []
    for pair in reversed(pairs):
        if not known.isdisjoint(pair):
            known.update(pair)
            kept.append(pair)
    return tuple(reversed(kept))


def _sorted(elements: Sequence[Scalar], pairs: Sequence[Pair], nan_last: bool) -> list[Scalar]:
    """Elements after a network; NaN is behind all numbers, or anywhere."""
    row = list(elements)
    for i, j in pairs:
        first, second = row[i], row[j]
        stays = call("less_equal", first, second)
        if nan_last and is_float(first.dtype):
            stays = call("logical_or", stays, call("isnan", second))
        row[i], row[j] = call("where", stays, first, second), call("where", stays, second, first)
    return row


def _row_in_order(source: Tensor, axis: int, descending: bool) -> Tensor:
    """The elements along an axis in order."""
    row = _sorted(_elements(source, axis), network(source.shape[axis]), nan_last=True)
    return _row(source, axis, row[::-1] if descending else row)


def _places_in_order(source: Tensor, axis: int, descending: bool) -> Tensor:
    """The places of the elements along an axis in order, equal ones as they are."""
    extent = source.shape[axis]
    row = [_keyed(element, literal(place, "int32"), extent, descending) for place, element in enumerate(_elements(source, axis))]
    for i, j in network(extent):
        stays = _is_before(row[i], row[j], descending)
        pairs = list(zip(row[i], row[j], strict=True))
        row[i] = _Keyed(*(call("where", stays, one, other) for one, other in pairs))
        row[j] = _Keyed(*(call("where", stays, other, one) for one, other in pairs))
    places = [_placed(place, extent) if is_float(source.dtype) else place for _, place in row]
    return astype(_row(source, axis, places), "int64")


def _elements(source: Tensor, axis: int) -> list[Scalar]:
    return [Arg(place, source.dtype) for place in range(source.shape[axis])]


def _row(source: Tensor, axis: int, row: Sequence[Scalar]) -> Tensor:
    """Elements along an axis, made of those of another tensor along it: what several take is computed once in the loop around them."""
    shape = (*source.shape[:axis], len(row), *source.shape[axis + 1 :])
    loops, count = axes(shape), source.shape[axis]
    maps = [(*loops[:axis], Const(place), *loops[axis + 1 :]) for place in range(count)]
    block = row[-1]
    for place in reversed(range(len(row) - 1)):
        block = call("where", Position(apply("lt", loops[axis], place + 1), "bool"), row[place], block)
    return make_generic(shape, (), [source] * count, maps, block)


class _Keyed(NamedTuple):
    """An element by which others are ordered, and its place (int32) for those that are equal.

    NaN has the key of the greatest number, and a place behind all others, or in front of them, as far as there are places.
    """

    key: Scalar
    place: Scalar


def _keyed(element: Scalar, place: Scalar, extent: int, descending: bool) -> _Keyed:
    if not is_float(element.dtype):
        return _Keyed(element, place)
    unordered, outside = call("isnan", element), call("add", place, -extent if descending else extent)
    return _Keyed(call("where", unordered, float("inf"), element), call("where", unordered, outside, place))


def _placed(place: Scalar, extent: int) -> Scalar:
    """Where an element is, NaN or not."""
    behind = call("where", call("less", place, extent), place, call("subtract", place, extent))
    return call("where", call("less", place, 0), call("add", place, extent), behind)


def _is_before(one: _Keyed, other: _Keyed, descending: bool) -> Scalar:
    first, second = (other.key, one.key) if descending else (one.key, other.key)
    tied = call("logical_and", call("equal", first, second), call("less", one.place, other.place))
    return call("logical_or", call("less", first, second), tied)


def _extremes(source: Tensor, count: int, axis: int, largest: bool) -> tuple[Tensor, Tensor]:
    """The first elements of an order and their places, one by one: each is the most extreme of those behind the one before."""
    extent, dtype = source.shape[axis], source.dtype
    shape = tuple(1 if k == axis else n for k, n in enumerate(source.shape))
    loops, here = axes(shape), reduction(0, extent)
    row = tuple(here if k == axis else loop for k, loop in enumerate(loops))
    element, place = Arg(0, dtype), Position(here, "int32")
    mine = _keyed(element, place, extent, largest)
    combine = "max" if largest else "min"
    most, nowhere = Literal(identity_of(combine, dtype).item(), dtype), literal(2 * extent, "int32")
    found: list[tuple[Tensor, Tensor]] = []
    for _ in range(count):
        last = found[-1] if found else ()
        sources, maps = (source, *last), (row, *(loops for _ in last))
        remains = _is_before(_Keyed(Arg(1, dtype), Arg(2, "int32")), mine, largest) if last else literal(True, "bool")
        best = make_generic(shape, (extent,), sources, maps, call("where", remains, mine.key, most), combine)
        is_it = call("logical_and", remains, call("equal", mine.key, Arg(len(sources), dtype)))
        first = call("where", is_it, mine.place, nowhere)
        if is_float(dtype) and not largest and not last:  # if none is equal, all are NaN: the first of them, outside
            first = call("where", call("equal", element, Arg(1, dtype)), place, literal(extent, "int32"))
        found.append((best, make_generic(shape, (extent,), (*sources, best), (*maps, loops), first, "min")))
    places = concatenate([place for _, place in found], axis)
    if not is_float(dtype):
        return concatenate([best for best, _ in found], axis), astype(places, "int64")
    within = astype(elementwise("topk", (places,), lambda place: _placed(place, extent)), "int64")
    return take_along_axis(source, within, axis), within  # zeros of both signs have one key, infinity and NaN too


def below(first: Scalar, second: Scalar) -> Scalar:
    """first < second, where NaN is the greatest."""
    found = call("less", first, second)
    if not is_float(first.dtype):
        return found
    return call("logical_or", found, call("logical_and", call("isnan", second), call("logical_not", call("isnan", first))))


def _ranked(source: Tensor, along: Sequence[int], keepdims: bool, ranks: Pair, met: Callable[[Scalar, Scalar], Scalar]) -> Tensor:
    """What two elements of the order make, in floats; NaN where there is one in a row."""
    shape = tuple(1 if k in along else n for k, n in enumerate(source.shape) if keepdims or k not in along)
    loops = iter(axes(shape))
    kept: list[Index] = [next(loops) if keepdims or k not in along else Const(0) for k in range(len(source.shape))]
    places = list(itertools.product(*(range(source.shape[k]) for k in along)))
    maps = [tuple(Const(place[along.index(k)]) if k in along else index for k, index in enumerate(kept)) for place in places]
    row: list[Scalar] = [Arg(place, source.dtype) for place in range(len(places))]
    found = _sorted(row, needed(network(len(row)), ranks), nan_last=False)
    block = met(*(found[rank] for rank in ranks))
    if is_float(source.dtype):
        unordered = functools.reduce(functools.partial(call, "logical_or"), (call("isnan", element) for element in row))
        block = call("where", unordered, float("nan"), block)
    return make_generic(shape, (), [source] * len(row), maps, block)


def _mean(first: Scalar, second: Scalar) -> Scalar:
    """As NumPy's `mean` of one or two: sums of float16 are sums of float32."""
    dtype = first.dtype if is_float(first.dtype) else "float64"
    one, other = (cast(element, "float32" if dtype == "float16" else dtype) for element in (first, second))
    return cast(one if first is second else call("divide", call("add", one, other), 2.0), dtype)


def _on_line(share: float, wide: bool, first: Scalar, second: Scalar) -> Scalar:
    """That share of the way from the first to the second, seen from the nearer one as in NumPy."""
    span = call("subtract", second, first)
    if wide:
        first, second, span = (cast(one, "float64") for one in (first, second, span))
    if share < 0.5:
        return call("add", first, call("multiply", span, share))
    return call("subtract", second, call("multiply", span, 1 - share))


def _is_short(source: Tensor, along: Sequence[int], most: int) -> bool:
    """Whether rows of real numbers have so few elements, which are counted when a program is traced."""
    real = source.dtype != "bfloat16" and np.dtype(source.dtype).kind in "biuf"
    return real and source.size > 0 and not of_any_size() and prod(source.shape[k] for k in along) <= most


def _how(name: str, kind: Any, stable: Any, descending: Any) -> dict[str, Any]:
    """The keywords of a sort, checked, without those left at None: calls that mean the same get the same key.  UsageError for an unknown
    kind, or kind with stable."""
    if kind not in KINDS:
        raise UsageError(f"{name}: found kind {kind!r}, expected one of {', '.join(map(str, KINDS))}")
    if kind is not None and stable is not None:
        raise UsageError(f"{name}: found both kind and stable, expected one of them")
    how = {"kind": kind, "stable": None if stable is None else bool(stable), "descending": bool(descending) or None}
    return {key: value for key, value in how.items() if value is not None}


def _keeps_zeros(source: Tensor, how: Mapping[str, Any]) -> bool:
    """Whether zeros of both signs have to stay in order, which a network does not do."""
    return is_float(source.dtype) and not {"kind", "stable"}.isdisjoint(how)


def _parted(name: str, a: Any, kth: Any, axis: Any, kind: str) -> tuple[Tensor, tuple[int, ...], int]:
    source, along = along_axis(name, a, axis)
    if kind != "introselect":
        raise UsageError(f"{name}: found kind {kind!r}, expected 'introselect'")
    extent = source.shape[along]
    places = tuple(integer(name, "kth", place) for place in (kth if isinstance(kth, tuple | list | np.ndarray) else (kth,)))
    for place in places:
        if source.size and not -extent <= place < extent:  # of nothing, everything is in its place
            raise UsageError(f"{name}: found kth = {place}, expected one in {-extent}..{extent - 1}")
    return source, places, along


OPERATIONS: dict[str, Callable[..., Any]] = {
    "sort": sort,
    "argsort": argsort,
    "topk": topk,
    "lexsort": lexsort,
    "partition": partition,
    "argpartition": argpartition,
    "median": median,
    "quantile": quantile,
    "percentile": percentile,
}
