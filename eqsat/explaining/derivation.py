"""Why a program became what it is: a chain of programs, each equal to the one before by rows that are named, from the original to the
extracted one.

The chain is made, not read out of the e-graph: the original's tensors keep their names and get other definitions, as the pipeline goes:
builds, movements of movements, offers of algebra, functions in the place of reads, maps.  What a tensor becomes in the end is known
(`Extracted.stored`), so each change is one towards that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby

from eqsat.extraction.cheapest import Extracted
from eqsat.ir.definitions import Definitions, decided, in_order, index_pairs, inlined, redefined, with_inlined
from eqsat.ir.generics import as_build
from eqsat.ir.index import Index, walk
from eqsat.ir.steps import Kept, Parts
from eqsat.ir.tensor import (
    Build,
    Constant,
    Generic,
    Literal,
    Position,
    Read,
    Scalar,
    Tensor,
    reread,
    scalars,
    sources,
    tensors,
)
from eqsat.ir.text import definition_text, tensor_names
from eqsat.rules.elements import less
from eqsat.views.movements import movement

Maps = tuple[tuple[Index, Index], ...]
# the rows by which one index term became another
MapRows = Callable[[Index, Index], tuple[str, ...]]
# longer runs of one row, or of maps that become others, are one stage of several tensors
LONGEST_RUN = 6
# composed maps with more subterms are not shown before they are simplified
LARGEST_MAP = 200
# elements with more parts are not compared by what they are with all functions in the place of reads
LARGEST_BODY = 4000
READ, KNOWN = "read-of-build", "constant-is-function"


@dataclass(frozen=True)
class Change:
    """The lines of one tensor before and after; empty where the tensor is not there."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Stage:
    """One change of a program.

    rows     the rows that it rests on; `traced`: whether just those, or all that matched anywhere
    tensors  the tensors that they were applied to; changes: those that changed, or came, by that
    maps     the index terms that became others; `only_maps`: nothing else did
    before, after  the outputs of the program
    """

    rows: tuple[str, ...]
    tensors: tuple[str, ...]
    changes: tuple[Change, ...]
    maps: Maps
    before: tuple[Tensor, ...]
    after: tuple[Tensor, ...]
    traced: bool = True

    @property
    def only_maps(self) -> bool:
        return bool(self.maps) and READ not in self.rows and KNOWN not in self.rows


def derive(original: Parts, extracted: Extracted, matched: tuple[str, ...], map_rows: MapRows) -> tuple[Stage, ...]:
    """The stages from a program around its steps to the outputs that were extracted for it, in order; `matched` are all rows that
    matched."""
    chain = _Chain(original.around.outputs, _names(original), [], map_rows)
    chain.put(("generic-is-build",), {t: as_build(t) for t in chain.tensors() if isinstance(t, Generic)})
    chain = chain.settled()
    chain.compose(extracted.moved)
    chain = chain.settled()
    if extracted.stored:
        chain = _towards(chain, extracted, matched)
    if not _same(chain.made(), extracted.outputs):
        chain.stages.append(_untraced(chain, extracted.outputs, matched))
    return tuple(_joined(chain.stages))


def _towards(chain: _Chain, extracted: Extracted, matched: tuple[str, ...]) -> _Chain:
    """The chain with what was extracted.  Nothing says whether a movement that is offered for a choice was used: each is, unless more can
    be traced without."""
    without: tuple[Tensor, ...] = ()
    best = _Towards(chain.copy(), extracted, matched, without).run()
    for tensor in dict.fromkeys(tensor for tensor, way in extracted.free if isinstance(tensor, Build) and movement(way.found.build)):
        if all(stage.traced for stage in best.stages):
            break
        other = _Towards(chain.copy(), extracted, matched, (*without, tensor)).run()
        if _untraced_changes(other) < _untraced_changes(best):
            best, without = other, (*without, tensor)
    return best


def _untraced_changes(chain: _Chain) -> int:
    return sum(len(stage.changes) for stage in chain.stages if not stage.traced)


def names_of(original: Parts, extracted: Extracted) -> dict[Tensor, str]:
    """The names of the tensors that the fields of `extracted` speak of: those that they have in the text of the original."""
    chain = _Chain(original.around.outputs, _names(original), [], lambda before, after: ())
    chain.put((), {tensor: as_build(tensor) for tensor in chain.tensors() if isinstance(tensor, Generic)})
    chain = chain.settled()
    chain.put((), extracted.moved)
    return chain.settled().names


