"""A plan that runs again and again on what it computed: in machine code, and step by step where that cannot be.

Python sees signals between calls of machine code, so a long loop is run in several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from eqsat.blueprint import Blueprint
from eqsat.codegen.running import Carry, Repetition, Run, TableLoop
from eqsat.ir.structure import positions
from eqsat.kept import common_code
from eqsat.storage import aligned_bytes, array_in
from eqsat.threads import TEAM, make_ready

Array = np.ndarray[Any, Any]
# machine code runs for about so long before Python looks at signals
CALL_NS = 50_000_000.0


class Body(Protocol):
    """A plan of the counter, what is carried and what stays; what it returns, in order, is carried on."""

    blueprint: Blueprint

    def own_run(self) -> Run | None:
        """Its kernels as tables, with memory of their own; None where it needs Python."""

    def run(self, arrays: Sequence[Any]) -> tuple[Array, ...]: ...


class Repeated:
    """`count` steps of a body.  Steps that compute what is not to be trusted, or hold an index out of range, are done by calls of the
    body, which says what is wrong."""

    def __init__(self, body: Body, count: int) -> None:
        self.body = body
        self.count = count
        blueprint = body.blueprint
        self._order = positions(blueprint.structure)
        self._idle: list[Repetition] = []
        self._once = max(1, int(CALL_NS / max(1.0, sum(kernel.estimated_ns for kernel in blueprint.kernels))))

    @property
    def is_short(self) -> bool:
        """Whether all steps may run in one call of machine code."""
        return self.count <= self._once

    def table(self, slots: Sequence[int] = ()) -> TableLoop | None:
        """The loop as a table, with memory of its own, whose arrays have these slots; None where it needs Python."""
        run = self.body.own_run()
        if run is None:
            return None
        counting = run._replace(values={0: np.zeros((), np.int64), **run.values})
        return TableLoop(counting, self.count, tuple(self._carries(run)), tuple(slots))

    def _carries(self, run: Run) -> Iterator[Carry]:
        """What a kernel writes is written where it is read; an output that is an input, a constant or another output is copied."""
        blueprint = self.body.blueprint
        known = {*run.values, *range(len(blueprint.inputs))}
        for slot in (blueprint.outputs[k] for k in self._order):
            buffer = blueprint.buffers[slot]
            written = None if slot in known else slot
            known.add(slot)
            other = array_in(aligned_bytes(buffer.nbytes, list(run.values.values())), buffer.shape, np.dtype(buffer.dtype))
            yield Carry(written, slot if written is None else None, other)

    def __call__(self, *arguments: Any) -> None:
        """As a kernel is called: carries, arrays that stay, arrays for the results, and a range that is none."""
        self.run(arguments[: len(self.body.blueprint.inputs) - 1], arguments[len(self.body.blueprint.inputs) - 1 : -2])

    def run(self, given: Sequence[Array], results: Sequence[Array]) -> None:
        """All steps, on C-contiguous arrays for carries and what stays; `results` share no memory with them."""
        if not self._in_machine_code((*given, *results)):
            self._step_by_step(given, results)

    def _in_machine_code(self, arrays: Sequence[Array]) -> bool:
        try:
            repetition = self._idle.pop()
        except IndexError:
            table = self.table(range(len(arrays)))
            if table is None:
                return False
            repetition = Repetition(table, common_code)
        make_ready()
        done = all(repetition.run(arrays, TEAM, first, min(first + self._once, self.count)) for first in range(0, self.count, self._once))
        self._idle.append(repetition)
        return done

    def _step_by_step(self, given: Sequence[Array], results: Sequence[Array]) -> None:
        carry, stay = tuple(given[: len(results)]), given[len(results) :]
        for step in range(self.count):
            made = self.body.run((np.array(step), *carry, *stay))
            carry = tuple(made[k] for k in self._order)
        for array, value in zip(results, carry, strict=True):
            np.copyto(array, value)
