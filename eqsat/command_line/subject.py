"""What `explain` and `cost` are about: an index expression or a function on given arguments, as written and optimized."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from eqsat.capture.specs import describe
from eqsat.capture.tracing import trace
from eqsat.command_line.answer import Table, finite
from eqsat.command_line.arrays import add_arguments, call_text, filled, load_arguments, parse_variables
from eqsat.command_line.beside_numpy import duration
from eqsat.command_line.functions import blamed, load_function
from eqsat.command_line.settings import add_options
from eqsat.driver import optimize, optimize_index
from eqsat.egraph.index_cost import index_cycles
from eqsat.indices.parse import parse_index
from eqsat.ir.errors import UsageError
from eqsat.ir.index import Index, Var
from eqsat.ir.tensor import Build, Generic, Program, StepResult, Tensor, tensors
from eqsat.options import Options
from eqsat.pricing.costs import Cost
from eqsat.report import Report
from eqsat.result import IndexResult, Result
from eqsat.sizes.facts import assume


@dataclass(frozen=True)
class KernelCost:
    """A kernel, or a step of the plan that is none; what it makes, and estimated nanoseconds."""

    name: str
    makes: str
    ns: float


@dataclass(frozen=True)
class Form:
    """A program or an index expression as text, with its estimated nanoseconds; an expression has no kernels."""

    text: str
    ns: float
    kernels: tuple[KernelCost, ...] = ()

    @property
    def data(self) -> dict[str, Any]:
        kernels = [{"name": kernel.name, "makes": kernel.makes, "ns": finite(kernel.ns)} for kernel in self.kernels]
        return {"text": self.text, "total_ns": finite(self.ns), "kernels": kernels}

    def table(self, title: str) -> Table:
        rows = tuple((kernel.name, kernel.makes, duration(kernel.ns * 1e-9)) for kernel in self.kernels)
        return Table(title, ("kernel", "makes", "estimate"), rows, frozenset({"estimate"}))


@dataclass(frozen=True)
class Subject:
    """A program or an index expression under a title, before and after; `result` is what `eqsat.optimize` gave."""

    title: str
    before: Form
    after: Form
    result: Result | IndexResult

    @property
    def kind(self) -> str:
        return "index" if isinstance(self.result, IndexResult) else "program"

    @property
    def report(self) -> Report:
        return self.result.report

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes that are known at run time only, with the numbers that estimates are for."""
        sizes = self.result.original.sizes if isinstance(self.result, Result) else ()
        return {size.name: size.marker for size in sizes}

    @property
    def estimated(self) -> str:
        """What estimates are for: a target, and numbers in the place of sizes."""
        sizes = "".join(f", {name} = {number}" for name, number in self.sizes.items())
        return f"estimated for {self.result.options.target.name}{sizes}"

    @property
    def data(self) -> dict[str, Any]:
        """What all commands tell scripts about it."""
        return {"subject": self.title, "kind": self.kind, "target": self.result.options.target.name, "sizes": self.sizes}


def add_subject(parser: argparse.ArgumentParser) -> None:
    """The arguments that `load_subject` reads."""
    text = "an index expression, or a function: a module's dotted name or the path of a .py file, a colon, and its name"
    parser.add_argument("subject", metavar="EXPRESSION|MODULE:FUNCTION", help=text)
    text = "a variable of the expression with its inclusive bounds; repeat for more"
    parser.add_argument("--var", metavar="NAME=LO:HI", action="append", default=[], help=text)
    text = "a condition on the variables that holds, such as 'n %% 4 == 0'; repeat for more"
    parser.add_argument("--assume", metavar="CONDITION", action="append", default=[], help=text)
    add_arguments(parser, "a size that a --spec names: a number, or a range that one plan is to serve, such as n=1:65536")
    add_options(parser)


def load_subject(text: str, arguments: argparse.Namespace, options: Options) -> Subject:
    """What a text names, optimized; UsageError where it makes no sense with the other arguments."""
    if ":" in text:
        if arguments.var or arguments.assume:
            raise UsageError("--var, --assume: found a function, expected an index expression for them")
        return program_subject(text, arguments, options)
    if arguments.given or arguments.size:
        raise UsageError(f"--input, --spec, --size: found the index expression {text!r}, expected MODULE:FUNCTION for them")
    return index_subject(text, arguments.var, arguments.assume, options)


def program_subject(text: str, arguments: argparse.Namespace, options: Options) -> Subject:
    """The function that a text names, on the arguments that are given."""
    function, given = load_function(text), load_arguments(arguments)
    program = blamed(text, function, lambda: filled(given), lambda: trace(function, *given, fallback=options.fallback))
    result = optimize(program, options=options)
    before = Form(str(program), float(result.original_cost), _kernels(result.original_cost, _written(program), program))
    after = Form(str(result.program), float(result.cost), _kernels(result.cost, _made(result), program))
    return Subject(call_text(text, given), before, after, result)


def index_subject(text: str, variables: Iterable[str], conditions: Iterable[str], options: Options) -> Subject:
    """The index expression that a text states, under conditions on its variables."""
    known = parse_variables(variables)
    try:
        expression = parse_index(text, known)
        with ExitStack() as stack:
            for condition in conditions:
                stack.enter_context(assume(parse_index(condition, known)))
            result = optimize_index(expression, options)
    except RecursionError:
        raise UsageError(f"expression: found {len(text)} characters that are nested too deeply, expected a shorter one") from None
    return Subject(str(expression), _index_form(expression, options), _index_form(result.expr, options), result)


def _index_form(term: Index, options: Options) -> Form:
    return Form(str(term), index_cycles(term) / options.target.ghz)


def _kernels(cost: Cost, makes: Mapping[str, Iterable[Tensor]], program: Program) -> tuple[KernelCost, ...]:
    sizes = {size.marker: Var(size.name, *size.variable.bounds) for size in program.sizes}

    def described(tensor: Tensor) -> str:
        return describe(tuple(sizes.get(extent, extent) for extent in tensor.shape), tensor.dtype)

    return tuple(KernelCost(name, ", ".join(map(described, makes.get(name, ()))), ns) for name, ns in cost.kernels)


def _written(program: Program) -> dict[str, list[Tensor]]:
    """What the kernels and steps of a program as it is written make, under the names that `eqsat.cost` gives them."""
    steps = {step: f"{step.name}_{k}" for k, step in enumerate(program.steps)}
    found: dict[str, list[Tensor]] = {}
    for tensor in tensors(*program.outputs):
        if isinstance(tensor, Build | Generic):
            found[f"kernel_{len(found)}"] = [tensor]
    for tensor in tensors(*program.outputs):
        if isinstance(tensor, StepResult):
            found.setdefault(steps[tensor.step], []).append(tensor)
    return found


def _made(result: Result) -> dict[str, tuple[Tensor, ...]]:
    """What the kernels and the other steps of a plan make."""
    kernels: dict[str, tuple[Tensor, ...]] = {nest.kernel.name: nest.made for nest in result.nests}
    return kernels | {placed.name: placed.results for placed in result.parts.steps}
