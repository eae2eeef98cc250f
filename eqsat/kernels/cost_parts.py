"""What the cost of a kernel is made of: the parts of the cost model one by one, and put together by kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence

from eqsat.ir.generics import as_build
from eqsat.ir.index import Index
from eqsat.ir.tensor import Build, Generic, Program, tensors
from eqsat.kernels.picking import PlacedKernel
from eqsat.pricing.cost_model import CostModel
from eqsat.pricing.costs import computed_together, one_by_one
from eqsat.pricing.element_costs import FoldPart, price_body
from eqsat.pricing.nest_costs import nest_ns

# in the order in which they are shown
PART_KINDS = ("launch", "memory", "loads", "stores", "arithmetic", "reductions", "indices")
KernelParts = tuple[tuple[str, float], ...]
# what a part is of: an operation, a load or a fold of the cost model, or what is launched, moved or stored
Part = tuple[Hashable, float]
LAUNCH = "launch"


def program_parts(program: Program, model: CostModel) -> tuple[KernelParts, ...]:
    """The nanoseconds of each kind for every kernel of a program as written, in execution order."""
    written = (tensor for tensor in tensors(*program.outputs) if isinstance(tensor, Build | Generic))
    builds = (as_build(one) if isinstance(one, Generic) else one for one in written)
    return tuple(_by_kind([(LAUNCH, model.target.launch_ns), *group_parts(model, build)]) for build in builds)


def nest_parts(nests: Sequence[PlacedKernel], model: CostModel) -> tuple[KernelParts, ...]:
    """The nanoseconds of each kind for loop nests; none for those that run once, when a plan is loaded."""
    return tuple(() if nest.once else _by_kind(parts_of(nest, model)) for nest in nests)


def parts_of(nest: PlacedKernel, model: CostModel) -> Iterator[Part]:
    """What a kernel spends its nanoseconds on; their sum is what `Result.cost` has for it.  Of several kernels in strips each has its
    parts, and all are launched once; one of several that compute a build has its share of each part."""
    if nest.has_steps:
        yield "scan", nest_ns(nest.kernel, model.target, model.costs)
        return
    yield LAUNCH, model.target.launch_ns * nest.priced[0][1]
    for group, share in nest.priced:
        for kind, ns in group_parts(model, *group):
            yield kind, ns * share
    for build in nest.builds_within:
        yield from group_parts(model, build)


def group_parts(model: CostModel, *builds: Build) -> Iterator[Part]:
    """What builds of one kernel cost but for its launch, what they share once: parts of `costs.kernel_ns`, and what is moved and stored."""
    parts = {key: part for build in builds for key, part in price_body(model, build.body).parts.items()}
    saved, more = computed_together(parts), one_by_one(model, parts)
    yield from ((key, ns - saved.get(key, 0.0) + more.get(key, 0.0)) for key, (ns, _) in parts.items())
    for build in builds:
        moved = model.move_ns(build.shape, build.dtype)
        yield ("move", build), moved
        yield ("store", build), model.store_ns(build.shape, build.dtype) - model.target.launch_ns - moved


def _by_kind(parts: Iterable[Part]) -> KernelParts:
    found: dict[str, float] = defaultdict(float)
    for key, ns in parts:
        found[_kind(key)] += ns
    return tuple((kind, found[kind]) for kind in PART_KINDS if found.get(kind))


def _kind(key: Hashable) -> str:
    """The kind of a part of the cost model, by its name there."""
    if key == LAUNCH:
        return LAUNCH
    if isinstance(key, tuple):
        return {"load": "loads", "move": "memory", "store": "stores"}[key[0]]
    if isinstance(key, FoldPart) or key == "scan":
        return "reductions"
    return "indices" if isinstance(key, Index) else "arithmetic"
