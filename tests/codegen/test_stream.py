"""Results that are written past the caches: the same elements, wherever they begin and end, and nothing beside them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat.codegen import host
from eqsat.codegen.memory import stream
from tests.effort import some

pytestmark = pytest.mark.skipif(not host().registers.streams, reason="stores past the caches are for x86-64")
RNG = np.random.default_rng(5)
# of the small results here
LEAST = 3 * stream.BLOCK_BYTES


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "STREAM_BYTES", LEAST)


def past_the_caches(result: eqsat.Result) -> bool:
    return "movnt" in result.assembly


PROGRAMS: dict[str, Any] = {
    "elements": lambda a: a * a + a,
    "a value used twice": lambda a: (a + 1) * (a + 1) - a,
    "a transpose": lambda a: a.T + 1,
    "rows": lambda a: a - a.max(axis=-1, keepdims=True),
    "shifted": lambda a: a[..., 1:] + a[..., :-1],
    "positions": lambda a: a + np.arange(a.shape[-1], dtype=a.dtype),
}


SHAPES = [(5 * 4096 + 37,), (3, 8191), (130, 131), (4, 4096)]
DTYPES = ["int8", "int32", "float32", "float64", "float16"]


@pytest.mark.parametrize(("shape", "dtype", "name"), some(itertools.product(SHAPES, DTYPES, PROGRAMS), 7))
@pytest.mark.usefixtures("small")
def test_elements_are_those_of_numpy(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    function, a = PROGRAMS[name], RNG.integers(0, 5, shape).astype(dtype)
    expected = function(a)
    result = eqsat.optimize(function, a)
    np.testing.assert_array_equal(result(a), expected)
    for offset in (0, 1, 5, 64 // expected.itemsize):
        memory = np.full(expected.size + offset + 200, 3, expected.dtype)
        out = memory[offset + 60 : offset + 60 + expected.size].reshape(expected.shape)
        result.compile()(a, out=out)
        np.testing.assert_array_equal(out, expected)
        assert (memory[: offset + 60] == 3).all()
        assert (memory[offset + 60 + expected.size :] == 3).all()


@pytest.mark.usefixtures("small")
def test_only_large_results_of_neighbours_are() -> None:
    assert past_the_caches(eqsat.optimize(lambda a: a + 1, eqsat.spec((4 * LEAST,), "float32")))
    assert not past_the_caches(eqsat.optimize(lambda a: a + 1, eqsat.spec((LEAST // 4 - 1,), "float32")))
    assert not past_the_caches(eqsat.optimize(lambda a: a[:, :1000] + 1, eqsat.spec((100, 1100), "float32")))
    assert not past_the_caches(eqsat.optimize(lambda a: a.sum(axis=1), eqsat.spec((LEAST, 100), "float32")))
    rows = eqsat.spec((20, 4096), "float32")
    assert past_the_caches(eqsat.optimize(lambda a: a - a.max(axis=-1, keepdims=True), rows))
    assert past_the_caches(eqsat.optimize(lambda a, b: a + b, rows, eqsat.spec((4096,), "float32")))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_threads_write_their_parts(threads: int) -> None:
    before, a = eqsat.num_threads(), RNG.standard_normal((9, 30_000)).astype(np.float32)
    function = eqsat.jit(lambda a: np.maximum(a * 3, a + 1))
    eqsat.set_num_threads(threads)
    try:
        for _ in range(20):
            np.testing.assert_array_equal(function(a), np.maximum(a * 3, a + 1))
    finally:
        eqsat.set_num_threads(before)
