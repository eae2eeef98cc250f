"""Tracing: a function written with NumPy's names is called once on traced arrays, and what it did becomes a Program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import numpy as np

from eqsat.capture.array import TracedArray
from eqsat.capture.masked import Masked
from eqsat.capture.signature import Arguments, Baked, Laid, describe, function_name, is_number, parameter_names
from eqsat.capture.sized_trace import program_of_any_size
from eqsat.capture.specs import Spec
from eqsat.capture.traces import Trace, in_owner, is_traced
from eqsat.ir.containers import fields_of, flatten_result, rebuild_result
from eqsat.ir.copied import copied
from eqsat.ir.dtypes import dtype_name
from eqsat.ir.errors import EqsatError, TraceError, UnsupportedError, UsageError
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Index, variables
from eqsat.ir.steps import Loop
from eqsat.ir.tensor import Constant, Input, Program, Size, Tensor
from eqsat.operations.indexing import MASKS
from eqsat.operations.movement import transpose
from eqsat.sizes.markers import TRACED, DerivedSizeError, Markers, in_names

# the trace that is being recorded
CURRENT: ContextVar[Trace | None] = ContextVar("trace", default=None)


def trace(function: Callable[..., Any], *arguments: Any, fallback: bool = False) -> Program:
    """The Program that `function` is on arrays like these.

    An argument is a Spec, a numpy.ndarray or lazy tensor (of which shape and dtype count), or a Python number, string, None, dtype or
    tuple of these, which is baked in; or tuples, lists and dicts of these with an array among them, nested.  Inputs are named after
    the parameters: x, weights['bias'].  The function may return an array, a number, or tuples, lists and dicts of them, nested.

    Arrays and lazy tensors that the function takes from elsewhere are constants, with the elements that they have while it is traced.

    `fallback`: functions of NumPy that eqsat lacks are called by the program (docs/fallback.md).

    Raises UsageError for other arguments or results, TraceError where Python needs the value of an array, UnsupportedError for
    an operation that eqsat lacks; errors of the function itself pass through.
    """
    if not callable(function):
        raise UsageError(f"trace: found a {type(function).__name__}, expected a function")
    names = parameter_names(function, len(arguments))
    return record(function, describe(zip(names, arguments, strict=True), ())[0], fallback)


def record(function: Callable[..., Any], arguments: Arguments, fallback: bool = False, of_loop: bool = False) -> Program:
    """The Program of a call in which every Spec stands for an array, an input named after its place; the rest is passed as it is.

    `of_loop`: whether the function is the body of a loop, to which its arguments belong."""
    extents = [extent for _, leaf in arguments.leaves if isinstance(leaf, Spec) for extent in leaf.shape]
    dims = variables(*(extent for extent in extents if isinstance(extent, Index)))
    if not dims:
        return _record(function, arguments, Markers(), fallback, of_loop)

    def at(values: Mapping[str, int]) -> Program:
        leaves = tuple((where, _known(leaf, values) if isinstance(leaf, Spec) else leaf) for where, leaf in arguments.leaves)
        return _record(function, replace(arguments, leaves=leaves), Markers(in_numbers=True), fallback)

    given = max((extent for extent in extents if isinstance(extent, int)), default=1)
    try:
        return program_of_any_size(dims, given, lambda sizes: _record(function, arguments, Markers(sizes), fallback), at)
    except DerivedSizeError as error:
        raise DerivedSizeError(f"{function_name(function)}: {error}") from error


def _contents(value: Any) -> dict[Any, Any]:
    """What a container holds, by key, place or name of a field; nothing of what is no container."""
    if type(value) is dict:
        return dict(value)
    if type(value) in (tuple, list):
        return dict(enumerate(value))
    return {name: getattr(value, name, None) for name in fields_of(value)}


def _held(*values: Any) -> Iterator[tuple[Any, dict[Any, Any]]]:
    """The containers among arguments, each with what it holds."""
    for value in values:
        if contents := _contents(value):
            yield value, contents
            yield from _held(*contents.values())


def _check_held(held: Iterable[tuple[Any, dict[Any, Any]]]) -> None:
    """Raises UnsupportedError where a container does not hold what it held: the caller's would not be changed."""
    for value, before in held:
        after, kind, nothing = _contents(value), type(value).__name__, object()
        for key in {**before, **after}:
            if before.get(key, nothing) is after.get(key, nothing):
                continue
            ours = type(value) in (dict, list)
            there, instead = (f"[{key!r}]", f"begin with x = {kind}(x)") if ours else (f".{key}", f"return another {kind}")
            raise UnsupportedError(f"x{there} = y: found an argument, a {kind}, which belongs to the caller; {instead}")


