"""Tracing: a function written with NumPy's names is called once on traced arrays, and what it did becomes a Program."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

import eqsat.numpy  # noqa: F401  the namespace of traced arrays
from eqsat.arguments import array_spec
from eqsat.array import TracedArray
from eqsat.ir.dtypes import dtype_name
from eqsat.ir.errors import UsageError
from eqsat.ir.structure import flatten_result
from eqsat.ir.tensor import Build, Constant, Input, Program, Read, Tensor, axes
from eqsat.operations.table import plain_signature
from eqsat.spec import Spec

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def trace(function: Callable[..., Any], *arguments: Any) -> Program:
    """The Program that `function` is on arrays like these.

    An argument is a Spec, a numpy.ndarray (of which shape and dtype count), or a Python number, string, None, dtype or tuple of
    these, which is baked in.  Inputs are named after the parameters.  The function may return an array, a number, or tuples, lists
    and dicts of them, nested.

    Raises UsageError for other arguments or results, TraceError where Python needs the value of an array, UnsupportedError for
    an operation that eqsat lacks; errors of the function itself pass through.
    """
    if not callable(function):
        raise UsageError(f"trace: found a {type(function).__name__}, expected a function")
    names = parameter_names(function, len(arguments))
    return record(function, [(name, _described(name, value)) for name, value in zip(names, arguments, strict=True)], {})


def record(function: Callable[..., Any], positional: Sequence[tuple[str, Any]], keyword: Mapping[str, Any]) -> Program:
    """The Program of a call in which every Spec stands for an array, an input of that name; other arguments are passed as they are."""
    owner = object()
    inputs: list[Input] = []

    def traced(name: str, value: Any) -> Any:
        if not isinstance(value, Spec):
            return value
        inputs.append(Input(name, value.shape, value.dtype))
        return TracedArray(inputs[-1], owner)

    args = [traced(name, value) for name, value in positional]
    result = function(*args, **{name: traced(name, value) for name, value in keyword.items()})
    outputs: dict[Tensor, int] = {}

    def place(leaf: Any, where: str) -> int:
        return outputs.setdefault(_output(leaf, where, owner), len(outputs))

    structure = flatten_result(result, place, f"{function_name(function)}: result")
    return Program(tuple(inputs), tuple(outputs), structure)


def function_name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def is_number(value: Any) -> bool:
    """Whether it is a Python number; NumPy's scalars are arrays without dimensions."""
    return type(value) in (bool, int, float)


def is_static(value: Any) -> bool:
    """Whether a trace takes the argument as it is: Python numbers, strings, None, dtypes, and tuples of these."""
    if type(value) is tuple:
        return all(is_static(item) for item in value)
    dtype = isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic))
    return is_number(value) or value is None or isinstance(value, str) or dtype


def parameter_names(function: Callable[..., Any], count: int, keywords: Collection[str] = ()) -> tuple[str, ...]:
    """Names for `count` positional arguments of a call: the parameters', x0, x1, ... where there are none; none of `keywords`."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return tuple(f"x{k}" for k in range(count))
    try:
        signature.bind(*[None] * count, **dict.fromkeys(keywords))
    except TypeError as error:
        raise UsageError(f"{function_name(function)}: found a call that does not fit {plain_signature(signature)}: {error}") from None
    parameters = list(signature.parameters.values())
    names = [parameter.name for parameter in parameters if parameter.kind in POSITIONAL][:count]
    rest = next((parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.VAR_POSITIONAL), "x")
    taken = {*names, *keywords}
    fresh = (name for k in itertools.count() if (name := f"{rest}{k}") not in taken)
    return (*names, *itertools.islice(fresh, count - len(names)))


def _described(name: str, value: Any) -> Any:
    """A Spec for an array; what is baked in stays."""
    if isinstance(value, Spec) or is_static(value):
        return value
    return array_spec(name, np.asarray(value) if isinstance(value, np.generic) else value)


def _output(leaf: Any, where: str, owner: object) -> Tensor:
    """What a function returned as a tensor to compute; inputs and constants are copied."""
    if isinstance(leaf, TracedArray):
        if leaf.owner is not owner:
            raise UsageError(f"{where}: found an array of another trace, expected one computed from the arguments")
        return _copied(leaf.tensor)
    if not is_number(leaf) and not isinstance(leaf, np.ndarray | np.generic):
        raise UsageError(f"{where}: found a {type(leaf).__name__}, expected arrays and numbers in tuples, lists and dicts")
    array = np.asarray(leaf)
    dtype_name(array.dtype, where)
    return _copied(Constant(array.astype(array.dtype.newbyteorder("="))))


def _copied(tensor: Tensor) -> Tensor:
    """A tensor that a kernel can write: an input, or a constant with elements, is read into a Build."""
    if isinstance(tensor, Input | Constant):
        return Build(tensor.shape, Read(tensor, axes(tensor.shape))) if tensor.size else Constant(np.empty(tensor.shape, tensor.dtype))
    return tensor
