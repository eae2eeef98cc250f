"""The cheapest equal program, by the e-graph: encode -> fuse -> index algebra -> extract."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from eqsat.algebra import Alternative
from eqsat.egraph.encode_tensor import TensorEncoder
from eqsat.egraph.forms import Reading
from eqsat.egraph.linear import sum_term
from eqsat.egraph.settled import is_sum_of_variables
from eqsat.egraph.snapshot import ENode, Snapshot
from eqsat.extraction.extract import Extraction, Move, Selection, Watch, cheapest, spell
from eqsat.extraction.index_reader import IndexReader
from eqsat.extraction.kernel_choice import shows_not_finite, uses
from eqsat.extraction.needed_once import needed_once
from eqsat.extraction.offers import Offers, composed
from eqsat.extraction.tensor_classes import TensorClasses, elements_of
from eqsat.indices.simplifier import limits_for
from eqsat.ir.affine import is_affine
from eqsat.ir.dtypes import is_inexact
from eqsat.ir.errors import UnsoundRuleError
from eqsat.ir.generics import as_build, as_generic
from eqsat.ir.index import Apply, Index
from eqsat.ir.tensor import Build, Constant, Program, Scalar, Tensor, sources, tensors, with_indices
from eqsat.journal import WRITTEN
from eqsat.lowering.affine import Forms
from eqsat.options import Options
from eqsat.pricing.cost_model import CostModel
from eqsat.pricing.costs import Cost
from eqsat.progress import tell
from eqsat.report import Report, StopReason
from eqsat.rules.assumptions import CONDITIONS
from eqsat.rules.elements import ELEMENTS, less
from eqsat.saturate import PHASES, Done, Patience, Session, session_of
from eqsat.sizes.markers import is_generic

# element classes that a search prices for every e-node of the budget
PRICED = 2
# a store moves on from tensors of which no more are made: the others would compute it again
MOST_USERS = 4

Offer = tuple[Tensor, Alternative]


@dataclass(frozen=True)
class Extracted:
    """Outputs equal to those of a program, if the values of the tensors `finite` are: else only the program as written says what NumPy
    gives.

    moved   the movements of movements in the program that are one movement now; the other fields speak of the program with these
    taken   the offers of algebra that the outputs are made by, each with the tensor that it was made for
    free    the offers that nobody has to take: they are reads of what is there, or what the program computes anyway
    stored  for the tensors of the program and of its offers that have kernels, or are inputs, what they are in the outputs
    """

    outputs: tuple[Tensor, ...]
    finite: tuple[Tensor, ...] = ()
    moved: Mapping[Tensor, Build] = field(default_factory=dict)
    taken: tuple[Offer, ...] = ()
    free: tuple[Offer, ...] = ()
    stored: Mapping[Tensor, Tensor] = field(default_factory=dict)


@dataclass
class Seen:
    """The cheapest programs that a search looks at, `most` of them, and what they are in the end."""

    most: int
    selections: list[Selection] = field(default_factory=list)
    extracted: list[Extracted] = field(default_factory=list)
    _known: set[tuple[frozenset[int], frozenset[int], frozenset[tuple[int, ENode]]]] = field(default_factory=set)

    def watch(self, selection: Selection) -> None:
        """Keep a program, if it is another one and cheap enough."""
        key = frozenset(selection.kernels), selection.readable, selection.taken
        if key not in self._known and (len(self.selections) < self.most or selection.ns < self.selections[-1].ns):
            self._known.add(key)
            insort(self.selections, selection, key=lambda one: one.ns)
            del self.selections[self.most :]


def cheapest_outputs(program: Program, before: Cost, options: Options, report: Report, seen: Seen | None = None) -> Extracted:
    """The outputs of a program of builds as the e-graph's cheapest forms; as they are written where nothing cheaper was found.
    `seen` is given the cheapest programs that the search looked at."""
    if not {"generic-build", "substitution"} <= set(options.tables):
        return Extracted(program.outputs)
    start = composed(program, options, report)
    report.matches["compose-views"] += len(start.moved)
    offers = start.offers
    while True:
        try:
            found = _searched(start.program, offers, before, options, report, seen)
            if seen is not None:
                seen.extracted = [replace(one, moved=start.moved) for one in seen.extracted]
            return Extracted(program.outputs) if found is None else replace(found, moved=start.moved)
        except UnsoundRuleError:  # conditions that cannot hold together, of which anything follows
            if CONDITIONS.name not in options.tables:
                raise
            options = options.without(CONDITIONS.name)
        except _MergedError as merged:  # what would have to be checked became true for free: not offered then
            offers = {tensor: ways for tensor, ways in offers.items() if tensor is not merged.tensor}


class _MergedError(Exception):
    """An offer that has to be checked is how the program computes another tensor, so both are one class."""

    def __init__(self, tensor: Tensor) -> None:
        super().__init__()
        self.tensor = tensor


def _searched(program: Program, offers: Offers, before: Cost, options: Options, report: Report, seen: Seen | None) -> Extracted | None:
    """The cheapest outputs that the search finds; None where the program as it was written is cheaper.

    What equals an element that algebra offers may not become equal to others without being taken, if that has to be checked: identities of
    elements wait until it is spelled then.
    """
    checked = any(way.checked for ways in offers.values() for way in ways)
    with session_of(options.without(ELEMENTS.name) if checked else options, report) as work:
        search = Search(work, program, offers, options)
        work.limits = limits = options.limits.of_program(len(search.written))
        tell("saturating with rules of fusion")
        snapshot = work.run(PHASES["fusion"])
        reader = IndexReader(snapshot, options.cost.index)
        start: Iterable[Tensor] | None = None
        if not reader.all_affine:
            free = search.cheapest(snapshot, reader, CostModel(options.target, options.cost, free_indices=True), None)
            if free is not None and search.state_maps(free.nodes(), reader):
                start = search.readable(free, snapshot)
                work.limits = limits_for(limits, search.maps, snapshot.nodes)
                tell("saturating with rules of indices")
                snapshot = work.run(PHASES["index"], search.when_done())
                reader = IndexReader(snapshot, options.cost.index)
        model = CostModel(options.target, options.cost)
        best = search.cheapest(snapshot, reader, model, start, seen)
        if start is not None and (best is None or best.ns > before.total):  # what is cheap without indices is far from what is cheap with
            best = search.cheapest(snapshot, reader, model, None, seen)
        if best is not None and work.transcript is not None:
            work.transcript.extracted(Extraction(best, *search.extracted))
        if best is None:
            return Extracted(program.outputs)
        if seen is not None:
            seen.extracted = [search.spell(one) for one in seen.selections]
        if best.ns > before.total:
            return None
        chosen = search.spell(best)
        if program.sizes and not is_generic(chosen.outputs, program.sizes):
            return Extracted(program.outputs)
        search.state_generics(chosen.outputs)
        return chosen


def _tidy(index: Index) -> Index:
    """An affine index with its like terms together; any other as it is."""
    if not isinstance(index, Apply) or not is_affine(index):
        return index
    form = Forms()(index)
    return sum_term(form.constant, tuple(form.terms.items()))


def _is_finite(constant: Constant) -> bool:
    return not is_inexact(constant.dtype) or bool(np.isfinite(constant.data).all())


class Search:
    """Searching a session's e-graph for the cheapest form of one program of builds."""

    def __init__(self, work: Session, program: Program, offers: Offers, options: Options) -> None:
        self.work, self.program, self.options = work, program, options
        self.encoder = TensorEncoder(work.encoder)
        self.roots = self.encoder.program(program)
        work.credit(WRITTEN)
        self.written: list[Tensor] = [tensor for tensor in tensors(*program.outputs) if isinstance(tensor, Build)]
        self.most = PRICED * options.limits.of_program(len(self.written)).nodes
        self.maps: list[Index] = []
        self._stated: list[int] = []
        self._ways: dict[tuple[int, ENode], list[Alternative]] = {}
        self.offers = offers
        for tensor, ways in self.offers.items():
            for way in ways:
                self.encoder.offer(way.found.build, tensor)
                work.report.matches[way.row] += 1
                work.credit(way.row)

    def cheapest(
        self, snapshot: Snapshot, reader: IndexReader, model: CostModel, start: Iterable[Tensor] | None, seen: Seen | None = None
    ) -> Selection | None:
        """The cheapest program of a snapshot, searched from one in which the tensors of `start` may be read, or all that are written and
        not computed elsewhere at no extra cost.  `seen` is told of all that can be checked."""
        classes = TensorClasses(snapshot, self.encoder.leaves, model, reader)
        order: dict[int, int] = {}
        for tensor in self._in_order():
            name = self._name(tensor, snapshot)
            if classes.leaf(name) is None:
                order.setdefault(name, len(order))
        moves = [*self._stores(snapshot, order), *self._offers(snapshot, order, classes)]
        once = needed_once(self.program.outputs) if start is None else set()
        readable = {self._name(tensor, snapshot) for tensor in (self.written if start is None else start) if tensor not in once}
        outputs = tuple(snapshot.name(root, "Tx") for root in self.roots)
        self.found = classes, order, outputs
        tell(f"extracting the cheapest program of {snapshot.nodes} nodes")
        while True:
            watch = self._watch(seen, snapshot) if seen is not None else lambda selection: None
            best = cheapest(classes, order, moves, outputs, readable & order.keys(), watch, self.most)
            hidden = {offer for offer in best.taken if self._to_check(offer, best, snapshot) is None} if best is not None else set()
            if not hidden:
                self.snapshot = snapshot
                return best
            moves = [move for move in moves if move.offer not in hidden]

    def _watch(self, seen: Seen, snapshot: Snapshot) -> Watch:
        """Keeps the programs of which everything can be checked that has to be finite."""

        def watch(selection: Selection) -> None:
            if all(self._to_check(offer, selection, snapshot) is not None for offer in selection.taken):
                seen.watch(selection)

        return watch

    def _to_check(self, offer: tuple[int, ENode], selection: Selection, snapshot: Snapshot) -> list[int] | None:
        """The tensor classes that have to be finite for an offer that was taken; None where some cannot be looked at."""
        classes, _, _ = self.found
        checked: list[int] = []
        for way in self._ways[offer]:
            if not way.checked:
                continue
            if any(isinstance(tensor, Constant) and not _is_finite(tensor) for tensor in way.found.finite):
                return None
            checked += [self._name(tensor, snapshot) for tensor in way.found.finite if not isinstance(tensor, Constant)]
            if way.found.shows:
                users = {name: kernel.element for name, kernel in selection.kernels.items() if uses(kernel.element, offer[1])}
                if not all(shows_not_finite(element, offer[1], classes.dtype_of) for element in users.values()):
                    return None
                checked += users
        seen = all(name in selection.kernels or classes.leaf(name) is not None for name in checked)
        return [name for name in checked if is_inexact(classes.tensor_type(name)[1])] if seen else None

    def _name(self, tensor: Tensor, snapshot: Snapshot) -> int:
        return snapshot.name(self.encoder.handles[tensor], "Tx")

    def _in_order(self) -> Iterator[Tensor]:
        """Every tensor that may have a kernel, sources first."""
        for tensor in self.written:
            for way in self.offers.get(tensor, ()):
                yield from way.found.made
            yield tensor

    def _stores(self, snapshot: Snapshot, order: Mapping[int, int]) -> Iterator[Move]:
        """A tensor is stored or not; a store moves from a tensor to one of the few that are made of it, or back."""
        yield from (Move((name,)) for name in order)
        pairs = ((self._name(source, snapshot), self._name(tensor, snapshot)) for tensor in self.written for source in sources(tensor))
        between = [pair for pair in dict.fromkeys(pairs) if pair[0] != pair[1] and order.keys() >= set(pair)]
        users = Counter(source for source, _ in between)
        yield from (Move(pair) for pair in between if users[pair[0]] <= MOST_USERS)

    def _offers(self, snapshot: Snapshot, order: Mapping[int, int], classes: TensorClasses) -> Iterator[Move]:
        """What algebra offers; a form that the program has as it is written is none, and what is only read is free to all."""
        own = {self._root(tensor, snapshot): tensor for tensor in self.written}
        self._ways = {}
        for tensor, ways in self.offers.items():
            name = self._name(tensor, snapshot)
            for way in ways:
                root = self._root(way.found.build, snapshot)
                if way.checked and root in own and own[root] is not tensor and root != self._root(tensor, snapshot):
                    raise _MergedError(tensor)
                if root not in own and name in order and elements_of(root[1]):
                    self._ways.setdefault(root, []).append(way)
                    classes.offers[root[0]] = classes.offers.get(root[0], frozenset()) | {root[1]}
                    made = [self._name(between, snapshot) for between in way.found.made]
                    yield Move((*(one for one in made if one in order), name), root)

    def _root(self, tensor: Tensor, snapshot: Snapshot) -> tuple[int, ENode]:
        """The class and the node of a build's element."""
        assert isinstance(tensor, Build)
        handle, node = self.encoder.element(tensor, snapshot)
        return snapshot.name(handle, "Sx"), node

    @property
    def extracted(self) -> tuple[TensorClasses, tuple[int, ...]]:
        """The classes that the last search went through, and those of the outputs."""
        classes, _, outputs = self.found
        return classes, outputs

    def readable(self, selection: Selection, snapshot: Snapshot) -> list[Tensor]:
        """The tensors that a selection allows to be read."""
        return [tensor for tensor in self._in_order() if self._name(tensor, snapshot) in selection.readable]

    def spell(self, selection: Selection) -> Extracted:
        """The selection that was found last, with what has to be checked of it."""
        classes, order, outputs = self.found
        checked = dict.fromkeys(name for offer in selection.taken for name in self._to_check(offer, selection, self.snapshot) or ())
        made = spell(classes, order, selection, (*outputs, *checked, *selection.kernels), self._less)
        known = dict(zip(selection.kernels, made[len(outputs) + len(checked) :], strict=True))
        named = {tensor: self._name(tensor, self.snapshot) for tensor in self._in_order()}
        known |= {name: leaf for name in named.values() if (leaf := classes.leaf(name)) is not None}
        stored = {tensor: known[name] for tensor, name in named.items() if name in known}
        offers = [((tensor, way), self._root(way.found.build, self.snapshot)) for tensor, ways in self.offers.items() for way in ways]
        taken = tuple(offer for offer, root in offers if root in selection.taken)
        free = tuple(offer for offer, root in offers if root not in self._ways)
        return Extracted(made[: len(outputs)], made[len(outputs) : len(outputs) + len(checked)], {}, taken, free, stored)

    def _less(self, element: Scalar) -> Scalar:
        """An element without what identities show to be needless, of which the e-graph does not know where offers are checked; of affine
        indices, which index algebra is not asked for, the like terms together."""
        tidy = with_indices(element, _tidy)
        if ELEMENTS.name not in self.options.tables:
            return tidy
        found, rows = less(tidy)
        self.work.report.matches.update(rows)
        return found

    def state_maps(self, nodes: Iterable[ENode], reader: IndexReader) -> bool:
        """Hand the maps of these nodes to the index algebra (row state-map): of the program that would be cheapest if all of them
        simplified to nothing.  Affine maps have nothing to simplify.  False if there are none."""
        wanted: dict[int, None] = {}
        for node in nodes:
            wanted |= dict.fromkeys(reader.items(node.args[1]) if node.op == "Read" else node.args[:1] if node.op == "Position" else ())
        stated = [name for name in wanted if not reader.is_stated(name) and not is_affine(reader.term(name))]
        self.maps, self._stated = [reader.term(name) for name in stated], stated
        for name, term in zip(stated, self.maps, strict=True):
            self.work.encoder.same(name, self.work.encoder.index(term, axes=True))
        self.work.report.matches["state-map"] += len(stated)
        self.work.credit("state-map")
        return bool(stated)

    def when_done(self) -> Done:
        """Ends a run when all maps that the index algebra was given are sums of loops, or no longer get cheaper."""
        patience = Patience(self._stated)

        def done(reading: Reading) -> StopReason | None:
            snapshot = reading.snapshot
            plain = all(is_sum_of_variables(reading.forms, snapshot.bounds, snapshot.name(name)) for name in self._stated)
            return StopReason.SATURATED if plain else patience(reading)

        return done

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
