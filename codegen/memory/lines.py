"""Loops that write from the beginning of a line of memory on.

A store across the end of a line takes as long as two, and where a loop writes several arrays in turn, each line of them leaves half
written and is written again.  Rows of 1003 numbers begin anywhere: what stands before the first whole line is done by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from eqsat.codegen.builder import Value, integer
from eqsat.codegen.emitter import Emitter
from eqsat.codegen.index import llvm_type, resized
from eqsat.codegen.math import FUNCTIONS
from eqsat.codegen.scope import Scope
from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Const, Index, Var, residue_of, substitute
from eqsat.ir.loops import Bind, For, Let, Stmt, Store, bound_in, statements, values_of
from eqsat.ir.tensor import Call, scalars

LINE_BYTES = 64
# rows of fewer bytes gain less than what stands before the first line costs, one by one: where an iteration writes one element, and several
LEAST_ROW, LEAST_ROWS = 4096, 512
# of smaller elements too many stand before it; and where an element takes so many operations, stores do not matter
LEAST_ITEM, MOST_OPERATIONS = 4, 12
# elements of a row that an iteration writes
MOST_TOGETHER = 8


class Written(NamedTuple):
    """A store of a loop, which writes so many neighbours of a buffer in every iteration, and goes on from there in the next one."""

    store: Store
    together: int

    @property
    def itemsize(self) -> int:
        return itemsize(self.store.value.dtype)


def written_in_rows(e: Emitter, loop: For) -> tuple[Written, ...]:
    """What a loop writes, each buffer once, if that is neighbours which no other iteration reads or adds to; else nothing."""
    body = tuple(statements(loop.body))
    inner = [stmt for stmt in body if isinstance(stmt, For)]
    if not all(isinstance(stmt, Let | Bind | Store | For) for stmt in body) or e.kernel.size_of(loop.variable) is not None:
        return ()
    if prod(stmt.variable.extent for stmt in inner) > MOST_TOGETHER:
        return ()
    stores, bound = list(_stores(loop.body)), bound_in(body)
    together = Counter[str]()
    for store, times in stores:
        together[store.buffer] += times
    for store, _ in stores:
        step = coefficient(substitute(store.index, bound), loop.variable)
        if store.combine is not None or store.buffer in e.loaded or step != together[store.buffer]:
            return ()
    first = {store.buffer: store for store, _ in reversed(stores)}
    return tuple(Written(first[name], times) for name, times in together.items())


def _stores(body: tuple[Stmt, ...], times: int = 1) -> Iterator[tuple[Store, int]]:
    """The stores of a body, and how often each is done."""
    for stmt in body:
        if isinstance(stmt, For):
            yield from _stores(stmt.body, times * stmt.variable.extent)
        elif isinstance(stmt, Store):
            yield stmt, times


def begins_within_lines(e: Emitter, loop: For) -> Written | None:
    """What a loop writes that may begin within a line, where it is worth it to do what stands before the next one by itself."""
    written = written_in_rows(e, loop) if loop.kind == "parallel" else ()
    if not written or min(one.itemsize for one in written) < LEAST_ITEM:
        return None
    elements = sum(one.together for one in written)
    if loop.variable.extent * min(one.itemsize * one.together for one in written) < (LEAST_ROW if elements == 1 else LEAST_ROWS):
        return None
    calls = [term.op for term in scalars(*values_of(statements(loop.body))) if isinstance(term, Call)]
    if len(calls) > MOST_OPERATIONS * elements or not FUNCTIONS.keys().isdisjoint(calls):
        return None
    bound, first = bound_in(statements(e.kernel.body)), {**_first_of(loop), loop.variable: Const(loop.variable.lo)}
    places = [substitute(substitute(one.store.index, bound), first) for one in written]
    return written[0] if all(begins_within(place, one.itemsize) for place, one in zip(places, written, strict=True)) else None


def _first_of(loop: For) -> dict[Var, Index]:
    """The first iterations of the loops in a loop."""
    return {stmt.variable: Const(stmt.variable.lo) for stmt in statements(loop.body) if isinstance(stmt, For)}


def begins_within(place: Index, size: int) -> bool:
    """Whether an element may stand elsewhere than at the beginning of a line, its buffer beginning with one."""
    modulus, rest = residue_of(place)
    return bool((modulus * size) % LINE_BYTES or (rest * size) % LINE_BYTES)


def first_whole_line(e: Emitter, loop: For, written: Written, first: Value, end: Value, scope: Scope) -> Value:
    """The first iteration that writes the beginning of a line, or the end; if none does so, one of the first ones."""
    b, type = e.b, llvm_type(e.typed[loop.variable])
    beside = b.binary("sub", integer(0), address_at(e, loop, written.store, first, scope))
    # elements that are `together` in one iteration: a power of two of them, and as many times that as there is an inverse of
    power = (written.together & -written.together) * written.itemsize
    lanes = max(LINE_BYTES // power, 1)
    beside = b.binary("lshr", beside, integer(power.bit_length() - 1))
    if (odd := written.together * written.itemsize // power) > 1:
        beside = b.binary("mul", beside, integer(pow(odd, -1, lanes)))
    before = resized(b, b.binary("and", beside, integer(lanes - 1)), type, (0, lanes))
    return b.intrinsic("smin", b.binary("add", first, before, "nsw"), end)


def address_at(e: Emitter, loop: For, store: Store, counter: Value, scope: Scope) -> Value:
    """Where an iteration of a loop begins to write, as a number."""
    return e.b.cast("ptrtoint", target_at(e, loop, store, counter, scope), "i64")


def target_at(e: Emitter, loop: For, store: Store, counter: Value, scope: Scope) -> Value:
    """Where an iteration of a loop begins to write."""
    inner = scope.inner()
    inner.indices[e.typed[loop.variable]] = counter
    for stmt in statements(loop.body):
        if isinstance(stmt, For):
            place = e.typed[stmt.variable]
            inner.indices[place] = integer(stmt.variable.lo, llvm_type(place))
        elif isinstance(stmt, Bind):
            e.block((stmt,), inner)
    return e.address(e.buffer(store.buffer, store.value.dtype), store.index, inner)
