"""Which kernels that read the same arrays become one, where that is estimated to be cheaper: what they read is moved once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import ceil

from eqsat.ir.dtypes import itemsize
from eqsat.ir.loops import For, Kernel
from eqsat.ir.tensor import Build, Tensor
from eqsat.lowering.joining.beside import beside
from eqsat.pricing.cycles import Costs
from eqsat.pricing.nest_costs import nest_ns
from eqsat.pricing.target import Target

Made = tuple[Tensor, ...]
# what both read has so many bytes at least, more than the first caches hold
LEAST_BYTES = 1 << 20
# what one kernel has to save of what two cost: estimates are not better than that
LEAST_SAVED = 0.005


@dataclass(frozen=True)
class Chain:
    """A kernel for several that read each other, by what they make, of which the last are the results."""

    made: tuple[Made, ...]
    kernel: Kernel


def readers_of(lowered: Mapping[Made, Kernel]) -> dict[str, set[Made]]:
    """The kernels that read each buffer, by what they make."""
    readers: dict[str, set[Made]] = {}
    for made, kernel in lowered.items():
        for buffer in kernel.buffers:
            if buffer.role == "in":
                readers.setdefault(buffer.name, set()).add(made)
    return readers


def joined(
    lowered: Mapping[Made, Kernel], levels: Mapping[Tensor, float], names: Mapping[Tensor, str], target: Target, costs: Costs
) -> Iterator[tuple[Made, Made, Kernel]]:
    """Pairs of kernels, by what they make, and the one kernel that makes both, those first that save most; none is in two pairs.

    Both wait for nothing on their level, which ends at a whole number, so nothing that waits for the one is what the other waits for.
    """
    found: list[tuple[float, Made, Made, Kernel]] = []
    ns: dict[Made, float] = {}
    level_of = {names[tensor]: ceil(level) for tensor, level in levels.items() if tensor in names}

    def begins(made: Made) -> bool:
        read = (buffer.name for buffer in lowered[made].buffers if buffer.role == "in")
        of_builds = all(isinstance(tensor, Build) for tensor in made)  # what a step makes has a price of its own
        return of_builds and all(level_of.get(name, -1) < ceil(levels[made[0]]) for name in read)

    large = [made for made, kernel in lowered.items() if _shared(kernel, kernel) >= LEAST_BYTES and begins(made)]
    for one, other in combinations(large, 2):
        if ceil(levels[one[0]]) != ceil(levels[other[0]]) or _shared(lowered[one], lowered[other]) < LEAST_BYTES:
            continue
        rows, parts = sorted((one, other), key=lambda made: -_outermost(lowered[made]))
        kernel = beside(lowered[rows], lowered[parts])
        if kernel is not None:
            ns |= {made: nest_ns(lowered[made], target, costs) for made in (rows, parts) if made not in ns}
            apart = ns[rows] + ns[parts]
            saved = apart - nest_ns(kernel, target, costs)
            if saved > LEAST_SAVED * apart:
                found.append((saved, rows, parts, kernel))
    taken: set[Made] = set()
    for _, rows, parts, kernel in sorted(found, key=lambda pair: -pair[0]):
        if taken.isdisjoint((rows, parts)):
            taken |= {rows, parts}
            yield rows, parts, kernel


def _shared(one: Kernel, other: Kernel) -> int:
    """Bytes of what both read."""
    read = {buffer.name: buffer.size * itemsize(buffer.dtype) for buffer in one.buffers if buffer.role == "in"}
    return sum(read.get(buffer.name, 0) for buffer in other.buffers if buffer.role == "in")


def _outermost(kernel: Kernel) -> int:
    """How many iterations the first loop has."""
    return next((stmt.variable.extent for stmt in kernel.body if isinstance(stmt, For)), 0)
