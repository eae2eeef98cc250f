"""Plans for sizes that are known when they are called: one machine code, and what depends on the sizes for each that is used."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from eqsat.codegen import Entry, Units
from eqsat.ir.errors import ShapeError, UsageError
from eqsat.ir.tensor import Input, Shape
from eqsat.keeping.once import Once
from eqsat.running.blueprint import Array, Blueprint, PlanBuffer, PlanKernel, RunTimeSize
from eqsat.running.plan import Plan, load

# for how many sizes a plan keeps arrays between kernels
CAPACITY = 32
# bytes between kernels of a plan for some sizes that stays ready to be called without Python
LITTLE = 1 << 18
# sizes are below that
LARGEST = 1 << 61
Sizes = tuple[int, ...]


def plan_of(blueprint: Blueprint, otherwise: Callable[[], Plan] | None = None) -> Plan:
    """The plan of a blueprint."""
    return SizedPlan(blueprint, otherwise) if blueprint.sizes else Plan(blueprint, otherwise)


class SizedPlan(Plan):
    """A plan with sizes: shapes of its buffers hold the markers of `blueprint.sizes`; a call reads the sizes off its arrays."""

    def __init__(self, blueprint: Blueprint, otherwise: Callable[[], Plan] | None = None) -> None:
        self.blueprint = blueprint
        self._otherwise = otherwise
        self.kernels, self.buffers, self.storages = blueprint.kernels, blueprint.buffers, blueprint.storages
        self._loaded = load(blueprint)
        self._plans: Once[Plan] = Once(CAPACITY)
        self._by_shapes: Once[Plan] = Once(CAPACITY)

    def _seen(self, arrays: Sequence[Any]) -> Callable[..., Any] | None:
        """What to call from now on: the plans of sizes that were seen twice are run without Python, if they keep little memory."""
        plan = self._for(arrays)
        return self._known.called(tuple(map(np.shape, arrays)), lambda: plan.direct if sum(plan.storages) <= LITTLE else None, plan)

    @property
    def direct(self) -> None:
        """None: sizes are read off the arrays first."""
        return None

    def run(self, arrays: Sequence[Any], out: Any = None) -> tuple[Array, ...]:
        """The outputs in order, without the structure around them."""
        return self._for(arrays).run(arrays, out)

    def _called(self, arrays: Sequence[Any], out: Any) -> tuple[tuple[Array, ...], Any]:
        return self._for(arrays)._called(arrays, out)

    def _for(self, arrays: Sequence[Any]) -> Plan:
        """The plan for the sizes that arrays have; UsageError for what has none."""
        try:
            shapes = tuple(map(np.shape, arrays))
        except (TypeError, ValueError) as error:
            kinds = ", ".join(type(array).__name__ for array in arrays)
            raise UsageError(f"call: found {kinds}, expected numpy.ndarray for each; numpy says: {error}") from error
        return self._by_shapes.get(shapes, lambda: self._at(self._sizes_of(arrays)))

    def execute_with_vars(self, *arrays: Any, out: Any = None, **sizes: int) -> Any:
        """A call with sizes by name, which must be those of the arrays; UsageError for a name that is no size of the program."""
        names = [size.name for size in self.blueprint.sizes if not size.is_made]
        for name, value in sizes.items():
            if name not in names:
                raise UsageError(f"execute_with_vars: found the size {name}, expected one of {', '.join(names)}")
            found = self._sizes_of(arrays)[names.index(name)]
            if found != value:
                raise ShapeError(f"execute_with_vars: found {name} = {value!r}, expected {found} as in the arrays")
        return self(*arrays, out=out)

    def _at(self, sizes: Sizes) -> Plan:
        """The plan for these sizes, of the same machine code."""

        def make() -> Plan:
            code, entries = self._loaded
            known = at_sizes(self.blueprint, sizes)
            loaded = (code, {name: _with(entry, sizes) for name, entry in entries.items()})
            return Plan(known, lambda: self._instead, loaded)

        return self._plans.get(sizes, make)

    def _sizes_of(self, arrays: Sequence[Any]) -> Sizes:
        """The sizes that the arrays have; ShapeError where two differ, or one is out of its bounds."""
        found: dict[str, tuple[int, str]] = {}
        made: list[tuple[RunTimeSize, int, str]] = []
        known = {size.marker: size for size in self.blueprint.sizes}
        for tensor, array in zip(self.blueprint.inputs, arrays, strict=False):
            for extent, actual in zip(tensor.shape, np.shape(array), strict=False):
                if extent in known and known[extent].is_made:
                    made.append((known[extent], actual, tensor.name))
                elif extent in known:
                    _found(found, known[extent].name, actual, tensor.name)
        for size, actual, where in made:
            unknown = {name for _, names in size.terms for name in names} - set(found)
            if len(unknown) == 1:
                _found(found, (name := unknown.pop()), _solved(size, actual, name, found, where), where)
        for size in self.blueprint.sizes:
            self._check(size, found)
        given = {name: value for name, (value, _) in found.items()}
        for size, actual, where in made:
            if (value := _value(size, given)) != actual:
                raise ShapeError(f"{where}: found {size.name} = {actual}, expected {value}")
        return tuple(_value(size, given) for size in self.blueprint.sizes)

    def _check(self, size: RunTimeSize, found: Mapping[str, tuple[int, str]]) -> None:
        """That arrays tell a size, and that it is within its bounds."""
        if size.is_made:
            return
        if size.name not in found:
            expected = ", ".join(tensor.name for tensor in self.blueprint.inputs if size.marker in tensor.shape)
            raise UsageError(f"call: found no array that tells the size {size.name}, expected one for {expected or 'it'}")
        value, where = found[size.name]
        if not size.lo <= value <= size.hi:
            raise ShapeError(f"{where}: found {size.name} = {value}, expected {size.lo} to {size.hi}")


def _found(found: dict[str, tuple[int, str]], name: str, actual: int, where: str) -> None:
    value, before = found.setdefault(name, (actual, where))
    if value != actual:
        raise ShapeError(f"{where}: found {name} = {actual}, expected {value} as in {before}")


def _value(size: RunTimeSize, given: Mapping[str, int]) -> int:
    return sum(k * prod(given[name] for name in names) for k, names in size.terms)


def _solved(size: RunTimeSize, actual: int, name: str, found: Mapping[str, tuple[int, str]], where: str) -> int:
    """The size of which one that is made of it has a value, others being known; it is no less for more."""
    given = {other: value for other, (value, _) in found.items()}
    at = bisect_left(range(LARGEST), actual, key=lambda value: _value(size, {**given, name: value}))
    if _value(size, {**given, name: at}) != actual:
        raise ShapeError(f"{where}: found an axis of {actual} elements, expected {size.name} for some {name}")
    return at


def _with(entry: Entry, sizes: Sizes) -> Entry:
    """The same of a kernel that takes its sizes first, as an array."""
    return lambda _, *arguments: entry(*arguments, *sizes)


def at_sizes(blueprint: Blueprint, sizes: Sizes) -> Blueprint:
    """What a plan is where its sizes have these values: one more constant, which its kernels take first."""
    known = {size.marker: value for size, value in zip(blueprint.sizes, sizes, strict=True)}
    buffers = tuple(replace(buffer, shape=_actual(buffer.shape, known)) for buffer in blueprint.buffers)
    first, others = len(buffers), {step.name for step in blueprint.steps}

    def kernel_at(kernel: PlanKernel) -> PlanKernel:
        taken = kernel.buffers if kernel.name in others else (first, *kernel.buffers)
        now, priced = (sum(all_buffers[k].nbytes for k in kernel.buffers) for all_buffers in (buffers, blueprint.buffers))
        chosen = _fastest(kernel, known)
        return replace(chosen, buffers=taken, estimated_ns=chosen.estimated_ns * now / max(priced, 1))

    return replace(
        blueprint,
        inputs=tuple(Input(tensor.name, _actual(tensor.shape, known), tensor.dtype) for tensor in blueprint.inputs),
        kernels=tuple(map(kernel_at, blueprint.kernels)),
        buffers=(*buffers, PlanBuffer("constant", (len(sizes),), "int64")),
        storages=_storages(buffers, len(blueprint.storages)),
        constants={**blueprint.constants, first: np.array(sizes, np.int64)},
        sizes=(),
        places=tuple((slot, replace(limit, extent=known.get(limit.extent, limit.extent))) for slot, limit in blueprint.places),
    )


def _fastest(kernel: PlanKernel, known: Mapping[int, int]) -> PlanKernel:
    """The kernel that is fastest for some sizes, of those that compute the same."""
    best = max(kernel.in_rows, key=lambda one: one.gain_at(known), default=None)
    gain = 0.0 if best is None else best.gain_at(known)
    if best is None or gain <= 1:
        return replace(kernel, units=kernel.units and Units(*(known.get(count, count) for count in kernel.units)), in_rows=())
    extent = None if best.shared is None else -(-known.get(best.shared, best.shared) // best.rows)
    units = None if extent is None else Units(extent, extent)
    return replace(kernel, name=best.name, units=units, estimated_ns=best.estimated_ns, in_rows=())


def _actual(shape: Shape, known: Mapping[int, int]) -> Shape:
    return tuple(known.get(extent, extent) for extent in shape)


def _storages(buffers: Sequence[PlanBuffer], count: int) -> tuple[int, ...]:
    """The bytes of each storage: those of the largest array in it."""
    held: list[list[int]] = [[] for _ in range(count)]
    for buffer in buffers:
        if buffer.storage is not None:
            held[buffer.storage].append(buffer.nbytes)
    return tuple(max(sizes, default=0) for sizes in held)
