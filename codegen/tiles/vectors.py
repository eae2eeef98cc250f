"""Vectors of elements: of what lies side by side in memory, or a few steps apart, of one element in all lanes, in another dtype, turned."""

from __future__ import annotations

from eqsat.codegen.builder import LLVM_TYPES, MEMORY_TYPES, Value, integer
from eqsat.codegen.emitter import Emitter
from eqsat.codegen.scope import Scope
from eqsat.ir import vectorizable as joint
from eqsat.ir.dtypes import itemsize
from eqsat.ir.errors import InternalError
from eqsat.ir.index import Index
from eqsat.ir.loops import Load, Store
from eqsat.ir.tensor import Call


def vector_type(dtype: str, width: int) -> str:
    return f"<{width} x {LLVM_TYPES[dtype]}>" if width > 1 else LLVM_TYPES[dtype]


def spread(e: Emitter, value: Value, width: int) -> Value:
    """A value in all lanes."""
    if width == 1 or value.type.startswith("<"):
        return value
    type = f"<{width} x {value.type}>"
    first = e.b.insert(Value("poison", type), value, 0)
    return e.b.emit(type, f"shufflevector {first}, {type} poison, <{width} x i32> zeroinitializer")


def vector_load(e: Emitter, load: Load, scope: Scope, width: int, behind: int = 0) -> Value:
    """The neighbours in memory of the element that a load has in a scope, or of one so many elements behind it."""
    return neighbours(e, load.dtype, _behind(e, load.buffer, load.dtype, load.index, scope, behind), width)


def load_apart(e: Emitter, load: Load, scope: Scope, width: int, step: int) -> Value:
    """Elements from that of a load in a scope on, so many steps apart."""
    if step == -1:
        vector = vector_load(e, load, scope, width, 1 - width)
        return e.b.emit(vector.type, f"shufflevector {vector}, {vector.type} poison, {_mask(list(range(width))[::-1])}")
    if step == 1:
        return vector_load(e, load, scope, width)
    return stepped(e, e.address(e.buffer(load.buffer, load.dtype), load.index, scope), load.dtype, step, width)


def vector_store(e: Emitter, store: Store, scope: Scope, value: Value, behind: int = 0) -> None:
    """A vector in memory, from the element on that is stored in a scope, or from one so many elements behind it."""
    place = _behind(e, store.buffer, store.value.dtype, store.index, scope, behind)
    e.b.lines.append(f"  store {value}, {place}, align {itemsize(store.value.dtype)}")


def _behind(e: Emitter, buffer: str, dtype: str, index: Index, scope: Scope, elements: int) -> Value:
    place = e.address(e.buffer(buffer, dtype), index, scope)
    return e.b.element(MEMORY_TYPES[dtype], place.text, integer(elements), "inbounds") if elements else place


def neighbours(e: Emitter, dtype: str, place: Value, width: int) -> Value:
    type = vector_type(dtype, width)
    return e.b.emit(type, f"load {type}, {place}, align {itemsize(dtype)}")


def stepped(e: Emitter, first: Value, dtype: str, step: int, width: int) -> Value:
    """Every `step`-th element from the one at an address on, of vectors that lie side by side, the last of which ends with the last."""
    type, span = vector_type(dtype, width), (width - 1) * step + 1
    result: Value | None = None
    for number in range(-(-span // width)):
        begin = min(number * width, span - width)
        place = e.b.element(MEMORY_TYPES[dtype], first.text, integer(begin), "inbounds")
        part = e.b.emit(type, f"load {type}, {place}, align {itemsize(dtype)}")
        picked = [k * step - begin for k in range(width)]
        if result is None:
            mask = [at if at < width else 0 for at in picked]
            result = e.b.emit(type, f"shufflevector {part}, {type} poison, {_mask(mask)}")
        else:
            mask = [width + at if number * width <= k * step < (number + 1) * width else k for k, at in enumerate(picked)]
            result = e.b.emit(type, f"shufflevector {result}, {part}, {_mask(mask)}")
    assert result is not None
    return result


def transposed(e: Emitter, lines: list[Value]) -> list[Value]:
    """The columns of a square of vectors: halves of pairs change places, then their halves, down to single elements."""
    width, type = len(lines), lines[0].type
    step = width // 2
    while step:
        for k in range(width):
            if not k & step:
                low, high = lines[k], lines[k | step]
                firsts = [width + j - step if j & step else j for j in range(width)]
                seconds = [width + j if j & step else j + step for j in range(width)]
                lines[k], lines[k | step] = (e.b.emit(type, f"shufflevector {low}, {high}, {_mask(mask)}") for mask in (firsts, seconds))
        step //= 2
    return lines


def widened(e: Emitter, call: Call, value: Value, width: int) -> Value:
    """A vector of the elements that a call makes of those in a vector (see `joint.widening`)."""
    instruction = joint.widening(call.args[0].dtype, call.dtype)
    if instruction is None:
        raise InternalError(f"codegen: found {call.args[0].dtype} made {call.dtype} in vectors, expected what holds more")
    return e.b.cast(instruction, value, vector_type(call.dtype, width))


def is_near(step: int) -> bool:
    """Whether elements so many steps apart are in a few whole vectors."""
    return step == -1 or 1 <= step <= joint.LARGEST_STEP


def _mask(places: list[int]) -> str:
    return f"<{len(places)} x i32> <{', '.join(f'i32 {k}' for k in places)}>"
