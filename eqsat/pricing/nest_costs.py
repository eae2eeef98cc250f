"""What a loop nest costs: nanoseconds of a kernel on a target, for choosing among candidate nests.

Statements are counted by the trips of the loops around them, and make units of the processor busy that work at the same time: those that
load, store and compute, and the way from the caches.  The busiest of them says how long a loop takes (`Work`).  A loop that holds no
others is run in vectors if every access in it has stride zero or one, or a small one: accesses that fill that stride together are
interleaved.  Others are gathers.  What is written as vectors is in vector_costs.py, what LLVM makes of loops in nest_places.py, what
accesses bring near in touched.py.
"""

from __future__ import annotations

import functools
from collections.abc import Container, Sequence
from math import log2, prod

from eqsat.codegen import shares
from eqsat.codegen.folds.kept_rows import kept_row
from eqsat.codegen.folds.loops import bodies, in_one_loop, kept_apart
from eqsat.codegen.folds.recurrence import recurrence_of
from eqsat.codegen.folds.rolled import LONGEST_WITH_REST, NEIGHBOURING_LINES, across_rows, rolled_loops
from eqsat.codegen.folds.search import remembered
from eqsat.codegen.math import FUNCTIONS
from eqsat.codegen.shared_loops import units_of
from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import is_complex, is_float, itemsize
from eqsat.ir.index import Index, variables
from eqsat.ir.loops import Bind, Clip, Fold, For, Kernel, Let, Load, Pick, Stmt, Store, Temp, loads, statements, value_of
from eqsat.ir.picked_rows import place_in_row
from eqsat.ir.tensor import Call, Position, Scalar, operands, scalars
from eqsat.pricing.cost_model import CostModel
from eqsat.pricing.cycles import DEFAULT_COSTS, Costs
from eqsat.pricing.element_costs import PLACED_CYCLES
from eqsat.pricing.locality import LINE_BYTES
from eqsat.pricing.nest_places import Place, offsets_of
from eqsat.pricing.nest_spelling import spelled_out
from eqsat.pricing.nest_work import NOTHING, Work
from eqsat.pricing.target import SPLIT_NS, Target
from eqsat.pricing.vector_costs import LOOP_CYCLES, SHUFFLE, VectorCosts, is_product

