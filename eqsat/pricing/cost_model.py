"""Prices of the pieces of a kernel on a target: operations, index terms, loads by their stride, bytes moved, stores and launches.

Work is counted where it varies: an element or index operation costs its cycles times the product of the extents of the loop
variables that it depends on, since lowering hoists it out of all other loops.  Reads are priced by their stride (unit in some
loop that lowering may put innermost, or gather), arrays by the bytes moved through the cache level that holds them, and every kernel
by its launch.  element_costs.py and costs.py put the pieces together.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from eqsat.egraph.index_cost import IndexWeights
from eqsat.ir.affine import step_in_memory
from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Apply, Const, Index, Var, apply, variables, walk
from eqsat.ir.tensor import Tensor, is_size, level_of, position_of
from eqsat.lowering.affine import DIVISIONS
from eqsat.pricing.cycles import DEFAULT_COSTS, Costs
from eqsat.pricing.kernel_work import KernelWork, priced
from eqsat.pricing.pieces import Digit, Pieces, even_digit
from eqsat.pricing.target import DEFAULT_TARGET, Target

# of what is computed once for the innermost loop
AFFINE_CYCLES = 0.05
# a load of vectors that are put together of short parts, by that of a whole vector
SHUFFLED = 4.0
# the widest stride at which whole vectors are loaded, and shuffled
INTERLEAVED = 8
# what a simple operation takes of a cycle on the machines that the tables of eqsat/pricing/cycles.py are for
HALF_A_CYCLE = 0.5
# an innermost loop shorter than this is not worth vectors
SHORT_LOOP = 8
Variables = frozenset[Var]
# nanoseconds of a part, all its repetitions together, and the loop variables that it is repeated for
Part = tuple[float, Variables]
Parts = dict[Hashable, Part]
# a shape and a dtype
Type = tuple[tuple[int, ...], str]
NO_LOOPS: Variables = frozenset()
# digits of loops, all of a loop among them
Digits = frozenset[Digit]
NO_DIGITS: Digits = frozenset()


@dataclass(frozen=True)
class CostModel:
    """Prices of the pieces of a kernel; parts are keyed by the node that they belong to, so that shared work counts once."""

    target: Target = DEFAULT_TARGET
    costs: Costs = DEFAULT_COSTS
    free_indices: bool = False

    def cycles_ns(self, cycles: float) -> float:
        return cycles / self.target.ghz

    def lanes(self, dtype: str) -> float:
        return self.target.vector_bytes / itemsize(dtype)

    def op_cycles(self, op: str, dtype: str) -> float:
        """One vector operation: the tables say what it takes where two simple ones are done in a cycle."""
        return self.costs.cycles(op, dtype) * (self.target.op_cycles / HALF_A_CYCLE if self.costs.is_known(op, dtype) else 1.0)

    def call_ns(self, op: str, dtype: str, count: int) -> float:
        """One elementwise operation, `count` times, in vectors."""
        return self.cycles_ns(self.op_cycles(op, dtype)) * count / self.lanes(dtype)

    def index_parts(self, term: Index) -> Parts:
        """Operations of an index term; affine ones are nearly free, for addressing and strength reduction absorb them, and so is what is
        decided for whole pieces of loops.  A digit of a loop that is divided evenly is a loop of its own."""
        if self.free_indices:
            return {}
        known = self._operations
        for sub in walk(term, known=known):
            known[sub] = self._operation(sub)
        return {sub: known[sub][0] for sub in walk(term) if isinstance(sub, Apply)}

    def digits(self, *terms: Index) -> Digits:
        """The digits of loops that index terms are made of, the loops of reductions whole."""
        known = self._operations
        for sub in walk(*terms, known=known):
            known[sub] = self._operation(sub)
        found = NO_DIGITS.union(*(known[term][1] for term in terms))
        return frozenset(digit if level_of(digit[0]) is None else (digit[0], 1, digit[0].extent) for digit in found)

    def _operation(self, term: Index) -> tuple[Part, Digits]:
        """What an operation of an index term costs, those below it left out, and the digits of loops that it is made of."""
        loops = loops_of(term)
        if not isinstance(term, Apply):
            return (0.0, loops), whole(loops)
        digit = even_digit(term)
        digits = frozenset((digit,)) if digit is not None else NO_DIGITS.union(*(self._operations[arg][1] for arg in term.args))
        decided = loops and self.pieces.are_decided(term)
        repeated = trips(loops - {max(loops, key=lambda v: v.extent)}) if decided else values(digits)
        cycles = 0.0 if digit is not None else _index_cycles(term, self.costs.index)
        if cycles == AFFINE_CYCLES:
            repeated //= max((loop.extent for loop in loops), default=1)
        return (self.cycles_ns(cycles) * repeated, loops), digits

    @functools.cached_property
    def _operations(self) -> dict[Index, tuple[Part, Digits]]:
        return {}

    @functools.cached_property
    def pieces(self) -> Pieces:
        """What is known of index terms in pieces of loops."""
        return Pieces()

    def read_ns(self, tensor_shape: tuple[int, ...], dtype: str, indices: tuple[Index, ...], folded: Var | None) -> float:
        """Loading an element at these indices, as often as they vary; `folded` is the variable of the reduction around it."""
        loops = loops_of(*indices)
        indices = self.pieces.longest(*indices)
        vector = [v for v in loops if v.extent >= SHORT_LOOP and (v is folded or position_of(v) is not None)]
        cycles = self.target.gather_cycles
        steps = {step for v in vector for step in load_steps(indices, tensor_shape, v)}
        if not loops or 1 in steps:
            cycles = self.target.load_cycles / self.lanes(dtype)
        elif not steps.isdisjoint((0, *range(2, INTERLEAVED + 1))) or any(_is_interleaved(indices, tensor_shape, v) for v in vector):
            cycles = SHUFFLED * self.target.load_cycles / self.lanes(dtype)
        return self.cycles_ns(cycles) * trips(frozenset(loops))

    def move_ns(self, shape: tuple[int, ...], dtype: str) -> float:
        """Streaming a tensor once."""
        return self.target.move_ns(prod(shape) * itemsize(dtype))

    def store_ns(self, shape: tuple[int, ...], dtype: str) -> float:
        """Launching a kernel and writing its result."""
        return self.target.launch_ns + self.write_ns(shape, dtype)

    def write_ns(self, shape: tuple[int, ...], dtype: str) -> float:
        """Writing the result of a kernel."""
        stores = self.cycles_ns(self.target.store_cycles / self.lanes(dtype)) * prod(shape)
        return stores + self.move_ns(shape, dtype)

    def kernel_cost(
        self, parts: Mapping[Hashable, Part], work_ns: float, made: Sequence[Type], read: Callable[[Any], Type], launches: int = 1
    ) -> float:
        """What a kernel costs that has these parts, which take so long together, and makes tensors of these types; `read` gives the types
        of what parts move."""
        store_ns = sum(self.write_ns(*type) for type in made)
        launch_ns = launches * self.target.launch_ns
        if self.costs.objective is None:
            return launch_ns + store_ns + work_ns
        moved = {key[1]: ns for key, (ns, _) in parts.items() if isinstance(key, tuple) and key[0] == "move"}
        move_ns = sum(moved.values())
        bytes_read, bytes_written = sum(_bytes(*read(name)) for name in moved), sum(_bytes(*type) for type in made)
        work = KernelWork(launches, work_ns - move_ns, move_ns, store_ns, launch_ns, bytes_read, bytes_written)
        return priced(self.costs.objective, work)

    def step_cost(self, ns: float, read: Iterable[Tensor], made: Iterable[Type]) -> float:
        """What something costs that is no kernel of builds, given how long it takes."""
        if self.costs.objective is None:
            return ns
        bytes_read = sum(_bytes(tensor.shape, tensor.dtype) for tensor in read)
        return priced(self.costs.objective, KernelWork(1, ns, 0.0, 0.0, 0.0, bytes_read, sum(_bytes(*type) for type in made)))


def _bytes(shape: tuple[int, ...], dtype: str) -> int:
    return prod(shape) * itemsize(dtype)


def _index_cycles(term: Apply, weights: IndexWeights) -> float:
    if term.op in ("add", "sub", "neg") or (term.op == "mul" and any(isinstance(arg, Const) for arg in term.args)):
        return AFFINE_CYCLES
    return weights.term_cycles(term)


def whole(loops: Iterable[Var]) -> Digits:
    """Loops as digits of themselves."""
    return frozenset((loop, 1, loop.extent) for loop in loops)


def values(digits: Iterable[Digit]) -> int:
    """How often something that depends on these digits is computed."""
    found: dict[Var, int] = {}
    for loop, _, extent in digits:
        found[loop] = min(loop.extent, found.get(loop, 1) * extent)
    return prod(found.values())


def load_steps(indices: tuple[Index, ...], shape: tuple[int, ...], variable: Var) -> set[int | None]:
    """How far a load goes in memory from one iteration of a loop to the next, and within the inner part of the loop where it is split at
    one of the divisors that the indices divide it by, if that part is not too short."""
    parts = (_inner_part(indices, variable, divisor) for divisor in _divisors(indices, variable) if divisor >= SHORT_LOOP)
    return {_stride(indices, shape, variable), *(_stride(part, shape, inner) for part, inner in parts)}


def _is_interleaved(indices: tuple[Index, ...], shape: tuple[int, ...], variable: Var) -> bool:
    """Whether a load stays, or goes on by one, within short parts of a loop, or from one such part to the next."""
    for divisor in _divisors(indices, variable):
        if divisor < SHORT_LOOP:
            inside, inner = _inner_part(indices, variable, divisor)
            across, outer = _outer_part(indices, variable, divisor)
            if _stride(inside, shape, inner) in (0, 1) or _stride(across, shape, outer) in (0, 1):
                return True
    return False


def _divisors(indices: tuple[Index, ...], variable: Var) -> set[int]:
    """The constants that indices divide a loop variable by."""
    divided = (term for term in walk(*indices) if isinstance(term, Apply) and term.op in DIVISIONS and term.args[0] is variable)
    return {int(term.args[1].value) for term in divided if isinstance(term.args[1], Const)}


def _inner_part(indices: tuple[Index, ...], variable: Var, divisor: int) -> tuple[tuple[Index, ...], Var]:
    """The indices within one step of `variable // divisor`, and the variable that counts there."""
    inner = Var("inner", 0, divisor - 1)
    return _split(indices, variable, divisor, Const(0), inner, inner), inner


def _outer_part(indices: tuple[Index, ...], variable: Var, divisor: int) -> tuple[tuple[Index, ...], Var]:
    """The indices at the steps of `variable // divisor`, and the variable that counts them."""
    outer = Var("outer", 0, variable.hi // divisor)
    return _split(indices, variable, divisor, outer, Const(0), outer * divisor), outer


def _split(indices: tuple[Index, ...], variable: Var, divisor: int, quotient: Index, rest: Index, whole: Index) -> tuple[Index, ...]:
    """The indices with these terms for `variable // divisor`, `variable % divisor` and the variable."""
    done: dict[Index, Index] = {variable: whole}
    for term in walk(*indices):
        if isinstance(term, Apply):
            splits = term.op in DIVISIONS and term.args[0] is variable and term.args[1] is Const(divisor)
            part = quotient if term.op == "floordiv" else rest
            done[term] = part if splits else apply(term.op, *(done.get(arg, arg) for arg in term.args))
    return tuple(done.get(index, index) for index in indices)


def _stride(indices: tuple[Index, ...], shape: tuple[int, ...], variable: Var) -> int | None:
    step = step_in_memory(indices, shape, variable)
    return None if step is None else abs(step)


def loops_of(*terms: Index) -> Variables:
    """The loop variables of index terms."""
    return frozenset(v for v in variables(*terms) if not is_size(v))


@functools.lru_cache(maxsize=4096)
def trips(loops: Variables) -> int:
    """How often something that depends on these loop variables is computed."""
    return prod(v.extent for v in loops)
