"""Operations that put arrays together, or leave parts out: which element is read, and whether one is, depends on the place.

A place outside of an array reads an element at its edge, and a `where` over positions drops it: no read leaves its array.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from eqsat.ir.dtypes import promote
from eqsat.ir.errors import ShapeError, UsageError
from eqsat.ir.index import Const, Index, apply
from eqsat.ir.tensor import Arg, Call, Position, Scalar, Shape, Tensor, axes
from eqsat.operations.alike import alike
from eqsat.operations.elementwise import cast, converted_to
from eqsat.operations.generic import integer, integers, is_its_own_row, literal, make_generic, one_axis, tensor_of, view
from eqsat.operations.indexing import getitem
from eqsat.operations.movement import expand_dims, ravel, reshape


def clamped(index: Index, extent: int, low: bool, high: bool) -> Index:
    """An index that stays in an axis where it may leave it at these ends."""
    index = apply("max", index, 0) if low else index
    return apply("min", index, extent - 1) if high else index


def concatenate(arrays: Any, axis: Any = 0, out: None = None, *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    """Arrays behind each other along an axis (None: flattened first), in the dtype that all promote to, if none is given."""
    parts = [converted_to("concatenate", part, dtype, casting) for part in sequence_of("concatenate", arrays)]
    if axis is None:
        return concatenate([ravel(part) for part in parts])
    rank = len(parts[0].shape)
    k = one_axis("concatenate", axis, rank)
    for part in parts:
        if len(part.shape) != rank or any(m != n for d, (m, n) in enumerate(zip(part.shape, parts[0].shape, strict=True)) if d != k):
            raise ShapeError(f"concatenate: found the shapes {parts[0].shape} and {part.shape}, expected the same but for axis {k}")
    dtype = promote(*(part.dtype for part in parts))
    shape = (*parts[0].shape[:k], sum(part.shape[k] for part in parts), *parts[0].shape[k + 1 :])
    return _joined([part for part in parts if part.size], k, shape, dtype)


def _joined(parts: Sequence[Tensor], k: int, shape: Shape, dtype: str) -> Tensor:
    loops = axes(shape)
    whole = alike(parts) if all(part.dtype == dtype for part in parts) else None
    if whole is not None:
        each = parts[0].shape[k]
        return view(whole, shape, lambda loops: (loops[k] // each, *loops[:k], loops[k] % each, *loops[k + 1 :]))
    ends = list(itertools.accumulate(part.shape[k] for part in parts))
    maps = []
    block: Scalar | None = None
    for position, (part, end) in reversed(list(enumerate(zip(parts, ends, strict=True)))):
        start, last = end - part.shape[k], position == len(parts) - 1
        index = clamped(loops[k] - start if start else loops[k], part.shape[k], start > 0, not last)
        maps.append((*loops[:k], index, *loops[k + 1 :]))
        read = cast(Arg(position, part.dtype), dtype)
        block = read if block is None else Call("where", (Position(apply("lt", loops[k], end), "bool"), read, block), dtype)
    return make_generic(shape, (), parts, maps[::-1], block if block is not None else literal(0, dtype))


def stack(arrays: Any, axis: Any = 0, out: None = None, *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    """Arrays of one shape beside each other along a new axis."""
    parts = [converted_to("stack", part, dtype, casting) for part in sequence_of("stack", arrays)]
    for part in parts:
        if part.shape != parts[0].shape:
            raise ShapeError(f"stack: found the shapes {parts[0].shape} and {part.shape}, expected one shape")
    k = one_axis("stack", axis, len(parts[0].shape) + 1)
    return concatenate([expand_dims(part, k) for part in parts], k)


def sequence_of(name: str, arrays: Any) -> list[Tensor]:
    """The arrays of a list or tuple, or those that lie behind each other in one.  UsageError for anything else, and for none."""
    if isinstance(arrays, Tensor):
        if not arrays.shape or not arrays.shape[0]:
            found = "no arrays" if arrays.shape else "a 0-d array"
            raise ShapeError(f"{name}: found {found}, expected a list or tuple of arrays")
        return [view(arrays, arrays.shape[1:], lambda loops, k=k: (Const(k), *loops)) for k in range(arrays.shape[0])]  # type: ignore[misc]
    if not isinstance(arrays, list | tuple) or not arrays:
        found = "no arrays" if isinstance(arrays, list | tuple) else f"a {type(arrays).__name__}"
        raise UsageError(f"{name}: found {found}, expected a list or tuple of arrays")
    return [tensor_of(name, array) for array in arrays]


def roll(a: Any, shift: Any, axis: Any = None) -> Tensor:
    """The elements of some axes moved round by `shift`; of the flattened array without `axis`."""
    source = tensor_of("roll", a)
    if axis is None:
        return reshape(roll(ravel(source), shift, 0), source.shape)
    taken = [one_axis("roll", one, len(source.shape)) for one in integers("roll", "axis", axis)]
    steps = integers("roll", "shift", shift)
    if len(steps) != len(taken) and 1 not in (len(steps), len(taken)):
        raise UsageError(f"roll: found {len(steps)} shifts for {len(taken)} axes, expected one, or one for each")
    by = Counter[int]()  # shifts of one axis add up
    for k, step in zip(taken, steps, strict=True) if len(steps) == len(taken) else itertools.product(taken, steps):
        by[k] += step

    def moved(loop: Index, k: int) -> Index:
        n = source.shape[k]
        offset = -by[k] % n if n else 0
        return (loop + offset) % n if offset else loop

    return view(source, source.shape, lambda loops: tuple(moved(loop, k) for k, loop in enumerate(loops)))


def tile(A: Any, reps: Any) -> Tensor:
    """The array repeated as a whole along every axis, aligned to the right."""
    source = tensor_of("tile", A)
    times = integers("tile", "repetition", reps)
    if any(n < 0 for n in times):
        raise UsageError(f"tile: found the repetitions {times}, expected 0 or more")
    rank = max(len(times), len(source.shape))
    times = (*(1,) * (rank - len(times)), *times)
    source = reshape(source, (*(1,) * (rank - len(source.shape)), *source.shape))
    shape = tuple(n * m for n, m in zip(source.shape, times, strict=True))

    def within(loop: Index, n: int, m: int) -> Index:
        return Const(0) if n == 1 else loop if m == 1 else loop % n

    return view(source, shape, lambda loops: tuple(map(within, loops, source.shape, times)))


def repeat(a: Any, repeats: Any, axis: Any = None) -> Tensor:
    """Every element, or slice of an axis, so many times: one number for all, or a known one for each."""
    source = tensor_of("repeat", a)
    if not isinstance(repeats, Tensor) and np.size(repeats) != 1:
        return _repeated(source, np.asarray(repeats) if np.size(repeats) else np.zeros(0, np.int64), axis)
    repeats = repeats[0] if isinstance(repeats, list | tuple | np.ndarray) and np.shape(repeats) == (1,) else repeats
    times = integer("repeat", "repeats", repeats)
    if times < 0:
        raise UsageError(f"repeat: found {times} times, expected 0 or more")
    if axis is None or is_its_own_row(len(source.shape), axis):
        return repeat(ravel(source), times, 0)
    k = one_axis("repeat", axis, len(source.shape))
    shape = (*source.shape[:k], source.shape[k] * times, *source.shape[k + 1 :])
    return view(source, shape, lambda loops: (*loops[:k], loops[k] // times, *loops[k + 1 :]))


def _repeated(source: Tensor, repeats: np.ndarray[Any, Any], axis: Any) -> Tensor:
    if axis is None:
        source, axis = ravel(source), 0
    k = one_axis("repeat", axis, len(source.shape))
    if repeats.shape != (source.shape[k],) or repeats.dtype.kind not in "iu" or np.any(repeats < 0):
        raise UsageError(f"repeat: found the repeats {repeats.tolist()}, expected {source.shape[k]} numbers, 0 or more, or one")
    return getitem(source, (*(slice(None),) * k, np.repeat(np.arange(source.shape[k]), repeats)))


def tril(m: Any, k: Any = 0) -> Tensor:
    """The elements on and below the k-th diagonal of the last two axes, zeros above; of one axis, of rows that are all that."""
    return _side("tril", m, lambda row, column, offset: apply("le", column - row, offset), k)


def triu(m: Any, k: Any = 0) -> Tensor:
    """The elements on and above the k-th diagonal of the last two axes, zeros below."""
    return _side("triu", m, lambda row, column, offset: apply("ge", column - row, offset), k)


def _side(name: str, m: Any, kept: Any, k: Any) -> Tensor:
    source = tensor_of(name, m)
    if not source.shape:
        raise ShapeError(f"{name}: found the shape (), expected one dimension or more")
    shape = source.shape if len(source.shape) > 1 else source.shape * 2  # one row is every row
    *_, row, column = loops = axes(shape)
    holds = Position(kept(row, column, integer(name, "k", k)), "bool")
    block = Call("where", (holds, Arg(0, source.dtype), literal(0, source.dtype)), source.dtype)
    return make_generic(shape, (), (source,), (loops[len(shape) - len(source.shape) :],), block)
