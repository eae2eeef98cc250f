"""Traced arrays: what a function written for NumPy receives while it is traced.

Operators, methods, numpy functions and ufuncs all become `apply`, which looks the operation up in operations/table.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, ClassVar, NoReturn

import numpy as np

from eqsat.ir.errors import ShapeError, TraceError, UnsupportedError, UsageError
from eqsat.ir.tensor import Tensor
from eqsat.operations.table import by_numpy_function, missing, run

_BY_FUNCTION = by_numpy_function()
# Folds of ufuncs: np.add.reduce and so on.
_FOLDS = {"add": "sum", "maximum": "max", "minimum": "min"}


def apply(name: str, *args: Any, **kwargs: Any) -> Any:
    """The named operation; its result is a traced array of the same trace."""
    traced = [value for value in (*args, *kwargs.values()) if isinstance(value, TracedArray)]
    owner = traced[0].owner
    if any(value.owner is not owner for value in traced):
        raise UsageError(f"{name}: found arrays of two traces, expected those of one; pass what a function uses as its argument")
    bare = [value.tensor if isinstance(value, TracedArray) else value for value in args]
    result = run(name, tuple(bare), {k: v.tensor if isinstance(v, TracedArray) else v for k, v in kwargs.items()})
    return TracedArray(result, owner) if isinstance(result, Tensor) else result


def _operator(name: str) -> Callable[..., Any]:
    return lambda self, *others: apply(name, self, *others)


def _reflected(name: str) -> Callable[..., Any]:
    return lambda self, other: apply(name, other, self)


def _method(name: str) -> Callable[..., Any]:
    return lambda self, *args, **kwargs: apply(name, self, *args, **kwargs)


def _needs_value(what: str, instead: str) -> Callable[..., NoReturn]:
    def refuse(self: TracedArray, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise TraceError(f"{what}: found {self!r}, whose values exist only at run time; {instead}")

    return refuse


def _in_place(symbol: str) -> Callable[..., NoReturn]:
    def refuse(_self: TracedArray, _other: Any) -> NoReturn:
        raise UnsupportedError(f"x {symbol}= y: traced arrays cannot be changed in place; write x = x {symbol} y")

    return refuse


class TracedArray:
    """An array of known shape and dtype whose elements are computed later; arithmetic on it records the program.

    `shape` is a tuple of ints, `dtype` a numpy.dtype.  `tensor` is the ir term so far, `owner` the trace that made it.
    """

    __slots__ = ("owner", "tensor")
    __hash__ = None  # type: ignore[assignment]
    namespace: ClassVar[ModuleType]  # eqsat.numpy, set by that module

    def __init__(self, tensor: Tensor, owner: object) -> None:
        self.tensor = tensor
        self.owner = owner

    def __repr__(self) -> str:
        return f"TracedArray(shape={self.shape}, dtype={self.tensor.dtype})"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tensor.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.tensor.dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return self.tensor.size

    @property
    def T(self) -> TracedArray:
        return self.transpose()

    @property
    def mT(self) -> TracedArray:
        return self._apply("matrix_transpose")

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError("len: found a 0-d array, expected one dimension or more")
        return self.shape[0]

    def __iter__(self) -> Iterator[TracedArray]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, key: Any) -> TracedArray:
        parts = key if isinstance(key, tuple) else (key,)
        if any(isinstance(part, TracedArray) for part in parts):
            raise UnsupportedError("getitem: found a traced array as the index, supported are integers and slices; use where for masks")
        return self._apply("getitem", key)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise UnsupportedError("x[...] = y: traced arrays cannot be changed in place; write x = where(mask, y, x)")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(missing(name) if not name.startswith("__") else name)

    def _apply(self, name: str, *args: Any, **kwargs: Any) -> TracedArray:
        result = apply(name, self, *args, **kwargs)
        assert isinstance(result, TracedArray)
        return result

    __add__, __radd__ = _operator("add"), _reflected("add")
    __sub__, __rsub__ = _operator("subtract"), _reflected("subtract")
    __mul__, __rmul__ = _operator("multiply"), _reflected("multiply")
    __truediv__, __rtruediv__ = _operator("divide"), _reflected("divide")
    __floordiv__, __rfloordiv__ = _operator("floor_divide"), _reflected("floor_divide")
    __mod__, __rmod__ = _operator("remainder"), _reflected("remainder")
    __matmul__, __rmatmul__ = _operator("matmul"), _reflected("matmul")
    __pow__, __rpow__ = _operator("power"), _reflected("power")
    __and__, __rand__ = _operator("bitwise_and"), _reflected("bitwise_and")
    __or__, __ror__ = _operator("bitwise_or"), _reflected("bitwise_or")
    __xor__, __rxor__ = _operator("bitwise_xor"), _reflected("bitwise_xor")
    __lt__, __le__, __gt__, __ge__ = _operator("less"), _operator("less_equal"), _operator("greater"), _operator("greater_equal")
    __eq__, __ne__ = _operator("equal"), _operator("not_equal")
    __neg__, __pos__, __abs__, __invert__ = _operator("negative"), _operator("positive"), _operator("absolute"), _operator("invert")

    __iadd__, __isub__, __imul__, __itruediv__ = _in_place("+"), _in_place("-"), _in_place("*"), _in_place("/")
    __ifloordiv__, __imod__, __imatmul__, __ipow__ = _in_place("//"), _in_place("%"), _in_place("@"), _in_place("**")
    __iand__, __ior__, __ixor__ = _in_place("&"), _in_place("|"), _in_place("^")

    sum, max, min, mean = _method("sum"), _method("max"), _method("min"), _method("mean")
    astype, copy, flatten, ravel = _method("astype"), _method("copy"), _method("ravel"), _method("ravel")
    swapaxes, squeeze = _method("swapaxes"), _method("squeeze")

    __bool__ = _needs_value("bool()", "in place of if, while, and, or, not use where(condition, a, b), & | ~")
    __int__ = _needs_value("int()", "use astype('int64')")
    __float__ = _needs_value("float()", "use astype('float64'), and exp, log, sqrt of numpy, not of math")
    __index__ = _needs_value("index", "use where to choose between values")
    __array__ = _needs_value("numpy.asarray()", "use operations of numpy or eqsat.numpy that take the array itself")
    __contains__ = _needs_value("in", "use (x == value).max()")
    item = tolist = _needs_value("item(), tolist()", "return the array and read its value outside")

    def reshape(self, *shape: Any, order: str = "C") -> TracedArray:
        """The elements under another shape, given as integers or one tuple."""
        return self._apply("reshape", shape[0] if len(shape) == 1 else shape, order=order)

    def transpose(self, *axes: Any) -> TracedArray:
        """Axes in the order given as integers or one tuple; reversed without arguments."""
        return self._apply("transpose", axes[0] if len(axes) == 1 else axes or None)

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        return self.namespace

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        name = _BY_FUNCTION.get(ufunc)
        if name is None:
            raise UnsupportedError(missing(ufunc.__name__))
        if method == "reduce" and name in _FOLDS:
            return apply(_FOLDS[name], *inputs, **{"axis": 0, **kwargs})
        if method != "__call__":
            raise UnsupportedError(f"{name}.{method}: not supported on traced arrays; use sum, max, min or broadcasting with None")
        return apply(name, *inputs, **kwargs)

    def __array_function__(self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        name = _BY_FUNCTION.get(func)
        if name is None:
            raise UnsupportedError(missing(func.__name__))
        return apply(name, *args, **kwargs)
