"""The cheapest equal program, by the e-graph: encode -> fuse -> index algebra -> extract."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from eqsat.algebra import alternatives
from eqsat.costs import Cost, CostModel
from eqsat.egraph.encode_tensor import TensorEncoder
from eqsat.egraph.snapshot import ENode, Snapshot
from eqsat.extract import Move, Selection, cheapest, spell
from eqsat.index_reader import IndexReader
from eqsat.ir.affine import is_affine
from eqsat.ir.tensor import Build, Program, Tensor, as_build, as_generic, sources, tensors
from eqsat.options import Options
from eqsat.report import Report
from eqsat.saturate import PHASES, Session, session
from eqsat.simplifier import Simplifier
from eqsat.tensor_classes import TensorClasses, elements_of
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
        self.written: list[Tensor] = [tensor for tensor in tensors(*program.outputs) if isinstance(tensor, Build)]
        self.offers = alternatives(program, options.numerics) if "algebra" in options.tables else {}
        for tensor, ways in self.offers.items():
            for way in ways:
                self.encoder.equate(way.found.build, self.encoder.handles[tensor])
                work.report.matches[way.row] += 1

    def cheapest(self, snapshot: Snapshot, reader: IndexReader, model: CostModel, start: Iterable[Tensor] | None) -> Selection | None:
        """The cheapest program of a snapshot, searched from one in which the tensors of `start` may be read, or all that are written."""
        classes = TensorClasses(snapshot, self.encoder.leaves, model, reader)
        order: dict[int, int] = {}
        for tensor in self._in_order():
            name = self._name(tensor, snapshot)
            if classes.leaf(name) is None:
                order.setdefault(name, len(order))
        moves = [*self._stores(snapshot, order), *self._offers(snapshot, order, classes)]
        readable = {self._name(tensor, snapshot) for tensor in (self.written if start is None else start)}
        self.found = classes, order, tuple(snapshot.name(root, "Tx") for root in self.roots)
        return cheapest(classes, order, moves, self.found[2], readable & order.keys())

    def _name(self, tensor: Tensor, snapshot: Snapshot) -> int:
        return snapshot.name(self.encoder.handles[tensor], "Tx")

    def _in_order(self) -> Iterator[Tensor]:
        """Every tensor that may have a kernel, sources first."""
        for tensor in self.written:
            for way in self.offers.get(tensor, ()):
                yield from way.found.made
            yield tensor

    def _stores(self, snapshot: Snapshot, order: Mapping[int, int]) -> Iterator[Move]:
        """A tensor is stored or not; a store moves from a tensor to one that is made of it, or back."""
        yield from (Move((name,)) for name in order)
        pairs = ((self._name(source, snapshot), self._name(tensor, snapshot)) for tensor in self.written for source in sources(tensor))
        yield from (Move(pair) for pair in dict.fromkeys(pairs) if pair[0] != pair[1] and order.keys() >= set(pair))

    def _offers(self, snapshot: Snapshot, order: Mapping[int, int], classes: TensorClasses) -> Iterator[Move]:
        """What algebra offers; a form that the program has as it is written is none, and what is only read is free to all."""
        own = {self._root(tensor, snapshot) for tensor in self.written}
        for tensor, ways in self.offers.items():
            name = self._name(tensor, snapshot)
            for way in ways:
                root = self._root(way.found.build, snapshot)
                if root not in own and name in order and elements_of(root[1]):
                    classes.offers[root[0]] = classes.offers.get(root[0], frozenset()) | {root[1]}
                    made = [self._name(between, snapshot) for between in way.found.made]
                    yield Move((*(one for one in made if one in order), name), root)

    def _root(self, tensor: Tensor, snapshot: Snapshot) -> tuple[int, ENode]:
        """The class and the node of a build's element."""
        assert isinstance(tensor, Build)
        handle, node = self.encoder.element(tensor, snapshot)
        return snapshot.name(handle, "Sx"), node

    def readable(self, selection: Selection, snapshot: Snapshot) -> list[Tensor]:
        """The tensors that a selection allows to be read."""
        return [tensor for tensor in self._in_order() if self._name(tensor, snapshot) in selection.readable]

    def spell(self, selection: Selection) -> tuple[Tensor, ...]:
        """The outputs of the selection that was found last."""
        classes, order, outputs = self.found
        return spell(classes, order, selection, outputs)

    def state_maps(self, selection: Selection, reader: IndexReader) -> bool:
        """Hand the maps of a program to the index algebra (row state-map): of the one that would be cheapest if all of them simplified
        to nothing.  Affine maps have nothing to simplify.  False if there are none."""
        nodes = list(selection.nodes())
        wanted = dict.fromkeys(name for node in nodes if node.op == "Read" for name in reader.items(node.args[1]))
        wanted |= dict.fromkeys(node.args[0] for node in nodes if node.op == "Position")
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
                self.encoder.equate(as_build(generic), known.get(tensor))
                self.work.report.matches["build-is-generic"] += 1
        self.work.load()
