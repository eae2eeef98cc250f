"""The pipeline of ARCHITECTURE.md: a program in, the cheapest program, its loop nests and its machine code out."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

from eqsat.calling.subject import subject_of
from eqsat.capture.compared import taken_apart
from eqsat.capture.place_checks import PlaceLimit, explicit
from eqsat.dump import Dump
from eqsat.explaining.guards import Missing
from eqsat.extraction.cheapest import Extracted, cheapest_outputs
from eqsat.gc_pause import uncollected
from eqsat.indices.simplifier import simplify_all
from eqsat.ir.check import check_program
from eqsat.ir.containers import positions
from eqsat.ir.errors import UnsupportedError
from eqsat.ir.index import Index, as_index
from eqsat.ir.steps import Loop, Parts
from eqsat.ir.tensor import Program, Tensor
from eqsat.kernels.picking import PlacedKernel, lower_program, over_what_is_carried, remaining
from eqsat.kernels.rolled import rolled
from eqsat.kernels.step_loops import StepBody
from eqsat.options import Options, options_of
from eqsat.pipeline import Pipeline
from eqsat.pricing.cost_model import CostModel
from eqsat.pricing.costs import Cost, cost, kernel_ns, step_ns, type_of
from eqsat.pricing.nest_costs import nest_ns
from eqsat.progress import tell, work
from eqsat.proving.certificate import Certificate, Compared
from eqsat.proving.values import compare_values
from eqsat.report import Report
from eqsat.result import IndexResult, Result
from eqsat.running.loop_bodies import LoopBody, as_computed
from eqsat.running.plan import Plan
from eqsat.sizes.facts import facts_about


@overload
def optimize(target: Index, *, options: Options | None = None) -> IndexResult: ...
@overload
def optimize(target: Any, *specs: Any, options: Options | None = None) -> Result: ...
def optimize(target: Any, *specs: Any, options: Options | None = None) -> Result | IndexResult:
    """The cheapest equal form of a program, of a function, or of an index expression.

    target  a Program from `trace`; a function, followed by the specs or arrays of its arguments; lazy tensors, of which the result computes
            a tuple, given the arrays under them in order of first use; or an index expression
    Raises UsageError for anything else, and what `trace` raises.
    """
    chosen = options_of(options, "optimize")
    subject = subject_of(target, specs, chosen.fallback, "optimize")
    return optimize_index(subject, chosen) if isinstance(subject, Index) else optimize_program(subject, chosen)


@work("optimizing")
@uncollected()
def optimize_program(program: Program, options: Options) -> Result:
    """The cheapest equal program, lowered; machine code is made at the first call."""
    try:
        return _optimized(program, options)
    except RecursionError:
        raise UnsupportedError(
            f"optimize: found more operations one after the other than the recursion limit of {sys.getrecursionlimit()} allows, expected "
            "fewer; repeat a step by eqsat.fori, or raise the limit by sys.setrecursionlimit"
        ) from None


def _optimized(program: Program, options: Options) -> Result:
    check_program(program)
    program = rolled(program)
    dump = Dump(options.dump)
    dump.write("program", program)
    report = Report()
    written, places = explicit(taken_apart(program, options))
    found = cheapest_outputs(written.around, cost(written.around, options), options, report)
    return _finished(program, written, places, found, options, report, dump)


def _finished(
    program: Program,
    written: Parts,
    places: tuple[PlaceLimit, ...],
    found: Extracted,
    options: Options,
    report: Report,
    dump: Dump,
) -> Result:
    """The pipeline behind extraction."""
    apart = written.over(found.outputs).without_unread()
    parts, finite = apart.without_kept(*found.finite)
    if options.check:
        check_program(parts.joined())
    dump.write("extracted", parts.joined())
    loops = {placed.name: placed.step for placed in parts.steps if isinstance(placed.step, Loop)}
    computed = {name: as_computed(loop.body) for name, loop in loops.items()}
    bodies = {name: _optimized_body(body, options) for name, body in computed.items()}
    tell("lowering")
    steps = {name: _step_body(body, bodies[name]) for name, body in computed.items()}
    nests = lower_program(parts, options, report, finite, steps)
    dump.write("loops", "\n\n".join(str(nest.kernel) for nest in nests))
    values = compare_values(written.around, apart.around, options) if options.certify and not program.sizes else ()

    def otherwise() -> Plan:
        return optimize_program(program, options.without("algebra")).compile()

    def finish(other: Extracted) -> Result:
        return _finished(program, written, places, other, options, Report(), Dump(None))

    return Result(
        original=program,
        parts=parts,
        nests=nests,
        cost=_cost_of(parts, nests, bodies, options),
        original_cost=cost(written.joined(), options),
        report=report,
        options=options,
        dump=dump,
        otherwise=otherwise,
        written=written,
        extracted=found,
        pipeline=Pipeline(finish, optimize_program),
        certificate=_certificate(report, values, bodies.values()) if options.certify else None,
        finite=finite,
        bodies=tuple(bodies.values()),
        places=places,
    )


def _cost_of(parts: Parts, nests: Sequence[PlacedKernel], bodies: Mapping[str, Result], options: Options) -> Cost:
    """What the kernels cost, and the steps that are none: loops as often as they run their bodies, by the names of these steps."""
    model = CostModel(options.target, options.cost)
    found = [(nest.kernel.name, 0.0 if nest.once else _nest_ns(nest, model)) for nest in nests]
    for placed in remaining(parts.steps, nests):
        step = placed.step
        found.append((placed.name, step.count * float(bodies[placed.name].cost) if isinstance(step, Loop) else step_ns(model, step)))
    return Cost(tuple(found), options.cost, options.target)


def _nest_ns(nest: PlacedKernel, model: CostModel) -> float:
    """What a kernel costs; one in strips as much as the kernels that it is made of, but for their launches, one of
    several that compute a build its share."""
    if nest.has_steps:
        ns = nest_ns(nest.kernel, model.target, model.costs)
        return model.step_cost(ns, nest.read, map(type_of, nest.made))
    launched = (kernel_ns(model, *group, launches=number == 0) * share for number, (group, share) in enumerate(nest.priced))
    return sum(launched) + sum(kernel_ns(model, build, launches=0) for build in nest.builds_within)


def _certificate(report: Report, values: tuple[Compared, ...], bodies: Iterable[Result]) -> Certificate:
    """What was checked of a program and of the bodies of its loops."""
    inner = [body.certificate for body in bodies if body.certificate is not None]
    indices = (*report.proofs, *(proof for one in inner for proof in one.indices))
    return Certificate(indices, (*values, *(compared for one in inner for compared in one.outputs)))


def _optimized_body(body: LoopBody, options: Options) -> Result:
    """The body of a loop, without what would have to be checked in every step; what is carried is written over where that can be."""
    plain = replace(options, dump=None)
    result = optimize_program(body.program, plain)
    result = optimize_program(body.program, plain.without("algebra")) if result.finite else result
    outputs = _outputs(body, result)
    following = [None if at is None else outputs[at] for at in body.following]
    elsewhere = {*outputs, *(given for placed in remaining(result.parts.steps, result.nests) for given in placed.given)}
    carries = zip(body.program.inputs[1:], following, strict=False)
    alone = ((one, other) for one, other in carries if other is not None and one not in elsewhere and following.count(other) == 1)
    return replace(result, nests=over_what_is_carried(result.nests, dict[Tensor, Tensor](alone)))


def _outputs(body: LoopBody, result: Result) -> tuple[Tensor, ...]:
    """What a body computes, by the positions of LoopBody."""
    return tuple(result.parts.outputs[position] for position in positions(body.program.structure))


def _step_body(body: LoopBody, result: Result) -> StepBody:
    """The body of a loop for those who make one kernel of all steps."""
    plain = not (result.places or result.finite or result.parts.steps or any(nest.once for nest in result.nests))
    kernels = tuple(nest.apart or (nest.kernel, nest.tensors) for nest in result.nests) if plain else None
    return StepBody(body.program.inputs, _outputs(body, result), body.following, body.puts, kernels)


def optimize_index(term: Index, options: Options) -> IndexResult:
    """A single index expression, with its report and costs."""
    report = Report()
    found = simplify_all([term], options, report)[0]
    return IndexResult(term, found, report, report.proofs[-1] if options.certify else None, options, facts_about([term]))


def missing(expression: Index, options: Options | None = None) -> tuple[Missing, ...]:
    """For every // and % that the simplified expression keeps, which guard of which rule fails and by how much, the nearest miss
    of each division first; `needed` is the condition that would do (`eqsat.assume`).  Raises what `simplify` raises."""
    return optimize_index(as_index(expression), options_of(options, "missing")).missing
