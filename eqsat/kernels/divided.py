"""Builds that are computed by several kernels: long reductions in parts, and, where it is estimated to be cheaper, rows of sums in parts,
products of complex numbers as real ones, products of a factor that is turned before or in another order, folds that conditions choose
among, what is made of folds and folded, functions of folds, and half of symmetric products."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import NamedTuple

from eqsat.ir.dtypes import itemsize
from eqsat.ir.loops import Kernel
from eqsat.ir.tensor import Build, Tensor
from eqsat.kernels.terms import Group, Lowering, Priced
from eqsat.lowering.folds.parted import MORE_TERMS, columns_in_parts, in_parts, row_in_parts, rows_in_parts
from eqsat.lowering.nest import Stages
from eqsat.lowering.products.across import left_turned
from eqsat.lowering.products.branches_first import branches_first
from eqsat.lowering.products.complex_products import in_reals
from eqsat.lowering.products.operand_order import batches_last, in_operand_order
from eqsat.lowering.products.symmetric import in_triangle
from eqsat.lowering.products.terms_first import places_first, terms_first
from eqsat.lowering.sharing.folds_first import folds_across, folds_apart, folds_first
from eqsat.lowering.sharing.functions_last import functions_last
from eqsat.lowering.sharing.rows_first import rows_first
from eqsat.lowering.sharing.spread import spread
from eqsat.options import Options

# folds are computed apart where results are so many times what the second cache holds, or else where that is estimated to take such a part
# of the time
FAR, NEAR_GAIN = 1.5, 0.6
# rows that are shared are made first where that is estimated to take such a part of the time
ROW_GAIN = 0.9


class Divided(NamedTuple):
    """Builds of one kernel as several, by what they make: groups that are made one after the other, and the builds over them.

    ns      what they cost together
    shares  which part of that each has
    names   of what is made before the builds
    """

    builds: Group
    ns: float
    kernels: Mapping[tuple[Tensor, ...], Kernel]
    shares: Mapping[tuple[Tensor, ...], float]
    names: Mapping[Tensor, str]

    def levels(self, level: float) -> dict[Tensor, float]:
        """Where what is made before the builds comes, between their level and the one before, which are whole numbers."""
        before = [group for group in self.kernels if group != self.builds]
        steps = len(before) + 1
        return {tensor: level - 1 + number / steps for number, group in enumerate(before, 1) for tensor in group}


def divided(groups: Mapping[Group, float], names: Mapping[Tensor, str], lowering: Lowering) -> Iterator[Divided]:
    """Groups of builds, given with what one kernel of each costs, that are several: long reductions, which threads share, and products and
    rows of sums that cost less so."""
    for group, ns in groups.items():
        parts = _in_parts(group)
        ways = [] if parts is None else [(parts, inf)]
        if len(group) > 1:
            rows = rows_in_parts(group) if lowering.options.numerics != "exact" else None
            ways += [] if rows is None else [(rows, ns)]
        else:
            if parts is not None and (shared := _shared_and_in_parts(group[0])) is not None:
                ways.append((shared, inf))
            first = folds_first(group[0])
            if parts is not None:
                ways += [(_over_one(way), inf) for way in terms_first(group[0])]
            # long reductions are always in parts, which threads share
            ways = ways if first is None else [(_over_one(first), ns if parts is None else inf), *ways]
            ways = ways or [(_over_one(way), most) for way, most in _ways(group[0], ns, lowering.options)]
        priced = ((_priced(group, *way, names, lowering), most) for way, most in ways)
        found = min((one for one, most in priced if one[0] < most), key=lambda one: one[0], default=None)
        if found is not None:
            yield found[1]


# what is made before builds, and the builds over it
Way = tuple[Stages, Group]


def _in_parts(group: Group) -> Way | None:
    """Long reductions in parts, as many of each; None where one of them is none, or the numbers of parts differ."""
    found = [in_parts(build) for build in group]
    known = [way for way in found if way is not None]
    made = [build for stages, _ in known for build in stages[0]]
    if len(known) < len(found) or len({build.shape for build in made}) != 1:
        return None
    return (tuple(dict.fromkeys(made)),), tuple(build for _, build in known)


def _shared_and_in_parts(build: Build) -> Way | None:
    """A long reduction in parts, of rows that these share; None where there is none, or they share none."""
    shared = rows_first(build)
    parts = None if shared is None else _in_parts((shared[1],))
    return None if shared is None or parts is None else ((*shared[0], *parts[0]), parts[1])


def _over_one(way: tuple[Stages, Build]) -> Way:
    stages, build = way
    return stages, (build,)


def _ways(build: Build, ns: float, options: Options) -> Iterator[tuple[tuple[Stages, Build], float]]:
    """The ways to compute a product, a row of sums, or folds of folds by several kernels, and what each may cost at the most: less than the
    one kernel, which costs `ns`."""
    reals = in_reals(build, finite=options.numerics == "fast")
    rows, columns = (row_in_parts(build), columns_in_parts(build, MORE_TERMS)) if options.numerics != "exact" else (None, None)
    ways = (left_turned, in_operand_order, batches_last, branches_first, places_first, spread, functions_last)
    yield from ((way, ns) for way in (reals, rows, columns, *(way(build) for way in ways)) if way is not None)
    if (shared := rows_first(build)) is not None:
        yield shared, ns * ROW_GAIN
    for apart in (folds_apart(build), folds_across(build)):
        if apart is None:
            continue
        is_far = build.size * itemsize(build.dtype) >= FAR * options.target.cache_bytes[1]
        yield apart, ns if is_far else ns * NEAR_GAIN
    yield from ((way, ns) for way in (*in_triangle(build), *terms_first(build)))


def _priced(group: Group, stages: Stages, whole: Group, names: Mapping[Tensor, str], lowering: Lowering) -> tuple[float, Divided]:
    """What builds as several kernels cost, and the kernels."""
    made = [tensor for stage in stages for tensor in stage]
    # two builds may be made of one tensor
    own: dict[Tensor, str] = {tensor: names.get(tensor, f"{names[group[0]]}_parts{number or ''}") for number, tensor in enumerate(made)}
    over: dict[Tensor, str] = {build: names[given] for build, given in zip(whole, group, strict=True)}
    priced = lowering.cheapest([*stages, whole], {**names, **own, **over})
    total = sum(ns for ns, _ in priced.values())
    made_by: dict[tuple[Tensor, ...], Priced] = {**{stage: priced[stage] for stage in stages}, group: priced[whole]}
    kernels = {one: kernel for one, (_, kernel) in made_by.items()}
    return total, Divided(group, total, kernels, {one: ns / (total or 1) for one, (ns, _) in made_by.items()}, own)
