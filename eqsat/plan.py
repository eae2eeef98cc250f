"""A compiled program: kernels in order, run again and again with other data."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eqsat.arguments import all_fit, check_arguments, check_out
from eqsat.codegen import MachineCode, Routine, compile_kernels
from eqsat.ir.errors import UsageError
from eqsat.ir.structure import rebuild_result
from eqsat.ir.tensor import Constant, Input, Program, Tensor
from eqsat.ir.typed_check import check_typed
from eqsat.kernels import Nest
from eqsat.lowering import type_indices
from eqsat.options import Options
from eqsat.storage import Lifetime, aligned_bytes, array_in, share_storage
from eqsat.threads import num_threads, run_split

# below this estimate a kernel is faster on one thread than handed to several
SPLIT_NS = 150_000.0
Array = np.ndarray[Any, Any]
# the machine code of a kernel, its buffers, iterations of its outermost loop, and whether these are worth splitting over threads
Launch = tuple[Callable[..., None], tuple[int, ...], int, bool]


@dataclass(frozen=True)
class PlanKernel:
    """One step of a plan.

    buffers       positions in Plan.buffers, the one written last
    dependencies  earlier kernels whose results it reads
    group         its topological level: kernels of one group depend on none of each other, and may run in parallel
    """

    name: str
    buffers: tuple[int, ...]
    dependencies: tuple[int, ...]
    group: int
    estimated_ns: float
    routine: Routine


@dataclass(frozen=True)
class PlanBuffer:
    """An array that kernels read or write: "input", "constant", "output" or "intermediate"; `storage`: which of Plan.storages holds an
    intermediate, several of which may share one."""

    role: str
    shape: tuple[int, ...]
    dtype: str
    storage: int | None = None

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize


class Plan:
    """Callable with the program's arrays in order; returns new arrays in the structure that the traced function returned.

    kernels   in execution order, group by group
    buffers   the arrays of the plan; storages: the bytes of the memory that intermediate ones share
    """

    def __init__(self, program: Program, nests: tuple[Nest, ...], estimates: tuple[float, ...], options: Options) -> None:
        self.program = program
        self.typed = tuple(type_indices(nest.kernel) for nest in nests)
        if options.check:
            for kernel in self.typed:
                check_typed(*kernel.typed.values())
        self.code: MachineCode = compile_kernels(self.typed, options.numerics)
        slots = _slots(program, nests)
        self._outputs = tuple(slots[output] for output in program.outputs)
        self.kernels = self._scheduled(nests, estimates, slots)
        self.buffers, self.storages = self._placed(slots)
        self._constants = {slot: tensor.data for tensor, slot in slots.items() if isinstance(tensor, Constant)}
        # outputs that are inputs or constants are copied, so that no result aliases an argument
        self._shared = frozenset(self._constants) | frozenset(range(len(program.inputs)))
        self._taken = tuple((tensor.shape, np.dtype(tensor.dtype)) for tensor in program.inputs)
        self._given = tuple(self.buffers[slot] for slot in self._outputs)
        made = [slot for slot in dict.fromkeys(self._outputs) if slot not in self._shared]
        self._made = tuple((slot, self.buffers[slot].shape, np.dtype(self.buffers[slot].dtype)) for slot in made)
        self._launches = tuple(_launch(kernel) for kernel in self.kernels)
        # memory between kernels, kept from call to call: new pages cost more than the arithmetic on them
        self._idle: list[list[Array]] = []
        self._latest: tuple[Array, ...] | None = None

    def _scheduled(self, nests: tuple[Nest, ...], estimates: tuple[float, ...], slots: dict[Tensor, int]) -> tuple[PlanKernel, ...]:
        """The kernels by topological level."""
        group_of: dict[int, int] = {}
        levels: list[int] = []
        for nest in nests:
            read, written = [slots[tensor] for tensor in nest.tensors[:-1]], slots[nest.tensors[-1]]
            levels.append(max((group_of[slot] + 1 for slot in read if slot in group_of), default=0))
            group_of[written] = levels[-1]
        order = sorted(range(len(nests)), key=levels.__getitem__)
        writer = {slots[nests[k].tensors[-1]]: position for position, k in enumerate(order)}
        kernels = []
        for k in order:
            name = nests[k].kernel.name
            buffers = tuple(slots[tensor] for tensor in nests[k].tensors)
            needs = tuple(sorted({writer[slot] for slot in buffers[:-1] if slot in writer}))
            kernels.append(PlanKernel(name, buffers, needs, levels[k], estimates[k], self.code.routine(name)))
        return tuple(kernels)

    def _placed(self, slots: dict[Tensor, int]) -> tuple[tuple[PlanBuffer, ...], tuple[int, ...]]:
        """The buffers, and the bytes of each storage of intermediate ones."""
        roles = dict.fromkeys(slots.values(), "intermediate") | dict.fromkeys(self._outputs, "output")
        roles |= {slot: "input" if isinstance(tensor, Input) else "constant" for tensor, slot in slots.items() if not _is_made(tensor)}
        plain = {slot: PlanBuffer(roles[slot], tensor.shape, tensor.dtype) for tensor, slot in slots.items()}
        between = [slot for slot in plain if roles[slot] == "intermediate"]
        written = {kernel.buffers[-1]: kernel.group for kernel in self.kernels}
        read = {slot: kernel.group for kernel in self.kernels for slot in kernel.buffers[:-1]}
        lifetimes = [Lifetime(plain[slot].nbytes, written[slot], read.get(slot, written[slot])) for slot in between]
        places, storages = share_storage(lifetimes)
        plain |= {slot: replace(plain[slot], storage=place) for slot, place in zip(between, places, strict=True)}
        return tuple(plain[slot] for slot in range(len(plain))), storages

    @property
    def num_outputs(self) -> int:
        return len(self._outputs)

    def output(self, position: int) -> Array:
        """An output of the latest call of the plan; UsageError before the first, or for a position that is none."""
        if self._latest is None:
            raise UsageError(f"output({position}): found no run yet, expected one before")
        if not -self.num_outputs <= position < self.num_outputs:
            raise UsageError(f"output({position}): found {self.num_outputs} outputs, expected a position among them")
        return self._latest[position]

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Run on arrays of the program's shapes and dtypes; UsageError, ShapeError or DTypeError before anything runs.

        out  an array for the result, or a sequence of arrays, one for each output: of its shape and dtype, and writeable
        """
        self._latest = self.run(arrays, out)
        return rebuild_result(self.program.structure, self._latest)

    def result(self, arrays: Sequence[Any], out: Any = None) -> Any:
        """What a call returns; the plan keeps none of it."""
        return rebuild_result(self.program.structure, self.run(arrays, out))

    def run(self, arrays: Sequence[Any], out: Any = None) -> tuple[Array, ...]:
        """The outputs in order, without the structure around them; the plan keeps none of them."""
        inputs = arrays if all_fit(arrays, self._taken) else check_arguments(self.program, arrays)
        targets = None if out is None else check_out(out, self._given)
        direct = {} if targets is None else self._written_directly(targets, inputs)
        workspace = self._workspace()
        values = [*inputs, *workspace]
        for slot, shape, dtype in self._made:
            values[slot] = direct[slot] if slot in direct else np.empty(shape, dtype)
        for entry, slots, extent, splits in self._launches:
            buffers = [values[slot] for slot in slots]
            if splits and num_threads() > 1:
                run_split(functools.partial(entry, *buffers), extent)
            else:
                entry(*buffers, 0, extent)
        self._idle.append(workspace)
        if targets is None:
            return tuple([values[slot].copy() if slot in self._shared else values[slot] for slot in self._outputs])
        for slot, target in zip(self._outputs, targets, strict=True):
            if values[slot] is not target:
                np.copyto(target, values[slot])
        return tuple(targets)

    def _written_directly(self, targets: Sequence[Array], inputs: Sequence[Array]) -> dict[int, Array]:
        """Arrays of `out` that a kernel can write itself: in C order, and sharing no memory with inputs or each other."""
        found: dict[int, Array] = {}
        for slot, target in zip(self._outputs, targets, strict=True):
            others = [*inputs, *found.values(), *(other for other in targets if other is not target)]
            apart = not any(np.may_share_memory(target, other) for other in others)
            if slot not in self._shared and slot not in found and target.flags.carray and apart:
                found[slot] = target
        return found

    def _workspace(self) -> list[Array]:
        """The arrays behind the inputs for one call, outputs left open; calls at the same time have their own."""
        try:
            return self._idle.pop()
        except IndexError:
            storages = [aligned_bytes(nbytes) for nbytes in self.storages]
            return [self._allocated(slot, storages) for slot in range(len(self._taken), len(self.buffers))]

    def _allocated(self, slot: int, storages: list[Array]) -> Array:
        buffer = self.buffers[slot]
        if buffer.storage is None:
            return self._constants.get(slot, _OPEN)
        return array_in(storages[buffer.storage], buffer.shape, np.dtype(buffer.dtype))


def _is_made(tensor: Tensor) -> bool:
    """Whether kernels make a tensor; inputs and constants are there before."""
    return not isinstance(tensor, Input | Constant)


def _slots(program: Program, nests: tuple[Nest, ...]) -> dict[Tensor, int]:
    """The position of every array: inputs first, then in the order in which kernels meet them."""
    slots: dict[Tensor, int] = {tensor: k for k, tensor in enumerate(program.inputs)}
    for tensor in (*(tensor for nest in nests for tensor in nest.tensors), *program.outputs):
        slots.setdefault(tensor, len(slots))
    return slots


_OPEN: Array = np.empty(0)


def _launch(kernel: PlanKernel) -> Launch:
    extent = kernel.routine.parallel_extent
    return kernel.routine.entry, kernel.buffers, extent or 0, extent is not None and kernel.estimated_ns > SPLIT_NS
