"""From an extracted program to the loop nests that run it: candidates lowered, their indices simplified, priced, one picked.

Siblings (siblings.py) are lowered and priced in both ways, each alone and all in one nest.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from eqsat.capture.compared import compared_with_itself
from eqsat.ir.loops import Kernel, map_indices
from eqsat.ir.loops_check import check_kernel
from eqsat.ir.steps import Loop, Parts, PlacedStep
from eqsat.ir.tensor import Build, Constant, Program, Size, Tensor, tensors
from eqsat.kernels.alike import Alike
from eqsat.kernels.copies import PutTogether, copies, put_together
from eqsat.kernels.divided import Divided, divided
from eqsat.kernels.joined import Made, joined
from eqsat.kernels.loop_terms import simplifier
from eqsat.kernels.on_the_way import OnTheWay, on_the_way
from eqsat.kernels.row_chains import row_chains
from eqsat.kernels.scans import only_scanned, scan_chains, taken_apart
from eqsat.kernels.siblings import chosen, levels_of, siblings_of
from eqsat.kernels.staging import chains
from eqsat.kernels.step_loops import StepBody, at_same_places, loop_kernel, made_within, step_kernel
from eqsat.kernels.terms import Group, Priced
from eqsat.kernels.tuning import Tuner
from eqsat.lowering import candidates, hoist, in_place
from eqsat.lowering.candidates import Schedules
from eqsat.lowering.ranges.size_seams import LEAST_SIZE
from eqsat.options import Options
from eqsat.pricing.cost_model import CostModel
from eqsat.pricing.cycles import Costs
from eqsat.pricing.nest_costs import nest_ns
from eqsat.pricing.target import Target, near
from eqsat.report import Report

# rows of blocks, in which what ends at sizes is computed too: one, where there is enough in a row, and enough for tiles of several widths
ROWS = (1, 8, 64)
# how many times as fast as those of fewer rows such a kernel has to be to be compiled as well
GAIN = 1.05
# what a call takes longer that copies what is kept, which is done in Python
COPIED_NS = 15_000.0
# a kernel for all steps of a loop takes no longer
LONGEST_NS = 50_000_000.0


# what kernels are chosen for
Chosen = TypeVar("Chosen", bound=Hashable)


@dataclass(frozen=True)
class InRows:
    """A kernel that computes the same for sizes of this `least` and more in blocks of so many rows, so many times as fast where they are
    whole; one that is cut at seams has blocks of one row.  `ns`: what it is estimated to take, as the kernel in whose place it is."""

    kernel: Kernel
    rows: int
    least: int
    gain: float
    ns: float


@dataclass(frozen=True)
class PlacedKernel:
    """A kernel with the tensors that it computes, which are builds or the results of a step, and the tensors of its buffers, those that it
    computes last.

    over    (tensor that it reads, tensor that it computes): in one memory, where the one is written over the other
    apart   then the kernel and the tensors of its buffers with memory for each
    within  tensors that are computed on the way, strip by strip or row by row
    part_of  groups of builds that it computes together with other kernels, and which part of the cost of each it has
    in_rows  kernels of the same for sizes that are large enough
    once     whether it is run when a plan is loaded: it is made of nothing but constants, so it computes the same in every call
    """

    kernel: Kernel
    made: tuple[Tensor, ...]
    tensors: tuple[Tensor, ...]
    over: tuple[tuple[Tensor, Tensor], ...] = ()
    apart: tuple[Kernel, tuple[Tensor, ...]] | None = None
    within: tuple[Tensor, ...] = ()
    part_of: tuple[tuple[Group, float], ...] = ()
    in_rows: tuple[InRows, ...] = ()
    once: bool = False

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Its kernel, and the others for sizes that are large enough."""
        return (self.kernel, *(one.kernel for one in self.in_rows))

    @property
    def builds(self) -> Group:
        return _builds(self.made)

    @property
    def builds_within(self) -> Group:
        return _builds(self.within)

    @property
    def has_steps(self) -> bool:
        """Whether some of what it computes is no build: then its price is that of its loops."""
        return not all(isinstance(tensor, Build) for tensor in (*self.within, *self.made))

    @property
    def priced(self) -> tuple[tuple[Group, float], ...]:
        """The groups of builds whose cost it has, and which part of it."""
        return self.part_of or ((self.builds, 1.0),)

    @property
    def read(self) -> tuple[Tensor, ...]:
        """The tensors that it reads, those of its buffers first."""
        return (*self.tensors[: -len(self.made)], *(tensor for tensor, _ in self.over))


