"""`jit`: a function of arrays, traced, optimized and compiled at its first call with a new signature."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, overload

import numpy as np

from eqsat.arguments import array_spec
from eqsat.array import TracedArray
from eqsat.driver import optimize
from eqsat.ir.errors import UsageError
from eqsat.operations.table import plain_signature
from eqsat.options import Options
from eqsat.spec import Spec
from eqsat.tracing import function_name, is_static, parameter_names, record

Function = Callable[..., Any]


@overload
def jit(function: Function, *, options: Options | None = None) -> Function: ...
@overload
def jit(function: None = None, *, options: Options | None = None) -> Callable[[Function], Function]: ...
def jit(function: Function | None = None, *, options: Options | None = None) -> Any:
    """A function that computes what `function` does, compiled; also usable as `@jit(options=...)`.

    Arguments, positional or by keyword, are numpy arrays and scalars (compiled for each combination of shapes and dtypes) and
    Python numbers, strings, None, dtypes and tuples of these (compiled for each value).  Results are numpy arrays, 0-d where NumPy gives a
    scalar, in the containers that `function` returns.  Arrays that the function takes from elsewhere are read when it is traced.
    Called on traced arrays, it runs as plain Python, so compiled functions may call each other.

    Raises UsageError or DTypeError, naming the parameter, before anything runs; otherwise what `trace` raises.
    """
    if function is None:
        return lambda found: jit(found, options=options)
    if not callable(function):
        raise UsageError(f"jit: found a {type(function).__name__}, expected a function")
    return _compiled(function, options)


def _compiled(function: Function, options: Options | None) -> Function:
    signature = inspect.signature(function)
    name = function_name(function)
    cache: dict[tuple[Any, ...], Callable[..., Any]] = {}

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(value, TracedArray) for value in (*args, *kwargs.values())):
            return function(*args, **kwargs)
        positional, keyword = _named(function, signature, args, kwargs)
        arguments = [(parameter, _array(value)) for parameter, value in (*positional, *keyword.items())]
        described = [value if is_static(value) else array_spec(parameter, value, name) for parameter, value in arguments]
        key = tuple(value if isinstance(value, Spec) else (type(value), repr(value)) for value in described)
        if key not in cache:
            split = len(positional)
            names = [parameter for parameter, _ in arguments]
            first, rest = zip(names[:split], described[:split], strict=True), zip(names[split:], described[split:], strict=True)
            cache[key] = optimize(record(function, list(first), dict(rest)), options=options)
        return cache[key](*(value for (_, value), found in zip(arguments, described, strict=True) if isinstance(found, Spec)))

    return call


def _named(
    function: Function, signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[tuple[str, Any]], dict[str, Any]]:
    """The arguments of a call, defaults included, each with the name of its input."""
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise UsageError(f"{function_name(function)}: found a call that does not fit {plain_signature(signature)}: {error}") from None
    bound.apply_defaults()
    names = parameter_names(function, len(bound.args), bound.kwargs)
    return list(zip(names, bound.args, strict=True)), bound.kwargs


def _array(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, np.generic) else value
