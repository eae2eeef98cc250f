"""Builds that are computed by several kernels: long reductions in parts, and, where it is estimated to be cheaper, rows of sums in parts,
products of complex numbers as real ones, products of a factor that is turned before, folds that conditions choose
among, and half of symmetric products."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from eqsat.ir.loops import Kernel
from eqsat.ir.tensor import Build, Tensor
from eqsat.kernels.alike import Group, Priced
from eqsat.lowering.across import left_turned
from eqsat.lowering.branches_first import branches_first
from eqsat.lowering.complex_products import in_reals
from eqsat.lowering.folds_first import folds_first
from eqsat.lowering.nest import Stages
from eqsat.lowering.parted import in_parts, row_in_parts
from eqsat.lowering.symmetric import in_triangle
from eqsat.options import Options


class Lowering(Protocol):
    """`cheapest`: the cheapest kernel of every group and what it costs, given the names of their tensors."""

    options: Options

    def cheapest(self, groups: Iterable[Group], names: Mapping[Tensor, str]) -> Mapping[Group, Priced]: ...


class Divided(NamedTuple):
    """A build as several kernels, by what they make: groups that are made one after the other, and the build over them.

    shares  which part of the cost of the build each has
    names   of what is made before the build
    """

    build: Build
    kernels: Mapping[tuple[Tensor, ...], Kernel]
    shares: Mapping[tuple[Tensor, ...], float]
    names: Mapping[Tensor, str]

    def levels(self, level: float) -> dict[Tensor, float]:
        """Where what is made before the build comes, between its level and the one before, which are whole numbers."""
        before = [group for group in self.kernels if group != (self.build,)]
        steps = len(before) + 1
        return {tensor: level - 1 + number / steps for number, group in enumerate(before, 1) for tensor in group}


def divided(alone: Mapping[Build, float], names: Mapping[Tensor, str], lowering: Lowering) -> Iterator[Divided]:
    """Builds, given with what one kernel of each costs, that are several: long reductions, which threads share, and products and rows of
    sums that cost less so."""
    for build, ns in alone.items():
        first, parts = folds_first(build), in_parts(build)
        ways = [way for way in (first, parts) if way is not None] or _ways(build, lowering.options)
        found = min((_priced(build, *way, names, lowering) for way in ways), key=lambda priced: priced[0], default=None)
        if found is not None and (parts is not None or found[0] < ns):
            yield found[1]


def _ways(build: Build, options: Options) -> list[tuple[Stages, Build]]:
    """The ways to compute a product, or a row of sums, by several kernels."""
    reals = in_reals(build, finite=options.numerics == "fast")
    rows = row_in_parts(build) if options.numerics != "exact" else None
    return [*(way for way in (reals, rows, left_turned(build), branches_first(build)) if way is not None), *in_triangle(build)]


def _priced(build: Build, stages: Stages, whole: Build, names: Mapping[Tensor, str], lowering: Lowering) -> tuple[float, Divided]:
    """What a build as several kernels costs, and the kernels."""
    made = [tensor for stage in stages for tensor in stage]
    # two builds may be made of one tensor
    own: dict[Tensor, str] = {tensor: names.get(tensor, f"{names[build]}_parts{number or ''}") for number, tensor in enumerate(made)}
    priced = lowering.cheapest([*stages, (whole,)], {**names, **own, whole: names[build]})
    total = sum(ns for ns, _ in priced.values())
    made_by: dict[tuple[Tensor, ...], Priced] = {**{stage: priced[stage] for stage in stages}, (build,): priced[whole,]}
    kernels = {group: kernel for group, (_, kernel) in made_by.items()}
    return total, Divided(build, kernels, {group: ns / (total or 1) for group, (ns, _) in made_by.items()}, own)