# a step across a vector, of two halves beside each other, by one of a sum
HALVING_CYCLES = 2.0
# how far ahead of what is not done yet a processor works: over the end of shorter loops
AHEAD_CYCLES = 128.0
# vector registers for sums, where vectors are that wide, and else
SUMS, FEW_SUMS, WIDE_BYTES = 28, 12, 64
# an addition begins when the one before is done
LATENCY_CYCLES = 4.0
# instructions of a step of a fold that is written out, and how many a processor has begun at once: so many folds beside each other wait
STEP_INSTRUCTIONS, IN_FLIGHT = 3, 256
# and one to a place in memory when that has been stored and loaded; under masks, when it is in the cache
FORWARDED_CYCLES, MASKED_CYCLES = 12.0, 45.0
# a vector of a running sum, whose lanes are added up before the last of them waits for the vector before
RUNNING_CYCLES = 8.0
# LLVM fills vectors with the widest elements of a loop; narrower ones take parts of vectors, of which more are done at the same time
NARROWER = 2
# a function of one number, which waits for what a loop before has folded and for itself, by one of a vector
FUNCTION_ALONE = 4.0
# an iteration that is done alone, by one in a vector
LEFT_OVER = 0.5
# a division or root of one number, by one of a vector; any operation on a vector of half the width, and a function, which waits for itself
DIVIDED_ALONE, NARROW_PART, NARROW_FUNCTION = 0.35, 0.5, 0.8
# a gathered element of 8 bytes, by one of 4
WIDE_GATHER = 1.5
# a store of one element of a vector
SCATTERED_CYCLES = 1.5
# an element of one or two bytes that LLVM puts in its place one by one
SORTED_ALONE = 0.45
# a written out loop of so many iterations that steps over elements is one of vectors again
SORTED_AT_ONCE = 8
# loops of functions that step over more are vectors from so many iterations on
SORTED_STEP, LONG_ROW = 4, 128
# starting the iterations one by one behind whole vectors, in such iterations, and one that moves what else vectors hold all of
REST_STARTS, MOVED_ALONE = 4.0, 0.5


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
    """The share of a kernel's work that the busiest thread does; 1.0 where threads cannot share it."""
    found = shares(kernel)
    units = units_of(found) if found else None
    if units is None or not units.extent:
        return 1.0
    if found[0].is_divided:
        pieces = units.pieces(threads)
        return -(-pieces // threads) / pieces
    piece = max(share.units for share in found)
    return min(1.0, (-(-units.extent // threads) + piece - 1) / units.extent)


class _Pricer(VectorCosts):
    def __init__(self, kernel: Kernel, model: CostModel) -> None:
        super().__init__(kernel, model)
        self.rolled = rolled_loops(kernel)
        self.apart = kept_apart(kernel, self.rolled, remembered(kernel))
        self.kernel = kernel
        self.registers = SUMS if self.target.vector_bytes >= WIDE_BYTES else FEW_SUMS

    @functools.cached_property
    def running(self) -> frozenset[str]:
        """Names of the greatest or least values so far: as places, near those of the step before."""
        own = {buffer.name for buffer in self.kernel.scratch}
        lets = [stmt for stmt in statements(self.kernel.body) if isinstance(stmt, Let)] if own else []
        return frozenset(let.name for let in lets if _is_running(let.value, own))

    def total_ns(self, kernel: Kernel) -> float:
        """All of it, on one thread."""
        written_out = dict.fromkeys(across_rows(kernel), True)
        return self.block(kernel.body, Place({}, self.forms, rolled=self.rolled, short=written_out)).ns(self.target.ghz)

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
        if isinstance(stmt, Clip):
            total += Work(waits=PLACED_CYCLES * place.count)
        if isinstance(stmt, Store):
            total += self.access(stmt.buffer, stmt.index, value.dtype, place, lanes, stores=True)
            total += Work(operations=SORTED_ALONE * place.count * place.is_sorted_alone(stmt))
            if stmt.combine:
                total += self.access(stmt.buffer, stmt.index, value.dtype, place, lanes)
                step = self.folding(stmt.combine, value.dtype) if not is_product(value) or stmt.combine != "sum" else 0.0
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
            if stmt.op != "sum" or not is_product(stmt.value):
                total += self.step(stmt, inside, lanes, written_out=place.unrolls(stmt))
            wait = LATENCY_CYCLES * stmt.variable.extent * STEP_INSTRUCTIONS / IN_FLIGHT
            if place.unrolls(stmt) and is_float(stmt.dtype) and wait > 1.0:
                total += Work(waits=wait * inside.count / self.together(stmt.dtype, inside, lanes))
        if place.unrolls(stmt):
            return total
        return self.started(stmt, place, inside, total)

    def folds(self, group: Sequence[Fold], place: Place) -> Work:
        """Folds of one range in one loop: what several of them read is read once."""
        one, inside, done = group[0], place.inside(group[0]), set[Scalar]()
        total = NOTHING
        for stmt, *others in in_one_loop(bodies(group), self.apart):
            total += self.statement(stmt, *others, place=inside, lanes=self.lanes(one.body, inside, one.value), done=done)
        for fold in group:
            lanes = self.lanes(fold.body, inside, fold.value)
            total += self.value(fold.value, inside, lanes, done)
            if fold.op != "sum" or not is_product(fold.value):
                total += self.step(fold, inside, lanes)
        return self.started(one, place, inside, total)

    def started(self, stmt: For | Fold, place: Place, inside: Place, total: Work) -> Work:
        """A loop with what starting it costs; folds in vectors end with steps across the last one, which keep units busy that compute."""
        start = LOOP_CYCLES * place.count
        if any(isinstance(below, For | Fold) and not inside.unrolls(below) for below in stmt.body):
            start = 0.0  # that of the loops in it
        elif isinstance(stmt, Fold):
            across = min(self.model.lanes(stmt.dtype), stmt.variable.extent)
            each = 1.0 if stmt.op == "sum" else HALVING_CYCLES
            total += Work(operations=place.count * each * (1.0 + log2(max(across, 1.0))))
            start = 0.0 if stmt in place.rolled else start
        total += Work(rest=self.model.cycles_ns(start))
        ns = total.ns(self.target.ghz)
        return total if ns <= self.model.cycles_ns(AHEAD_CYCLES) * place.count else Work(rest=ns)

    def lanes(self, body: tuple[Stmt, ...], place: Place, extra: Scalar | None = None) -> float:
        """How many iterations of the innermost loop one instruction does, as a fraction of a full vector."""
        if place.inner is None or any(
            isinstance(stmt, Clip) or (isinstance(stmt, For | Fold) and not place.unrolls(stmt)) for stmt in body
        ):
            return 0.0
        offsets = [offset for stmt in body if not isinstance(stmt, For | Fold) for offset in offsets_of(stmt)]
        offsets += [load.index for load in loads(extra)] if extra is not None else []
        if any(place.step(offset)[0] not in (0, 1) and place.repeated(offset) == place.count for offset in offsets):
            return 0.25
        extent, stepped = place.inner.extent, [offset for offset in offsets if place.is_stepped(offset)]
        if stepped and extent > SORTED_AT_ONCE and place.is_written_out_soon:
            return 0.25
        whole, rest = divmod(extent, NEIGHBOURING_LINES)
        if all(place.fills(offset) for offset in stepped):
            alone = REST_STARTS + rest * MOVED_ALONE if stepped and whole and rest and place.only_moves else 0.0
            return min(1.0, extent / NEIGHBOURING_LINES / (whole + alone)) if alone else 1.0
        if place.is_written_out:  # and what it reads is gathered
            return 0.25
        if (
            place.computes_functions
            and any(abs(coefficient(offset, place.inner) or 0) > SORTED_STEP for offset in stepped)
            and extent < LONG_ROW
        ):
            return 0.0
        whole = (extent - 1) // NEIGHBOURING_LINES  # LLVM does the last iterations one by one
        rest = extent - whole * NEIGHBOURING_LINES
        return extent / NEIGHBOURING_LINES / (whole + rest + (REST_STARTS if whole else 0.0))

    def together(self, dtype: str, place: Place, lanes: float) -> float:
        """How many iterations one instruction does; those that fill no vector are done in one of half its width, and one by one, where
        there are no masks and no functions."""
        full = min(self.model.lanes(dtype), NARROWER * self.target.vector_bytes / place.widest)
        if lanes < 1.0 or place.inner is None:
            return max(1.0, full * lanes)
        extent = place.inner.extent
        whole, rest = divmod(extent, full)
        goes_back = place.computes_functions and isinstance(place.loop, For) and full < extent <= LONGEST_WITH_REST
        if place.masked or goes_back:
            return extent / (whole + (rest > 0))  # the last vector in part, or back to where the loop ends
        half = rest // (full / 2)
        return max(1.0, extent / (whole + half + (rest - half * full / 2) * LEFT_OVER))

    def value(self, root: Scalar, place: Place, lanes: float, done: set[Scalar]) -> Work:
        """What is computed for a value, but for what is `done` already, for another one beside it."""
        total = NOTHING
        terms = [term for term in scalars(root) if term not in done]
        done.update(terms)
        calls = [term for term in terms if isinstance(term, Call)]
        fused = {arg for call in calls if call.op in ("add", "subtract") for arg in call.args if is_product(arg)}
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
            if (
                self.together(term.dtype, place, lanes) > 1
                and (cycles := self.target.choosing_cycles(term.dtype, term.shape)) < self.target.gather_cycles
            ):
                return Work(loads=place.count * cycles * len(term.args), rest=self.bytes[term.buffer] * byte_ns)
            is_near = any(isinstance(arg, Temp) and arg.name in self.running for arg in term.args)
            each = itemsize(term.dtype) if is_near else LINE_BYTES
            return Work(loads=place.count * self.target.gather_cycles * len(term.args), rest=place.count * each * byte_ns)
        rows = place.count / max(inner.extent, 1) * self.target.gather_cycles * (len(term.args) - 1)
        loaded = place.count * self.target.load_cycles / self.together(term.dtype, place, lanes)
        return Work(loads=rows + loaded, rest=place.count * itemsize(term.dtype) * byte_ns)

    def work(self, op: str, dtype: str, place: Place, lanes: float) -> Work:
        """An elementwise operation; dividing one number takes a part of what a vector takes."""
        together, cycles = self.together(dtype, place, lanes), self.model.op_cycles(op, dtype)
        part = DIVIDED_ALONE if together == 1.0 and op in ("divide", "sqrt") else 1.0
        if lanes == 0.0 and op in FUNCTIONS:
            part = FUNCTION_ALONE
        if place.masked and place.inner is not None and 2 * place.inner.extent <= self.model.lanes(dtype):
            part = NARROW_FUNCTION if op in FUNCTIONS else NARROW_PART
        return Work(operations=part * cycles * place.count / together)

    def step(self, fold: Fold, place: Place, lanes: float, written_out: bool = False) -> Work:
        """A step of a fold in each iteration; in a loop of its own, extrema look for NaN once."""
        cycles = self.folding(fold.op, fold.dtype) if written_out else self.model.op_cycles("add", fold.dtype)
        return Work(operations=cycles * place.count / self.together(fold.dtype, place, lanes))

    def access(self, buffer: str, offset: Index, dtype: str, place: Place, lanes: float, stores: bool = False) -> Work:
        total = self.index(offset, place, lanes) + Work(moved=self.touched.moved_ns(buffer, offset, dtype, tuple(place.trips), stores))
        step, more = place.step(offset)
        if step == 0:
            starts = place.count / place.inner.extent if place.inner is not None else 0.0  # it is loaded once for all iterations
            return total if stores else total + Work(loads=starts * self.target.load_cycles)
        vectors = self.together(dtype, place, lanes)
        if place.inner is not None:
            more *= self.split(offset, place.inner, dtype)
        # one number, in a loop around others, where it is no place, and not one of those that several rows are added up with
        adds = isinstance(place.loop, For) and place.loop.kind == "serial"
        if not lanes and place.is_stepped(offset) and not (place.fills(offset) and (adds or not is_float(dtype))):
            more = 1.0
        elif step == 1 and (place.is_stepped(offset) or is_complex(dtype)):
            apart = abs(coefficient(offset, place.inner) or 1) if place.inner is not None else 1
            apart *= 2 if is_complex(dtype) else 1
            total += Work(operations=place.repeated(offset) * (apart - 1) * SHUFFLE * self.target.op_cycles / vectors)
        if not stores:
            wide = WIDE_GATHER if itemsize(dtype) == 8 else 1.0
            each = self.target.load_cycles * more / vectors if step == 1 else self.target.gather_cycles * wide
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

    def index(self, term: Index, place: Place, lanes: float = 0.0) -> Work:
        """Index operations; see `index_cycles`."""
        return Work(operations=self.index_cycles(term, place) / self.together("int32", place, lanes))


def _is_running(value: Scalar, own: Container[str]) -> bool:
    """Whether a value is the greatest or least of what is kept in memory of the kernel's own and of another value."""
    is_extremum = isinstance(value, Call) and value.op in ("maximum", "minimum")
    return is_extremum and any(isinstance(arg, Load) and arg.buffer in own for arg in operands(value))
