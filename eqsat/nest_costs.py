"""What a loop nest costs: nanoseconds of a kernel on a target, for choosing among candidate nests.

Statements are counted by the trips of the loops around them.  Short loops are unrolled by LLVM.  A loop that holds no others is run in
vectors if every access in it has stride zero or one, or a small one: accesses that fill that stride together are interleaved.  Others
are gathers.  What arrays cost to bring near is locality.py's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log2, prod

from eqsat.codegen import outer_loop
from eqsat.codegen.kept_rows import KeptRow, kept_row
from eqsat.codegen.rolled import LINES, SHORT, is_written_out, rolled_loops
from eqsat.codegen.tile import BEGUN, pieces_of
from eqsat.cost_model import INTERLEAVED, CostModel
from eqsat.cycles import DEFAULT_COSTS, Costs
from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import is_float, itemsize
from eqsat.ir.index import Apply, Const, Index, Var, substitute, variables, walk
from eqsat.ir.loops import Bind, Fold, For, Kernel, Let, Load, Pick, Stmt, Store, loads, map_indices, statements, value_of
from eqsat.ir.ops import REDUCE_OPS
from eqsat.ir.tensor import Call, Position, Scalar, scalars
from eqsat.locality import LINE_BYTES, moved_ns
from eqsat.lowering.affine import Forms
from eqsat.lowering.stepped import LARGEST_STEP
from eqsat.target import Target

Terms = frozenset[tuple[Index, int]]
# what does not fit into the time of the busiest of the units that work at the same time
BESIDE = 0.1
# how far ahead of what is not done yet a processor works: over the end of shorter loops
AHEAD_CYCLES = 128.0
LOOP_CYCLES = 2.0
# vector registers for sums, where vectors are that wide, and else
SUMS, FEW_SUMS, WIDE_BYTES = 28, 12, 64
# an addition begins when the one before is done
LATENCY_CYCLES = 4.0
# and one to a place in memory when that has been stored and loaded
FORWARDED_CYCLES = 12.0
# LLVM writes out loops of so few instructions before it makes vectors of those around; in each iteration some are for counting.  Longer
# loops of stores that go along memory are vectors of their own
UNROLLED_LOOP = 4
UNROLLED_INSTRUCTIONS, COUNTING = 300, 3
# an iteration that is done alone, by one in a vector
LEFT_OVER = 0.5
# LLVM makes one vector of loops of less iterations, in part
MASKED = 16
# iterations of a fold whose loads stay in registers where the loop around does not change them
HELD = 64
# what an access costs more that crosses the end of a line, as those of vectors as long as a line do
SPLIT = 0.2
# a load of one number for all of a vector
ONE_NUMBER = 0.5
# a store of one element of a vector
SCATTERED_CYCLES = 1.5
# a shuffle of two vectors, by a simple operation; interleaved accesses take so many as halving their step takes, and one more
SHUFFLE = 2.0
# one more load, and a shuffle, for what a tile picks out of several vectors
PICKED_CYCLES = 1.5


@dataclass(frozen=True)
class _Place:
    """Where statements stand: the loops around them with the trips down to each, and the innermost of them that is not unrolled.

    masked  a short loop that is one vector, in part
    around  the loop around the innermost one, which may be a fold that is written out in vectors
    beside  constants by which accesses there differ from others
    rolled  short loops of the kernel that are not unrolled
    """

    trips: dict[Var, int]
    count: int = 1
    inner: Var | None = None
    masked: bool = False
    around: Var | None = None
    unrolled: tuple[Var, ...] = ()
    beside: Mapping[Terms, frozenset[int]] = field(default_factory=dict)
    rolled: frozenset[For | Fold] = frozenset()

    def inside(self, stmt: For | Fold) -> _Place:
        place = self.deeper(stmt.variable)
        if self.unrolls(stmt):
            return replace(place, unrolled=(*self.unrolled, stmt.variable))
        masked = stmt in self.rolled and stmt.variable.extent < MASKED
        around = self.inner if (masked or isinstance(stmt, Fold)) and not self.unrolled else None
        return _Place(place.trips, place.count, stmt.variable, masked, around, (), _beside(stmt), self.rolled)

    def deeper(self, variable: Var) -> _Place:
        """Inside of one more loop."""
        count = self.count * max(variable.extent, 1)
        return replace(self, trips={**self.trips, variable: count}, count=count)

    def unrolls(self, stmt: Stmt) -> bool:
        """Whether a statement is a loop that is unrolled here."""
        if self.inner is None or not isinstance(stmt, For | Fold) or stmt in self.rolled or not _is_short(stmt):
            return False
        return isinstance(stmt, Fold) or stmt.variable.extent <= UNROLLED_LOOP or not _goes_along(stmt)

    def step(self, offset: Index) -> tuple[int | None, float]:
        """Stride of an access in the loop that runs in vectors, small ones as one, and what one access costs more."""
        if self.inner is None:
            return 0, 1.0
        step = coefficient(offset, self.inner)
        if step is None or not 1 < abs(step) <= INTERLEAVED or self.inner.extent < LINES:
            return step, 1.0
        return 1, max(1.0, abs(step) / len(self.reached(offset)))

    def reached(self, offset: Index) -> frozenset[int]:
        """Where accesses of one iteration are that are so near this one that they are in the same vectors, those of unrolled loops among them."""
        own, apart = Forms()(offset).constant, abs(coefficient(offset, self.inner) or 1) if self.inner is not None else 1
        found = self.beside.get(_terms(offset), frozenset((own,)))
        for variable in self.unrolled:
            steps = _steps(offset, variable) if variable in variables(offset) else (0,)
            found = frozenset(first + step for first in found for step in steps)
        return frozenset(place for place in found if abs(place - own) < apart)

    def fills(self, offset: Index) -> bool:
        """Whether accesses that step over elements touch all of them, from one iteration to the next: whole vectors, which are sorted."""
        step = coefficient(offset, self.inner) if self.inner is not None else None
        reached = self.reached(offset)
        return step is not None and len(reached) == abs(step) == max(reached) - min(reached) + 1

    def is_stepped(self, offset: Index) -> bool:
        """Whether an access steps over elements in the loop that runs in vectors."""
        step = coefficient(offset, self.inner) if self.inner is not None else 0
        return step is not None and 1 < abs(step) <= INTERLEAVED

    def repeated(self, offset: Index) -> int:
        """How often something is loaded: what a short fold loads in every iteration of the loop around it stays in registers."""
        if self.around is None or self.inner is None or self.inner.extent > HELD or self.around in variables(offset):
            return self.count
        return self.count // self.around.extent


def _is_short(stmt: For | Fold, instructions: int = UNROLLED_INSTRUCTIONS) -> bool:
    extent, below = stmt.variable.extent, [inner for inner in stmt.body if isinstance(inner, For | Fold)]
    size = extent * (COUNTING + sum(_instructions(inner, stmt.variable) for inner in (stmt, *stmt.body)))
    return 1 < extent and size <= instructions and all(_is_short(inner, instructions // extent) for inner in below)


def _goes_along(loop: For) -> bool:
    """Whether all accesses of a loop go along memory, so that vectors of its own serve it."""
    steps = [coefficient(offset, loop.variable) for stmt in loop.body for offset in _offsets(stmt)]
    return 1 in steps and all(step in (0, 1) for step in steps)


def _instructions(stmt: Stmt, inner: Var) -> int:
    """Of a statement in one iteration of a loop; an access that does not go along memory computes its address."""
    if isinstance(stmt, For) or (value := value_of(stmt)) is None:
        return 0
    calls = sum(isinstance(term, Call | Pick | Position) for term in scalars(value))
    accesses = sum(1 if coefficient(offset, inner) in (0, 1) else 2 for offset in _offsets(stmt))
    return calls + accesses + isinstance(stmt, Fold)


def _steps(offset: Index, variable: Var) -> tuple[int, ...]:
    """How far an access goes in each iteration of a short loop."""
    step = coefficient(offset, variable)
    if step is not None:
        return tuple(step * k for k in range(variable.extent))
    places = [Forms()(substitute(offset, {variable: Const(k)})).constant for k in range(variable.lo, variable.hi + 1)]
    return tuple(place - places[0] for place in places)


def _beside(stmt: For | Fold) -> dict[Terms, frozenset[int]]:
    found: dict[Terms, frozenset[int]] = {}
    for inner in (stmt, *statements(stmt.body)):
        for offset in _offsets(inner):
            form = Forms()(offset)
            terms = frozenset(form.terms.items())
            found[terms] = found.get(terms, frozenset()) | {form.constant}
    return found


def _offsets(stmt: Stmt) -> list[Index]:
    """What a statement reads and writes."""
    value = value_of(stmt)
    read = [load.index for load in loads(value)] if value is not None else []
    return [*read, stmt.index] if isinstance(stmt, Store) else read


def _terms(offset: Index) -> Terms:
    """What accesses have in common that differ by constants."""
    return frozenset(Forms()(offset).terms.items())


def nest_ns(kernel: Kernel, target: Target, costs: Costs = DEFAULT_COSTS) -> float:
    """Estimated time of one call of a kernel; a parallel outermost loop is shared by the threads, the last round unevenly."""
    kernel = _spelled_out(kernel)
    work = _Pricer(kernel, CostModel(target, costs)).total_ns(kernel.body, _Place({}, rolled=rolled_loops(kernel)))
    return target.launch_ns + work * largest_share(kernel, target.threads)


def largest_share(kernel: Kernel, threads: int) -> float:
    """What part of a kernel the thread that does most of it does."""
    outer = outer_loop(kernel)
    extent = outer.variable.extent if outer is not None else 0
    return -(-extent // threads) / extent if extent else 1.0


def _spelled_out(kernel: Kernel) -> Kernel:
    """The kernel with the values of index variables that it computes in their places, so that strides show."""
    values: dict[Var, Index] = {}
    for stmt in statements(kernel.body):
        if isinstance(stmt, Bind):
            values[stmt.variable] = substitute(stmt.value, values)
    return map_indices(kernel, lambda index: substitute(index, values)) if values else kernel


@dataclass(frozen=True)
class _Work:
    """What a stretch of code without loops in it keeps busy in all its repetitions, and what of its loops nothing overlaps.

    loads, stores, operations  cycles of the units that load, store and compute
    waits                      cycles of additions that wait for each other
    moved                      nanoseconds of bringing memory near
    rest                       nanoseconds that come on top: whole loops, and starting them
    """

    loads: float = 0.0
    stores: float = 0.0
    operations: float = 0.0
    waits: float = 0.0
    moved: float = 0.0
    rest: float = 0.0

    def __add__(self, other: _Work) -> _Work:
        return _Work(
            self.loads + other.loads,
            self.stores + other.stores,
            self.operations + other.operations,
            self.waits + other.waits,
            self.moved + other.moved,
            self.rest + other.rest,
        )

    def ns(self, ghz: float) -> float:
        """The busiest of what works at the same time, and a part of the others."""
        busy = self.loads / ghz, self.stores / ghz, self.operations / ghz, self.waits / ghz, self.moved
        return self.rest + max(busy) + BESIDE * (sum(busy) - max(busy))


NOTHING = _Work()


class _Pricer:
    def __init__(self, kernel: Kernel, model: CostModel) -> None:
        self.model, self.target = model, model.target
        self.bytes = {buffer.name: buffer.size * itemsize(buffer.dtype) for buffer in (*kernel.buffers, *kernel.scratch)}
        self.forms = Forms()
        self.seen: set[object] = set()
        self.one_number = min(ONE_NUMBER, self.target.load_cycles)
        self.registers = SUMS if self.target.vector_bytes >= WIDE_BYTES else FEW_SUMS

    def total_ns(self, body: tuple[Stmt, ...], place: _Place) -> float:
        return self.block(body, place).ns(self.target.ghz)

    def block(self, body: tuple[Stmt, ...], place: _Place) -> _Work:
        lanes = self.lanes(body, place)
        return sum((self.statement(stmt, place, lanes) for stmt in body), NOTHING)

    def statement(self, stmt: Stmt, place: _Place, lanes: float) -> _Work:
        if isinstance(stmt, For) and stmt.kind == "tile":
            return self.tile(stmt, place)
        if isinstance(stmt, For | Fold):
            return self.loop(stmt, place)
        if isinstance(stmt, Bind):
            return self.index(stmt.value, place)
        value = value_of(stmt)
        assert value is not None
        total = self.value(value, place, lanes)
        if isinstance(stmt, Store):
            total += self.access(stmt.buffer, stmt.index, value.dtype, place, lanes, stores=True)
            if stmt.combine:
                total += self.access(stmt.buffer, stmt.index, value.dtype, place, lanes)
                step = self.folding(stmt.combine, value.dtype) if not _is_product(value) or stmt.combine != "sum" else 0.0
                total += _Work(operations=step * place.count / self.together(value.dtype, place, lanes), waits=self.waits(stmt, value.dtype, place))
        return total

    def loop(self, stmt: For | Fold, place: _Place) -> _Work:
        row = kept_row(stmt, self.target.vector_bytes, self.registers) if isinstance(stmt, For) and stmt.kind == "serial" else None
        if row is not None:
            return self.kept(row, place)
        inside = place.inside(stmt)
        total = self.block(stmt.body, inside)
        if isinstance(stmt, Fold):
            lanes = self.lanes(stmt.body, inside, stmt.value)
            total += self.value(stmt.value, inside, lanes)
            if stmt.op != "sum" or not _is_product(stmt.value):
                total += self.work("add", stmt.dtype, inside, lanes)
        if place.unrolls(stmt):
            return total
        return self.started(stmt, place, total)

    def started(self, stmt: For | Fold, place: _Place, total: _Work) -> _Work:
        """A loop with what starting it costs: of folds in vectors, which end with the steps across the last one, units that compute are busy."""
        inside, start = place.inside(stmt), LOOP_CYCLES * place.count
        if any(isinstance(below, For | Fold) and not inside.unrolls(below) for below in stmt.body):
            start = 0.0  # that of the loops in it
        elif isinstance(stmt, Fold):
            across = min(self.model.lanes(stmt.dtype), stmt.variable.extent)
            total += _Work(operations=place.count * (1.0 + log2(max(across, 1.0))))
            start = 0.0 if stmt in place.rolled else start
        total += _Work(rest=self.model.cycles_ns(start))
        ns = total.ns(self.target.ghz)
        return total if ns <= self.model.cycles_ns(AHEAD_CYCLES) * place.count else _Work(rest=ns)

    def kept(self, row: KeptRow, place: _Place) -> _Work:
        """A row that serial loops add up in registers: whole vectors, each waiting for itself at the most."""
        inside = place
        for variable in row.loops:
            inside = inside.deeper(variable)
        along = inside.deeper(row.lane)
        vectors = len(list(pieces_of(row.lane, self.target.vector_bytes // row.widest, again=True)))
        values = [stmt.value for stmt in (*row.before, row.store) if isinstance(stmt, Let | Store)]
        operations = max(self.operations(values, row.store.combine) * vectors, LATENCY_CYCLES / BEGUN, LATENCY_CYCLES * vectors / BEGUN)
        total = _Work(operations=operations * inside.count, rest=self.model.cycles_ns(LOOP_CYCLES * place.count))
        for load in dict.fromkeys(load for value in values for load in loads(value)):
            whole = self.target.load_cycles * self.split(load.index, row.lane, load.dtype)
            each = whole * vectors if row.lane in variables(load.index) else self.one_number
            moved = self.moved(load.buffer, load.index, load.dtype, along)
            total += self.index(load.index, along) + _Work(loads=inside.count * each, moved=moved)
        once = place.count * vectors
        moved = self.moved(row.store.buffer, row.store.index, row.dtype, along)
        return total + _Work(loads=once * self.target.load_cycles, stores=once * self.target.store_cycles, moved=moved)

    def operations(self, values: Sequence[Scalar], fold: str | None) -> float:
        """Cycles of all operations on one vector, with that of folding: a product that is added to something is one with the addition."""
        calls = [term for term in scalars(*values) if isinstance(term, Call)]
        added = {arg for call in calls if call.op in ("add", "subtract") for arg in call.args}
        if fold == "sum":
            added.add(values[-1])
        fused = sum(call.op == "multiply" and call in added for call in calls)
        dear = [call for call in calls if not self.model.costs.is_simple(call.op)]
        simple = len(calls) - len(dear) - fused
        step = self.folding(fold, values[-1].dtype) if fold is not None else 0.0
        return sum(self.model.op_cycles(call.op, call.dtype) for call in dear) + simple * self.target.op_cycles + step

    def folding(self, op: str, dtype: str) -> float:
        """One step of a fold, of a whole vector."""
        step = REDUCE_OPS[op].step
        return self.target.op_cycles if self.model.costs.is_simple(step) else self.model.op_cycles(step, dtype)

    def tile(self, outer: For, place: _Place) -> _Work:
        """A tile: whole vectors, each loaded once for all rows or columns that it serves; what is read across memory is turned in registers."""
        loops = [outer]
        while len(loops[-1].body) == 1 and isinstance(below := loops[-1].body[0], For):
            loops.append(below)
        lane, picks = loops[-1].variable, len(loops) == 1
        total = _Work(rest=self.model.cycles_ns(LOOP_CYCLES * place.count))
        for stmt, count in dict(_counted(loops[-1].body, place.count)).items():
            value = value_of(stmt)
            if value is None:
                continue
            vector = int(self.model.lanes(value.dtype))
            times = _times(loops, vector)
            read = [load.index for load in loads(value)]
            steps = [coefficient(index, lane) for index in (*read, *([stmt.index] if isinstance(stmt, Store) else []))]
            picked = sum(step - 1 for step in steps if picks and step is not None and 1 < step <= LARGEST_STEP)
            turned = sum(step not in (0, 1) for step in steps) if not picked else 0
            operations = self.operations([value], stmt.op if isinstance(stmt, Fold) else None) + (picked * PICKED_CYCLES + turned * log2(vector)) * 2 * self.target.op_cycles
            loaded = sum(
                _times(loops, vector, frozenset(variables(load.index)))
                * (self.target.load_cycles * self.split(load.index, lane, load.dtype) if lane in variables(load.index) else self.one_number)
                for load in loads(value)
            )
            total += _Work(loads=count * loaded, operations=count * times * operations)
            total += _Work(moved=sum(self.streamed(load, loops, count) for load in loads(value)))
            if isinstance(stmt, Store):
                trips = count * prod(loop.variable.extent for loop in loops)
                moved = trips * itemsize(value.dtype) * self.target.byte_ns_of(self.bytes[stmt.buffer])
                total += _Work(stores=count * times * self.target.store_cycles, moved=moved)
        return total

    def streamed(self, load: Load, loops: list[For], count: int) -> float:
        """Bringing near what a tile loads."""
        used = prod(loop.variable.extent for loop in loops if loop.variable in variables(load.index))
        return count * used * itemsize(load.dtype) * self.target.byte_ns_of(self.bytes[load.buffer])

    def lanes(self, body: tuple[Stmt, ...], place: _Place, extra: Scalar | None = None) -> float:
        """How many iterations of the innermost loop one instruction does, as a fraction of a full vector."""
        if place.inner is None or any(isinstance(stmt, For | Fold) and not place.unrolls(stmt) for stmt in body):
            return 0.0
        offsets = [offset for stmt in body if not isinstance(stmt, For | Fold) for offset in _offsets(stmt)]
        offsets += [load.index for load in loads(extra)] if extra is not None else []
        if any(place.step(offset)[0] not in (0, 1) and place.repeated(offset) == place.count for offset in offsets):
            return 0.25
        extent, stepped = place.inner.extent, [offset for offset in offsets if place.is_stepped(offset)]
        if all(place.fills(offset) for offset in stepped):
            return 1.0
        if extent <= SHORT:  # written out, and what it reads is gathered
            return 0.25
        whole = (extent - 1) // LINES  # LLVM does the last iterations one by one
        return extent / LINES / (whole + extent - whole * LINES)

    def together(self, dtype: str, place: _Place, lanes: float) -> float:
        """How many iterations one instruction does; those that fill no vector are done in one of half its width, and one by one."""
        full = self.model.lanes(dtype)
        if lanes < 1.0 or place.inner is None:
            return max(1.0, full * lanes)
        extent = place.inner.extent
        if place.masked:
            return min(full, extent)
        whole, rest = divmod(extent, full)
        half = rest // (full / 2)
        return max(1.0, extent / (whole + half + (rest - half * full / 2) * LEFT_OVER))

    def value(self, root: Scalar, place: _Place, lanes: float) -> _Work:
        total = NOTHING
        calls = [term for term in scalars(root) if isinstance(term, Call)]
        fused = {arg for call in calls if call.op in ("add", "subtract") for arg in call.args if _is_product(arg)}
        for term in scalars(root):
            if term in fused:  # one operation with the addition
                continue
            if isinstance(term, Call):
                total += self.work(term.op, term.dtype, place, lanes)
            elif isinstance(term, Pick):
                reach = self.target.byte_ns_of(self.bytes[term.buffer]) * LINE_BYTES
                total += _Work(loads=place.count * self.target.gather_cycles * len(term.args), rest=place.count * reach)
            elif isinstance(term, Position):
                total += self.index(term.index, place, lanes)
            elif isinstance(term, Load):
                total += self.access(term.buffer, term.index, term.dtype, place, lanes)
        return total

    def work(self, op: str, dtype: str, place: _Place, lanes: float) -> _Work:
        """An elementwise operation."""
        return _Work(operations=self.model.op_cycles(op, dtype) * place.count / self.together(dtype, place, lanes))

    def access(self, buffer: str, offset: Index, dtype: str, place: _Place, lanes: float, stores: bool = False) -> _Work:
        total = self.index(offset, place, lanes) + _Work(moved=self.moved(buffer, offset, dtype, place))
        step, more = place.step(offset)
        if step == 0:
            return total
        vectors = self.together(dtype, place, lanes)
        if place.inner is not None:
            more *= self.split(offset, place.inner, dtype)
        if step == 1 and place.is_stepped(offset):
            apart = abs(coefficient(offset, place.inner) or 1) if place.inner is not None else 1
            total += _Work(operations=place.repeated(offset) * more * log2(apart) * SHUFFLE * self.target.op_cycles / vectors)
        if not stores:
            each = self.target.load_cycles * more / vectors if step == 1 else self.target.gather_cycles
            return total + _Work(loads=place.repeated(offset) * each)
        together = step == 1 and (not place.is_stepped(offset) or place.fills(offset))
        return total + _Work(stores=place.count * (self.target.store_cycles * more / vectors if together else SCATTERED_CYCLES))

    def waits(self, stmt: Store, dtype: str, place: _Place) -> float:
        """Cycles of combining with the same places again and again: in memory; or in registers where all loops over them are written out,
        and then only if that cannot be done in another order, as LLVM does with sums."""
        inner, known = place.inner, variables(stmt.index)
        again = place.count / prod(v.extent for v in place.unrolled if v in known)
        if inner is not None and inner in known:
            return again / inner.extent * FORWARDED_CYCLES
        return again * LATENCY_CYCLES if is_float(dtype) and stmt.combine in ("max", "min") else 0.0

    def split(self, offset: Index, inner: Var, dtype: str) -> float:
        """What a vector access costs more that does not begin where vectors begin: it crosses the end of a line of the cache."""
        form = self.forms(offset)
        lanes = int(self.model.lanes(dtype))
        firsts = (form.constant, *(k for atom, k in form.terms.items() if atom is not inner))
        return 1.0 if all(first % lanes == 0 for first in firsts) else 1.0 + SPLIT * min(self.target.vector_bytes, inner.extent * itemsize(dtype)) / LINE_BYTES

    def moved(self, buffer: str, offset: Index, dtype: str, place: _Place) -> float:
        """Bringing near what an access touches, unless one beside it, which differs by a constant, does so."""
        form = self.forms(offset)
        key = buffer, frozenset(form.terms.items()), tuple(place.trips)
        if key in self.seen:
            return 0.0
        self.seen.add(key)
        loops = [(v.extent, form.stride(v)) for v in place.trips]
        return moved_ns(self.target, self.bytes[buffer], itemsize(dtype), loops)

    def index(self, term: Index, place: _Place, lanes: float = 0.0) -> _Work:
        """Index operations, each counted at the deepest loop that it depends on; affine ones are address arithmetic."""
        cycles = 0.0
        for sub in walk(term):
            if isinstance(sub, Apply) and sub.op not in ("add", "sub", "neg", "mul"):
                deepest = max((place.trips.get(v, place.count) for v in variables(sub)), default=1)
                cycles += self.model.costs.index.term_cycles(sub) * deepest
        return _Work(operations=cycles / self.together("int32", place, lanes))


def _is_product(value: Scalar) -> bool:
    """Whether adding it is one operation with computing it."""
    return isinstance(value, Call) and value.op == "multiply"


def _counted(body: tuple[Stmt, ...], count: int) -> Iterator[tuple[Stmt, int]]:
    """Statements of a tile, and how often each is done for all of it."""
    for stmt in body:
        inside = count * stmt.variable.extent if isinstance(stmt, Fold) else count
        yield stmt, inside
        if isinstance(stmt, Fold):
            yield from _counted(stmt.body, inside)


def _times(loops: list[For], vector: int, only: frozenset[Var] | None = None) -> int:
    """Iterations of a tile, those of the innermost loop in vectors; where not all of its loops matter, of those that do."""
    *rows, lane = [loop.variable.extent if only is None or loop.variable in only else 1 for loop in loops]
    pieces = sum(1 for _ in pieces_of(loops[-1].variable, vector, again=True)) if lane > 1 else 1
    return prod(rows) * pieces
