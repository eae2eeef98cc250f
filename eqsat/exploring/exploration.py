"""`explore`: an e-graph to look into, of an index expression or of a program."""

from __future__ import annotations

from typing import Any

from eqsat.calling.subject import subject_of
from eqsat.capture.compared import taken_apart
from eqsat.capture.place_checks import explicit
from eqsat.egraph.encode import Encoder
from eqsat.egraph.index_cost import IndexWeights, index_cycles
from eqsat.egraph.snapshot import written_snapshot
from eqsat.exploring.assembly import assemble
from eqsat.exploring.chosen import gives, used_by_program, used_by_term
from eqsat.exploring.graph import EGraph
from eqsat.exploring.prices import price_indices, price_tensors
from eqsat.exploring.recording import record
from eqsat.extraction.cheapest import cheapest_outputs
from eqsat.indices.simplifier import INVALID, as_kind, gate_all, simplify_terms
from eqsat.ir.check import check_program
from eqsat.ir.errors import UsageError
from eqsat.ir.index import Const, Index, where
from eqsat.ir.tensor import Program, Shape
from eqsat.journal import Journal, Ran, Transcript
from eqsat.options import Options, options_of
from eqsat.pricing.costs import cost
from eqsat.report import Report
from eqsat.rules import TABLES
from eqsat.sizes.facts import facts_about


def explore(what: Any, *specs: Any, options: Options | None = None) -> EGraph:
    """The e-graph from which `optimize` extracts its result, with what every step of saturation did.

    what  an index expression; a Program from `trace`; a function, followed by the specs or arrays of its arguments; or lazy tensors
    Saturation is done as `optimize` does it, in the same budget, and once more to look at it, which takes some times as long.
    Raises UsageError for anything else, and what `trace` raises.
    """
    chosen = options_of(options, "explore")
    subject = subject_of(what, specs, chosen.fallback, "explore")
    return explore_index(subject, chosen, facts_about([subject])) if isinstance(subject, Index) else explore_program(subject, chosen)


def explore_index(term: Index, options: Options, fact: Index) -> EGraph:
    """`explore` of an index expression where a condition on its variables holds (True: everywhere)."""
    report, weights = Report(journal=Journal()), options.cost.index
    if isinstance(fact, Const):
        found = simplify_terms([term], options, report)[0]
        transcript, root = _that_found(report, term, found, weights)
    else:
        root = where(fact, term, INVALID)
        found = gate_all([(term, fact)], options, report, free_gate=True)[0][0]
        transcript = _last(report, "Ix") or _written(root)
    handle = transcript.encoder.index(root)
    recording, snapshot = record(transcript), transcript.snapshot
    return assemble(
        f"{term}  ->  {found}",
        recording,
        (recording.number("Ix", handle),),
        used_by_term(snapshot, transcript.forms, transcript.encoder, handle, found, weights),
        prices=price_indices(snapshot, options.target, weights),
        costs=(index_cycles(term, weights=weights) / options.target.ghz, index_cycles(found, weights=weights) / options.target.ghz),
        stopped=_stopped(report, transcript),
    )


def explore_program(program: Program, options: Options) -> EGraph:
    """`explore` of a program; what its loops and library calls do inside is no part of it."""
    check_program(program)
    report = Report(journal=Journal())
    written, _ = explicit(taken_apart(program, options))
    before = cost(written.around, options)
    found = cheapest_outputs(written.around, before, options, report)
    transcript = _last(report, "Tx")
    if transcript is None:
        raise UsageError("explore: found Options(rules=...) without generic-build or substitution, expected both: nothing is saturated")
    recording, extraction = record(transcript), transcript.extraction
    if extraction is None:
        return assemble(_signature(program), recording, (), None, stopped=_stopped(report, transcript))
    kept = found.outputs == written.around.outputs
    classes = extraction.classes
    types = {("Tx", name): _type(*classes.tensor_type(name)) for name in classes.snapshot.classes["Tx"]}
    types |= {key: f"{dtype} element" for key, dtype in classes.dtypes.items() if key[0] == "Sx"}
    return assemble(
        _signature(program),
        recording,
        tuple(recording.number("Tx", name) for name in extraction.outputs),
        None if kept else used_by_program(extraction),
        prices=(*price_indices(classes.snapshot, options.target, options.cost.index), *price_tensors(classes)),
        costs=(before.total, before.total if kept else extraction.selection.ns),
        stopped=_stopped(report, transcript),
        types=types,
        leaves=classes.leaves,
        sizes={size.marker: size.name for size in program.sizes},
    )


def _that_found(report: Report, term: Index, found: Index, weights: IndexWeights) -> tuple[Transcript, Index]:
    """The session that gave a result, and the term that it began with: what a session finds may begin another one.  The first one,
    where that cannot be told."""
    assert report.journal is not None
    begun: Index | None = term
    for transcript in report.journal.transcripts:
        name = transcript.snapshot.names["Ix"].get(transcript.encoder.index(begun)) if begun is not None else None
        if name is None or begun is None:
            break
        here, cheapest = gives(transcript.snapshot, transcript.forms, name, found, weights)
        if here:
            return transcript, begun
        begun = as_kind(cheapest, term) if cheapest is not None else None
    return next(iter(report.journal.transcripts), None) or _written(term), term


def _last(report: Report, sort: str) -> Transcript | None:
    """The last session over classes of a sort: an offer that was withdrawn begins another one."""
    assert report.journal is not None
    return next((one for one in reversed(report.journal.transcripts) if sort in one.sorts), None)


def _written(term: Index) -> Transcript:
    """The transcript of a term that needs no saturation: what it is in n-ary form."""
    encoder = Encoder()
    encoder.index(term)
    transcript = Transcript(TABLES, ("Ix",), encoder)
    transcript.snapshot = written_snapshot(encoder)
    transcript.forms = {name: nodes[0] for name, nodes in transcript.snapshot.classes["Ix"].items()}
    transcript.loaded(encoder.take())
    return transcript


def _stopped(report: Report, transcript: Transcript) -> str:
    if not any(isinstance(entry, Ran) for entry in transcript.entries):
        return "no rule makes it cheaper, so none was run"
    return report.end


def _signature(program: Program) -> str:
    """A program in one line, as the head and the end of its listing have it."""
    inputs = ", ".join(f"{leaf.name}: {_type(leaf.shape, leaf.dtype)}" for leaf in program.inputs)
    return f"({inputs})  ->  {', '.join(_type(output.shape, output.dtype) for output in program.outputs)}"


def _type(shape: Shape, dtype: str) -> str:
    return f"{dtype}[{', '.join(map(str, shape))}]"