def _names(parts: Parts) -> dict[Tensor, str]:
    """The names of the tensors of a program around its steps; what is kept is called the same where it is read."""
    names = tensor_names(*parts.around.inputs, *parts.around.outputs)
    kept = (placed for placed in parts.steps if isinstance(placed.step, Kept))
    return names | {result: names[given] for placed in kept for result, given in zip(placed.results, placed.given, strict=True)}


class _Chain:
    """A program as definitions of named tensors, and what was done to it.

    definitions  what named tensors are now, over named tensors
    """

    def __init__(self, outputs: tuple[Tensor, ...], names: dict[Tensor, str], stages: list[Stage], map_rows: MapRows) -> None:
        self.outputs, self.names, self.stages, self.map_rows = outputs, names, stages, map_rows
        self.definitions: dict[Tensor, Tensor] = {}
        self._made = outputs

    def definition(self, tensor: Tensor) -> Tensor:
        return self.definitions.get(tensor, tensor)

    def function(self, tensor: Tensor) -> Scalar | None:
        """The element of a tensor that is a build."""
        made = self.definition(tensor)
        return made.body if isinstance(made, Build) else None

    def tensors(self) -> list[Tensor]:
        """The tensors that are there, sources first."""
        return in_order(self.outputs, self.definitions)

    def made(self) -> tuple[Tensor, ...]:
        """The outputs as they are now."""
        return self._made

    def settled(self) -> _Chain:
        """The same with tensors as they are now, under their names."""
        known = redefined(self.outputs, self.definitions)
        names: dict[Tensor, str] = {}
        for tensor, now in known.items():
            names.setdefault(now, self.names[tensor])
        return _Chain(tuple(known[output] for output in self.outputs), names, self.stages, self.map_rows)

    def copy(self) -> _Chain:
        """The same, to go on from twice."""
        other = _Chain(self.outputs, dict(self.names), list(self.stages), self.map_rows)
        other.definitions, other._made = dict(self.definitions), self._made
        return other

    def put(self, rows: tuple[str, ...], changed: Definitions, about: Iterable[Tensor] = (), maps: Maps = (), traced: bool = True) -> None:
        """Give tensors other definitions: one stage, unless that makes no difference."""
        there = set(self.tensors())
        lines = {tensor: self._line(tensor) for tensor in changed if tensor in there}
        self.definitions.update(changed)
        known = redefined(self.outputs, self.definitions)
        before, self._made = self._made, tuple(known[output] for output in self.outputs)
        if _same(before, self._made):
            return
        new = [tensor for tensor in known if tensor not in there]
        self._name(new)
        changes = (Change(self.names[tensor], lines.get(tensor, ""), self._line(tensor)) for tensor in (*new, *lines) if tensor in known)
        shown = tuple(change for change in changes if change.before != change.after)
        named = tuple(self.names[tensor] for tensor in about) or tuple(self.names[tensor] for tensor in lines)
        self.stages.append(Stage(rows, named, shown, maps, before, self._made, traced))

    def put_maps(self, tensor: Tensor, made: Tensor, pairs: Sequence[tuple[Index, Index]], rows: tuple[str, ...] = ()) -> None:
        """Another definition of a tensor, by rows, that differs in these index terms."""
        named = dict.fromkeys(row for before, after in pairs for row in self.map_rows(before, after))
        self.put((*rows, *(row for row in named if row not in rows)), {tensor: made}, maps=tuple(pairs))

    def compose(self, moved: Mapping[Tensor, Build]) -> None:
        """Movements of movements become one, whose maps are simplified then."""
        composed = {tensor: inlined(tensor.body, _movement) for tensor in moved if isinstance(tensor, Build)}
        small: dict[Tensor, Build] = {
            tensor: Build(tensor.shape, body)
            for tensor, body in composed.items()
            if isinstance(body, Read) and sum(1 for _ in walk(*body.indices)) <= LARGEST_MAP
        }
        self.put(("compose-views",), {tensor: small.get(tensor, made) for tensor, made in moved.items()}, moved)
        for tensor in self.tensors():
            if tensor in small and (pairs := index_pairs(small[tensor].body, moved[tensor].body, _is)):
                self.put_maps(tensor, moved[tensor], pairs)
        self.put(("compose-views",), moved, moved)

    def _line(self, tensor: Tensor) -> str:
        return definition_text(self.names[tensor], self.definition(tensor), self.names)

    def _name(self, new: Iterable[Tensor]) -> None:
        """Names for tensors that have none."""
        taken = set(self.names.values())
        fresh = (name for k in count() if (name := f"t{k}") not in taken)
        self.names |= {tensor: next(fresh) for tensor in new if tensor not in self.names}


