"""Loops for steps: running sums, and values put or added at places.  Others are calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from types import MappingProxyType

from eqsat.codegen.calls.running import TablePut
from eqsat.ir.dtypes import carrier, itemsize
from eqsat.ir.host import keywords
from eqsat.ir.index import Const, substitute, variables
from eqsat.ir.loops import Buffer, For, Kernel, Let, Load, Pick, Role, Store, Temp, bound_in, over, statements, values_of
from eqsat.ir.ops import BOOL_FOLD, FOLD_OF
from eqsat.ir.steps import HostCall, Parts, PlacedStep
from eqsat.ir.tensor import Build, Constant, Scalar, Size, Tensor, scalars, sources, tensors
from eqsat.lowering.scan import is_ahead, is_of_rows, scan
from eqsat.lowering.scatter import MOST_ALONE, Given, computed, scattered, stored, together
from eqsat.lowering.stepping import Put, State, stepping

Made = tuple[Tensor, ...]
NO_LOOPS: Mapping[str, Kernel] = MappingProxyType({})
# arrays that one loop adds to
MOST_TOGETHER = 6
# functions of NumPy that loops compute as well
SCANS = {"cumulative_sum": "sum", "cumulative_prod": "prod", "cumulative_max": "max", "cumulative_min": "min"}
SCATTERS = {"scatter": None, **{f"scatter_{op}": fold for op, fold in FOLD_OF.items()}}


def step_kernel(
    placed: PlacedStep, names: Mapping[Tensor, str], sizes: tuple[Size, ...], within: Container[Tensor] = (), alone: bool = True
) -> Kernel | None:
    """Loops for a step, where there are some; `within`: tensors that they compute as they read them; `alone`: whether the kernel does
    nothing else."""
    step = placed.step
    if not isinstance(step, HostCall):
        return None
    if (found := scan_of(placed)) is not None:
        return _scan(placed, found, names, sizes)
    if step.invocation.function in SCATTERS:
        return _scatter(placed, step, names, sizes, within, alone)
    return None


@dataclass(frozen=True)
class StepBody:
    """The body of a loop as it is computed.

    inputs     of the body: the counter, what is carried, and what stays
    outputs    what it computes, by positions that `following` and `puts` name (running/loop_bodies.py)
    kernels    that compute it, each with the tensors of its buffers; None where something else is needed for it
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    following: tuple[int | None, ...]
    puts: tuple[TablePut, ...]
    kernels: tuple[tuple[Kernel, tuple[Tensor, ...]], ...] | None


