"""Which kernels that read the same arrays, or of which one reads what the other makes, become one, where that is estimated to be cheaper:
what they read is moved once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import ceil

from eqsat.ir.dtypes import itemsize
from eqsat.ir.loops import For, Kernel, statements
from eqsat.ir.tensor import Build, Tensor
from eqsat.lowering.joining.beside import beside
from eqsat.pricing.cycles import Costs
from eqsat.pricing.nest_costs import nest_ns
from eqsat.pricing.target import Target

Made = tuple[Tensor, ...]
# what both read has so many bytes at least, more than the first cache holds; more than the second, where tiles read it again and again
LEAST_BYTES, LEAST_OF_TILES = 1 << 16, 1 << 20
# how many times as much both have to share as what passes between them and could not be scratch memory: the second one could write over it
LEAST_TIMES = 8
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
    lowered: Mapping[Made, Kernel],
    levels: Mapping[Tensor, float],
    stay: Collection[Tensor],
    names: Mapping[Tensor, str],
    target: Target,
    costs: Costs,
) -> Iterator[tuple[Made, Made, Kernel]]:
    """Pairs of kernels, by what they make, and the one kernel that makes both, those first that save most; none is in two pairs.  What
    does not have to `stay`, and nothing else reads, is not stored.

    Both wait for nothing on the level of the first, which ends at a whole number, but the second for what the first one makes; so nothing
    that waits for the one is what the other waits for.
    """
    found: list[tuple[float, Made, Made, Kernel]] = []
    ns: dict[Made, float] = {}
    level_of = {names[tensor]: ceil(level) for tensor, level in levels.items() if tensor in names}

    def level(made: Made) -> int:
        return ceil(levels[made[0]])

    def begins(made: Made, first: Made) -> bool:
        """Whether it may begin with `first`, of which it may read what is made."""
        own = {buffer.name for buffer in lowered[first].outputs} if made != first else set()
        read = (buffer.name for buffer in lowered[made].buffers if buffer.role == "in" and buffer.name not in own)
        return all(level_of.get(name, -1) < level(first) for name in read)

    readers = readers_of(lowered)
    # what a step makes has a price of its own
    large = [made for made, kernel in lowered.items() if _bytes(kernel) >= LEAST_BYTES and all(isinstance(one, Build) for one in made)]
    for one, other in combinations(large, 2):
        rows, parts = sorted((one, other), key=lambda made: (level(made), -_outermost(lowered[made])))
        least = max(map(_least, (lowered[rows], lowered[parts])))
        passing = {names[tensor] for tensor in rows if tensor not in stay and readers.get(names[tensor]) == {parts}}
        shared = _shared(lowered[rows], lowered[parts])
        if shared < least or not (begins(rows, rows) and begins(parts, rows)):
            continue
        kernel = beside(lowered[rows], lowered[parts], passing)
        if kernel is None and passing and _passed(lowered[rows], passing) * LEAST_TIMES <= shared:
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


def _least(kernel: Kernel) -> int:
    """How many bytes a kernel has to share with another that is to be one with it."""
    return LEAST_OF_TILES if any(isinstance(stmt, For) and stmt.kind == "tile" for stmt in statements(kernel.body)) else LEAST_BYTES


def _bytes(kernel: Kernel) -> int:
    """Bytes of all that it reads and writes."""
    return sum(buffer.size * itemsize(buffer.dtype) for buffer in kernel.buffers)


def _shared(one: Kernel, other: Kernel) -> int:
    """Bytes of what both read, or the second one reads of what the first one stores."""
    known = {buffer.name: buffer.size * itemsize(buffer.dtype) for buffer in one.buffers}
    return sum(known.get(buffer.name, 0) for buffer in other.buffers if buffer.role == "in")


def _passed(kernel: Kernel, names: Collection[str]) -> int:
    """Bytes of what a kernel makes by these names."""
    return sum(buffer.size * itemsize(buffer.dtype) for buffer in kernel.outputs if buffer.name in names)


def _outermost(kernel: Kernel) -> int:
    """How many iterations the first loop has."""
    return next((stmt.variable.extent for stmt in kernel.body if isinstance(stmt, For)), 0)
