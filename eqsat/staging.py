"""Which kernels become one kernel in strips: chains of them that read each other, where that is estimated to be cheaper."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from eqsat.alike import Alike, Priced
from eqsat.cost_model import CostModel
from eqsat.ir.dtypes import itemsize
from eqsat.ir.loops import Kernel
from eqsat.ir.tensor import Build, Constant, Tensor, sources
from eqsat.lowering.staged import WHOLE_BYTES, Group, composed, read_whole, strip_rows, strips, windows
from eqsat.nest_costs import nest_ns

# between kernels of a chain there are so many bytes at least
LEAST_BYTES = 128 << 10
# a longer chain saves no more per kernel, and LLVM's time grows with the square of what is in one function
MOST_PRODUCERS = 11
# strips in strips: of a batch, of rows
MOST_WITHIN = 1


class Lowering(Protocol):
    """`kernels`: the cheapest one of every group, given the names of their tensors; `alike`: what was found for chains before."""

    alike: Alike

    def kernels(self, groups: Sequence[Group], names: Mapping[Tensor, str]) -> Sequence[Kernel]: ...


@dataclass(frozen=True)
class Chain:
    """A kernel for several groups, the last of which has the results; the others are computed within."""

    groups: tuple[Group, ...]
    kernel: Kernel


def chains(
    groups: Sequence[Group],
    ns: Mapping[Group, float],
    names: Mapping[Tensor, str],
    stay: Collection[Tensor],
    model: CostModel,
    lowering: Lowering,
    within: int = 0,
) -> tuple[Chain, ...]:
    """The chains worth it, of groups in the order in which they run; some tensors stay, for others than kernels read them.  `within` so
    many strips already: those of a batch may be chains of their own, in strips of rows."""
    readers: dict[Tensor, list[Group]] = {}
    for group in groups:
        for tensor in dict.fromkeys(source for build in group for source in sources(build)):
            readers.setdefault(tensor, []).append(group)
    steady = _constant(groups)
    possible = [g for g in groups if len(g) == 1 and g[0] not in stay and g[0] not in steady and g[0] in readers]
    if _bytes(possible) < LEAST_BYTES:
        return ()
    found: list[Chain] = []
    taken: set[Group] = set()
    for results in reversed(groups):
        if results in taken:
            continue
        producers = _longest(results, [group for group in reversed(possible) if group not in taken], readers)
        whole = (*reversed(producers), results)
        if not producers or _bytes(producers) < LEAST_BYTES:
            continue
        priced = _priced(whole, names, model, lowering, within)
        if priced is not None and priced[0] < sum(ns[group] for group in whole):
            found.append(Chain(whole, priced[1]))
            taken |= set(whole)
    return tuple(found)


def _priced(groups: Sequence[Group], names: Mapping[Tensor, str], model: CostModel, lowering: Lowering, within: int) -> Priced | None:
    """What the kernel of a chain costs, and the kernel; None where there is none."""
    known = lowering.alike.find(groups, names) if not within else None
    if known is not None:
        return known[0]
    kernel = _in_strips(groups, names, model, lowering, within)
    priced = None if kernel is None else (nest_ns(kernel, model.target, model.costs), kernel)
    if not within:
        lowering.alike.keep(groups, names, priced)
    return priced


def _bytes(groups: Sequence[Group]) -> int:
    """What the results of groups of one build take."""
    return sum(build.size * itemsize(build.dtype) for (build,) in groups)


def _constant(groups: Sequence[Group]) -> set[Tensor]:
    """What is the same in every call."""
    found: set[Tensor] = set()
    for group in groups:
        if all(isinstance(source, Constant) or source in found for build in group for source in sources(build)):
            found.update(group)
    return found


def _longest(results: Group, possible: Sequence[Group], readers: Mapping[Tensor, list[Group]]) -> list[Group]:
    """Producers that the results and the producers before them read, and nothing else, in windows; the last ones where there are many."""
    found: list[Group] = []
    for group in possible:
        if len(found) == MOST_PRODUCERS:
            break
        (build,) = group
        inside = all(reader == results or reader in found for reader in readers[build])
        if inside and windows(results, [*(one for (one,) in found), build]) is not None:
            found.append(group)
    return found


def _in_strips(groups: Sequence[Group], names: Mapping[Tensor, str], model: CostModel, lowering: Lowering, within: int) -> Kernel | None:
    results = groups[-1]
    producers: list[Build] = [build for (build,) in reversed(groups[:-1])]
    found = windows(results, producers)
    assert found is not None
    whole = read_whole(groups, found)
    if whole > WHOLE_BYTES:
        return None
    parts = strips(groups, found, strip_rows(results, found, whole), within)
    small: dict[Tensor, str] = {part: names[made] for part, made in zip(chain(*parts.groups), chain(*groups), strict=True)}
    names = {**names, **small}
    kernels = dict(zip(parts.groups, lowering.kernels(parts.groups, names), strict=True))
    between = [names[build] for build in producers]
    plain = composed(list(kernels.values()), parts, results, between)
    if within == MOST_WITHIN or plain is None:
        return plain
    ns = {group: nest_ns(kernel, model.target, model.costs) for group, kernel in kernels.items()}
    for inner in chains(parts.groups, ns, names, parts.groups[-1], model, lowering, within + 1):
        *others, last = inner.groups
        kernels = {group: kernel for group, kernel in kernels.items() if group not in others} | {last: inner.kernel}
    nested = composed(list(kernels.values()), parts, results, between)
    return min((plain, nested), key=lambda kernel: nest_ns(kernel, model.target, model.costs)) if nested is not None else plain
