"""Estimated nanoseconds of kernels and tensor programs on a target, put together of the parts of their elements."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod

from eqsat.egraph.index_cost import index_cycles
from eqsat.ir.errors import UsageError
from eqsat.ir.generics import as_build
from eqsat.ir.index import Index
from eqsat.ir.shown import Shown
from eqsat.ir.steps import HostCall, Loop
from eqsat.ir.tensor import Build, Generic, Program, Shape, Step, Tensor, position_of, tensors
from eqsat.options import Options
from eqsat.pricing.amounts import amount
from eqsat.pricing.cost_model import SHORT_LOOP, CostModel, Part, Parts, Type, Variables, trips
from eqsat.pricing.cycles import DEFAULT_COSTS, Costs
from eqsat.pricing.element_costs import FoldPart, price_body, total_ns
from eqsat.pricing.host_costs import host_ns
from eqsat.pricing.target import DEFAULT_TARGET, Target

# operations of so many cycles are worth computing once instead of for every row
DEAR_CYCLES = 4.0


@functools.total_ordering
@dataclass(frozen=True, repr=False)
class Cost(Shown):
    """Estimated nanoseconds; ordered, float() gives the total, breakdown() the kernels with their parts.

    costs, target  what it is counted in: the cost model, which may have another unit, and the machine
    """

    kernels: tuple[tuple[str, float], ...] = ()
    costs: Costs = DEFAULT_COSTS
    target: Target = DEFAULT_TARGET
    total: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", float(sum(ns for _, ns in self.kernels)))

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

    @property
    def unit(self) -> str:
        """What it is counted in: nanoseconds, unless the cost model says something else."""
        return self.costs.unit

    @property
    def text(self) -> str:
        """The total with its unit, small ones with two decimals."""
        return amount(self.total, self.unit)

    def __str__(self) -> str:
        return f"{self.total:,.0f} {self.unit}"


def cost_of_term(term: Index, costs: Costs = DEFAULT_COSTS) -> Cost:
    """The cost of an index expression, computed once."""
    return Cost(((str(term), index_cycles(term, weights=costs.index) / DEFAULT_TARGET.ghz),), replace(costs, unit="ns"))


def kernel_work_ns(model: CostModel, parts: Mapping[Hashable, Part], shape: Shape) -> float:
    """The sum of all parts of a kernel that goes over this shape."""
    more = sum(again_for_rows(model, parts, shape).values()) + sum(one_by_one(model, parts).values())
    return total_ns(parts) + more - sum(computed_together(parts).values())


def one_by_one(model: CostModel, parts: Mapping[Hashable, Part]) -> dict[Hashable, float]:
    """What reductions cost besides whose terms are apart in memory, in the same loops as those whose terms are neighbours: vectors of a
    kernel go along one of them, and the others are computed element by element."""
    folds = [(name, ns, loops) for name, (ns, loops) in parts.items() if isinstance(name, FoldPart) and name.terms >= SHORT_LOOP and loops]
    along = {loops for name, _, loops in folds if not name.side_by_side}
    return {name: ns * (model.target.vector_bytes / name.width - 1) for name, ns, loops in folds if name.across and loops in along}


def computed_together(parts: Mapping[Hashable, Part]) -> dict[Hashable, float]:
    """What reductions in one loop with others do not compute again: those of as many terms of one width, in the same loops, each made of no
    other one."""
    folds = [(name, loops) for name, (_, loops) in parts.items() if isinstance(name, FoldPart) and name.inside]
    saved, known = dict[Hashable, float](), dict[tuple[int, int, Variables], set[Hashable]]()
    for name, loops in folds if len(folds) > 1 else ():
        before = known.setdefault((name.terms, name.width, loops), set())
        saved[name] = sum(ns for part, ns in name.inside.items() if part in before)
        before.update(name.inside)
    return saved


def again_for_rows(model: CostModel, parts: Mapping[Hashable, Part], shape: Shape) -> dict[Hashable, float]:
    """What parts cost besides because loops around those that they depend on compute them again: x[i, j] + exp(b[j]) has an exp for
    every i.  Where all folds are those of columns, computed for neighbours at once, or do not depend on the last axis, the loops over what
    they depend on are outside; what is no dearer than a few cycles is done beside the loads."""
    if len(shape) < 2:
        return {}
    computed = {name: (ns, loops, _times_again(loops, shape)) for name, (ns, loops) in parts.items() if _is_computed(name)}
    folds = [(name, loops, again) for name, (_, loops, again) in computed.items() if isinstance(name, FoldPart)]
    if folds and all(again > 1 and (fold.side_by_side or len(shape) - 1 not in _axes(loops)) for fold, loops, again in folds):
        return {}
    dear = model.cycles_ns(DEAR_CYCLES) / model.lanes("float32")
    return {
        name: ns * (again - 1)
        for name, (ns, loops, again) in computed.items()
        if again > 1 and (isinstance(name, FoldPart) or ns > dear * trips(loops))
    }


@functools.lru_cache(maxsize=4096)
def _times_again(loops: Variables, shape: Shape) -> int:
    """How often the axes of a kernel that are none of `loops` repeat the innermost of these: the product of those outside of it."""
    axes = _axes(loops)
    return prod(n for k, n in enumerate(shape) if k not in axes and k < max(axes, default=0))


def _axes(loops: Variables) -> set[int]:
    """The axes of a kernel among these variables."""
    return {position for v in loops if (position := position_of(v)) is not None}


def _is_computed(part: Hashable) -> bool:
    """Whether a part is an operation or a fold: no index term, nor anything of memory."""
    return not isinstance(part, Index) and not (isinstance(part, tuple) and part[0] in ("load", "move"))


def kernel_ns(model: CostModel, *builds: Build, launches: int = 1) -> float:
    """One kernel for several builds: launch, loads, operations, stores; what they have in common counts once."""
    parts: Parts = {}
    for build in builds:
        parts.update(price_body(model, build.body).parts)
    made = [type_of(build) for build in builds]
    return model.kernel_cost(parts, kernel_work_ns(model, parts, builds[0].shape), made, type_of, launches)


def type_of(tensor: Tensor) -> Type:
    """Shape and dtype of a tensor."""
    return tensor.shape, tensor.dtype


def cost(program: Program, options: Options | Target = DEFAULT_TARGET) -> Cost:
    """Cost of a program as written, where every generic and build is a kernel of its own.

    options  a Target, on which nanoseconds are estimated, or Options, of which the target and the cost model are used; the default is the
             named default target, the same everywhere
    Raises UsageError for what is no Program from `trace`.
    """
    if not isinstance(program, Program):
        raise UsageError(f"cost: found a {type(program).__name__}, expected a Program, as eqsat.trace makes it")
    if not isinstance(options, Options | Target):
        raise UsageError(f"cost: found options of type {type(options).__name__}, expected eqsat.Options or eqsat.Target")
    model = CostModel(options.target, options.cost) if isinstance(options, Options) else CostModel(options)
    return Cost(tuple(_priced(model, program)), model.costs, model.target)


def _priced(model: CostModel, program: Program) -> Iterator[tuple[str, float]]:
    """The kernels and steps of a program as written, with what they cost."""
    written = [tensor for tensor in tensors(*program.outputs) if isinstance(tensor, Build | Generic)]
    for k, tensor in enumerate(written):
        yield f"kernel_{k}", kernel_ns(model, as_build(tensor) if isinstance(tensor, Generic) else tensor)
    for k, step in enumerate(program.steps):
        yield f"{step.name}_{k}", step_ns(model, step)


def step_ns(model: CostModel, step: Step) -> float:
    """A step as it is written."""
    if isinstance(step, Loop):
        return step.count * sum(ns for _, ns in _priced(model, step.body))
    assert isinstance(step, HostCall)
    return model.step_cost(host_ns(step, model.target), step.given, step.made)
