"""Bodies of loops as plans compute them: where a step changes what is carried at one place, only that is computed.

ys[i] = h      ys is where(k == i, h, ys), all of it anew in every step; h, put at place i of the memory of ys, is the same
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from eqsat.codegen.calls.running import TablePut
from eqsat.ir.containers import Container, positions
from eqsat.ir.copied import copied, uncopied
from eqsat.ir.dtypes import itemsize
from eqsat.ir.tensor import Program, Tensor
from eqsat.operations.placing import AtOnePlace, at_one_place


@dataclass(frozen=True)
class LoopBody:
    """What a body computes, by positions among what the program returns.

    following  of the next one of each carry; None for one that stays in its memory
    puts       of values and places that are put into such memory, in order
    """

    program: Program
    following: tuple[int | None, ...]
    puts: tuple[TablePut, ...] = ()


def as_computed(body: Program) -> LoopBody:
    """The body of a loop, a program of the counter, the carries and arrays that stay, as its plan computes it."""
    outputs: list[Tensor] = []
    following: list[int | None] = []
    puts: list[TablePut] = []
    for carry, returned in enumerate(positions(body.structure)):
        before, output = body.inputs[1 + carry], body.outputs[returned]
        changes = _changes(before, output)
        following.append(len(outputs) if changes is None else None)
        if changes is None:
            outputs.append(output)
        for change in changes or ():
            shape, last = before.shape, change.first + change.dimensions
            blocks = prod(shape[: change.first]), prod(shape[change.first : last]), prod(shape[last:]) * itemsize(before.dtype)
            puts.append(TablePut(carry, len(outputs), len(outputs) + 1, *blocks))
            outputs += [copied(change.values), change.place]
    distinct = {output: k for k, output in enumerate(dict.fromkeys(outputs))}
    structure = Container("tuple", tuple(distinct[output] for output in outputs))
    return LoopBody(Program(body.inputs, tuple(distinct), structure), tuple(following), tuple(puts))


def _changes(carry: Tensor, output: Tensor) -> list[AtOnePlace] | None:
    """The changes that make an output of a carry, in order; None where it is made in another way."""
    found: list[AtOnePlace] = []
    while (output := uncopied(output)) is not carry:
        change = at_one_place(output)
        if change is None:
            return None
        found.insert(0, change)
        output = change.of
    return found
