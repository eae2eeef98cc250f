"""The loops of a kernel from unit to unit of its work, as a thread does a piece of it (see shared_loops)."""

from __future__ import annotations

from typing import Protocol

from eqsat.codegen.builder import Value, integer
from eqsat.codegen.folds.accumulator import Carried
from eqsat.codegen.folds.loops import FoldEmitter
from eqsat.codegen.index import llvm_type, resized
from eqsat.codegen.scope import Scope
from eqsat.codegen.shared_loops import Share
from eqsat.codegen.wide_columns import Wide
from eqsat.ir.loops import For, Stmt

ZERO = integer(0)
# threads begin at columns whose number is a multiple of so many, mostly at a line of memory
COLUMNS = 16


class ThreadEmitter(FoldEmitter, Protocol):
    """parts  of loops that threads share within an iteration of another one, by their identity, from where to where this one does them"""

    parts: dict[int, tuple[Value, Value]]

    def statement(self, stmt: Stmt, scope: Scope) -> None: ...
    def each(self, loop: For, first: Value, end: Value, scope: Scope, rolled: bool = False) -> None: ...


def emit_split(e: ThreadEmitter, share: Share, scope: Scope, before: int | None, wide: Wide | None = None) -> None:
    """An outermost loop from `begin` to `end`, counted in units from the first of the kernel; `before`: how many are those of loops
    before it, where there are several.  An iteration is done where its first unit is; all that a thread does of a `wide` one is one."""
    loop = share.loop
    e.b.write_for(loop)
    b, low, bounds = e.b, loop.variable.lo, (loop.variable.lo, loop.variable.hi + 1)
    type = llvm_type(e.typed[loop.variable])
    begin, end = Value("%begin", "i64"), Value("%end", "i64")
    some, none = "some", "none"
    if wide is not None:
        _emit_wide(e, share, wide, scope)
        return
    if share.is_divided:
        _emit_divided(e, share, scope)
        return
    if e.kernel.parts:  # counted in iterations of the whole loop
        _, count = e.range(loop.variable, scope)
        begin, end = (b.intrinsic("smin", place, resized(b, count, "i64", (0, share.extent))) for place in (begin, end))
    if before is not None:
        extent = integer(share.extent)
        begin, end = (b.binary("sub", place, integer(before), "nsw") for place in (begin, end))
        begin, end = (b.intrinsic("smin", b.intrinsic("smax", place, ZERO), extent) for place in (begin, end))
        if share.units > 1:
            begin, end = (b.binary("add", place, integer(share.units - 1), "nsw") for place in (begin, end))
            begin, end = (b.binary("udiv", place, integer(share.units)) for place in (begin, end))
        some, none = b.fresh("some"), b.fresh("none")
    b.branch(b.compare("slt", begin, end), some, none)
    b.start(some)
    counts = (b.binary("add", place, integer(low), "nsw") for place in (begin, end))
    first, last = (resized(b, count, type, bounds) for count in counts)
    e.each(loop, first, last, scope)
    b.jump(none)
    b.start(none)
    b.write_for(None)


def _emit_wide(e: ThreadEmitter, share: Share, wide: Wide, scope: Scope) -> None:
    """All blocks of columns that a thread does as one, from the column where its first unit begins to where its last one ends."""
    b, loop, inner = e.b, share.loop, scope.inner()
    begin, end = Value("%begin", "i64"), Value("%end", "i64")
    b.branch(b.compare("slt", begin, end), "some", "none")
    b.start("some")
    inner.indices[e.typed[loop.variable]] = integer(0, llvm_type(e.typed[loop.variable]))
    low, high = (_column(e, place, wide.whole, share.extent) for place in (begin, end))
    for lane in wide.lanes:
        type = llvm_type(e.typed[lane.variable])
        first, last = (b.opaque(resized(b, place, type, (0, wide.whole))) for place in (low, high))
        e.parts[id(lane)] = first, last
    e.block(loop.body, inner)
    b.jump("none")
    b.start("none")
    b.write_for(None)


def _column(e: ThreadEmitter, unit: Value, columns: int, units: int) -> Value:
    """The column where a unit begins."""
    b = e.b
    place = b.binary("udiv", b.binary("mul", unit, integer(columns), "nuw nsw"), integer(units))
    whole = b.binary("and", b.binary("add", place, integer(COLUMNS - 1), "nuw nsw"), integer(-COLUMNS))
    return b.intrinsic("smin", whole, integer(columns))


def _emit_divided(e: ThreadEmitter, share: Share, scope: Scope) -> None:
    """An outermost loop from its unit `begin` to `end`, which may be within iterations: of its first and last one a part is done."""
    b, units = e.b, integer(share.units)
    begin, end = Value("%begin", "i64"), Value("%end", "i64")
    b.branch(b.compare("slt", begin, end), "some", "none")
    b.start("some")
    first, last = b.binary("udiv", begin, units), b.binary("udiv", b.binary("add", end, integer(share.units - 1), "nuw"), units)

    def iteration(counter: Value, carried: Carried) -> Carried:
        before, inner = b.binary("mul", counter, units, "nuw nsw"), scope.inner()
        low = b.intrinsic("smax", b.binary("sub", begin, before, "nsw"), ZERO)
        high = b.intrinsic("smin", b.binary("sub", end, before, "nsw"), units)
        for loop in share.inside:
            e.parts[id(loop)] = _share_of(e, loop, low, share.units), _share_of(e, loop, high, share.units)
        left = share.iterations
        for loop in share.loops:
            variable, name = loop.variable, e.typed[loop.variable]
            left //= variable.extent
            number = b.binary("udiv", counter, integer(left))
            counter = b.binary("urem", counter, integer(left))
            inner.indices[name] = resized(b, b.binary("add", number, integer(variable.lo), "nsw"), llvm_type(name), variable.bounds)
            e.ask_ahead(variable, inner.indices[name], e.range(variable, inner)[1], inner)
            e.block(loop.body[:-1] if loop is not share.loops[-1] else loop.body, inner)
        return ()

    e.loop(first, last, (), iteration)
    b.jump("none")
    b.start("none")
    b.write_for(None)


def _share_of(e: ThreadEmitter, loop: For, place: Value, units: int) -> Value:
    """The iteration of a loop that begins where so many of the units of another one do.  LLVM does not know how it is found, or it takes
    twice the time to make code of the loop."""
    b, low, extent = e.b, loop.variable.lo, loop.variable.extent
    if extent != units:
        place = b.binary("udiv", b.binary("mul", place, integer(extent), "nuw nsw"), integer(units))
    place = b.binary("add", place, integer(low), "nsw") if low else place
    return b.opaque(resized(b, place, llvm_type(e.typed[loop.variable]), (low, loop.variable.hi + 1)))


def emit_part(e: ThreadEmitter, stmt: For, scope: Scope) -> None:
    """Of a loop that threads share within an iteration of another one, what this thread does."""
    b, (first, end) = e.b, e.parts[id(stmt)]
    some, none = b.fresh("part"), b.fresh("no_part")
    b.branch(b.compare("slt", first, end), some, none)
    b.start(some)
    e.each(stmt, first, end, scope, stmt in e.rolled)
    b.jump(none)
    b.start(none)


def emit_by_one_thread(e: ThreadEmitter, stmt: Stmt, scope: Scope) -> None:
    """What is done by the thread that does the first iterations of those that threads share."""
    b = e.b
    first, others = b.fresh("first"), b.fresh("others")
    b.branch(b.compare("eq", Value("%begin", "i64"), ZERO), first, others)
    b.start(first)
    e.statement(stmt, scope.inner())
    b.jump(others)
    b.start(others)
