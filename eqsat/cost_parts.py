"""What the cost of a kernel is made of: the parts of the cost model, put together by kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence

from eqsat.costs import CostModel, FoldPart, price_body
from eqsat.ir.generics import as_build
from eqsat.ir.index import Index
from eqsat.ir.tensor import Build, Generic, Program, tensors
from eqsat.kernels import Nest, computed_once
from eqsat.nest_costs import nest_ns

# in the order in which they are shown
KINDS = ("launch", "memory", "loads", "stores", "arithmetic", "reductions", "indices")
KernelParts = tuple[tuple[str, float], ...]


def program_parts(program: Program, model: CostModel) -> tuple[KernelParts, ...]:
    """The nanoseconds of each kind for every kernel of a program as written, in execution order."""
    written = (tensor for tensor in tensors(*program.outputs) if isinstance(tensor, Build | Generic))
    return tuple(_ordered(_of_builds(model, as_build(one) if isinstance(one, Generic) else one)) for one in written)


def nest_parts(nests: Sequence[Nest], model: CostModel) -> tuple[KernelParts, ...]:
    """The nanoseconds of each kind for loop nests; none for those that run once, when a plan is loaded."""
    once = computed_once(nests)
    return tuple(() if nest in once else _ordered(_of_nest(nest, model)) for nest in nests)


def _of_nest(nest: Nest, model: CostModel) -> dict[str, float]:
    if not nest.builds:
        return {"reductions": nest_ns(nest.kernel, model.target)}
    counted = nest.builds if nest.counted is None else nest.counted
    kernels = [counted, *((build,) for build in nest.within)] if counted else [(build,) for build in nest.within]
    found: dict[str, float] = defaultdict(float)
    for builds in kernels:
        for kind, ns in _of_builds(model, *builds).items():
            found[kind] += ns
    found["launch"] -= len(nest.within) * model.target.launch_ns
    return found


def _of_builds(model: CostModel, *builds: Build) -> dict[str, float]:
    """`costs.kernel_ns` by kind."""
    parts: dict[Hashable, float] = {}
    found: dict[str, float] = defaultdict(float, launch=model.target.launch_ns)
    for build in builds:
        parts.update((key, ns) for key, (ns, _) in price_body(model, build.body).parts.items())
        moved = model.move_ns(build.shape, build.dtype)
        found["memory"] += moved
        found["stores"] += model.store_ns(build.shape, build.dtype) - model.target.launch_ns - moved
    for key, ns in parts.items():
        found[_kind(key)] += ns
    return found


def _kind(key: Hashable) -> str:
    """The kind of a part of the cost model, by its name there."""
    if isinstance(key, tuple):
        return {"load": "loads", "move": "memory"}[key[0]]
    if isinstance(key, FoldPart):
        return "reductions"
    return "indices" if isinstance(key, Index) else "arithmetic"


def _ordered(found: Mapping[str, float]) -> KernelParts:
    return tuple((kind, found[kind]) for kind in KINDS if found.get(kind))
