"""Loops for steps: running sums, and values put or added at places.  Others are calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from eqsat.ir.dtypes import carrier
from eqsat.ir.host import keywords
from eqsat.ir.loops import Buffer, Kernel
from eqsat.ir.ops import BOOL_FOLD, FOLD_OF
from eqsat.ir.steps import HostCall, Parts, PlacedStep
from eqsat.ir.tensor import Build, Size, Tensor, sources, tensors
from eqsat.lowering.scan import is_ahead, is_of_rows, scan
from eqsat.lowering.scatter import MOST_ALONE, Given, computed, scattered, stored, together

Made = tuple[Tensor, ...]
# arrays that one loop adds to
MOST_TOGETHER = 6
# functions of NumPy that loops compute as well
SCANS = {"cumulative_sum": "sum", "cumulative_prod": "prod", "cumulative_max": "max", "cumulative_min": "min"}
SCATTERS = {"scatter": None, **{f"scatter_{op}": fold for op, fold in FOLD_OF.items()}}


def step_kernel(
    placed: PlacedStep, names: Mapping[Tensor, str], sizes: tuple[Size, ...], within: Container[Tensor] = (), alone: bool = True
) -> Kernel | None:
    """Loops for a step, where there are some; `within`: tensors that they compute as they read them; `alone`: whether the kernel does
    nothing else."""
    step = placed.step
    if not isinstance(step, HostCall):
        return None
    if (found := scan_of(placed)) is not None:
        return _scan(placed, found, names, sizes)
    if step.invocation.function in SCATTERS:
        return _scatter(placed, step, names, sizes, within, alone)
    return None


def at_same_places(
    steps: Sequence[PlacedStep], levels: Mapping[Tensor, float], names: Mapping[Tensor, str], within: Container[Tensor]
) -> Iterator[tuple[tuple[Made, ...], Kernel]]:
    """Steps by what they make that put values at the same places, none of which waits for another, and the kernel that is all of them."""
    groups: dict[Hashable, list[PlacedStep]] = {}
    for placed in steps:
        if isinstance(placed.step, HostCall) and placed.step.invocation.function in SCATTERS:
            (made,), places = placed.results, placed.given[1]
            groups.setdefault((levels[made], places.size, sources(places) if isinstance(places, Build) else places), []).append(placed)
    for several in groups.values():
        kernels = [step_kernel(placed, names, (), within, alone=False) for placed in several[:MOST_TOGETHER]]
        found = [kernel for kernel in kernels if kernel is not None]
        if len(found) == len(kernels) > 1 and (kernel := together(found)) is not None:
            yield tuple(placed.results for placed in several[:MOST_TOGETHER]), kernel


def made_within(parts: Parts, kept: Collection[Tensor], names: Mapping[Tensor, str]) -> frozenset[Tensor]:
    """The builds that nothing reads but loops of steps, each once for each element, which compute them then; none that is `kept`."""
    program = parts.around
    if program.sizes:
        return frozenset()
    read = Counter(source for tensor in tensors(*program.outputs) if isinstance(tensor, Build) for source in dict.fromkeys(sources(tensor)))
    read += Counter(given for placed in parts.steps for given in placed.given) + Counter({*parts.outputs, *kept})
    loops = [one for one in parts.steps if isinstance(one.step, HostCall) and one.step.invocation.function in SCATTERS]
    given = [(tensor, tensor is one.given[0]) for one in loops if step_kernel(one, names, ()) is not None for tensor in one.given]
    times = Counter(tensor for tensor, _ in given)
    alone = [(tensor, first) for tensor, first in given if isinstance(tensor, Build) and read[tensor] == times[tensor]]
    short = [tensor for tensor, first in alone if not first or tensor.size <= MOST_ALONE]
    return frozenset(tensor for tensor in short if computed(tensor, names) is not None)


@dataclass(frozen=True)
class Running:
    """A running fold along an axis; `initial`: whether the value that an empty one has stands in front."""

    op: str
    axis: int
    initial: bool


def scan_of(placed: PlacedStep) -> Running | None:
    """The running fold that a step is, where it is one."""
    step = placed.step
    if not isinstance(step, HostCall) or step.invocation.function not in SCANS:
        return None
    named, (made,) = keywords(step.invocation, 1), placed.results
    op = SCANS[step.invocation.function]
    return Running(BOOL_FOLD.get(op, op) if made.dtype == "bool" else op, int(named["axis"]), bool(named.get("include_initial", False)))


def _scan(placed: PlacedStep, found: Running, names: Mapping[Tensor, str], sizes: tuple[Size, ...]) -> Kernel | None:
    (given,), (made,), axis = placed.given, placed.results, found.axis
    if not given.size or not is_of_rows(given.shape, axis, sizes) or not is_ahead(found.op, made.dtype, prod(given.shape[axis + 1 :])):
        return None
    source, result = Buffer(names[given], given.dtype, given.size, "in"), Buffer(names[made], made.dtype, made.size, "out")
    return scan(found.op, given.shape, axis, found.initial, source, result, placed.name, sizes)


def _scatter(
    placed: PlacedStep, step: HostCall, names: Mapping[Tensor, str], sizes: tuple[Size, ...], within: Container[Tensor], alone: bool
) -> Kernel | None:
    (first, places, values), (made,) = placed.given, placed.results
    if carrier(made.dtype) != made.dtype:  # NumPy rounds sums of 16 bits at every step
        return None
    if any(size.marker in tensor.shape for size in sizes for tensor in placed.given):
        return None

    def element(tensor: Tensor) -> Given:
        found = computed(tensor, names) if isinstance(tensor, Build) and tensor in within else None
        return stored(Buffer(names[tensor], tensor.dtype, tensor.size, "in")) if found is None else found

    combine = SCATTERS[step.invocation.function]
    combine = BOOL_FOLD.get(combine, combine) if combine is not None and made.dtype == "bool" else combine
    result = Buffer(names[made], made.dtype, made.size, "out")
    axis = int(keywords(step.invocation, 3).get("axis", 0))
    return scattered(first.shape, axis, (element(first), element(places), element(values)), result, combine, placed.name, sizes, alone)