def _builds(made: Iterable[Tensor]) -> Group:
    return tuple(tensor for tensor in made if isinstance(tensor, Build))


def lower_program(
    parts: Parts, options: Options, report: Report, kept: Collection[Tensor] = (), bodies: Mapping[str, StepBody] | None = None
) -> tuple[PlacedKernel, ...]:
    """Loop nests for all tensors that a program stores around its steps, and for steps that loops can make, in execution order; `kept` are
    read after all of them, `bodies` those of its loops by the names of steps."""
    lowering, model = _Lowering(parts.around.sizes, options, report), CostModel(options.target, options.cost)
    names = _names(parts.around)
    known = bodies or {}
    tried = {one.name: _loop_kernel(one, known, names, lowering) for one in parts.steps}
    loops = {name: kernel for name, kernel in tried.items() if kernel is not None}
    found = on_the_way(parts, kept, made_within(parts, kept, names, loops), model, lowering)
    nests = _nests(found, model, lowering, {name: known[name] for name in loops})
    return tuple(_as_before(nest, found) for nest in nests) if found.before else nests


def _names(program: Program) -> dict[Tensor, str]:
    """The names of all tensors of a program in its kernels."""
    names: dict[Tensor, str] = {tensor: tensor.name for tensor in program.inputs}
    for tensor in tensors(*program.outputs):
        names.setdefault(tensor, f"t{len(names)}")
    return names


def _nests(rewritten: OnTheWay, model: CostModel, lowering: _Lowering, bodies: Mapping[str, StepBody]) -> tuple[PlacedKernel, ...]:
    parts, kept, options = rewritten.parts, rewritten.kept, lowering.options
    program = parts.around
    builds = [tensor for tensor in tensors(*program.outputs) if isinstance(tensor, Build)]
    names, levels, within = _names(program), levels_of(builds, parts.steps), rewritten.apart
    elsewhere = within.union(*rewritten.groups)
    others = [build for build in builds if build not in elsewhere]
    siblings = siblings_of(others, levels)
    stay = {*kept, *program.outputs, *rewritten.read_apart}
    summed = only_scanned(builds, {*kept, *parts.outputs}, parts.steps)
    together = [one for group in rewritten.groups for one in taken_apart(group, summed)]
    picked = lowering.picked([*((build,) for build in others), *siblings, *together], names)
    ns = {group: priced for group, (priced, _) in picked.items()}
    side_by_side = [one for group in chosen(others, siblings, ns, model) for one in taken_apart(group, summed)]
    groups = sorted([*side_by_side, *together], key=lambda group: levels[group[0]])
    found = _Found({group: picked[group][1] for group in groups}, names, levels)
    running: dict[Made, Kernel] = {}
    running |= {one.results: kernel for one in parts.steps if (kernel := step_kernel(one, names, program.sizes, within)) is not None}
    running = lowering.simplified(running)
    every_step = ((one.results, _loop_kernel(one, bodies, names, lowering, within)) for one in parts.steps)
    running |= {made: kernel for made, kernel in every_step if kernel is not None}
    found.kernels |= running
    if not program.sizes:
        parts_of, known = dict[Group, Divided](), dict(names)
        for several in divided({group: ns[group] for group in groups}, known, lowering) if options.numerics != "exact" else ():
            parts_of[several.builds] = several
            known |= several.names
        alone = ns | {group: several.ns for group, several in parts_of.items()}
        for chain in chains(groups, alone, names, stay, compared_with_itself(program, options.numerics), model, lowering):
            found.one_for(chain.groups, chain.kernel)
        for several in (several for group, several in parts_of.items() if group in found.kernels and group not in found.within):
            found.several_for(several)
        given = {tensor for placed in parts.steps if placed.results not in running for tensor in placed.given}
        shown = {*kept, *parts.outputs, *given}
        for scan in list(scan_chains(found.kernels, shown, parts.steps, names, options.target, options.cost, lowering.priced)):
            found.one_for(scan.made, scan.kernel)
            running |= {scan.made[-1]: scan.kernel}
        for rows in list(row_chains(found.kernels, found.order, shown, running, names, options.target, options.cost)):
            found.one_for(rows.made, rows.kernel)
        for several_made, kernel in lowering.simplified(dict(at_same_places(parts.steps, levels, names, within))).items():
            found.side_by_side(several_made, kernel)
        while (part := next(put_together(found.kernels, found.levels, shown, names), None)) is not None:
            found.in_place(part)
        while pairs := list(joined(found.kernels, found.levels, {*kept, *parts.outputs}, names, options.target, options.cost)):
            for one, other, kernel in pairs:
                found.side_by_side((one, other), kernel)
        while (found_copy := next(copies(found.kernels, shown | stay, names), None)) is not None:
            found.at_once(*found_copy)
    in_rows = lowering.in_rows({group: found.kernels[group] for group in groups}, names) if program.sizes else {}
    return tuple(_finished(nest) for nest in _written_over(_placed(found, program.sizes, in_rows, parts.outputs, model), levels, stay))


