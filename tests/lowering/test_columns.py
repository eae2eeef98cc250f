"""Folds down columns: the same values as the build, in blocks of any size, and no other loops than those that were meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import eqsat
from eqsat.ir.loops import Fold, For, statements
from eqsat.ir.loops_check import check_kernel
from eqsat.ir.tensor import Build
from eqsat.lowering import hoist, order
from eqsat.lowering.candidates import Schedules
from eqsat.lowering.schedule import Schedule
from tests.lowering.builds import builds, names_of, reference, run

RNG = np.random.default_rng(4)

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "variance": (lambda a: a.var(axis=0), (300, 520)),
    "standard deviation of an odd number": (lambda a: a.std(axis=0), (301, 67)),
    "softmax": (lambda a: np.exp(a - a.max(axis=0)) / np.exp(a - a.max(axis=0)).sum(axis=0), (70, 600)),
    "softmax of a middle axis": (lambda a: np.exp(a) / np.exp(a).sum(axis=1, keepdims=True), (3, 40, 300)),
    "logsumexp": (lambda a: np.log(np.exp(a - a.max(axis=0)).sum(axis=0)) + a.max(axis=0), (90, 1024)),
    "normalized over two axes": (lambda a: a - a.mean(axis=(0, 1)), (9, 8, 700)),
    "a long sum": (lambda a: a.sum(axis=0), (40_009, 7)),
    "greatest less least": (lambda a: a.max(axis=0) - a.min(axis=0), (50, 80)),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("numerics", ["exact", "default"])
def test_columns_of_programs(name: str, dtype: str, numerics: Any) -> None:
    function, shape = PROGRAMS[name]
    a = RNG.integers(-4, 5, shape).astype(dtype)
    found = eqsat.optimize(function, a, options=eqsat.Options(numerics=numerics))(a)
    np.testing.assert_allclose(found, function(a), rtol=1e-4 if dtype == "float32" else 1e-12, atol=1e-4 if dtype == "float32" else 1e-12)


def test_nothing_jumps_down_a_column() -> None:
    """The variance of columns is rows only: no fold is left that steps from row to row within one column."""
    result = eqsat.optimize(PROGRAMS["variance"][0], eqsat.spec((2048, 512), "float32"))
    for kernel in result.loops:
        assert not any(isinstance(stmt, Fold) for stmt in statements(kernel.body))


@pytest.mark.parametrize("blocks", [(1, 2, 1), (2, 2, 1), (3, 1, 1), (100, 3, 2)])
@settings(max_examples=60, deadline=None)
@given(build=builds())
def test_columns_of_random_builds(build: Build, blocks: tuple[int, int, int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in zip(("ENOUGH", "LEAST_BLOCK", "LEAST_HALF"), blocks, strict=True):
            patch.setattr(order, name, value)
        schedules = Schedules((build,), "k", names_of(build))
        for schedule, _ in list(schedules.kernels()):
            kernel = schedules.kernel(Schedule(schedule.nest, "columns"))
            if kernel is not None:
                check_kernel(hoist(kernel))
                assert any(isinstance(stmt, For) and stmt.kind == "serial" for stmt in statements(kernel.body)) or build.size == 0
                np.testing.assert_array_equal(run(hoist(kernel), build)[0], reference(build)[0])
