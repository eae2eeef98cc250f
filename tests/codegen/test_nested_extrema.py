"""Extrema of extrema: what LLVM may assume of the inner ones stays known to it, for it vectorizes others wrongly (LLVM 22).

An extremum that may be NaN becomes a loop that leaves for a second one where it meets NaN; a part of the elements is in neither, or LLVM
fails an assertion.  So no loop may reach the vectorizer with such.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.codegen.llvm.machine import host
from tests.effort import some

Function = Callable[[Any, Any], Any]
SHAPES = ((2, 11), (3, 7), (5, 9), (6, 23), (10, 10), (13, 17))
MASKED: dict[str, Function] = {
    "between two numbers": lambda np, x: np.min(np.where((x > 0) & (x < 2), x, np.inf)),
    "behind a column": lambda np, x: np.min(np.where((x > 0) & (np.arange(x.shape[1]) > 2), x, np.inf)),
    "turned": lambda np, x: np.max(np.where((np.abs(x) > 0.1) & (x * x < 2), x, -np.inf).T.reshape(-1)),
    "stable order": lambda np, x: np.argsort(x.T.reshape(-1), kind="stable")[:2],
    "without NaN": lambda np, x: np.nanmin(np.where((x > 0) & (x < 2), x, np.nan)),
    "fmin down columns": lambda np, x: np.fmin.reduce(np.where((x > -1) & (x < 2), x, np.nan), axis=0),
    "above the greatest of some": lambda np, x: x > np.max(np.where(x > 3, x, -np.inf)),
    "fmin": lambda np, x: np.fmin.reduce(np.where((x > -1) & (x < 2), x, np.nan), axis=None),
    "two of one mask": lambda np, x: (np.min(np.where((x > 0) & (x < 2), x, np.inf)), np.max(np.where((x > 0) & (x < 2), x, -np.inf))),
    "behind a step": lambda np, x: np.where(np.min(np.where((x > 0) & (x < 2), x, np.inf)) < 0.1, x * 2, x),
    "rows of rows": lambda np, x: np.min(np.min(np.where((x > 0) & (x < 2), x, np.inf), axis=1)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", MASKED)
def test_masked_extrema_look_at_every_element(name: str, dtype: str) -> None:
    function = MASKED[name]
    for shape in some(SHAPES, 3):
        plan = eqsat.optimize(lambda x: function(enp, x), eqsat.spec(shape, dtype)).compile()
        for seed in range(6):
            x = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
            for found, expected in zip(_each(plan(x)), _each(function(np, x)), strict=True):
                np.testing.assert_array_equal(found, expected)


def _each(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", MASKED)
def test_no_extremum_that_may_be_nan_reaches_the_vectorizer(name: str, dtype: str) -> None:
    function = MASKED[name]
    module = llvm.parse_assembly(eqsat.optimize(lambda x: function(enp, x), eqsat.spec((5, 11), dtype)).llvm_ir)
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_unrolling = False
    builder = llvm.create_pass_builder(host().machine, tuning)
    builder.getModulePassManager().run(module, builder)
    calls = re.findall(r"call ([^@]*)@llvm\.(?:min|max)num\.", str(module))
    assert all("nnan" in flags for flags in calls)
    # where each column is folded by itself no loop is left for the vectorizer: comparisons that know NaN
    assert bool(calls) == (name != "fmin down columns")
    if not calls:
        assert "fcmp uno" in str(module)
