"""The steps from a program to the cheapest one that was found, each certified: by proof or by values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from eqsat.capture.compared import taken_apart
from eqsat.capture.place_checks import with_places
from eqsat.explaining.derivation import Change, Maps, Stage, derive
from eqsat.explaining.explanation import Step, equations, explain_steps
from eqsat.explaining.matches import FLATTEN
from eqsat.extraction.cheapest import Extracted
from eqsat.indices.equality import prove_equal
from eqsat.ir.affine import is_affine
from eqsat.ir.index import Index
from eqsat.ir.steps import Parts
from eqsat.ir.tensor import Program
from eqsat.ir.text import with_sizes
from eqsat.options import Options
from eqsat.proving.certificate import Compared
from eqsat.proving.proof import Proof
from eqsat.proving.values import Samples, tolerance_of

# of a step that changes many tensors the text shows these; `changes` has all
SHOWN = 4
WIDTH = 160


@dataclass(frozen=True)
class StepCertificate:
    """Why a step holds; true if it was shown.

    method     "proof": every index term that changed is proved equal; "values": the outputs of both programs agree
    proofs     a Proof for every index term that changed
    outputs    how the values of each output compare, by the reference interpreter on random inputs
    tolerance  the largest deviation of values that counts as equal
    """

    method: str
    proofs: tuple[Proof, ...] = ()
    outputs: tuple[Compared, ...] = ()
    tolerance: float = 0.0

    def __bool__(self) -> bool:
        if self.method == "proof":
            return all(self.proofs)
        return all((one.elements or not one.size) and one.deviation <= self.tolerance for one in self.outputs)

    def __str__(self) -> str:
        if self.method == "proof":
            return f"{len(self.proofs)} index terms proved equal"
        if not all(one.elements or not one.size for one in self.outputs):
            return "not shown: to compare the values takes too much work"
        compared = sum(one.elements for one in self.outputs)
        worst = max((one.deviation for one in self.outputs), default=0.0)
        return f"{compared:,} elements compared, deviation {worst:.1e}{'' if self else f', more than {self.tolerance:.0e}: not shown'}"


@dataclass(frozen=True, repr=False)
class ProgramStep:
    """One change of a program by named rows: both programs are equal.

    rows         the rows that it rests on
    tensors      the names of the tensors that they were applied to: those of the original, which they keep throughout
    changes      the lines of the tensors that changed, before and after
    maps         the index terms that became others, as (before, after); only_maps: nothing else did
    source, program  the whole program before and after
    traced       False for a step whose rows are all that matched: what the search did was not found again
    steps        for index terms the steps of each, found when asked for
    certificate  a proof or a comparison of values, made when asked for
    """

    rows: tuple[str, ...]
    tensors: tuple[str, ...]
    changes: tuple[Change, ...]
    maps: Maps
    only_maps: bool
    traced: bool
    parts: tuple[Parts, Parts] = field(repr=False)
    options: Options = field(repr=False)
    samples: Samples = field(repr=False, compare=False)

    @property
    def source(self) -> Program:
        return self.parts[0].joined()

    @property
    def program(self) -> Program:
        return self.parts[1].joined()

    @property
    def before(self) -> str:
        """The lines of the tensors that change."""
        return "\n".join(change.before for change in self.changes if change.before)

    @property
    def after(self) -> str:
        """The lines of the tensors that changed or came."""
        return "\n".join(change.after for change in self.changes)

    @functools.cached_property
    def steps(self) -> tuple[tuple[Step, ...], ...]:
        """For each of `maps` the equalities that lead from the term before to the one after."""
        return tuple(explain_steps(before, after, self.options, self.rows) for before, after in self.maps)

    @functools.cached_property
    def certificate(self) -> StepCertificate:
        if self.only_maps:
            proofs = tuple(prove_equal(before, after, extends=True) for before, after in self.maps)
            if all(proofs):
                return StepCertificate("proof", proofs)
        programs = [part.around for part in self.parts]
        return StepCertificate("values", (), self.samples.compare(*programs), tolerance_of(*programs))

    def __str__(self) -> str:
        known = equations()
        by = self.rows if self.traced else (f"all {len(self.rows)} rows that matched",)
        lines = [f"  {', '.join(by)}: {', '.join(self.tensors)}"]
        lines += [f"      {known[row]}" for row in by if row in known]
        for change in self.changes[:SHOWN]:
            lines += [_short(f"    {mark} {line}") for mark, line in (("-", change.before), ("+", change.after)) if line]
        more = self.changes[SHOWN:]
        return "\n".join([*lines, *([f"    and {', '.join(change.name for change in more)}"] if more else [])])

    __repr__ = __str__


def _short(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 4]} ..."


def explain_program(
    original: Program, written: Parts, extracted: Extracted, options: Options, matched: tuple[str, ...]
) -> tuple[ProgramStep, ...]:
    """The steps from a program to the outputs that were extracted for it; `written` is the program around its steps as builds.

    A program with checked gathers begins as it is computed: gathers clip, and the limits of places are outputs behind its own.
    """
    parts = taken_apart(original, options)
    start = parts.over(with_places(parts.around)[0].outputs)
    samples = Samples()
    rows_of = _MapRows(options, matched)
    named = functools.partial(with_sizes, sizes=original.sizes)
    return tuple(_step(stage, written, options, samples, named) for stage in derive(start, extracted, matched, rows_of))


def _step(stage: Stage, written: Parts, options: Options, samples: Samples, named: Callable[[str], str]) -> ProgramStep:
    parts = written.over(stage.before), written.over(stage.after)
    changes = tuple(Change(change.name, named(change.before), named(change.after)) for change in stage.changes)
    return ProgramStep(stage.rows, stage.tensors, changes, stage.maps, stage.only_maps, stage.traced, parts, options, samples)


class _MapRows:
    """The rows by which index terms became others, each pair looked for once."""

    def __init__(self, options: Options, matched: tuple[str, ...]) -> None:
        self.options, self.matched = options, matched
        self._known: dict[tuple[Index, Index], tuple[str, ...]] = {}

    def __call__(self, before: Index, after: Index) -> tuple[str, ...]:
        if (before, after) not in self._known:
            self._known[before, after] = tuple(dict.fromkeys(self._rows(before, after)))
        return self._known[before, after]

    def _rows(self, before: Index, after: Index) -> Iterator[str]:
        if is_affine(before) and is_affine(after):
            yield FLATTEN.row
            return
        for step in explain_steps(before, after, self.options, self.matched):
            yield from step.rows
