"""Elementwise operations: NumPy's broadcasting and promotion, spelled out in the block of a Generic.

Operands of a Call share a dtype, so promotion is visible as astype.  Python numbers are weak (NEP 50): float32 * 2.0 stays float32,
int * 2.5 is float64, bool + 1 is int64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eqsat.ir.dtypes import dtype_name
from eqsat.ir.errors import DTypeError, UnsupportedError
from eqsat.ir.ops import SCALAR_OPS, result_dtype
from eqsat.ir.tensor import Arg, Call, Literal, Scalar, Tensor, axes
from eqsat.operations.generic import Number, Operand, broadcast_map, broadcast_shapes, literal, make_generic, operand

Element = Scalar | Number
Block = Callable[..., Scalar]

# NumPy's add and multiply of two bools are "or" and "and".
BOOL_FORM = {"add": "logical_or", "multiply": "logical_and"}


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
    if row.rule == "select":
        dtype = common_dtype(op, args[1:])
        return Call(op, (truth(args[0]), *(cast(arg, dtype) for arg in args[1:])), dtype)
    if row.rule == "logic":
        return Call(op, tuple(truth(arg) for arg in args), "bool")
    dtype = common_dtype(op, args)
    if dtype == "bool" and op in BOOL_FORM:
        return Call(BOOL_FORM[op], tuple(cast(arg, dtype) for arg in args), dtype)
    if dtype == "bool" and row.rule == "float" and op != "divide":
        raise DTypeError(f"{op}: found bool, for which NumPy computes in float16; use astype('float32') or astype('float64') first")
    result = result_dtype(op, *[dtype] * row.arity)
    return Call(op, tuple(cast(arg, result if row.rule == "float" else dtype) for arg in args), result)


def common_dtype(op: str, args: Sequence[Element]) -> str:
    """NumPy's promotion of elements; a comparison with an integer that does not fit widens to int64."""
    dtype = np.result_type(*(np.dtype(arg.dtype) if isinstance(arg, Scalar) else arg for arg in args)).name
    if dtype == "int32" and SCALAR_OPS[op].rule == "compare":
        large = any(isinstance(arg, int) and not -(2**31) <= arg < 2**31 for arg in args)
        return "int64" if large else dtype
    return dtype


def cast(value: Element, dtype: str) -> Scalar:
    """The element in another dtype."""
    if isinstance(value, Literal):
        return literal(value.value, dtype)
    if isinstance(value, Scalar):
        return value if value.dtype == dtype else Call("astype", (value,), dtype)
    return literal(value, dtype)


def truth(value: Element) -> Scalar:
    """Whether the element is not zero."""
    if not isinstance(value, Scalar):
        return Literal(bool(value), "bool")
    return value if value.dtype == "bool" else call("not_equal", value, literal(0, value.dtype))


def scalar_operation(op: str) -> Callable[..., Tensor]:
    """The operation of one row of SCALAR_OPS on arrays and numbers."""

    def unary(x: Any, /) -> Tensor:
        return elementwise(op, (x,), lambda a: call(op, a))

    def binary(x1: Any, x2: Any, /) -> Tensor:
        return elementwise(op, (x1, x2), lambda a, b: call(op, a, b))

    return unary if SCALAR_OPS[op].arity == 1 else binary


def where(condition: Any, x: Any, y: Any, /) -> Tensor:
    return elementwise("where", (condition, x, y), lambda c, a, b: call("where", c, a, b))


def positive(x: Any, /) -> Tensor:
    return elementwise("positive", (x,), lambda a: _number("positive", a))


def _number(name: str, value: Scalar) -> Scalar:
    if value.dtype == "bool":
        raise DTypeError(f"{name}: found bool, expected numbers; use astype first")
    return value


def bitwise(name: str, op: str) -> Callable[..., Tensor]:
    """A bitwise ufunc on bool operands, where it is the logical operation (or comparison) `op`."""

    def block(*args: Element) -> Scalar:
        if (dtype := common_dtype(op, args)) != "bool":
            raise UnsupportedError(f"{name}: found {dtype} operands, supported for bool only; for integers use // and % by powers of two")
        return call(op, *args)

    def unary(x: Any, /) -> Tensor:
        return elementwise(name, (x,), block)

    def binary(x1: Any, x2: Any, /) -> Tensor:
        return elementwise(name, (x1, x2), block)

    return unary if SCALAR_OPS[op].arity == 1 else binary


def astype(x: Any, dtype: Any, /, *, copy: bool = True) -> Tensor:
    """The elements in another dtype; a copy always."""
    name = dtype_name(dtype, "astype")
    return elementwise("astype", (x,), lambda a: cast(a, name))


def copy(a: Any) -> Tensor:
    return elementwise("copy", (a,), lambda x: x)


def full_like(a: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    """An array of the shape of `a`, filled with a number."""
    value = operand("full_like", fill_value)
    if isinstance(value, Tensor):
        raise UnsupportedError("full_like: found an array as the fill value, supported are numbers; use broadcast_to(value, x.shape)")
    name = a.dtype if dtype is None else dtype_name(dtype, "full_like")
    return make_generic(a.shape, (), (), (), cast(value, name))


def zeros_like(a: Any, dtype: Any = None) -> Tensor:
    return full_like(a, 0, dtype)


def ones_like(a: Any, dtype: Any = None) -> Tensor:
    return full_like(a, 1, dtype)
