"""Lazy tensors: arrays of which operations are recorded until somebody asks for values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eqsat.calling.leaves import Array, current, frozen, leaf_of, numbered, over_leaves, settle, stored
from eqsat.capture.array import TracedArray
from eqsat.capture.traces import Trace, Traced, is_lazy
from eqsat.ir.containers import flatten_result, rebuild_result
from eqsat.ir.errors import UsageError
from eqsat.ir.tensor import Constant, Program, Tensor
from eqsat.keeping.once import Once
from eqsat.options import Options, fallback_by_default, options_of
from eqsat.running.plan import Plan
from eqsat.running.plans import compiled_plan

CAPACITY = 256
PLANS: Once[Plan] = Once(CAPACITY)


class Lazy(Trace):
    """The owner of all lazy tensors."""

    label = "LazyTensor"
    lazy = True

    @property
    def fallback(self) -> bool:
        return fallback_by_default()

    def current(self, tensor: Tensor) -> Tensor:
        return current(tensor)

    def value(self, array: Traced, what: str, instead: str) -> Array:
        return _elements([array], Options())[0]

    def pickled(self, array: Traced) -> tuple[Any, ...]:
        return asarray, (realize(array)[0],)


LAZY = Lazy()


def asarray(value: Any, dtype: Any = None) -> TracedArray:
    """A lazy tensor of the elements of an array or of nested lists of numbers, cast to `dtype` if one is given.

    NumPy's functions, those of eqsat.numpy, operators and methods record what they would do.  numpy.asarray, float, int, bool, tolist,
    item, indexing by it and `eqsat.realize` compute.  The elements are copied here, so writing to `value` afterwards changes nothing;
    an array that is read-only (and is no view of one that is not) is taken as it is, and must stay so: writing to it through a
    view that was made while it was writeable changes what is computed from then on.  Lazy tensors of the same array, unchanged,
    share its copy and all work.  Raises DTypeError for other dtypes than bool, integers, floats and complex numbers.
    """
    return TracedArray(leaf_of(value if dtype is None else np.asarray(value, dtype)), LAZY)


def realize(*asked: Any, options: Options | None = None) -> tuple[Any, ...]:
    """The elements of lazy tensors: NumPy arrays, computed by one plan, in which shared work is done once.

    asked  lazy tensors, and tuples, also named ones, lists, dicts and dataclasses of them, nested, which come back with arrays in them

    What is known stays known while a lazy tensor refers to it, and is not computed again for those that were made of it; so the
    arrays are read-only, and numpy.array(x) is a copy that can be changed.  Plans are kept by structure: the same operations on other
    arrays of the same shapes and dtypes are not compiled again.  Numbers are part of the structure, elements of arrays are not.
    `options` hold for what this call computes.  Threads may share lazy tensors; two that ask for the same one at the same time may both
    compute it, by the same plan.

    Raises UsageError for what is no lazy tensor, and for keys of dicts that are no strings.
    """
    arrays: list[Any] = []

    def place(value: Any, where: str) -> int:
        if not is_lazy(value):
            raise UsageError(f"{where}: found a {type(value).__name__}, expected lazy tensors, as eqsat.numpy.asarray makes them")
        arrays.append(value)
        return len(arrays) - 1

    structures = [flatten_result(value, place, "realize") for value in asked]
    found = _elements(arrays, options_of(options, "realize"))
    return tuple(rebuild_result(structure, found) for structure in structures)


def _elements(arrays: Sequence[Any], options: Options) -> tuple[Array, ...]:
    """The elements of lazy tensors, which know them from then on."""
    asked = [array.tensor for array in arrays]
    wanted = over_leaves(asked)
    values = {tensor: found for tensor in wanted if (found := stored(tensor)) is not None}
    missing = tuple(dict.fromkeys(tensor for tensor in wanted if tensor not in values))
    values.update(zip(missing, _compute(missing, options), strict=True))
    for array, tensor, computed in zip(arrays, asked, wanted, strict=True):
        if not isinstance(computed, Constant):
            settle(tensor, computed, values[computed])
        array.settle()
    return tuple(values[tensor] for tensor in wanted)


def values_of(arrays: list[Any]) -> list[Any]:
    """The arrays with the elements of lazy tensors, computed all at once, in their places."""
    lazy = [array for array in arrays if is_lazy(array)]
    if not lazy:
        return arrays
    values = iter(realize(*lazy))
    return [next(values) if is_lazy(array) else array for array in arrays]


def _compute(tensors: Sequence[Tensor], options: Options) -> tuple[Array, ...]:
    if not tensors:
        return ()
    program, arrays = numbered(tensors)
    return tuple(frozen(result) for result in plan_of(program, options).result(arrays))


def plan_of(program: Program, options: Options) -> Plan:
    """The plan of a program, compiled once; others run it too, so ask it for results that it does not keep."""
    return PLANS.get((program, options), lambda: compiled_plan(program, options))
