"""What a plan is, as data: kernels in order, the arrays that they read and write, and their machine code.

A plan is made of its blueprint alone, so one that was read from disk is the plan that was compiled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from eqsat.capture.place_checks import PlaceLimit
from eqsat.codegen import Units, parallel_extent, shared_units
from eqsat.codegen.calls.running import TablePut
from eqsat.ir.containers import Structure
from eqsat.ir.errors import InternalError
from eqsat.ir.host import Invocation
from eqsat.ir.steps import Parts
from eqsat.ir.tensor import Constant, Input, Program, SizeTerms, Tensor
from eqsat.kernels.picking import InRows, PlacedKernel, remaining
from eqsat.running.storage import Lifetime, share_storage

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class KernelInRows:
    """A kernel in the place of another where these sizes, by their markers, are no less than the `least` that it is for.

    It computes blocks of so many `rows`, `gain` times as fast where they are whole; `shared`: the iterations that threads share, as a
    number or as the size that has so many blocks.
    """

    name: str
    rows: int
    least: int
    gain: float
    estimated_ns: float
    sizes: tuple[int, ...]
    shared: int | None

    def gain_at(self, known: Mapping[int, int]) -> float:
        """The gain at these sizes, less what rounding up to whole blocks costs; 0.0 where a size is below `least`."""
        values = [known[marker] for marker in self.sizes]
        whole = prod(-(-value // self.rows) * self.rows / value for value in values if value)
        return self.gain / whole if all(value >= self.least for value in values) else 0.0


@dataclass(frozen=True)
class PlanKernel:
    """One step of a plan.

    buffers          positions in Plan.buffers, those written last
    dependencies     earlier kernels whose results it reads, and those that read what it writes over
    group            its topological level: kernels of one group depend on none of each other, and may run in parallel
    units            what of its work threads may share, if that is the whole kernel, else None
    results          how many buffers it writes
    in_rows          others in its place for sizes that are large enough
    """

    name: str
    buffers: tuple[int, ...]
    dependencies: tuple[int, ...]
    group: int
    estimated_ns: float
    units: Units | None
    results: int = 1
    in_rows: tuple[KernelInRows, ...] = ()

    @property
    def parallel_extent(self) -> int | None:
        """How many units of its work threads may share."""
        return None if self.units is None else self.units.extent

    @property
    def read(self) -> tuple[int, ...]:
        """The buffers that it reads."""
        return self.buffers[: -self.results]

    @property
    def written(self) -> tuple[int, ...]:
        """The buffers that it writes."""
        return self.buffers[-self.results :]


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


@dataclass(frozen=True)
class RunTimeSize:
    """A size called `name`, lo <= size <= hi, that `marker` stands for; `terms`: what it is made of."""

    name: str
    lo: int
    hi: int
    marker: int
    terms: SizeTerms

    @property
    def is_made(self) -> bool:
        return self.terms != ((1, (self.name,)),)


@dataclass(frozen=True, kw_only=True)
class Blueprint:
    """A plan before it is loaded.

    inputs       in call order; they are the first buffers
    kernels      in execution order, group by group
    buffers      the arrays of the plan; storages: the bytes of the memory that intermediate ones share
    constants    the elements of buffers, by their positions
    outputs      positions in buffers; structure: the containers around them
    object_code  the machine code of all kernels
    once         kernels, by position, that are made of nothing but constants: they run when the plan is loaded
    steps        those that are no kernels of the machine code
    sizes        that are known when it is called, by name: bounds, and the extent that stands for it in shapes
    finite       buffers of which every element has to be finite; where one is not, the plan is not to be trusted
    places       buffers of one element that has to keep a limit; where one does not, an index is out of range
    over         (position of an input, that of a buffer): a kernel finds the elements of the input in the buffer, and writes over them
    """

    inputs: tuple[Input, ...]
    kernels: tuple[PlanKernel, ...]
    buffers: tuple[PlanBuffer, ...]
    storages: tuple[int, ...]
    constants: Mapping[int, Array]
    outputs: tuple[int, ...]
    structure: Structure
    object_code: bytes
    once: tuple[int, ...] = ()
    finite: tuple[int, ...] = ()
    sizes: tuple[RunTimeSize, ...] = ()
    steps: tuple[PlanStep, ...] = ()
    places: tuple[tuple[int, PlaceLimit], ...] = ()
    over: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class PlanLoop:
    """The step of that name: `count` calls of a plan with the counter and the arrays that the step reads, of which the first, that are
    carried, are replaced by results each time, or changed by what is put into them (`following` and `puts`: see LoopBody)."""

    name: str
    count: int
    body: Blueprint
    following: tuple[int | None, ...]
    puts: tuple[TablePut, ...]


@dataclass(frozen=True)
class PlanCall:
    """The step of that name: a call of a function of NumPy on the arrays that the step reads."""

    name: str
    invocation: Invocation


PlanStep = PlanLoop | PlanCall


def draw(
    parts: Parts,
    nests: Sequence[PlacedKernel],
    estimates: Sequence[float],
    object_code: bytes,
    finite: Sequence[Tensor] = (),
    others: Sequence[PlanStep] = (),
    limits: Sequence[PlaceLimit] = (),
) -> Blueprint:
    """The blueprint of a program whose kernels are these loop nests, with machine code; `others` are its steps that are no kernels, the
    last of the estimated nanoseconds are theirs; `limits` are of its last outputs, which are not handed out."""
    program = parts.whole
    steps = [
        _Step(nest.kernel.name, nest.tensors, nest.read, nest.made, shared_units(nest.kernel), tuple(map(_in_rows, nest.in_rows)))
        for nest in nests
    ]
    rest = remaining(parts.steps, nests)
    steps += [_Step(placed.name, (*placed.given, *placed.results), placed.given, placed.results, None) for placed in rest]
    over = dict(pair for nest in nests for pair in nest.over)
    slots = _slots(parts, steps, {read: made for read, made in over.items() if read not in program.inputs})
    computed = tuple(slots[output] for output in parts.outputs)
    outputs, places = computed[: len(computed) - len(limits)], computed[len(computed) - len(limits) :]
    kernels = _scheduled(steps, estimates, slots, over)
    checked = tuple(slots[tensor] for tensor in finite)
    first = {nest.kernel.name for nest in nests if nest.once}
    once = tuple(k for k, kernel in enumerate(kernels) if kernel.name in first)
    kept = [slot for k in once for slot in kernels[k].written]
    buffers, storages = _placed(program, kernels, outputs, (*checked, *places), kept, slots)
    return Blueprint(
        inputs=program.inputs,
        kernels=kernels,
        buffers=buffers,
        storages=storages,
        constants={slot: tensor.data for tensor, slot in slots.items() if isinstance(tensor, Constant)},
        outputs=outputs,
        structure=program.structure,
        object_code=object_code,
        once=once,
        finite=checked,
        sizes=tuple(RunTimeSize(s.name, s.variable.lo, s.most, s.marker, s.terms) for s in program.sizes),
        steps=tuple(others),
        places=tuple(zip(places, limits, strict=True)),
        over=tuple((slots[read], slots[one]) for read, one in over.items() if read in program.inputs),
    )


@dataclass(frozen=True)
class _Step:
    """A kernel, or another step: the tensors that it is called with, those that it reads and those that it makes."""

    name: str
    given: tuple[Tensor, ...]
    read: tuple[Tensor, ...]
    made: tuple[Tensor, ...]
    units: Units | None
    in_rows: tuple[KernelInRows, ...] = ()


def _in_rows(one: InRows) -> KernelInRows:
    kernel, outermost = one.kernel, parallel_extent(one.kernel)
    counted = {blocks.marker: blocks.size.marker for blocks in kernel.blocks}
    asked = tuple(counted.values()) or tuple(size.marker for size in kernel.sizes if not size.is_made)
    counted |= {part.marker: part.whole for part in kernel.parts}
    shared = None if outermost is None else counted.get(outermost, outermost)
    return KernelInRows(kernel.name, one.rows, one.least, one.gain, one.ns, asked, shared)


def _slots(parts: Parts, steps: Sequence[_Step], over: Mapping[Tensor, Tensor]) -> dict[Tensor, int]:
    """The position of every array: inputs first, then in the order in which steps meet them; what is written over has that of what is
    written."""
    slots: dict[Tensor, int] = {tensor: k for k, tensor in enumerate(parts.whole.inputs)}
    for tensor in (*(tensor for step in steps for tensor in step.given), *parts.outputs):
        place = tensor
        while place in over:
            place = over[place]
        slots[tensor] = slots.setdefault(place, len(set(slots.values())))
    return slots


def _scheduled(
    steps: Sequence[_Step], estimates: Sequence[float], slots: Mapping[Tensor, int], over: Mapping[Tensor, Tensor]
) -> tuple[PlanKernel, ...]:
    """The steps by topological level: each behind those that make what it reads, and those that read what it writes over."""
    maker = {tensor: k for k, step in enumerate(steps) for tensor in step.made}
    readers: dict[Tensor, set[int]] = {}
    for k, step in enumerate(steps):
        for tensor in step.read:
            readers.setdefault(tensor, set()).add(k)
    before = [{maker[tensor] for tensor in step.read if tensor in maker} for step in steps]
    for tensor, made in over.items():
        before[maker[made]] |= readers[tensor] - {maker[made]}
    levels: dict[int, int] = {}
    while len(levels) < len(steps):
        known = len(levels)
        for k, others in enumerate(before):
            if k not in levels and others <= levels.keys():
                levels[k] = max((levels[other] + 1 for other in others), default=0)
        if len(levels) == known:
            raise InternalError("plan: found steps that wait for each other, expected an order")
    order = sorted(levels, key=lambda k: (levels[k], k))
    position = {k: place for place, k in enumerate(order)}
    kernels = []
    for k in order:
        step = steps[k]
        buffers = tuple(slots[tensor] for tensor in step.given)
        needs = tuple(sorted(position[other] for other in before[k]))
        kernels.append(PlanKernel(step.name, buffers, needs, levels[k], estimates[k], step.units, len(step.made), step.in_rows))
    return tuple(kernels)


def _placed(
    program: Program,
    kernels: Sequence[PlanKernel],
    outputs: Sequence[int],
    checked: Sequence[int],
    kept: Sequence[int],
    slots: Mapping[Tensor, int],
) -> tuple[tuple[PlanBuffer, ...], tuple[int, ...]]:
    """The buffers, and the bytes of each storage of intermediate ones."""
    roles = dict.fromkeys(slots.values(), "intermediate") | dict.fromkeys(outputs, "output")
    roles |= {slots[tensor]: "input" for tensor in program.inputs}
    roles |= {slot: "constant" for tensor, slot in slots.items() if isinstance(tensor, Constant)}
    roles |= dict.fromkeys(kept, "constant")
    plain = {slot: PlanBuffer(roles[slot], tensor.shape, tensor.dtype) for tensor, slot in slots.items()}
    between = [slot for slot in plain if roles[slot] == "intermediate"]
    first = {slot: kernel.group for kernel in reversed(kernels) for slot in kernel.written}
    last = {slot: kernel.group for kernel in kernels for slot in kernel.buffers} | dict.fromkeys(checked, len(kernels))
    lifetimes = [Lifetime(plain[slot].nbytes, first[slot], last[slot]) for slot in between]
    places, storages = share_storage(lifetimes)
    plain |= {slot: replace(plain[slot], storage=place) for slot, place in zip(between, places, strict=True)}
    return tuple(plain[slot] for slot in range(len(plain))), storages
