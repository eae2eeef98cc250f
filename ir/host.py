"""Functions of NumPy that a program calls as they are, on whole arrays.

Programs and plans name a function by a string: a row of `host_functions.FUNCTIONS` ("sort", "linalg.inv"), or a public function of NumPy
that computes arrays from arrays ("numpy.interp", "numpy.add.accumulate"), as the fallback does.  Nothing else has a name here, so a
plan that is read from disk can call nothing else.

A call is its arguments as NumPy gets them, nested as `arguments` says, in which leaves are arrays and then static values.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from eqsat.ir.containers import Structure, positions, rebuild_result
from eqsat.ir.dtypes import dtype_name
from eqsat.ir.errors import EqsatError, UnsupportedError, UsageError
from eqsat.ir.host_functions import FUNCTIONS, HostFunction, Made

Array = np.ndarray[Any, Any]
Static = bool | int | float | str | None
MODULES = ("", "linalg.", "fft.")  # of NumPy
UFUNC_METHODS = ("reduce", "accumulate", "reduceat", "outer")
# what writes to its arguments or to files, or looks at arrays as objects
REFUSED = frozenset(
    {
        "copyto",
        "fill_diagonal",
        "place",
        "put",
        "put_along_axis",
        "putmask",
        "save",
        "savetxt",
        "savez",
        "savez_compressed",
        "may_share_memory",
        "shares_memory",
        "array_repr",
        "array_str",
        "array2string",
        "result_type",
        "can_cast",
        "min_scalar_type",
        "common_type",
        "iscomplexobj",
        "isrealobj",
    }
)


class Invocation(NamedTuple):
    """A function of the host with its arguments: `arguments` is a tuple of the positional ones and the keywords."""

    function: str
    arguments: Structure
    values: tuple[Static, ...]


# stands for the array of a call
_GIVEN = object()


@functools.cache
def host_function(name: str) -> HostFunction:
    """The function of that name; UsageError where there is none."""
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    package, _, path = name.partition(".")
    found = _public(path) if package == "numpy" else None
    if found is None:
        raise UsageError(f"host: found the function {name!r}, expected one of {', '.join(FUNCTIONS)}, or numpy.NAME")
    return HostFunction(name, found)


def numpy_name(function: Any) -> str | None:
    """The name of a NumPy function that may be called on arrays; None for any other."""
    path = plain_name(function)
    found = _public(path) if path else None
    return f"numpy.{path}" if found is not None and found == function else None  # methods of ufuncs are equal, not the same


def plain_name(function: Any) -> str:
    """The path of a function within NumPy: interp, linalg.inv, add.accumulate."""
    name: str = getattr(function, "__name__", "")
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return f"{owner.__name__}.{name}"
    module = str(getattr(function, "__module__", "")).removeprefix("numpy")
    return f"{module[1:]}.{name}" if module in (".linalg", ".fft") else name


def _public(path: str) -> Callable[..., Any] | None:
    """The function that NumPy has under a path, if it computes arrays from arrays."""
    names = path.split(".")
    if names[-1] in REFUSED:
        return None
    ufunc = getattr(np, names[0], None)
    if isinstance(ufunc, np.ufunc):
        if len(names) == 1:
            return ufunc
        return getattr(ufunc, names[1]) if names[1:] == [names[1]] and names[1] in UFUNC_METHODS else None
    if path[: -len(names[-1])] not in MODULES:
        return None
    found: Any = np
    for name in names:
        found = getattr(found, name, None)
    return found if hasattr(found, "_implementation") else None  # what __array_function__ is asked about


def run_host(
    call: Invocation,
    arrays: Sequence[Array],
    made: Sequence[tuple[tuple[int, ...], str | np.dtype[Any]]],
    calling: Callable[[Sequence[Array]], Any] | None = None,
) -> list[Array]:
    """The results of a call on these arrays; what NumPy raises, and UnsupportedError where they are not of the shapes and dtypes `made`.
    `calling`: what `caller` makes of the call, for many calls."""
    found = [np.asarray(leaf) for leaf in flat((calling or caller(call, len(arrays)))(arrays))]
    for array, (shape, dtype) in zip(found, made, strict=True):
        if array.shape != shape or array.dtype != dtype:
            name = call.function.removeprefix("numpy.")
            raise UnsupportedError(
                f"{name}: found {array.dtype}{list(array.shape)} for these values, expected {dtype}{list(shape)} as when the program was "
                f"recorded; {host_function(call.function).shape_hint}"
            )
    return found


def inside(call: Invocation, given: int) -> Callable[[Sequence[Array], Sequence[Array]], bool] | None:
    """What writes the result of a call on one array into another without a third, and says whether it did; None where the function has
    none such, or takes more arrays."""
    function = host_function(call.function).inside
    if function is None or given != 1:
        return None
    (first, *others), kwargs = rebuild_result(call.arguments, [_GIVEN, *call.values])
    if first is not _GIVEN:
        return None

    def write(arrays: Sequence[Array], results: Sequence[Array]) -> bool:
        (array,), (result,) = arrays, results
        if (array.shape, array.dtype) != (result.shape, result.dtype):
            return False
        np.copyto(result, array)
        function(result, *others, **kwargs)
        return True

    return write


def keywords(call: Invocation, given: int) -> dict[str, Any]:
    """The keyword arguments of a call on that many arrays."""
    _, named = rebuild_result(call.arguments, [*[None] * given, *call.values])
    return dict(named)


def caller(call: Invocation, given: int) -> Callable[[Sequence[Array]], Any]:
    """What calls a function on so many arrays.  Where these are arguments by themselves, each once, the other arguments are put in their
    places beforehand."""
    function = host_function(call.function).call
    order = positions(call.arguments)
    once = len(set(order)) == len(order)
    args, kwargs = rebuild_result(call.arguments, [*map(_Place, range(given)), *call.values]) if once else ((), {})
    places = [(k, arg.number) for k, arg in enumerate(args) if isinstance(arg, _Place)]

    def run(arrays: Sequence[Array]) -> Any:
        if len(places) == given:
            filled, named = list(args), kwargs
            for place, number in places:
                filled[place] = _locked(arrays[number])
        else:
            filled, named = rebuild_result(call.arguments, [*map(_locked, arrays), *call.values])
        with np.errstate(all="ignore"):
            return function(*filled, **named)

    return run


class _Place(NamedTuple):
    """Stands for one of the arrays that a function is called on."""

    number: int


def _locked(array: Array) -> Array:
    """The array, safe from functions that write to their arguments."""
    view = array.view()
    view.setflags(write=False)
    return view


def flat(result: Any) -> Iterator[Any]:
    """What is in nested tuples and lists."""
    if isinstance(result, tuple | list) and not isinstance(result, Made):
        for part in result:
            yield from flat(part)
    else:
        yield result


def made_by(call: Invocation, given: Sequence[Any]) -> Any:
    """Shape and dtype of every result, in the tuples that the function returns; `given` are anything with a shape and a dtype.

    Raises ShapeError, DTypeError and UsageError as the row of the function says, UnsupportedError where values decide.
    """
    rule = host_function(call.function).made
    if rule is None and any(hasattr(array, "data") for array in given):
        return _made_on_examples(call, given)
    if rule is None:
        return _made_of_specs(call, tuple(map(repr, call.values)), tuple(map(_Described, given)))
    args, kwargs = rebuild_result(call.arguments, [*map(_Described, given), *call.values])
    return rule(*args, **kwargs)


class _Described:
    """Shape and dtype of an array."""

    def __init__(self, array: Any) -> None:
        self.shape, self.dtype = tuple(array.shape), array.dtype

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Described) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))


@functools.lru_cache(maxsize=1024)
def _made_of_specs(call: Invocation, _spelled: tuple[str, ...], given: tuple[_Described, ...]) -> Any:
    """The same for every array of a shape and a dtype; values are told apart as they are spelled, 1 from True."""
    return _made_on_examples(call, given)


def _made_on_examples(call: Invocation, given: Sequence[Any]) -> Any:
    """What a function makes of arrays of zeros, of ones, and of different numbers, which has to be one thing."""
    name = call.function.removeprefix("numpy.")
    found: dict[Any, None] = {}
    refused: Exception | None = None
    for example in (np.zeros, np.ones, _different):
        arrays = [array.data if hasattr(array, "data") else example(array.shape, array.dtype) for array in given]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found[_described(caller(call, len(arrays))(arrays), name)] = None
            except (EqsatError, MemoryError):
                raise
            except Exception as error:  # whatever NumPy says about these values, it may take others
                refused = refused or error
    if not found:
        raise UsageError(f"{name}: NumPy says about arrays of these shapes and dtypes: {refused}") from None
    if len(found) > 1:
        raise UnsupportedError(
            f"{name}: found results of several shapes or dtypes, as values decide, expected one; {host_function(call.function).shape_hint}"
        )
    return next(iter(found))


def _different(shape: tuple[int, ...], dtype: str) -> Array:
    numbers = np.arange(np.prod(shape, dtype=np.int64))
    return ((numbers * numbers * 31 + numbers * 17) % 113).reshape(shape).astype(dtype)


def _described(result: Any, name: str) -> Any:
    """A result with shape and dtype in the place of its arrays."""
    if isinstance(result, tuple | list):
        parts = [_described(part, name) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    array = np.asarray(result)
    return Made(array.shape, dtype_name(array.dtype, f"{name}: result"))
