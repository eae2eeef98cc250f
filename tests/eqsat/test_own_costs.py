from __future__ import annotations

import math
import pickle
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat import Costs, KernelWork, Options
from eqsat.egraph.index_cost import INDEX_CYCLES, index_cycles
from eqsat.ir.errors import UsageError
from eqsat.keeping.keys import plan_key
from eqsat.pricing.cycles import ELEMENT_CYCLES, PAIR_CYCLES
from eqsat.pricing.nest_costs import nest_ns
from eqsat.pricing.target import DEFAULT_TARGET
from eqsat.testing import assert_cheaper

X = eqsat.var("x", 0, 1000)
WIDE = eqsat.spec((64, 1000), "float32")


def sums_and_products(a: Any, b: Any) -> Any:
    e = enp.exp(a)
    return e.sum(axis=1), e * b


def two_of_one(a: Any) -> Any:
    return a + 1, a * 2


def options(**costs: Any) -> Options:
    return Options(cost=Costs(**costs), cache=False)


# what a cost model is ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"element_cycles": {"exq": 1.0}}, r"Costs.element_cycles: found the unknown operation 'exq', expected exp"),
        ({"element_cycles": {"exp": -1.0}}, r"Costs.element_cycles\['exp'\]: found -1.0, expected cycles"),
        ({"complex_cycles": {"divide": math.nan}}, r"Costs.complex_cycles\['divide'\]: found nan"),
        ({"index_cycles": {"mul": math.inf}}, r"Costs.index_cycles\['mul'\]: found inf"),
        ({"index_cycles": {"mul": True}}, r"Costs.index_cycles\['mul'\]: found True"),
        ({"index_cycles": {"mul": "2"}}, r"Costs.index_cycles\['mul'\]: found '2'"),
        ({"index_cycles": {"and": 2.0}}, r"found the unknown operation 'and', .*; and costs what min does"),
        ({"element_cycles": [("exp", 1.0)]}, r"Costs.element_cycles: found a list, expected a dict"),
        ({"objective": 3}, r"Costs.objective: found a int, expected a function of a KernelWork"),
        ({"unit": None}, r"Costs.unit: found a NoneType, expected a text"),
    ],
)
def test_bad_costs_are_refused_at_once(said: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Costs(**said)


def test_options_take_costs_and_nothing_else() -> None:
    with pytest.raises(UsageError, match=r"Options.cost: found a dict, expected eqsat.Costs"):
        Options(cost={"exp": 1.0})  # type: ignore[arg-type]


def test_costs_are_equal_by_what_they_say() -> None:
    first, second = Costs(element_cycles={"exp": 1, "divide": 2}), Costs(element_cycles={"divide": 2.0, "exp": 1.0})
    assert first == second == pickle.loads(pickle.dumps(first))
    assert len({first, second, Costs()}) == 2
    assert hash(Options(cost=first)) == hash(Options(cost=second))
    assert repr(first) == "Costs(element_cycles={'divide': 2.0, 'exp': 1.0})"


def test_costs_do_not_change_with_what_they_were_made_of() -> None:
    cycles = {"exp": 1.0}
    costs = Costs(element_cycles=cycles)
    cycles["exp"] = 5.0
    assert costs.element_cycles["exp"] == 1.0
    with pytest.raises(TypeError):
        costs.element_cycles["exp"] = 5.0  # type: ignore[index]


def test_the_tables_of_eqsat_are_the_default() -> None:
    spelled = Costs(element_cycles=ELEMENT_CYCLES, complex_cycles=PAIR_CYCLES, index_cycles=INDEX_CYCLES)
    program = eqsat.trace(sums_and_products, WIDE, WIDE)
    assert eqsat.cost(program, Options(cost=spelled, target=DEFAULT_TARGET)) == eqsat.cost(program)
    assert spelled.index == Costs().index
    for dtype in ("float32", "complex64"):
        assert all(spelled.cycles(op, dtype) == Costs().cycles(op, dtype) for op in ("add", *ELEMENT_CYCLES, *PAIR_CYCLES))


# index terms ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("written", "cycles", "found"),
    [
        (X - X // 10 * 10, {}, "x % 10"),
        (X - X // 10 * 10, {"mod_constant": 50.0}, "x - x // 10 * 10"),
        (X - X // 8 * 8, {"mod_power_of_two": 50.0}, "x - x // 8 * 8"),
        (X - X // 10 * 10, {"floordiv_constant": 50.0}, "x % 10"),
        (eqsat.where(X < 7, X, 7), {}, "min(x, 7)"),
        (eqsat.where(X < 7, X, 7), {"min": 50.0}, "where(x < 7, x, 7)"),
        (eqsat.where(X < 7, X, 7), {"min": 50.0, "compare": 50.0}, "min(x, 7)"),
    ],
)
def test_weights_choose_among_the_forms_of_an_index_term(written: eqsat.Index, cycles: dict[str, float], found: str) -> None:
    chosen = options(index_cycles=cycles)
    assert str(eqsat.simplify(written, chosen)) == found
    result = eqsat.optimize(written, options=chosen)
    assert str(result.expr) == found
    assert result.cost <= result.original_cost
    assert float(result.cost) == pytest.approx(index_cycles(result.expr, weights=chosen.cost.index) / DEFAULT_TARGET.ghz)
    assert result.cost.costs.index == chosen.cost.index


def test_results_under_one_cost_model_are_not_served_under_another() -> None:
    term = X - X // 12 * 12 + 5
    dear = Options(cost=Costs(index_cycles={"mod_constant": 50.0}))
    expected = ["x % 12 + 5", "x - x // 12 * 12 + 5"] * 2
    assert [str(eqsat.simplify(term, chosen)) for chosen in (Options(), dear) * 2] == expected


def test_free_operations_leave_terms_well_founded() -> None:
    free = options(index_cycles=dict.fromkeys(INDEX_CYCLES, 0.0))
    for text in ("x % 8 + x // 8 * 8", "min(max(x, 3), y) + where(x < y, x, y)", "(x + 3) // 4 % 5 - y * x", "not (x < 3 and y > 2)"):
        term = eqsat.parse_index(text, {"x": (0, 99), "y": (-9, 9)})
        assert eqsat.prove_equal(term, eqsat.simplify(term, free))


def test_a_gate_is_chosen_by_the_same_weights() -> None:
    index, gate = eqsat.simplify_gated(X - X // 10 * 10, X < 700, options())
    dear, _ = eqsat.simplify_gated(X - X // 10 * 10, X < 700, options(index_cycles={"mod_constant": 50.0}))
    assert (str(index), str(gate), str(dear)) == ("x % 10", "x < 700", "x - x // 10 * 10")


# programs ---------------------------------------------------------------------------------------------------------------
def test_what_is_cheap_is_computed_again_and_what_is_dear_is_stored() -> None:
    free, dear = (eqsat.optimize(sums_and_products, WIDE, WIDE, options=options(element_cycles={"exp": c})) for c in (0.0, 900.0))
    assert [str(found.loops).count("exp(") for found in (free, dear)] == [2, 1]
    assert free.cost < dear.cost
    a, b = (np.random.default_rng(k).normal(size=WIDE.shape).astype(np.float32) for k in range(2))  # type: ignore[arg-type]
    for one, other in zip(free(a, b), dear(a, b), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


OBJECTIVES: dict[str, tuple[Callable[[KernelWork], float], float]] = {
    "kernels": (lambda work: work.launches, 1.0),
    "bytes": (lambda work: work.bytes_read + work.bytes_written, 4.0 * (64 * 1000 * 4 + 64)),
    "ns": (lambda work: work.ns, math.nan),
}


@pytest.mark.parametrize("unit", OBJECTIVES)
def test_a_program_is_the_cheapest_by_the_objective_that_is_given(unit: str) -> None:
    objective, expected = OBJECTIVES[unit]
    result = eqsat.optimize(sums_and_products, WIDE, WIDE, options=options(objective=objective, unit=unit))
    if unit == "ns":
        expected = float(eqsat.optimize(sums_and_products, WIDE, WIDE, options=options()).cost)
    assert float(result.cost) == pytest.approx(expected)
    assert result.cost <= result.original_cost == eqsat.cost(result.original, result.options)
    assert str(result.cost) == f"{float(result.cost):,.0f} {unit}"
    assert result.cost.costs is result.options.cost


def test_siblings_share_a_kernel_where_the_objective_says_so() -> None:
    def squared(work: KernelWork) -> float:
        return float(work.bytes_written) ** 2

    spec = eqsat.spec((1000,), "float32")
    results = [eqsat.optimize(two_of_one, spec, options=options(objective=one)) for one in (None, squared)]
    assert [len(result.loops) for result in results] == [1, 2]
    assert float(results[1].cost) == 2 * 4000.0**2


def test_an_objective_prices_library_calls_and_loops_too() -> None:
    def sorted_steps(x: Any) -> Any:
        return eqsat.fori(3, lambda i, s: enp.sort(s) + 1, x)

    result = eqsat.optimize(sorted_steps, eqsat.spec((100,), "float64"), options=options(objective=lambda work: work.launches))
    assert float(result.cost) == float(result.original_cost) == 6.0


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        (lambda work: -1.0, r"Costs.objective: found -1.0 for KernelWork\(launches=1.*, expected a finite number"),
        (lambda work: math.nan, r"Costs.objective: found nan for"),
        (lambda work: work.flops, r"Costs.objective: raised AttributeError: .*'flops', expected a number for KernelWork"),
        (lambda work: None, r"Costs.objective: raised TypeError"),
    ],
)
def test_what_is_wrong_with_an_objective_is_told_in_one_line(objective: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        eqsat.optimize(two_of_one, eqsat.spec((100,), "float32"), options=options(objective=objective))
    assert "\n" not in str(caught.value)


def test_another_target_is_another_objective() -> None:
    kernels = replace(DEFAULT_TARGET, name="kernels", ghz=math.inf, launch_ns=1.0, byte_ns=(0.0,) * 4)
    result = eqsat.optimize(sums_and_products, WIDE, WIDE, options=Options(target=kernels, cache=False))
    assert (float(result.cost), float(result.original_cost)) == (1.0, 3.0)
    assert result.cost.target is kernels


def test_loop_nests_are_priced_by_the_same_costs() -> None:
    kernel = eqsat.optimize(lambda a: enp.exp(a) / 3 + a, eqsat.spec((64, 512), "float32")).loops[0]
    plain = nest_ns(kernel, DEFAULT_TARGET)
    assert nest_ns(kernel, DEFAULT_TARGET, Costs(element_cycles={"exp": 0.0})) < plain
    assert nest_ns(kernel, DEFAULT_TARGET, Costs(element_cycles={"add": 90.0})) > plain
    assert nest_ns(kernel, DEFAULT_TARGET, Costs(element_cycles={"sqrt": 90.0})) == plain


def test_a_loop_is_split_where_dividing_is_dear_and_not_where_it_is_free() -> None:
    def function(a: Any) -> Any:
        return enp.repeat(a, 3, axis=0) * 2

    free = {f"{op}_{divisor}": 0.0 for op in ("floordiv", "mod") for divisor in ("constant", "power_of_two")}
    split, whole = (eqsat.optimize(function, eqsat.spec((40, 70), "float32"), options=options(index_cycles=c)) for c in ({}, free))
    assert "//" not in str(split.loops[0])
    assert "i0 // 3" in str(whole.loops[0])


# keys -------------------------------------------------------------------------------------------------------------------
def test_the_key_of_a_plan_names_its_cost_model() -> None:
    program = eqsat.trace(two_of_one, eqsat.spec((100,), "float32"))
    models = (Costs(), Costs(element_cycles={"add": 2.0}), Costs(index_cycles={"add": 2.0}), Costs(complex_cycles={"add": 2.0}))
    keys = [plan_key(program, Options(cost=costs)) for costs in models]
    assert None not in keys
    assert len(set(keys)) == len(models)
    assert plan_key(program, Options(cost=Costs(objective=lambda work: work.ns))) is None


def test_functions_that_are_compiled_take_their_own_cost_model() -> None:
    plain, counted = (
        eqsat.jit(sums_and_products, options=Options(cost=costs)) for costs in (Costs(), Costs(objective=lambda work: work.launches))
    )
    a, b = (np.random.default_rng(k).normal(size=WIDE.shape).astype(np.float32) for k in range(2))  # type: ignore[arg-type]
    for one, other in zip(plain(a, b), counted(a, b), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_costs_are_told_in_the_unit_of_their_model() -> None:
    fewest = options(objective=lambda work: work.launches, unit="kernels")
    result = eqsat.optimize(sums_and_products, WIDE, WIDE, options=fewest)
    said = [*map(str, result.alternatives(2)), str(result.why_not(result.original)), str(eqsat.compare(result, result))]
    said.append(str(eqsat.leave_one_out(sums_and_products, WIDE, WIDE, options=fewest)))
    with pytest.raises(AssertionError) as failed:
        assert_cheaper(result, 1)
    for text in (*said, str(failed.value)):
        assert "kernels" in text
        assert not re.search(r"\d ns|\(ns\)", text), text


def test_costs_of_two_units_are_not_compared() -> None:
    fewest = eqsat.optimize(sums_and_products, WIDE, WIDE, options=options(objective=lambda work: work.launches, unit="kernels"))
    fastest = eqsat.optimize(sums_and_products, WIDE, WIDE, options=options())
    contrast = eqsat.compare(fewest, fastest)
    assert math.isnan(contrast.ratio)
    assert re.match(r"cost 1 kernels -> [\d,]+ ns \(counted in two units\)", str(contrast))
    with pytest.raises(UsageError, match="found costs in kernels and in ns, expected one unit"):
        assert_cheaper(fewest, fastest)
