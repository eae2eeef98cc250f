"""A plan that runs again and again on what it computed: in machine code, and step by step where that cannot be.

Python sees signals between calls of machine code, so a long loop is run in several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from eqsat.codegen.calls.running import Carry, Repetition, Run, TableLoop, TablePut
from eqsat.codegen.memory.places import aligned_bytes
from eqsat.ir.containers import positions
from eqsat.keeping.kept import common_code
from eqsat.running.blueprint import Blueprint, PlanLoop
from eqsat.running.storage import array_in
from eqsat.threads import TEAM, make_ready

Array = np.ndarray[Any, Any]
# machine code runs for about so long before Python looks at signals
CALL_NS = 50_000_000.0
# what putting a block takes: by itself, and bytes that are copied in a nanosecond
PUT_NS, COPIED_BYTES = 8.0, 8.0


class Body(Protocol):
    """A plan of the counter, what is carried and what stays; what it returns, in order, is carried on or put into what is carried."""

    blueprint: Blueprint

    def own_run(self) -> Run | None:
        """Its kernels as tables, with memory of their own; None where it needs Python."""

    def run(self, arrays: Sequence[Any]) -> tuple[Array, ...]: ...


class Repeated:
    """`count` steps of a body.  Steps that compute what is not to be trusted, or hold an index out of range, are done by calls of the
    body, which says what is wrong.

    following, puts  see LoopBody
    """

    def __init__(self, body: Body, count: int, following: Sequence[int | None], puts: Sequence[TablePut]) -> None:
        self.body = body
        self.count = count
        self.following = following
        self.puts = puts
        blueprint = body.blueprint
        self._order = positions(blueprint.structure)
        self._idle: list[Repetition] = []
        moved = sum(put.rows * (PUT_NS + put.nbytes / COPIED_BYTES) for put in puts)
        self._step_ns = 1.0 + moved + sum(kernel.estimated_ns for kernel in blueprint.kernels)
        self._once = max(1, int(CALL_NS / self._step_ns))

    @property
    def is_short(self) -> bool:
        """Whether all steps may run in one call of machine code."""
        return self.count * self._step_ns <= CALL_NS

    def table(self, slots: Sequence[int] = ()) -> TableLoop | None:
        """The loop as a table, with memory of its own, whose arrays have these slots; None where it needs Python."""
        run = self.body.own_run()
        if run is None:
            return None
        blueprint = self.body.blueprint
        carries = tuple(self._carries(run))
        written = {carry.written for carry in carries}
        rest = [slot for slot in blueprint.outputs if slot not in written and slot >= len(blueprint.inputs) and slot not in run.values]
        known = {0: np.zeros((), np.int64), **run.values, **{slot: self._memory(slot, run) for slot in rest}}
        puts = (put._replace(values=self._slot(put.values), place=self._slot(put.place)) for put in self.puts)
        return TableLoop(run._replace(values=known), self.count, carries, tuple(slots), tuple(puts))

    def _slot(self, position: int) -> int:
        """That of what the body returns at this position."""
        return self.body.blueprint.outputs[self._order[position]]

    def _memory(self, slot: int, run: Run) -> Array:
        buffer = self.body.blueprint.buffers[slot]
        return array_in(aligned_bytes(buffer.nbytes, list(run.values.values())), buffer.shape, np.dtype(buffer.dtype))

    def _carries(self, run: Run) -> Iterator[Carry]:
        """What a kernel writes is written where it is read, over it or beside it; an output that is an input, a constant or another one is
        copied."""
        blueprint = self.body.blueprint
        known = {*run.values, *range(len(blueprint.inputs))}
        for k, position in enumerate(self.following):
            nbytes = blueprint.buffers[1 + k].nbytes
            if position is None:
                yield Carry(nbytes)
            elif (slot := self._slot(position)) in known:
                yield Carry(nbytes, copied=slot, other=self._memory(1 + k, run))
            else:
                known.add(slot)
                is_over = (1 + k, slot) in blueprint.over
                yield Carry(nbytes, written=slot, other=None if is_over else self._memory(1 + k, run))

    def __call__(self, *arguments: Any) -> None:
        """As a kernel is called: carries, arrays that stay, arrays for the results, and a range that is none."""
        self.run(arguments[: len(self.body.blueprint.inputs) - 1], arguments[len(self.body.blueprint.inputs) - 1 : -2])

    def run(self, given: Sequence[Array], results: Sequence[Array]) -> None:
        """All steps, on C-contiguous arrays for carries and what stays; `results` share no memory with them."""
        if not self._in_machine_code((*given, *results)):
            self._step_by_step(given, results)

    def _in_machine_code(self, arrays: Sequence[Array]) -> bool:
        if self._step_ns > CALL_NS and any(isinstance(step, PlanLoop) for step in self.body.blueprint.steps):
            return False  # a step that runs a long loop is done by Python, which runs that loop in several calls
        try:
            repetition = self._idle.pop()
        except IndexError:
            table = self.table(range(len(arrays)))
            if table is None:
                return False
            repetition = Repetition(table, common_code)
        if repetition.splits:
            make_ready()
        done = all(repetition.run(arrays, TEAM, first, min(first + self._once, self.count)) for first in range(0, self.count, self._once))
        self._idle.append(repetition)
        return done

    def _step_by_step(self, given: Sequence[Array], results: Sequence[Array]) -> None:
        first = len(self.following)
        carries, stay = [array.copy() for array in given[:first]], given[first:]
        for step in range(self.count):
            outputs = self.body.run((np.array(step), *carries, *stay))
            made = [outputs[k] for k in self._order]
            carries = [carry if k is None else made[k] for carry, k in zip(carries, self.following, strict=True)]
            for put in self.puts:
                blocks = carries[put.carry].reshape(put.rows, put.extent, -1)
                blocks[:, int(made[put.place])] = made[put.values].reshape(put.rows, -1)
        for array, value in zip(results, carries, strict=True):
            np.copyto(array, value)
