"""Results larger than the caches: written past them, so that memory is not read before it is overwritten.

A loop that writes neighbours of such results does so to blocks of scratch memory in the first cache, and whole lines go from there to
memory, one array after the other (stores that LLVM calls nontemporal).  LLVM vectorizes the loop as any other; it would not if its own
stores were of that kind.
"""

from __future__ import annotations

import functools

from eqsat.codegen.builder import MEMORY_TYPES, Value, integer
from eqsat.codegen.emitter import Emitter
from eqsat.codegen.index import llvm_type
from eqsat.codegen.memory.lines import LINE_BYTES, Written, address_at, begins_within_lines, first_whole_line, target_at, written_in_rows
from eqsat.codegen.scope import Scope
from eqsat.ir import vectorizable
from eqsat.ir.dtypes import itemsize
from eqsat.ir.loops import For, Store, statements

# results of so many bytes, all that a loop writes together; bytes of a block, of several blocks each, and at most so many of them
STREAM_BYTES = 32 << 20
BLOCK_BYTES, SHARED_BYTES, MOST_BLOCKS = 4096, 2048, 6
SCRATCH = "%stream"
FENCE = "declare void @llvm.x86.sse.sfence()"


def streamed(e: Emitter, loop: For) -> tuple[Store, ...]:
    """The stores of a loop where it is worth it: of neighbours to large results that are neither read nor added to; else none."""
    stores = tuple(stmt for stmt in loop.body if isinstance(stmt, Store)) if e.registers.streams and not e.kernel.sizes else ()
    if not 0 < len(stores) <= MOST_BLOCKS or not all(store.value.dtype in vectorizable.LANES for store in stores):
        return ()
    sizes = [itemsize(store.value.dtype) for store in stores]
    buffers = [e.buffer(store.buffer, store.value.dtype) for store in stores]
    large = sum(buffer.size * size for buffer, size in zip(buffers, sizes, strict=True)) >= STREAM_BYTES
    several = loop.variable.extent * min(sizes) >= BLOCK_BYTES and len(set(sizes)) == 1
    if not (large and several) or any(buffer.role != "out" for buffer in buffers):
        return ()
    names = {store.buffer for store in stores}
    every = (stmt for stmt in statements(e.kernel.body) if isinstance(stmt, Store) and stmt.buffer in names)
    if any(stmt.combine is not None for stmt in every):
        return ()
    return stores if stores == tuple(one.store for one in written_in_rows(e, loop)) else ()


def scratch_of(e: Emitter) -> None:
    """Blocks on the stack, at the beginning of a function."""
    e.b.lines.append(f"  {SCRATCH} = alloca [{max(BLOCK_BYTES, SHARED_BYTES * MOST_BLOCKS)} x i8], align {LINE_BYTES}")


def fence(e: Emitter) -> None:
    """What the function wrote is in memory when others hear that it is done."""
    e.b.declarations.add(FENCE)
    e.b.lines.append("  call void @llvm.x86.sse.sfence()")


def emit_whole_lines(e: Emitter, loop: For, first: Value, end: Value, scope: Scope) -> tuple[Value, Value] | None:
    """What of a loop is done by itself: whole blocks past the caches, or nothing between its parts before and from the first whole line of
    memory on; where that begins and ends, None where the loop is worth neither."""
    if stores := streamed(e, loop):
        return _emit_streamed(e, loop, stores, first, end, scope)
    if written := begins_within_lines(e, loop):
        begin = first_whole_line(e, loop, written, first, end, scope)
        return begin, begin
    return None


def _emit_streamed(e: Emitter, loop: For, stores: tuple[Store, ...], first: Value, end: Value, scope: Scope) -> tuple[Value, Value]:
    """The whole blocks of a loop, from the first one on that begins with a line of memory; where they begin and end."""
    b, place = e.b, e.typed[loop.variable]
    type, block_bytes = llvm_type(place), BLOCK_BYTES if len(stores) == 1 else SHARED_BYTES
    count = block_bytes // itemsize(stores[0].value.dtype)
    memory = {store.buffer: MEMORY_TYPES[store.value.dtype] for store in stores}
    blocks_of = {store.buffer: k * count for k, store in enumerate(stores)}
    begin = first_whole_line(e, loop, Written(stores[0], 1), first, end, scope)
    blocks = b.binary("lshr", b.binary("sub", end, begin, "nuw nsw"), integer(count.bit_length() - 1, type))
    if len(stores) > 1:
        blocks = b.select(_are_in_step(e, loop, stores, first, scope), blocks, integer(0, type))
    some, none = b.fresh("blocks"), b.fresh("rest")
    b.branch(b.compare("ne", blocks, integer(0, type)), some, none)
    b.start(some)

    def block(number: Value, carried: tuple[Value, ...]) -> tuple[Value, ...]:
        low = b.binary("add", begin, b.binary("mul", number, integer(count, type), "nuw nsw"), "nsw")
        high = b.binary("add", low, integer(count, type), "nsw")

        def one(counter: Value, carried: tuple[Value, ...]) -> tuple[Value, ...]:
            inner = scope.inner()
            inner.indices[place] = counter
            for stmt in loop.body:
                if isinstance(stmt, Store):
                    around, at = b.write_for(stmt), b.binary("sub", counter, low, "nuw nsw")
                    at = b.binary("add", at, integer(blocks_of[stmt.buffer], type), "nuw nsw")
                    b.store(e.value(stmt.value, inner), b.element(memory[stmt.buffer], SCRATCH, at, "inbounds"))
                    b.write_for(around)
                else:
                    e.block((stmt,), inner)
            return ()

        e.loop(low, high, (), one)
        for k, store in enumerate(stores):
            _copy(e, target_at(e, loop, store, low, scope), k * block_bytes, block_bytes)
        return ()

    e.loop(integer(0, type), blocks, (), block)
    b.jump(none)
    b.start(none)
    return begin, b.binary("add", begin, b.binary("mul", blocks, integer(count, type), "nuw nsw"), "nsw")


def _are_in_step(e: Emitter, loop: For, stores: tuple[Store, ...], first: Value, scope: Scope) -> Value:
    """Whether all stores of an iteration are equally far from the beginning of a line."""
    b = e.b
    one, *others = (address_at(e, loop, store, first, scope) for store in stores)
    apart = functools.reduce(lambda found, other: b.binary("or", found, b.binary("xor", one, other)), others, integer(0))
    return b.compare("eq", b.binary("and", apart, integer(LINE_BYTES - 1)), integer(0))


def _copy(e: Emitter, target: Value, begin: int, nbytes: int) -> None:
    """A block to memory, past the caches."""
    b = e.b
    mark = b.mark("!{i32 1}")

    def line(counter: Value, carried: tuple[Value, ...]) -> tuple[Value, ...]:
        at = b.binary("shl", counter, integer(LINE_BYTES.bit_length() - 1), "nuw nsw")
        here = b.binary("add", at, integer(begin), "nuw nsw") if begin else at
        whole = b.emit("<16 x float>", f"load <16 x float>, {b.element('i8', SCRATCH, here, 'inbounds')}, align {LINE_BYTES}")
        b.lines.append(f"  store {whole}, {b.element('i8', target.text, at, 'inbounds')}, align {LINE_BYTES}, !nontemporal !{mark}")
        return ()

    e.loop(integer(0), integer(nbytes // LINE_BYTES), (), line)
