"""What optimize() returns: the program before and after, its cost, what happened, and the compiled function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from textwrap import indent
from typing import Any

from eqsat.capture.place_checks import PlaceLimit
from eqsat.codegen import MachineCode, compile_kernels
from eqsat.dump import Dump
from eqsat.explaining.alternatives import OtherForm, OtherProgram, other_forms, other_programs
from eqsat.explaining.explanation import Step, explain_steps
from eqsat.explaining.guards import Missing, missing_guards
from eqsat.explaining.program_steps import ProgramStep, explain_program
from eqsat.explaining.why_not import WhyNot, why_not_form, why_not_program
from eqsat.exploring import EGraph, explore_index, explore_program
from eqsat.extraction.cheapest import Extracted
from eqsat.ir.generics import as_generic
from eqsat.ir.index import Index
from eqsat.ir.loops import Kernel
from eqsat.ir.shown import Shown
from eqsat.ir.steps import HostCall, Loop, Parts
from eqsat.ir.tensor import Build, Generic, Program, Tensor
from eqsat.ir.typed_check import check_typed
from eqsat.ir.typed_kernel import TypedKernel
from eqsat.keeping.kept import kept_code
from eqsat.kernels.listing import Listing, list_kernels
from eqsat.kernels.picking import PlacedKernel, remaining
from eqsat.lowering import type_indices
from eqsat.options import Options
from eqsat.pipeline import Pipeline
from eqsat.pricing.costs import Cost, cost_of_term
from eqsat.progress import tell, work
from eqsat.proving.certificate import Certificate
from eqsat.proving.proof import ALWAYS, Proof
from eqsat.report import Report
from eqsat.running.blueprint import PlanCall, PlanLoop, PlanStep, draw
from eqsat.running.loop_bodies import as_computed
from eqsat.running.one_process import OfOneProcess
from eqsat.running.plan import Plan
from eqsat.running.sized_plan import plan_of
from eqsat.threads import num_threads


@dataclass(frozen=True, repr=False, kw_only=True)
class Result(OfOneProcess, Shown):
    """An optimized program; calling it compiles at first use and computes numpy arrays.

    original, program         before and after; every Build of `program` is one kernel
    cost, original_cost       estimated nanoseconds on options.target, of both programs with what checks that places are within arrays
    report                    stop reason, sizes, how often each named rule matched
    loops, loops_in_rows      the loop nests, in execution order; of a program with sizes also those that take their place for large ones
    llvm_ir, assembly         made when asked for
    listing                   the loop nests with the LLVM IR and the assembly of each of their lines, made when asked for
    certificate               with Options(certify=True): what was proved and compared
    finite                    tensors of `program` of which every call checks that their values are finite; where they are not, it computes
                              the program without algebra: reordered sums of infinities and NaN are not what NumPy gives
    parts                     `program` taken apart at its steps
    bodies                    the optimized bodies of the program's loops
    places                    limits that every call checks, of values that are the last outputs of `program`
    written, extracted        the program around its steps as builds, and what the search found for it
    pipeline                  the driver, for what is asked of a result later
    options, dump, otherwise  what it was made with, where texts of its stages go, and what makes the plan without algebra
    nests                     the loop nests, each with the builds that it computes
    steps                     the changes that lead from `original` to `program`, each by named rows; found when asked for
    """

    original: Program
    parts: Parts
    nests: tuple[PlacedKernel, ...]
    cost: Cost
    original_cost: Cost
    report: Report
    options: Options
    dump: Dump
    otherwise: Callable[[], Plan]
    written: Parts
    extracted: Extracted
    pipeline: Pipeline
    certificate: Certificate | None = None
    finite: tuple[Tensor, ...] = ()
    bodies: tuple[Result, ...] = ()
    places: tuple[PlaceLimit, ...] = ()

    @functools.cached_property
    def program(self) -> Program:
        """The program that was found, every Build of it one kernel."""
        return self.parts.joined()

    @property
    def generics(self) -> tuple[Generic | Build, ...]:
        """The kernels as generic operations with composed blocks; a build that folds inside its function stays a build."""
        return tuple(as_generic(build) or build for nest in self.nests for build in nest.builds)

    @property
    def loops(self) -> tuple[Kernel, ...]:
        """The loop nests, in execution order."""
        return tuple(nest.kernel for nest in self.nests)

    @property
    def loops_in_rows(self) -> tuple[Kernel, ...]:
        """Of a program with sizes the loop nests that compute blocks of rows, named after the kernels in whose place they run where sizes
        are large enough."""
        return tuple(one.kernel for nest in self.nests for one in nest.in_rows)

    @functools.cached_property
    def _typed(self) -> tuple[TypedKernel, ...]:
        typed = tuple(type_indices(kernel) for nest in self.nests for kernel in nest.kernels)
        if self.options.check:
            for kernel in typed:
                check_typed(*kernel.typed.values())
        return typed

    @functools.cached_property
    def _code(self) -> MachineCode:
        make_object = functools.partial(kept_code, options=self.options, threads=num_threads())
        with work("compiling"):
            return compile_kernels(self._typed, self.options.numerics, make_object, _tell_kernels)

    @functools.cached_property
    def _plan(self) -> Plan:
        if self.dump.folder is not None:
            self.dump.write("typed", "\n\n".join(map(str, self._typed)))
            self.dump.write("module", self._code.llvm_ir, "ll")
            self.dump.write("module", self._code.assembly, "s")
        estimates = [ns for _, ns in self.cost.kernels]
        code = self._code.object_code
        blueprint = draw(self.parts, self.nests, estimates, code, self.finite, self._others, self.places)
        return plan_of(blueprint, self.otherwise)

    @property
    def _others(self) -> list[PlanStep]:
        """The steps of the plan that are no kernels."""
        bodies = dict(zip((one.name for one in self.parts.steps if isinstance(one.step, Loop)), self.bodies, strict=True))
        found: list[PlanStep] = []
        for placed in remaining(self.parts.steps, self.nests):
            if isinstance(placed.step, Loop):
                body = as_computed(placed.step.body)
                blueprint = bodies[placed.name].compile().blueprint
                found.append(PlanLoop(placed.name, placed.step.count, blueprint, body.following, body.puts))
            elif isinstance(placed.step, HostCall):
                found.append(PlanCall(placed.name, placed.step.invocation))
        return found

    @functools.cached_property
    def egraph(self) -> EGraph:
        """The e-graph of the program, with its history; saturation is done once more when it is asked for."""
        return explore_program(self.original, self.options)

    def compile(self) -> Plan:
        """The plan of kernels, compiled; the same one every time."""
        return self._plan

    prepare = compile

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Compute; arrays in the order of the program's inputs, and `out` for the results, as a plan takes them."""
        return self._plan(*arrays, out=out)

    @property
    def llvm_ir(self) -> str:
        """LLVM IR of all kernels, as emitted."""
        return self._code.llvm_ir

    @property
    def assembly(self) -> str:
        """Assembly of all kernels for this machine."""
        return self._code.assembly

    @functools.cached_property
    def listing(self) -> Listing:
        """The loop nests beside their LLVM IR and assembly, with the line that each line belongs to; takes LLVM two more runs."""
        return list_kernels(self._typed, self.options.numerics, self.assembly)

    @property
    def is_compiled(self) -> bool:
        """Whether machine code was made already; displaying a result makes none."""
        return "_code" in vars(self)

    @property
    def is_listed(self) -> bool:
        """Whether `listing` was made already."""
        return "listing" in vars(self)

    @functools.cached_property
    def steps(self) -> tuple[ProgramStep, ...]:
        """Changes from `original` to `program`, in order; tensors keep the names that they have in the text of `original`.

        With checked gathers the first begins at the program that is computed: gathers clip, and limits of places are outputs too.
        """
        matched = tuple(sorted(self.report.fired))
        return explain_program(self.original, self.written, self.extracted, self.options, matched)

    def explain(self) -> str:
        """The steps, each with its rows and the tensors that it changed; the steps of bodies of loops; which tensors are computed
        by one kernel; cost, and how often each rule matched."""
        inner = [f"in a loop:\n{indent(body.explain(), '  ')}" for body in self.bodies]
        joined = [f"  one kernel for {len(nest.builds)} tensors: {nest.kernel.name}" for nest in self.nests if len(nest.builds) > 1]
        return "\n".join([str(self.original), *map(str, self.steps), *joined, *inner, self._numbers()])

    def alternatives(self, k: int = 5) -> tuple[OtherProgram, ...]:
        """The k cheapest other programs that the search saw, with costs and in what they differ, cheapest first.

        They store other tensors, or take other offers of algebra; the program as it is written is one of them.  What was chosen is left
        out.  The search runs again for that.  Costs are those after loops are chosen, of which the search has estimates only: an
        alternative may cost less.  Raises UsageError for a k that is no number.
        """
        return other_programs(self.original, self.written, self.extracted, self.options, self.pipeline, k)

    def why_not(self, program: Program | Callable[..., Any]) -> WhyNot:
        """Why another program, or a function of arrays like the inputs, was not chosen: it is not equal (values differ, and where), it
        costs more, or the rules do not find it.

        Its cost is that of the program as it is written, each of its tensors a kernel.  Raises UsageError for other inputs.
        """
        return why_not_program(self.original, self.program, self.cost, program, self.options, self.pipeline, self.report)

    def _numbers(self) -> str:
        return _explanation(self.original_cost, self.cost, self.report)

    def __str__(self) -> str:
        return f"{self.program}\n{self._numbers()}"