def _placed(
    found: _Found, sizes: Sequence[Size], in_rows: Mapping[Group, tuple[InRows, ...]], outputs: Collection[Tensor], model: CostModel
) -> list[PlacedKernel]:
    """The kernels in the order in which they run, with the tensors of their buffers; which of them are run once, since they are made of
    nothing but constants."""
    by_name = {name: tensor for tensor, name in found.names.items()}
    nests: list[PlacedKernel] = []
    same: set[Tensor] = set()
    for made in found.order:
        kernel = replace(found.kernels[made], name=f"kernel_{len(nests)}")
        called_with = tuple(by_name[buffer.name] for buffer in kernel.buffers)
        nest = PlacedKernel(kernel, made, called_with, within=found.within.get(made, ()), part_of=found.part_of.get(made, ()))
        once = not sizes and all(isinstance(tensor, Constant) or tensor in same for tensor in nest.read)
        if once and not (same.isdisjoint(nest.read) and _is_as_cheap_as_its_copies(nest, outputs, model)):
            same.update(made)
        nests.append(replace(nest, in_rows=in_rows.get(nest.builds, ()), once=made[0] in same))
    return nests


def _loop_kernel(
    placed: PlacedStep, bodies: Mapping[str, StepBody], names: dict[Tensor, str], lowering: _Lowering, within: Collection[Tensor] = ()
) -> Kernel | None:
    """A loop as one kernel; none that takes long, since calls of machine code are not interrupted."""
    if not isinstance(placed.step, Loop) or placed.name not in bodies:
        return None
    kernel = loop_kernel(placed, placed.step.count, bodies[placed.name], names, within)
    if kernel is None:
        return None
    ns, simplified = lowering.priced(kernel)
    return simplified if ns < LONGEST_NS else None


