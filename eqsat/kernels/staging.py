"""Which kernels become one kernel in strips: chains of them that read each other, where that is estimated to be cheaper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, takewhile
from typing import Protocol

from eqsat.ir.dtypes import itemsize
from eqsat.ir.loops import Kernel
from eqsat.ir.tensor import Build, Call, Constant, Reduce, Tensor, scalars, sources
from eqsat.kernels.alike import Alike
from eqsat.kernels.terms import Priced
from eqsat.lowering.folds.short_rows import as_one
from eqsat.lowering.joining.staged import WHOLE_BYTES, Group, Strips, composed, read_whole, strip_rows, strips, turned, windows
from eqsat.pricing.cost_model import CostModel
from eqsat.pricing.nest_costs import nest_ns

# between kernels of a chain there are so many bytes at least
LEAST_BYTES = 128 << 10
# what strips have to save, of what kernels alone cost: estimates of copies that each strip makes are not better than that
LEAST_SAVED = 0.03
# a longer chain saves no more per kernel, and LLVM's time grows with the square of what is in one function
MOST_PRODUCERS = 11
# strips in strips: of a batch, of rows
MOST_WITHIN = 1
# of ways that are estimated to take no more times as long as the fastest that which has the least between its kernels: what is read and
# written goes through the same cache
ALIKE = 1.001
# chains whose last kernels, so many, are steps that do the same, of about the same sizes: once so many of them take so many times as long
# as their kernels alone, others are not tried
SAME_STEPS, MOST_LOST, LOST = 4, 2, 1.25


class Lowering(Protocol):
    """`cheapest`: the cheapest kernel of every group and what it costs, given the names of their tensors; `alike`: what was found for
    chains before."""

    alike: Alike

    def cheapest(self, groups: Sequence[Group], names: Mapping[Tensor, str]) -> Mapping[Group, Priced]: ...


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
    once: Collection[Tensor],
    model: CostModel,
    lowering: Lowering,
) -> tuple[Chain, ...]:
    """The chains worth it, of groups in the order in which they run, which cost so much alone; some tensors stay, for others than kernels
    read them, and some are computed but once."""
    return _Chains(ns, names, frozenset(once), model, lowering).of(groups, stay)


@dataclass(frozen=True)
class _Chains:
    """What makes chains of groups that cost so much alone; `within` so many strips already: those of a batch may be chains of their own, in
    strips of rows."""

    ns: Mapping[Group, float]
    names: Mapping[Tensor, str]
    once: frozenset[Tensor]
    model: CostModel
    lowering: Lowering
    within: int = 0
    lost: Counter[tuple[Hashable, ...]] = field(default_factory=Counter)

    def of(self, groups: Sequence[Group], stay: Collection[Tensor]) -> tuple[Chain, ...]:
        """The chains worth it, of groups in the order in which they run."""
        readers: dict[Tensor, list[Group]] = {}
        for group in groups:
            for tensor in dict.fromkeys(source for build in group for source in sources(build)):
                readers.setdefault(tensor, []).append(group)
        steady = _constant(groups)
        possible = [group for group in groups if all(one not in stay and one not in steady and one in readers for one in group)]
        found: list[Chain] = []
        taken: set[Group] = set()
        for results in reversed(groups):
            if results in taken:
                continue
            producers = _longest(results, [group for group in reversed(possible) if group not in taken], readers)
            saved, chain = max(self.possible(results, producers), key=lambda one: one[0], default=(0.0, None))
            if chain is not None and saved > 0:
                found.append(chain)
                taken |= set(chain.groups)
        return tuple(found)

    def possible(self, results: Group, producers: Sequence[Group]) -> Iterator[tuple[float, Chain]]:
        """Chains that end with these results, and what they save: in strips, and along short rows, those that the last ones go along."""
        whole = (*reversed(producers), results)
        if producers and _bytes(producers) >= LEAST_BYTES and self.lost[steps := (self.within, *_steps(whole))] < MOST_LOST:
            priced, alone = self.priced(whole), self.alone(whole)
            if priced is not None:
                self.lost[steps] += priced[0] > LOST * alone
                yield alone * (1 - LEAST_SAVED) - priced[0], Chain(whole, priced[1])
        alone_made = [group[0] for group in takewhile(lambda group: len(group) == 1, producers)]
        joined = as_one(results, alone_made, self.once) if not self.within else None
        if joined is not None:
            count, build = joined
            ((ns, kernel),) = self.lowering.cheapest([(build,)], {**self.names, build: self.names[results[0]]}).values()
            yield self.alone(whole[-1 - count :]) - ns, Chain(whole[-1 - count :], kernel)

    def alone(self, groups: Sequence[Group]) -> float:
        return sum(self.ns[group] for group in groups)

    def priced(self, groups: Sequence[Group]) -> Priced | None:
        """What a chain costs in strips, and its kernel; None where there is none."""
        known = self.lowering.alike.find(groups, self.names) if not self.within else None
        if known is not None:
            return known[0]
        kernel = self.in_strips(groups)
        priced = None if kernel is None else (self.price(kernel), kernel)
        if not self.within:
            self.lowering.alike.keep(groups, self.names, priced)
        return priced

    def price(self, kernel: Kernel) -> float:
        return nest_ns(kernel, self.model.target, self.model.costs)

    def in_strips(self, groups: Sequence[Group]) -> Kernel | None:
        results = groups[-1]
        found = windows(results, _last_first(groups[-2::-1]))
        assert found is not None
        whole = read_whole(groups, found)
        if whole > WHOLE_BYTES:
            return None
        parts = strips(groups, found, strip_rows(results, found, whole), self.within)
        ways = (parts, turned(parts)) if not self.within else (parts,)
        kernels = [(self.price(kernel), kernel) for way in ways if way is not None for kernel in self.composed(groups, way)]
        least = min((ns for ns, _ in kernels), default=0.0)
        return min((kernel for ns, kernel in kernels if ns <= least * ALIKE), key=_scratch_bytes, default=None)

    def composed(self, groups: Sequence[Group], parts: Strips) -> Iterator[Kernel]:
        """The kernels that run one strip after the other, each as it is, or in strips of its own."""
        results = groups[-1]
        small: dict[Tensor, str] = {part: self.names[made] for part, made in zip(chain(*parts.groups), chain(*groups), strict=True)}
        names = {**self.names, **small}
        cheapest = self.lowering.cheapest(parts.groups, names)
        ns = {group: cheapest[group][0] for group in parts.groups}
        kernels = {group: cheapest[group][1] for group in parts.groups}
        between = [names[build] for group in reversed(groups[:-1]) for build in group]
        plain = composed(list(kernels.values()), parts, results, between)
        if plain is None:
            return
        yield plain
        if self.within == MOST_WITHIN:
            return
        inside = replace(self, ns=ns, names=names, within=self.within + 1)
        for inner in inside.of(parts.groups, parts.groups[-1]):
            *others, last = inner.groups
            kernels = {group: kernel for group, kernel in kernels.items() if group not in others} | {last: inner.kernel}
        nested = composed(list(kernels.values()), parts, results, between)
        if nested is not None:
            yield nested


def _bytes(groups: Sequence[Group]) -> int:
    """What the results of groups take."""
    return sum(build.size * itemsize(build.dtype) for group in groups for build in group)


def _last_first(groups: Iterable[Group]) -> list[Build]:
    """The builds of groups that are given the last first."""
    return [build for group in groups for build in reversed(group)]


def _scratch_bytes(kernel: Kernel) -> int:
    return sum(kernel.bytes[buffer.name] for buffer in kernel.scratch)


def _steps(groups: Sequence[Group]) -> Iterator[Hashable]:
    """What the last groups do, of sizes between the same powers of two: the operations on elements, and how many axes there are."""
    yield groups[-1][0].size.bit_length()
    for build in chain(*groups[-SAME_STEPS:]):
        operations = tuple(term.op if isinstance(term, Call | Reduce) else type(term) for term in scalars(build.body))
        yield len(build.shape), build.dtype, operations


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
        if all(reader == results or reader in found for build in group for reader in readers[build]):
            rows = windows(results, _last_first([*found, group]))
            if rows is not None and len({rows[build] for build in group}) == 1:
                found.append(group)
    return found
