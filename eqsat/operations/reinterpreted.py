"""The bytes of arrays as elements of another dtype, as NumPy's `view` shows them: little ends first, as processors that eqsat compiles for
have them."""

from __future__ import annotations

from typing import Any

from eqsat.ir.dtypes import dtype_name, is_complex, itemsize, part_of
from eqsat.ir.errors import ShapeError, UnsupportedError
from eqsat.ir.ops import BITS_OF
from eqsat.ir.tensor import Scalar, Tensor
from eqsat.operations.elementwise import call, cast, elementwise
from eqsat.operations.generic import tensor_of
from eqsat.operations.indexing import getitem
from eqsat.operations.joining import stack
from eqsat.operations.movement import reshape


def view(x: Any, /, dtype: Any = None) -> Tensor:
    """The bytes of an array as elements of another dtype: of the last axis as many as they make.

    A copy; what is put into it does not go into the array.  ShapeError where the last axis is no multiple of an element.
    """
    source = tensor_of("view", x)
    name = source.dtype if dtype is None else dtype_name(dtype, "view")
    if "bfloat16" in (source.dtype, name) and source.dtype != name:
        raise UnsupportedError("view: found bfloat16, supported are the dtypes of NumPy; use astype")
    row = source if source.shape else reshape(source, (1,))
    if is_complex(source.dtype):
        parts = [elementwise("view", (row,), lambda a, part=part: call(part, a)) for part in ("real", "imag")]
        row = reshape(stack(parts, -1), (*row.shape[:-1], 2 * row.shape[-1]))
    bits, whole = _as_bits(row), part_of(name) if is_complex(name) else name
    old, new = itemsize(bits.dtype), itemsize(whole)
    if old > new:
        bits = reshape(_split(bits, old // new), (*row.shape[:-1], row.shape[-1] * (old // new)))
    each = max(1, new // old) * (2 if is_complex(name) else 1)
    extent = bits.shape[-1]
    if extent % each or (not source.shape and extent != each):
        found = f"{source.dtype}{list(source.shape)}"
        raise ShapeError(f"view: found {found}, expected a last axis whose {extent * itemsize(bits.dtype)} bytes are elements of {name}")
    elements = _of_bits(_joined(bits, new // old) if new > old else bits, whole)
    if is_complex(name):
        parts = [getitem(elements, (..., slice(k, None, 2))) for k in range(2)]
        elements = elementwise("view", tuple(parts), lambda a, b: call("complex", a, b))
    return elements if source.shape else reshape(elements, ())


def _as_bits(source: Tensor) -> Tensor:
    """The bits of elements as integers without a sign."""
    return elementwise("view", (source,), lambda a: call("bits", a) if a.dtype in BITS_OF else cast(a, f"uint{8 * itemsize(a.dtype)}"))


def _of_bits(bits: Tensor, name: str) -> Tensor:
    def element(a: Scalar) -> Scalar:
        return call("of_bits", a) if name in BITS_OF else cast(a, name)

    return elementwise("view", (bits,), element)


def _split(words: Tensor, parts: int) -> Tensor:
    """Integers as so many smaller ones, along a new axis."""
    width = 8 * itemsize(words.dtype) // parts

    def part(k: int) -> Tensor:
        return elementwise("view", (words,), lambda a: cast(call("right_shift", a, cast(k * width, a.dtype)), f"uint{width}"))

    return stack([part(k) for k in range(parts)], -1)


def _joined(row: Tensor, parts: int) -> Tensor:
    """So many integers along the last axis as one."""
    width, whole = 8 * itemsize(row.dtype), f"uint{8 * itemsize(row.dtype) * parts}"

    def element(*words: Scalar) -> Scalar:
        total = cast(words[0], whole)
        for k, word in enumerate(words[1:], 1):
            total = call("bitwise_or", total, call("left_shift", cast(word, whole), cast(k * width, whole)))
        return total

    return elementwise("view", tuple(getitem(row, (..., slice(k, None, parts))) for k in range(parts)), element)
