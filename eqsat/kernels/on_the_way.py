"""Stored tensors of which others are made element by element: one kernel makes both, and stores on its way what is read elsewhere.

    m[i] = 0.9*m0[i] + 0.1*g[i];  p[i] = p0[i] - m[i]/s[i]   ->   for i: { m[i] = 0.9*m0[i] + 0.1*g[i];  p[i] = p0[i] - (..)/s[i] }

The program is rewritten for that: p is computed from what m is made of, so that both are siblings, and one loop computes what they have in
common once.  What nothing else reads is not stored any more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from eqsat.capture.compared import compared_with_itself
from eqsat.ir.definitions import with_inlined
from eqsat.ir.index import Const
from eqsat.ir.steps import Parts
from eqsat.ir.tensor import Build, Gather, Input, Read, Scalar, Tensor, axes, has_fold, over, scalars, sources, tensors
from eqsat.kernels.siblings import Levels, chosen, is_cheaper, levels_of, siblings_of
from eqsat.kernels.terms import Group, Lowering
from eqsat.pricing.cost_model import CostModel

# results of one loop: more are as many streams to memory, and the time that LLVM takes grows faster than their number
MOST_TOGETHER = 24


@dataclass(frozen=True)
class OnTheWay:
    """A program that is rewritten, `kept` tensors of it, and those that are made `apart`.

    groups  its builds that are to be one kernel
    before  the tensors as they were, by what they are now
    within  by a tensor as it was those that are computed in its kernel, and not stored any more
    """

    parts: Parts
    kept: tuple[Tensor, ...]
    apart: frozenset[Tensor]
    groups: tuple[Group, ...] = ()
    before: Mapping[Tensor, Tensor] = field(default_factory=dict)
    within: Mapping[Tensor, Group] = field(default_factory=dict)

    @property
    def read_apart(self) -> set[Tensor]:
        """What those that are made apart read, which is stored for them."""
        return {source for tensor in self.apart for source in sources(tensor)}


@dataclass(frozen=True)
class _Together:
    """Builds as they were and as they would be, and those of them that nothing would read any more (`unread`)."""

    builds: Group
    rewritten: Group
    unread: Group

    @property
    def stored(self) -> dict[Build, Build]:
        """What one kernel would make, by the builds as they were."""
        return {build: new for build, new in zip(self.builds, self.rewritten, strict=True) if build not in self.unread}


def on_the_way(parts: Parts, kept: Collection[Tensor], apart: frozenset[Tensor], model: CostModel, lowering: Lowering) -> OnTheWay:
    """A program rewritten where one kernel for what is stored and for what is made of it is estimated to cost less than several; `kept`
    tensors are read after all of it, and some are made `apart`, by other loops."""
    program, as_it_was = parts.around, OnTheWay(parts, tuple(kept), apart)
    every = [tensor for tensor in tensors(*program.outputs) if isinstance(tensor, Build)]
    builds = [build for build in every if build not in apart]
    if all(build.shape != source.shape for build in builds for source in sources(build) if isinstance(source, Build)):
        return as_it_was
    levels = levels_of(every, parts.steps)
    alone = {*compared_with_itself(program, lowering.options.numerics), *apart}
    siblings = siblings_of(builds, levels)
    possible = _possible(builds, levels, alone, {*kept, *program.outputs, *apart, *as_it_was.read_apart})
    taken = [group for group in possible if _is_cheaper(group, siblings, levels, model, lowering)]
    while taken:
        found = _over(as_it_was, taken)
        if found is None:
            break
        made = [tensor for tensor in tensors(*found.parts.around.outputs) if isinstance(tensor, Build)]
        now = levels_of(made, found.parts.steps)
        side_by_side = [len({now[build] for build in group}) == 1 for group in found.groups]
        if all(side_by_side):
            return found
        taken = [group for group, can_be_one in zip(taken, side_by_side, strict=True) if can_be_one]
    return as_it_was


def _possible(builds: Sequence[Build], levels: Levels, alone: Collection[Tensor], stay: Collection[Tensor]) -> Iterator[_Together]:
    """Builds that are siblings once they are rewritten, of which some are not as they were."""
    rewritten = dict(_rewritten(builds, levels, alone))
    before = {new: build for build, (new, _) in rewritten.items()}
    if len(before) < len(rewritten) or all(new is build for new, build in before.items()):
        return
    for group in siblings_of(list(before), dict(rewritten.values())):
        old = tuple(before[new] for new in group)
        if old != group and len(old) <= MOST_TOGETHER:
            read = {source for build in builds for source in sources(rewritten[build][0] if build in old else build)}
            unread = tuple(build for build in old if build not in read and build not in stay)
            if len(unread) < len(old) - 1:
                yield _Together(old, group, unread)


def _is_cheaper(group: _Together, siblings: Sequence[Group], levels: Levels, model: CostModel, lowering: Lowering) -> bool:
    """Whether one kernel for the group costs less than today's kernels of its builds, counting siblings that would lose a partner."""
    near = [several for several in siblings if not set(group.builds).isdisjoint(several)]
    every = tuple(dict.fromkeys((*group.builds, *(build for several in near for build in several))))
    others = tuple(build for build in every if build not in group.builds)
    left, together = siblings_of(others, levels), tuple(group.stored.values())
    known = tensors(*every, *group.rewritten)
    names: dict[Tensor, str] = {tensor: tensor.name if isinstance(tensor, Input) else f"t{number}" for number, tensor in enumerate(known)}
    priced = lowering.cheapest([together, *near, *left, *((build,) for build in every)], names)
    ns = {one: cost for one, (cost, _) in priced.items()}
    return is_cheaper([together, *chosen(others, left, ns, model)], chosen(every, near, ns, model), ns, model)