class _Towards:
    """Brings a chain to what was extracted: offers, functions in the place of reads, maps; no free offers for the tensors in `without`."""

    def __init__(self, chain: _Chain, extracted: Extracted, matched: tuple[str, ...], without: tuple[Tensor, ...]) -> None:
        self.chain, self.extracted, self.matched, self.without = chain, extracted, matched, without
        self.stored = extracted.stored

    def run(self) -> _Chain:
        self._take_offers()
        self._inline([t for t in self.chain.tensors() if t not in self.stored and isinstance(self.chain.definition(t), Build)])
        for tensor in self.chain.tensors():
            self._read_less(tensor)
        for tensor in self.chain.tensors():
            if tensor in self.stored:
                self._match(tensor)
        return self.chain

    def _take_offers(self) -> None:
        """Algebra: what was taken, and what is free and shows in the result."""
        kept = set(tensors(*self.extracted.outputs))
        offers = [(tensor, way) for tensor, way in self.extracted.free if tensor not in self.without]
        free = [(t, way) for t, way in offers if isinstance(way.found.build.body, Read | Literal | Position)]
        for tensor, way in (*self.extracted.taken, *free):
            used = not isinstance(tensor, Constant) or tensor not in kept
            if used and tensor not in self.chain.definitions and tensor in self.chain.tensors():
                self.chain.put((way.row,), {tensor: way.found.build})

    def _inline(self, gone: list[Tensor]) -> None:
        """The functions of tensors that are not stored in the place of their reads: one after the other, many at once."""
        for some in [gone] if len(gone) > LONGEST_RUN else [[tensor] for tensor in gone]:
            function = {tensor: self.chain.function(tensor) for tensor in some}
            changed: dict[Tensor, Tensor] = {}
            for reader in self.chain.tensors():
                made = self.chain.definition(reader)
                if isinstance(made, Build) and not function.keys().isdisjoint(sources(made)):
                    changed[reader] = with_inlined(made, function.get)
                    if reader in function:
                        function[reader] = changed[reader].body  # type: ignore[attr-defined]  # a build
            self.chain.put((READ,), changed, some)

    def _read_less(self, reader: Tensor) -> None:
        """The functions of tensors that are stored, but not read by a kernel, in the place of its reads."""
        target = self.stored.get(reader)
        while target is not None and isinstance(made := self.chain.definition(reader), Build):
            read = (*sources(target), target)
            gone = [tensor for tensor in sources(made) if self.stored.get(tensor, tensor) not in read]
            functions = {tensor: function for tensor in gone if (function := self.chain.function(tensor)) is not None}
            shorter = with_inlined(made, functions.get)
            if shorter == made:
                return
            self.chain.put((READ,), {reader: shorter}, functions)

    def _match(self, tensor: Tensor) -> None:
        """A tensor becomes what was extracted for it."""
        made, target = self.chain.definition(tensor), self.stored[tensor]
        if not isinstance(made, Build) or not isinstance(target, Build):
            self.chain.put((READ, KNOWN) if self._known_function(target) is not None else (READ,), {tensor: target})
            return
        readers = {source: self._reader_of(source) for source in sources(target)}
        if None in readers.values():  # equal to what nothing reads any more
            self.chain.put(self.matched, {tensor: target}, traced=False)
            return
        goal = Build(target.shape, reread(target.body, {source: reader for source, reader in readers.items() if reader is not None}))
        if self._become(tensor, made, target, goal):
            return
        body, known = decided(inlined(made.body, _nothing))
        if known and self._pairs(Build(made.shape, body), target, goal) is not None:
            self.chain.put_maps(tensor, Build(made.shape, body), known)
            self._become(tensor, Build(made.shape, body), target, goal)
            return
        body, rows = less(inlined(made.body, _nothing))
        if rows and self._pairs(Build(made.shape, body), target, goal) is not None:
            self.chain.put(rows, {tensor: Build(made.shape, body)})
            self._become(tensor, Build(made.shape, body), target, goal)
            return
        body, rows = less(inlined(made.body, self.chain.function))
        found = self._pairs_of_functions(Build(made.shape, body), target)
        if rows and found is not None:
            self.chain.put_maps(tensor, goal, found, (READ, *rows))
        else:
            self.chain.put(self.matched, {tensor: goal}, traced=False)

    def _become(self, tensor: Tensor, made: Build, target: Build, goal: Build) -> bool:
        """Whether a tensor becomes what was extracted for it by maps, and functions in the place of reads."""
        found = self._pairs(made, target, goal)
        if found is not None:
            self.chain.put_maps(tensor, goal, *found)
        return found is not None

    def _pairs(self, made: Build, target: Build, goal: Build) -> tuple[list[tuple[Index, Index]], tuple[str, ...]] | None:
        """The index terms in which a build differs from what was extracted for it, and the rows that all else rests on."""
        body = inlined(made.body, _nothing)
        if (pairs := index_pairs(body, goal.body, _is)) is not None:
            return pairs, () if pairs else (READ,)
        if (pairs := index_pairs(body, target.body, self._stands_for)) is not None:
            return pairs, (READ,)
        if (pairs := index_pairs(body, target.body, self._stands_for, self._known_function)) is not None:
            return pairs, (KNOWN,)
        pairs = self._pairs_of_functions(made, target)
        return None if pairs is None else (pairs, (READ,))

    def _stands_for(self, named: Tensor, stored: Tensor) -> bool:
        return self.stored.get(named, named) is stored

    def _known_function(self, tensor: Tensor) -> Scalar | None:
        """The function that a known array follows."""
        ways = (way.found.build.body for one, way in self.extracted.free if one is tensor and way.row == KNOWN)
        return next(ways, None)

    def _reader_of(self, source: Tensor) -> Tensor | None:
        """The named tensor that a stored one is; None where there is none any more."""
        if not isinstance(source, Build):
            return source
        return next((tensor for tensor in self.chain.tensors() if self.stored.get(tensor) is source), None)

    def _pairs_of_functions(self, made: Build, target: Build) -> list[tuple[Index, Index]] | None:
        """The index terms in which two builds differ with all functions in the place of reads."""
        bodies = inlined(made.body, self.chain.function), inlined(target.body, _function)
        if any(sum(1 for _ in scalars(body)) > LARGEST_BODY for body in bodies):
            return None
        return index_pairs(*bodies, _is)


