"""What a loop nest costs: nanoseconds of a kernel on a target, for choosing among candidate nests.

Statements are counted by the trips of the loops around them, and make units of the processor busy that work at the same time: those that
load, store and compute, and the way from the caches.  The busiest of them says how long a loop takes (`Work`).  A loop that holds no
others is run in vectors if every access in it has stride zero or one, or a small one: accesses that fill that stride together are
interleaved.  Others are gathers.  What LLVM makes of loops is in nest_places.py, what accesses bring near in touched.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import frexp, log2, prod

from eqsat.codegen import shares
from eqsat.codegen.divided import reciprocal_of, repeated
from eqsat.codegen.folds import in_one_loop, kept_apart
from eqsat.codegen.kept_rows import KeptRow, kept_row
from eqsat.codegen.recurrence import recurrence_of
from eqsat.codegen.rolled import LINES, rolled_loops
from eqsat.codegen.search import remembered
from eqsat.codegen.tile_parts import pieces_of
from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import is_complex, is_float, itemsize
from eqsat.ir.index import Apply, Index, Var, depends, variables, walk
from eqsat.ir.joint import LARGEST_STEP
from eqsat.ir.loops import (
    Bind,
    Fold,
    For,
    Kernel,
    Let,
    Load,
    Pick,
    Stmt,
    Store,
    loads,
    value_of,
    values_of,
)
from eqsat.ir.ops import REDUCE_OPS
from eqsat.ir.picked_rows import place_in_row
from eqsat.ir.tensor import Call, Literal, Position, Scalar, is_size, scalars
from eqsat.lowering.across import LEAST_JUMP
from eqsat.lowering.affine import Forms
from eqsat.pricing.cost_model import CostModel
from eqsat.pricing.cycles import DEFAULT_COSTS, Costs
from eqsat.pricing.locality import LINE_BYTES
from eqsat.pricing.nest_places import Place, offsets_of
from eqsat.pricing.nest_spelling import spelled_out
from eqsat.pricing.nest_work import NOTHING, Work
from eqsat.pricing.target import SPLIT_NS, Target
from eqsat.pricing.touched import Touched

# a step across a vector, of two halves beside each other, by one of a sum
ACROSS_CYCLES = 2.0
# how far ahead of what is not done yet a processor works: over the end of shorter loops
AHEAD_CYCLES = 128.0
LOOP_CYCLES = 2.0
# vector registers for sums, where vectors are that wide, and else
SUMS, FEW_SUMS, WIDE_BYTES = 28, 12, 64
# an addition begins when the one before is done
LATENCY_CYCLES = 4.0
# and one to a place in memory when that has been stored and loaded; under masks, when it is in the cache
FORWARDED_CYCLES, MASKED_CYCLES = 12.0, 45.0
# a vector of a running sum, whose lanes are added up before the last of them waits for the vector before
RUNNING_CYCLES = 8.0
# an iteration that is done alone, by one in a vector
LEFT_OVER = 0.5
# what an access costs more that crosses the end of a line, as those of vectors as long as a line do
SPLIT = 0.2
# what a vector takes more by which a product is added to a kept row, if it is as long as a line of the cache: arrays seldom begin with one
ACROSS_LINES = 1.0
# a load of one number for all of a vector
ONE_NUMBER = 0.5
# a division or root of one number, by one of a vector
DIVIDED_ALONE = 0.35
# a store of one element of a vector
SCATTERED_CYCLES = 1.5
# what rows of a tile take that lie side by side, for every term, when terms are LEAST_JUMP bytes apart at least, and a multiple of these:
# they share sets of the first cache
JUMPED = ((4096, 30.0), (2048, 9.0), (1, 4.0))
# loops of functions that step over more are vectors from so many iterations on
SORTED_STEP, LONG_ROW = 4, 128
# a shuffle of two vectors, by a simple operation; LLVM puts a vector of interleaved elements together step by step
SHUFFLE = 2.0
# shuffles, and loads, for each further vector that a tile picks something out of
PICKED = 1.5


def nest_ns(kernel: Kernel, target: Target, costs: Costs = DEFAULT_COSTS) -> float:
    """Estimated time of one call of a kernel; a parallel outermost loop that takes long is shared by the threads, the last
    round unevenly."""
    kernel = spelled_out(kernel)
    work = _Pricer(kernel, CostModel(target, costs)).total_ns(kernel)
    return target.launch_ns + work_shared(work, largest_share(kernel, target.threads))


def work_shared(work: float, share: float) -> float:
    """How long work takes of which one thread does this share, and no other does more: of the least work that is handed out, handing out a
    part takes as long as doing it."""
    return work if work <= SPLIT_NS else work * share + SPLIT_NS * (1 - share)


def largest_share(kernel: Kernel, threads: int) -> float:
    """What part of a kernel the thread that does most of it does."""
    found = shares(kernel)
    extent = sum(share.extent for share in found)
    piece = max((share.units for share in found), default=1)
    return min(1.0, (-(-extent // threads) + piece - 1) / extent) if extent else 1.0


class _Pricer:
    def __init__(self, kernel: Kernel, model: CostModel) -> None:
        self.model, self.target = model, model.target
        self.bytes = {buffer.name: buffer.size * itemsize(buffer.dtype) for buffer in (*kernel.buffers, *kernel.scratch)}
        self.forms = Forms()
        self.rolled = rolled_loops(kernel)
        self.apart = kept_apart(kernel, self.rolled, remembered(kernel))
        self.touched = Touched(kernel, self.target, self.forms)
        self.around = dict(_bound_in(kernel.body, None))
        self.registers = SUMS if self.target.vector_bytes >= WIDE_BYTES else FEW_SUMS

    def total_ns(self, kernel: Kernel) -> float:
        """All of it, on one thread."""
        return self.block(kernel.body, Place({}, self.forms, rolled=self.rolled)).ns(self.target.ghz)

    def block(self, body: tuple[Stmt, ...], place: Place) -> Work:
        lanes, done = self.lanes(body, place), set[Scalar]()
        groups = in_one_loop(body, self.apart)
        return sum((self.statement(*group, place=place, lanes=lanes, done=done) for group in groups), NOTHING)

    def statement(self, stmt: Stmt, *together: Stmt, place: Place, lanes: float, done: set[Scalar]) -> Work:
        """A statement, or folds that are one loop."""
        if together:
            return self.folds([fold for fold in (stmt, *together) if isinstance(fold, Fold)], place)
        if isinstance(stmt, For) and stmt.kind == "tile":
            return self.tile(stmt, place)
        if isinstance(stmt, For | Fold):
            return self.loop(stmt, place)
        if isinstance(stmt, Bind):
            return self.index(stmt.value, place)
        value = value_of(stmt)
        assert value is not None
        total = self.value(value, place, lanes, done)
        if isinstance(stmt, Store):
            total += self.access(stmt.buffer, stmt.index, value.dtype, place, lanes, stores=True)
            if stmt.combine:
                total += self.access(stmt.buffer, stmt.index, value.dtype, place, lanes)
                step = self.folding(stmt.combine, value.dtype) if not _is_product(value) or stmt.combine != "sum" else 0.0
                total += Work(operations=step * place.count / self.together(value.dtype, place, lanes))
            if stmt.combine or any(load.buffer == stmt.buffer and load.index is stmt.index for load in loads(value)):
                total += Work(waits=self.waits(stmt, value.dtype, place))
        return total

    def loop(self, stmt: For | Fold, place: Place) -> Work:
        row = kept_row(stmt, self.target.vector_bytes, self.registers) if isinstance(stmt, For) and stmt.kind == "serial" else None
        if row is not None:
            return self.kept(row, place)
        inside = place.inside(stmt)
        total = self.block(stmt.body, inside)
        if isinstance(stmt, For) and (found := recurrence_of(stmt)) is not None:
            lanes = self.model.lanes(found.dtype) if found.in_vectors else 0.0
            total += Work(waits=inside.count * (RUNNING_CYCLES / lanes if lanes else LATENCY_CYCLES))
        if isinstance(stmt, Fold):
            lanes = self.lanes(stmt.body, inside, stmt.value)
            total += self.value(stmt.value, inside, lanes, set())
            if stmt.op != "sum" or not _is_product(stmt.value):
                total += self.work("add", stmt.dtype, inside, lanes)
        if place.unrolls(stmt):
            return total
        return self.started(stmt, place, inside, total)

    def folds(self, group: Sequence[Fold], place: Place) -> Work:
        """Folds of one range in one loop: what several of them read is read once."""
        one, inside, done = group[0], place.inside(group[0]), set[Scalar]()
        total = NOTHING
        for fold in group:
            lanes = self.lanes(fold.body, inside, fold.value)
            total += sum((self.statement(stmt, place=inside, lanes=lanes, done=done) for stmt in fold.body), NOTHING)
            total += self.value(fold.value, inside, lanes, done)
            if fold.op != "sum" or not _is_product(fold.value):
                total += self.work("add", fold.dtype, inside, lanes)
        return self.started(one, place, inside, total)

    def started(self, stmt: For | Fold, place: Place, inside: Place, total: Work) -> Work:
        """A loop with what starting it costs; folds in vectors end with steps across the last one, which keep units busy that compute."""
        start = LOOP_CYCLES * place.count
        if any(isinstance(below, For | Fold) and not inside.unrolls(below) for below in stmt.body):
            start = 0.0  # that of the loops in it
        elif isinstance(stmt, Fold):
            across = min(self.model.lanes(stmt.dtype), stmt.variable.extent)
            each = 1.0 if stmt.op == "sum" else ACROSS_CYCLES
            total += Work(operations=place.count * each * (1.0 + log2(max(across, 1.0))))
            start = 0.0 if stmt in place.rolled else start
        total += Work(rest=self.model.cycles_ns(start))
        ns = total.ns(self.target.ghz)
        return total if ns <= self.model.cycles_ns(AHEAD_CYCLES) * place.count else Work(rest=ns)

    def kept(self, row: KeptRow, place: Place) -> Work:
        """A row that serial loops add up in registers: whole vectors, each waiting for itself at the most."""
        inside = place
        for variable in row.loops:
            inside = inside.deeper(variable)
        along = inside.deeper(row.lane)
        vectors = len(list(pieces_of(row.lane, self.target.vector_bytes // row.widest, again=True)))
        values = [stmt.value for stmt in (*row.before, row.store) if isinstance(stmt, Let | Store)]
        whole = row.lane.extent * row.widest // self.target.vector_bytes
        across = whole * ACROSS_LINES if _is_product(row.store.value) else 0.0
        operations = max(self.operations(values, row.store.combine) * vectors, vectors + across)
        total = Work(operations=operations * inside.count, rest=self.model.cycles_ns(LOOP_CYCLES * place.count))
        for load in dict.fromkeys(load for value in values for load in loads(value)):
            each = self.load_cycles(load, row.lane) * (vectors if depends(load.index, row.lane) else 1)
            moved = self.touched.moved_ns(load.buffer, load.index, load.dtype, tuple(along.trips))
            total += self.index(load.index, along) + Work(loads=inside.count * each, moved=moved)
        once = place.count * vectors
        moved = self.touched.moved_ns(row.store.buffer, row.store.index, row.dtype, tuple(along.trips))
        return total + Work(loads=once * self.target.load_cycles, stores=once * self.target.store_cycles, moved=moved)

    def operations(self, values: Sequence[Scalar], fold: str | None) -> float:
        """Cycles of all operations on one vector, with that of folding: a product that is added to something is one with the addition, and
        loading a part of a complex number is none."""
        calls = [term for term in scalars(*values) if isinstance(term, Call) and not _loads_a_part(term)]
        added = {arg for call in calls if call.op in ("add", "subtract") for arg in call.args}
        if fold == "sum":
            added.add(values[-1])
        fused = sum(call.op == "multiply" and call in added for call in calls)
        made = [(op, call.dtype) for call in calls for op in self.made_of(call)]
        dear = [(op, dtype) for op, dtype in made if not self.model.costs.is_simple(op)]
        simple = len(made) - len(dear) - fused
        step = self.folding(fold, values[-1].dtype) if fold is not None else 0.0
        return sum(self.model.op_cycles(op, dtype) for op, dtype in dear) + simple * self.target.op_cycles + step

    def made_of(self, call: Call, place: Place | None = None) -> tuple[str, ...]:
        """The operations that an elementwise one is: a division by a known number is two, by a power of two one, by what the loop does not
        change three, where the caller has no price for it."""
        if "divide" in self.model.costs.element_cycles:
            return (call.op,)
        if place is not None and self.divides_again(call, place):
            return ("multiply", "multiply", "add")
        divisor = call.args[-1].value if isinstance(call.args[-1], Literal) else None
        if call.op == "divide" and isinstance(divisor, float) and abs(frexp(divisor)[0]) == 0.5:
            return ("multiply",)
        return ("multiply", "add") if reciprocal_of(call) is not None else (call.op,)

    def divides_again(self, call: Call, place: Place) -> bool:
        """Whether it is a division by what was computed before the innermost loop."""
        name = repeated(call, place.inner.extent) if place.inner is not None else None
        return name is not None and self.around.get(name, place.inner) is not place.inner

    def folding(self, op: str, dtype: str) -> float:
        """One step of a fold, of a whole vector."""
        step = REDUCE_OPS[op].step
        return self.target.op_cycles if self.model.costs.is_simple(step) else self.model.op_cycles(step, dtype)

    def tile(self, outer: For, place: Place) -> Work:
        """A tile: whole vectors, each loaded once for all that it serves; what is read across memory is turned in registers."""
        loops = [outer]
        while len(loops[-1].body) == 1 and isinstance(below := loops[-1].body[0], For):
            loops.append(below)
        lane, picks = loops[-1].variable, len(loops) == 1
        several = _loaded_often(loops[-1].body)
        total = Work(rest=self.model.cycles_ns(LOOP_CYCLES * place.count))
        for stmt, folds in dict(_folded(loops[-1].body)).items():
            count, value = place.count * prod(v.extent for v in folds), value_of(stmt)
            if value is None:
                continue
            vector = int(self.model.lanes(value.dtype))
            times = _times(loops, vector)
            read = [load.index for load in loads(value)]
            steps = [coefficient(index, lane) for index in (*read, *([stmt.index] if isinstance(stmt, Store) else []))]
            picked = sum(step - 1 for step in steps if picks and step is not None and 1 < step <= LARGEST_STEP)
            turned = sum(step not in (0, 1) for step in steps) if not picked else 0
            shuffles = (picked * PICKED + turned * log2(vector)) * SHUFFLE
            operations = self.operations([value], stmt.op if isinstance(stmt, Fold) else None) + shuffles * self.target.op_cycles
            loaded = sum(_times(loops, vector, frozenset(variables(load.index))) * self.load_cycles(load, lane) for load in loads(value))
            total += Work(loads=count * loaded, operations=count * times * operations)
            if isinstance(stmt, Fold):
                total += Work(rest=self.model.cycles_ns(count * sum(self.jumped(load, lane, stmt.variable) for load in loads(value))))
            lines = several if not picked else set(self.bytes)
            total += Work(moved=sum(self.brought(load, loops, (*place.trips, *folds), lines) for load in loads(value)))
            if isinstance(stmt, Store):
                trips = count * prod(loop.variable.extent for loop in loops)
                moved = trips * itemsize(value.dtype) * self.target.byte_ns_of(self.bytes[stmt.buffer])
                total += Work(stores=count * times * self.target.store_cycles, moved=moved)
        return total

    def jumped(self, load: Load, lane: Var, term: Var) -> float:
        """Cycles of going to another line for every term, for what all lanes of a tile share."""
        step = coefficient(load.index, term) if not depends(load.index, lane) else None
        jump = abs(step or 0) * itemsize(load.dtype)
        return next(cycles for apart, cycles in JUMPED if jump % apart == 0) if jump >= LEAST_JUMP else 0.0

    def load_cycles(self, load: Load, lane: Var) -> float:
        """Loading a vector, or one number for all of its lanes."""
        along = depends(load.index, lane)
        return self.target.load_cycles * self.split(load.index, lane, load.dtype) if along else min(ONE_NUMBER, self.target.load_cycles)

    def brought(self, load: Load, loops: list[For], around: tuple[Var, ...], lines: set[str]) -> float:
        """Bringing near what a tile loads; by lines of memory where it loads at several places, or uses little of them."""
        tile = tuple(loop.variable for loop in loops)
        if load.buffer in lines or self.uses_little(load, tile):
            return self.touched.moved_ns(load.buffer, load.index, load.dtype, (*around, *tile))
        used = prod(v.extent for v in (*around, *(v for v in tile if depends(load.index, v))))
        return used * itemsize(load.dtype) * self.target.byte_ns_of(self.bytes[load.buffer])

    def uses_little(self, load: Load, tile: Sequence[Var]) -> bool:
        """Whether what a tile loads side by side is less than half a line of memory."""
        run, form = 1, self.forms(load.index)
        while extent := next((v.extent for v in tile if abs(form.stride(v) or 0) == run and v.extent > 1), 0):
            run *= extent
        return run * itemsize(load.dtype) * 2 < LINE_BYTES

    def lanes(self, body: tuple[Stmt, ...], place: Place, extra: Scalar | None = None) -> float:
        """How many iterations of the innermost loop one instruction does, as a fraction of a full vector."""
        if place.inner is None or any(isinstance(stmt, For | Fold) and not place.unrolls(stmt) for stmt in body):
            return 0.0
        offsets = [offset for stmt in body if not isinstance(stmt, For | Fold) for offset in offsets_of(stmt)]
        offsets += [load.index for load in loads(extra)] if extra is not None else []
        if any(place.step(offset)[0] not in (0, 1) and place.repeated(offset) == place.count for offset in offsets):
            return 0.25
        extent, stepped = place.inner.extent, [offset for offset in offsets if place.is_stepped(offset)]
        if all(place.fills(offset) for offset in stepped):
            return 1.0
        if place.is_written_out:  # and what it reads is gathered
            return 0.25
        if (
            place.computes_functions
            and any(abs(coefficient(offset, place.inner) or 0) > SORTED_STEP for offset in stepped)
            and extent < LONG_ROW
        ):
            return 0.0
        whole = (extent - 1) // LINES  # LLVM does the last iterations one by one
        return extent / LINES / (whole + extent - whole * LINES)

    def together(self, dtype: str, place: Place, lanes: float) -> float:
        """How many iterations one instruction does; those that fill no vector are done in one of half its width, and one by one."""
        full = min(self.model.lanes(dtype), self.target.vector_bytes / place.widest)
        if lanes < 1.0 or place.inner is None:
            return max(1.0, full * lanes)
        extent = place.inner.extent
        if place.masked:
            return min(full, extent)
        whole, rest = divmod(extent, full)
        half = rest // (full / 2)
        return max(1.0, extent / (whole + half + (rest - half * full / 2) * LEFT_OVER))

    def value(self, root: Scalar, place: Place, lanes: float, done: set[Scalar]) -> Work:
        """What is computed for a value, but for what is `done` already, for another one beside it."""
        total = NOTHING
        terms = [term for term in scalars(root) if term not in done]
        done.update(terms)
        calls = [term for term in terms if isinstance(term, Call)]
        fused = {arg for call in calls if call.op in ("add", "subtract") for arg in call.args if _is_product(arg)}
        for term in terms:
            if term in fused:  # one operation with the addition
                continue
            if isinstance(term, Call):
                total += sum((self.work(op, term.dtype, place, lanes) for op in self.made_of(term, place)), NOTHING)
            elif isinstance(term, Pick):
                total += self.gather(term, place, lanes)
            elif isinstance(term, Position):
                total += self.index(term.index, place, lanes)
            elif isinstance(term, Load):
                total += self.access(term.buffer, term.index, term.dtype, place, lanes)
        return total

    def gather(self, term: Pick, place: Place, lanes: float) -> Work:
        """Elements from computed places; along a row, a place for each row and vectors of it."""
        byte_ns, inner = self.target.byte_ns_of(self.bytes[term.buffer]), place.inner
        own = [name for name, loop in self.around.items() if loop is inner]
        index = place_in_row(term, inner, own, {}) if inner is not None else None
        if inner is None or index is None or coefficient(index, inner) != 1:
            return Work(loads=place.count * self.target.gather_cycles * len(term.args), rest=place.count * LINE_BYTES * byte_ns)
        rows = place.count / max(inner.extent, 1) * self.target.gather_cycles * (len(term.args) - 1)
        loaded = place.count * self.target.load_cycles / self.together(term.dtype, place, lanes)
        return Work(loads=rows + loaded, rest=place.count * itemsize(term.dtype) * byte_ns)

    def work(self, op: str, dtype: str, place: Place, lanes: float) -> Work:
        """An elementwise operation; dividing one number takes a part of what a vector takes."""
        together, cycles = self.together(dtype, place, lanes), self.model.op_cycles(op, dtype)
        alone = DIVIDED_ALONE if together == 1.0 and op in ("divide", "sqrt") else 1.0
        return Work(operations=alone * cycles * place.count / together)

    def access(self, buffer: str, offset: Index, dtype: str, place: Place, lanes: float, stores: bool = False) -> Work:
        total = self.index(offset, place, lanes) + Work(moved=self.touched.moved_ns(buffer, offset, dtype, tuple(place.trips), stores))
        step, more = place.step(offset)
        if step == 0:
            return total
        vectors = self.together(dtype, place, lanes)
        if place.inner is not None:
            more *= self.split(offset, place.inner, dtype)
        if not lanes and place.is_stepped(offset) and not place.fills(offset):
            more = 1.0  # one number, in a loop around others, where it is not one of those that several rows are added up with
        elif step == 1 and (place.is_stepped(offset) or is_complex(dtype)):
            apart = abs(coefficient(offset, place.inner) or 1) if place.inner is not None else 1
            apart *= 2 if is_complex(dtype) else 1
            total += Work(operations=place.repeated(offset) * (apart - 1) * SHUFFLE * self.target.op_cycles / vectors)
        if not stores:
            each = self.target.load_cycles * more / vectors if step == 1 else self.target.gather_cycles
            return total + Work(loads=place.repeated(offset) * each)
        together = step == 1 and (not place.is_stepped(offset) or place.fills(offset))
        return total + Work(stores=place.count * (self.target.store_cycles * more / vectors if together else SCATTERED_CYCLES))

    def waits(self, stmt: Store, dtype: str, place: Place) -> float:
        """Cycles of combining with the same places again and again: in memory; or in registers where all loops over them are written out,
        and then only if that cannot be done in another order, as LLVM does with sums."""
        inner, known = place.inner, variables(stmt.index)
        again = place.count / prod(v.extent for v in place.unrolled if v in known)
        if inner is not None and inner in known:
            return again / inner.extent * (MASKED_CYCLES if place.masked else FORWARDED_CYCLES)
        return again * LATENCY_CYCLES if is_float(dtype) and stmt.combine in ("max", "min") else 0.0

    def split(self, offset: Index, inner: Var, dtype: str) -> float:
        """What a vector access costs more that does not begin where vectors begin: it crosses the end of a line of the cache."""
        form, lanes = self.forms(offset), int(self.model.lanes(dtype))
        if all(first % lanes == 0 for first in (form.constant, *(k for atom, k in form.terms.items() if atom is not inner))):
            return 1.0
        return 1.0 + SPLIT * min(self.target.vector_bytes, inner.extent * itemsize(dtype)) / LINE_BYTES

    def index(self, term: Index, place: Place, lanes: float = 0.0) -> Work:
        """Index operations, each counted at the deepest loop that it depends on; affine ones are address arithmetic."""
        cycles = 0.0
        for sub in walk(term):
            if isinstance(sub, Apply) and sub.op not in ("add", "sub", "neg", "mul"):
                deepest = max((place.trips.get(v, place.count) for v in variables(sub) if not is_size(v)), default=1)
                cycles += self.model.costs.index.term_cycles(sub) * deepest
        return Work(operations=cycles / self.together("int32", place, lanes))


def _bound_in(body: tuple[Stmt, ...], loop: Var | None) -> Iterator[tuple[str, Var | None]]:
    """The names of elements, each with the innermost loop around the statement that computes it."""
    for stmt in body:
        if isinstance(stmt, Let | Fold):
            yield stmt.name, loop
        if isinstance(stmt, For | Fold):
            yield from _bound_in(stmt.body, stmt.variable)


def _loads_a_part(call: Call) -> bool:
    return call.op in ("real", "imag") and isinstance(call.args[0], Load)


def _is_product(value: Scalar) -> bool:
    """Whether adding it is one operation with computing it."""
    return isinstance(value, Call) and value.op == "multiply"


def _folded(body: tuple[Stmt, ...], folds: tuple[Var, ...] = ()) -> Iterator[tuple[Stmt, tuple[Var, ...]]]:
    """Statements of a tile, and the folds around what each computes."""
    for stmt in body:
        inside = (*folds, stmt.variable) if isinstance(stmt, Fold) else folds
        yield stmt, inside
        if isinstance(stmt, Fold):
            yield from _folded(stmt.body, inside)


def _loaded_often(body: tuple[Stmt, ...]) -> set[str]:
    """Buffers that a tile without folds loads at several places."""
    if any(isinstance(stmt, Fold) for stmt in body):
        return set()
    values = values_of(body)
    found = Counter(load.buffer for load in dict.fromkeys(load for value in values for load in loads(value)))
    return {buffer for buffer, count in found.items() if count > 1}


def _times(loops: list[For], vector: int, only: frozenset[Var] | None = None) -> int:
    """Iterations of a tile, those of the innermost loop in vectors; where not all of its loops matter, of those that do."""
    *rows, lane = [loop.variable.extent if only is None or loop.variable in only else 1 for loop in loops]
    pieces = sum(1 for _ in pieces_of(loops[-1].variable, vector, again=True)) if lane > 1 else 1
    return prod(rows) * pieces
