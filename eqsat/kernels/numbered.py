"""Tensors as functions of others, with the numbers among the places that they read or put something at: parts of a program that differ in
these alone are the steps of a loop, in which they go on with a counter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from eqsat.ir.generics import as_build
from eqsat.ir.index import Const, Index, Var
from eqsat.ir.places import place_at
from eqsat.ir.tensor import Build, Constant, Gather, Generic, Input, Read, Scalar, Tensor, over, sources
from eqsat.operations.assignment import at_known_place
from eqsat.operations.elementwise import astype
from eqsat.operations.movement import reshape
from eqsat.operations.placing import put_at


def function_of(tensor: Tensor) -> tuple[Tensor, tuple[int, ...]]:
    """What is done to the sources of a tensor, whatever they are: the same node for all that is made alike; of one that only reads another,
    or only puts something into another, wherever in that, with the numbers among its places."""
    if (put := at_known_place(tensor)) is not None:
        of, values = (Input(f"source{k}", source.shape, source.dtype) for k, source in enumerate((put.of, put.values)))
        place = Input("place", (), "int64", 0)
        return _put(of, values, [None if at is None else place for at in put.places]), tuple(at for at in put.places if at is not None)
    places = tuple(int(term.value) for term in reads_at(tensor) if isinstance(term, Const))
    if places:
        (source,) = sources(tensor)
        moved = tuple(Const(0) if isinstance(term, Const) else term for term in reads_at(tensor))
        tensor = Build(tensor.shape, Read(source, moved))
    replaced: dict[Tensor, Tensor] = {source: Input(f"source{k}", source.shape, source.dtype) for k, source in enumerate(sources(tensor))}
    return over(tensor, replaced), places


def reads_at(tensor: Tensor) -> tuple[Index, ...]:
    """Where a tensor that only reads another one, and is made of no more, reads it; nothing of others."""
    build = as_build(tensor) if isinstance(tensor, Generic) and tensor.combine is None and len(sources(tensor)) == 1 else tensor
    return build.body.indices if isinstance(build, Build) and isinstance(build.body, Read) else ()


def _reads_alone(tensor: Tensor) -> bool:
    """Whether a tensor of one source only reads that."""
    build = as_build(tensor) if isinstance(tensor, Generic) and tensor.combine is None else tensor
    return isinstance(build, Build) and isinstance(build.body, Read)


def at_step(tensor: Tensor, known: Mapping[Tensor, Tensor], places: Sequence[tuple[int, int]], counter: Input) -> Tensor:
    """What a tensor is in each step; one that reads another one, or puts something into it, does so at places that go on with the
    counter: the numbers among them, and how far they go on."""
    if not any(step for _, step in places):
        return over(tensor, known)
    numbers, number = iter(places), Var("step", 0, counter.most or 0)

    def at(term: Index | None) -> Scalar:
        begin, step = next(numbers) if term is None or isinstance(term, Const) else (0, 0)
        place = place_at(number * step + begin if term is None or isinstance(term, Const) else term, {number: Read(counter, ())})
        assert place is not None
        return place

    if (put := at_known_place(tensor)) is not None:
        return _put(known[put.of], known[put.values], [None if place is None else Build((), at(None)) for place in put.places])
    (source,) = sources(tensor)
    return Build(tensor.shape, Gather(known[source], tuple(map(at, reads_at(tensor)))))


def _put(of: Tensor, values: Tensor, places: Sequence[Tensor | None]) -> Tensor:
    """An array with values at places that are numbers of the program, of one element along those axes."""
    rest = tuple(n for n, place in zip(values.shape, places, strict=True) if place is None)
    return put_at(of, places, (), reshape(astype(values, of.dtype), rest))


@dataclass(frozen=True)
class Row:
    """A tensor that reads an input or a constant, and is made of no more: the tensors on the way to it, each as a function, and the numbers
    among their places."""

    of: Tensor
    way: tuple[Tensor, ...]
    functions: tuple[Tensor, ...]
    places: tuple[int, ...]

    def at_step(self, of: Tensor, numbers: Sequence[tuple[int, int]], counter: Input) -> Tensor:
        """What stands there in each step: `numbers` are those among the places, and how far they go on."""
        left = iter(numbers)
        for tensor in self.way:
            own = list(islice(left, sum(isinstance(term, Const) for term in reads_at(tensor))))
            of = at_step(tensor, dict.fromkeys(sources(tensor), of), own, counter)
        return of


def rows_of(made: Sequence[Tensor]) -> dict[Tensor, Row]:
    """The tensors that are rows at numbers of the program: several parts may read the same one, wherever that was made first."""
    found: dict[Tensor, Row] = {}
    for tensor in made:
        if len(sources(tensor)) == 1 and _reads_alone(tensor):
            (source,), (function, places) = sources(tensor), function_of(tensor)
            if (row := found.get(source)) is not None:
                found[tensor] = Row(row.of, (*row.way, tensor), (*row.functions, function), (*row.places, *places))
            elif isinstance(source, Input | Constant):
                found[tensor] = Row(source, (tensor,), (function,), places)
    return {tensor: row for tensor, row in found.items() if row.places}