def _known(spec: Spec, values: Mapping[str, int]) -> Spec:
    """A spec with numbers for its sizes."""

    def number(extent: int | Index) -> int:
        return int(evaluate_index(extent, {v: values[v.name] for v in variables(extent)})) if isinstance(extent, Index) else extent

    return Spec(tuple(map(number, spec.shape)), spec.dtype)


def _record(function: Callable[..., Any], arguments: Arguments, markers: Markers, fallback: bool, of_loop: bool = False) -> Program:
    owner = Trace(markers, fallback=fallback, of_loop=of_loop)
    tokens = CURRENT.set(owner), TRACED.set(markers)
    try:
        return _recorded(function, arguments, markers.sizes, owner)
    except EqsatError as error:
        if not markers.sizes:
            raise
        raise type(error)(in_names(str(error), markers.sizes)) from error
    except OverflowError as error:
        if not markers.sizes:
            raise
        names = ", ".join(size.name for size in markers.sizes)
        raise DerivedSizeError(f"found places beyond 64 bits among what is made of {names}; give them smaller bounds") from error
    finally:
        CURRENT.reset(tokens[0])
        TRACED.reset(tokens[1])


def record_body(function: Callable[..., Any], arguments: Arguments, around: Trace, steps: int) -> tuple[Program, tuple[Tensor, ...]]:
    """The Program of the body of a loop within a trace, and the arrays of that trace that it takes, its last inputs; the first argument
    counts so many steps."""
    owner = Trace(around.sizes, around, around.fallback, of_loop=True)
    token = CURRENT.set(owner)
    around.in_loop = owner
    try:
        program = _recorded(function, arguments, (), owner, steps)
    finally:
        CURRENT.reset(token)
        around.in_loop = None
    inputs = (*program.inputs, *owner.captured.values())
    return Program(inputs, program.outputs, program.structure), tuple(owner.captured)


def _recorded(
    function: Callable[..., Any], arguments: Arguments, sizes: tuple[Size, ...], owner: Trace, steps: int | None = None
) -> Program:
    markers = {size.name: size.marker for size in sizes}
    inputs: list[Input] = []

    def value(where: str, leaf: Spec | Laid | Baked) -> Any:
        if isinstance(leaf, Baked):
            return leaf.value
        spec = leaf.stored if isinstance(leaf, Laid) else leaf
        known = _known(spec, markers)
        most = steps - 1 if steps and not inputs else None
        inputs.append(Input(where, tuple(n for n in known.shape if isinstance(n, int)), spec.dtype, most))
        return TracedArray(transpose(inputs[-1], np.argsort(leaf.order).tolist()) if isinstance(leaf, Laid) else inputs[-1], owner)

    values = [value(where, leaf) for where, leaf in arguments.leaves]
    args = [rebuild_result(structure, values) for _, structure in arguments.positional]
    named = {name: rebuild_result(structure, values) for name, structure in arguments.keyword}
    try:
        held = [] if owner.of_loop else list(_held(*args, *named.values()))
        result = function(*args, **named)
        _check_held(held)
    except ValueError as error:
        if not isinstance(error.__cause__, TraceError):
            raise
        raise TraceError(
            "setitem: found a traced array for an element of a NumPy array; begin with enp.zeros(shape), enp.zeros_like(x) or enp.stack"
        ) from error
    outputs: dict[Tensor, int] = {}

    def place(leaf: Any, where: str) -> int:
        return outputs.setdefault(_output(leaf, where, owner), len(outputs))

    structure = flatten_result(result, place, f"{function_name(function)}: result")
    program = Program(tuple(inputs), tuple(outputs), structure, sizes)
    if sizes and any(isinstance(step, Loop) for step in program.steps):
        raise UnsupportedError("fori: found a loop in a program with sizes that are known at run time only; give spec numbers")
    return program


def _output(leaf: Any, where: str, owner: Trace) -> Tensor:
    """What a function returned as a tensor to compute; inputs and constants are copied."""
    if isinstance(leaf, TracedArray):
        if leaf.owner is not owner and is_traced(leaf) and not owner.is_inside(leaf.owner):
            raise UsageError(f"{where}: found an array of another trace, expected one computed from the arguments")
        return copied(in_owner(leaf, owner))
    if isinstance(leaf, Masked):
        raise UnsupportedError(f"{where}: found {leaf!r}; {MASKS}")
    if not is_number(leaf) and not isinstance(leaf, np.ndarray | np.generic):
        raise UsageError(f"{where}: found a {type(leaf).__name__}, expected arrays and numbers in tuples, lists and dicts")
    array = np.asarray(leaf)
    dtype_name(array.dtype, where)
    return copied(Constant(array.astype(array.dtype.newbyteorder("="))))
