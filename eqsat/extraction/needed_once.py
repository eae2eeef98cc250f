"""Tensors of which every element is needed once: computing them where they are read saves a kernel and costs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from eqsat.ir.index import Var
from eqsat.ir.tensor import Build, Gather, Read, Reduce, Scalar, Tensor, axes, operands, scalars, tensors


class _Use(NamedTuple):
    """A read, the build that makes it, and the variables of the loops around it, outermost first."""

    read: Read
    user: Build
    loops: tuple[Var, ...]


def needed_once(outputs: tuple[Tensor, ...]) -> set[Tensor]:
    """The tensors that one kernel can compute at no extra cost: those that are read only where the same element is computed, in one
    place, and those with a single read which goes over all elements in order; none that is read at computed places."""
    order = [tensor for tensor in tensors(*outputs) if isinstance(tensor, Build)]
    uses: dict[Tensor, list[_Use]] = {tensor: [] for tensor in order}
    for user in order:
        for use in _uses(user):
            if use.read.tensor in uses:
                uses[use.read.tensor].append(use)
    gathered = {term.tensor for user in order for term in scalars(user.body) if isinstance(term, Gather)}
    # for every build one in whose loops it is computed, element by element
    places: dict[Tensor, Tensor] = {}
    found: set[Tensor] = set()
    for tensor in reversed(order):
        places[tensor] = tensor
        if tensor in outputs or tensor in gathered:
            continue
        homes = {places[use.user] for use in uses[tensor]}
        if len(homes) == 1 and all(_is_here(use) for use in uses[tensor]):
            (places[tensor],) = homes
            found.add(tensor)
        elif len(uses[tensor]) == 1 and _goes_over(uses[tensor][0]):
            found.add(tensor)
    return found


def _uses(user: Build) -> Iterator[_Use]:
    """The reads of a build; one that stands inside of two reductions, or inside of one and outside, counts twice."""
    stack: list[tuple[Scalar, tuple[Var, ...]]] = [(user.body, axes(user.shape))]
    seen = set()
    while stack:
        term, loops = stack.pop()
        if (term, loops) in seen:
            continue
        seen.add((term, loops))
        if isinstance(term, Read):
            yield _Use(term, user, loops)
        inside = (*loops, term.variable) if isinstance(term, Reduce) else loops
        stack += [(operand, inside) for operand in operands(term)]


def _is_here(use: _Use) -> bool:
    """Whether an element is read where the same element is computed."""
    return use.read.tensor.shape == use.user.shape and use.read.indices == use.loops


def _goes_over(use: _Use) -> bool:
    """Whether a read takes every element of its tensor once, in the order of memory."""
    return use.read.indices == use.loops and use.read.tensor.shape == tuple(variable.extent for variable in use.loops)
