"""What loops that are written as vectors cost: rows that serial loops add up in registers, and tiles; and what those share with others,
operations, index terms and accesses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import log2, prod

from eqsat.codegen.elements.known_divisors import FORMATS, divides_by, repeated
from eqsat.codegen.folds.kept_rows import KeptRow
from eqsat.codegen.math.power import factors_of
from eqsat.codegen.tiles.parts import pieces_of
from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import is_float, itemsize
from eqsat.ir.index import Apply, Index, Var, depends, variables, walk
from eqsat.ir.loops import Fold, For, Kernel, Let, Load, Stmt, Store, loads, nested_loops, value_of, values_of
from eqsat.ir.ops import REDUCE_OPS
from eqsat.ir.shuffle import Shuffle, shuffle_in
from eqsat.ir.tensor import Call, Literal, Scalar, is_size, scalars
from eqsat.ir.vectorizable import LARGEST_STEP
from eqsat.lowering.affine import Forms
from eqsat.lowering.products.across import LEAST_JUMP
from eqsat.pricing.cost_model import CostModel
from eqsat.pricing.cycles import priced_as
from eqsat.pricing.locality import LINE_BYTES
from eqsat.pricing.nest_places import Place
from eqsat.pricing.nest_work import Work
from eqsat.pricing.touched import Touched

# what a tile, or a row kept in registers, takes each time it begins
LOOP_CYCLES = 2.0
# what an access costs more that crosses the end of a line, as those of vectors as long as a line do
SPLIT = 0.2
# what a vector takes more by which a product is added to a kept row, if it is as long as a line of the cache: arrays seldom begin with one
ACROSS_LINES = 1.0
# bytes of shorter vectors, for which there are instructions without masks, and what an operation on the shortest takes, by one on a whole
SHORT_VECTORS, NARROW = (16, 32), 0.4
# a load of one number for all of a vector
ONE_NUMBER = 0.5
# what rows of a tile take that lie side by side, for every term, when terms are LEAST_JUMP bytes apart at least, and a multiple of these:
# they share sets of the first cache
JUMPED = ((4096, 30.0), (2048, 9.0), (1, 4.0))
# a shuffle of two vectors, by a simple operation; LLVM puts a vector of interleaved elements together step by step
SHUFFLE = 2.0
# operations of a product of a known power, of float64 in pairs and of float32 in float64
PAIRED, WIDENED = 5, 3
# a vector from which another one is put together, where all are in registers
JOINED = 1.3
# shuffles, and loads, for each further vector that a tile picks something out of
PICKED = 1.5


class VectorCosts:
    """Prices of a kernel on a target; `around`: the loop around what each name stands for."""

    def __init__(self, kernel: Kernel, model: CostModel) -> None:
        self.model, self.target = model, model.target
        self.bytes = kernel.bytes
        self.forms = Forms()
        self.touched = Touched(kernel, self.target, self.forms)
        self.around = dict(_bound_in(kernel.body, None))

    def kept(self, row: KeptRow, place: Place) -> Work:
        """A row that serial loops add up in registers: whole vectors, each waiting for itself at the most."""
        inside = place
        for variable in row.loops:
            inside = inside.deeper(variable)
        along = inside.deeper(row.lane)
        vectors = len(list(pieces_of(row.lane, self.target.vector_bytes // row.widest, again=True)))
        values = [stmt.value for stmt in (*row.before, row.store) if isinstance(stmt, Let | Store)]
        whole = row.lane.extent * row.widest // self.target.vector_bytes
        across = whole * ACROSS_LINES if is_product(row.store.value) else 0.0
        operations = max(self.operations(values, row.store.combine) * vectors, vectors + across)
        total = Work(operations=operations * inside.count, rest=self.model.cycles_ns(LOOP_CYCLES * place.count))
        for load in dict.fromkeys(load for value in values for load in loads(value)):
            each = self.load_cycles(load, row.lane) * (vectors if depends(load.index, row.lane) else 1)
            moved = self.touched.moved_ns(load.buffer, load.index, load.dtype, tuple(along.trips))
            total += Work(operations=self.index_cycles(load.index, along), loads=inside.count * each, moved=moved)
        once = place.count * vectors
        moved = self.touched.moved_ns(row.store.buffer, row.store.index, row.dtype, tuple(along.trips))
        return total + Work(loads=once * self.target.load_cycles, stores=once * self.target.store_cycles, moved=moved)

    def tile(self, outer: For, place: Place) -> Work:
        """A tile: whole vectors, each loaded once for all that it serves; what is read across memory is turned in registers."""
        shuffle = shuffle_in(outer, self.target.vector_bytes)
        if shuffle is not None:
            return self.shuffled(shuffle, place)
        loops = nested_loops(outer)
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
            size = lane.extent * itemsize(value.dtype)
            part = max(NARROW, size / self.target.vector_bytes) if size in SHORT_VECTORS else 1.0
            total += Work(loads=count * loaded, operations=count * times * operations * part)
            if isinstance(stmt, Fold):
                total += Work(rest=self.model.cycles_ns(count * sum(self.jumped(load, lane, stmt.variable) for load in loads(value))))
            lines = several if not picked else set(self.bytes)
            total += Work(moved=sum(self.brought(load, loops, (*place.trips, *folds), lines) for load in loads(value)))
            if isinstance(stmt, Store):
                trips = count * prod(loop.variable.extent for loop in loops)
                size = self.bytes[stmt.buffer]
                moved = min(trips * itemsize(value.dtype), size) * self.target.byte_ns_of(size)
                total += Work(stores=count * times * self.target.store_cycles, moved=moved)
        return total

    def shuffled(self, shuffle: Shuffle, place: Place) -> Work:
        """A block of elements that change places: whole vectors, each put together from those that hold its elements."""
        inside, value = place, shuffle.store.value
        for loop in shuffle.loops:
            inside = inside.deeper(loop)
        results = len(shuffle.results)
        joined = sum(max(results, shuffle.joined(load)) for load in shuffle.found) * JOINED * self.target.op_cycles
        loaded = sum(map(len, shuffle.sources.values())) * self.target.load_cycles * (1.0 + SPLIT)
        stored = results * self.target.store_cycles * (1.0 + SPLIT)
        operations = self.operations([value], None) * results + joined
        total = Work(operations=place.count * operations, loads=place.count * loaded, stores=place.count * stored)
        total += Work(rest=self.model.cycles_ns(LOOP_CYCLES * place.count))
        for load in loads(value):
            total += Work(moved=self.touched.moved_ns(load.buffer, load.index, load.dtype, tuple(inside.trips)))
        store = shuffle.store
        return total + Work(moved=self.touched.moved_ns(store.buffer, store.index, value.dtype, tuple(inside.trips), True))

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
        inside, again, size = prod(v.extent for v in tile if depends(load.index, v)) * itemsize(load.dtype), 1, self.bytes[load.buffer]
        for v in reversed(around):
            if depends(load.index, v):
                inside *= v.extent
            elif inside > self.target.cache_bytes[0] / 2:
                again *= v.extent
        return again * min(inside, size) * self.target.byte_ns_of(size)

    def uses_little(self, load: Load, tile: Sequence[Var]) -> bool:
        """Whether what a tile loads side by side is less than half a line of memory."""
        run, form = 1, self.forms(load.index)
        while extent := next((v.extent for v in tile if abs(form.stride(v) or 0) == run and v.extent > 1), 0):
            run *= extent
        return run * itemsize(load.dtype) * 2 < LINE_BYTES

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
        """The operations that an elementwise one is: a division by a known number is others, by what the loop does not change three, a
        whole power some products, where the caller has no price for it."""
        if call.op == "absolute":
            return (priced_as(call.op, call.args[0].dtype),)
        if call.op in self.model.costs.element_cycles and call.op in ("divide", "power"):
            return (call.op,)
        if call.op == "power" and is_float(call.dtype) and isinstance(call.args[1], Literal):
            known = call.args[1].value
            products = factors_of(known) if isinstance(known, float) else None
            return (call.op,) if products is None else ("multiply",) * (products * (PAIRED if itemsize(call.dtype) == 8 else WIDENED))
        if place is not None and self.divides_again(call, place):
            return ("multiply", "multiply", "add")
        divisor = call.args[-1].value if call.op == "divide" and isinstance(call.args[-1], Literal) else None
        return divides_by(divisor, call.dtype) if isinstance(divisor, float) and call.dtype in FORMATS else (call.op,)

    def divides_again(self, call: Call, place: Place) -> bool:
        """Whether it is a division by what was computed before the innermost loop."""
        name = repeated(call, place.inner.extent) if place.inner is not None else None
        return name is not None and self.around.get(name, place.inner) is not place.inner

    def folding(self, op: str, dtype: str) -> float:
        """One step of a fold, of a whole vector."""
        step = REDUCE_OPS[op].step
        return self.target.op_cycles if self.model.costs.is_simple(step) else self.model.op_cycles(step, dtype)

    def index_cycles(self, term: Index, place: Place) -> float:
        """Index operations, each counted at the deepest loop that it depends on; affine ones are address arithmetic."""
        cycles = 0.0
        for sub in walk(term):
            if isinstance(sub, Apply) and sub.op not in ("add", "sub", "neg", "mul"):
                deepest = max((place.trips.get(v, place.count) for v in variables(sub) if not is_size(v)), default=1)
                cycles += self.model.costs.index.term_cycles(sub) * deepest
        return cycles

    def split(self, offset: Index, inner: Var, dtype: str) -> float:
        """What a vector access costs more that does not begin where vectors begin: it crosses the end of a line of the cache."""
        form, lanes = self.forms(offset), int(self.model.lanes(dtype))
        if all(first % lanes == 0 for first in (form.constant, *(k for atom, k in form.terms.items() if atom is not inner))):
            return 1.0
        return 1.0 + SPLIT * min(self.target.vector_bytes, inner.extent * itemsize(dtype)) / LINE_BYTES


def _bound_in(body: tuple[Stmt, ...], loop: Var | None) -> Iterator[tuple[str, Var | None]]:
    """The names of elements, each with the innermost loop around the statement that computes it."""
    for stmt in body:
        if isinstance(stmt, Let | Fold):
            yield stmt.name, loop
        if isinstance(stmt, For | Fold):
            yield from _bound_in(stmt.body, stmt.variable)


def _loads_a_part(call: Call) -> bool:
    return call.op in ("real", "imag") and isinstance(call.args[0], Load)


def is_product(value: Scalar) -> bool:
    """Whether a value is a product, which a fused multiply-add sums for free."""
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
