"""Which tensors are computed where they are read without trying: each of their elements is needed once."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.extraction.needed_once import needed_once
from eqsat.ir.generics import as_builds
from eqsat.ir.tensor import Build, tensors

A = np.random.default_rng(0).standard_normal((6, 5))

# function -> how many of the tensors that it makes are needed once
CASES: dict[str, tuple[Callable[..., Any], int]] = {
    "a chain": (lambda a: enp.exp(-a) + 1, 2),
    "read twice at one place": (lambda a: (t := enp.exp(a)) * t + 1, 2),
    "read by two at one place": (lambda a: enp.exp(t := -a) + t * 2, 3),
    "a result": (lambda a: (t := enp.exp(a), t + 1), 0),
    "shifted": (lambda a: (t := enp.exp(a))[1:] + t[:-1], 2),
    "transposed": (lambda a: enp.exp(a).T + 1, 1),
    "broadcast": (lambda a: enp.exp(a[0]) + a, 1),
    "summed": (lambda a: enp.exp(-a).sum(axis=1), 2),
    "summed along the first axis": (lambda a: enp.exp(-a).sum(axis=0), 1),
    "summed twice": (lambda a: (t := enp.exp(a)).sum(axis=1) + t.max(axis=1), 2),
    "summed and read": (lambda a: (t := enp.exp(a)) / t.sum(axis=1, keepdims=True), 0),
    "gathered and summed": (lambda a: (enp.take(t := enp.exp(a), a[0].astype(int) % 5, axis=1), t.sum(axis=1)), 2),
    "multiplied": (lambda a: enp.exp(a) @ a.T, 0),
    "summed and gathered from": (lambda a: ((t := enp.exp(a)).sum(axis=1), t[a[:3, 0].astype(int)]), 1),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_needed_once(name: str) -> None:
    function, count = CASES[name]
    outputs = as_builds(eqsat.trace(function, A)).outputs
    found = needed_once(outputs)
    assert all(isinstance(tensor, Build) and tensor not in outputs for tensor in found)
    assert len(found) == count, [str(tensor) for tensor in tensors(*outputs)]


def test_what_is_gathered_from_and_read_once_more_does_not_end_the_search() -> None:
    def rows(a: Any, places: Any) -> Any:
        taken = enp.take(a, places, axis=0)
        return enp.take(taken, places, axis=1) * 2, taken.mean(axis=1)

    places = np.array([0, 3, 1, 4])
    result = eqsat.optimize(rows, A, places)
    assert len(result.nests) == 4  # the rows, the two results, and the least and greatest places
    for found, expected in zip(result(A, places), rows(A, places), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_long_chain_is_optimized_in_a_moment() -> None:
    def steps(a: Any) -> Any:
        for k in range(150):
            a = a * 0.5 + enp.tanh(a) * k
        return a

    start = time.process_time()
    result = eqsat.optimize(steps, A)
    assert len(result.nests) == 1
    assert time.process_time() - start < 10
    np.testing.assert_allclose(result(A), steps(A), rtol=1e-9)


def test_kernels_may_wait_for_each_other_in_long_rows() -> None:
    def steps(a: Any) -> Any:
        for k in range(120):  # no step is like another one
            a = a @ (a / 8).T @ a / (50 + k / 128)
        return a

    result = eqsat.optimize(eqsat.trace(steps, A), options=eqsat.Options(rules=()))
    assert len(result.nests) > 200
    np.testing.assert_allclose(result(A), steps(A), rtol=1e-6, atol=1e-300)
