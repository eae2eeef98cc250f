"""Programs as textbooks and libraries hold them: `eqsat.jit` runs them as they stand and gives what NumPy gives."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat.testing import assert_close
from tests.effort import some
from tests.programs import geometry, images, learning, physics, signals, statistics
from tests.programs.collection import PROGRAMS

FAMILIES = (geometry, images, learning, physics, signals, statistics)


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in leaves(value[key])]
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, list | tuple) else [value]


@pytest.mark.parametrize("name", some(PROGRAMS, 4))
def test_a_program_gives_what_numpy_gives(name: str) -> None:
    program = PROGRAMS[name]
    expected = leaves(program.function(*program.arguments))
    static = {
        name for name, argument in zip(signature(program.function).parameters, program.arguments, strict=False) if type(argument) is int
    }
    found = leaves(eqsat.jit(program.function, static=static)(*program.arguments))
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert np.shape(one) == np.shape(other)
        assert np.asarray(one).dtype == np.asarray(other).dtype
        assert_close(np.asarray(one), np.asarray(other), program.rtol, name)


def test_there_are_sixty_programs_and_more() -> None:
    assert len(FAMILIES) == 6
    assert len(PROGRAMS) >= 60
