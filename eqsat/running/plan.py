"""A compiled program: kernels in order, run again and again with other data."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eqsat.capture.arguments import all_fit, check_arguments, check_out
from eqsat.codegen import Entry, Units, load_kernels
from eqsat.codegen.calls.direct import DirectPlan, supported
from eqsat.codegen.calls.direct_code import MOST_OUTPUTS
from eqsat.codegen.calls.running import Run, TableKernel, TableLoop
from eqsat.codegen.memory.places import aligned_bytes
from eqsat.ir.containers import Structure, each_by_itself, positions, rebuild_result
from eqsat.ir.dtypes import itemsize, part_of
from eqsat.ir.errors import InternalError, UsageError
from eqsat.ir.host import caller, inside, run_host
from eqsat.ir.shown import Shown
from eqsat.pricing.target import SPLIT_NS
from eqsat.running.blueprint import Array, Blueprint, PlanCall, PlanKernel, PlanLoop, PlanStep
from eqsat.running.direct_call import KnownPlans
from eqsat.running.one_process import OfOneProcess
from eqsat.running.repeated import Repeated
from eqsat.running.results import new_array
from eqsat.running.storage import array_in
from eqsat.threads import num_threads, run_split

# what is estimated to take longer runs without the GIL
LONG_NS = 1_000_000.0

# dtypes of which machine code sees whether they are finite
CHECKED = ("float32", "float64", "complex64", "complex128")


class Launch(NamedTuple):
    """The machine code of a kernel, its buffers, the units of its work, whether these are worth splitting over threads, and the address of
    NAME.slots, if it has one."""

    entry: Entry
    slots: tuple[int, ...]
    units: Units
    splits: bool
    address: int | None


class Plan(OfOneProcess, Shown):
    """Callable with the program's arrays in order; returns new arrays in the structure that the traced function returned, or writes
    those given as `out=`.

    kernels      in execution order, each with .name, .buffers (positions in `buffers`), .dependencies and .group: kernels of one group
                 depend on none of each other
    buffers      the arrays of the plan, the inputs first; storages: the bytes of the memory that intermediate ones share
    num_outputs  how many arrays the program computes; output(k): those of the latest call
    blueprint    the plan as data
    """

    # the outputs of the latest call, and what makes calls without Python once there were two
    _latest: tuple[Array, ...] | Array | None = None
    _call: Callable[..., Any] | None = None

    def __init__(
        self, blueprint: Blueprint, otherwise: Callable[[], Plan] | None = None, loaded: tuple[Any, Mapping[str, Entry]] | None = None
    ) -> None:
        """`otherwise` makes the plan that computes where a value is not finite that has to be; `loaded`: the machine code and its entries,
        where it is loaded already."""
        self.blueprint = blueprint
        self._otherwise = otherwise
        self.kernels = blueprint.kernels
        self.buffers = blueprint.buffers
        self.storages = blueprint.storages
        self._code, entries = loaded or load(blueprint)
        entries = {**entries, **{step.name: _entry(step) for step in blueprint.steps}}
        self._repeated = tuple(kernel for k, kernel in enumerate(self.kernels) if k not in blueprint.once)
        with_slots = {kernel.name for kernel in self.kernels} - {step.name for step in blueprint.steps}
        addresses = {kernel.name: self._code.address(f"{kernel.name}.slots") for kernel in self._repeated if kernel.name in with_slots}
        self._launches = tuple(_launch(kernel, entries[kernel.name], addresses.get(kernel.name)) for kernel in self._repeated)
        self._constants = self._computed_once(entries)
        # outputs that are inputs or constants are copied, so that no result aliases an argument
        self._shared = frozenset(self._constants) | frozenset(range(len(blueprint.inputs)))
        self._taken = tuple((tensor.shape, np.dtype(tensor.dtype)) for tensor in blueprint.inputs)
        self._given = tuple(self.buffers[slot] for slot in blueprint.outputs)
        made = [slot for slot in dict.fromkeys(blueprint.outputs) if slot not in self._shared]
        # an output that is another one as well is copied, too
        self._returned = tuple((slot, slot not in blueprint.outputs[:k]) for k, slot in enumerate(blueprint.outputs))
        self._made = tuple((slot, self.buffers[slot].shape, np.dtype(self.buffers[slot].dtype)) for slot in made)
        # memory between kernels, kept from call to call: new pages cost more than the arithmetic on them
        self._idle: list[list[Array]] = []

    def _computed_once(self, entries: Mapping[str, Entry]) -> dict[int, Array]:
        """The constants, and what kernels make of nothing else."""
        known = dict(self.blueprint.constants)
        for kernel in (self.kernels[k] for k in self.blueprint.once):
            known.update((slot, np.empty(self.buffers[slot].shape, self.buffers[slot].dtype)) for slot in kernel.written)
            entries[kernel.name](*(known[slot] for slot in kernel.buffers), 0, kernel.parallel_extent or 0)
        return known

    def __str__(self) -> str:
        lines = []
        for kernel in self.kernels:
            after = f" after {', '.join(self.kernels[k].name for k in kernel.dependencies)}" if kernel.dependencies else ""
            lines.append(f"  {kernel.group}: {kernel.name}{after}, {kernel.estimated_ns:,.0f} ns")
        return "\n".join([f"plan of {len(self.kernels)} kernels, by groups that may run in parallel", *lines])

    @property
    def num_outputs(self) -> int:
        """How many arrays the program computes; equal ones are one."""
        return len(self.blueprint.outputs)

    def output(self, position: int) -> Array:
        """An output of the latest call of the plan; UsageError before the first, or for a position that is none."""
        if self._latest is None:
            raise UsageError(f"output({position}): found no run yet, expected one before")
        if not isinstance(position, int | np.integer) or not -self.num_outputs <= position < self.num_outputs:
            raise UsageError(f"output({position}): found {self.num_outputs} outputs, expected a position among them")
        return (self._latest if isinstance(self._latest, tuple) else (self._latest,))[position]

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Run on arrays of the program's shapes and dtypes; UsageError, ShapeError or DTypeError before anything runs.

        out  an array for the result, or a sequence of arrays, one for each array that is returned, or for each output, of which equal
             ones are one: of its shape and dtype, and writeable
        """
        if self._call is not None:
            self._latest = result = self._call(*arrays) if out is None else self._call(*arrays, out=out)
            return result
        self._latest, result = self._called(arrays, out)
        self._call = self._seen(arrays)
        return result

    def _seen(self, arrays: Sequence[Any]) -> Callable[..., Any] | None:
        """What to call from now on, after a call with these arrays."""
        return self._known.called((), lambda: self.direct)

    @functools.cached_property
    def _known(self) -> KnownPlans:
        """Runs this plan without Python, and calls it for what does not fit."""
        plan = weakref.ref(self)

        def otherwise(*arrays: Any, out: Any = None) -> Any:
            found = plan()
            assert found is not None
            result = found.result(arrays, out)
            found._seen(arrays)
            return result

        return KnownPlans("plan", otherwise)

    def execute_with_vars(self, *arrays: Any, out: Any = None, **sizes: int) -> Any:
        """A call with sizes by name, which must be those of the arrays; UsageError for a name that is no size of the program."""
        for name in sizes:
            raise UsageError(f"execute_with_vars: found the size {name}, expected none: all sizes of this plan are known")
        return self(*arrays, out=out)

    def result(self, arrays: Sequence[Any], out: Any = None) -> Any:
        """What a call returns; the plan keeps none of it."""
        return self._called(arrays, out)[1]

    def _called(self, arrays: Sequence[Any], out: Any) -> tuple[tuple[Array, ...], Any]:
        """The outputs, and what a call returns: these in containers."""
        structure, repeated = self.blueprint.structure, None if out is None else self._for_all(out)
        if repeated is None:
            outputs = self.run(arrays, out)
            return outputs, _apart(structure, outputs)
        outputs = self.run(arrays, [repeated[k] for k in self._first])
        for target, k in zip(repeated, positions(structure), strict=True):
            if target is not outputs[k]:
                np.copyto(target, outputs[k])
        return outputs, rebuild_result(each_by_itself(structure), repeated)

    @functools.cached_property
    def _first(self) -> tuple[int, ...]:
        """Where each output stands first among what a call returns."""
        order = positions(self.blueprint.structure)
        return tuple(order.index(k) for k in range(self.num_outputs) if k in order)

    def _for_all(self, out: Any) -> list[Array] | None:
        """The arrays given for all that a call returns, where some outputs are returned more than once; None where each has one."""
        order = positions(self.blueprint.structure)
        for_all = isinstance(out, list | tuple) and len(out) == len(order) != self.num_outputs == len(self._first)
        return check_out(out, [self._given[k] for k in order]) if for_all else None

    def run(self, arrays: Sequence[Any], out: Any = None) -> tuple[Array, ...]:
        """The outputs in order, without the structure around them; the plan keeps none of them."""
        inputs = arrays if all_fit(arrays, self._taken) else check_arguments(self.blueprint.inputs, arrays)
        targets = None if out is None else check_out(out, self._given)
        direct = {} if targets is None else self._written_directly(targets, inputs)
        workspace = self._workspace()
        values = [*inputs, *workspace]
        for slot, shape, dtype in self._made:
            values[slot] = direct[slot] if slot in direct else new_array(shape, dtype, values)
        for position, slot in self.blueprint.over:
            np.copyto(values[slot], values[position])
        finite = self._launch_all(values) and all(np.isfinite(values[slot]).all() for slot in self.blueprint.finite)
        for slot, limit in self.blueprint.places if finite else ():
            limit.check(int(values[slot]))
        self._idle.append(workspace)
        if not finite:
            return self._instead.run(arrays, out)
        if targets is None:
            return tuple([values[slot].copy() if slot in self._shared or not first else values[slot] for slot, first in self._returned])
        for slot, target in zip(self.blueprint.outputs, targets, strict=True):
            if values[slot] is not target:
                np.copyto(target, values[slot])
        return tuple(targets)

    def _launch_all(self, values: Sequence[Array]) -> bool:
        """Run all steps; False where one refused what is not to be trusted."""
        try:
            for entry, slots, units, splits, address in self._launches:
                buffers = [values[slot] for slot in slots]
                if splits and num_threads() > 1:
                    run_split(entry, address, buffers, units)
                else:
                    entry(*buffers, 0, units.extent)
        except Exception as error:
            if not self.blueprint.finite or isinstance(error, InternalError):
                raise
            return False
        return True

    @functools.cached_property
    def direct(self) -> DirectPlan | None:
        """The plan for calls without Python; None for one that needs more than kernels and short loops of them."""
        structure = self.blueprint.structure
        plain = not isinstance(structure, int) and structure.kind == "tuple" and not structure.keys
        order = (structure,) if isinstance(structure, int) else structure.items if plain else ()
        whole = order == tuple(range(self.num_outputs)) and len(self._made) == self.num_outputs <= MOST_OUTPUTS
        short = all(one.entry.is_short for one in self._launches if isinstance(one.entry, Repeated))
        run = self.own_run() if whole and short and supported() and not self.blueprint.over else None
        if run is None:
            return None
        outputs = tuple((dtype, shape) for _, shape, dtype in self._made)
        inputs = tuple((dtype, shape) for shape, dtype in self._taken)
        long = sum(kernel.estimated_ns for kernel in self.kernels) > LONG_NS
        return DirectPlan(inputs, outputs, tuple(slot for slot, _, _ in self._made), run, not isinstance(structure, int), long)

    def own_run(self) -> Run | None:
        """Its kernels as tables for machine code, with memory of their own; None where sizes are open, or Python has to help."""
        blueprint = self.blueprint
        checked = [(slot, self.buffers[slot]) for slot in blueprint.finite]
        if blueprint.sizes or not all(buffer.dtype in CHECKED for _, buffer in checked):
            return None
        kernels = tuple(map(_in_table, self._launches))
        if any(kernel is None for kernel in kernels):
            return None
        first = len(self._taken)
        values = {first + k: array for k, array in enumerate(self._workspace()) if array is not _OPEN}
        checks = tuple((slot, *limit.range) for slot, limit in blueprint.places)
        numbers = ((slot, buffer.nbytes, itemsize(part_of(buffer.dtype))) for slot, buffer in checked)
        finite = tuple((slot, nbytes // size, size) for slot, nbytes, size in numbers)
        return Run(values, len(self.buffers), tuple(filter(None, kernels)), checks, finite)

    @functools.cached_property
    def _instead(self) -> Plan:
        assert self._otherwise is not None
        return self._otherwise()

    def _written_directly(self, targets: Sequence[Array], inputs: Sequence[Array]) -> dict[int, Array]:
        """Arrays of `out` that a kernel can write itself: in C order, and sharing no memory with inputs or each other."""
        found: dict[int, Array] = {}
        for slot, target in zip(self.blueprint.outputs, targets, strict=True):
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
            storages = list[Array]()
            for nbytes in self.storages:
                storages.append(aligned_bytes(nbytes, storages))
            return [self._allocated(slot, storages) for slot in range(len(self._taken), len(self.buffers))]

    def _allocated(self, slot: int, storages: list[Array]) -> Array:
        buffer = self.buffers[slot]
        if buffer.storage is None:
            return self._constants.get(slot, _OPEN)
        return array_in(storages[buffer.storage], buffer.shape, np.dtype(buffer.dtype))


_OPEN: Array = np.empty(0)


def _apart(structure: Structure, outputs: Sequence[Array]) -> Any:
    """The outputs in containers, each time in memory of its own."""
    order = positions(structure)
    if len(set(order)) == len(order):
        return rebuild_result(structure, outputs)
    arrays = [outputs[k] if k not in order[:n] else outputs[k].copy() for n, k in enumerate(order)]
    return rebuild_result(each_by_itself(structure), arrays)


def load(blueprint: Blueprint) -> tuple[Any, dict[str, Entry]]:
    """The machine code of a plan, and the entry of every kernel."""
    others = {step.name for step in blueprint.steps}
    kernels = [kernel for kernel in blueprint.kernels if kernel.name not in others]
    arities = {name: len(kernel.buffers) for kernel in kernels for name in (kernel.name, *(one.name for one in kernel.in_rows))}
    return load_kernels(blueprint.object_code, arities, len(blueprint.sizes))


def _entry(step: PlanStep) -> Entry:
    """A step as an entry: arrays that it reads, arrays for its results, and a range that is none."""
    return Repeated(Plan(step.body), step.count, step.following, step.puts) if isinstance(step, PlanLoop) else _calling(step)


def _calling(step: PlanCall) -> Entry:
    given = len(positions(step.invocation.arguments)) - len(step.invocation.values)
    write_inside, calling = inside(step.invocation, given), caller(step.invocation, given)

    def entry(*arguments: Any) -> None:
        arrays, results = arguments[:given], arguments[given:-2]
        if write_inside is not None and write_inside(arrays, results):
            return
        values = run_host(step.invocation, arrays, [(array.shape, array.dtype) for array in results], calling)
        for array, value in zip(results, values, strict=True):
            np.copyto(array, value)

    return entry


def _in_table(launch: Launch) -> TableKernel | TableLoop | None:
    """A kernel or a loop for machine code; None for what Python does."""
    if isinstance(launch.entry, Repeated):
        return launch.entry.table(launch.slots)
    return None if launch.address is None else TableKernel(launch.address, launch.slots, launch.units, launch.splits)


def _launch(kernel: PlanKernel, entry: Entry, address: int | None) -> Launch:
    units = kernel.units
    return Launch(entry, kernel.buffers, units or Units(0, 0), units is not None and kernel.estimated_ns > SPLIT_NS, address)