def _as_before(nest: PlacedKernel, found: OnTheWay) -> PlacedKernel:
    """A nest for the program as it was before it was rewritten."""

    def before(tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
        return tuple(found.before.get(tensor, tensor) for tensor in tensors)

    made = before(nest.made)
    inner = before(nest.within)
    within = (*inner, *(one for tensor in (*inner, *made) for one in found.within.get(tensor, ())))
    part_of = tuple((_builds(before(group)), share) for group, share in nest.part_of)
    over = tuple(zip(before(read for read, _ in nest.over), before(one for _, one in nest.over), strict=True))
    apart = nest.apart and (nest.apart[0], before(nest.apart[1]))
    return replace(nest, made=made, tensors=before(nest.tensors), over=over, apart=apart, within=within, part_of=part_of)


@dataclass
class _Found:
    """The kernels of a program by what they make; names and levels of that; what is made on the way, and which part they are of what builds
    cost (see PlacedKernel)."""

    kernels: dict[Made, Kernel]
    names: dict[Tensor, str]
    levels: dict[Tensor, float]
    within: dict[Made, tuple[Tensor, ...]] = field(default_factory=dict)
    part_of: dict[Made, tuple[tuple[Group, float], ...]] = field(default_factory=dict)

    @property
    def order(self) -> list[Made]:
        """What is made, in the order in which the kernels run."""
        return sorted(self.kernels, key=lambda made: self.levels[made[0]])

    def one_for(self, chain: Sequence[Made], kernel: Kernel) -> None:
        """One kernel in the place of several, which makes what the last of them makes."""
        *inner, results = chain
        self.within[results] = (*(one for made in chain for one in self.within.get(made, ())), *(one for made in inner for one in made))
        self.kernels = {made: other for made, other in self.kernels.items() if made not in inner} | {results: kernel}

    def at_once(self, made: Made, copy: Made, kernel: Kernel) -> None:
        """One kernel in the place of one and of another that copies what it makes: it costs what the first one does."""
        self.part_of[copy] = self.part_of.get(made, ((_builds(made), 1.0),))
        steps = tuple(tensor for tensor in made if not isinstance(tensor, Build))  # which are made by no kernel of their own then
        self.within[copy] = (*self.within.get(made, ()), *steps)
        self.kernels = {one: other for one, other in self.kernels.items() if one != made} | {copy: kernel}

    def in_place(self, part: PutTogether) -> None:
        """One kernel in the place of one and of another that copies what it makes beside other things."""
        self.side_by_side((part.maker, part.whole), part.kernel)
        results = next(reversed(self.kernels))
        left = tuple(tensor for tensor in part.maker if tensor not in results)
        self.within[results] = (*self.within[results], *left)
        self.kernels |= part.readers

    def several_for(self, several: Divided) -> None:
        """Several kernels, one behind the other, in the place of one."""
        self.names |= several.names
        before = several.levels(self.levels[several.builds[0]])
        self.levels |= {made: min(level, self.levels.get(made, level)) for made, level in before.items()}
        self.kernels |= several.kernels
        self.part_of |= {group: ((several.builds, share),) for group, share in several.shares.items()}

    def side_by_side(self, several: Sequence[Made], kernel: Kernel) -> None:
        """One kernel in the place of several that do not wait for each other."""
        stored = {buffer.name for buffer in kernel.outputs}
        all_made = tuple(tensor for made in several for tensor in made if self.names[tensor] in stored)
        self.part_of[all_made] = tuple(priced for made in several for priced in self.part_of.get(made, ((_builds(made), 1.0),)))
        self.within[all_made] = tuple(one for made in several for one in self.within.get(made, ()))
        self.levels |= dict.fromkeys(all_made, min(self.levels[made[0]] for made in several))
        self.kernels = {made: other for made, other in self.kernels.items() if made not in several} | {all_made: kernel}


class _Lowering:
    """Loop nests of the builds of one program."""

    def __init__(self, sizes: tuple[Size, ...], options: Options, report: Report) -> None:
        self.sizes, self.options, self.report = sizes, options, report
        self.alike = Alike()

    def cheapest(self, groups: Iterable[Group], names: Mapping[Tensor, str]) -> dict[Group, Priced]:
        """The cheapest kernel of every group and what it costs, the indices of those that are not alike simplified together."""
        every = list(groups)
        for group, priced in self._lowered(self.alike.first(every), names).items():
            self.alike.keep((group,), names, priced)
        return {group: self._again(group, names) for group in every}

    def _again(self, group: Group, names: Mapping[Tensor, str]) -> Priced:
        """What is known of groups alike; of one that has a name that is taken in their kernel, what is found for it."""
        (priced,) = self.alike.find((group,), names) or (None,)
        return priced or self._lowered([group], names)[group]

    def _lowered(self, groups: Sequence[Group], names: Mapping[Tensor, str]) -> dict[Group, Priced]:
        tiles = self.options.numerics != "exact"
        choices = {group: candidates(group, "kernel", names, self.sizes, tiles) for group in groups}
        return self._priced(choices, self.options.target)

    def _priced(self, choices: Mapping[Chosen, Sequence[Kernel]], target: Target) -> dict[Chosen, Priced]:
        """The cheapest of the kernels that there are for each, the indices of all simplified together."""
        simplified = simplifier([kernel for kernels in choices.values() for kernel in kernels], self.options, self.report)
        found = {one: (map_indices(kernel, simplified) for kernel in kernels) for one, kernels in choices.items() if kernels}
        return {one: _cheapest(kernels, target, self.options.cost) for one, kernels in found.items()}

    def simplified(self, kernels: Mapping[Chosen, Kernel]) -> dict[Chosen, Kernel]:
        """Kernels with their indices simplified."""
        if not kernels:
            return {}
        change = simplifier(list(kernels.values()), self.options, self.report)
        return {made: map_indices(kernel, change) for made, kernel in kernels.items()}

    def priced(self, kernel: Kernel) -> Priced:
        """A kernel with its indices simplified, and what it costs."""
        return self._priced({"": [kernel]}, self.options.target)[""]

    def in_rows(self, lowered: Mapping[Group, Kernel], names: Mapping[Tensor, str]) -> dict[Group, tuple[InRows, ...]]:
        """Faster kernels of the same in blocks, those of the fewest rows first, for arrays that are in the second cache: what a size stands
        for is so large that moving them from memory is all that counts."""
        tiles, target, costs = self.options.numerics != "exact", near(self.options.target), self.options.cost
        choices: dict[tuple[Group, int, int], tuple[Kernel, ...]] = {}
        for group in lowered:
            cut = Schedules(group, "kernel", names, self.sizes, tiles).at_seams()
            choices |= {(group, rows, rows): candidates(group, "kernel", names, self.sizes, tiles, rows) for rows in ROWS}
            choices |= {(group, 1, LEAST_SIZE): () if cut is None else (cut,)}
        found: dict[Group, tuple[InRows, ...]] = {}
        for (group, rows, least), (ns, kernel) in sorted(self._priced(choices, target).items(), key=lambda one: one[0][2]):
            gain, others = nest_ns(lowered[group], target, costs) / ns, found.get(group, ())
            if gain >= GAIN * max((one.gain for one in others), default=1.0):
                found[group] = (*others, InRows(kernel, rows, least, gain, nest_ns(kernel, self.options.target, costs)))
        return found

    def picked(self, groups: Iterable[Group], names: Mapping[Tensor, str]) -> dict[Group, tuple[float, Kernel]]:
        """The cheapest kernel of every group, or the fastest that is found by measuring, where options ask for that, the costly first.
        What it costs is an estimate all the same, which others are compared with."""
        found = self.cheapest(groups, names)
        if self.options.tune and not self.sizes:
            tuner, tiles = Tuner(self.options, self.report), self.options.numerics != "exact"
            for group in sorted(found, key=lambda group: -found[group][0]):
                kernel = tuner.fastest(Schedules(group, "kernel", names, self.sizes, tiles), found[group][1])
                found[group] = nest_ns(kernel, self.options.target, self.options.cost), kernel
        return found


def remaining(steps: Sequence[PlacedStep], nests: Sequence[PlacedKernel]) -> tuple[PlacedStep, ...]:
    """The steps that no loop nest makes."""
    made = {tensor for nest in nests for tensor in (*nest.within, *nest.made)}
    return tuple(placed for placed in steps if made.isdisjoint(placed.results))


def _finished(nest: PlacedKernel) -> PlacedKernel:
    kernel = hoist(nest.kernel)
    others = tuple(replace(one, kernel=replace(hoist(one.kernel), name=f"{kernel.name}_{one.least}")) for one in nest.in_rows)
    finished = replace(nest, kernel=kernel, in_rows=others)
    for one in finished.kernels:
        check_kernel(one)
    return finished


def _written_over(nests: Sequence[PlacedKernel], levels: Mapping[Tensor, float], stay: Collection[Tensor]) -> list[PlacedKernel]:
    """The nests, each writing over tensors that nothing reads any more where its kernel can; some tensors stay."""
    made = {tensor for nest in nests if not nest.once for tensor in nest.made}
    readers: dict[Tensor, list[float]] = {}
    for nest in nests:
        for tensor in nest.read:
            readers.setdefault(tensor, []).append(levels[nest.made[0]])
    found: list[PlacedKernel] = []
    for nest in nests:
        here = levels[nest.made[0]]
        for tensor in nest.read:
            others = readers[tensor]
            if (
                not nest.in_rows
                and len(nest.priced) == 1  # joined kernels may store before all of them have read
                and tensor in made
                and tensor not in stay
                and max(others) == here
                and others.count(here) == 1
            ):
                nest = _over(nest, tensor, nest.made)
        found.append(nest)
    return found


def over_what_is_carried(nests: Sequence[PlacedKernel], following: Mapping[Tensor, Tensor]) -> tuple[PlacedKernel, ...]:
    """The nests of a loop's body in the order in which they run, which write what is carried next (`following`) over what was carried where
    nothing reads that behind them."""
    found = list(nests)
    for before, after in following.items():
        readers = [k for k, nest in enumerate(found) if before in nest.read]
        if readers and after in found[readers[-1]].made and not found[readers[-1]].in_rows:
            found[readers[-1]] = _over(found[readers[-1]], before, (after,))
    return tuple(found)


def _over(nest: PlacedKernel, tensor: Tensor, results: Iterable[Tensor]) -> PlacedKernel:
    """The nest with one of these results in the memory of a tensor that it reads, if that can be."""
    name = {other: buffer.name for other, buffer in zip(nest.tensors, nest.kernel.buffers, strict=True)}
    taken = {made for _, made in nest.over}
    for made in results:
        if made not in taken and made.shape == tensor.shape and (kernel := in_place(nest.kernel, name[tensor], name[made])) is not None:
            tensors = tuple(other for other in nest.tensors if other is not tensor)
            apart = nest.apart or (nest.kernel, nest.tensors)
            return replace(nest, kernel=kernel, tensors=tensors, over=(*nest.over, (tensor, made)), apart=apart)
    return nest


def _is_as_cheap_as_its_copies(nest: PlacedKernel, outputs: Collection[Tensor], model: CostModel) -> bool:
    """Whether a kernel that makes nothing but results takes no longer than copying them from where they are kept: every call returns memory
    of its own."""
    copies_ns = COPIED_NS + sum(model.store_ns(made.shape, made.dtype) + model.move_ns(made.shape, made.dtype) for made in nest.made)
    return set(nest.made) <= set(outputs) and nest_ns(nest.kernel, model.target, model.costs) <= copies_ns


def _cheapest(kernels: Iterable[Kernel], target: Target, costs: Costs) -> Priced:
    """The cheapest of several kernels, and what it costs."""
    return min(((nest_ns(kernel, target, costs), kernel) for kernel in kernels), key=lambda priced: priced[0])
