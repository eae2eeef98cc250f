"""Elements at computed places: which element of an array it is, and loads of elements that a processor does not gather.

AVX-512 gathers elements of 32 and 64 bits.  Narrower ones LLVM loads one after the other and puts them into a vector.  Instead the 32 bits
that begin with the element are gathered, at the end of the array the last 32, and shifted:

    x[i] = (32 bits at b) >> bits * (i - b)       b = min(i, elements - elements of 32 bits)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from eqsat.codegen.builder import MEMORY_TYPES, Value, integer
from eqsat.codegen.emitter import Emitter
from eqsat.codegen.index import resized
from eqsat.codegen.scope import Scope
from eqsat.ir.dtypes import is_inexact, itemsize
from eqsat.ir.index import variables
from eqsat.ir.loops import Fold, For, Kernel, Load, Pick, Stmt, Temp, values_of
from eqsat.ir.tensor import Position, Scalar, scalars
from eqsat.ir.typed import fits
from eqsat.ir.value_bounds import scalar_bounds

# bytes that are gathered, and those of the largest arrays: of more than the pages that a processor remembers loads one by one are faster
WORD, MOST_BYTES = 4, 8 << 20
# loops with fewer iterations, and folds of fewer elements, are not worth it: LLVM writes them out
LEAST_EXTENT, LEAST_FOLDED = 16, 64
# elements of the longest sums that LLVM writes out: where one place may be below zero, which counts from the end, and where none may
MOST_WRAPPED, MOST_PLAIN = 20, 40
# bytes of floats of which a vector has so few that they are loaded as well one after the other
WIDE = 8


def offset(e: Emitter, shape: tuple[int, ...], args: tuple[Scalar, ...], places: tuple[Value, ...], scope: Scope) -> Value:
    """Which element of an array of this shape is at computed places; they are clipped here, so that none is outside of it, but for places
    of loops within it, in kernels without sizes: LLVM does not know the ends of loops that threads share.  In 32 bits where these hold the
    places, which have been narrower numbers then: of numbers below zero LLVM does not find that out."""
    b, bounds = e.b, [scalar_bounds(arg) for arg in args]
    known = e.sizes.keys().isdisjoint(shape)
    narrow = known and any(low < 0 for low, _ in bounds) and fits("int32", (0, prod(shape)), *bounds)
    type = "i32" if narrow else "i64"
    zero = found = integer(0, type)
    for arg, place, bound, extent in zip(args, places, bounds, shape, strict=True):
        length, last = integer(extent, type), integer(extent - 1, type)
        if extent in e.sizes:
            length = e.size(e.sizes[extent], type, scope)
            last = b.binary("sub", length, integer(1), "nuw nsw")
        inside = resized(b, place, type, bound)
        if e.sizes or not isinstance(arg, Position) or bound[0] < 0 or bound[1] >= extent:
            inside = b.intrinsic("smin", b.intrinsic("smax", inside, zero), last)
        found = b.binary("add", b.binary("mul", found, length, "nuw nsw"), inside, "nuw nsw")
    return resized(b, found, "i64", (0, 0))


def gathered_in_words(kernel: Kernel) -> frozenset[Pick]:
    """The elements that are loaded with what stands beside them: of arrays of fewer than 32 bits an element, which the kernel does not
    write, and only in loops that LLVM makes vectors of.  Where an iteration waits for the one before, it would wait longer."""
    sizes = {size.marker for size in kernel.sizes}
    read = {buffer.name for buffer in kernel.buffers if buffer.role == "in"}
    elsewhere, found = set[Pick](), set[Pick]()
    for stmt, loop in _in_loops(kernel.body):
        vectors = loop is not None and _is_for_vectors(loop)
        for term in scalars(*values_of((stmt,))):
            if isinstance(term, Pick) and itemsize(term.dtype) < WORD:
                whole = sizes.isdisjoint(term.shape) and WORD <= prod(term.shape) * itemsize(term.dtype) <= MOST_BYTES
                (found if vectors and whole and term.buffer in read else elsewhere).add(term)
    return frozenset(found - elsewhere)


def _in_loops(body: Sequence[Stmt], around: For | Fold | None = None) -> Iterator[tuple[Stmt, For | Fold | None]]:
    """Every statement with the innermost loop that its value is computed in."""
    for stmt in body:
        inside = stmt if isinstance(stmt, For | Fold) else around
        yield stmt, inside
        if isinstance(stmt, For | Fold):
            yield from _in_loops(stmt.body, stmt)


def _is_for_vectors(loop: For | Fold) -> bool:
    if any(isinstance(stmt, For | Fold) for stmt in loop.body) or (isinstance(loop, For) and loop.kind != "parallel"):
        return False
    wide = any(is_inexact(value.dtype) and itemsize(value.dtype) >= WIDE for value in values_of((loop, *loop.body)))
    return not wide and loop.variable.extent >= (LEAST_FOLDED if isinstance(loop, Fold) else LEAST_EXTENT)


def sums_gathered(fold: Fold) -> bool:
    """Whether it is a sum of gathered floats, so short that LLVM would write it out number by number before it makes vectors of it."""
    picks = [term for term in scalars(*values_of((*fold.body, fold))) if isinstance(term, Pick)]
    places = [place for pick in picks for place in pick.args]
    if fold.op != "sum" or fold.dtype not in ("float32", "float64") or any(isinstance(pick.args[-1], Position) for pick in picks):
        return False
    wraps = any(scalar_bounds(place)[0] < 0 for place in places)
    most = 0 if not places or (wraps and len(places) > 1) else MOST_WRAPPED if wraps else MOST_PLAIN
    return LEAST_EXTENT <= fold.variable.extent <= most


def is_gathered(e: Emitter, term: Pick, scope: Scope) -> bool:
    """Whether the places of an element differ from one iteration to the next, and not only by one: elements side by side are loaded as they
    are."""
    inner, own = scope.indices.maps[0], scope.temps.maps[0]
    return any(
        (isinstance(part, Temp) and part.name in own)
        or (isinstance(part, Load | Position) and any(e.typed[v] in inner for v in variables(part.index)))
        for arg in term.args
        if not isinstance(arg, Position)
        for part in scalars(arg)
    )


def gathered(e: Emitter, term: Pick, place: Value, table: str) -> Value:
    """The element at a place of a table, in 32 bits that are loaded from there."""
    b, size = e.b, itemsize(term.dtype)
    element = MEMORY_TYPES[term.dtype]
    begin = b.intrinsic("umin", place, integer(prod(term.shape) - WORD // size))
    word = b.emit("i32", f"load i32, {b.element(element, table, begin, 'inbounds nuw')}, align {size}")
    behind = b.cast("trunc nuw nsw", b.binary("sub", place, begin, "nuw nsw"), "i32")
    bits = b.binary("shl", behind, integer(size.bit_length() + 2, "i32"), "nuw nsw")
    return b.cast("bitcast", b.cast("trunc", b.binary("lshr", word, bits), f"i{8 * size}"), element)