def loop_kernel(placed: PlacedStep, count: int, body: StepBody, names: dict[Tensor, str], within: Container[Tensor] = ()) -> Kernel | None:
    """All steps of a loop as one kernel, where each is one nest of loops over elements; gives names to constants of its body.  `within`:
    tensors that it computes as it reads them."""
    if body.kernels is None:
        return None
    inside = {tensor: buffer.name for kernel, given in body.kernels for tensor, buffer in zip(given, kernel.buffers, strict=True)}
    counter, *carries = body.inputs[: 1 + len(body.following)]
    stays = body.inputs[1 + len(carries) :]
    computed = [body.outputs[at] for at in (*body.following, *(put.values for put in body.puts)) if at is not None]
    if not count or any(tensor not in inside or tensor in body.inputs for tensor in computed):
        return None
    places: dict[Tensor, Scalar] = {counter: Load(inside.setdefault(counter, "i"), Const(0), counter.dtype)}
    every_place = [body.outputs[put.place] for put in body.puts]
    put_at = {inside[place]: place for place in every_place if place in inside and place is not counter}
    steps: list[Kernel] = []
    for kernel, _ in body.kernels:
        stored = {stmt.buffer: stmt for stmt in kernel.body if isinstance(stmt, Store) and stmt.buffer in put_at}
        known: dict[Scalar, Scalar] = {}
        for let in (stmt for stmt in kernel.body if isinstance(stmt, Let)):
            known[Temp(let.name, let.value.dtype)] = over(let.value, {}, known)
        places |= {put_at[buffer]: over(stmt.value, {}, known) for buffer, stmt in stored.items()}
        rest = tuple(stmt for stmt in kernel.body if stmt not in stored.values())
        if any(isinstance(stmt, Store | For) for stmt in rest):
            buffers = tuple(buffer for buffer in kernel.buffers if buffer.name not in stored)
            steps.append(replace(kernel, body=rest, buffers=buffers))
    if not steps or any(place not in places for place in every_place):
        return None

    def buffer(tensor: Tensor, role: Role = "in") -> Buffer:
        return Buffer(names[tensor], tensor.dtype, tensor.size, role)

    states: list[State] = []
    puts: list[Put] = []
    for k, (carry, at) in enumerate(zip(carries, body.following, strict=True)):
        ends = _given(placed.given[k], names, within, once=True), buffer(placed.results[k], "out")
        before, changes = inside.get(carry, f"carry {k}"), [put for put in body.puts if put.carry == k]
        if at is not None:
            states.append(State(before, inside[body.outputs[at]], *ends))
        for put in changes:
            values, at_place = inside[body.outputs[put.values]], places[body.outputs[put.place]]
            puts.append(Put(before, values, at_place, put.rows, put.extent, put.nbytes // itemsize(carry.dtype), *ends))
        if at is None and not changes:
            return None
    outer = dict(zip(stays, placed.given[len(carries) :], strict=True))
    read = {tensor: name for tensor, name in inside.items() if tensor in outer or isinstance(tensor, Constant)}
    for tensor in read:
        if isinstance(tensor, Constant):
            names.setdefault(tensor, f"constant{len(names)}")
    stay = {name: _given(outer.get(tensor, tensor), names, within) for tensor, name in read.items()}
    of_step = {name: places[tensor] for name, tensor in put_at.items()}
    return stepping(steps, count, inside[counter], of_step, (states, puts), stay, placed.name)


def at_same_places(
    steps: Sequence[PlacedStep], levels: Mapping[Tensor, float], names: Mapping[Tensor, str], within: Container[Tensor]
) -> Iterator[tuple[tuple[Made, ...], Kernel]]:
    """Steps by what they make that put values at the same places, none of which waits for another, and the kernel that is all of them."""
    groups: dict[Hashable, list[PlacedStep]] = {}
    for placed in steps:
        if isinstance(placed.step, HostCall) and placed.step.invocation.function in SCATTERS:
            (made,), places = placed.results, placed.given[1]
            groups.setdefault((levels[made], places.size, sources(places) if isinstance(places, Build) else places), []).append(placed)
    for several in groups.values():
        kernels = [step_kernel(placed, names, (), within, alone=False) for placed in several[:MOST_TOGETHER]]
        found = [kernel for kernel in kernels if kernel is not None]
        if len(found) == len(kernels) > 1 and (kernel := together(found)) is not None:
            yield tuple(placed.results for placed in several[:MOST_TOGETHER]), kernel


def made_within(
    parts: Parts, kept: Collection[Tensor], names: Mapping[Tensor, str], loops: Mapping[str, Kernel] = NO_LOOPS
) -> frozenset[Tensor]:
    """The builds that nothing reads but loops of steps, each once for each element, which compute them then; none that is `kept`.
    `loops`: those that are kernels, by the names of steps."""
    program = parts.around
    if program.sizes:
        return frozenset()
    read = Counter(source for tensor in tensors(*program.outputs) if isinstance(tensor, Build) for source in dict.fromkeys(sources(tensor)))
    read += Counter(given for placed in parts.steps for given in placed.given) + Counter({*parts.outputs, *kept})
    puts = [one for one in parts.steps if isinstance(one.step, HostCall) and one.step.invocation.function in SCATTERS]
    given = [(tensor, tensor is one.given[0]) for one in puts if step_kernel(one, names, ()) is not None for tensor in one.given]
    begun = [tensor for one in parts.steps if one.name in loops for tensor in one.given[: len(one.results)]]
    given += [(tensor, True) for tensor in begun]
    stay = [(tensor, loops[one.name]) for one in parts.steps if one.name in loops for tensor in one.given[len(one.results) :]]
    given += [(tensor, False) for tensor, loop in stay if isinstance(tensor, Build) and _reads_other_elements(loop, names[tensor])]
    times = Counter(tensor for tensor, _ in given)
    alone = [(tensor, first) for tensor, first in given if isinstance(tensor, Build) and read[tensor] == times[tensor]]
    once = set(begun) - {tensor for one in puts for tensor in one.given} - {tensor for tensor, _ in stay}
    short = [tensor for tensor, first in alone if not first or tensor.size <= MOST_ALONE]
    return frozenset(tensor for tensor in short if computed(tensor, names, once=tensor in once) is not None)


def _reads_other_elements(loop: Kernel, name: str) -> bool:
    """Whether each step of a loop reads other elements of an array, which are no gathers."""
    terms = list(scalars(*values_of(statements(loop.body))))
    counters = {stmt.variable for stmt in statements(loop.body) if isinstance(stmt, For) and stmt.kind == "serial"}
    bound = bound_in(statements(loop.body))
    read = (substitute(term.index, bound) for term in terms if isinstance(term, Load) and term.buffer == name)
    gathered = any(isinstance(term, Pick) and term.buffer == name for term in terms)
    return not gathered and not any(counters.isdisjoint(variables(index)) for index in read)


@dataclass(frozen=True)
class Running:
    """A running fold along an axis; `initial`: whether the value that an empty one has stands in front."""

    op: str
    axis: int
    initial: bool


def scan_of(placed: PlacedStep) -> Running | None:
    """The running fold that a step is, where it is one."""
    step = placed.step
    if not isinstance(step, HostCall) or step.invocation.function not in SCANS:
        return None
    named, (made,) = keywords(step.invocation, 1), placed.results
    op = SCANS[step.invocation.function]
    return Running(BOOL_FOLD.get(op, op) if made.dtype == "bool" else op, int(named["axis"]), bool(named.get("include_initial", False)))


def _scan(placed: PlacedStep, found: Running, names: Mapping[Tensor, str], sizes: tuple[Size, ...]) -> Kernel | None:
    (given,), (made,), axis = placed.given, placed.results, found.axis
    if not given.size or not is_of_rows(given.shape, axis, sizes) or not is_ahead(found.op, made.dtype, prod(given.shape[axis + 1 :])):
        return None
    source, result = Buffer(names[given], given.dtype, given.size, "in"), Buffer(names[made], made.dtype, made.size, "out")
    return scan(found.op, given.shape, axis, found.initial, source, result, placed.name, sizes)


def _scatter(
    placed: PlacedStep, step: HostCall, names: Mapping[Tensor, str], sizes: tuple[Size, ...], within: Container[Tensor], alone: bool
) -> Kernel | None:
    (first, places, values), (made,) = placed.given, placed.results
    if carrier(made.dtype) != made.dtype:  # NumPy rounds sums of 16 bits at every step
        return None
    if any(size.marker in tensor.shape for size in sizes for tensor in placed.given):
        return None

    given = _given(first, names, within), _given(places, names, within), _given(values, names, within)
    combine = SCATTERS[step.invocation.function]
    combine = BOOL_FOLD.get(combine, combine) if combine is not None and made.dtype == "bool" else combine
    result = Buffer(names[made], made.dtype, made.size, "out")
    axis = int(keywords(step.invocation, 3).get("axis", 0))
    return scattered(first.shape, axis, given, result, combine, placed.name, sizes, alone)


def _given(tensor: Tensor, names: Mapping[Tensor, str], within: Container[Tensor], once: bool = False) -> Given:
    """An array that loops read, or compute as they read it."""
    found = computed(tensor, names, once) if isinstance(tensor, Build) and tensor in within else None
    return stored(Buffer(names[tensor], tensor.dtype, tensor.size, "in")) if found is None else found
