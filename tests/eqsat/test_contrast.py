"""compare: what differs between two results, and nothing where they are the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import eqsat
from eqsat.ir.errors import UsageError
from tests.eqsat.explained_programs import CASES

x, y = eqsat.var("x", 0, 99), eqsat.var("y", 0, 7)
SPECS = (eqsat.spec((240, 160), "float32"), eqsat.spec((160, 320), "float32"), eqsat.spec((320,), "float32"))


def product(a: Any, b: Any, v: Any) -> Any:
    return (a @ b) @ v


def test_a_result_beside_itself_differs_in_nothing() -> None:
    function, specs = CASES["softmax"]
    found = eqsat.compare(eqsat.optimize(function, *specs), eqsat.optimize(function, *specs))
    assert found.same
    assert (found.ratio, found.kernels, found.only_first, found.only_second, found.diff) == (1.0, (), (), (), "")
    assert "the programs are the same" in str(found)


def test_two_programs_are_compared_by_cost_kernels_rows_and_text() -> None:
    first = eqsat.optimize(product, *SPECS)
    second = eqsat.optimize(product, *SPECS, options=eqsat.Options().without("algebra"))
    found = eqsat.compare(first, second)
    assert not found.same
    assert found.costs == (first.cost, second.cost)
    assert found.ratio == second.cost.total / first.cost.total
    assert "contraction-order" in dict(found.only_first)
    assert found.diff.splitlines()[:2] == ["--- first", "+++ second"]
    dearest = found.kernels[0]
    assert (dearest.first, "r0: 160" in dearest.text) == (None, True)
    assert sum(one.second or 0.0 for one in found.kernels) == pytest.approx(second.cost.total)
    text = str(found)
    assert "absent ->" in text
    assert "rows that matched in the first only: contraction-order (1)" in text
    assert "first: saturated after" in text


def test_other_costs_of_one_program_differ_in_kernels_only() -> None:
    slow = replace(eqsat.DEFAULT_TARGET, name="slow", ghz=1.0)
    found = eqsat.compare(eqsat.optimize(product, *SPECS), eqsat.optimize(product, *SPECS, options=eqsat.Options(target=slow)))
    assert found.diff == ""
    assert found.kernels
    assert not found.same


def test_index_expressions_are_compared_alike() -> None:
    found = eqsat.compare(eqsat.optimize(x * 8 // 4), eqsat.optimize(x * 8 // 4 + y // 4))
    assert "+x * 2 + y // 4" in found.diff
    assert {one.text for one in found.kernels} == {"x * 2", "x * 2 + y // 4"}
    assert found.ratio == pytest.approx(2.5)


def test_a_cost_of_zero_is_compared() -> None:
    assert eqsat.compare(eqsat.optimize(x + 0), eqsat.optimize(x % 8)).ratio == float("inf")
    assert eqsat.compare(eqsat.optimize(x + 0), eqsat.optimize(y + 0)).ratio == 1.0


def test_what_is_no_result_or_one_of_each_is_refused() -> None:
    index, program = eqsat.optimize(x % 8), eqsat.optimize(product, *SPECS)
    for pair in ((index, program), (program, index), (program, program.program), (3, 4)):
        with pytest.raises(UsageError, match=r"compare: found \w+ and \w+, expected"):
            eqsat.compare(*pair)
