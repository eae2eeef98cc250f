"""Functions of folds behind these: the same values, in vectors, and not where elements share a fold or nothing is gained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.loops import Fold, For, Kernel, statements, values_of
from eqsat.ir.tensor import Build, Call, scalars
from eqsat.lowering.sharing.functions_last import functions_last

RNG = np.random.default_rng(3)
X, W, B = (RNG.standard_normal(shape).astype("f4") for shape in ((300, 96), (96,), (300,)))
PROGRAMS: dict[str, Callable[..., Any]] = {
    "a layer": lambda xp, x, w, b: xp.tanh(x @ w + b),
    "a logistic model": lambda xp, x, w, b: 1 / (1 + xp.exp(-(x @ w))),
    "logarithms of sums": lambda xp, x, w, b: xp.log(xp.sum(xp.exp(x), axis=1)),
    "two folds": lambda xp, x, w, b: xp.exp(xp.sum(x * x, axis=1) / 96) * xp.max(x, axis=1),
    "a kernel of distances": lambda xp, x, w, b: xp.exp(-xp.sum((x - w) ** 2, axis=1) / 96),
}


def mixed(kernel: Kernel) -> bool:
    """Whether a loop computes a function of a fold that it computes too."""
    loops = [stmt for stmt in statements(kernel.body) if isinstance(stmt, For) and any(isinstance(one, Fold) for one in stmt.body)]
    return any(isinstance(term, Call) and term.op in ("tanh", "log") for loop in loops for term in scalars(*values_of(loop.body)))


@pytest.mark.parametrize("numerics", ["default", "exact"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str, numerics: Any) -> None:
    function = PROGRAMS[name]
    result = eqsat.optimize(lambda *arrays: function(enp, *arrays), X, W, B, options=eqsat.Options(numerics=numerics))
    np.testing.assert_allclose(result(X, W, B), function(np, X, W, B), rtol=3e-5, atol=1e-6)
    assert numerics == "exact" or not any(map(mixed, result.loops))  # exact programs are not divided


@pytest.mark.parametrize("name", PROGRAMS)
def test_folds_come_first(name: str) -> None:
    (build,) = [
        one for one in eqsat.optimize(lambda *arrays: PROGRAMS[name](enp, *arrays), X, W, B).program.outputs if isinstance(one, Build)
    ]
    way = functions_last(build)
    assert way is not None
    stages, last = way
    assert all(fold.shape == build.shape for stage in stages for fold in stage)
    assert last.shape == build.shape


def test_not_where_nothing_is_gained() -> None:
    for function in (
        lambda x, w, b: x @ w + b,
        lambda x, w, b: enp.sqrt(enp.sum(x * x, axis=1)),
        lambda x, w, b: enp.tanh(x - enp.max(x, axis=1, keepdims=True)),
        lambda x, w, b: enp.sum(enp.tanh(x), axis=1),
        lambda x, w, b: enp.tanh(x[:9] @ w),
    ):
        for build in eqsat.optimize(function, X, W, B).program.outputs:
            assert not isinstance(build, Build) or functions_last(build) is None
