"""What a loop nest costs: nanoseconds of a kernel on a target, for choosing among candidate nests.

Statements are counted by the trips of the loops around them.  Short loops are unrolled by LLVM.  A loop that holds no others is run in
vectors if every access in it has stride zero or one, or a small one: accesses that fill that stride together are interleaved.  Others
are gathers.  What arrays cost to bring near is locality.py's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod

from eqsat.codegen import outer_loop
from eqsat.codegen.rolled import LINES, LONGEST, rolled_loops
from eqsat.cost_model import INTERLEAVED, CostModel
from eqsat.cycles import DEFAULT_COSTS, Costs
from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Apply, Index, Var, substitute, variables, walk
from eqsat.ir.joint import LARGEST_STEP
from eqsat.ir.loops import Bind, Fold, For, Kernel, Load, Pick, Stmt, Store, loads, map_indices, statements, value_of
from eqsat.ir.tensor import Call, Position, Scalar, scalars
from eqsat.locality import LINE_BYTES, moved_ns
from eqsat.lowering.affine import Forms
from eqsat.lowering.unroll import MOST_TERMS
from eqsat.target import Target

Terms = frozenset[tuple[Index, int]]
LOOP_CYCLES = 2.0
VECTOR_LOOP_CYCLES = 12.0
# a short fold in vectors, with the steps across the last one
ROLLED_FOLD_CYCLES = 5.0
# LLVM unrolls short folds before it vectorizes, and loops of less iterations
UNROLLED_LOOP = 4
UNROLLED_NODES = 128
# what a vector of interleaved accesses costs more
SHUFFLED = 1.5
# shuffles of a vector where a square of them is turned
TURNED_CYCLES = 10.0
# one more load, and a shuffle, for what a tile picks out of several vectors
PICKED_CYCLES = 1.5


@dataclass(frozen=True)
class _Place:
    """Where statements stand: the loops around them with the trips down to each, and the innermost of them that is not unrolled.

    beside  how many accesses there differ from one another by constants only
    rolled  short loops of the kernel that are not unrolled
    """

    trips: dict[Var, int]
    count: int = 1
    inner: Var | None = None
    unrolled: tuple[Var, ...] = ()
    beside: Mapping[Terms, int] = field(default_factory=dict)
    rolled: frozenset[For | Fold] = frozenset()

    def inside(self, stmt: For | Fold) -> _Place:
        count = self.count * max(stmt.variable.extent, 1)
        trips = {**self.trips, stmt.variable: count}
        if self.unrolls(stmt):
            return replace(self, trips=trips, count=count, unrolled=(*self.unrolled, stmt.variable))
        return _Place(trips, count, stmt.variable, (), _beside(stmt), self.rolled)

    def unrolls(self, stmt: Stmt) -> bool:
        """Whether a statement is a loop that is unrolled here."""
        return self.inner is not None and isinstance(stmt, For | Fold) and stmt not in self.rolled and _is_short(stmt)

    def step(self, offset: Index) -> tuple[int | None, float]:
        """Stride of an access in the loop that runs in vectors, small ones as one, and what one access costs more."""
        if self.inner is None:
            return 0, 1.0
        step = coefficient(offset, self.inner)
        if step is None or not 1 < abs(step) <= INTERLEAVED or self.inner.extent < LINES:
            return step, 1.0
        filled = self.beside.get(_terms(offset), 1)
        for variable in self.unrolled:
            filled *= variable.extent if coefficient(offset, variable) else 1
        return 1, max(SHUFFLED, abs(step) / filled)

    def is_stepped(self, offset: Index) -> bool:
        """Whether an access steps over elements in the loop that runs in vectors."""
        step = coefficient(offset, self.inner) if self.inner is not None else 0
        return step is not None and 1 < abs(step) <= INTERLEAVED


def _is_short(stmt: For | Fold, most: int = MOST_TERMS, nodes: int = UNROLLED_NODES) -> bool:
    extent, below = stmt.variable.extent, [inner for inner in stmt.body if isinstance(inner, For | Fold)]
    longest = min(most, UNROLLED_LOOP) if isinstance(stmt, For) else most
    values = [value for inner in (stmt, *stmt.body) if (value := value_of(inner)) is not None]
    size = extent * sum(1 for _ in scalars(*values))
    return 1 < extent <= longest and size <= nodes and all(_is_short(inner, most // extent, nodes // extent) for inner in below)


def _beside(stmt: For | Fold) -> dict[Terms, int]:
    offsets = {offset for inner in (stmt, *statements(stmt.body)) for offset in _offsets(inner)}
    return dict(Counter(_terms(offset) for offset in offsets))


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
    work = _Pricer(kernel, CostModel(target, costs)).block(kernel.body, _Place({}, rolled=rolled_loops(kernel)))
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


class _Pricer:
    def __init__(self, kernel: Kernel, model: CostModel) -> None:
        self.model, self.target = model, model.target
        self.bytes = {buffer.name: buffer.size * itemsize(buffer.dtype) for buffer in (*kernel.buffers, *kernel.scratch)}
        self.forms = Forms()
        self.seen: set[object] = set()

    def block(self, body: tuple[Stmt, ...], place: _Place) -> float:
        lanes = self.lanes(body, place)
        return sum(self.statement(stmt, place, lanes) for stmt in body)

    def statement(self, stmt: Stmt, place: _Place, lanes: float) -> float:
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
            again = 2.0 if stmt.combine else 1.0
            total += again * self.access(stmt.buffer, stmt.index, value.dtype, place, self.target.store_cycles, lanes)
        return total

    def loop(self, stmt: For | Fold, place: _Place) -> float:
        inside = place.inside(stmt)
        innermost = all(inside.unrolls(below) for below in stmt.body if isinstance(below, For | Fold))
        start = VECTOR_LOOP_CYCLES * place.count if innermost else LOOP_CYCLES * inside.count
        if stmt in place.rolled:
            start = (ROLLED_FOLD_CYCLES if isinstance(stmt, Fold) else LOOP_CYCLES) * place.count
        if place.unrolls(stmt):
            start = 0.0
        total = self.model.cycles_ns(start) + self.block(stmt.body, inside)
        if isinstance(stmt, Fold):
            lanes = self.lanes(stmt.body, inside, stmt.value)
            total += self.value(stmt.value, inside, lanes) + self.work("add", stmt.dtype, inside.count, lanes)
        return total

    def tile(self, outer: For, place: _Place) -> float:
        """A tile: two operations on whole vectors in a cycle, or as many loads, each once for all rows or columns that it serves; what is
        read across memory is turned in registers."""
        loops = [outer]
        while len(loops[-1].body) == 1 and isinstance(below := loops[-1].body[0], For):
            loops.append(below)
        lane, picks = loops[-1].variable, len(loops) == 1
        total = self.model.cycles_ns(LOOP_CYCLES * place.count)
        counts = dict(_counted(loops[-1].body, place.count))
        for stmt, count in counts.items():
            value = value_of(stmt)
            if value is None:
                continue
            vector = int(self.model.lanes(value.dtype))
            accessed = _offsets(stmt)
            calls = [term for term in scalars(value) if isinstance(term, Call)]
            dear = [call for call in calls if not self.model.costs.is_simple(call.op)]
            simple = (len(calls) - len(dear)) * _times(loops, vector)
            loaded = sum(_times(loops, vector, frozenset(variables(index))) for index in accessed)
            steps = [coefficient(index, lane) for index in accessed]
            picked = sum(step - 1 for step in steps if picks and step is not None and 1 < step <= LARGEST_STEP)
            turned = sum(step not in (0, 1) for step in steps) if not picked else 0
            shuffled = picked * PICKED_CYCLES + turned * TURNED_CYCLES
            total += self.model.cycles_ns(count * (max(simple, loaded) / 2 + shuffled * _times(loops, vector)))
            trips = count * prod(loop.variable.extent for loop in loops)
            total += sum(self.model.call_ns(call.op, call.dtype, trips) for call in dear)
            total += sum(self.streamed(load, loops, count) for load in loads(value))
            if isinstance(stmt, Store):
                total += trips * itemsize(value.dtype) * self.target.byte_ns_of(self.bytes[stmt.buffer])
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
        if any(place.step(offset)[0] not in (0, 1) for offset in offsets):
            return 0.25
        extent, stepped = place.inner.extent, [offset for offset in offsets if place.is_stepped(offset)]
        if stepped and extent <= LONGEST:  # written out, and what it reads is gathered
            return 0.25
        if any(place.step(offset)[1] > SHUFFLED for offset in stepped):  # LLVM does the last iterations one by one
            whole = (extent - 1) // LINES
            return extent / LINES / (whole + extent - whole * LINES)
        return min(1.0, extent / LINES)

    def value(self, root: Scalar, place: _Place, lanes: float) -> float:
        total = 0.0
        for term in scalars(root):
            if isinstance(term, Call):
                total += self.work(term.op, term.dtype, place.count, lanes)
            elif isinstance(term, Pick):
                reach = self.target.byte_ns_of(self.bytes[term.buffer]) * LINE_BYTES
                total += place.count * (self.model.cycles_ns(self.target.gather_cycles * len(term.args)) + reach)
            elif isinstance(term, Position):
                total += self.index(term.index, place)
            elif isinstance(term, Load):
                total += self.access(term.buffer, term.index, term.dtype, place, self.target.load_cycles, lanes)
        return total

    def work(self, op: str, dtype: str, count: int, lanes: float) -> float:
        """`count` elementwise operations."""
        full = self.model.lanes(dtype)
        return self.model.call_ns(op, dtype, count) * full / max(1.0, full * lanes)

    def access(self, buffer: str, offset: Index, dtype: str, place: _Place, cycles: float, lanes: float) -> float:
        total = self.index(offset, place) + self.moved(buffer, offset, dtype, place)
        step, more = place.step(offset)
        if step == 0:
            return total
        each = cycles * more / max(1.0, self.model.lanes(dtype) * lanes) if step == 1 else self.target.gather_cycles
        return total + place.count * self.model.cycles_ns(each)

    def moved(self, buffer: str, offset: Index, dtype: str, place: _Place) -> float:
        """Bringing near what an access touches, unless one beside it, which differs by a constant, does so."""
        form = self.forms(offset)
        key = buffer, frozenset(form.terms.items()), tuple(place.trips)
        if key in self.seen:
            return 0.0
        self.seen.add(key)
        loops = [(v.extent, form.stride(v)) for v in place.trips]
        return moved_ns(self.target, self.bytes[buffer], itemsize(dtype), loops)

    def index(self, term: Index, place: _Place) -> float:
        """Index operations, each counted at the deepest loop that it depends on; affine ones are address arithmetic."""
        total = 0.0
        for sub in walk(term):
            if isinstance(sub, Apply) and sub.op not in ("add", "sub", "neg", "mul"):
                deepest = max((place.trips.get(v, place.count) for v in variables(sub)), default=1)
                total += self.model.cycles_ns(self.model.costs.index.term_cycles(sub)) * deepest
        return total


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
    return prod(rows) * -(-lane // vector)
