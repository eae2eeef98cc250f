"""Operations that are calls of library functions: searching, scans, order statistics, linear algebra, Fourier transforms.

They cannot be written as functions of an element's place.  A call is a step of the program: it takes and makes whole arrays, and what is
around it is compiled.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from eqsat.ir.containers import flatten_result
from eqsat.ir.copied import uncopied
from eqsat.ir.dtypes import dtype_name, is_complex
from eqsat.ir.errors import DTypeError, ShapeError, UnsupportedError, UsageError
from eqsat.ir.host import Invocation, Static, flat, host_function, made_by, run_host
from eqsat.ir.host_functions import FUNCTIONS, VALUES_DECIDE, Made
from eqsat.ir.steps import HostCall
from eqsat.ir.tensor import Build, Constant, Gather, Read, Scalar, Tensor, axes
from eqsat.operations import reductions
from eqsat.operations.elementwise import astype, call, cast, elementwise
from eqsat.operations.generic import integer, is_its_own_row, normalize_axes, one_axis, tensor_of
from eqsat.operations.movement import broadcast_to, ravel
from eqsat.sizes.markers import shape_text

WRITTEN = ("out", "overwrite_input")
ARRAYS = (Tensor, np.ndarray, np.generic)


def host_call(function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What a function of the host makes, in the tuples that it returns.

    Arguments are tensors, arrays, numbers, strings, None, dtypes, and tuples, lists and dicts of these.  What has no element, and what is
    made of nothing that has one, is known.  Raises what the rules of shapes and dtypes say, UnsupportedError for other arguments and where
    values decide.
    """
    name = function.removeprefix("numpy.")
    count = sum(isinstance(leaf, ARRAYS) for leaf in flat((*args, *kwargs.values())))
    given: list[Tensor] = []
    values: list[Static] = []

    def place(leaf: Any, where: str) -> int:
        if isinstance(leaf, ARRAYS):
            given.append(uncopied(tensor_of(name, leaf)) if not isinstance(leaf, np.generic) else Constant(np.asarray(leaf)))
            return len(given) - 1
        values.append(static(name, where, leaf))
        return count + len(values) - 1

    structure = flatten_result((tuple(args), dict(kwargs)), place, name)
    invocation = Invocation(function, structure, tuple(values))
    results = made_by(invocation, given)
    made = tuple(flat(results))
    if all(0 in one.shape for one in made):
        return _filled(results, (Constant(np.empty(*one)) for one in made))
    given = [tensor if tensor.size else Constant(np.empty(tensor.shape, tensor.dtype)) for tensor in given]
    if not any(tensor.size for tensor in given):
        arrays = [np.empty(tensor.shape, tensor.dtype) for tensor in given]
        return _filled(results, (Constant(array) for array in run_host(invocation, arrays, made)))
    return _filled(results, iter(HostCall(invocation, tuple(given), made).results))


def _filled(results: Any, tensors: Iterator[Tensor]) -> Any:
    """The tuples that a function returns, with these tensors in them."""
    if isinstance(results, Made):
        return next(tensors)
    parts = [_filled(part, tensors) for part in results]
    return type(results)(*parts) if hasattr(results, "_fields") else tuple(parts)


def static(name: str, where: str, leaf: Any) -> Static:
    """A value that is part of the program; UnsupportedError for what is none."""
    if leaf is None or type(leaf) in (bool, int, float, str):
        return leaf  # type: ignore[no-any-return]
    if isinstance(leaf, np.dtype | type):
        return np.dtype(leaf).name
    found = "a function" if callable(leaf) else f"a {type(leaf).__name__}"
    raise UnsupportedError(f"{where}: found {found}, supported are arrays, numbers, strings and None; call {name} outside")


