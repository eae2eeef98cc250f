"""The arrays under lazy tensors: which Input stands for which array, and which tensors are known already.

Everything is held weakly by the nodes of `ir`: an array lives while a term that reads it does.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from eqsat.capture.arguments import array_spec
from eqsat.ir.containers import Container
from eqsat.ir.tensor import Constant, Input, Program, Tensor, over, tensors

Array = np.ndarray[Any, Any]

_LOCK = threading.Lock()
_NUMBERS = itertools.count()
_ARRAYS: weakref.WeakKeyDictionary[Tensor, Array] = weakref.WeakKeyDictionary()  # of each leaf
_LEAVES: weakref.WeakValueDictionary[int, Input] = weakref.WeakValueDictionary()  # by the ids of its array and of what that is a copy of
_KNOWN: weakref.WeakKeyDictionary[Tensor, Input] = weakref.WeakKeyDictionary()  # leaves in the place of tensors that were computed


def leaf_of(value: Any) -> Input:
    """The leaf of an array: the same one for the same array while a term reads it and the array has not been written to.

    The elements are copied, in C order and the machine's byte order; an array that is read-only, as are all arrays that it is a
    view of, is not.  Raises DTypeError for another dtype than eqsat's, UsageError for what is no array.
    """
    array = value if isinstance(value, np.ndarray) else np.asarray(value)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    array_spec("asarray", array)
    with _LOCK:
        leaf = _LEAVES.get(id(value))
        if leaf is None or not _same(_ARRAYS[leaf], array):
            leaf = _leaf(array if _stays(array) else frozen(np.array(array, order="C")))
            _LEAVES[id(value)] = leaf
    return leaf


def _leaf(array: Array) -> Input:
    leaf = Input(f"@{next(_NUMBERS)}", array.shape, array.dtype.name)
    _ARRAYS[leaf] = array
    _LEAVES[id(array)] = leaf
    return leaf


def frozen(array: Array) -> Array:
    """A view of a new array, through which nobody can write."""
    array.flags.writeable = False
    return array.view()


def _stays(array: Array) -> bool:
    """Whether nobody can write to the array, and a kernel can read it as it lies."""
    part: Any = array
    while isinstance(part, np.ndarray) and not part.flags.writeable:
        part = part.base
    return (part is None or isinstance(part, bytes)) and array.flags.c_contiguous and array.flags.aligned


def _same(kept: Array, array: Array) -> bool:
    """Whether the arrays hold the same bytes, NaN and signed zeros included."""
    if kept is array:
        return True
    if (kept.shape, kept.dtype) != (array.shape, array.dtype):
        return False
    return np.ascontiguousarray(kept).tobytes() == np.ascontiguousarray(array).tobytes()


def current(tensor: Tensor) -> Tensor:
    """The leaf that stands for a tensor which was computed, or the tensor."""
    return _KNOWN.get(tensor, tensor)


def stored(tensor: Tensor) -> Array | None:
    """The elements of a leaf or a constant, read-only; None for what is not computed yet."""
    return tensor.data if isinstance(tensor, Constant) else _ARRAYS.get(tensor)


def settle(asked: Tensor, computed: Tensor, array: Array) -> None:
    """From now on one leaf of this array, which nobody may write to, stands for two tensors that have its elements."""
    with _LOCK:
        leaf = computed if isinstance(computed, Input) else _KNOWN.get(computed)
        for tensor in (computed, asked):
            if tensor is not leaf:
                leaf = _KNOWN.setdefault(tensor, leaf or _leaf(array))


def over_leaves(roots: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The tensors with leaves in place of everything that was computed, so that equal work is one node again."""
    done: dict[Tensor, Tensor] = {}
    for tensor in tensors(*roots):
        known = current(tensor)
        done[tensor] = known if known is not tensor else current(over(tensor, done))
    return tuple(done[root] for root in roots)


def numbered(outputs: Sequence[Tensor], inputs: Sequence[Input] = ()) -> tuple[Program, list[Array]]:
    """A program that returns a tuple of the outputs, and the arrays for the last of its inputs.

    Its inputs x0, x1, ... are `inputs` and then every other leaf and every constant with elements, in order of first use: programs of
    one structure are one program, whatever their arrays are.
    """
    done: dict[Tensor, Tensor] = {tensor: Input(f"x{k}", tensor.shape, tensor.dtype) for k, tensor in enumerate(inputs)}
    taken = list(done.values())
    arrays: list[Array] = []
    for tensor in tensors(*outputs):
        if tensor in done:
            continue
        array = stored(tensor)
        if array is None or not array.size:
            done[tensor] = over(tensor, done)
            continue
        done[tensor] = Input(f"x{len(taken)}", tensor.shape, tensor.dtype)
        taken.append(done[tensor])
        arrays.append(array)
    distinct = dict.fromkeys(done[output] for output in outputs)
    places = {output: k for k, output in enumerate(distinct)}
    structure = Container("tuple", tuple(places[done[output]] for output in outputs))
    return Program(tuple(t for t in taken if isinstance(t, Input)), tuple(distinct), structure), arrays
