"""Traces and the arrays that belong to them: every operation on such an array is recorded by `apply`.

An array belongs to its owner: one trace, where nothing has a value, or the lazy tensors of eqsat/calling/lazy.py, which are computed when
asked.  What arrays offer to functions written for NumPy is in eqsat/capture/array.py.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from eqsat.capture.sharing import Memory, note
from eqsat.capture.standing import asked_by
from eqsat.ir.errors import TraceError, UnsupportedError, UsageError
from eqsat.ir.host import numpy_name
from eqsat.ir.host_functions import VALUES_DECIDE
from eqsat.ir.tensor import Constant, Input, Tensor
from eqsat.operations.generic import known
from eqsat.operations.host import host_call
from eqsat.operations.table import FALLBACK, OPERATIONS, VALUES_DECIDE_SHAPES, missing, numpy_function, run
from eqsat.sizes.markers import NO_SIZES, DerivedSizeError, Markers

# operations of a program whose sizes are known at run time only
MOST_OF_SIZES = 10_000


class Traced:
    """An array of known shape and dtype whose elements are computed later.

    memory  the ir term so far, and what it shares with others; owner: what it belongs to
    kind    the class of arrays with operators and protocols, set by eqsat.capture.array
    """

    __slots__ = ("__weakref__", "memory", "owner")
    kind: ClassVar[type[Traced]]

    def __init__(self, tensor: Tensor, owner: Trace) -> None:
        self.memory = Memory(tensor)
        self.owner = owner

    def __repr__(self) -> str:
        return f"{self.owner.label}(shape={self.extents}, dtype={self.memory.tensor.dtype})"

    @property
    def tensor(self) -> Tensor:
        self.settle()
        return self.memory.current()

    def settle(self) -> None:
        """Let go of the terms that led to an array which is known by now."""
        self.memory.tensor = self.owner.current(self.memory.tensor)

    @property
    def extents(self) -> tuple[int, ...]:
        """Its shape; of sizes that are known at run time with numbers that know it."""
        sizes = self.owner.sizes
        shape = self.memory.tensor.shape
        return tuple(map(sizes.extent, shape)) if sizes else shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.memory.tensor.dtype)

    @property
    def is_known(self) -> bool:
        """Whether its elements are known while the program is recorded."""
        return isinstance(known(self.tensor), Constant)


class Trace:
    """The owner of the arrays of one trace; `captured`: the inputs that stand for arrays of the trace around."""

    label: ClassVar[str] = "TracedArray"
    lazy: ClassVar[bool] = False

    def __init__(self, sizes: Markers = NO_SIZES, around: Trace | None = None, fallback: bool = False, of_loop: bool = False) -> None:
        """`sizes` that are known at run time; `around`: the trace of a loop of whose body this is one;
        `fallback`: whether functions of NumPy that are no operations are called by the program; `of_loop`: whether it is one of a loop's
        body, whose arguments belong to the loop."""
        self.sizes = sizes
        self.around = around
        self.of_loop = of_loop
        self._fallback = fallback
        self.captured: dict[Tensor, Input] = {}
        self.in_loop: Trace | None = None  # that of the body of a loop in it, while that is traced
        self._operations = 0

    @property
    def fallback(self) -> bool:
        return self._fallback

    def count(self) -> None:
        """One more operation.  Sizes are large numbers while a program is recorded: a loop over one of Python's would not end."""
        self._operations += 1
        if self.sizes and self._operations > MOST_OF_SIZES:
            names = ", ".join(size.name for size in self.sizes.sizes)
            raise DerivedSizeError(
                f"found more than {MOST_OF_SIZES:,} operations, where {names} is known at run time only; instead of a loop of Python's "
                "over a size use operations along an axis, or eqsat.fori for a known number of steps"
            )

    def is_inside(self, other: Trace) -> bool:
        """Whether this is a trace of a loop's body within another one."""
        return self.around is not None and (self.around is other or self.around.is_inside(other))

    @property
    def innermost(self) -> Trace:
        """The trace of the body that is being traced within this one, to which new arrays belong; else this one."""
        return self if self.in_loop is None else self.in_loop.innermost

    def capture(self, tensor: Tensor) -> Input:
        """The input of a loop's body that stands for an array of the trace around."""
        if tensor not in self.captured:
            self.captured[tensor] = Input(f"captured{len(self.captured)}", tensor.shape, tensor.dtype)
        return self.captured[tensor]

    def current(self, tensor: Tensor) -> Tensor:
        """The term that stands for a tensor by now."""
        return tensor

    def value(self, array: Traced, what: str, instead: str) -> np.ndarray[Any, Any]:
        """The elements, for `what` in Python needs them; TraceError says what to write `instead`.  Called by a method of the array."""
        if said := asked_by(sys._getframe(2), array):
            raise TraceError(said)
        raise TraceError(f"{what}: found {array!r}, whose values exist only at run time; {instead}")

    def pickled(self, array: Traced) -> tuple[Any, ...]:
        """What makes an array again, as `__reduce__` gives it; TraceError where it has no elements."""
        raise TraceError(
            f"pickle: found {array!r}, whose values exist only at run time; use pickle.dumps of what the compiled function returns"
        )


