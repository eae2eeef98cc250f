"""Logic on integers in parsed text: what is not zero is true, as written and simplified."""

from __future__ import annotations

from typing import Any

import pytest

import eqsat
from eqsat.indices.parse import parse_index
from eqsat.ir.errors import UsageError
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import variables
from eqsat.testing import assert_equivalent

TEXTS = ["not x", "not not x", "x and y", "x or y", "not (x and y)", "where(x and y, 1, 2)", "int(not x) + 1", "x < y and y", "not x == y"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("bounds", [(-2, 3), (2, 5), (4, 4), (0, 0)], ids=str)
def test_logic_on_integers_takes_what_is_not_zero_for_true(text: str, bounds: tuple[int, int]) -> None:
    term = eqsat.parse_index(text, {"x": bounds, "y": (-1, 2)})
    names = variables(term)
    for x in range(bounds[0], bounds[1] + 1):
        for y in range(-1, 3):
            expected = eval(text, {"x": x, "y": y, "where": lambda c, a, b: a if c else b})
            found = evaluate_index(term, {v: {"x": x, "y": y}[v.name] for v in names})
            assert bool(found) == bool(expected) if term.kind == "bool" else found == expected
            assert term.bounds[0] <= int(found) <= term.bounds[1]
    assert_equivalent(eqsat.simplify(term), term)


@pytest.mark.parametrize("variables", [{"x": 3}, {"x": (3,)}, {"x": "ab", "y": None}, {"x": (0, 1, 2)}, None, [("x", 0, 3)]])
def test_variables_without_bounds_are_told(variables: Any) -> None:
    with pytest.raises(UsageError, match="parse_index: found"):
        parse_index("x + 1", variables)