def _rewritten(builds: Sequence[Build], levels: Levels, apart: Collection[Tensor]) -> Iterator[tuple[Build, tuple[Build, float]]]:
    """Every build, computed from what those are made of of which it is made element by element, and the level that it has then.  Others
    that are on an earlier level then are read as before: they are there by that time."""
    now: dict[Tensor, float] = {}
    bodies: dict[Tensor, Scalar] = {}
    for build in builds:
        near = set() if has_fold(build.body) else {one for one in _read_in_place(build) if one in now and one not in apart}
        near = {one for one in near if not has_fold(one.body)}
        now[build] = level = max((now.get(one, levels.get(one, -1)) + (one not in near) for one in sources(build)), default=0)
        within: dict[Tensor, Scalar] = {one: bodies[one] for one in near if now[one] == level}
        new = with_inlined(build, within.get) if within else build
        bodies[build] = new.body
        yield build, (new, level)


def _read_in_place(build: Build) -> set[Build]:
    """The builds of its shape of which a build reads, for each of its elements, the element at the same place and no other."""
    own = tuple(v if v.extent > 1 else Const(0) for v in axes(build.shape))
    found, elsewhere = set[Build](), set[Tensor]()
    for term in scalars(build.body):
        if isinstance(term, Read) and isinstance(term.tensor, Build) and term.tensor.shape == build.shape:
            in_place = all(index is here or n == 1 for index, here, n in zip(term.indices, own, build.shape, strict=True))
            (found if in_place else elsewhere).add(term.tensor)
        elif isinstance(term, Read | Gather):
            elsewhere.add(term.tensor)
    return found - elsewhere


def _over(program: OnTheWay, groups: Sequence[_Together]) -> OnTheWay | None:
    """The program with groups of builds as they would be; None where two of its tensors would be one."""
    taken: dict[Tensor, Build] = {build: new for group in groups for build, new in zip(group.builds, group.rewritten, strict=True)}
    now: dict[Tensor, Tensor] = {}
    for tensor in tensors(*program.parts.around.outputs):
        now[tensor] = over(taken.get(tensor, tensor), now)
    before = {new: tensor for tensor, new in now.items()}
    if len(before) < len(now):
        return None
    together = tuple(tuple(made for build in group.stored if isinstance(made := now[build], Build)) for group in groups)
    within: dict[Tensor, Group] = {next(iter(group.stored)): group.unread for group in groups}
    rewritten = program.parts.over([now[output] for output in program.parts.around.outputs])
    apart = frozenset(now[tensor] for tensor in program.apart)
    return OnTheWay(rewritten, tuple(now[tensor] for tensor in program.kept), apart, together, before, within)
