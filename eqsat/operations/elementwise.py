"""Elementwise operations: NumPy's broadcasting and promotion, spelled out in the block of a Generic.

Operands of a Call share a dtype, so promotion is visible as astype.  Python numbers are weak (NEP 50): float32 * 2.0 stays float32,
int * 2.5 is float64, bool + 1 is int64.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eqsat.ir.dtypes import dtype_name, integer_range, is_complex, is_integer
from eqsat.ir.errors import DTypeError, ShapeError, UnsupportedError, UsageError
from eqsat.ir.host_functions import VALUES_DECIDE
from eqsat.ir.ops import BOOL_FORM, COMPLEX_OPS, SCALAR_OPS, Given, converted, loop_dtypes
from eqsat.ir.tensor import Arg, Call, Literal, Position, Scalar, Shape, Tensor, as_dtype, axes
from eqsat.operations.generic import Number, Operand, broadcast_map, broadcast_shapes, integers, literal, make_generic, operand, tensor_of
from eqsat.sizes.markers import DerivedSizeError, Extent, shape_text

Element = Scalar | Number
Block = Callable[..., Scalar]

# comparisons that hold where the left side is the smaller, or the greater
BELOW, ABOVE = ("less", "less_equal"), ("greater", "greater_equal")


def elementwise(name: str, values: Sequence[Any], block: Block) -> Tensor:
    """block(*elements) at every point of the broadcast shape of the values."""
    found: list[Operand] = [operand(name, value) for value in values]
    tensors = [value for value in found if isinstance(value, Tensor)]
    shape = broadcast_shapes(name, *(tensor.shape for tensor in tensors))
    elements: list[Element] = []
    position = 0
    for value in found:
        elements.append(Arg(position, value.dtype) if isinstance(value, Tensor) else value)
        position += isinstance(value, Tensor)
    maps = [broadcast_map(tensor.shape, axes(shape)) for tensor in tensors]
    return make_generic(shape, (), tensors, maps, block(*elements))


def call(op: str, *args: Element) -> Scalar:
    """op(args) on elements with the dtypes that NumPy computes in."""
    row = SCALAR_OPS[op]
    if row.rule == "logic":
        return Call(op, tuple(truth(arg) for arg in args), "bool")
    if row.rule == "select":
        dtype = loop_dtypes(op, "bool", *map(given, args[1:]))[-1]
        return Call(op, (truth(args[0]), *(cast(arg, dtype, wraps=_where_wraps()) for arg in args[1:])), dtype)
    if row.rule == "compare" and row.arity == 2 and (decided := _decided(op, *args)) is not None:
        return decided
    *dtypes, result = loop_dtypes(op, *map(given, args))
    if is_complex(dtypes[0]) and op not in COMPLEX_OPS:
        raise UnsupportedError(f"{op}: found {dtypes[0]}, supported are real numbers; write it with x.real and x.imag")
    if op in BOOL_FORM and result == "bool":
        return call(BOOL_FORM[op], *args)
    if len(set(dtypes)) > 1:
        return _compare_signs(op, *(cast(arg, dtype) for arg, dtype in zip(args, dtypes, strict=True)))
    return Call(op, tuple(cast(arg, dtype) for arg, dtype in zip(args, dtypes, strict=True)), result)


@functools.cache
def _where_wraps() -> bool:
    """Whether NumPy's `where` wraps Python integers that a dtype does not hold, as before NumPy 2.5, or refuses them."""
    try:
        np.where(True, np.int8(0), 300)
    except OverflowError:
        return False
    return True


def given(value: Element) -> Given:
    """What decides about dtypes: that of an element, the type of a Python number; True and False are elements."""
    if isinstance(value, Scalar):
        return value.dtype
    return "bool" if isinstance(value, bool) else int if isinstance(value, int) else type(value)


def common_dtype(op: str, args: Sequence[Element]) -> str:
    """The dtype in which NumPy computes an operation on elements."""
    return loop_dtypes(op, *map(given, args))[0]


def _decided(op: str, left: Element, right: Element) -> Scalar | None:
    """The truth value of a comparison of integers with a Python integer that their dtype does not hold; None of any other."""
    for element, number, larger, smaller in ((left, right, BELOW, ABOVE), (right, left, ABOVE, BELOW)):
        if isinstance(element, Scalar) and is_integer(element.dtype) and type(number) is int:
            low, high = integer_range(element.dtype)
            if not low <= number <= high:
                return Literal(op in (larger if number > high else smaller) or op == "not_equal", "bool")
    return None


def _compare_signs(op: str, left: Scalar, right: Scalar) -> Scalar:
    """int64 beside uint64, which NumPy compares as the numbers that they are: a negative one is less, others have uint64."""
    signed = left if left.dtype == "int64" else right
    below = op in (BELOW if signed is left else ABOVE) or op == "not_equal"
    inside = Call(op, (cast(left, "uint64"), cast(right, "uint64")), "bool")
    sign = Call("less" if below else "greater_equal", (signed, Literal(0, "int64")), "bool")
    return Call("logical_or" if below else "logical_and", (sign, inside), "bool")


def cast(value: Element, dtype: str, wraps: bool = False) -> Scalar:
    """The element in another dtype; a Python integer must fit, unless it `wraps`."""
    if isinstance(value, Literal):
        with np.errstate(all="ignore"):
            return Literal(converted(np.array(value.value, value.dtype), dtype).item(), dtype)
    if isinstance(value, Extent):
        return _size(value, dtype)
    if isinstance(value, Scalar):
        return as_dtype(value, dtype)
    return literal(value, dtype, wraps)


