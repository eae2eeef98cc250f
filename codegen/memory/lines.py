"""Loops that write from the beginning of a line of memory on.

A store across the end of a line takes as long as two, and where a loop writes several arrays in turn, each line of them leaves half
written and is written again.  Rows of 1003 numbers begin anywhere: what stands before the first whole line is done by itself.
"""

from __future__ import annotations

from eqsat.codegen.builder import Value, integer
from eqsat.codegen.emitter import Emitter
from eqsat.codegen.index import llvm_type, resized
from eqsat.codegen.math import FUNCTIONS
from eqsat.codegen.scope import Scope
from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Const, Index, residue_of, substitute
from eqsat.ir.loops import Bind, For, Let, Store, bound_in, statements, values_of
from eqsat.ir.tensor import Call, scalars

LINE_BYTES = 64
# rows of fewer bytes gain less than what stands before the first line costs, one by one: where one array is written, and where several are
LEAST_ROW, LEAST_ROWS = 4096, 1024
# of smaller elements too many stand before it; and where an element takes so many operations, stores do not matter
LEAST_ITEM, MOST_OPERATIONS = 4, 12


def stores_in_lines(e: Emitter, loop: For) -> tuple[Store, ...]:
    """The stores of a loop, if it is one of neighbours that no other iteration reads or adds to; else none."""
    stores = tuple(stmt for stmt in loop.body if isinstance(stmt, Store))
    if not all(isinstance(stmt, Let | Bind | Store) for stmt in loop.body) or e.kernel.size_of(loop.variable) is not None:
        return ()
    bound = bound_in(loop.body)
    apart = all(store.combine is None and store.buffer not in e.loaded for store in stores)
    neighbours = apart and all(coefficient(substitute(store.index, bound), loop.variable) == 1 for store in stores)
    return stores if neighbours and len({store.buffer for store in stores}) == len(stores) else ()


def begins_within_lines(e: Emitter, loop: For) -> bool:
    """Whether what a loop writes may begin within a line, and it is worth it to do what stands before the next one by itself."""
    stores = stores_in_lines(e, loop)
    sizes = [itemsize(store.value.dtype) for store in stores]
    if loop.kind != "parallel" or not stores or min(sizes) < LEAST_ITEM:
        return False
    if loop.variable.extent * min(sizes) < (LEAST_ROW if len(stores) == 1 else LEAST_ROWS):
        return False
    calls = [term.op for term in scalars(*values_of(loop.body)) if isinstance(term, Call)]
    if len(calls) > MOST_OPERATIONS * len(stores) or not FUNCTIONS.keys().isdisjoint(calls):
        return False
    bound = {**bound_in(statements(e.kernel.body)), loop.variable: Const(loop.variable.lo)}
    return all(_is_within(substitute(store.index, bound), size) for store, size in zip(stores, sizes, strict=True))


def _is_within(place: Index, size: int) -> bool:
    """Whether an element may stand elsewhere than at the beginning of a line, its buffer beginning with one."""
    modulus, rest = residue_of(place)
    return bool((modulus * size) % LINE_BYTES or (rest * size) % LINE_BYTES)


def first_whole_line(e: Emitter, loop: For, store: Store, first: Value, end: Value, scope: Scope) -> Value:
    """The first iteration that writes the beginning of a line, or the end."""
    b = e.b
    size, type = itemsize(store.value.dtype), llvm_type(e.typed[loop.variable])
    beside = b.binary("and", b.binary("sub", integer(0), address_at(e, loop, store, first, scope)), integer(LINE_BYTES - 1))
    before = resized(b, b.binary("lshr", beside, integer(size.bit_length() - 1)), type, (0, LINE_BYTES))
    return b.intrinsic("smin", b.binary("add", first, before, "nsw"), end)


def address_at(e: Emitter, loop: For, store: Store, counter: Value, scope: Scope) -> Value:
    """Where an iteration of a loop writes, as a number."""
    return e.b.cast("ptrtoint", target_at(e, loop, store, counter, scope), "i64")


def target_at(e: Emitter, loop: For, store: Store, counter: Value, scope: Scope) -> Value:
    """Where an iteration of a loop writes."""
    inner = scope.inner()
    inner.indices[e.typed[loop.variable]] = counter
    e.block(tuple(stmt for stmt in loop.body if isinstance(stmt, Bind)), inner)
    return e.address(e.buffer(store.buffer, store.value.dtype), store.index, inner)