def as_numpy(name: str) -> Callable[..., Any]:
    """The function of that row, with the parameters of NumPy's; lists for parameters without a default are arrays."""

    def function(*args: Any, **kwargs: Any) -> Any:
        parameters = signature(function)
        bound = parameters.bind(*args, **kwargs)
        for key, value in bound.arguments.items():
            if isinstance(value, list) and parameters.parameters[key].default is inspect.Parameter.empty:
                bound.arguments[key] = tensor_of(name, value)
        return host_call(name, bound.args, bound.kwargs)

    function.row = name  # type: ignore[attr-defined]
    return function


@functools.cache
def signature(function: Callable[..., Any]) -> inspect.Signature:
    """The parameters of an operation; of a row those of its function but for what is written to, those behind it by keyword only."""
    if not hasattr(function, "row"):
        return inspect.signature(function)
    found = inspect.signature(host_function(function.row).call)
    keys = list(found.parameters)
    last = min((keys.index(key) for key in WRITTEN if key in keys), default=len(keys))
    kept = [value for key, value in found.parameters.items() if key not in WRITTEN]
    return found.replace(parameters=[value if k < last else value.replace(kind=value.KEYWORD_ONLY) for k, value in enumerate(kept)])


def along_axis(name: str, a: Any, axis: Any) -> tuple[Tensor, int]:
    source = tensor_of(name, a)
    if axis is None:
        return (source if len(source.shape) == 1 else ravel(source)), 0
    return source, one_axis(name, axis, len(source.shape))


def scan(name: str, row: str) -> Callable[..., Tensor]:
    """NumPy's cumsum or cumprod: of all elements in one row where axis is None."""

    def function(a: Any, axis: Any = None, dtype: Any = None) -> Tensor:
        rank = len(tensor_of(name, a).shape)
        source, k = along_axis(name, a, None if is_its_own_row(rank, axis) else axis)
        return _scanned(name, row, source, k, dtype, False)

    return function


cumsum, cumprod = scan("cumsum", "cumulative_sum"), scan("cumprod", "cumulative_prod")


def extreme_scan(name: str) -> Callable[..., Tensor]:
    """numpy.maximum.accumulate or minimum.accumulate, whose axis is 0 if none is given."""

    def function(array: Any, axis: Any = 0, dtype: Any = None) -> Tensor:
        source = tensor_of(name, array) if dtype is None else astype(tensor_of(name, array), dtype)
        if not source.shape:
            raise ShapeError(f"{name}: found a 0-d array, expected one dimension or more")
        found: Tensor = host_call(name, (source,), {"axis": one_axis(name, axis, len(source.shape))})
        return found

    return function