# what takes the elements that a condition says, whose values are known of lazy tensors
CHOOSING = ("compress", "extract")
# functions of one array, which may be given as a list of arrays
OF_ONE = frozenset(
    (
        *("sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "argmax", "argmin", "median", "ptp", "average", "count_nonzero"),
        *("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "percentile", "quantile", "sort", "argsort", "cumsum"),
        *("cumprod", "norm", "linalg.norm", "transpose", "flip", "roll", "reshape", "ravel", "diff"),
    )
)


def apply(name: str, *args: Any, **kwargs: Any) -> Any:
    """The named operation; its result belongs to the trace of its arguments, or is a lazy tensor if all of them are."""
    if name not in OPERATIONS:
        return on_host(numpy_function(name), args, kwargs, name)
    owner = _common_owner(name, list(traced_deep((args, kwargs)))).innermost
    owner.count()
    if owner.lazy and name in CHOOSING:
        return numpy_function(name)(*_values(args, name), **_values(kwargs, name))
    if name in OF_ONE and args and isinstance(args[0], list | tuple):
        args = (stacked(args[0]), *args[1:])
    bare = [_bare(value, owner) for value in args]
    named = {key: _bare(value, owner) for key, value in kwargs.items()}
    try:
        result = run(name, tuple(bare), named)
    except TraceError:
        raise
    except UnsupportedError as error:
        function = numpy_name(numpy_function(name))
        if function is None or VALUES_DECIDE in str(error):
            raise
        if not owner.fallback:
            raise UnsupportedError(f"{error}; or {FALLBACK}") from None
        return _on_host(function, args, kwargs, owner)
    made = _owned(result, owner)
    if not owner.lazy:
        note(made, name, args, kwargs, bare, named)
    return made


def stacked(value: Any) -> Any:
    """Nested lists with arrays of a trace in them as one array; anything else as it is."""
    if not isinstance(value, list | tuple) or not any(True for _ in traced_deep(value)):
        return value
    return apply("stack", [part if isinstance(part, Traced) else np.asarray(part) for part in map(stacked, value)])


def _owned(result: Any, owner: Trace) -> Any:
    """A result, its terms in arrays of an owner, in the tuples and lists that they are in."""
    if isinstance(result, Tensor):
        return Traced.kind(result, owner)
    if isinstance(result, tuple | list) and any(isinstance(part, Tensor) for part in result):
        parts = [_owned(part, owner) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


def on_host(function: Any, args: Any, kwargs: Any, what: str) -> Any:
    """A function of NumPy that is no operation: called by the program where its owner says so; UnsupportedError where not."""
    owner = _common_owner(what, list(traced_deep((args, kwargs))))
    if what in VALUES_DECIDE_SHAPES and owner.lazy:
        return function(*_values(args, what), **_values(kwargs, what))
    name = numpy_name(function)
    if not owner.fallback or name is None or what in VALUES_DECIDE_SHAPES:
        raise UnsupportedError(missing(what, function))
    return _on_host(name, args, kwargs, owner)


def _values(value: Any, what: str) -> Any:
    """Nested tuples, lists and dicts with NumPy arrays in the place of lazy tensors."""
    if isinstance(value, Traced):
        return value.owner.value(value, what, "")
    if isinstance(value, dict):
        return {key: _values(part, what) for key, part in value.items()}
    return type(value)(_values(part, what) for part in value) if type(value) in (tuple, list) else value


def _on_host(name: str, args: Any, kwargs: Any, owner: Trace) -> Any:
    if kwargs.get("out") is not None:
        raise UnsupportedError(f"{name}: found out=, an array that a program cannot change; use the returned array")
    return _owned(host_call(name, _deep(args, owner), _deep(kwargs, owner)), owner)


def traced_deep(value: Any) -> Iterator[Traced]:
    """The traced arrays and lazy tensors in nested tuples, lists and dicts."""
    if isinstance(value, Traced):
        yield value
    elif isinstance(value, tuple | list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from traced_deep(part)


def _deep(value: Any, owner: Trace) -> Any:
    """Nested tuples, lists and dicts with terms of an owner in the place of its arrays."""
    if isinstance(value, Traced):
        return in_owner(value, owner)
    if isinstance(value, dict):
        return {key: _deep(part, owner) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return (list if isinstance(value, list) else tuple)(_deep(part, owner) for part in value)
    return value


def _bare(value: Any, owner: Trace) -> Any:
    """A value with terms of an owner in the place of its arrays."""
    if isinstance(value, Traced):
        return in_owner(value, owner)
    if isinstance(value, list | tuple) and any(True for _ in traced_deep(value)):
        return type(value)(_bare(part, owner) for part in value)
    return value


def _common_owner(name: str, arrays: list[Traced]) -> Trace:
    owners = {array.owner for array in arrays}
    if not owners:
        raise UsageError(f"{name}: found no traced array among the arguments, expected one")
    traces = [owner for owner in owners if not owner.lazy]
    innermost = [owner for owner in traces if all(owner is other or owner.is_inside(other) for other in traces)]
    if len(traces) > 1 and innermost:
        return innermost[0]
    if len(traces) > 1:
        raise UsageError(f"{name}: found arrays of two traces, expected those of one; pass what a function uses as its argument")
    return (traces or [*owners])[0]


def in_owner(array: Traced, owner: Trace) -> Tensor:
    """The array's term among those of `owner`; to a trace, a lazy tensor is a constant like any array from elsewhere."""
    if array.owner is owner:
        return array.tensor
    if owner.around is not None and not array.owner.lazy:
        return owner.capture(in_owner(array, owner.around))
    return Constant(array.owner.value(array, "constant", ""))


def is_lazy(value: Any) -> bool:
    """Whether it is a lazy tensor, which has a value."""
    return isinstance(value, Traced) and value.owner.lazy


def is_traced(value: Any) -> bool:
    """Whether it is an array of a trace, which has no value."""
    return isinstance(value, Traced) and not value.owner.lazy
