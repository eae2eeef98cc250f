"""Alternatives: equal, sorted by cost, without what was chosen, and different in what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import UsageError
from eqsat.testing import assert_close, assert_equivalent, random_arrays
from tests.eqsat.explained_programs import CASES

x, y, z = eqsat.var("x", 0, 99), eqsat.var("y", 0, 7), eqsat.var("z", 0, 3)
n = eqsat.var("n", 1, 64)
TERMS = {
    "common factor": (x * 24 + y * 3 + z % 3) // 6,
    "reshape there and back": (x * 8 + y) // 4 * 4 + (x * 8 + y) % 4,
    "selection": eqsat.where(x * 2 < 8, eqsat.where(x < 5, y % 8, z), x),
    "mask": (x * 16 + y) & 15,
    "truth value": (x * 4 + z) % 8 < 4,
}


@pytest.mark.parametrize("name", TERMS)
def test_other_forms_are_proved_equal_sorted_and_not_the_chosen_one(name: str) -> None:
    result = eqsat.optimize(TERMS[name])
    forms = result.alternatives(4)
    assert 1 <= len(forms) <= 4
    assert len({str(form.expr) for form in forms}) == len(forms)
    for form in forms:
        assert form.proof
        assert form.expr is not result.expr
        assert form.expr.kind == result.original.kind
        assert form.cost >= result.cost
        assert_equivalent(form.expr, result.original)
        assert str(form.expr) in str(form)
    assert [form.cost for form in forms] == sorted(form.cost for form in forms)


def test_fewer_forms_are_the_cheapest_ones() -> None:
    result = eqsat.optimize(TERMS["common factor"])
    assert [form.expr for form in result.alternatives(1)] == [form.expr for form in result.alternatives(3)[:1]]
    assert result.alternatives(0) == ()


def test_an_expression_that_is_a_variable_has_only_its_original_beside_it() -> None:
    (form,) = eqsat.optimize((x * 8 + y) // 8).alternatives()
    assert form.expr is (x * 8 + y) // 8


def test_forms_under_a_fact_are_equal_where_it_holds() -> None:
    with eqsat.assume(n % 4 == 0):
        result = eqsat.optimize((x * 4 + n) % 4 + x)
    assert result.expr is x
    assert (x * 4 + n) % 4 + x in [form.expr for form in result.alternatives()]
    assert all(form.proof for form in result.alternatives())


@pytest.mark.parametrize("k", [-1, 1.5, True, "two"])
def test_a_number_of_alternatives_that_is_none_is_refused(k: Any) -> None:
    for result in (eqsat.optimize(x % 8 + y), eqsat.optimize(lambda a: a + 1, np.ones(3))):
        with pytest.raises(UsageError, match=r"alternatives: found k = .*, expected a number"):
            result.alternatives(k)


@pytest.mark.parametrize("name", ["softmax", "product of three", "gather that is checked", "library call"])
def test_other_programs_compute_the_same_and_are_sorted_by_cost(name: str) -> None:
    function, specs = CASES[name]
    result = eqsat.optimize(function, *specs)
    others = result.alternatives(3)
    assert 1 <= len(others) <= 3
    assert [other.cost for other in others] == sorted(other.cost for other in others)
    arrays = [abs(array) % 4 if array.dtype.kind == "i" else array for array in random_arrays(result.original)]
    expected = result.compile().run(arrays)
    for other in others:
        assert other.differs
        assert other.program is not result.program
        assert "; ".join(other.differs) in str(other)
        for found, array in zip(other.result.compile().run(arrays), expected, strict=True):
            assert_close(found, array, 1e-4)


def test_an_alternative_names_what_is_stored_and_which_offers_are_left_out() -> None:
    function, specs = CASES["product of three"]
    large = [eqsat.spec(tuple(8 * n for n in one.shape), one.dtype) for one in specs]
    said = [line for other in eqsat.optimize(function, *large).alternatives() for line in other.differs]
    assert "as it is written: every tensor is stored" in said
    assert "without contraction-order for t1" in said
    function, specs = CASES["softmax"]
    assert any(line.startswith("stores t") for other in eqsat.optimize(function, *specs).alternatives() for line in other.differs)


def test_a_result_that_another_one_computes_again_says_so() -> None:
    def both(x: Any) -> Any:
        h = enp.tanh(x * 3)
        return h, enp.exp(h) + 1

    result = eqsat.optimize(both, eqsat.spec((3, 40), "float32"))
    said = [line for other in result.alternatives() for line in other.differs]
    assert {"t3 computes t1 again", "t3 reads t1"} & set(said)
