"""`jit`: a function of arrays, traced, optimized and compiled at its first call with a new signature."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np

from eqsat.calling.compiled import Compiled
from eqsat.calling.forms import Forms
from eqsat.calling.layouts import Layouts
from eqsat.calling.lazy import values_of
from eqsat.capture.signature import POSITIONAL, Arguments, Given, describe, function_name, lay_out, leaves_of
from eqsat.capture.specs import Spec
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

    Raises UsageError or DTypeError, naming the parameter, before anything runs; UnsupportedError for a function that changes an argument,
    or a dict or list among them; otherwise what `trace` raises.
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
    known = Layouts()

    def call(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and (plan := known.find(args)) is not None:
            return plan.result(args)
        out = kwargs.pop("out", None) if takes_out else None
        names, values = (len(args), *kwargs), (*args, *kwargs.values())
        found = None if _are_arrays(values) and not kwargs else forms.find(names, values)
        if found is not None and (direct := found[0].direct) is not None:
            return direct(*found[1]) if out is None else direct(*found[1], out=out)
        if any(is_traced(leaf) for leaf in leaves_of(*values)):
            return function(*args, **kwargs) if out is None else function(*args, **kwargs, out=out)
        return computed(names, values, out)

    def computed(names: tuple[Any, ...], values: Sequence[Any], out: Any) -> Any:
        """A call with some positional arguments and these keywords."""
        if names not in layouts:
            layouts[names] = lay_out(function, signature, names[0], names[1:])
            forms.know(names, [value for part in layouts[names] for _, value in part])
        positional, keyword = (
            [(parameter, values[value.position] if isinstance(value, Given) else value) for parameter, value in part]
            for part in layouts[names]
        )
        arguments, arrays = describe(positional, keyword, name, static, as_they_lie=True)
        plan = plans.get(arguments, lambda: _plan(function, arguments, arrays, options or Options()))
        if arguments.in_order:
            if len(names) == 1 and _are_arrays(values):
                compiled.called(plan, takes_out)
                if plan.direct is None and len(arrays) == len(values) and all(map(operator.is_, arrays, values)):
                    known.know(values, plan)
            elif (found := forms.find(names, values)) is not None and len(found[1]) == len(arrays):
                found[0].called(plan)
        return plan.result(values_of(arrays), out)

    takes_out = "out" not in signature.parameters
    forms = Forms(name, computed)
    compiled = Compiled(call)
    compiled.title = name
    return functools.update_wrapper(compiled, function)


def _are_arrays(values: Sequence[Any]) -> bool:
    return all(type(value) is np.ndarray for value in values)


def _plan(function: Function, arguments: Arguments, arrays: Sequence[Any], options: Options) -> Plan:
    if any(isinstance(array, Spec) for array in arrays):
        raise UsageError(f"{function_name(function)}: found a Spec, expected arrays; eqsat.optimize and eqsat.trace take specs")
    return compiled_plan(record(function, arguments, options.fallback), options)
