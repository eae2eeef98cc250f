"""Arrays of sizes that are known at run time, for NumPy makes those of all others; what arrays that are made are like."""

from __future__ import annotations

from typing import Any

from eqsat.ir.dtypes import dtype_name
from eqsat.ir.errors import UnsupportedError, UsageError
from eqsat.ir.index import Const, Index, apply
from eqsat.ir.tensor import Position, Shape, Tensor, as_dtype, axes
from eqsat.operations.elementwise import cast, given
from eqsat.operations.generic import integer, integers, make_generic, operand
from eqsat.sizes.markers import Extent

# what NumPy calls what all arrays are that eqsat computes
ARRAYS_ARE = ("C", "C_CONTIGUOUS", "CONTIGUOUS", "A", "ALIGNED", "W", "WRITEABLE", "O", "OWNDATA", "E", "ENSUREARRAY")


def zeros(shape: Any, dtype: Any = float) -> Tensor:
    return _filled("zeros", shape, 0, dtype)


def ones(shape: Any, dtype: Any = float) -> Tensor:
    return _filled("ones", shape, 1, dtype)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    """An array of this shape, filled with a number."""
    value = operand("full", fill_value)
    if isinstance(value, Tensor):
        raise UnsupportedError("full: found an array, supported are numbers, where a size is known at run time only; use broadcast_to")
    return _filled("full", shape, value, given(value) if dtype is None else dtype)


def _filled(name: str, shape: Any, value: Any, dtype: Any) -> Tensor:
    return make_generic(integers(name, "extent", shape), (), (), (), cast(value, dtype_name(dtype, name)))


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Tensor:
    """The integers from `start` (0) to before `stop`, in int64 if no dtype is given."""
    first, end = (0, start) if stop is None else (start, stop)
    if integer("arange", "step", step) != 1:
        raise UnsupportedError(f"arange: found the step {step}, supported is 1 up to sizes that are known at run time; multiply the result")
    shape, begin = (integer("arange", "stop", end - first),), as_index(first)
    return _of_places("arange", shape, Position(axes(shape)[0] + begin, "int64"), dtype or "int64")


def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = float) -> Tensor:
    """Ones on the k-th diagonal of a matrix of N rows and M columns (N of them), zeros elsewhere."""
    shape = (integer("eye", "rows", N), integer("eye", "columns", N if M is None else M))
    row, column = axes(shape)
    return _of_places("eye", shape, Position(apply("eq", column - row, integer("eye", "k", k)), "bool"), dtype)


def identity(n: Any, dtype: Any = float) -> Tensor:
    return eye(n, dtype=dtype)


def _of_places(name: str, shape: Shape, place: Position, dtype: Any) -> Tensor:
    return make_generic(shape, (), (), (), as_dtype(place, dtype_name(dtype, name)))


def as_index(value: Any) -> Index:
    return value.polynomial.term if isinstance(value, Extent) else Const(integer("arange", "start", value))


def check_requirements(requirements: Any) -> None:
    """Of `require`, for all arrays are alike: UnsupportedError for the order of Fortran, UsageError for what NumPy does not know."""
    for name in requirements or ():
        known = name.upper() if isinstance(name, str) else name
        if known in ("F", "F_CONTIGUOUS", "FORTRAN"):
            raise UnsupportedError(f"require: found {name!r}; what is computed lies in C order")
        if known not in ARRAYS_ARE:
            raise UsageError(f"require: found the requirement {name!r}, expected some of {', '.join(ARRAYS_ARE)}")
