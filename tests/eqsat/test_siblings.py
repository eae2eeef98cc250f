"""Kernels with several results: what has a shape and an array in common is computed together where that is cheaper."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp

Array = np.ndarray[Any, Any]
X = np.random.default_rng(0).uniform(-1, 1, (64, 96)).astype("float32")

# name -> function, kernels
CASES: dict[str, tuple[Any, int]] = {
    "statistics of rows": (lambda x: (x.sum(axis=1), x.max(axis=1), x.min(axis=1)), 1),
    "elementwise": (lambda x: (x + 1.0, x * 2.0, enp.exp(x)), 1),
    "one shape, nothing in common": (lambda x: (x[:32] + 1.0, x[32:] * 2.0), 1),
    "two shapes": (lambda x: (x.sum(axis=1), x.sum(axis=0)), 2),
    "mixed dtypes": (lambda x: (x > 0.0, x.astype("float64") * 2.0, x), 1),
    "one made of the other": (lambda x: (x.sum(axis=1), enp.exp(x.sum(axis=1)).max()), 2),
}


@pytest.mark.parametrize("name", CASES)
def test_siblings_are_computed_together(name: str) -> None:
    function, kernels = CASES[name]
    plan = eqsat.optimize(function, X).compile()
    assert len(plan.kernels) == kernels
    for found, expected in zip(plan(X), function(X), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        assert not np.shares_memory(found, X)


def test_kernels_tell_what_they_read_and_write() -> None:
    plan = eqsat.optimize(CASES["statistics of rows"][0], X).compile()
    (kernel,) = plan.kernels
    assert (len(kernel.read), len(kernel.written), kernel.results) == (1, 3, 3)
    assert [plan.buffers[slot].role for slot in kernel.buffers] == ["input", "output", "output", "output"]


def test_products_stay_apart_where_together_they_are_slower() -> None:
    options = eqsat.Options(target=replace(eqsat.DEFAULT_TARGET, threads=1))
    result = eqsat.optimize(lambda x, a, b: (x @ a, x @ b), *(eqsat.spec((256, 256), "float32") for _ in range(3)), options=options)
    assert len(result.nests) == 2


def test_results_go_where_the_caller_says() -> None:
    function = CASES["elementwise"][0]
    plan = eqsat.optimize(function, X).compile()
    out = [np.empty_like(X) for _ in range(3)]
    found = plan(X, out=out)
    for one, given, expected in zip(found, out, function(X), strict=True):
        assert one is given
        np.testing.assert_allclose(given, expected, rtol=1e-6)


def test_results_wait_for_what_they_read() -> None:
    """Both results read the product and the sum: neither kernel may run before these."""

    def function(x: Any) -> Any:
        product = x @ x.T
        total = enp.tanh(product).sum(axis=0)
        return (product * total, product + total)

    np.testing.assert_allclose(eqsat.optimize(function, X)(X)[0], function(X)[0], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(eqsat.optimize(function, X)(X)[1], function(X)[1], rtol=1e-3, atol=1e-3)
