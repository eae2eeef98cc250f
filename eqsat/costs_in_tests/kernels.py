"""The costs of an optimized program kernel by kernel, and what each kernel spends them on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping

from eqsat.costs_in_tests.snapshots import DECIMALS, CostSnapshot, KernelCost
from eqsat.egraph.index_cost import IndexWeights
from eqsat.ir.index import Apply, Index, walk
from eqsat.ir.tensor import Build, Call, Gather, Read, Reduce, Size, Tensor
from eqsat.ir.text import body_text, tensor_names, with_sizes
from eqsat.kernels.cost_parts import parts_of
from eqsat.kernels.picking import PlacedKernel, remaining
from eqsat.pricing.cost_model import CostModel
from eqsat.pricing.element_costs import FoldPart
from eqsat.pricing.target import DEFAULT_TARGET
from eqsat.result import IndexResult, Result

LONGEST_PART = 72


def kernel_costs(result: Result | IndexResult) -> tuple[KernelCost, ...]:
    """Every kernel of a result in execution order, then the steps that are none; of an index expression one, with its operations."""
    if isinstance(result, IndexResult):
        return (
            KernelCost(
                str(result.expr), _rounded(float(result.cost)), (), _rounded_parts(_operations(result.expr, result.options.cost.index))
            ),
        )
    shown = tensor_names(*result.program.inputs, *result.program.outputs)
    names = {tensor: shown[joined] for tensor, joined in result.parts.joined_tensors().items() if joined in shown}
    ns = dict(result.cost.kernels)
    model = CostModel(result.options.target, result.options.cost)
    found = []
    for nest in result.nests:
        parts = {} if nest.once or model.costs.objective is not None else _parts(nest, model, names, result.program.sizes)
        found.append(KernelCost(nest.kernel.name, _rounded(ns[nest.kernel.name]), _made(nest, names), _rounded_parts(parts)))
    for placed in remaining(result.parts.steps, result.nests):
        found.append(KernelCost(placed.name, _rounded(ns[placed.name]), _named(placed.results, names)))
    return tuple(found)


def cost_snapshot(result: Result | IndexResult) -> CostSnapshot:
    """What a test keeps of a result."""
    return CostSnapshot(
        target=(DEFAULT_TARGET if isinstance(result, IndexResult) else result.options.target).name,
        total=_rounded(float(result.cost)),
        written=_rounded(float(result.original_cost)),
        kernels=kernel_costs(result),
        program=tuple(str(result.expr if isinstance(result, IndexResult) else result.program).splitlines()),
        unit=result.cost.unit,
        rules=tuple(sorted(result.report.fired)),
    )


def _rounded(ns: float) -> float:
    return round(ns, DECIMALS)


def _rounded_parts(parts: Mapping[str, float]) -> dict[str, float]:
    return {what: _rounded(ns) for what, ns in sorted(parts.items()) if _rounded(ns)}


def _operations(term: Index, weights: IndexWeights) -> dict[str, float]:
    """What the operations of an index expression cost, equal ones once."""
    applied = (sub for sub in walk(term) if isinstance(sub, Apply))
    return {_short(str(sub)): weights.term_cycles(sub) / DEFAULT_TARGET.ghz for sub in applied}


def _made(nest: PlacedKernel, names: Mapping[Tensor, str]) -> tuple[str, ...]:
    """The names of what a kernel computes, on the way and last; a kernel of parts is named by the whole."""
    whole = [build for group, _ in nest.part_of for build in group]
    return _named((*nest.within, *(whole or nest.made)), names)


def _named(made: Iterable[Tensor], names: Mapping[Tensor, str]) -> tuple[str, ...]:
    return tuple(names[tensor] for tensor in made if tensor in names)


def _parts(nest: PlacedKernel, model: CostModel, names: Mapping[Tensor, str], sizes: Collection[Size]) -> dict[str, float]:
    """What a kernel's nanoseconds are spent on, by name; what moves and stores a result is one."""
    found: dict[str, float] = defaultdict(float)
    for key, ns in parts_of(nest, model):
        found[_short(with_sizes(_label(key, names), tuple(sizes)))] += ns
    return found


def _label(key: Hashable, names: Mapping[Tensor, str]) -> str:
    """What a part of `eqsat.pricing.element_costs` is, in words."""
    if isinstance(key, FoldPart):
        return _label(key.key, names)
    if isinstance(key, tuple):
        what, of = key
        if isinstance(of, Build):
            return f"store {names.get(of, 'parts')}"
        tensor = of.tensor if isinstance(of, Read | Gather) else of
        return f"{'gather' if isinstance(of, Gather) else what} {names.get(tensor, 'constant')}"
    if isinstance(key, Call):
        return key.op
    if isinstance(key, Index):
        return f"index {key}"
    return body_text(key, names) if isinstance(key, Reduce) else str(key)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_PART else f"{text[: LONGEST_PART - 4]} ..."
