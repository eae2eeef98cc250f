"""What may stand in tiles: elements that become others there hold what NumPy makes of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.dtypes import DTYPES, is_complex
from eqsat.ir.vectorizable import LANES, widening


def test_which_elements_become_which() -> None:
    found = {(source, target): widening(source, target) for source, target in itertools.product(DTYPES, DTYPES)}
    assert found["uint8", "float32"] == "uitofp"
    assert found["int64", "float32"] == "sitofp"
    assert found["uint8", "int32"] == "zext"
    assert found["int8", "uint32"] == "sext"
    assert found["float32", "float64"] == "fpext"
    for pair in (
        ("float64", "float32"),
        ("float32", "int32"),
        ("int32", "int32"),
        ("int32", "uint8"),
        ("bool", "float32"),
        ("float16", "float32"),
    ):
        assert found[pair] is None
    assert all(found[pair] is None for pair in found if not set(pair) <= LANES or is_complex(pair[1]))


@pytest.mark.parametrize(("source", "target"), [pair for pair in itertools.product(sorted(LANES), sorted(LANES)) if widening(*pair)])
def test_elements_that_move_in_tiles_become_what_numpy_makes_of_them(source: str, target: str) -> None:
    rng = np.random.default_rng(0)
    size = 5 * 37 * 3
    if source.startswith("float"):
        values = rng.normal(size=size).astype(source)
    else:
        limits = np.iinfo(source)
        values = rng.integers(limits.min, limits.max, size, dtype=source, endpoint=True)
    x = values.reshape(5, 37, 3)
    dtype = getattr(enp, target)
    result = eqsat.optimize(lambda x: enp.flip(x, axis=1).astype(dtype) + 1, x)
    np.testing.assert_array_equal(result(x), np.flip(x, axis=1).astype(target) + 1)
