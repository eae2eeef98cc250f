"""The cheapest equal program, by the e-graph: encode -> fuse -> index algebra -> extract."""

from __future__ import annotations

from collections.abc import Iterable

from eqsat.costs import Cost, CostModel
from eqsat.egraph.encode_tensor import TensorEncoder
from eqsat.egraph.snapshot import Snapshot
from eqsat.extract import Selection, cheapest, spell
from eqsat.index_reader import IndexReader
from eqsat.ir.affine import is_affine
from eqsat.ir.tensor import Build, Program, Tensor, as_generic, sources, tensors
from eqsat.options import Options
from eqsat.report import Report
from eqsat.saturate import PHASES, Session, session
from eqsat.simplifier import Simplifier
from eqsat.tensor_classes import TensorClasses
from eqsat.views import compose_views


def cheapest_outputs(program: Program, before: Cost, options: Options, report: Report) -> tuple[Tensor, ...]:
    """The outputs of a program of builds as the e-graph's cheapest forms; as they are written where nothing cheaper was found."""
    if not {"generic-build", "substitution"} <= set(options.tables):
        return program.outputs
    with Simplifier(options, report, within=True) as simplifier:
        composed, count = compose_views(program, simplifier.simplify)
        report.matches["compose-views"] += count
    with session(options.tables, options.limits, report) as work:
        search = _Search(work, composed, options)
        snapshot = work.run(PHASES["fusion"])
        reader = IndexReader(snapshot)
        start: Iterable[Tensor] | None = None
        if not reader.all_affine:
            free = search.cheapest(snapshot, reader, CostModel(options.target, free_indices=True), None)
            if free is not None and search.state_maps(free, reader):
                start = search.readable(free, snapshot)
                snapshot = work.run(PHASES["index"])
                reader = IndexReader(snapshot)
        best = search.cheapest(snapshot, reader, CostModel(options.target), start)
        if best is None or best.ns > before.total:
            return program.outputs
        chosen = search.spell(best)
        search.state_generics(chosen)
        return chosen


class _Search:
    """Searching a session's e-graph for the cheapest form of one program of builds."""

    def __init__(self, work: Session, program: Program, options: Options) -> None:
        self.work, self.options = work, options
        self.encoder = TensorEncoder(work.encoder)
        self.roots = self.encoder.program(program)
        self.made: list[Tensor] = [tensor for tensor in tensors(*program.outputs) if isinstance(tensor, Build)]

    def cheapest(self, snapshot: Snapshot, reader: IndexReader, model: CostModel, start: Iterable[Tensor] | None) -> Selection | None:
        """The cheapest program of a snapshot, searched from one in which the tensors of `start` may be read, or all that it makes."""
        classes = TensorClasses(snapshot, self.encoder.leaves, model, reader)
        names = {tensor: snapshot.name(self.encoder.handles[tensor], "Tx") for tensor in self.made}
        order: dict[int, int] = {}
        for name in names.values():
            if classes.leaf(name) is None:
                order.setdefault(name, len(order))
        pairs = ((names[source], names[tensor]) for tensor in self.made for source in sources(tensor) if source in names)
        edges = dict.fromkeys((a, b) for a, b in pairs if a in order and b in order and a != b)
        self.found = classes, order, tuple(snapshot.name(root, "Tx") for root in self.roots)
        readable = [names[tensor] for tensor in (self.made if start is None else start) if names[tensor] in order]
        return cheapest(classes, order, edges, self.found[2], readable)

    def readable(self, selection: Selection, snapshot: Snapshot) -> list[Tensor]:
        """The tensors that a selection allows to be read."""
        return [tensor for tensor in self.made if snapshot.name(self.encoder.handles[tensor], "Tx") in selection.readable]

    def spell(self, selection: Selection) -> tuple[Tensor, ...]:
        """The outputs of the selection that was found last."""
        classes, order, outputs = self.found
        return spell(classes, order, selection, outputs)

    def state_maps(self, selection: Selection, reader: IndexReader) -> bool:
        """Hand the maps of a program to the index algebra (row state-map): of the one that would be cheapest if all of them simplified
        to nothing.  Affine maps have nothing to simplify.  False if there are none."""
        reads = (node for node in selection.nodes() if node.op == "Read")
        wanted = dict.fromkeys(name for node in reads for name in reader.items(node.args[1]))
        stated = [name for name in wanted if not reader.is_stated(name) and not is_affine(reader.term(name))]
        for name in stated:
            self.work.encoder.same(name, self.work.encoder.index(reader.term(name), axes=True))
        self.work.report.matches["state-map"] += len(stated)
        return bool(stated)

    def state_generics(self, outputs: tuple[Tensor, ...]) -> None:
        """Every chosen build that is one generic becomes equal to it (row build-is-generic)."""
        known = dict(zip(outputs, self.roots, strict=True))
        self.work.encoder.take()  # names of classes that the last snapshot met: nothing reads them any more
        for tensor in tensors(*outputs):
            generic = as_generic(tensor) if isinstance(tensor, Build) else None
            if generic is not None:
                self.encoder.equate(tensor, generic, known.get(tensor))
                self.work.report.matches["build-is-generic"] += 1
        self.work.load()