def _tell_kernels(done: int, total: int) -> None:
    """Progress: LLVM takes all kernels at once, when the last is written."""
    tell(*("writing kernels", done, total) if done < total else ("LLVM compiles the kernels",))


@dataclass(frozen=True, repr=False)
class IndexResult(Shown):
    """An optimized index expression: `expr`, its cost before and after, and the report.

    certificate  with Options(certify=True): the proof that `expr` equals `original` wherever that has a value
    options      those it was made with; fact: the conditions on its variables that were declared
    steps        the equalities that lead from `original` to `expr`, each by a named row; found when asked for
    missing      which guards keep rules from firing on the divisions that are left
    """

    original: Index
    expr: Index
    report: Report
    certificate: Proof | None = None
    options: Options = field(default_factory=Options)
    fact: Index = ALWAYS

    @property
    def cost(self) -> Cost:
        """What the expression costs that was found; nanoseconds on the default target."""
        return cost_of_term(self.expr, self.options.cost)

    @property
    def original_cost(self) -> Cost:
        """What the expression costs as it was written."""
        return cost_of_term(self.original, self.options.cost)

    @functools.cached_property
    def egraph(self) -> EGraph:
        """The e-graph of `original`, with its history; saturation is done once more when it is asked for."""
        return explore_index(self.original, self.options, self.fact)

    @functools.cached_property
    def steps(self) -> tuple[Step, ...]:
        """Equalities from `original` to `expr`, in order; one that names all rows that matched where tracing takes too long."""
        matched = tuple(sorted(self.report.fired))
        return explain_steps(self.original, self.expr, self.options, matched, self.fact)

    @functools.cached_property
    def missing(self) -> tuple[Missing, ...]:
        """For each division that `expr` keeps the guards that keep a rule from firing on it, the nearest miss first."""
        return missing_guards(self.expr)

    def explain(self) -> str:
        """The steps, each with its rows and their equations; cost, and how often each rule matched; for each division that is kept
        the guard that it misses by least."""
        nearest = {miss.term: miss for miss in reversed(self.missing)}
        missing = ["missing:", *map(str, reversed(nearest.values()))] if nearest else []
        return "\n".join([f"{self.original}  ->  {self.expr}", *map(str, self.steps), self._numbers(), *missing])

    def alternatives(self, k: int = 5) -> tuple[OtherForm, ...]:
        """The k cheapest other forms that saturation found, and the original, each proved equal, cheapest first; `expr` is left out.

        Where a class holds a constant or a variable no other form of it is kept, so there may be fewer.  Raises UsageError for a k that
        is no number.
        """
        return other_forms(self.original, self.expr, self.options, self.fact, k)

    def why_not(self, expression: Index | int) -> WhyNot:
        """Why another index expression was not chosen: it is not equal (with a counterexample), it costs more, or the rules do not find it
        (with the guards that are missing).  Raises UsageError for one whose variables have other bounds."""
        return why_not_form(self.original, self.expr, expression, self.options, self.fact)

    def _numbers(self) -> str:
        return _explanation(self.original_cost, self.cost, self.report)

    def __str__(self) -> str:
        return f"{self.original}  ->  {self.expr}\n{self._numbers()}"


def _explanation(before: Cost, after: Cost, report: Report) -> str:
    return f"cost {before} -> {after}\n{report}"
