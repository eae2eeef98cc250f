"""The steps of programs: connected chains of named rows, every step certified."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

import eqsat
import eqsat.numpy as enp
from eqsat.explaining import derivation
from eqsat.explaining.program_steps import ProgramStep, explain_program
from eqsat.extraction.cheapest import Extracted
from eqsat.ir.canonical import canonical_text
from eqsat.ir.tensor import Build, Call, Literal, Program
from eqsat.rules import rows
from tests.effort import examples
from tests.eqsat.explained_programs import CASES
from tests.eqsat.programs import RandomProgram, programs

RANDOM = examples(76)
MEDIAN = 12
FUZZED = 1000
ROWS = {row.name for _, row in rows()}


def drawn(count: int, start: int, most_steps: int) -> list[RandomProgram]:
    """Programs of the generator, the same ones every time."""
    found: list[RandomProgram] = []
    plain = settings(max_examples=count, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    seed(start)(plain(given(programs(most_steps))(lambda program: found.append(program))))()
    return found[:count]


def check(result: eqsat.Result) -> int:
    """Assert that the steps lead from the original to the extracted program, all certified -> how many there are."""
    here = None
    for step in result.steps:
        assert step.rows
        assert set(step.rows) <= ROWS
        assert step.traced, f"{step.rows}: found by nothing but all rows that matched"
        assert here is None or canonical_text(step.source) == here
        assert step.certificate, f"{step}\n{step.certificate}"
        here = canonical_text(step.program)
    assert here is None or here == canonical_text(result.program)
    return len(result.steps)


def test_steps_end_where_no_row_is_found() -> None:
    """A function that cannot be put in the place of its reads, at places of which an array says one by one, is left alone."""
    result = eqsat.optimize(lambda a: enp.stack([a, a], 1)[np.array([0, 3, 1]), -1], eqsat.spec((4,), "float32"))
    assert all(step.certificate for step in result.steps)
    assert canonical_text(result.steps[-1].program) == canonical_text(result.program)


@pytest.mark.parametrize("name", CASES)
def test_the_steps_of_a_program_are_certified_and_lead_to_the_extracted_one(name: str) -> None:
    function, specs = CASES[name]
    result = eqsat.optimize(function, *specs)
    assert check(result)
    if not result.places:
        assert result.steps[0].source is result.original


def test_the_steps_of_random_programs_are_certified_and_few() -> None:
    counts = [check(eqsat.optimize(program, *program.arrays)) for program in drawn(RANDOM, 5, 6)]
    counts += [len(eqsat.optimize(function, *specs).steps) for function, specs in CASES.values()]
    assert len(counts) == RANDOM + len(CASES)
    assert statistics.median(counts) < MEDIAN
    assert max(counts) <= 2 * MEDIAN


@pytest.mark.fuzz
def test_the_steps_of_a_thousand_long_random_programs_are_certified() -> None:
    counts = [check(eqsat.optimize(program, *program.arrays)) for program in drawn(FUZZED, 17, 14)]
    assert statistics.median(counts) < MEDIAN


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("elementwise chain", "read-of-build"),
        ("movements there and back", "compose-views"),
        ("movements there and back", "div-mod-identity"),
        ("product of three", "contraction-order"),
        ("sum through a product", "contraction-order"),
        ("common factor", "common-factor-of-sums"),
        ("like terms", "like-terms"),
        ("identity matrix", "sum-of-one-point"),
        ("fold of equal elements", "fold-of-invariant"),
        ("mean of a layer", "sum-in-parts"),
        ("greatest of sums", "fold-of-invariant"),
        ("magnitudes", "greater-of-opposites"),
        ("squared moduli", "square-of-modulus"),
        ("function of a table", "function-of-a-table"),
        ("sum of tiles", "contraction-order"),
        ("known array", "constant-is-function"),
    ],
)
def test_a_row_that_made_the_difference_has_a_step(name: str, row: str) -> None:
    function, specs = CASES[name]
    assert row in {row for step in eqsat.optimize(function, *specs).steps for row in step.rows}


def steps_of(name: str) -> tuple[ProgramStep, ...]:
    function, specs = CASES[name]
    return eqsat.optimize(function, *specs).steps


def test_a_step_shows_the_tensors_that_it_changes_and_no_others() -> None:
    first, *rest = steps_of("softmax")
    assert first.tensors == ("t0", "t1", "t2", "t3", "t4")
    last = rest[-1]
    assert last.rows == ("read-of-build",)
    assert all(change.name not in last.tensors for change in last.changes)
    assert last.before.splitlines()[-1].startswith("t4: float32[8, 6] = build (i0: 8, i1: 6) -> ")
    assert last.after != last.before


def test_tensors_keep_the_names_of_the_original() -> None:
    steps = steps_of("product of three")
    names = [change.name for step in steps for change in step.changes]
    assert {"t0", "t1"} & set(names)
    # what algebra puts between has a name of its own
    (algebra,) = (step for step in steps if step.rows == ("contraction-order",))
    (new,) = (change for change in algebra.changes if not change.before)
    assert new.name == "t2"


def test_maps_have_steps_of_their_own_that_the_prover_accepts() -> None:
    (step,) = (step for step in steps_of("movements there and back") if step.maps)
    assert step.certificate.method == "proof"
    assert len(step.steps) == len(step.maps)
    for (before, after), inner in zip(step.maps, step.steps, strict=True):
        assert inner[0].before is before or inner[-1].whole is after
        assert {row for one in inner for row in one.rows} <= set(step.rows)


def test_a_long_run_of_one_row_is_one_step_of_several_tensors() -> None:
    def chain(x: Any) -> Any:
        for _ in range(3 * derivation.LONGEST_RUN):
            x = enp.tanh(x)
        return x

    steps = eqsat.optimize(chain, eqsat.spec((3,), "float32")).steps
    assert [step.rows for step in steps] == [("generic-is-build",), ("read-of-build",)]
    assert len(steps[1].tensors) == 3 * derivation.LONGEST_RUN - 1
    assert [change.name for change in steps[1].changes] == [f"t{3 * derivation.LONGEST_RUN - 1}"]
    assert "and t4, t5" in str(steps[0])


def test_a_program_that_stays_as_it_is_has_no_steps_but_builds() -> None:
    program = eqsat.trace(lambda x: enp.exp(x), np.ones(3, "float32"))
    (step,) = eqsat.optimize(program).steps
    assert step.rows == ("generic-is-build",)
    assert eqsat.optimize(step.program).steps == ()


def test_the_text_shows_the_steps_with_their_equations_then_the_numbers() -> None:
    function, specs = CASES["loop"]
    text = eqsat.optimize(function, *specs).explain()
    assert "(build N f)[h(i)] = f(h(i))" in text
    assert text.index("generic-is-build: ") < text.index("  in a loop:".strip()) < text.rindex("cost ")


def wrong(program: Program) -> tuple[Any, ...]:
    """Outputs that are not those of a program."""
    return tuple(
        Build(output.shape, Call("add", (output.body, Literal(1, output.dtype)), output.dtype)) if isinstance(output, Build) else output
        for output in program.outputs
    )


def test_what_is_not_found_again_is_one_step_by_all_rows_and_a_wrong_one_is_not_certified() -> None:
    function, specs = CASES["softmax"]
    result = eqsat.optimize(function, *specs)
    for stored, certified in ((result.extracted.outputs, True), (wrong(result.program), False)):
        steps = explain_program(result.original, result.written, Extracted(stored), result.options, ("some", "rows"))
        assert [step.traced for step in steps] == [True, False]
        assert steps[-1].rows == ("some", "rows")
        assert bool(steps[-1].certificate) == certified
        assert "all 2 rows that matched" in str(steps[-1])
        assert steps[-1].program.outputs == stored


def test_a_wrong_definition_in_the_middle_is_not_certified() -> None:
    function, specs = CASES["product of three"]
    result = eqsat.optimize(function, *specs)
    (tensor, way), *_ = result.extracted.taken
    found = replace(way.found, build=wrong(Program((), (way.found.build,)))[0])
    broken = replace(result.extracted, taken=((tensor, replace(way, found=found)),))
    steps = explain_program(result.original, result.written, broken, result.options, ("all",))
    assert not all(step.certificate for step in steps)


def test_steps_are_made_when_asked_for() -> None:
    function, specs = CASES["softmax"]
    result = eqsat.optimize(function, *specs)
    assert "steps" not in vars(result)
    assert result.steps is result.steps
