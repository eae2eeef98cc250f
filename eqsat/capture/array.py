"""Traced arrays: what a function written for NumPy receives while it is traced, and what lazy tensors are outside of traces.

Operators, methods, numpy functions and ufuncs all become `apply` (eqsat/capture/traces.py), which looks the operation up in
eqsat/operations/table.py.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, ClassVar, NoReturn

import numpy as np

from eqsat.capture.callbacks import CALLING
from eqsat.capture.changing import CHANGING, put_into
from eqsat.capture.masked import Masked
from eqsat.capture.sharing import change, is_part, put_back
from eqsat.capture.traces import Traced, apply, is_traced, on_host, stacked, traced_deep
from eqsat.ir.errors import DTypeError, MissingError, ShapeError, TraceError, UnsupportedError, UsageError
from eqsat.ir.host import numpy_name, plain_name
from eqsat.ir.ops import FOLD_OF
from eqsat.operations.table import OPERATIONS, by_numpy_function, missing
from eqsat.sizes.markers import Extent

_BY_FUNCTION = by_numpy_function()
# Folds of ufuncs: np.add.reduce and so on.
_FOLDS = {**FOLD_OF, "logical_and": "all", "logical_or": "any"}
# and scans: np.add.accumulate
_SCANS = {"add": "cumsum", "multiply": "cumprod", "maximum": "cumulative_max", "minimum": "cumulative_min"}
# What to write in place of a loop whose length values decide.
REPEAT = "to repeat, eqsat.fori"
# Where NumPy looks at elements: np.array([x, y]), table[x], np.maximum.reduce([x, y]).
FILLED = "enp.zeros_like(x)"
SLICED = "enp.take(x, i + np.arange(2), axis=0) for x[i:i+2]"
TAKES_NONE = f"use enp.asarray(x), x.astype, enp.take(table, x), enp.stack([x, y]), {FILLED} to fill"


def _operator(name: str) -> Callable[..., Any]:
    return lambda self, *others: apply(name, self, *others)


def _power(self: TracedArray, exponent: Any, modulo: Any = None) -> Any:
    """NumPy's operator takes squares and roots where its function need not: bool ** 2 is int8, but int64 of a scalar, which folds and
    single elements are; and -inf ** 0.5 is NaN in float16 too."""
    if modulo is not None:
        raise UnsupportedError("pow(x, y, z): NumPy has no power by modulus; use x**y % z")
    if type(exponent) is int and exponent == 2 and (self.ndim or self.dtype != np.bool_):
        return apply("square", self)
    if type(exponent) is float and exponent == 0.5 and np.issubdtype(self.dtype, np.inexact):
        return apply("sqrt", self)
    return apply("power", self, exponent)


def _reflected(name: str) -> Callable[..., Any]:
    return lambda self, other: apply(name, other, self)


def _method(name: str) -> Callable[..., Any]:
    def method(self: TracedArray, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("out") is None:
            return apply(name, self, *args, **kwargs)
        out = kwargs.pop("out")
        return put_into(out, lambda: apply(name, self, *args, **kwargs), name)

    return method


def _needs_value(what: str, instead: str, convert: Callable[..., Any]) -> Callable[..., Any]:
    def read(self: TracedArray, *args: Any, **kwargs: Any) -> Any:
        return convert(self.owner.value(self, what, instead), *args, **kwargs)

    return read


def _needs_element(what: str, instead: str, convert: Callable[[Any], Any]) -> Callable[..., Any]:
    def read(self: TracedArray) -> Any:
        value = self.owner.value(self, what, instead)
        # one element in a row is no index for NumPy, which tries this before it takes a whole array for one
        if value.size != 1 or (convert is operator.index and value.ndim):
            raise UsageError(f"{what}: found {self!r}, expected one element{' in a 0-d array' if convert is operator.index else ''}")
        return convert(value.item())

    return read


def _as_array(value: np.ndarray[Any, Any], dtype: Any = None, *, copy: bool | None = None) -> np.ndarray[Any, Any]:
    return np.array(value, dtype, copy=copy)


def _formatted(value: np.ndarray[Any, Any], form: str) -> str:
    return format(value.item() if value.ndim == 0 else value, form)


def _contains(array: np.ndarray[Any, Any], value: Any) -> bool:
    return bool(np.any(array == np.asarray(value)))


def _changed_at(name: str, target: Any, places: Any, values: Any = None) -> None:
    """What the `at` of a ufunc does to an array of the trace, at places of its first axes."""
    if isinstance(target, TracedArray) and isinstance(places, tuple) and _are_places(places, target):
        rows = apply("reshape", target, (-1, *target.shape[len(places) :]))
        flat: Any = 0
        for n, place in zip(target.shape, places, strict=False):  # what is out of range is found, negative ones count from the end
            flat = flat * n + (apply("take", np.arange(n), place) if is_traced(place) else np.arange(n)[place])
        changed = apply("copy", rows)
        _changed_at(name, changed, flat, values)
        target._put(apply("reshape", changed, target.shape), f"{name}.at", "x = eqsat.numpy.scatter_add(x, i, y)")
        return
    if isinstance(target, TracedArray) and not isinstance(places, tuple) and values is not None and name in (*FOLD_OF, "subtract"):
        dtype = values.dtype if hasattr(values, "dtype") else np.result_type(target.dtype, values)
        if not np.can_cast(dtype, target.dtype, "same_kind") or (name == "subtract" and target.dtype == np.bool_):
            raise DTypeError(f"{name}.at: found {dtype} at places of {target.dtype}, expected what it is cast to and computed with")
        given = values.astype(target.dtype) if hasattr(values, "dtype") else np.asarray(values, target.dtype)
        op, given = ("add", np.negative(given)) if name == "subtract" else (name, given)
        target._put(apply(f"scatter_{op}", target, places, given), f"{name}.at", "x = eqsat.numpy.scatter_add(x, i, y)")
        return
    raise UnsupportedError(
        f"{name}.at: supported are {', '.join(FOLD_OF)} and subtract of values at places of the first axes of a traced array; "
        "use eqsat.numpy.scatter_add for sums, or where"
    )


def _are_places(places: tuple[Any, ...], target: TracedArray) -> bool:
    """Whether a key is integers of the first axes, some of which are arrays."""
    if any(isinstance(place, slice) for place in places):
        return False
    kinds = [(place.dtype if hasattr(place, "dtype") else np.asarray(place).dtype).kind for place in places]
    return 1 <= len(places) <= target.ndim and all(kind in ("i", "u") for kind in kinds)


def _in_place(symbol: str, name: str) -> Callable[..., TracedArray]:
    """x += y: a number, which NumPy has for most that has no dimensions, is another one; an array stays what it is, with other elements."""

    def changed(self: TracedArray, other: Any) -> TracedArray:
        found: TracedArray = apply(name, self, other)
        return found if not self.shape and self.memory.is_number is not False else self._put(found, f"x {symbol}= y", f"x = x {symbol} y")

    return changed


def _flattened(self: TracedArray, order: str = "C") -> Any:
    """A copy, which `ravel` is not always."""
    return apply("copy", apply("ravel", self, order))


def _resized(_self: TracedArray, *_args: Any, **_kwargs: Any) -> NoReturn:
    raise UnsupportedError("x.resize(): arrays keep their shape; write x = np.resize(x, shape)")


def _in_place_method(name: str) -> Callable[..., None]:
    def changed(self: TracedArray, *args: Any, **kwargs: Any) -> None:
        self._put(apply(name, self, *args, **kwargs), f"x.{name}()", f"x = np.{name}(x)")

    return changed


class _Flat:
    """The elements of an array one behind the other: what x.flat is for reading and writing at places."""

    __slots__ = ("_array",)

    def __init__(self, array: TracedArray) -> None:
        self._array = array

    def __getitem__(self, key: Any) -> Any:
        return apply("getitem", _flattened(self._array), key)

    def __setitem__(self, key: Any, value: Any) -> None:
        found = apply("reshape", apply("setitem", _flattened(self._array), key, stacked(value)), self._array.shape)
        self._array._put(found, "x.flat[...] = y", "x = where(mask, y, x)")

    def __len__(self) -> int:
        return math.prod(self._array.shape)

    def __iter__(self) -> Iterator[Any]:
        return iter(_flattened(self._array))


class TracedArray(Traced):
    """An array of known shape and dtype whose elements are computed later; arithmetic on it records the program.

    `shape` is a tuple of ints, `dtype` a numpy.dtype.  `tensor` is the ir term so far, `owner` what it belongs to.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]
    namespace: ClassVar[ModuleType]  # eqsat.numpy, set by that module

    @property
    def shape(self) -> tuple[int, ...]:
        return self.extents

    @shape.setter
    def shape(self, value: Any) -> None:
        raise UnsupportedError("x.shape = y: arrays keep their shape; write x = x.reshape(y)")

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def T(self) -> TracedArray:
        return self.transpose()

    @property
    def mT(self) -> TracedArray:
        return self._apply("matrix_transpose")

    @property
    def real(self) -> TracedArray:
        return self._apply("real")

    @real.setter
    def real(self, value: Any) -> None:
        self[...] = value if self.dtype.kind != "c" else apply("add", self._apply("imag")._apply("multiply", 1j), value)

    @property
    def imag(self) -> TracedArray:
        return self._apply("imag")

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise DTypeError(f"x.imag = y: found {self.dtype}, expected complex numbers")
        self[...] = apply("add", np.multiply(value, 1j), self._apply("real"))

    def copy(self, order: str = "C") -> TracedArray:
        found: TracedArray = self._apply("copy")
        found.memory.is_whole = order == "C"
        return found

    def __copy__(self) -> TracedArray:
        return self._apply("copy")

    def __deepcopy__(self, memo: Any) -> TracedArray:
        return self._apply("copy")

    def __reduce__(self) -> Any:
        """Pickled are the elements, of a lazy tensor; a traced array has none."""
        return self.owner.pickled(self)

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError("len: found a 0-d array, expected one dimension or more")
        if isinstance(self.shape[0], Extent):
            raise TraceError(f"len: found the size {self.shape[0]!r}, which is known at run time only")
        return self.shape[0]

    def __iter__(self) -> Iterator[TracedArray]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        if is_traced(key) and key.dtype == np.bool_ and key.ndim > 0 and key.shape == self.shape[: key.ndim] and not key.is_known:
            return Masked(TracedArray(self.tensor, self.owner), TracedArray(key.tensor, key.owner))
        return self._apply("getitem", key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, Masked) and value.has_mask(key):
            value = value.chosen(self)
            key = Ellipsis
        value = stacked(value)
        put_back(value, self, key)
        if not is_part(value, self, key):
            self._put(apply("setitem", self, key, value), "x[...] = y", "x = where(mask, y, x)")

    def _put(self, found: TracedArray, what: str, instead: str) -> TracedArray:
        """Stand for what was found, which has to be of this shape, and of a dtype that NumPy casts to this one; `what` did that, and what
        to write `instead` where that cannot be."""
        if found.shape != self.shape:
            raise ShapeError(f"{what}: found the shape {found.shape}, expected {self.shape}, which stays")
        if not np.can_cast(found.dtype, self.dtype, "same_kind"):
            raise DTypeError(f"{what}: found {found.dtype}, which is not cast to {self.dtype}, which stays; use astype first")
        change(self, found.tensor if found.dtype == self.dtype else apply("astype", found, self.dtype).tensor, what, instead)
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if not self.owner.fallback or not hasattr(np.ndarray, name) or numpy_name(getattr(np, name, None)) is None:
            raise MissingError(missing(name))
        return lambda *args, **kwargs: on_host(getattr(np, name), (self, *args), kwargs, name)

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
    __divmod__, __rdivmod__ = _operator("divmod"), _reflected("divmod")
    __matmul__, __rmatmul__ = _operator("matmul"), _reflected("matmul")
    __pow__, __rpow__ = _power, _reflected("power")
    __and__, __rand__ = _operator("bitwise_and"), _reflected("bitwise_and")
    __or__, __ror__ = _operator("bitwise_or"), _reflected("bitwise_or")
    __xor__, __rxor__ = _operator("bitwise_xor"), _reflected("bitwise_xor")
    __lshift__, __rlshift__ = _operator("left_shift"), _reflected("left_shift")
    __rshift__, __rrshift__ = _operator("right_shift"), _reflected("right_shift")
    __lt__, __le__, __gt__, __ge__ = _operator("less"), _operator("less_equal"), _operator("greater"), _operator("greater_equal")
    __eq__, __ne__ = _operator("equal"), _operator("not_equal")
    __neg__, __pos__, __abs__, __invert__ = _operator("negative"), _operator("positive"), _operator("absolute"), _operator("invert")

    __iadd__, __isub__ = _in_place("+", "add"), _in_place("-", "subtract")
    __imul__, __itruediv__ = _in_place("*", "multiply"), _in_place("/", "divide")
    __ifloordiv__, __imod__ = _in_place("//", "floor_divide"), _in_place("%", "remainder")
    __imatmul__, __ipow__ = _in_place("@", "matmul"), _in_place("**", "power")
    __iand__, __ior__, __ixor__ = _in_place("&", "bitwise_and"), _in_place("|", "bitwise_or"), _in_place("^", "bitwise_xor")
    __ilshift__, __irshift__ = _in_place("<<", "left_shift"), _in_place(">>", "right_shift")

    sum, prod, max, min = _method("sum"), _method("prod"), _method("max"), _method("min")
    any, all, argmax, argmin = _method("any"), _method("all"), _method("argmax"), _method("argmin")
    mean, var, std = _method("mean"), _method("var"), _method("std")
    dot, trace, diagonal, repeat = _method("dot"), _method("trace"), _method("diagonal"), _method("repeat")
    take, choose = _method("take"), _method("choose")
    astype, flatten, ravel = _method("astype"), _flattened, _method("ravel")
    view = _method("view")
    swapaxes, squeeze = _method("swapaxes"), _method("squeeze")
    clip, round, __round__ = _method("clip"), _method("round"), _method("round")
    cumsum, cumprod = _method("cumsum"), _method("cumprod")
    argsort, argpartition, searchsorted = _method("argsort"), _method("argpartition"), _method("searchsorted")

    def fill(self, value: Any) -> None:
        """Let all elements be this one."""
        self._put(apply("setitem", self, Ellipsis, value), "x.fill(y)", "x = np.full_like(x, y)")

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """The slices of an axis, or elements, of which a known condition is true."""
        return np.compress(condition, self, axis, out) if out is not None else apply("compress", condition, self, axis)

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Let elements, counted in C order, be these, which are repeated where they are fewer."""
        CHANGING[np.put](self, indices, values, mode)

    sort, partition, resize = _in_place_method("sort"), _in_place_method("partition"), _resized

    def _set_flat(self, value: Any) -> None:
        if np.ndim(value):
            raise UnsupportedError("x.flat = y: supported is one value for all; write x[...] = y.reshape(x.shape)")
        self[...] = value

    flat = property(lambda self: _Flat(self), _set_flat)

    __bool__ = _needs_element("bool()", f"use enp.where(condition, a, b), & | ~; {REPEAT}", bool)
    __int__ = _needs_element("int()", f"use astype('int64'), enp.where; {REPEAT}", int)
    __float__ = _needs_element("float()", "use astype('float64'), and exp, log, sqrt of numpy, not of math", float)
    __complex__ = _needs_element("complex()", "use astype('complex128')", complex)
    __index__ = _needs_element("index", f"use enp.where to choose between values, {SLICED}; {REPEAT}", operator.index)
    __array__ = _needs_value("numpy.asarray()", TAKES_NONE, _as_array)
    __format__ = _needs_value("format()", "return the array and print it outside", _formatted)
    __contains__ = _needs_value("in", "use (x == value).max()", _contains)
    item = _needs_value("item()", "return the array and read its value outside", np.ndarray.item)
    tolist = _needs_value("tolist()", "return the array and read its value outside", np.ndarray.tolist)

    def conjugate(self) -> TracedArray:
        """Complex numbers with the sign of their imaginary parts changed; any others as they are, bool too, unlike np.conjugate."""
        return self._apply("conjugate") if self.dtype.kind == "c" else self

    conj = conjugate

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
        if method == "reduce" and name is not None and (fold := _FOLDS.get(name, f"{name}.reduce")) in OPERATIONS:
            return apply(fold, *inputs, **{"axis": 0, **kwargs})
        if method == "at":
            return _changed_at(ufunc.__name__, *inputs)
        if method == "accumulate" and ((kwargs.get("axis", 0) is None and np.ndim(inputs[0]) > 1) or not np.ndim(inputs[0])):
            raise ShapeError(f"{ufunc.__name__}.accumulate: found {np.ndim(inputs[0])} dimensions, expected an axis of one or more")
        if method == "accumulate" and name in _SCANS:
            return apply(_SCANS[name], *inputs, **{"axis": 0, **kwargs})
        if method == "outer" and name is not None and len(inputs) == 2:
            first, second = inputs
            rows = np.expand_dims(first, tuple(range(np.ndim(first), np.ndim(first) + np.ndim(second))))
            return apply(name, rows, second, **kwargs)
        if method == "__call__" and kwargs.get("out") is not None:
            out, where = kwargs.pop("out"), kwargs.pop("where", True)
            return put_into(out, lambda: ufunc(*inputs, **kwargs), ufunc.__name__, where)
        if method == "__call__":
            return apply(name, *inputs, **kwargs) if name else on_host(ufunc, inputs, kwargs, ufunc.__name__)
        if (found := f"{ufunc.__name__}.{method}") in OPERATIONS:
            return apply(found, *inputs, **kwargs)
        return on_host(getattr(ufunc, method), inputs, kwargs, found)

    def __array_function__(self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        name = _BY_FUNCTION.get(func)
        if not any(True for _ in traced_deep((args, kwargs))) and hasattr(self.namespace, plain_name(func)):  # np.zeros(3, like=x)
            return getattr(self.namespace, plain_name(func))(*args, **kwargs)
        if func in CALLING:
            return CALLING[func](*args, **kwargs)
        if func in CHANGING and args and isinstance(args[0], TracedArray):
            return CHANGING[func](*args, **kwargs)
        if any(True for _ in traced_deep(kwargs.get("out"))):
            given = {key: value for key, value in kwargs.items() if key != "out"}
            return put_into(kwargs["out"], lambda: func(*args, **given), plain_name(func))
        return apply(name, *args, **kwargs) if name else on_host(func, args, kwargs, plain_name(func))


Traced.kind = TracedArray
