"""Where the statements of a loop nest stand, and what LLVM makes of the loops there: which ones it writes out, which one runs in vectors,
and how the accesses in it lie in memory."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod

from eqsat.codegen.folds.rolled import NEIGHBOURING_LINES
from eqsat.codegen.math import FUNCTIONS, instructions_of
from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import is_float, itemsize
from eqsat.ir.index import Const, Index, Var, depends, substitute
from eqsat.ir.loops import Fold, For, Load, Pick, Stmt, Store, loads, statements, value_of, values_of
from eqsat.ir.tensor import Call, Position, Scalar, scalars
from eqsat.lowering.affine import Forms
from eqsat.pricing.cost_model import INTERLEAVED

Terms = frozenset[tuple[Index, int]]
# LLVM writes out loops of so few instructions before it makes vectors of those around; in each iteration some are for counting.  Longer
# loops of stores are vectors of their own, those that go along memory first
UNROLLED_PLACES = 400
UNROLLED_INSTRUCTIONS, COUNTING, UNROLLED_LOOP, MOST_STEPS_OVER = 300, 3, 4, 16
# operations that are several instructions: those that look for NaN among them
INSTRUCTIONS = {"absolute": 2, "maximum": 4, "minimum": 4, "sign": 6}
# LLVM makes one vector of loops of less iterations, in part
MASKED = 16
# a vector that is loaded or stored in the other direction, by one that is not
REVERSED = 2.0
# elements of less bytes in stores that step over so many are put in their places one by one (see Place.is_sorted_alone)
SMALL_BYTES, SMALL_STEP = 4, 3
# elements that a fold loads which stay in registers where the loop around does not change them
HELD = 128


@dataclass(frozen=True)
class Place:
    """Where statements stand: the loops around them with the trips down to each, and the innermost of them that is not unrolled.

    masked  a short loop that is one vector, in part
    around  the loop around the innermost one, which may be a fold that is written out in vectors
    loop    the innermost one as a statement
    rolled  short loops of the kernel that are not unrolled
    short   whether loops are, of those that were asked about
    """

    trips: dict[Var, int]
    forms: Forms
    count: int = 1
    inner: Var | None = None
    masked: bool = False
    around: Var | None = None
    unrolled: tuple[Var, ...] = ()
    loop: For | Fold | None = None
    rolled: frozenset[For | Fold] = frozenset()
    short: dict[For | Fold, bool] = field(default_factory=dict)

    @functools.cached_property
    def beside(self) -> Mapping[Terms, frozenset[int]]:
        """Constants by which accesses in the innermost loop differ from others."""
        return _beside(self.loop, self.forms) if self.loop is not None else {}

    @functools.cached_property
    def widest(self) -> int:
        """Bytes of the largest elements that the innermost loop loads, stores or folds, of which its vectors are full."""
        return max((itemsize(dtype) for dtype in _moved(self.loop)), default=1) if self.loop is not None else 1

    @functools.cached_property
    def computes_functions(self) -> bool:
        """Whether the innermost loop does, which are many instructions."""
        values = values_of((self.loop, *self.loop.body)) if self.loop is not None else []
        return any(isinstance(term, Call) and term.op in FUNCTIONS for term in scalars(*values))

    @functools.cached_property
    def only_moves(self) -> bool:
        """Whether the innermost loop computes nothing."""
        return self.loop is not None and not any(isinstance(term, Call) for term in scalars(*values_of((self.loop, *self.loop.body))))

    @functools.cached_property
    def is_written_out(self) -> bool:
        """Whether the innermost loop is so short that LLVM writes it out."""
        return self.loop is not None and is_short(self.loop)

    @functools.cached_property
    def is_written_out_soon(self) -> bool:
        """Whether the innermost loop is so short that LLVM writes it out where places are known numbers then."""
        return isinstance(self.loop, For) and is_short(self.loop, UNROLLED_PLACES)

    def inside(self, stmt: For | Fold) -> Place:
        place = self.deeper(stmt.variable)
        if self.unrolls(stmt):
            return replace(place, unrolled=(*self.unrolled, stmt.variable))
        masked = stmt in self.rolled and stmt.variable.extent < MASKED
        around = self.inner if (masked or isinstance(stmt, Fold)) and not self.unrolled else None
        return Place(place.trips, self.forms, place.count, stmt.variable, masked, around, (), stmt, self.rolled, self.short)

    def deeper(self, variable: Var) -> Place:
        """Inside of one more loop."""
        count = self.count * max(variable.extent, 1)
        return replace(self, trips={**self.trips, variable: count}, count=count)

    def unrolls(self, stmt: Stmt) -> bool:
        """Whether a statement is a loop that is unrolled here."""
        if self.inner is None or not isinstance(stmt, For | Fold) or stmt in self.rolled:
            return False
        if stmt not in self.short:
            self.short[stmt] = is_short(stmt) and (not _gathers(stmt) if isinstance(stmt, Fold) else _is_written_out(stmt))
        return self.short[stmt]

    def step(self, offset: Index) -> tuple[int | None, float]:
        """Stride of an access in the loop that runs in vectors, small ones as one, and what one access costs more."""
        if self.inner is None:
            return 0, 1.0
        step = coefficient(offset, self.inner)
        if step == -1 and self.inner.extent >= NEIGHBOURING_LINES:
            return 1, REVERSED
        if step is None or not 1 < abs(step) <= INTERLEAVED or self.inner.extent < NEIGHBOURING_LINES:
            return step, 1.0
        return 1, max(1.0, abs(step) / len(self.reached(offset)))

    def reached(self, offset: Index) -> frozenset[int]:
        """Where the accesses of one iteration are that lie in the same vectors as this one, those of unrolled loops among them."""
        own, apart = self.forms(offset).constant, abs(coefficient(offset, self.inner) or 1) if self.inner is not None else 1
        return frozenset(place for place in self.accessed(offset) if abs(place - own) < apart)

    def accessed(self, offset: Index) -> frozenset[int]:
        """Where the accesses of one iteration are that differ from this one by constants, those of unrolled loops among them."""
        form = self.forms(offset)
        found = self.beside.get(frozenset(form.terms.items()), frozenset()) | {form.constant}
        for variable in self.unrolled:
            steps = self.steps(offset, variable) if depends(offset, variable) else (0,)
            found = frozenset(first + step for first in found for step in steps)
        return found

    def steps(self, offset: Index, variable: Var) -> tuple[int, ...]:
        """How far an access goes in each iteration of a short loop."""
        step = coefficient(offset, variable)
        if step is not None:
            return tuple(step * k for k in range(variable.extent))
        values = range(variable.lo, variable.hi + 1)
        places = [self.forms(substitute(offset, {variable: Const(k)})).constant for k in values]
        return tuple(place - places[0] for place in places)

    def fills(self, offset: Index) -> bool:
        """Whether accesses that step over elements touch all of them, from one iteration to the next: whole vectors, which are sorted."""
        step = coefficient(offset, self.inner) if self.inner is not None else None
        if step is None:
            return False
        row, accessed = {self.forms(offset).constant}, self.accessed(offset)
        while more := {place + way for place in row for way in (-1, 1)} & accessed - row:
            row |= more
        return step != 0 and len(row) % step == 0

    def is_stepped(self, offset: Index) -> bool:
        """Whether an access steps over elements in the loop that runs in vectors."""
        step = coefficient(offset, self.inner) if self.inner is not None else 0
        return step is not None and 1 < abs(step) <= INTERLEAVED

    def is_sorted_alone(self, stmt: Store) -> bool:
        """Whether LLVM writes this store element by element: its element is small, it steps over memory, and what it reads is neither
        contiguous, constant nor of the same step, so that no shuffle serves."""
        step = coefficient(stmt.index, self.inner) if self.inner is not None else None
        if step is None or not SMALL_STEP <= abs(step) <= INTERLEAVED or itemsize(stmt.value.dtype) >= SMALL_BYTES:
            return False
        read = [term.index for term in scalars(stmt.value) if isinstance(term, Load | Position) and term.dtype != "bool"]
        over = [variable for variable in self.unrolled if depends(stmt.index, variable)]
        same = bool(over) and not any(depends(offset, variable) for offset in read for variable in over)
        return same or any(coefficient(offset, self.inner) not in (0, 1, step) for offset in read)

    def repeated(self, offset: Index) -> int:
        """How often something is loaded: what a short fold loads in every iteration of the loop around it stays in registers."""
        if self.around is None or depends(offset, self.around) or not self.holds:
            return self.count
        return self.count // self.around.extent

    @functools.cached_property
    def holds(self) -> bool:
        """Whether registers hold what the innermost loop loads that the loop around does not change."""
        stays = [len(places) for terms, places in self.beside.items() if all(term is not self.around for term, _ in terms)]
        return self.inner is not None and self.inner.extent * max(1, sum(stays)) * prod(v.extent for v in self.unrolled) <= HELD


def is_short(stmt: For | Fold, instructions: int = UNROLLED_INSTRUCTIONS) -> bool:
    """Whether a loop, with those in it, has no more than so many instructions written out, so that LLVM unrolls it."""
    extent, below = stmt.variable.extent, [inner for inner in stmt.body if isinstance(inner, For | Fold)]
    size = extent * (COUNTING + isinstance(stmt, For) + sum(_instructions(inner, stmt.variable) for inner in (stmt, *stmt.body)))
    return extent > 1 and size <= instructions and all(is_short(inner, instructions // extent) for inner in below)


def _moved(loop: For | Fold) -> Iterator[str]:
    """The dtypes of what a loop and those in it load, store and fold."""
    for stmt in statements((loop,)):
        value = value_of(stmt)
        if isinstance(stmt, Store | Fold):
            yield stmt.dtype if isinstance(stmt, Fold) else stmt.value.dtype
        yield from (load.dtype for load in loads(value)) if value is not None else ()


def _is_written_out(loop: For) -> bool:
    """Whether a loop that is short enough is written out, and not a loop of vectors; around functions in loops LLVM makes none."""
    if any(isinstance(stmt, For | Fold) for stmt in loop.body) and _holds_functions(loop):
        return False
    return loop.variable.extent <= UNROLLED_LOOP or (loop.variable.extent <= MOST_STEPS_OVER and not _goes_along(loop))


def _gathers(fold: Fold) -> bool:
    """Whether a fold goes along what is at computed places, of which LLVM makes vectors before it writes loops out."""
    return any(isinstance(term, Pick) for term in scalars(*values_of(statements((fold,)))))


def _holds_functions(loop: For) -> bool:
    return any(isinstance(term, Call) and term.op in FUNCTIONS for term in scalars(*values_of(statements((loop,)))))


def _goes_along(loop: For) -> bool:
    """Whether all accesses of a loop go along memory, so that vectors of its own serve it."""
    steps = [coefficient(offset, loop.variable) for stmt in loop.body for offset in offsets_of(stmt)]
    return 1 in steps and all(step in (0, 1) for step in steps)


def _instructions(stmt: Stmt, inner: Var) -> int:
    """Of a statement in one iteration of a loop; an access that does not go along memory computes its address."""
    if isinstance(stmt, For) or (value := value_of(stmt)) is None:
        return 0
    calls = sum(_length(term) for term in scalars(value))
    accesses = sum(1 if coefficient(offset, inner) in (0, 1) else 2 for offset in offsets_of(stmt))
    return calls + accesses + (_of_fold(stmt) if isinstance(stmt, Fold) else 0)


def _of_fold(fold: Fold) -> int:
    """Extrema of floats look for NaN."""
    return 2 if fold.op in ("max", "min") and is_float(fold.dtype) else 1


def _length(term: Scalar) -> int:
    if isinstance(term, Call) and term.op in FUNCTIONS:
        return instructions_of(term.op, "double" if term.dtype in ("float64", "complex128") else "float")
    return INSTRUCTIONS.get(term.op, 1) if isinstance(term, Call) else isinstance(term, Pick | Position)


def _beside(stmt: For | Fold, forms: Forms) -> dict[Terms, frozenset[int]]:
    found: dict[Terms, frozenset[int]] = {}
    for inner in (stmt, *statements(stmt.body)):
        for offset in offsets_of(inner):
            form = forms(offset)
            terms = frozenset(form.terms.items())
            found[terms] = found.get(terms, frozenset()) | {form.constant}
    return found


def offsets_of(stmt: Stmt) -> list[Index]:
    """Where a statement reads and writes."""
    return [offset for _, offset in accesses_of(stmt)]


def accesses_of(stmt: Stmt) -> list[tuple[str, Index]]:
    """What a statement reads and writes: buffers, and where in them."""
    value = value_of(stmt)
    read = [(load.buffer, load.index) for load in loads(value)] if value is not None else []
    return [*read, (stmt.buffer, stmt.index)] if isinstance(stmt, Store) else read
