"""Programs of rows that several results share, in every run of the tests."""

from __future__ import annotations

import pytest

from tests.effort import examples
from tests.fuzz.array_chains import check
from tests.fuzz.shared_rows import draw


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_results_of_shared_rows_are_those_of_numpy(part: int) -> None:
    counts, wrong = check([draw(part, position) for position in range(examples(16, 8, 4))])
    assert wrong == []
    assert counts["steps"] > 2 * counts["chains"]


def test_a_seed_gives_the_same_programs() -> None:
    assert draw(3, 5).source == draw(3, 5).source
    assert len({draw(3, position).source for position in range(20)}) == 20
