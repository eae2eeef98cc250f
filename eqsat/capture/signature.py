"""The arguments of a call: which are arrays, in which containers, and which are part of the program as they are."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eqsat.capture.arguments import array_spec
from eqsat.capture.array import TracedArray
from eqsat.capture.specs import Spec
from eqsat.ir.containers import Structure, fields_of, flatten_result
from eqsat.ir.errors import UsageError
from eqsat.operations.table import plain_signature

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
CONTAINERS = (tuple, list, dict)


@dataclass(frozen=True)
class Baked:
    """A value that a trace takes as it is; values of one key give the same program."""

    key: Any
    value: Any = field(compare=False)


@dataclass(frozen=True)
class Laid:
    """An array of that shape and dtype whose axes lie in memory in another order, the outermost first: a program is given the array with
    its axes in that order, and moves them."""

    spec: Spec
    order: tuple[int, ...]

    @property
    def stored(self) -> Spec:
        return Spec(tuple(self.spec.shape[axis] for axis in self.order), self.spec.dtype)


@dataclass(frozen=True)
class Given:
    """The place of an argument among those of a call, positional ones first."""

    position: int


@dataclass(frozen=True)
class Arguments:
    """A call apart from the elements of its arrays: calls with equal ones have the same program.

    positional, keyword  the names of the arguments, each with the containers in it and the positions of its leaves
    leaves               for each leaf its place, which names the input, and what is there
    """

    positional: tuple[tuple[str, Structure], ...]
    keyword: tuple[tuple[str, Structure], ...]
    leaves: tuple[tuple[str, Spec | Laid | Baked], ...]

    @property
    def in_order(self) -> bool:
        """Whether all arrays are given as they are."""
        return not any(isinstance(leaf, Laid) for _, leaf in self.leaves)


def is_number(value: Any) -> bool:
    """Whether it is a Python number; NumPy's scalars are arrays without dimensions."""
    return type(value) in (bool, int, float, complex)


def is_static(value: Any) -> bool:
    """Whether a trace takes the argument as it is: Python numbers, strings, None, dtypes, and tuples of these."""
    if type(value) is tuple:
        return all(is_static(item) for item in value)
    dtype = isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic))
    return is_number(value) or value is None or isinstance(value, str) or dtype


def describe(
    positional: Iterable[tuple[str, Any]],
    keyword: Iterable[tuple[str, Any]],
    function: str = "",
    static: Collection[str] = (),
    as_they_lie: bool = False,
) -> tuple[Arguments, list[Any]]:
    """The arguments of a call, and the arrays, lazy tensors and specs in them, in order; `as_they_lie`: arrays with their axes in the order
    of memory, where that leaves no gaps (see Laid).

    Tuples, also named ones, lists, dicts and dataclasses with an array somewhere in them are containers.  Raises UsageError and
    DTypeError, naming the place, for what is neither array nor static, and for arguments named in `static` that cannot be hashed.
    """
    leaves: list[tuple[str, Spec | Laid | Baked]] = []
    arrays: list[Any] = []

    def place(value: Any, where: str) -> int:
        if is_static(value):
            leaves.append((where, Baked(_key(value, where), value)))
        else:
            array = np.asarray(value) if isinstance(value, np.generic) else value
            spec = spec_of(array, where, function)
            order = _order_in_memory(array) if as_they_lie and type(array) is np.ndarray else None
            arrays.append(array if order is None else array.transpose(order))
            leaves.append((where, spec if order is None else Laid(spec, order)))
        return len(leaves) - 1

    def structure(name: str, value: Any) -> Structure:
        if isinstance(value, Baked):
            leaves.append((name, value))
            return len(leaves) - 1
        if name in static:
            leaves.append((name, Baked(_key(value, f"{function}: {name}"), value)))
            return len(leaves) - 1
        contained = is_container(value) and any(_is_array(leaf) for leaf in leaves_of(value))
        return flatten_result(value, place, name) if contained else place(value, name)

    first = tuple((name, structure(name, value)) for name, value in positional)
    rest = tuple((name, structure(name, value)) for name, value in keyword)
    return Arguments(first, rest, tuple(leaves)), arrays


def _order_in_memory(array: np.ndarray[Any, Any]) -> tuple[int, ...] | None:
    """The axes of an array, the outermost in memory first, in which it is C-contiguous; None where it is as it stands, or in no order."""
    if array.flags.c_contiguous:
        return None
    order = tuple(sorted(range(array.ndim), key=lambda axis: (-array.strides[axis], axis)))
    return order if array.transpose(order).flags.c_contiguous else None


def leaves_of(*values: Any) -> Iterator[Any]:
    """What is in nested tuples, lists, dicts and dataclasses."""
    for value in values:
        if type(value) is dict:
            yield from leaves_of(*value.values())
        elif isinstance(value, tuple) or type(value) is list:
            yield from leaves_of(*value)
        elif fields := fields_of(value):
            yield from leaves_of(*(getattr(value, name) for name in fields))
        else:
            yield value


def is_container(value: Any) -> bool:
    """Whether arguments may stand in it: a tuple, list or dict and nothing derived from these, or a dataclass with fields."""
    return type(value) in CONTAINERS or bool(fields_of(value))


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic | Spec | TracedArray)


def spec_of(value: Any, where: str, function: str) -> Spec:
    """Shape and dtype of an array, lazy or traced or not, or a Spec; UsageError or DTypeError, naming the place, for anything else."""
    if isinstance(value, Spec):
        return value
    return Spec(value.tensor.shape, value.dtype.name) if isinstance(value, TracedArray) else array_spec(where, value, function)


def _key(value: Any, where: str) -> Any:
    """What tells static arguments apart: type and value, so that 1, 1.0 and True are three."""
    if is_static(value):
        return type(value), repr(value)
    if type(value) is tuple:
        return tuple(_key(item, where) for item in value)
    try:
        hash(value)
    except TypeError:
        raise UsageError(f"{where}: found a {type(value).__name__}, expected something that can be hashed for a static argument") from None
    return type(value), value


def lay_out(
    function: Callable[..., Any], signature: inspect.Signature, count: int, keywords: Sequence[str]
) -> tuple[list[tuple[str, Any]], list[tuple[str, Any]]]:
    """Where the arguments of calls with `count` positional ones and these keywords go: by position and by keyword, each with the name
    of its input and with Given, or the default of its parameter, a function as Baked.  UsageError for a call that does not fit.

    Defaults are passed where there are arrays among them, which are inputs then; else the function has its own, for to ufuncs and others
    what is written as a default may mean something else when it is passed.
    """
    given = [Given(position) for position in range(count + len(keywords))]
    try:
        bound = signature.bind(*given[:count], **dict(zip(keywords, given[count:], strict=True)))
    except TypeError as error:
        raise UsageError(f"{function_name(function)}: found a call that does not fit {plain_signature(signature)}: {error}") from None
    omitted = [parameter.default for name, parameter in signature.parameters.items() if name not in bound.arguments]
    if any(_is_array(leaf) for leaf in leaves_of(*omitted)):
        bound.apply_defaults()
    names = parameter_names(function, len(bound.args), bound.kwargs)
    positional, keyword = zip(names, bound.args, strict=True), bound.kwargs.items()
    first, rest = ([(name, Baked(name, value) if callable(value) else value) for name, value in part] for part in (positional, keyword))
    return first, rest


def function_name(function: Callable[..., Any]) -> str:
    """The name of a function; of a callable without one that of its type."""
    return getattr(function, "__name__", type(function).__name__)


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
