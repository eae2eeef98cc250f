"""Arguments of compiled programs: checked and laid out in one place, before anything runs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from eqsat.capture.specs import Spec, describe
from eqsat.ir.dtypes import dtype_name
from eqsat.ir.errors import DTypeError, ShapeError, UsageError
from eqsat.ir.tensor import Input

Array = np.ndarray[Any, Any]
# of the object that a method belongs to
INSTEAD = {"self": 'compile the bound method, eqsat.jit(object.method), or with static=("self",), where the object can be hashed'}


def check_arguments(inputs: Sequence[Input], arrays: Sequence[Any]) -> list[Array]:
    """The arrays in C order, aligned and in the machine's byte order; those that are so already are not copied.

    Raises UsageError for a wrong number of arrays or for what is no numpy.ndarray, DTypeError and ShapeError where an array is
    not of its input's dtype and shape; each names the input.
    """
    if len(arrays) != len(inputs):
        names = ", ".join(tensor.name for tensor in inputs) or "none"
        raise UsageError(f"call: found {len(arrays)} arrays, expected {len(inputs)} ({names})")
    return [_fitting(tensor, value) for tensor, value in zip(inputs, arrays, strict=True)]


def all_fit(arrays: Sequence[Any], expected: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]) -> bool:
    """Whether `check_arguments` would hand on these arrays as they are: the usual case, decided quickly."""
    if len(arrays) != len(expected):
        return False
    for array, (shape, dtype) in zip(arrays, expected, strict=True):
        if type(array) is not np.ndarray or array.shape != shape or array.dtype != dtype:
            return False
        flags = array.flags
        if not (flags.c_contiguous and flags.aligned):
            return False
    return True


class Described(Protocol):
    """Anything of a shape and a dtype."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...


def check_out(out: Any, outputs: Sequence[Described]) -> list[Array] | None:
    """The arrays that a caller gives for the outputs, one array alone for one output; None if it gives none.

    Raises UsageError, ShapeError or DTypeError where they are not writeable arrays of the outputs' number, shapes and dtypes, each with
    memory of its own.
    """
    if out is None:
        return None
    given = [out] if isinstance(out, np.ndarray) else out
    if not isinstance(given, list | tuple) or len(given) != len(outputs):
        found = f"{len(given)} arrays" if isinstance(given, list | tuple) else f"a {type(out).__name__}"
        raise UsageError(f"out: found {found}, expected {len(outputs)} arrays, one for each output")
    for k, (array, expected) in enumerate(zip(given, outputs, strict=True)):
        where = f"out[{k}]" if len(outputs) > 1 else "out"
        _check(where, array, expected)
        if not array.flags.writeable:
            raise UsageError(f"{where}: found a read-only array, expected a writeable one")
    for (j, one), (k, other) in itertools.combinations(enumerate(given), 2):
        if np.shares_memory(one, other):
            found = "the same array as" if one is other else "memory of"
            raise UsageError(f"out[{k}]: found {found} out[{j}], expected an array of its own for each output")
    return list(given)


def _fitting(tensor: Input, value: Any) -> Array:
    _check(tensor.name, value, tensor, f"; convert with .astype({tensor.dtype!r})")
    return np.require(value, requirements=("C", "A"))


def _check(where: str, value: Any, expected: Described, advice: str = "") -> None:
    """Whether a value is an array of this dtype, else `advice`, and of this shape."""
    found = array_spec(where, value)
    if found.dtype != expected.dtype:
        raise DTypeError(f"{where}: found {found}, expected {describe(expected.shape, expected.dtype)}{advice}")
    if found.shape != expected.shape:
        raise ShapeError(f"{where}: found {found}, expected {describe(expected.shape, expected.dtype)}")


def array_spec(name: str, value: Any, function: str = "") -> Spec:
    """Shape and dtype of an array argument of `function`; what is no plain array of a supported dtype is refused with a way out."""
    where = f"{function}: {name}" if function else name
    if type(value) is not np.ndarray and type(value) is not np.memmap:
        convertible = isinstance(value, np.ndarray | np.generic | int | float | complex | list | tuple)
        hint = f"pass numpy.asarray({name})" if convertible else INSTEAD.get(name, "pass an array")
        if isinstance(value, Spec):
            hint = "eqsat.optimize and eqsat.trace take specs"
        raise UsageError(f"{where}: found a {type(value).__name__}, expected a numpy.ndarray; {hint}")
    dtype = dtype_name(value.dtype, where)
    if not value.dtype.isnative:
        raise DTypeError(f"{where}: found {value.dtype.str}, another byte order than this machine's; convert with .astype({dtype!r})")
    return Spec(value.shape, dtype)
