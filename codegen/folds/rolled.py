"""Short loops that stay loops, so that LLVM makes vectors of them.

It writes a short innermost loop out, then joins iterations of the loop around it into vectors.  That is right where these are
neighbours in memory, and few enough elements that it may load all of them and sort them in registers.  Else it gathers them one by one,
which takes 2 to 7 times as long as the short loop in vectors of its own (x[i, j] * w[j] over rows of 10 to 32 numbers, sums of such rows,
blocks that move).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from eqsat.codegen.math import FUNCTIONS
from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import is_float, itemsize
from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.loops import Fold, For, Kernel, Let, Load, Pick, Stmt, Store, Temp, bound_in, loaded, value_of, values_of
from eqsat.ir.picked_rows import place_in_row
from eqsat.ir.tensor import Call, Literal, Scalar, scalars

Loop = For | Fold
# iterations: shorter loops fill no vector; up to so many, or else if that makes no more instructions than these, LLVM writes them out
SHORTEST, SHORT, LONGEST_FOLD = 3, 32, 76
WRITTEN_OUT, LEAST_INSTRUCTIONS = 300, 6
# iterations that are written one after the other, of functions of elements in as many rows, and operations that are choices, besides
# comparisons
WRITTEN_HERE = 4
ACROSS = 16
CHOOSING = frozenset(("where", "maximum", "minimum", "fmax", "fmin", "floor_divide", "remainder", "fmod", "sign"))
# where so many lines of the loop around are neighbours in memory, LLVM sorts so few elements of each in registers
NEIGHBOURING_LINES, SORTED, SORTED_FOLD, SORTED_BYTES = 16, 4, 8, 64
# loops over elements of two bytes or one; their folds are left to LLVM, but for products of bytes, which there is no instruction for
NARROW, NARROW_SHORTEST, NARROW_LONGEST = 2, 6, 16
# of a loop of up to so many iterations what fills no half of a vector matters, where it is so much, or functions; if the loop has more
# than so many operations, which are written twice then, up to so many vectors
LONGEST_WITH_REST, FEW_LEFT, MANY_OPERATIONS, FEW_VECTORS = 2048, 3, 32, 4
# vectors of a fold that are folded side by side, at most
SIDE_BY_SIDE = 4


def rolled_loops(kernel: Kernel) -> frozenset[For | Fold]:
    """The short innermost loops and folds that go through memory element by element in everything that they load and store."""
    inside = _loops_inside(kernel.body, None, {})
    return frozenset(loop for loop, around, bound in inside if _stays(loop, around.variable, bound))


def vectors_of_fold(dtype: str, terms: int, vector_bytes: int) -> int:
    """How many vectors of a short fold are folded side by side: a power of two that leaves no rest."""
    lanes, count = vector_bytes // itemsize(dtype), 1
    while count < SIDE_BY_SIDE and terms % (2 * count * lanes) == 0:
        count *= 2
    return count


def in_whole_vectors(loop: For, vector_bytes: int) -> list[tuple[int, int]]:
    """(first, end) of a short loop as two of whole vectors, or of as large a part of one as it fills: the second one does again what is
    before the last iterations.  As it is where it leaves nothing, or adds to memory.  LLVM would do it under masks, and a store under
    masks takes as long as twenty others where these are no registers of their own."""
    values = values_of(loop.body)
    low, end, whole = loop.variable.lo, loop.variable.hi + 1, vector_bytes // max(itemsize(term.dtype) for term in scalars(*values))
    lanes = min(whole, 1 << (loop.variable.extent.bit_length() - 1))
    adds = any(isinstance(stmt, Store) and stmt.combine is not None for stmt in loop.body)
    # a function takes as long for a part of a vector
    dear = lanes < whole and any(isinstance(term, Call) and term.op in FUNCTIONS for term in scalars(*values))
    if adds or dear or loop.variable.extent % lanes == 0:
        return [(low, end)]
    return [(low, low + loop.variable.extent // lanes * lanes), (end - lanes, end)]


def may_be_done_again(loop: For) -> bool:
    """Whether iterations of an innermost loop may be done twice: they are independent, and it stores nothing that it loads."""
    stored = {stmt.buffer for stmt in loop.body if isinstance(stmt, Store)}
    innermost = not any(isinstance(stmt, For) or (isinstance(stmt, Fold) and not is_written_out(stmt)) for stmt in loop.body)
    return loop.kind == "parallel" and innermost and stored.isdisjoint(loaded(loop.body))


def is_written_out_here(loop: For) -> bool:
    """Whether an innermost loop that chooses has so few iterations that they are written one after the other: LLVM does so too, but only
    after it has made branches of conditions that they share, and of branches no vectors."""
    innermost = not any(isinstance(stmt, For | Fold) for stmt in loop.body)
    if loop.kind != "parallel" or not innermost or not 0 < loop.variable.extent <= WRITTEN_HERE:
        return False
    return any(isinstance(term, Call) and (term.op in CHOOSING or term.dtype == "bool") for term in scalars(*values_of(loop.body)))


def across_rows(kernel: Kernel) -> frozenset[For | Fold]:
    """Short loops of functions, and extrema of floats, that step from row to row, in a loop along the rows: written one iteration after the
    other, since LLVM makes vectors of the loop around them only then, and does not write out as many instructions as these are."""
    inside = _loops_inside(kernel.body, None, {})
    return frozenset(loop for loop, around, bound in inside if isinstance(around, For) and _goes_across(loop, around, bound))


def _goes_across(loop: For | Fold, around: For, bound: dict[Var, Index]) -> bool:
    if around.kind != "parallel" or around.variable.extent < NEIGHBOURING_LINES or not 1 < loop.variable.extent <= ACROSS:
        return False
    if isinstance(loop, Fold):
        is_long = loop.op in ("max", "min") and is_float(loop.dtype)
    else:
        is_long = any(isinstance(term, Call) and term.op in FUNCTIONS for term in scalars(*values_of(loop.body)))
    accesses = _accesses(loop, bound) if is_long else None
    if not accesses or any(access.gathers for access in accesses):
        return False
    along = [coefficient(access.place, around.variable) for access in accesses]
    steps = [coefficient(access.place, loop.variable) for access in accesses]
    return 1 in along and all(step in (0, 1) for step in along) and not any(step in (1, -1, None) for step in steps)


def leaves_much(loop: For, vector_bytes: int) -> bool:
    """Whether what fills no vector of an innermost loop takes as long as vectors: LLVM does half of one together, the rest one by one."""
    terms = list(scalars(*values_of(loop.body)))
    calls = [term for term in terms if isinstance(term, Call)]
    lanes = vector_bytes // max((itemsize(term.dtype) for term in terms), default=1)
    whole, left = divmod(loop.variable.extent, lanes)
    if any(isinstance(stmt, Fold) for stmt in loop.body):
        return 0 < whole <= FEW_VECTORS and left > 0
    if any(call.op in FUNCTIONS for call in calls):
        return whole > 0 < left and loop.variable.extent <= LONGEST_WITH_REST
    return (
        whole > 0
        and left % max(lanes // 2, 1) >= FEW_LEFT
        and loop.variable.extent <= LONGEST_WITH_REST
        and (whole <= FEW_VECTORS or len(calls) <= MANY_OPERATIONS)
    )


def _loops_inside(body: tuple[Stmt, ...], around: Loop | None, bound: dict[Var, Index]) -> Iterator[tuple[Loop, Loop, dict[Var, Index]]]:
    """Every loop in another one, that one, and what index variables stand for before it."""
    bound = bound_in(body, bound)
    for stmt in body:
        if isinstance(stmt, For | Fold):
            if around is not None:
                yield stmt, around, bound
            yield from _loops_inside(stmt.body, stmt, bound)


def _stays(loop: For | Fold, around: Var, bound: dict[Var, Index]) -> bool:
    fold, extent = isinstance(loop, Fold), loop.variable.extent
    accesses = _accesses(loop, bound) if SHORTEST <= extent <= LONGEST_FOLD else None
    if not accesses:
        return False
    along = [coefficient(access.place, loop.variable) for access in accesses]
    if 1 not in along or any(step not in (-1, 0, 1) for step in along):
        return False
    widest, gathers = max(itemsize(access.dtype) for access in accesses), any(access.gathers for access in accesses)
    if not (fold or gathers or is_written_out(loop)):
        return False
    if widest <= NARROW:
        return not fold and (NARROW_SHORTEST <= extent <= NARROW_LONGEST or (extent > NARROW_LONGEST and _multiplies_bytes(loop)))
    if gathers:
        return extent > SORTED
    lines = (coefficient(access.place, around) for access, step in zip(accesses, along, strict=True) if step != 0)
    neighbours = around.extent >= NEIGHBOURING_LINES and all(line in (0, extent) for line in lines)
    return not neighbours or extent > (SORTED_FOLD if fold else SORTED) or extent * widest >= SORTED_BYTES


def is_written_out(loop: For | Fold) -> bool:
    """Whether LLVM writes an innermost loop out: what it loads, computes and stores, and the counting, makes so few instructions."""
    within = sum(stmt.variable.extent * _instructions(stmt) for stmt in loop.body if isinstance(stmt, Fold))
    instructions = _instructions(loop) + within + (5 if isinstance(loop, Fold) else 4)
    return loop.variable.extent <= SHORT or loop.variable.extent * max(instructions, LEAST_INSTRUCTIONS) <= WRITTEN_OUT


def _instructions(loop: For | Fold) -> int:
    return sum(not isinstance(term, Literal | Temp) for term in _terms(loop))


def _multiplies_bytes(loop: For | Fold) -> bool:
    return any(isinstance(term, Call) and term.op == "multiply" and itemsize(term.dtype) == 1 for term in _terms(loop))


def _terms(loop: For | Fold) -> list[Scalar]:
    values = values_of((loop, *loop.body))
    return list(scalars(*values))


class Access(NamedTuple):
    """An element that is loaded or stored; of one that is gathered, its place in a row that other elements choose."""

    place: Index
    dtype: str
    gathers: bool = False


def _of_short_fold(stmt: For | Fold, bound: Mapping[Var, Index]) -> list[Access] | None:
    """What a fold within a loop loads, if it has so few terms that LLVM writes it out, and holds no others."""
    if not isinstance(stmt, Fold) or not is_written_out(stmt) or any(not isinstance(inner, Let) for inner in stmt.body):
        return None
    values = values_of((stmt, *stmt.body))
    if any(isinstance(term, Pick) for term in scalars(*values)):
        return None
    return [Access(substitute(term.index, bound), term.dtype) for term in scalars(*values) if isinstance(term, Load)]


def _accesses(loop: For | Fold, bound: dict[Var, Index]) -> list[Access] | None:
    """What a loop loads and stores; None for one with loops in it, written as a tile, or that gathers from another row every time."""
    if isinstance(loop, For) and loop.kind != "parallel":
        return None
    found, bound = list[Access](), bound_in(loop.body, bound)
    for stmt in (*loop.body, *([loop] if isinstance(loop, Fold) else [])):
        if isinstance(stmt, For | Fold) and stmt is not loop:
            inside = _of_short_fold(stmt, bound) if isinstance(loop, For) else None
            if inside is None:
                return None
            found += inside
            continue
        for term in scalars(value) if (value := value_of(stmt)) is not None else ():
            if isinstance(term, Pick):
                place = place_in_row(term, loop.variable, [inner.name for inner in loop.body if isinstance(inner, Let)], bound)
                if place is None:
                    return None
                found.append(Access(place, term.dtype, gathers=True))
            elif isinstance(term, Load):
                found.append(Access(substitute(term.index, bound), term.dtype))
        if isinstance(stmt, Store):
            found.append(Access(substitute(stmt.index, bound), stmt.value.dtype))
    return found
