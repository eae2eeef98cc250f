"""Builds of one shape that wait for the same kernels and read some array in common are siblings: one nest may compute them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eqsat.ir.steps import PlacedStep
from eqsat.ir.tensor import Build, Shape, Tensor, sources
from eqsat.kernels.terms import Group
from eqsat.pricing.cost_model import CostModel
from eqsat.pricing.costs import kernel_ns

Levels = Mapping[Tensor, float]


def levels_of(builds: Sequence[Build], steps: Sequence[PlacedStep]) -> dict[Tensor, float]:
    """By build, and by result of a step, the length of the longest chain of builds and steps that has to be computed before."""
    levels: dict[Tensor, float] = {}
    made = {result: step for step in steps for result in step.results}

    def level(tensor: Tensor) -> float:
        if tensor in made and tensor not in levels:
            levels[tensor] = 1 + max((level(given) for given in made[tensor].given), default=-1)
        return levels.get(tensor, -1)

    for build in builds:  # what steps are given comes first
        levels[build] = 1 + max((level(source) for source in sources(build)), default=-1)
    for result in made:
        level(result)
    return levels


def siblings_of(builds: Sequence[Build], levels: Levels) -> list[Group]:
    """Builds of one shape on one level that read some tensor in common with another of them."""
    alike: dict[tuple[float, Shape], list[Build]] = {}
    for build in builds:
        alike.setdefault((levels[build], build.shape), []).append(build)
    related = ([one for one in group if any(_share(one, other) for other in group if other is not one)] for group in alike.values())
    return [tuple(group) for group in related if len(group) > 1]


def _share(one: Build, other: Build) -> bool:
    return not set(sources(one)).isdisjoint(sources(other))


def chosen(builds: Sequence[Build], siblings: Sequence[Group], ns: Mapping[Group, float], model: CostModel) -> list[Group]:
    """Siblings together where that is cheaper."""
    together = [group for group in siblings if is_cheaper([group], [(one,) for one in group], ns, model)]
    group_of = {build: (build,) for build in builds} | {build: group for group in together for build in group}
    return list(dict.fromkeys(group_of[build] for build in builds))


def is_cheaper(some: Sequence[Group], others: Sequence[Group], ns: Mapping[Group, float], model: CostModel) -> bool:
    """Whether some kernels cost less than others in their place: by the objective of the caller, where there is one, and then by their
    loops."""
    here, there = sum(ns[group] for group in some), sum(ns[group] for group in others)
    if model.costs.objective is None:
        return here < there
    asked = [sum(kernel_ns(model, *group) for group in groups) for groups in (some, others)]
    return (asked[0], here) < (asked[1], there)