def array_api_scan(name: str) -> Callable[..., Tensor]:
    """The array API's name of it: arrays of several dimensions need an axis; `include_initial` puts what an empty one gives in front."""

    def function(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
        source = tensor_of(name, x)
        if axis is None and len(source.shape) != 1:
            raise UsageError(f"{name}: found axis None for the shape {shape_text(source.shape)}, expected an axis")
        source, k = along_axis(name, source, axis)
        return _scanned(name, name, source, k, dtype, bool(include_initial))

    return function


def _scanned(name: str, row: str, source: Tensor, axis: int, dtype: Any, initial: bool) -> Tensor:
    try:
        chosen = host_function(row).call(np.empty(0, source.dtype), dtype=dtype).dtype
    except TypeError as error:
        raise DTypeError(f"{name}: found dtype {dtype!r} for elements of {source.dtype}: {error}") from None
    how = {"axis": axis, "dtype": dtype_name(chosen, name), **({"include_initial": True} if initial else {})}
    found: Tensor = host_call(row, (source,), how)
    return found


def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Tensor:
    """How often each of 0 .. minlength-1 occurs; BoundsError when it runs where `x` holds something else."""
    numbers, least = tensor_of("bincount", x), integer("bincount", "minlength", minlength)
    if least < 1:
        raise UnsupportedError(f"bincount: found minlength {least}, expected how long the result is; {VALUES_DECIDE}")
    if len(numbers.shape) != 1 or np.dtype(numbers.dtype).kind not in "biu":
        raise DTypeError(f"bincount: found {numbers.dtype}{list(numbers.shape)}, expected integers in one dimension")
    others = tensor_of("bincount", 1 if weights is None else weights)
    if weights is not None and others.shape != numbers.shape:
        raise ShapeError(f"bincount: found weights of shape {others.shape}, expected {numbers.shape}")
    if not np.can_cast(others.dtype, np.float64, "safe"):
        raise DTypeError(f"bincount: found weights of {others.dtype}, expected what float64 holds")
    added = broadcast_to(others, numbers.shape) if weights is None else astype(others, "float64")
    none = Constant(np.zeros(least, added.dtype))
    if not numbers.size:
        return none
    place = Read(astype(numbers, "int64"), axes(numbers.shape))
    counted = Build(numbers.shape, Gather(Constant(np.arange(least)), (place,), checked=True))
    found: Tensor = host_call("scatter_add", (none, counted, added), {"axis": 0})
    return found


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    """NumPy's linalg.norm: the root of the sum of squares is compiled, other norms are calls."""
    source = tensor_of("linalg.norm", x)
    rank = len(source.shape)
    axes = tuple(range(rank)) if axis is None else normalize_axes("linalg.norm", axis, rank)
    euclidean = ord is None or (len(axes) == 1 and ord == 2) or (len(axes) == 2 and ord == "fro")
    if (ord is not None or axis is not None) and len(axes) not in (1, 2):
        raise ShapeError(f"linalg.norm: found {len(axes)} axes, expected one or two")
    if euclidean:
        return _euclidean(source, axes, bool(keepdims))
    if len(axes) == 1 and isinstance(ord, str):
        raise UsageError(f"linalg.norm: found ord {ord!r} for vectors, expected a number")
    if len(axes) == 2 and ord not in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        raise UsageError(f"linalg.norm: found ord {ord!r} for matrices, expected 'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    found: Tensor = host_call("linalg.norm", (source, ord, axes, bool(keepdims)), {})
    return found


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """The array API's norm of vectors along axes, of all elements where axis is None."""
    source = tensor_of("linalg.vector_norm", x)
    axes = tuple(range(len(source.shape))) if axis is None else normalize_axes("linalg.vector_norm", axis, len(source.shape))
    if ord == 2:
        return _euclidean(source, axes, bool(keepdims))
    found: Tensor = host_call("numpy.linalg.vector_norm", (source,), {"axis": axes, "keepdims": bool(keepdims), "ord": ord})
    return found


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """The array API's norm of the matrices in the last two dimensions."""
    return norm(x, ord, (-2, -1), keepdims)


def _euclidean(source: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    dtype = source.dtype if np.dtype(source.dtype).kind in "fc" else "float64"  # of bfloat16 too

    def square(a: Scalar) -> Scalar:
        if is_complex(dtype):
            return call("add", *(call("multiply", part, part) for part in (call("real", a), call("imag", a))))
        return call("multiply", cast(a, dtype), cast(a, dtype))

    total = reductions.sum(elementwise("linalg.norm", (source,), square), axes, keepdims=keepdims)
    return elementwise("linalg.norm", (total,), lambda a: call("sqrt", a))


OPERATIONS: dict[str, Callable[..., Any]] = {
    **{name: as_numpy(name) for name in FUNCTIONS},
    "cumulative_max": extreme_scan("cumulative_max"),
    "cumulative_min": extreme_scan("cumulative_min"),
    "cumsum": cumsum,
    "cumprod": cumprod,
    "cumulative_sum": array_api_scan("cumulative_sum"),
    "cumulative_prod": array_api_scan("cumulative_prod"),
    "bincount": bincount,
    "linalg.norm": norm,
    "linalg.vector_norm": vector_norm,
    "linalg.matrix_norm": matrix_norm,
}
