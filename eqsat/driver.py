"""The pipeline: a program in, the cheapest program, its loop nests and its machine code out.

check -> encode -> fuse -> index algebra -> extract -> lower -> simplify loop indices -> pick -> emit
"""

from __future__ import annotations

from collections import Counter
from typing import Any, overload

from eqsat.array import is_lazy
from eqsat.certificate import Certificate
from eqsat.costs import Cost, CostModel, cost, kernel_ns
from eqsat.dump import Dump
from eqsat.egraph.encode_tensor import TensorEncoder
from eqsat.egraph.snapshot import Snapshot
from eqsat.extract import Extractor, IndexReader, Selection, children_of
from eqsat.facts import facts_about
from eqsat.guards import Missing
from eqsat.ir.affine import is_affine
from eqsat.ir.check import check_program, reads_in_range
from eqsat.ir.errors import UsageError
from eqsat.ir.index import Index
from eqsat.ir.tensor import Build, Program, Tensor, as_builds, as_generic, sources, tensors
from eqsat.kernels import lower_program
from eqsat.leaves import numbered, over_leaves
from eqsat.options import Options
from eqsat.report import Report
from eqsat.result import IndexResult, Result
from eqsat.saturate import PHASES, Session, session
from eqsat.simplifier import Simplifier, simplify_all
from eqsat.tracing import trace
from eqsat.values import compare_values
from eqsat.views import compose_views


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
    chosen = options or Options()
    if isinstance(target, Index) and not specs:
        return optimize_index(target, chosen)
    if isinstance(target, Program) and not specs:
        return optimize_program(target, chosen)
    if all(is_lazy(array) for array in (target, *specs)):
        return optimize_program(numbered(over_leaves([array.tensor for array in (target, *specs)]))[0], chosen)
    if callable(target) and not isinstance(target, Program | Index):
        return optimize_program(trace(target, *specs), chosen)
    raise UsageError(
        f"optimize: found a {type(target).__name__}, expected a Program, a function with specs, lazy tensors, or an index expression"
    )


def optimize_program(program: Program, options: Options) -> Result:
    """The cheapest equal program, lowered; machine code is made at the first call."""
    check_program(program)
    dump = Dump(options.dump)
    dump.write("program", program)
    report = Report()
    written = as_builds(program)
    before = cost(written, options.target)
    outputs = cheapest_outputs(written, before, options, report)
    extracted = Program(program.inputs, outputs, program.structure)
    if options.check:
        check_program(extracted)
    dump.write("extracted", extracted)
    nests = lower_program(extracted, options, report)
    dump.write("loops", "\n\n".join(str(nest.kernel) for nest in nests))
    model = CostModel(options.target)
    kernels = tuple((nest.kernel.name, kernel_ns(model, nest.build)) for nest in nests)
    values = compare_values(program, extracted, options) if options.certify else ()
    certificate = Certificate(tuple(report.proofs), values) if options.certify else None
    return Result(program, extracted, nests, Cost(kernels), before, report, options, dump, certificate)


def cheapest_outputs(program: Program, before: Cost, options: Options, report: Report) -> tuple[Tensor, ...]:
    """The outputs of a program of builds as the e-graph's cheapest forms; as they are written where nothing cheaper was found."""
    if not {"generic-build", "substitution"} <= set(options.tables):
        return program.outputs
    with Simplifier(options, report, within=True) as simplifier:
        composed, count = compose_views(program, simplifier.simplify)
        report.matches["compose-views"] += count
    with session(options.tables, options.limits, report) as work:
        encoder = TensorEncoder(work.encoder)
        roots = encoder.program(composed)
        snapshot = work.run(PHASES["fusion"])
        reader = IndexReader(snapshot)
        if not reader.all_affine and _state_maps(work, snapshot, encoder, roots, reader, options):
            snapshot = work.run(PHASES["index"])
            reader = IndexReader(snapshot)
        extractor, outputs = _extractor(snapshot, encoder, roots, CostModel(options.target), reader)
        best = extractor.best(outputs)
        if best is None or best.total > before.total:
            return program.outputs
        chosen = extractor.spell(best, outputs)
        if not reads_in_range(*chosen):  # maps were composed, and their parts do not show what the maps as written show
            return program.outputs
        _state_generics(work, encoder, roots, chosen)
        return chosen


def _state_generics(work: Session, encoder: TensorEncoder, roots: tuple[int, ...], outputs: tuple[Tensor, ...]) -> None:
    """Every chosen build that is one generic becomes equal to it (row build-is-generic)."""
    known = dict(zip(outputs, roots, strict=True))
    work.encoder.take()  # names of classes that the last snapshot met: nothing reads them any more
    for tensor in tensors(*outputs):
        generic = as_generic(tensor) if isinstance(tensor, Build) else None
        if generic is not None:
            encoder.equate(tensor, generic, known.get(tensor))
            work.report.matches["build-is-generic"] += 1
    work.load()


def _extractor(
    snapshot: Snapshot, encoder: TensorEncoder, roots: tuple[int, ...], model: CostModel, reader: IndexReader
) -> tuple[Extractor, tuple[int, ...]]:
    readers = Counter(source for tensor in encoder.handles for source in sources(tensor))
    outputs = tuple(snapshot.name(root, "Tx") for root in roots)
    shared = dict.fromkeys(
        snapshot.name(handle, "Tx") for tensor, handle in encoder.handles.items() if readers[tensor] > 1 and tensor not in encoder.leaves
    )
    return Extractor(snapshot, encoder.leaves, tuple(shared), model, reader), outputs


def _state_maps(
    work: Session, snapshot: Snapshot, encoder: TensorEncoder, roots: tuple[int, ...], reader: IndexReader, options: Options
) -> bool:
    """Hand maps to the index algebra (row state-map): those of the program that would be cheapest if all of them simplified to
    nothing.  Affine maps have nothing to simplify.  False if there are none."""
    extractor, outputs = _extractor(snapshot, encoder, roots, CostModel(options.target, free_indices=True), reader)
    selection = extractor.select(outputs, ())
    wanted = _indices(extractor, selection, outputs) if selection is not None else []
    stated = [name for name in wanted if not reader.is_stated(name) and not is_affine(reader.term(name))]
    for name in stated:
        work.encoder.same(name, work.encoder.index(reader.term(name), axes=True))
    work.report.matches["state-map"] += len(stated)
    return bool(stated)


def _indices(extractor: Extractor, selection: Selection, outputs: tuple[int, ...]) -> list[int]:
    """The index classes that a selection reads through."""
    found: dict[int, None] = {}
    seen: set[tuple[str, int]] = set()
    stack = [("Tx", name) for name in outputs]
    while stack:
        sort, name = stack.pop()
        if (sort, name) in seen:
            continue
        seen.add((sort, name))
        node = (selection.tensors if sort == "Tx" else selection.scalars)[name].node
        if sort == "Sx" and node.op == "Read":
            found.update(dict.fromkeys(extractor.reader.items(node.args[1])))
        stack.extend(children_of(node))
    return list(found)


def optimize_index(term: Index, options: Options) -> IndexResult:
    """A single index expression, with its report and costs."""
    report = Report()
    found = simplify_all([term], options, report)[0]
    return IndexResult(term, found, report, report.proofs[-1] if options.certify else None, options, facts_about([term]))


def missing(expression: Index, options: Options | None = None) -> tuple[Missing, ...]:
    """For every // and % that the simplified expression keeps, which guard of which rule fails and by how much, the nearest miss
    of each division first; `needed` is the condition that would do (`eqsat.assume`)."""
    return optimize_index(expression, options or Options()).missing
