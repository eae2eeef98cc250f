"""What a search for the cheapest program begins with: movements composed, and what views and algebra offer for its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from eqsat.algebra import Alternative, alternatives
from eqsat.algebra.alternatives import Found
from eqsat.indices.simplifier import Simplifier
from eqsat.ir.generics import rebuilt
from eqsat.ir.tensor import Build, Program, Tensor, over
from eqsat.options import Options
from eqsat.report import Report
from eqsat.sizes.markers import is_generic
from eqsat.views.movements import clear_choices, compose_choices, compose_views

Offers = Mapping[Tensor, tuple[Alternative, ...]]


@dataclass(frozen=True)
class Composed:
    """A program in which movements of movements are one.

    moved   those movements, by the tensors of the program as it was written
    offers  other ways to make tensors of this program
    """

    program: Program
    moved: Mapping[Tensor, Build]
    offers: Offers


def composed(program: Program, options: Options, report: Report) -> Composed:
    """A program of builds with its movements composed, and what is offered for it."""
    algebra = "algebra" in options.tables
    with Simplifier(options, report, within=True) as simplifier:
        moved = compose_views(program, simplifier.simplify)
    chosen = _chosen(program, options, report) if algebra else {}
    known = rebuilt(program, moved)
    result = Program(program.inputs, tuple(known[output] for output in program.outputs), program.structure, program.sizes)
    if not algebra:
        return Composed(result, moved, {})
    found = dict(alternatives(result, options.numerics))
    for tensor, build in chosen.items():
        offered = over(build, known)
        assert isinstance(offered, Build)
        way = Alternative("element-of-choices", Found(offered), checked=False)
        found[known[tensor]] = (*found.get(known[tensor], ()), way)
    return Composed(result, moved, _of_any_size(found, program) if program.sizes else found)


def _chosen(program: Program, options: Options, report: Report) -> dict[Tensor, Build]:
    """The choices of a program between movements of one tensor, as movements."""
    one_step = replace(options, limits=replace(options.limits, iterations=1))
    with Simplifier(one_step, report, within=True) as simplifier:
        choices = clear_choices(program, simplifier.simplify)
    with Simplifier(options, report, within=True) as simplifier:
        return compose_choices(program, choices, simplifier.simplify) if choices else {}


def _of_any_size(offers: Offers, program: Program) -> Offers:
    """What is offered that makes no number of a size of the program."""
    generic = {tensor: tuple(way for way in ways if is_generic([way.found.build], program.sizes)) for tensor, ways in offers.items()}
    return {tensor: ways for tensor, ways in generic.items() if ways}
