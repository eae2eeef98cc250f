"""The cost model: estimated nanoseconds of a tensor program on a target.

Work is counted where it varies: an element or index operation costs its cycles times the product of the extents of the loop
variables that it depends on, since lowering hoists it out of all other loops.  Reads are priced by their stride (unit in some
loop that lowering may put innermost, or gather), arrays by the bytes moved through the cache level that holds them, and every kernel
by its launch.  Equal subterms of a kernel are counted once.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from math import prod

from eqsat.index_cost import term_cycles
from eqsat.ir.affine import coefficient, strides
from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Apply, Const, Index, Var, variables, walk
from eqsat.ir.tensor import (
    Build,
    Call,
    Constant,
    Generic,
    Input,
    Literal,
    Program,
    Read,
    Reduce,
    Scalar,
    Tensor,
    as_build,
    axes,
    operands,
    reduction,
    scalars,
    tensors,
)
from eqsat.target import DEFAULT_TARGET, Target

# cycles of one vector operation of each kind, sustained
ELEMENT_CYCLES = {
    "divide": 10.0,
    "floor_divide": 20.0,
    "remainder": 20.0,
    "sqrt": 12.0,
    "exp": 12.0,
    "log": 16.0,
    "tanh": 20.0,
    "where": 1.0,
}
SIMPLE_CYCLES = 0.6
AFFINE_CYCLES = 0.05
# an innermost loop shorter than this is not worth vectors
SHORT_LOOP = 8
Parts = dict[Hashable, float]
Variables = frozenset[Var]


@functools.total_ordering
@dataclass(frozen=True)
class Cost:
    """Estimated nanoseconds; ordered, float() gives the total, breakdown() the kernels with their parts."""

    kernels: tuple[tuple[str, float], ...] = ()
    total: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", sum(ns for _, ns in self.kernels))

    def __float__(self) -> float:
        return self.total

    def __lt__(self, other: Cost | float) -> bool:
        return self.total < float(other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cost | float | int) and self.total == float(other)

    def __hash__(self) -> int:
        return hash(self.total)

    def breakdown(self) -> tuple[tuple[str, float], ...]:
        """(kernel, nanoseconds) in execution order."""
        return self.kernels

    def __str__(self) -> str:
        return f"{self.total:,.0f} ns"


@dataclass(frozen=True)
class CostModel:
    """Prices of the pieces of a kernel; parts are keyed by the node that they belong to, so that shared work counts once."""

    target: Target = DEFAULT_TARGET
    free_indices: bool = False

    def cycles_ns(self, cycles: float) -> float:
        return cycles / self.target.ghz

    def lanes(self, dtype: str) -> float:
        return self.target.vector_bytes / itemsize(dtype)

    def call_ns(self, op: str, dtype: str, count: int) -> float:
        """One elementwise operation, `count` times, in vectors."""
        return self.cycles_ns(ELEMENT_CYCLES.get(op, SIMPLE_CYCLES)) * count / self.lanes(dtype)

    def index_parts(self, term: Index) -> Parts:
        """Operations of an index term; affine ones are nearly free, for addressing and strength reduction absorb them."""
        parts: Parts = {}
        if self.free_indices:
            return parts
        for sub in walk(term):
            if isinstance(sub, Apply):
                parts[sub] = self.cycles_ns(_index_cycles(sub)) * trips(frozenset(variables(sub)))
        return parts

    def read_ns(self, tensor_shape: tuple[int, ...], dtype: str, indices: tuple[Index, ...]) -> float:
        """Loading an element at these indices, as often as they vary."""
        loops = variables(*indices)
        unit = not loops or any(v.extent >= SHORT_LOOP and _stride(indices, tensor_shape, v) == 1 for v in loops)
        cycles = self.target.load_cycles / self.lanes(dtype) if unit else self.target.gather_cycles
        return self.cycles_ns(cycles) * trips(frozenset(loops))

    def move_ns(self, shape: tuple[int, ...], dtype: str) -> float:
        """Streaming a tensor once."""
        return self.target.move_ns(prod(shape) * itemsize(dtype))

    def store_ns(self, shape: tuple[int, ...], dtype: str) -> float:
        """Launching a kernel and writing its result."""
        stores = self.cycles_ns(self.target.store_cycles / self.lanes(dtype)) * prod(shape)
        return self.target.launch_ns + stores + self.move_ns(shape, dtype)


def _index_cycles(term: Apply) -> float:
    if term.op in ("add", "sub", "neg") or (term.op == "mul" and any(isinstance(arg, Const) for arg in term.args)):
        return AFFINE_CYCLES
    return term_cycles(term)


def _stride(indices: tuple[Index, ...], shape: tuple[int, ...], variable: Var) -> int | None:
    total = 0
    for index, step in zip(indices, strides(shape), strict=True):
        k = coefficient(index, variable)
        if k is None:
            return None
        total += k * step
    return abs(total)


def trips(loops: Variables) -> int:
    """How often something that depends on these loop variables is computed."""
    return prod(v.extent for v in loops)


@dataclass(frozen=True)
class Priced:
    """An element with the parts of its cost and the loop variables that it depends on."""

    parts: Mapping[Hashable, float]
    loops: Variables


def price_read(
    model: CostModel, key: Hashable, tensor: Tensor | None, shape: tuple[int, ...], dtype: str, indices: tuple[Index, ...]
) -> Priced:
    """A load; `key` names it, `tensor` (or the key of its class) what has to be moved."""
    parts: Parts = {("load", key): model.read_ns(shape, dtype, indices), ("move", tensor): model.move_ns(shape, dtype)}
    for index in indices:
        parts.update(model.index_parts(index))
    return Priced(parts, frozenset(variables(*indices)))


def price_body(model: CostModel, body: Scalar) -> Priced:
    """Every part of an element expression."""
    done: dict[Scalar, Priced] = {}
    for term in scalars(body):
        if isinstance(term, Read):
            done[term] = price_read(model, term, term.tensor, term.tensor.shape, term.dtype, term.indices)
            continue
        below = [done[arg] for arg in operands(term)]
        parts: Parts = {}
        for priced in below:
            parts.update(priced.parts)
        done[term] = _price_node(model, term, parts, frozenset().union(*(priced.loops for priced in below)))
    return done[body]


def _price_node(model: CostModel, term: Scalar, parts: Parts, loops: Variables) -> Priced:
    if isinstance(term, Reduce):
        parts[term] = model.call_ns("add", term.dtype, trips(loops | {term.variable}))
        return Priced(parts, loops - {term.variable})
    if isinstance(term, Call):
        parts[term] = model.call_ns(term.op, term.dtype, trips(loops))
    return Priced(parts, loops)


def kernel_ns(model: CostModel, build: Build) -> float:
    """One kernel: launch, loads, operations, store."""
    return model.store_ns(build.shape, build.dtype) + sum(price_body(model, build.body).parts.values())


def cost(program: Program, target: Target = DEFAULT_TARGET) -> Cost:
    """Cost of a program as written: every generic and build is a kernel of its own."""
    model = CostModel(target)
    kernels = []
    for tensor in tensors(*program.outputs):
        if isinstance(tensor, Build | Generic):
            build = as_build(tensor) if isinstance(tensor, Generic) else tensor
            kernels.append((f"kernel_{len(kernels)}", kernel_ns(model, build)))
    return Cost(tuple(kernels))
