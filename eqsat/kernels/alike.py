"""Kernels of builds that do the same with other tensors, as layers of a network do: found once, and renamed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eqsat.ir.loops import renamed
from eqsat.ir.tensor import Build, Constant, Input, Tensor, over, sources
from eqsat.kernels.terms import Group, Priced


class Alike:
    """What was found for groups of builds that run one after the other, whatever the tensors are that they read from outside."""

    def __init__(self) -> None:
        self._found: dict[tuple[Group, ...], tuple[Priced | None, tuple[str, ...]]] = {}
        self._alone: dict[tuple[Group, ...], tuple[Group, ...]] = {}

    def _key(self, groups: Sequence[Group]) -> tuple[Group, ...]:
        """Groups by themselves, which are made once."""
        own = tuple(groups)
        if own not in self._alone:
            self._alone[own] = _by_themselves(own)
        return self._alone[own]

    def keep(self, groups: Sequence[Group], names: Mapping[Tensor, str], priced: Priced | None) -> None:
        """Remember the kernel that was found for groups, or by None that there is none."""
        self._found[self._key(groups)] = priced, _names(groups, names)

    def first(self, groups: Sequence[Group]) -> list[Group]:
        """One group of each kind of which nothing is known yet."""
        every = {self._key((group,)): group for group in reversed(groups)}
        return [group for same, group in reversed(every.items()) if same not in self._found]

    def find(self, groups: Sequence[Group], names: Mapping[Tensor, str]) -> tuple[Priced | None] | None:
        """What was found for groups alike, for tensors of these names; None where that is nothing yet, or a name is taken in the kernel."""
        known = self._found.get(self._key(groups))
        if known is None or known[0] is None:
            return None if known is None else (None,)
        (ns, kernel), before = known[0], known[1]
        own = _names(groups, names)
        again = kernel if own == before else renamed(kernel, dict(zip(before, own, strict=True)))
        return None if again is None else ((ns, again),)


def _by_themselves(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Builds over inputs in the place of the tensors that they read from outside: the same for all that do the same."""
    known: dict[Tensor, Tensor] = {}
    found: list[Group] = []
    for group in groups:
        for tensor in (source for build in group for source in sources(build)):
            if tensor not in known:
                known[tensor] = tensor if isinstance(tensor, Constant) else Input(f"read{len(known)}", tensor.shape, tensor.dtype)
        made = tuple(over(build, known) for build in group)
        known.update(zip(group, made, strict=True))
        found.append(tuple(build for build in made if isinstance(build, Build)))
    return tuple(found)


def _names(groups: Sequence[Group], names: Mapping[Tensor, str]) -> tuple[str, ...]:
    """The names of what builds read and of the builds, in the order in which these are met."""
    read = (tensor for group in groups for build in group for tensor in (*sources(build), build))
    return tuple(names[tensor] for tensor in dict.fromkeys(read))
