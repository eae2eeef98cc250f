"""Functions put together of idioms, in every run of the tests."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.effort import examples
from tests.fuzz.array_chains import check
from tests.fuzz.draws import Draw, Nothing
from tests.fuzz.functions import draw, line_of, value_of
from tests.fuzz.idioms import DECIDES, KEEPS, Idiom


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_functions_give_what_numpy_gives(part: int) -> None:
    counts, wrong = check([draw(part, position) for position in range(examples(24, 8, 4))])
    assert wrong == []
    assert counts["steps"] > 2 * counts["chains"]


def test_a_seed_gives_the_same_functions() -> None:
    assert draw(3, 5).source == draw(3, 5).source
    assert len({draw(3, position).source for position in range(20)}) == 20


@pytest.mark.parametrize("idiom", [*KEEPS, *DECIDES])
def test_what_is_not_rounded_is_a_multiple_of_a_small_power_of_two(idiom: Idiom) -> None:
    """Or else a decision could be made of what another order of operations rounds in another way."""
    tried = 0
    for seed in range(40):
        data = np.random.default_rng(seed).integers(-40, 41, (2, 8, 8))
        values = {"a": data[0] / 8, "b": data[1] / 8, "v": data[0, 0] / 8, "i": data[1], "j": data[0, 1], "u": data[1].astype(np.uint8)}
        values |= {"z": (data[0] + 1j * data[1]) / 8, "t": data[0] > 0}
        try:
            text = idiom(Draw(random.Random(seed), values))
        except Nothing:
            continue
        if (made := value_of(line_of(text, "x"), "x", values)) is None:
            continue
        tried += 1
        assert np.array_equal(made * 64, np.round(made * 64)), text
    assert tried
