"""Where operations on indices have values, as the table says and as Python's integers show."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from eqsat.ir.index import OPS

NUMBERS = range(-3, 4)


@pytest.mark.parametrize("name", OPS)
def test_an_operation_has_a_value_where_its_last_operand_is_in_its_domain(name: str) -> None:
    row = OPS[name]
    for operands in itertools.product(NUMBERS, repeat=row.arity):
        holds = row.domain is None or row.domain.holds(operands[-1])
        if holds:
            row.evaluate(*operands)
        else:
            with pytest.raises((ZeroDivisionError, ValueError)):
                row.evaluate(*operands)


@pytest.mark.parametrize("name", [name for name, row in OPS.items() if row.domain is not None])
def test_a_domain_means_the_same_of_numbers_arrays_and_intervals(name: str) -> None:
    domain = OPS[name].domain
    assert domain is not None
    every = np.array(NUMBERS)
    assert domain.holds(every).tolist() == [domain.holds(n) for n in NUMBERS] == OPS[domain.op].evaluate(every, 0).tolist()
    assert domain.nearest(every).tolist() == [domain.nearest(n) for n in NUMBERS]
    assert domain.holds(domain.nearest(every)).all()
    assert all(domain.nearest(n) == n for n in NUMBERS if domain.holds(n))
    for low, high in itertools.combinations_with_replacement(NUMBERS, 2):
        assert domain.proved((low, high)) == all(domain.holds(n) for n in range(low, high + 1))
