"""From a loop nest to LLVM IR: statements and loops."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod

from eqsat.codegen import scalar
from eqsat.codegen.builder import LLVM_TYPES, MEMORY_TYPES, Builder, Registers, Value, integer, symbol
from eqsat.codegen.elements.casts import convert
from eqsat.codegen.elements.known_divisors import divisors, quotient
from eqsat.codegen.elements.small_tables import chooses, chosen
from eqsat.codegen.folds.accumulator import FLAGS, Carried, Numerics
from eqsat.codegen.folds.carried_rows import emit_carried_row
from eqsat.codegen.folds.interleaved import side_by_side
from eqsat.codegen.folds.kept_rows import emit_kept_row
from eqsat.codegen.folds.loops import emit_folds, in_one_loop, kept_apart
from eqsat.codegen.folds.recurrence import emit_recurrence
from eqsat.codegen.folds.rolled import across_rows, in_whole_vectors, is_written_out_here, leaves_much, may_be_done_again, rolled_loops
from eqsat.codegen.folds.search import remembered
from eqsat.codegen.index import emit_index, llvm_type, resized
from eqsat.codegen.memory.ahead import emit_ahead, pieces_ahead, written_ahead
from eqsat.codegen.memory.stream import emit_whole_lines, fence, scratch_of, streamed
from eqsat.codegen.picks import gathered, gathered_in_words, is_gathered, offset
from eqsat.codegen.scope import Scope
from eqsat.codegen.shared_loops import shares
from eqsat.codegen.split_loops import emit_by_one_thread, emit_part, emit_split
from eqsat.codegen.tiles.gathered import gathered_rows
from eqsat.codegen.tiles.shuffled import emit_shuffle
from eqsat.codegen.tiles.tile import emit_row, emit_run, emit_tile
from eqsat.codegen.wide_columns import wide_columns
from eqsat.ir.dtypes import alignment, is_float, is_integer, itemsize
from eqsat.ir.errors import InternalError
from eqsat.ir.index import Apply, Index, Var, walk
from eqsat.ir.loops import (
    Bind,
    Buffer,
    Clip,
    Fold,
    For,
    Kernel,
    Let,
    Load,
    Pick,
    Stmt,
    Store,
    Temp,
    index_terms,
    loaded,
    statements,
    values_of,
)
from eqsat.ir.shuffle import shuffle_in
from eqsat.ir.small_tables import table_axis
from eqsat.ir.tensor import Call, Literal, Position, Scalar, operands, scalars
from eqsat.ir.typed_kernel import TypedKernel

# elements of a row that are so many are chosen together, but LLVM would write the loop out before it sees that
CHOSEN_TOGETHER = range(8, 32)
# of scratch memory: a line of the cache
ALIGNMENT = 64
ON_STACK = 32 << 10
# loops of so many iterations are not written out several times in the loop that they are in
LONG = 128
# functions that make much of a difference, are defined as far as zero or one, or go in steps: what is off by a little is off by one then
SENSITIVE = frozenset(
    (
        *("exp", "exp2", "expm1", "power", "sqrt", "log", "log2", "log10", "log1p", "arcsin", "arccos", "arccosh", "arctanh"),
        *("floor", "ceil", "trunc", "rint", "floor_divide", "remainder", "fmod"),
    ),
)
# of the default target
REGISTERS = Registers(64, 28)


class KernelEmitter:
    """Writes the function of one kernel."""

    def __init__(self, typed: TypedKernel, numerics: Numerics, b: Builder, registers: Registers = REGISTERS) -> None:
        self.kernel = kernel = typed.kernel
        self.sizes: Mapping[int, Var] = {size.marker: size.variable for size in kernel.sizes}
        self.typed = typed.typed
        self.flags = FLAGS[numerics]
        self.exact = numerics == "exact"
        self.b = b
        self.registers = registers
        self.buffers: dict[str, Buffer] = {buffer.name: buffer for buffer in (*kernel.buffers, *kernel.scratch)}
        self.places = {buffer.name: f"%b{k}" for k, buffer in enumerate(self.buffers.values())}
        self.loaded = loaded(kernel.body)
        self.rolled = rolled_loops(kernel)
        self.across = across_rows(kernel)
        self.gathered = gathered_rows(kernel, registers.bytes)
        self.in_words = gathered_in_words(kernel) if b.abilities.masks else frozenset[Pick]()
        self.ahead = pieces_ahead(kernel, b.abilities.looks_ahead)
        self.written_ahead = written_ahead(kernel, b.abilities.looks_ahead)
        self.remembered = remembered(kernel)
        self.rounded = frozenset(rounded_sums(kernel)) if numerics == "default" else frozenset[Scalar]()
        self.apart = kept_apart(kernel, self.rolled, self.remembered)
        self.begins: dict[str, Value] = {}
        # of loops that threads share within an iteration of another one, by their identity, from where to where this thread does them
        self.parts: dict[int, tuple[Value, Value]] = {}
        self.stored = {stmt.buffer for stmt in statements(kernel.body) if isinstance(stmt, Store)}

    def function(self) -> str:
        shared = {id(share.loop): share for share in shares(self.kernel)}
        units = max((sum(share.extent for share in shared.values()), *(part.whole for part in self.kernel.parts)))
        span = f"i64 noundef range(i64 0, {units + 1})"
        parameters = [self.parameter(buffer) for buffer in self.kernel.buffers] + [f"{span} %begin", f"{span} %end"]
        parameters += [f"i64 noundef range(i64 {s.variable.lo}, {s.variable.hi + 1}) %s{k}" for k, s in enumerate(self.kernel.sizes)]
        wide = wide_columns(self.kernel)
        taken = [self.scratch(buffer, wide.whole if wide else buffer.size) for buffer in self.kernel.scratch]
        loops = (stmt for stmt in statements(self.kernel.body) if isinstance(stmt, For))
        streams = any(streamed(self, loop) for loop in loops)
        if streams:
            scratch_of(self)
        scope = Scope(ChainMap(), ChainMap())
        if any(isinstance(sub, Apply) and sub.op in ("mod", "bitand") for sub in walk(*index_terms(self.kernel))):
            # the highest bit of an address
            self.b.zero = self.b.binary("lshr", self.b.emit("i64", "ptrtoint ptr %b0 to i64"), integer(63))
        for k, size in enumerate(self.kernel.sizes):
            name = self.typed[size.variable]
            scope.indices[name] = resized(self.b, Value(f"%s{k}", "i64"), llvm_type(name), size.variable.bounds)
        for blocks in self.kernel.blocks:
            rows = Value(f"%s{self.kernel.sizes.index(blocks.size)}", "i64")
            count = self.b.binary("udiv", self.b.binary("add", rows, integer(blocks.rows - 1), "nuw"), integer(blocks.rows))
            name = self.typed[blocks.variable]
            scope.indices[name] = resized(self.b, count, llvm_type(name), blocks.variable.bounds)
        before = 0
        for group in in_one_loop(self.kernel.body, self.apart):
            stmt = group[0]
            if isinstance(stmt, For) and id(stmt) in shared:
                emit_split(self, shared[id(stmt)], scope, before if len(shared) > 1 else None, wide)
                before += shared[id(stmt)].extent
            elif shared and isinstance(stmt, For | Store):
                emit_by_one_thread(self, stmt, scope)
            else:
                self.statement(stmt, scope, group)
        if streams:
            fence(self)
        for memory in taken:
            self.b.lines += [f"  call void @free(ptr {memory})"] if memory else []
        return f"define void {symbol(self.kernel.name)}({', '.join(parameters)}) #0 {{\n{self.b.finish()}\n}}"

    def parameter(self, buffer: Buffer) -> str:
        size = itemsize(buffer.dtype)
        access = "" if buffer.name in self.stored else "readonly "
        reach = f"dereferenceable({buffer.size * size}) " if buffer.size and not self.kernel.sizes else ""
        return f"ptr noalias noundef align {alignment(buffer.dtype)} {access}{reach}{self.places[buffer.name]}"

    def scratch(self, buffer: Buffer, size: int) -> str:
        """Memory of the kernel's own, aligned to lines of the cache: on the stack if it is small; else what has to be given back."""
        place, nbytes = self.places[buffer.name], size * itemsize(buffer.dtype)
        if nbytes <= ON_STACK:
            self.b.lines.append(f"  {place} = alloca [{nbytes} x i8], align {ALIGNMENT}")
            return ""
        self.b.declarations |= {"declare noalias ptr @malloc(i64)", "declare void @free(ptr)"}
        memory = self.b.emit("ptr", f"call ptr @malloc(i64 {nbytes + ALIGNMENT})", "m")
        end = self.b.emit("ptr", f"getelementptr i8, {memory}, i64 {ALIGNMENT - 1}", "m")
        self.b.lines.append(f"  {place} = call ptr @llvm.ptrmask.p0.i64({end}, i64 {-ALIGNMENT})")
        self.b.declarations.add("declare ptr @llvm.ptrmask.p0.i64(ptr, i64)")
        return memory.text

    def block(self, body: tuple[Stmt, ...], scope: Scope) -> None:
        for group in in_one_loop(body, self.apart):
            self.statement(group[0], scope, group)

    def statement(self, stmt: Stmt, scope: Scope, together: Sequence[Stmt] = ()) -> None:
        """A statement, or folds that are written `together`, of which it is the first."""
        around = self.b.write_for(stmt)
        self.write(stmt, scope, together or (stmt,))
        self.b.write_for(around)

    def write(self, stmt: Stmt, scope: Scope, together: Sequence[Stmt]) -> None:
        if id(stmt) in self.parts and isinstance(stmt, For):
            emit_part(self, stmt, scope)
        elif isinstance(stmt, For):
            stays = stmt in self.rolled or stmt in self.gathered or self.kernel.size_of(stmt.variable) is not None
            if not stays and (stmt in self.across or is_written_out_here(stmt)):
                for value in range(stmt.variable.lo, stmt.variable.hi + 1):
                    inner = scope.inner()
                    inner.indices[self.typed[stmt.variable]] = integer(value, llvm_type(self.typed[stmt.variable]))
                    self.block(stmt.body, inner)
            elif stmt.variable.extent > 0 and not self.special(stmt, scope):
                long = any(isinstance(inner, For | Fold) and inner.variable.extent >= LONG for inner in statements(stmt.body))
                rolled = stmt.kind == "tile" or stmt in self.rolled or long
                for first, end in self.ranges(stmt, scope):
                    self.each(stmt, first, end, scope, rolled)
        elif isinstance(stmt, Bind):
            self.index(stmt.variable, scope)
        elif isinstance(stmt, Clip):
            scope.indices[self.typed[stmt.variable]] = self.clipped(stmt, scope)
        elif isinstance(stmt, Let):
            scope.temps[stmt.name] = self.value(stmt.value, scope)
        elif isinstance(stmt, Fold):
            folds = [fold for fold in together if isinstance(fold, Fold)]
            scope.temps.update(zip((fold.name for fold in folds), emit_folds(self, folds, scope), strict=True))
        else:
            self.store(stmt, scope)
        if isinstance(stmt, For | Fold | Store) and self.stored & self.loaded:
            scope.elements.clear()

    def is_independent(self, stmt: For) -> bool:
        """Whether no iteration of a loop reads or writes what another one writes."""
        apart = stmt.kind == "parallel" and self.stored.isdisjoint(self.loaded)
        return apart and all(isinstance(one, Let) or (isinstance(one, Store) and one.combine is None) for one in stmt.body)

    def special(self, stmt: For, scope: Scope) -> bool:
        """Write a loop that has code of its own; none that holds loops of which this thread does a part."""
        if any(id(inner) in self.parts for inner in statements(stmt.body)):
            return False
        if stmt in self.gathered:
            emit_row(self, stmt, scope)
            return True
        if stmt.kind == "parallel":
            return stmt in self.rolled and not self.b.abilities.masks and emit_run(self, stmt, scope)
        if stmt.kind == "tile":
            shuffle = shuffle_in(stmt, self.registers.bytes)
            if shuffle is not None:
                emit_shuffle(self, shuffle, scope)
            return shuffle is not None or emit_tile(self, stmt, scope)
        return emit_kept_row(self, stmt, scope) or emit_carried_row(self, stmt, scope) or emit_recurrence(self, stmt, scope)

    def ranges(self, stmt: For, scope: Scope) -> Sequence[tuple[Value, Value]]:
        """From where to where a loop goes: in two parts, if iterations may be done again, where LLVM would do a short one under masks, and
        where it would compute much for single numbers at the end."""
        cut = (stmt in self.rolled and not self.b.abilities.masks) or leaves_much(stmt, self.registers.bytes)
        if cut and self.kernel.size_of(stmt.variable) is None and may_be_done_again(stmt):
            type = llvm_type(self.typed[stmt.variable])
            return [(integer(first, type), integer(end, type)) for first, end in in_whole_vectors(stmt, self.registers.bytes)]
        return [self.range(stmt.variable, scope)]

    def loop(
        self, first: Value, end: Value, initial: Carried, step: Callable[[Value, Carried], Carried], note: Callable[[], str] = str
    ) -> Carried:
        """for i from `first` while below `end` (which is above `first`), carrying values; returns the last ones.  `note`: see Builder;
        asked for when the body is written."""
        b = self.b
        label, source = b.fresh("loop"), b.block
        back, after = f"{label}.next", f"{label}.end"
        b.jump(label)
        b.start(label)
        phis = [b.phi(value.type, value, source, "x", back) for value in (first, *initial)]
        results = step(phis[0][0], tuple(value for value, _ in phis[1:]))
        b.jump(back)
        b.start(back)
        following = b.binary("add", phis[0][0], integer(1, first.type), "nsw")
        for (_, line), value in zip(phis, (following, *results), strict=True):
            b.complete(line, value)
        b.branch(b.compare("slt", following, end), label, after, note())
        b.start(after)
        return results

    def each(self, loop: For, first: Value, end: Value, scope: Scope, rolled: bool = False) -> None:
        """A loop from one number to another; in whole lines of memory where that is worth it, and then what is left at both ends."""
        middle = emit_whole_lines(self, loop, first, end, scope)
        if middle is None:
            self.each_alone(loop, first, end, scope, rolled)
            return
        begin, behind = middle
        b, type = self.b, first.type

        def left(number: Value, carried: Carried) -> Carried:
            """What stands before the blocks, and what stands behind them."""
            is_before = b.compare("eq", number, integer(0, type))
            low, high = b.select(is_before, first, behind), b.select(is_before, begin, end)
            some, none = b.fresh("rest"), b.fresh("done")
            b.branch(b.compare("slt", low, high), some, none)
            b.start(some)
            self.each_alone(loop, low, high, scope, rolled)
            b.jump(none)
            b.start(none)
            return ()

        self.loop(integer(0, type), integer(2, type), (), left)

    def each_alone(self, loop: For, first: Value, end: Value, scope: Scope, rolled: bool) -> None:
        written: list[str] = []
        begin, variable = len(self.b.lines), loop.variable
        by = divisors(self.b, values_of(statements(loop.body)), variable.extent, scope.temps, self.flags.arithmetic)

        def step(counter: Value, carried: Carried) -> Carried:
            inner, before = scope.inner(by), len(self.b.lines)
            inner.indices[self.typed[variable]] = counter
            self.ask_ahead(variable, counter, end, scope)
            self.block(loop.body, inner)
            written.extend(self.b.lines[before:])
            return ()

        def note() -> str:
            if rolled:
                return self.b.keep_rolled()
            terms = list(scalars(*values_of(loop.body)))
            if variable.extent in CHOSEN_TOGETHER and any(self.is_of_a_part(term, variable) for term in terms):
                return self.b.keep_for_vectors()
            if not terms or any(isinstance(part, For | Fold) for part in (*loop.body, *terms)):
                return ""
            widest = max(itemsize(term.dtype) for term in terms)
            vectors = side_by_side(written, variable.extent, widest, self.registers)
            return self.b.keep_together(vectors, self.b.independent(begin) if self.is_independent(loop) else "")

        self.loop(first, end, (), step, note)

    def ask_ahead(self, variable: Var, counter: Value, end: Value, scope: Scope) -> None:
        """At the beginning of an iteration of a loop, what a later one reads, where that is worth it."""
        if variable in self.ahead:
            emit_ahead(self, variable, self.ahead[variable], counter, end, scope)

    def store(self, stmt: Store, scope: Scope) -> None:
        b, buffer = self.b, self.buffer(stmt.buffer, stmt.value.dtype)
        value, place = self.value(stmt.value, scope), self.address(buffer, stmt.index, scope)
        if stmt.combine is not None:
            value = scalar.combine(b, stmt.combine, buffer.dtype, self.read(buffer, place), value, self.flags.fold)
        self.write_element(buffer, place, value)

    def write_element(self, buffer: Buffer, place: Value, value: Value) -> None:
        """An element from a register; true is the byte one."""
        self.b.store(self.b.cast("zext", value, "i8") if buffer.dtype == "bool" else value, place)

    def buffer(self, name: str, dtype: str) -> Buffer:
        found = self.buffers.get(name)
        if found is None or found.dtype != dtype:
            raise InternalError(f"codegen: found buffer {name} used as {dtype}, expected {found or 'a buffer of the kernel'}")
        return found

    def address(self, buffer: Buffer, index: Index, scope: Scope) -> Value:
        flags = "inbounds nuw" if index.bounds[0] >= 0 else "inbounds"
        offset = resized(self.b, self.index(index, scope), "i64", index.bounds)
        return self.b.element(MEMORY_TYPES[buffer.dtype], self.places[buffer.name], offset, flags)

    def read(self, buffer: Buffer, place: Value) -> Value:
        return self.in_register(buffer, self.b.load(MEMORY_TYPES[buffer.dtype], place))

    def in_register(self, buffer: Buffer, value: Value) -> Value:
        """An element of memory in a register; any byte but zero is true."""
        return self.b.compare("ne", value, integer(0, "i8")) if buffer.dtype == "bool" else value

    def pick(self, term: Pick, places: tuple[Value, ...], scope: Scope) -> Value:
        """An element at computed places."""
        buffer, inner = self.buffer(term.buffer, term.dtype), scope.indices.maps[0]
        axis = self.table_axis(term, lambda v: self.typed[v] in inner)
        table = self.places[buffer.name]
        if axis is None and term in self.in_words and is_gathered(self, term, scope):
            return self.in_register(buffer, gathered(self, term, offset(self, term.shape, term.args, places, scope), table))
        if axis is None:
            return self.read(buffer, self.picked(term, places, scope))
        own = term.shape[axis:]
        if axis:
            first = offset(self, term.shape[:axis], term.args[:axis], places[:axis], scope)
            row = self.b.binary("mul", first, integer(prod(own)), "nuw nsw")
            table = self.b.element(MEMORY_TYPES[buffer.dtype], table, row, "inbounds nuw").text
        found = chosen(self.b, buffer.dtype, prod(own), table, offset(self, own, term.args[axis:], places[axis:], scope))
        return self.in_register(buffer, found)

    def table_axis(self, term: Pick, varies: Callable[[Var], bool]) -> int | None:
        """The first of the axes of a table in registers that an element is chosen from (`ir/small_tables.py`) in a loop in which some
        variables vary; None where it is loaded."""
        is_read = self.buffer(term.buffer, term.dtype).role == "in" and self.sizes.keys().isdisjoint(term.shape)
        return table_axis(term, varies) if is_read and chooses(self.b, term.dtype) else None

    def is_of_a_part(self, term: Scalar, variable: Var) -> bool:
        """Whether an element is chosen from a part of an array that is the same in all iterations of a loop."""
        return isinstance(term, Pick) and bool(self.table_axis(term, lambda v: v is variable))

    def picked(self, term: Pick, places: tuple[Value, ...], scope: Scope) -> Value:
        """Where in memory the element at computed places is, which are clipped."""
        place = offset(self, term.shape, term.args, places, scope)
        return self.b.element(MEMORY_TYPES[term.dtype], self.places[self.buffer(term.buffer, term.dtype).name], place, "inbounds nuw")

    def clipped(self, stmt: Clip, scope: Scope) -> Value:
        """An integer element as an index in its range."""
        variable = stmt.variable
        value = convert(self.b, self.value(stmt.value, scope), stmt.value.dtype, "int64")
        inside = self.b.intrinsic("smin", self.b.intrinsic("smax", value, integer(variable.lo)), integer(variable.hi))
        return resized(self.b, inside, llvm_type(self.typed[variable]), variable.bounds)

    def index(self, term: Index, scope: Scope) -> Value:
        return emit_index(self.b, self.typed[term], scope.indices)

    def range(self, variable: Var, scope: Scope) -> tuple[Value, Value]:
        """Where a loop begins and ends, in the type of its counter."""
        type, size = llvm_type(self.typed[variable]), self.kernel.size_of(variable)
        if size is None:
            return integer(variable.lo, type), integer(variable.hi + 1, type)
        return integer(variable.lo, type), self.size(size.variable, type, scope)

    def size(self, size: Var, type: str, scope: Scope) -> Value:
        """A size that is known at run time."""
        return resized(self.b, scope.indices[self.typed[size]], type, size.bounds)

    def value(self, root: Scalar, scope: Scope) -> Value:
        """The value of an element expression; every distinct term of the block is computed once."""
        known, stack = scope.elements, [root]
        while stack:
            term = stack[-1]
            missing = [] if term in known else [arg for arg in operands(term) if arg not in known]
            stack.extend(reversed(missing))
            if not missing:
                stack.pop()
                if term not in known:
                    known[term] = self.element(term, scope)
        return known[root]

    def flags_of(self, term: Scalar) -> str:
        """What may be done to an operation."""
        return "" if term in self.rounded else self.flags.arithmetic

    def element(self, term: Scalar, scope: Scope) -> Value:
        if isinstance(term, Call):
            by = term.args[-1]
            if term.op == "divide" and isinstance(by, Temp) and by.name in scope.divisors:
                return quotient(self.b, scope.elements[term.args[0]], scope.divisors[by.name])
            return scalar.call(self.b, term, tuple(scope.elements[arg] for arg in term.args), self.flags_of(term))
        if isinstance(term, Literal):
            return scalar.literal(term)
        if isinstance(term, Position):
            value = self.index(term.index, scope)
            return value if term.dtype == "bool" else resized(self.b, value, LLVM_TYPES[term.dtype], term.index.bounds)
        if isinstance(term, Load):
            buffer = self.buffer(term.buffer, term.dtype)
            return self.read(buffer, self.address(buffer, term.index, scope))
        if isinstance(term, Pick):
            return self.pick(term, tuple(scope.elements[arg] for arg in term.args), scope)
        if isinstance(term, Temp) and term.name in scope.temps and scope.temps[term.name].type == LLVM_TYPES[term.dtype]:
            return scope.temps[term.name]
        raise InternalError(f"codegen: found {term}, expected a load, a bound temporary, a literal, a position or a call")


def rounded_sums(kernel: Kernel) -> Iterator[Scalar]:
    """The sums and differences that functions are taken of which are steep, or end somewhere.  As one operation with a product, which is
    not rounded then, x * y - m would be more than zero where m is the greatest of such products, and the greatest of a softmax not one; and
    the root of x * x - y * y would be NaN where they are equal."""
    named = {stmt.name: stmt.value for stmt in statements(kernel.body) if isinstance(stmt, Let)}
    values = scalars(*values_of(statements(kernel.body)))
    asked = [arg for term in values if isinstance(term, Call) and _is_sensitive(term) for arg in term.args]
    known = set(asked)
    while asked:
        for term in scalars(asked.pop()):
            if isinstance(term, Call) and term.op in ("add", "subtract"):
                yield term
            below = named.get(term.name) if isinstance(term, Temp) else None
            if below is not None and below not in known:
                known.add(below)
                asked.append(below)


def _is_sensitive(term: Call) -> bool:
    """Whether an operation makes much of a small difference; casts of floats to integers go in steps."""
    return term.op in SENSITIVE or (term.op == "astype" and is_integer(term.dtype) and is_float(term.args[0].dtype))
