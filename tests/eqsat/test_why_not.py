"""why_not: each verdict where it is due, with what it rests on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import eqsat
import eqsat.numpy as enp
from eqsat import spec
from eqsat.ir.errors import UsageError
from eqsat.proving import values
from tests.eqsat.explained_programs import CASES

x, y, z = eqsat.var("x", 0, 99), eqsat.var("y", 0, 7), eqsat.var("z", 0, 3)
w = eqsat.var("w", 0, 1000)
FLAT = (x * 24 + y * 3 + z % 3) // 6


@pytest.mark.parametrize(
    ("original", "other", "verdict"),
    [
        (FLAT, x * 4 + y // 2, "chosen"),
        (FLAT, (x * 8 + y) // 2, "costs no more"),
        (FLAT, x * 4 + (y * 3 + z % 3) // 6, "costs more"),
        (FLAT, x * 4 + y // 3, "not equal"),
        (w * w % 8, w % 8 * (w % 8) % 8, "not found"),
        (x * 8 // 8, x, "chosen"),
        (x - x, 0, "chosen"),
        (x - x, 1, "not equal"),
    ],
    ids=str,
)
def test_an_index_expression_has_its_verdict(original: eqsat.Index, other: eqsat.Index | int, verdict: str) -> None:
    said = eqsat.optimize(original).why_not(other)
    assert said.verdict == verdict
    assert str(said).startswith(f"{verdict}: ")


def test_what_is_not_equal_has_a_counterexample() -> None:
    said = eqsat.optimize(FLAT).why_not(x * 4 + y // 3)
    assert said.counterexample is not None
    env = {v: said.counterexample[v.name] for v in (x, y)}
    assert 4 * env[x] + env[y] // 2 != 4 * env[x] + env[y] // 3
    assert "y = " in said.note


def test_what_costs_more_says_by_which_operations() -> None:
    said = eqsat.optimize(FLAT).why_not(x * 4 + (y * 3 + z % 3) // 6)
    assert said.cost is not None
    assert said.cost > said.chosen_cost
    assert said.differences[0].startswith("computes ")
    assert any(line.startswith("does without y // 2") for line in said.differences)
    assert "cost 8.67 ns, chosen 1.67 ns" in str(said)


def test_what_is_not_found_names_the_guards_and_why_saturation_ended() -> None:
    said = eqsat.optimize(w * w % 8).why_not(w % 8 * (w % 8) % 8)
    assert said.stop_reason is eqsat.StopReason.SATURATED
    assert {miss.term for miss in said.missing} == {w * w % 8}
    assert "mod-in-range needs x < y" in str(said)


def test_what_the_rules_prove_only_when_they_are_given_it_says_so() -> None:
    said = eqsat.optimize(FLAT).why_not((x * 8 + y) // 4 * 2 + (x * 8 + y) % 4 // 2)
    assert (said.verdict, "once they are given it" in said.note) == ("not found", True)


def test_under_a_fact_equal_means_equal_where_it_holds() -> None:
    n = eqsat.var("n", 1, 64)
    with eqsat.assume(n % 4 == 0):
        result = eqsat.optimize(x + n % 4)
    assert result.why_not(x + n % 4).verdict == "costs more"
    assert result.why_not(x + n % 2).verdict in ("costs more", "not found")
    assert result.why_not(x + n % 3).verdict == "not equal"


def test_a_variable_of_another_range_is_refused() -> None:
    with pytest.raises(UsageError, match="expected one range"):
        eqsat.optimize(FLAT).why_not(eqsat.var("x", 0, 5))


# programs ---------------------------------------------------------------------------------------------------------
A, B, V = spec((60, 40), "float32"), spec((40, 80), "float32"), spec((80,), "float32")


def result() -> eqsat.Result:
    return eqsat.optimize(lambda a, b, v: (a @ b) @ v, A, B, V)


@pytest.mark.parametrize(
    ("other", "verdict", "note"),
    [
        (lambda a, b, v: a @ (b @ v), "chosen", ""),
        (lambda a, b, v: (a @ b) @ v, "costs more", "equal by the rules"),
        (lambda a, b, v: a @ (b @ (v * 2)), "not equal", "output 0 at ["),
        (lambda a, b, v: (a @ b) @ v * 2 / 2, "not found", "60 elements agree"),
        (lambda a, b, v: ((a @ b) @ v)[:, None], "not equal", "float32[60, 1], expected float32[60]"),
        (lambda a, b, v: (a @ (b @ v)).astype("float64"), "not equal", "float64[60]"),
        (lambda a, b, v: (a @ (b @ v), v), "not equal", "it has 2 results, expected 1"),
    ],
)
def test_a_program_has_its_verdict(other: Callable[..., Any], verdict: str, note: str) -> None:
    said = result().why_not(other)
    assert (said.verdict, note in said.note) == (verdict, True), str(said)


def test_a_program_that_costs_more_shows_its_kernels_beside_those_that_were_chosen() -> None:
    found = result()
    said = found.why_not(found.original)
    assert said.cost is not None
    assert said.cost > 2 * float(said.chosen_cost)
    assert said.differences[0].startswith("it has 2 kernels: kernel_0 ")
    assert said.differences[1].startswith("chosen has 2 kernels: ")
    assert "  cost " in str(said)


def test_inputs_go_by_their_order_not_by_their_names() -> None:
    found = result()
    assert found.why_not(eqsat.trace(lambda v, w, u: v @ (w @ u), A, B, V)).verdict == "chosen"
    swapped = eqsat.optimize(lambda a, b: a - b, spec(3, "int64"), spec(3, "int64"))
    assert swapped.why_not(lambda b, a: b - a).verdict == "chosen"
    assert swapped.why_not(lambda b, a: a - b).verdict == "not equal"


def test_maps_that_the_rules_make_equal_are_found() -> None:
    function, specs = CASES["movements there and back"]
    said = eqsat.optimize(function, *specs).why_not(lambda x: (enp.exp(x) + 1).sum(axis=0))
    assert said.verdict in ("costs more", "costs no more", "chosen")


@pytest.mark.parametrize("other", [lambda a: a, 3, eqsat.var("x", 0, 3)])
def test_what_takes_other_inputs_or_is_no_program_is_refused(other: Any) -> None:
    with pytest.raises((UsageError, TypeError)):
        result().why_not(other)


def test_programs_with_loops_and_library_calls_are_compared_too() -> None:
    function, specs = CASES["library call"]
    found = eqsat.optimize(function, *specs)
    assert found.why_not(function).verdict in ("costs more", "costs no more")
    assert found.why_not(found.program).verdict == "chosen"
    assert found.why_not(lambda x: (enp.sort(x * 2, axis=1).T + 1).sum(axis=0)).verdict != "not equal"
    assert found.why_not(lambda x: (enp.sort(x * 3, axis=1).T + 1).sum(axis=0)).verdict == "not equal"
    function, specs = CASES["loop"]
    assert eqsat.optimize(function, *specs).why_not(lambda x: function(x) + 1).verdict == "not equal"


def test_limits_of_places_are_no_results() -> None:
    function, specs = CASES["gather that is checked"]
    found = eqsat.optimize(function, *specs)
    assert len(found.program.outputs) > 1
    assert found.why_not(found.program).verdict == "chosen"


def test_what_takes_too_long_to_compare_is_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    found = result()
    monkeypatch.setattr(values, "MOST_WORK", 10)
    said = found.why_not(lambda a, b, v: (a @ b) @ v * 2 / 2)
    assert (said.verdict, "too much work" in said.note) == ("unknown", True)
