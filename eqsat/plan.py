"""A compiled program: kernels in order, run again and again with other data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eqsat.arguments import check_arguments
from eqsat.codegen import MachineCode, Routine, compile_kernels
from eqsat.ir.structure import rebuild_result
from eqsat.ir.tensor import Constant, Input, Program, Tensor
from eqsat.ir.typed_check import check_typed
from eqsat.kernels import Nest
from eqsat.lowering import type_indices
from eqsat.options import Options
from eqsat.threads import num_threads, run_split

# below this estimate a kernel is faster on one thread than handed to several
SPLIT_NS = 150_000.0
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class PlanKernel:
    """One step of a plan: `buffers` are positions among the plan's arrays, the one written last; `dependencies` earlier kernels."""

    name: str
    buffers: tuple[int, ...]
    dependencies: tuple[int, ...]
    estimated_ns: float
    routine: Routine


class Plan:
    """Callable with the program's arrays in order; returns new arrays in the structure that the traced function returned."""

    def __init__(self, program: Program, nests: tuple[Nest, ...], estimates: tuple[float, ...], options: Options) -> None:
        self.program = program
        self.typed = tuple(type_indices(nest.kernel) for nest in nests)
        if options.check:
            for kernel in self.typed:
                check_typed(*kernel.typed.values())
        self.code: MachineCode = compile_kernels(self.typed, options.numerics)
        self._slots: dict[Tensor, int] = {tensor: k for k, tensor in enumerate(program.inputs)}
        for nest in nests:
            for tensor in nest.tensors:
                self._slots.setdefault(tensor, len(self._slots))
        for output in program.outputs:
            self._slots.setdefault(output, len(self._slots))
        self._constants = {slot: t.data for t, slot in self._slots.items() if isinstance(t, Constant)}
        self._outputs = tuple(self._slots[output] for output in program.outputs)
        made = [(slot, t.shape, np.dtype(t.dtype)) for t, slot in self._slots.items() if not isinstance(t, Input | Constant)]
        # outputs that are inputs or constants are copied, so that no result aliases an argument
        self._shared = frozenset(self._constants) | frozenset(range(len(program.inputs)))
        self._fresh = [buffer for buffer in made if buffer[0] in self._outputs]
        self._intermediate = [buffer for buffer in made if buffer[0] not in self._outputs]
        # arrays between kernels, kept from call to call: new memory pages cost more than the arithmetic on them
        self._idle: list[list[Array]] = []
        written: dict[int, int] = {}
        kernels = []
        for position, (nest, ns) in enumerate(zip(nests, estimates, strict=True)):
            slots = tuple(self._slots[tensor] for tensor in nest.tensors)
            needs = tuple(sorted({written[slot] for slot in slots[:-1] if slot in written}))
            kernels.append(PlanKernel(nest.kernel.name, slots, needs, ns, self.code.routine(nest.kernel.name)))
            written[slots[-1]] = position
        self.kernels = tuple(kernels)

    @property
    def num_outputs(self) -> int:
        return len(self._outputs)

    def __call__(self, *arrays: Any) -> Any:
        """Run on arrays of the program's shapes and dtypes; UsageError, ShapeError or DTypeError before anything runs."""
        return rebuild_result(self.program.structure, self.run(arrays))

    def run(self, arrays: Sequence[Any]) -> tuple[Array, ...]:
        """The outputs in order, without the structure around them."""
        values: list[Array] = [*check_arguments(self.program, arrays)]
        values += [_EMPTY] * (len(self._slots) - len(values))
        for slot, data in self._constants.items():
            values[slot] = data
        for slot, shape, dtype in self._fresh:
            values[slot] = np.empty(shape, dtype)
        workspace = self._workspace()
        for (slot, _, _), array in zip(self._intermediate, workspace, strict=True):
            values[slot] = array
        for kernel in self.kernels:
            _run(kernel, [values[slot] for slot in kernel.buffers])
        self._idle.append(workspace)
        return tuple(values[slot].copy() if slot in self._shared else values[slot] for slot in self._outputs)

    def _workspace(self) -> list[Array]:
        """Arrays between kernels for one call; calls at the same time have their own."""
        try:
            return self._idle.pop()
        except IndexError:
            return [np.empty(shape, dtype) for _, shape, dtype in self._intermediate]


_EMPTY: Array = np.empty(0)


def _run(kernel: PlanKernel, buffers: list[Array]) -> None:
    extent = kernel.routine.parallel_extent
    if extent is not None and kernel.estimated_ns > SPLIT_NS and num_threads() > 1:
        run_split(lambda begin, end: kernel.routine.entry(*buffers, begin, end), extent)
    else:
        kernel.routine.entry(*buffers, 0, extent or 0)
