"""Chains of operations on arrays of hundreds of elements in every run of the tests; the harness on planted errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.effort import examples
from tests.fuzz import array_chains
from tests.fuzz.array_chains import check, difference, draw

COUNT = examples(32, 8, 4)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_chains_give_what_numpy_gives(part: int) -> None:
    counts, wrong = check([draw(part, position) for position in range(COUNT // 2)])
    assert wrong == []
    assert counts["steps"] > 2 * counts["chains"]


def test_a_seed_gives_the_same_chains() -> None:
    one, other = draw(3, 5), draw(3, 5)
    assert (one.source, one.numerics) == (other.source, other.numerics)
    np.testing.assert_array_equal(one.arrays[0], other.arrays[0])
    assert len({draw(3, position).source for position in range(20)}) > 15


def test_a_wrong_result_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = replace(draw(0, 0), source="def chain(x):\n    return x * 2,\n")
    assert difference(chain) is None
    monkeypatch.setattr(array_chains.Chain, "function", lambda self: lambda x: (x * (2 if isinstance(x, np.ndarray) else 2.001),))
    found = difference(chain)
    assert found is not None
    assert "differ" in found