def _untraced(chain: _Chain, outputs: tuple[Tensor, ...], matched: tuple[str, ...]) -> Stage:
    """What is left, by all rows that matched."""
    now = chain.made()
    names = tensor_names(*now)
    changed = [(names[one], one, other) for one, other in zip(now, outputs, strict=True) if one is not other]
    shown = tuple(
        Change(name, definition_text(name, one, names), definition_text(name, other, tensor_names(other))) for name, one, other in changed
    )
    return Stage(matched, tuple(name for name, _, _ in changed), shown, (), now, outputs, traced=False)


def _joined(stages: list[Stage]) -> Iterator[Stage]:
    """The stages; a long run of the same row is one, and so is a long run of maps that become others."""
    for _, kind in groupby(stages, lambda stage: (bool(stage.maps) or stage.rows, stage.traced)):
        run = list(kind)
        if len(run) > LONGEST_RUN:
            yield _one(run)
        else:
            for _, group in groupby(run, lambda stage: (stage.rows, bool(stage.maps))):
                same = list(group)
                yield from [_one(same)] if same[0].maps else same


def _one(run: list[Stage]) -> Stage:
    """One stage for several that follow each other."""
    first: dict[str, str] = {}
    last: dict[str, str] = {}
    for change in (change for stage in run for change in stage.changes):
        first.setdefault(change.name, change.before)
        last[change.name] = change.after
    rows = tuple(dict.fromkeys(row for stage in run for row in stage.rows))
    about = tuple(dict.fromkeys(name for stage in run for name in stage.tensors))
    gone = set(about) if rows == (READ,) else set()
    changes = tuple(Change(name, first[name], last[name]) for name in first if name not in gone)
    maps = tuple(dict.fromkeys(pair for stage in run for pair in stage.maps))
    return Stage(rows, about, changes, maps, run[0].before, run[-1].after, run[0].traced)


def _same(one: tuple[Tensor, ...], other: tuple[Tensor, ...]) -> bool:
    return all(a is b for a, b in zip(one, other, strict=True))


def _is(one: Tensor, other: Tensor) -> bool:
    return one is other


def _nothing(tensor: Tensor) -> None:
    return None


def _function(tensor: Tensor) -> Scalar | None:
    return tensor.body if isinstance(tensor, Build) else None


def _movement(tensor: Tensor) -> Scalar | None:
    return tensor.body if isinstance(tensor, Build) and movement(tensor) is not None else None
