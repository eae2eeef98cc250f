"""`jit`: a function of arrays, traced, optimized and compiled at its first call with a new signature."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, overload

import numpy as np

from eqsat.calling.compiled import Compiled
from eqsat.calling.lazy import values_of
from eqsat.capture.signature import POSITIONAL, Arguments, Given, describe, function_name, lay_out, leaves_of
from eqsat.capture.traces import is_traced
from eqsat.capture.tracing import record
from eqsat.ir.errors import UsageError
from eqsat.keeping.once import Once
from eqsat.options import Options, options_of
from eqsat.running.plan import Plan
from eqsat.running.plans import compiled_plan

Function = Callable[..., Any]


@overload
def jit(function: Function, *, static: str | Collection[str] = (), options: Options | None = None, fallback: bool = False) -> Function: ...
@overload
def jit(
    function: None = None, *, static: str | Collection[str] = (), options: Options | None = None, fallback: bool = False
) -> Callable[[Function], Function]: ...
def jit(
    function: Function | None = None, *, static: str | Collection[str] = (), options: Options | None = None, fallback: bool = False
) -> Any:
    """A function that computes what `function` does, compiled; also usable as `@jit(static=("axis",), options=...)`.

    Arguments, positional or by keyword, are numpy arrays and scalars (compiled for each combination of shapes and dtypes), tuples, lists
    and dicts of them, nested, and Python numbers, strings, None, dtypes and tuples of these (compiled for each value).  Parameters
    named in `static` take anything that can be hashed and are compiled for each value.  Lazy tensors are computed first, all at once.
    `fallback` is that of `options`.
    `out=` of a call names arrays for the results, unless `function` has a parameter of that name.

    Arrays whose axes lie in memory in another order, as those of `x.T`, are read as they lie, and compiled for that.
    Results are new numpy arrays, 0-d where NumPy gives a scalar, in the containers that `function` returns.  Arrays, lazy tensors and
    numbers that the function takes from elsewhere are constants: they are read when it is traced, once for every signature, and
    what is written to them later is not seen; pass as arguments what changes.  Called on traced arrays it runs as plain Python, so
    compiled functions may call each other.  Threads may call it at the same time; a signature is compiled once.

    Raises UsageError or DTypeError, naming the parameter, before anything runs; otherwise what `trace` raises.
    """
    if function is None:
        return lambda found: jit(found, static=static, options=options, fallback=fallback)
    if not callable(function):
        raise UsageError(f"jit: found a {type(function).__name__}, expected a function")
    names = (static,) if isinstance(static, str) else tuple(static)
    _check_static(function, names)
    chosen = options_of(options, "jit") if options is not None or fallback else None
    return _compiled(function, names, replace(chosen, fallback=True) if fallback and chosen is not None else chosen)


def _check_static(function: Function, names: tuple[str, ...]) -> None:
    kinds = (*POSITIONAL, inspect.Parameter.KEYWORD_ONLY)
    known = [name for name, parameter in inspect.signature(function).parameters.items() if parameter.kind in kinds]
    for name in names:
        if name not in known:
            raise UsageError(f"jit: found the static name {name!r}, expected a parameter of {function_name(function)}: {', '.join(known)}")


def _compiled(function: Function, static: tuple[str, ...], options: Options | None) -> Function:
    signature = inspect.signature(function)
    name = function_name(function)
    layouts: dict[tuple[Any, ...], Any] = {}
    plans: Once[Plan] = Once()

    def call(*args: Any, **kwargs: Any) -> Any:
        if any(is_traced(leaf) for leaf in leaves_of(*args, *kwargs.values())):
            return function(*args, **kwargs)
        out = kwargs.pop("out", None) if takes_out else None
        form = (len(args), *kwargs)
        if form not in layouts:
            layouts[form] = lay_out(function, signature, len(args), tuple(kwargs))
        given = (*args, *kwargs.values())
        positional, keyword = (
            [(parameter, given[value.position] if isinstance(value, Given) else value) for parameter, value in part]
            for part in layouts[form]
        )
        arguments, arrays = describe(positional, keyword, name, static, as_they_lie=True)
        plan = plans.get(arguments, lambda: _plan(function, arguments, options or Options()))
        if not kwargs and all(type(argument) is np.ndarray for argument in args) and arguments.in_order:
            compiled.called(plan, takes_out)
        return plan.result(values_of(arrays), out)

    takes_out = "out" not in signature.parameters
    compiled = Compiled(call)
    compiled.title = name
    return functools.update_wrapper(compiled, function)


def _plan(function: Function, arguments: Arguments, options: Options) -> Plan:
    return compiled_plan(record(function, arguments, options.fallback), options)
