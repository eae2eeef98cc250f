"""What else would do: other forms of an index expression, and other programs that the search saw, each with its cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from eqsat.capture.compared import taken_apart
from eqsat.capture.place_checks import with_places
from eqsat.explaining.derivation import names_of
from eqsat.explaining.explored import explored, under
from eqsat.extraction.cheapest import Extracted, Seen, cheapest_outputs
from eqsat.indices.equality import prove_equal
from eqsat.ir.errors import UnsupportedError, UsageError
from eqsat.ir.index import Index
from eqsat.ir.steps import Parts
from eqsat.ir.tensor import Build, Program, Tensor, sources, tensors
from eqsat.options import Options
from eqsat.pipeline import Finished, Pipeline
from eqsat.pricing.costs import Cost, cost, cost_of_term
from eqsat.proving.proof import Proof
from eqsat.report import Report
from eqsat.sizes.markers import is_generic

# forms that are looked at for each that is asked for: their order is by cost only as far as they are known
LOOKED_AT = 8
# programs that are lowered beyond those that are asked for: what the search took for cheaper may cost more in the end
MORE = 3


@dataclass(frozen=True, repr=False)
class OtherForm:
    """An index expression that is equal to one that was optimized; `proof` says how that is known."""

    expr: Index
    cost: Cost
    proof: Proof

    def __str__(self) -> str:
        return f"{self.cost.text:>11}  {self.expr}"

    __repr__ = __str__


def other_forms(original: Index, chosen: Index, options: Options, fact: Index, k: int) -> tuple[OtherForm, ...]:
    """The k cheapest other forms that saturation found, and the original, by cost; what is not proved equal is left out."""
    check_count(k)
    found: dict[Index, None] = {original: None}
    try:
        with explored(original, fact, options) as graph:
            found.update(dict.fromkeys(islice(graph.others(), LOOKED_AT * (k + 1))))
    except UnsupportedError:
        pass
    forms: list[OtherForm] = []
    for term in sorted((term for term in found if term is not chosen), key=lambda term: float(cost_of_term(term, options.cost))):
        if len(forms) == k:
            break
        proof = prove_equal(under(original, fact), under(term, fact), extends=True)
        if proof:
            forms.append(OtherForm(term, cost_of_term(term, options.cost), proof))
    return tuple(forms)


@dataclass(frozen=True, repr=False)
class OtherProgram:
    """A program that is equal to one that was optimized, and that the search saw; `differs`: in what from the one that was chosen.

    result  what `eqsat.optimize` would have returned for it: with .program, .cost, .compile() and all else
    """

    result: Finished
    differs: tuple[str, ...]

    @property
    def program(self) -> Program:
        return self.result.program

    @property
    def cost(self) -> Cost:
        return self.result.cost

    def __str__(self) -> str:
        return f"{self.cost.text:>16}  {'; '.join(self.differs)}"

    __repr__ = __str__


def other_programs(
    original: Program, written: Parts, chosen: Extracted, options: Options, pipeline: Pipeline, k: int
) -> tuple[OtherProgram, ...]:
    """The k cheapest other programs that the search saw, by cost, the program as it is written among them.

    The search goes by its own estimates; costs are those of the loops in the end, so one may be less than that of what was chosen.
    """
    check_count(k)
    seen = Seen(LOOKED_AT * (k + 1))
    cheapest_outputs(written.around, cost(written.around, options), options, Report(), seen)
    distinct = {found.outputs: found for found in (*seen.extracted, Extracted(written.around.outputs))}
    distinct.pop(chosen.outputs, None)
    usable = [found for found in distinct.values() if not original.sizes or is_generic(found.outputs, original.sizes)]
    tried = [*usable[: k + MORE], *usable[k + MORE :][-1:]]
    parts = taken_apart(original, options)
    names = names_of(parts.over(with_places(parts.around)[0].outputs), chosen)
    for tensor, way in (offer for found in tried for offer in found.taken):
        names |= {made: f"a part of {way.row} for {names[tensor]}" for made in way.found.made if made not in names}
    every = [OtherProgram(pipeline.finish(found), tuple(_differences(chosen, found, names))) for found in tried if k]
    return tuple(sorted(every, key=lambda one: float(one.cost))[:k])


def _differences(chosen: Extracted, other: Extracted, names: Mapping[Tensor, str]) -> Iterator[str]:
    """In what a program differs from the one that was chosen."""
    if not other.stored:
        yield "as it is written: every tensor is stored"
        return
    kept, others = (list(_named(found, names).values()) for found in (chosen, other))
    if more := [name for name in others if name not in kept]:
        yield f"stores {', '.join(more)}"
    if fewer := [name for name in kept if name not in others]:
        yield f"computes {', '.join(fewer)} where {'they are' if len(fewer) > 1 else 'it is'} read"
    taken, others_taken = ({(way.row, names[t]): None for t, way in found.taken} for found in (chosen, other))
    yield from (f"with {row} for {name}" for row, name in others_taken if (row, name) not in taken)
    yield from (f"without {row} for {name}" for row, name in taken if (row, name) not in others_taken)
    if not more and not fewer and taken.keys() == others_taken.keys():
        yield from _reads(chosen, other, names) or ("other forms of the same tensors",)


def _reads(chosen: Extracted, other: Extracted, names: Mapping[Tensor, str]) -> list[str]:
    """Which tensors are read in one program, and computed again in the other."""
    first, second = (_sources(found, names) for found in (chosen, other))
    lines: list[str] = []
    for name in first.keys() & second.keys():
        lines += [f"{name} computes {source} again" for source in first[name] if source not in second[name]]
        lines += [f"{name} reads {source}" for source in second[name] if source not in first[name]]
    return sorted(lines)


def _sources(found: Extracted, names: Mapping[Tensor, str]) -> dict[str, list[str]]:
    """The tensors that have kernels, each with those of them that it reads, by name."""
    called = _named(found, names)
    return {name: [called[source] for source in sources(made) if source in called] for made, name in called.items()}


def _named(found: Extracted, names: Mapping[Tensor, str]) -> dict[Tensor, str]:
    """The names of the tensors that have kernels; of equal ones the first."""
    there = set(tensors(*found.outputs))
    called: dict[Tensor, str] = {}
    for named, made in found.stored.items():
        if isinstance(made, Build) and made in there and named in names:
            called.setdefault(made, names[named])
    return called


def check_count(k: int) -> None:
    """UsageError for what is no number of alternatives."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise UsageError(f"alternatives: found k = {k!r}, expected a number of alternatives")
