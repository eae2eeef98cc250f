"""Steps of a program that are no kernels, and a program taken apart at them.

    step ::= Loop(count, body, given)                a program again and again
           | HostCall(invocation, given, made)       a function of NumPy (host.py), with static arguments

A step makes whole arrays of whole arrays.  Nothing looks into it from outside, so a program is optimized around its steps: what they are
given are outputs there, what they make are inputs.  It may be taken apart at tensors that are to be computed once and stored, too.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from eqsat.ir.containers import Container, rebuild_result
from eqsat.ir.host import Invocation
from eqsat.ir.tensor import Input, Program, Shape, Step, StepResult, Tensor, over, tensors
from eqsat.ir.value_bounds import is_whole, tensor_bounds

# functions whose results are elements of their first array
SELECTING = frozenset(("cumulative_max", "cumulative_min", "sort", "partition"))


@dataclass(frozen=True, eq=False, repr=False)
class Loop(Step):
    """`count` runs of `body`, a program of the counter, the carries and then arrays that stay; its outputs are the next carries.

    given  the first carries, and what stays
    """

    count: int
    body: Program
    given: tuple[Tensor, ...]
    made: tuple[tuple[Shape, str], ...] = field(init=False)
    name: str = field(init=False, default="loop")

    def __post_init__(self) -> None:
        object.__setattr__(self, "made", tuple((tensor.shape, tensor.dtype) for tensor in self.body.outputs))


@dataclass(frozen=True, eq=False, repr=False)
class HostCall(Step):
    """A call of a function of the host; the leaves of its arguments are the arrays that it is given, then static values."""

    invocation: Invocation
    given: tuple[Tensor, ...]
    made: tuple[tuple[Shape, str], ...]
    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.invocation.function.removeprefix("numpy."))

    def bounds(self, position: int) -> tuple[int, int] | None:
        if position or not self.given or not is_whole(self.made[0][1]):
            return None
        if self.name in SELECTING and self.given[0].dtype == self.made[0][1]:
            return tensor_bounds(self.given[0])
        if self.name == "argsort" and self.given[0].size:
            args, named = rebuild_result(self.invocation.arguments, [*self.given, *self.invocation.values])
            axis = args[1] if len(args) > 1 else named.get("axis", -1)
            return 0, (self.given[0].size if axis is None else self.given[0].shape[int(axis)]) - 1
        return None

    @staticmethod
    def identified(invocation: Invocation, given: tuple[Tensor, ...], made: tuple[tuple[Shape, str], ...]) -> tuple[Any, ...]:
        function, arguments, values = invocation
        return function, arguments, tuple(map(repr, values)), given, made


@dataclass(frozen=True, eq=False, repr=False)
class Kept(Step):
    """A tensor that is stored, whoever reads it.  Programs have none: they are taken apart there, and joined again."""

    given: tuple[Tensor, ...]
    made: tuple[tuple[Shape, str], ...] = field(init=False)
    name: str = field(init=False, default="kept")

    def __post_init__(self) -> None:
        object.__setattr__(self, "made", tuple((tensor.shape, tensor.dtype) for tensor in self.given))


@dataclass(frozen=True)
class PlacedStep:
    """A step in a program that was taken apart: `name` is its own there, `results` are the inputs that stand for what it makes."""

    name: str
    step: Step
    given: tuple[Tensor, ...]
    results: tuple[Input, ...]


@dataclass(frozen=True)
class Parts:
    """A program taken apart at its steps: `outputs` are those of `whole` over its inputs and the results of `steps`."""

    whole: Program
    outputs: tuple[Tensor, ...]
    steps: tuple[PlacedStep, ...] = ()

    @functools.cached_property
    def around(self) -> Program:
        """The program around the steps: their results are inputs behind those of the whole, what they are given outputs before its own."""
        results = (result for placed in self.steps for result in placed.results)
        given = (tensor for placed in self.steps for tensor in placed.given)
        outputs = (*given, *self.outputs)
        return Program((*self.whole.inputs, *results), outputs, Container("tuple", tuple(range(len(outputs)))), self.whole.sizes)

    def over(self, outputs: Sequence[Tensor]) -> Parts:
        """The same with other tensors in the place of the outputs of the program around the steps."""
        rest = tuple(outputs)
        steps: list[PlacedStep] = []
        for placed in self.steps:
            given, rest = rest[: len(placed.given)], rest[len(placed.given) :]
            steps.append(replace(placed, given=given))
        return Parts(self.whole, rest, tuple(steps))

    def without_unread(self) -> Parts:
        """The same without steps whose results nothing reads, as when what is made of them turned out to be zero."""
        read, steps = set(tensors(*self.outputs)), list[PlacedStep]()
        for placed in reversed(self.steps):
            if not read.isdisjoint(placed.results):
                read.update(tensors(*placed.given))
                steps.append(placed)
        return Parts(self.whole, self.outputs, tuple(reversed(steps)))

    def joined(self) -> Program:
        """The program with its steps in their places again."""
        known = self.joined_tensors()
        return Program(self.whole.inputs, tuple(known[output] for output in self.outputs), self.whole.structure, self.whole.sizes)

    def joined_tensors(self) -> dict[Tensor, Tensor]:
        """For every tensor of the program around the steps the one that it is in the joined program."""
        known: dict[Tensor, Tensor] = {}
        for placed in self.steps:
            given = _replaced(placed.given, known)
            if isinstance(placed.step, Kept):
                known.update(zip(placed.results, given, strict=True))
                continue
            step = replace(placed.step, given=given)  # type: ignore[type-var]  # the dataclasses derived from it
            known.update(zip(placed.results, step.results, strict=True))
        _replaced(self.outputs, known)
        return known

    def without_kept(self, *others: Tensor) -> tuple[Parts, tuple[Tensor, ...]]:
        """The same taken apart at steps of plans only; and what other tensors of the program around the steps are then."""
        known: dict[Tensor, Tensor] = {}
        steps: list[PlacedStep] = []
        for placed in self.steps:
            given = _replaced(placed.given, known)
            if isinstance(placed.step, Kept):
                known.update(zip(placed.results, given, strict=True))
            else:
                steps.append(replace(placed, given=given))
        return Parts(self.whole, _replaced(self.outputs, known), tuple(steps)), _replaced(others, known)


def take_apart(program: Program, kept: Collection[Tensor] = ()) -> Parts:
    """The parts of a program between its steps, and between the tensors `kept`."""
    done: dict[Tensor, Tensor] = {}
    placed: dict[Step, PlacedStep] = {}
    for tensor in tensors(*program.outputs):
        if isinstance(tensor, StepResult):
            if tensor.step not in placed:
                placed[tensor.step] = _placed(tensor.step, len(placed), done)
            done[tensor] = placed[tensor.step].results[tensor.position]
            continue
        done[tensor] = over(tensor, done)
        if tensor in kept:
            step = Kept((tensor,))
            placed[step] = _placed(step, len(placed), done)
            (done[tensor],) = placed[step].results
    return Parts(program, tuple(done[output] for output in program.outputs), tuple(placed.values()))


def _placed(step: Step, position: int, done: Mapping[Tensor, Tensor]) -> PlacedStep:
    name = f"{step.name}_{position}"
    # no parameter of a function is called so
    results = tuple(Input(f"{name}.{k}", shape, dtype, _most(step.bounds(k))) for k, (shape, dtype) in enumerate(step.made))
    return PlacedStep(name, step, tuple(done[tensor] for tensor in step.given), results)


def _most(bounds: tuple[int, int] | None) -> int | None:
    return None if bounds is None or bounds[0] < 0 else bounds[1]


def _replaced(roots: Sequence[Tensor], known: dict[Tensor, Tensor]) -> tuple[Tensor, ...]:
    """The tensors over others in the place of some; `known` learns what each becomes."""
    for tensor in tensors(*roots):
        if tensor not in known:
            known[tensor] = over(tensor, known)
    return tuple(known[root] for root in roots)