def _size(value: Extent, dtype: str) -> Scalar:
    """A size that is known at run time as an element; DerivedSizeError where the dtype does not hold it."""
    holds = integer_range(dtype if is_integer(dtype) else "int64")
    low, high = value.polynomial.bounds
    if dtype == "bool" or not holds[0] <= low <= high <= holds[1]:
        raise DerivedSizeError(f"literal: found the size {value!r} in {low}..{high}, which does not fit {dtype}; use a float or astype")
    return as_dtype(Position(value.polynomial.term, "int64"), dtype)


def truth(value: Element) -> Scalar:
    """Whether the element is not zero."""
    if not isinstance(value, Scalar):
        number = literal(value, "int64") if type(value) is int else Literal(value, "complex128")  # larger integers NumPy refuses
        return Literal(bool(number.value), "bool")
    return value if value.dtype == "bool" else call("not_equal", value, literal(0, value.dtype))


def scalar_operation(op: str) -> Callable[..., Tensor]:
    """The operation of one row of SCALAR_OPS on arrays and numbers."""

    def unary(x: Any, /) -> Tensor:
        return elementwise(op, (x,), lambda a: call(op, a))

    def binary(x1: Any, x2: Any, /) -> Tensor:
        return elementwise(op, (x1, x2), lambda a, b: call(op, a, b))

    return unary if SCALAR_OPS[op].arity == 1 else binary


def real(val: Any) -> Tensor:
    """The real parts of complex numbers; real numbers as they are."""
    return elementwise("real", (val,), lambda a: call("real", a) if is_complex(a.dtype) else a)


def imag(val: Any) -> Tensor:
    """The imaginary parts of complex numbers; zeros of the dtype of real ones."""
    return elementwise("imag", (val,), lambda a: call("imag", a) if is_complex(a.dtype) else literal(0, a.dtype))


def where(condition: Any, x: Any = None, y: Any = None, /) -> Tensor:
    if x is None or y is None:
        raise UnsupportedError(f"where: found a condition alone, expected where(condition, x, y); {VALUES_DECIDE}")
    return elementwise("where", (condition, x, y), lambda c, a, b: call("where", c, a, b))


def positive(x: Any, /) -> Tensor:
    return elementwise("positive", (x,), lambda a: _number("positive", a))


def _number(name: str, value: Scalar) -> Scalar:
    if value.dtype == "bool":
        raise DTypeError(f"{name}: found bool, expected numbers; use astype first")
    return value


def astype(x: Any, dtype: Any, /, *, copy: bool = True) -> Tensor:
    """The elements in another dtype; a copy always."""
    name = dtype_name(dtype, "astype")
    return elementwise("astype", (x,), lambda a: cast(a, name))


def converted_to(name: str, x: Any, dtype: Any, casting: Any = "same_kind") -> Tensor:
    """The elements in another dtype (None: their own); DTypeError where NumPy's `casting` does not allow it."""
    source = tensor_of(name, x)
    wanted = source.dtype if dtype is None else dtype_name(dtype, name)
    if casting not in ("no", "equiv", "safe", "same_kind", "unsafe"):
        raise UsageError(f"{name}: found casting={casting!r}, expected no, equiv, safe, same_kind or unsafe")
    if not np.can_cast(source.dtype, wanted, casting):
        raise DTypeError(f"{name}: found {source.dtype}, which is not cast to {wanted} by the rule {casting}; use astype first")
    return source if source.dtype == wanted else astype(source, wanted)


def copy(a: Any) -> Tensor:
    return elementwise("copy", (a,), lambda x: x)


def full_like(a: Any, fill_value: Any, dtype: Any = None, *, shape: Any = None) -> Tensor:
    """An array of the shape of `a`, or another one, filled with a number, or with an array that broadcasts to it."""
    source, value = tensor_of("full_like", a), operand("full_like", fill_value)
    extents = source.shape if shape is None else integers("full_like", "extent", shape)
    return _filled("full_like", extents, value, source.dtype if dtype is None else dtype_name(dtype, "full_like"))


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    """An array of this shape, filled with an element of the program, or with an array that broadcasts to it."""
    value = tensor_of("full", fill_value)
    return _filled("full", integers("full", "extent", shape), value, value.dtype if dtype is None else dtype_name(dtype, "full"))


def _filled(name: str, extents: Shape, value: Operand, dtype: str) -> Tensor:
    if not isinstance(value, Tensor):
        return make_generic(extents, (), (), (), cast(value, dtype))
    if broadcast_shapes(name, extents, value.shape) != extents:
        raise ShapeError(f"{name}: found the shape {shape_text(value.shape)}, expected one that broadcasts to {shape_text(extents)}")
    return make_generic(extents, (), (value,), (broadcast_map(value.shape, axes(extents)),), cast(Arg(0, value.dtype), dtype))


def zeros_like(a: Any, dtype: Any = None, *, shape: Any = None) -> Tensor:
    return full_like(a, 0, dtype, shape=shape)


def ones_like(a: Any, dtype: Any = None, *, shape: Any = None) -> Tensor:
    return full_like(a, 1, dtype, shape=shape)
