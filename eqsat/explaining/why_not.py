"""Why something else was not chosen: it is not equal, it costs more, or the rules do not find it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal

from eqsat.capture.specs import describe, spec
from eqsat.capture.tracing import trace
from eqsat.egraph.index_cost import IndexWeights
from eqsat.explaining.explored import explored, under
from eqsat.explaining.guards import Missing, missing_guards
from eqsat.extraction.cheapest import Search
from eqsat.extraction.index_reader import IndexReader
from eqsat.extraction.offers import composed
from eqsat.indices.equality import prove_equal
from eqsat.ir.check import check_program
from eqsat.ir.containers import positions
from eqsat.ir.definitions import redefined
from eqsat.ir.errors import UnsupportedError, UsageError
from eqsat.ir.generics import as_builds
from eqsat.ir.index import Apply, Index, as_index, walk
from eqsat.ir.tensor import Input, Program, Tensor
from eqsat.options import Options
from eqsat.pipeline import Pipeline
from eqsat.pricing.amounts import amount
from eqsat.pricing.costs import Cost, cost_of_term
from eqsat.pricing.target import DEFAULT_TARGET
from eqsat.proving.values import Samples, tolerance_of
from eqsat.report import Report, StopReason
from eqsat.saturate import PHASES, session_of

Verdict = Literal["chosen", "not equal", "costs more", "costs no more", "not found", "unknown"]
# of what makes the difference in cost the text shows these
SHOWN = 6


@dataclass(frozen=True, repr=False)
class WhyNot:
    """Why a term or program is not what was chosen.

    verdict      "chosen": it is what was chosen; "not equal"; "costs more": equal by the rules, and dearer; "costs no more": equal by the
                 rules, the choice went by estimates; "not found": equal, but not by the rules; "unknown": neither shown equal nor refuted
    note         what that rests on, in a sentence
    cost, chosen_cost  of the term or program as it is written, and of what was chosen; cost is None where there is none
    differences  where the costs differ, the largest first
    counterexample     values of variables at which index expressions differ
    missing      for index expressions that are not found: guards that keep rules from firing on what was chosen, the nearest first
    stop_reason  why saturation ended
    """

    verdict: Verdict
    note: str
    cost: Cost | None
    chosen_cost: Cost
    differences: tuple[str, ...] = ()
    counterexample: dict[str, int] | None = None
    missing: tuple[Missing, ...] = ()
    stop_reason: StopReason | None = None

    def __str__(self) -> str:
        lines = [f"{self.verdict}: {self.note}"]
        if self.cost is not None and self.verdict != "chosen":
            lines.append(f"  cost {self.cost.text}, chosen {self.chosen_cost.text}")
        lines += [f"  {line}" for line in self.differences[:SHOWN]]
        lines += [f"  and {len(self.differences) - SHOWN} smaller differences"] if len(self.differences) > SHOWN else []
        nearest = {miss.term: miss for miss in reversed(self.missing)}
        return "\n".join([*lines, *map(str, reversed(nearest.values()))])

    __repr__ = __str__


# index expressions ------------------------------------------------------------------------------------------------
def why_not_form(original: Index, chosen: Index, other: Index | int, options: Options, fact: Index) -> WhyNot:
    """Why an index expression was not chosen for another one, where `fact` holds."""
    term = as_index(other)
    best, mine = cost_of_term(chosen, options.cost), cost_of_term(term, options.cost)
    if term is chosen:
        return WhyNot("chosen", "this is what was chosen", mine, best)
    proof = prove_equal(under(original, fact), under(term, fact), extends=True)
    if proof.refuted:
        return WhyNot("not equal", str(proof), mine, best, counterexample=proof.counterexample)
    if not proof:
        return WhyNot("unknown", str(proof), mine, best)
    differences = tuple(_more_work(term, chosen, options.cost.index))
    try:
        with explored(original, fact, options) as graph:
            reason = graph.report.stop_reason
            held = graph.holds(term)
            proved = held or graph.proves(term)
    except UnsupportedError:
        return WhyNot("not found", "equal, but the e-graph cannot hold the expression", mine, best, differences)
    if held:
        return _dearer(mine, best, "equal, and found by the rules", differences, reason)
    known = "the rules prove it once they are given it" if proved else "the rules do not prove it"
    note = f"equal ({proof.method}), but not among what the rules make of the expression ({reason.value}); {known}"
    return WhyNot("not found", note, mine, best, differences, missing=missing_guards(chosen), stop_reason=reason)


def _dearer(mine: Cost, best: Cost, note: str, differences: tuple[str, ...], reason: StopReason) -> WhyNot:
    verdict: Verdict = "costs more" if mine.total > best.total else "costs no more"
    return WhyNot(verdict, note, mine, best, differences, stop_reason=reason)


def _more_work(term: Index, chosen: Index, weights: IndexWeights) -> Iterator[str]:
    """The operations that only one of two terms has, by their cost."""
    sides = [{sub: weights.term_cycles(sub) for sub in walk(side) if isinstance(sub, Apply)} for side in (term, chosen)]
    only = [(cycles, "computes", sub) for sub, cycles in sides[0].items() if sub not in sides[1]]
    only += [(cycles, "does without", sub) for sub, cycles in sides[1].items() if sub not in sides[0]]
    for cycles, what, sub in sorted(only, key=lambda one: -one[0]):
        yield f"{what} {sub}: {cycles / DEFAULT_TARGET.ghz:.2f} ns"


# programs ---------------------------------------------------------------------------------------------------------
def why_not_program(
    original: Program,
    chosen: Program,
    best: Cost,
    other: Program | Callable[..., Any],
    options: Options,
    pipeline: Pipeline,
    report: Report,
) -> WhyNot:
    """Why a program was not chosen for another one.  Raises UsageError for one of other inputs."""
    candidate = _results(_over_inputs(original, _program(original, other, options)))
    if unlike := list(_unlike(original, candidate)):
        return WhyNot("not equal", "; ".join(unlike), None, best)
    if as_builds(candidate).outputs == chosen.outputs[: len(candidate.outputs)]:
        return WhyNot("chosen", "this is what was chosen", best, best)
    samples = Samples()
    compared = samples.compare(original, candidate)
    allowed = tolerance_of(original, candidate)
    for position, one in enumerate(compared):
        if one.deviation > allowed:
            note = f"values differ: {samples.difference(original, candidate, position)}"
            return WhyNot("not equal", note, None, best)
    written = pipeline.optimize(candidate, replace(options, rules=tuple(t for t in options.tables if t != "generic-build"))).cost
    differences = (*_kernels("it has", written), *_kernels("chosen has", best))
    if not all(one.elements or not prod(output.shape) for one, output in zip(compared, candidate.outputs, strict=True)):
        return WhyNot("unknown", "to compare the values takes too much work", written, best, differences)
    if _proved(original, candidate, options):
        return _dearer(written, best, "equal by the rules", differences, report.stop_reason)
    worst = max((one.deviation for one in compared), default=0.0)
    seen = f"{sum(one.elements for one in compared):,} elements agree to {worst:.0e} of the largest, {allowed:.0e} is allowed"
    note = f"equal ({seen}), but the rules do not make both one program ({report.stop_reason.value})"
    return WhyNot("not found", note, written, best, differences, stop_reason=report.stop_reason)


def _program(original: Program, other: Program | Callable[..., Any], options: Options) -> Program:
    if isinstance(other, Program):
        check_program(other)
        return other
    if not callable(other):
        raise UsageError(f"why_not: found a {type(other).__name__}, expected a Program or a function")
    return trace(other, *(spec(tensor.shape, tensor.dtype) for tensor in original.inputs), fallback=options.fallback)


def _over_inputs(original: Program, other: Program) -> Program:
    """A program over the inputs of the original."""
    kinds = [[describe(tensor.shape, tensor.dtype) for tensor in program.inputs] for program in (other, original)]
    if kinds[0] != kinds[1]:
        raise UsageError(f"why_not: found a program of {', '.join(kinds[0])}, expected one of {', '.join(kinds[1])}")
    inputs: dict[Tensor, Tensor] = dict(zip(other.inputs, original.inputs, strict=True))
    if all(one is same for one, same in inputs.items()):
        return other
    apart: dict[Tensor, Tensor] = {one: Input(f"{k}.", one.shape, one.dtype) for k, one in enumerate(other.inputs)}
    outputs = other.outputs
    for names in (apart, {apart[one]: same for one, same in inputs.items()}):
        known = redefined(outputs, names)
        outputs = tuple(known[output] for output in outputs)
    return Program(original.inputs, outputs, other.structure, other.sizes)


def _results(program: Program) -> Program:
    """A program without the limits of places that optimizing puts behind its results."""
    return replace(program, outputs=program.outputs[: 1 + max(positions(program.structure), default=-1)])


def _unlike(original: Program, candidate: Program) -> Iterator[str]:
    """In what the results of two programs cannot be the same."""
    if len(original.outputs) != len(candidate.outputs):
        yield f"it has {len(candidate.outputs)} results, expected {len(original.outputs)}"
        return
    for k, (one, other) in enumerate(zip(candidate.outputs, original.outputs, strict=True)):
        kinds = [describe(tensor.shape, tensor.dtype) for tensor in (one, other)]
        if kinds[0] != kinds[1]:
            yield f"output {k} is {kinds[0]}, expected {kinds[1]}"


def _kernels(whose: str, cost: Cost) -> Iterator[str]:
    """The kernels of a program, the dearest first."""
    count = len(cost.kernels)
    dearest = sorted(cost.kernels, key=lambda kernel: -kernel[1])[:SHOWN]
    shown = ", ".join(f"{name} {amount(price, cost.unit)}" for name, price in dearest)
    yield f"{whose} {count} kernel{'s' if count > 1 else ''}: {shown}"


def _proved(original: Program, candidate: Program, options: Options) -> bool:
    """Whether the rules make the results of both programs equal, all index terms handed to the index algebra."""
    if not {"generic-build", "substitution"} <= set(options.tables):
        return False
    first, other = (composed(as_builds(program), options, Report()) for program in (original, candidate))
    with session_of(options, Report()) as work:
        search = Search(work, first.program, first.offers, options)
        search.encoder.made(*other.program.outputs)
        pairs = list(zip(search.roots, (search.encoder.handles[output] for output in other.program.outputs), strict=True))
        snapshot = work.run(PHASES["fusion"])
        reader = IndexReader(snapshot, options.cost.index)
        elements = (node for nodes in snapshot.classes["Sx"].values() for node in nodes)
        known = [
            n for n in elements if (n.op == "Read" and reader.is_list(n.args[1])) or (n.op == "Position" and n.args[0] in reader.forms)
        ]
        if any(snapshot.name(a, "Tx") != snapshot.name(b, "Tx") for a, b in pairs) and search.state_maps(known, reader):
            snapshot = work.run(PHASES["index"])
        return all(snapshot.name(a, "Tx") == snapshot.name(b, "Tx") for a, b in pairs)
