"""Which running sums are one kernel with what they are of, and with what is made of them, where that is estimated to be cheaper."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from eqsat.ir.loops import Kernel
from eqsat.ir.steps import PlacedStep
from eqsat.ir.tensor import Build, Tensor, sources
from eqsat.kernels.joined import Chain, Made, readers_of
from eqsat.kernels.step_loops import scan_of
from eqsat.kernels.terms import Group
from eqsat.lowering.joining.scanned import Scan, scanned
from eqsat.pricing.cycles import Costs
from eqsat.pricing.nest_costs import nest_ns
from eqsat.pricing.target import Target

# what one kernel has to save of what several cost: estimates are not better than that
LEAST_SAVED = 0.03
# a kernel with its index terms simplified, and what it costs
Pricing = Callable[[Kernel], tuple[float, Kernel]]


def only_scanned(builds: Sequence[Build], stay: Collection[Tensor], steps: Sequence[PlacedStep]) -> set[Tensor]:
    """What nothing reads but running sums, which may compute it on the way."""
    scans = [placed for placed in steps if scan_of(placed) is not None]
    elsewhere = {source for build in builds for source in sources(build)}.union(stay)
    elsewhere.update(given for placed in steps if placed not in scans for given in placed.given)
    return {given for placed in scans for given in placed.given} - elsewhere


def taken_apart(group: Group, scanned: Collection[Tensor]) -> list[Group]:
    """Builds that are one kernel, unless running sums compute each of them."""
    return [(build,) for build in group] if set(scanned).issuperset(group) else [group]


def scan_chains(
    lowered: Mapping[Made, Kernel],
    stay: Collection[Tensor],
    steps: Sequence[PlacedStep],
    names: Mapping[Tensor, str],
    target: Target,
    costs: Costs,
    priced: Pricing,
) -> Iterator[Chain]:
    """The chains worth it of kernels, each with one of the steps; some tensors stay, for others than kernels read them."""
    readers = readers_of(lowered)
    gone: set[Made] = set()

    def only(reader: Made, tensor: Tensor) -> bool:
        """Whether nothing but one kernel reads a tensor."""
        return tensor not in stay and readers.get(names[tensor]) == {reader}

    def as_they_are(made: Made) -> tuple[Build, ...]:
        """What a kernel makes if it is builds, of which it reads what these do: of one in strips that is gone."""
        read = {buffer.name for buffer in lowered[made].buffers if buffer.role == "in"} if made in lowered else set[str]()
        builds = tuple(build for build in made if isinstance(build, Build) and read.issuperset(names[source] for source in sources(build)))
        return builds if len(builds) == len(made) else ()

    for placed in steps:
        found = scan_of(placed) if placed.results in lowered else None
        if found is None or found.initial:  # the result is longer than what it is of
            continue
        (source,), (result,) = placed.given, placed.results
        before = next(iter(as_they_are((source,))), None) if only((result,), source) else None
        after = next((made for made in readers.get(names[result], ()) if only(made, result)), ())
        best: tuple[float, Chain | None] = 0.0, None
        for computed, made in itertools.product(dict.fromkeys((before, None)), dict.fromkeys((as_they_are(after), ()))):
            chain = tuple(one for one in ((computed,) if computed else (), (result,), made) if one)
            if len(chain) < 2 or not gone.isdisjoint(chain):
                continue
            one = scanned(Scan(found.op, found.axis, source, result, computed, made), "kernel", names)
            if one is not None:
                ns, kernel = priced(one)
                saved = sum(nest_ns(lowered[each], target, costs) for each in chain) * (1 - LEAST_SAVED) - ns
                best = max(best, (saved, Chain(chain, kernel)), key=lambda one: one[0])
        if best[1] is not None:
            gone |= set(best[1].made)
            yield best[1]
