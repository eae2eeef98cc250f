"""Results larger than the caches: written past them, so that memory is not read before it is overwritten.

A loop that writes neighbours of such a result does so to a block of scratch memory in the first cache, and whole lines go from there to
memory (stores that LLVM calls nontemporal).  LLVM vectorizes the loop as any other; it would not if its own stores were of that kind.
"""

from __future__ import annotations

from collections.abc import Sequence

from eqsat.codegen.builder import MEMORY_TYPES, Value, integer
from eqsat.codegen.emitter import Emitter
from eqsat.codegen.index import llvm_type, resized
from eqsat.codegen.scope import Scope
from eqsat.ir import joint
from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Var, substitute
from eqsat.ir.loops import Bind, Let, Stmt, Store, bound_in, statements

# results of so many bytes, and bytes of a block and of a line
STREAM_BYTES = 32 << 20
BLOCK_BYTES, LINE_BYTES = 4096, 64
SCRATCH = "%stream"
FENCE = "declare void @llvm.x86.sse.sfence()"


def streamed(e: Emitter, variable: Var, body: Sequence[Stmt]) -> Store | None:
    """The store of a loop that is worth it: the only one, of neighbours, to a large result that is neither read nor added to."""
    store = body[-1] if body else None
    if not e.registers.streams or not isinstance(store, Store) or not all(isinstance(stmt, Let | Bind) for stmt in body[:-1]):
        return None
    buffer = e.buffer(store.buffer, store.value.dtype)
    large = buffer.role == "out" and buffer.size * itemsize(buffer.dtype) >= STREAM_BYTES and not e.kernel.sizes
    several = variable.extent * itemsize(buffer.dtype) >= BLOCK_BYTES
    if not (large and several) or buffer.dtype not in joint.LANES or buffer.name in e.loaded:
        return None
    stores = (stmt for stmt in statements(e.kernel.body) if isinstance(stmt, Store) and stmt.buffer == buffer.name)
    if any(stmt.combine is not None for stmt in stores):
        return None
    return store if coefficient(substitute(store.index, bound_in(body)), variable) == 1 else None


def scratch_of(e: Emitter) -> None:
    """A block on the stack, at the beginning of a function."""
    e.b.lines.append(f"  {SCRATCH} = alloca [{BLOCK_BYTES} x i8], align {LINE_BYTES}")


def fence(e: Emitter) -> None:
    """What the function wrote is in memory when others hear that it is done."""
    e.b.declarations.add(FENCE)
    e.b.lines.append("  call void @llvm.x86.sse.sfence()")


def emit_streamed(e: Emitter, variable: Var, first: Value, end: Value, scope: Scope, body: Sequence[Stmt]) -> tuple[Value, Value]:
    """The whole blocks of a loop, from the first one on that begins with a line of memory; where they begin and end."""
    store = body[-1]
    assert isinstance(store, Store)
    b, buffer, place = e.b, e.buffer(store.buffer, store.value.dtype), e.typed[variable]
    type, memory = llvm_type(place), MEMORY_TYPES[buffer.dtype]
    count = BLOCK_BYTES // itemsize(buffer.dtype)

    def target(counter: Value) -> Value:
        inner = scope.inner()
        inner.indices[place] = counter
        e.block(tuple(stmt for stmt in body if isinstance(stmt, Bind)), inner)
        return e.address(buffer, store.index, inner)

    beside = b.binary("and", b.binary("sub", integer(0), b.cast("ptrtoint", target(first), "i64")), integer(LINE_BYTES - 1))
    before = resized(b, b.binary("lshr", beside, integer(itemsize(buffer.dtype).bit_length() - 1)), type, (0, LINE_BYTES))
    begin = b.intrinsic("smin", b.binary("add", first, before, "nsw"), end)
    blocks = b.binary("lshr", b.binary("sub", end, begin, "nuw nsw"), integer(count.bit_length() - 1, type))
    some, none = b.fresh("blocks"), b.fresh("rest")
    b.branch(b.compare("ne", blocks, integer(0, type)), some, none)
    b.start(some)

    def block(number: Value, carried: tuple[Value, ...]) -> tuple[Value, ...]:
        low = b.binary("add", begin, b.binary("mul", number, integer(count, type), "nuw nsw"), "nsw")
        high = b.binary("add", low, integer(count, type), "nsw")

        def one(counter: Value, carried: tuple[Value, ...]) -> tuple[Value, ...]:
            inner = scope.inner()
            inner.indices[place] = counter
            e.block(tuple(body[:-1]), inner)
            around = b.write_for(store)
            value = e.value(store.value, inner)
            b.store(value, b.element(memory, SCRATCH, b.binary("sub", counter, low, "nuw nsw"), "inbounds"))
            b.write_for(around)
            return ()

        e.loop(low, high, (), one)
        _copy(e, target(low))
        return ()

    e.loop(integer(0, type), blocks, (), block)
    b.jump(none)
    b.start(none)
    return begin, b.binary("add", begin, b.binary("mul", blocks, integer(count, type), "nuw nsw"), "nsw")


def _copy(e: Emitter, target: Value) -> None:
    """The block to memory, past the caches."""
    b = e.b
    mark = b.mark("!{i32 1}")

    def line(counter: Value, carried: tuple[Value, ...]) -> tuple[Value, ...]:
        at = b.binary("shl", counter, integer(LINE_BYTES.bit_length() - 1), "nuw nsw")
        whole = b.emit("<16 x float>", f"load <16 x float>, {b.element('i8', SCRATCH, at, 'inbounds')}, align {LINE_BYTES}")
        b.lines.append(f"  store {whole}, {b.element('i8', target.text, at, 'inbounds')}, align {LINE_BYTES}, !nontemporal !{mark}")
        return ()

    e.loop(integer(0), integer(BLOCK_BYTES // LINE_BYTES), (), line)
