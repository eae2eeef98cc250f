"""Blocks of columns that one thread does as one: the same values for any number of threads, and no others than those that were meant."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.codegen.wide_columns import MOST_BYTES, wide_columns
from tests.effort import some

RNG = np.random.default_rng(3)

PROGRAMS: dict[str, Any] = {
    "running sums": lambda xp, x: xp.cumsum(x, axis=0),
    "running sums of squares": lambda xp, x: xp.cumsum(x * x + 1, axis=0),
    "running sums from zero": lambda xp, x: xp.cumulative_sum(x, axis=0, include_initial=True),
    "running products": lambda xp, x: xp.cumprod(1 + x / 1000, axis=0),
    "running maxima": lambda xp, x: xp.maximum.accumulate(x, axis=0),
    "deviations": lambda xp, x: xp.std(x, axis=0),
    "variances over two axes": lambda xp, x: xp.var(x.reshape(x.shape[0] // 2, 2, -1), axis=(0, 1)),
    "spans": lambda xp, x: xp.max(x, axis=0) - xp.min(x, axis=0),
}
SHAPES = [(301 * 2, 517), (402, 700), (250, 1003), (300, 1536), (40, 131)]


@pytest.fixture
def threads() -> Iterator[None]:
    before = eqsat.num_threads()
    yield
    eqsat.set_num_threads(before)


@pytest.mark.parametrize(("shape", "dtype", "name"), some(itertools.product(SHAPES, ["float32", "float64", "int64"], PROGRAMS), 5))
@pytest.mark.usefixtures("threads")
def test_any_number_of_threads_finds_the_same(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    function, x = PROGRAMS[name], RNG.integers(-9, 9, shape).astype(dtype)
    compiled, found = eqsat.jit(lambda x: function(enp, x)), []
    for number in (1, 2, 3, 8):
        eqsat.set_num_threads(number)
        found.append(compiled(x))
    np.testing.assert_allclose(found[0], function(np, x), rtol=1e-4 if dtype == "float32" else 1e-10, atol=1e-5)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def is_wide(name: str, shape: tuple[int, ...], dtype: str = "float64") -> list[bool]:
    result = eqsat.optimize(lambda x: PROGRAMS[name](enp, x), eqsat.spec(shape, dtype))
    return [wide_columns(kernel) is not None for kernel in result.loops]


def test_few_blocks_of_rows_that_stay_near_are() -> None:
    assert is_wide("running sums", (1000, 1000)) == [True]
    assert is_wide("deviations", (3001, 517)) == [True]
    # blocks that are many are so for the caches; a row of one block is carried in registers
    assert is_wide("deviations", (1000, 1000)) == [False]
    assert is_wide("running sums", (300, 4 * MOST_BYTES)) == [False]
    assert is_wide("running sums", (300, 16)) == [False]


def test_scratch_memory_has_a_place_for_every_column() -> None:
    (kernel,) = eqsat.optimize(lambda x: enp.std(x, axis=0), eqsat.spec((3001, 517), "float64")).loops
    wide = wide_columns(kernel)
    assert wide is not None
    assert wide.whole == 517
    assert wide.rows == {buffer.name for buffer in kernel.scratch}
    assert all(buffer.size == wide.columns < wide.whole for buffer in kernel.scratch)
