"""Loops that write from the beginning of a line of memory on: the same elements wherever results begin, and nothing beside them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from tests.effort import some

RNG = np.random.default_rng(11)

PROGRAMS: dict[str, Any] = {
    "two results": lambda xp, a: (a[:, 1:] + 1, a[:, 1:] * 2),
    "three results of two rows": lambda xp, a: (a[1:] + a[:-1], a[1:] - a[:-1], a[:-1] + 1),
    "gradients": lambda xp, a: tuple(xp.gradient(a)),
    "each element twice": lambda xp, a: xp.repeat(a[:, 1:], 2, axis=1) + 1,
    "three elements in turn": lambda xp, a: xp.stack([a, a + 1, a * 2], axis=2),
    "five in turn": lambda xp, a: xp.stack([a, a + 1, a * 2, a - 1, a + 3], axis=2),
    "rows of an odd length": lambda xp, a: a[:, 3:] + a[:, :-3],
    "a seam": lambda xp, a: xp.roll(a, 5, axis=1) + a,
}
# rows that begin at lines and elsewhere, short ones, and long ones
SHAPES = [(7, 131), (5, 1003), (4, 1024), (3, 4099), (40, 140)]
DTYPES = ["float32", "float64", "int32", "int64"]


def arrays(results: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(result) for result in (results if isinstance(results, tuple) else (results,))]


@pytest.mark.parametrize(("shape", "dtype", "name"), some(itertools.product(SHAPES, DTYPES, PROGRAMS), 5))
def test_elements_are_those_of_numpy(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    function, a = PROGRAMS[name], RNG.integers(0, 9, shape).astype(dtype)
    expected = arrays(function(np, a))
    result = eqsat.optimize(lambda a: function(enp, a), a)
    for found, wanted in zip(arrays(result(a)), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    for offset in (0, 1, 5):
        memory = [np.full(one.size + offset + 64, 3, one.dtype) for one in expected]
        out = [m[offset + 20 : offset + 20 + one.size].reshape(one.shape) for m, one in zip(memory, expected, strict=True)]
        result.compile()(a, out=tuple(out) if len(out) > 1 else out[0])
        for m, found, wanted in zip(memory, out, expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
            assert (m[: offset + 20] == 3).all()
            assert (m[offset + 20 + wanted.size :] == 3).all()


def aligned(function: Any, *shapes: tuple[int, ...], dtype: str = "float32") -> bool:
    """Whether some loop asks where in a line it begins."""
    return "ptrtoint" in eqsat.optimize(lambda *arrays: function(enp, *arrays), *(eqsat.spec(shape, dtype) for shape in shapes)).llvm_ir


def test_only_where_rows_begin_anywhere_and_it_is_worth_it() -> None:
    two = PROGRAMS["two results"]
    assert aligned(two, (50, 1004))
    assert not aligned(two, (50, 1025))  # 1,024 numbers a row: each begins with a line
    assert not aligned(two, (50, 60))
    assert not aligned(two, (50, 1004), dtype="int8")
    assert aligned(PROGRAMS["each element twice"], (50, 300))
    assert not aligned(PROGRAMS["rows of an odd length"], (50, 300))
    assert aligned(PROGRAMS["rows of an odd length"], (50, 3000))
    assert not aligned(lambda xp, a: (enp.exp(a[:, 1:]), enp.tanh(a[:, 1:])), (50, 1004))
