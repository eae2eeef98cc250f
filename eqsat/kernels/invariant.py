"""What a loop's body computes in every step although no step changes it: computed once, before the loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eqsat.ir.copied import copied
from eqsat.ir.steps import Loop
from eqsat.ir.tensor import (
    Build,
    Call,
    Constant,
    Generic,
    Input,
    Program,
    Reduce,
    StepResult,
    Tensor,
    over,
    scalars,
    sources,
    tensors,
)
from eqsat.pricing.cycles import DEFAULT_COSTS

# cycles of an operation from which on its result is worth being stored; simpler ones are done again where it is read
WORTH_CYCLES = 10.0


def without_invariants(loop: Loop) -> Loop:
    """The same loop, given what its body makes of nothing but arrays that stay: folds, elementary functions and steps."""
    carried = 1 + len(loop.made)
    found = list(_invariants(loop.body, loop.body.inputs[carried:]))
    if not found:
        return loop
    given: dict[Tensor, Tensor] = dict(zip(loop.body.inputs[1:], loop.given, strict=True))
    for tensor in tensors(*found):
        given.setdefault(tensor, over(tensor, given))
    # no parameter of a function is called so
    before = {tensor: Input(f"before.{k}", tensor.shape, tensor.dtype) for k, tensor in enumerate(found)}
    inside: dict[Tensor, Tensor] = dict(before)
    for tensor in tensors(*loop.body.outputs):
        inside.setdefault(tensor, over(tensor, inside))
    outputs = tuple(copied(inside[output]) for output in loop.body.outputs)
    read = {tensor for tensor in tensors(*outputs) if isinstance(tensor, Input)}
    stays = [stay for stay in (*loop.body.inputs[carried:], *before.values()) if stay in read]
    given.update((place, given[tensor]) for tensor, place in before.items())
    body = Program((*loop.body.inputs[:carried], *stays), outputs, loop.body.structure)
    return Loop(loop.count, body, (*loop.given[: len(loop.made)], *(given[stay] for stay in stays)))


def _invariants(body: Program, stays: Sequence[Input]) -> Iterator[Tensor]:
    """The largest tensors that are made of what stays and worth being stored."""
    same: set[Tensor] = set(stays)
    worth: set[Tensor] = set()
    every = list(tensors(*body.outputs))
    for tensor in every:
        below = sources(tensor)
        if isinstance(tensor, Constant) or (below and same.issuperset(below)):
            same.add(tensor)
            if _is_work(tensor) or not worth.isdisjoint(below):
                worth.add(tensor)
    read = {source for tensor in every if tensor not in same for source in sources(tensor)}
    yield from (tensor for tensor in every if tensor in worth and (tensor in read or tensor in body.outputs))


def _is_work(tensor: Tensor) -> bool:
    """Whether more is done for an element than a few simple operations."""
    if isinstance(tensor, StepResult) or (isinstance(tensor, Generic) and tensor.combine is not None):
        return True
    block = tensor.block if isinstance(tensor, Generic) else tensor.body if isinstance(tensor, Build) else None
    return block is not None and any(
        isinstance(part, Reduce) or (isinstance(part, Call) and DEFAULT_COSTS.cycles(part.op, part.dtype) >= WORTH_CYCLES)
        for part in scalars(block)
    )
