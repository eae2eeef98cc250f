"""Tensors that are compared with what is made of them are computed once: places of extrema are those of the values."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat import Options, optimize, spec, trace
from eqsat.capture.compared import compared_with_itself
from eqsat.ir.tensor import Build, tensors
from eqsat.ir.text import tensor_names
from eqsat.options import Numerics
from eqsat.testing import random_arrays
from tests.effort import some

MATRICES = spec((100, 8), "float32"), spec((8, 5), "float32")


def nearest(points: Any, centres: Any) -> Any:
    return np.sum((points[:, None, :] - np.transpose(centres)[None]) ** 2, axis=-1).argmin(1)


def best_of_product(a: Any, b: Any) -> Any:
    return np.argmax(a @ b, axis=1)


def is_greatest(a: Any, b: Any) -> Any:
    y = a @ b
    return y == np.max(y, axis=1, keepdims=True)


def rank(a: Any, b: Any) -> Any:
    y = np.sum(a @ b, axis=1)
    return np.sum(y[:, None] < y[None, :], axis=1)


def clipped(a: Any, b: Any) -> Any:
    y = a @ b
    return np.minimum(y, 1.0).T == np.abs(y).T


def steps(a: Any, b: Any) -> Any:
    return eqsat.fori(3, lambda k, labels: labels + best_of_product(a, b), np.zeros(100, np.int64))


COMPARED = [nearest, best_of_product, is_greatest, rank, clipped, steps]


@pytest.mark.parametrize(("function", "numerics"), some(itertools.product(COMPARED, ["exact", "default", "fast"]), 2))
def test_places_of_extrema_are_those_of_the_values(function: Callable[..., Any], numerics: Numerics) -> None:
    for size in some([3, 5, 8, 17]):
        specs = spec((100, size), "float32"), spec((size, 5), "float32")
        result = optimize(function, *specs, options=Options(numerics=numerics))
        arrays = [array + np.arange(array.size, dtype=np.float32).reshape(array.shape) / 97 for array in random_arrays(result.original)]
        assert np.mean(result.compile()(*arrays) != function(*arrays)) < 0.01  # what nearly ties may be rounded either way


def kept(function: Callable[..., Any], *specs: Any, numerics: Numerics = "default") -> list[str]:
    program = trace(function, *specs)
    names = tensor_names(*program.inputs, *program.outputs)
    return [names[tensor] for tensor in compared_with_itself(program, numerics)]


def test_what_is_compared_with_its_extremum_is_kept() -> None:
    assert kept(lambda a, b: np.argmax(a @ b, axis=1), *MATRICES) == ["t0"]
    assert kept(lambda a: np.argmax(np.exp(a).T, axis=0), MATRICES[0]) == ["t0"]
    assert kept(rank, *MATRICES) == ["t1"]


def test_nothing_is_kept_where_computing_again_gives_the_same() -> None:
    assert not kept(lambda a: np.argmax(a, axis=1), MATRICES[0])
    assert not kept(lambda a: np.argmax(a * 3, axis=1), MATRICES[0])
    assert not kept(lambda a, b: np.argmax((a @ b).astype(np.int64) * 3 + 1, axis=1), *MATRICES)
    assert not kept(best_of_product, *MATRICES, numerics="exact")
    assert kept(lambda a: np.argmax(a / 3, axis=1), MATRICES[0], numerics="fast") == ["t0"]


def test_nothing_is_kept_for_other_comparisons() -> None:
    assert not kept(lambda a, b: np.where(a @ b > 0, a @ b, 0), *MATRICES)
    assert not kept(lambda a, b: np.isnan(a @ b) | (a @ b != a @ b), *MATRICES)
    assert not kept(lambda a: np.exp(a * 2 + 1 - np.max(a * 2 + 1, axis=1, keepdims=True)), MATRICES[0])
    assert not kept(lambda a, b: a @ b > np.exp(a) @ b, *MATRICES)


def test_the_program_stores_it_and_steps_lead_there() -> None:
    result = optimize(nearest, *MATRICES)
    built = [tensor for tensor in tensors(*result.program.outputs) if isinstance(tensor, Build)]
    assert [tensor.shape for tensor in built] == [(100, 5), (100,)]
    assert all(step.traced and step.certificate for step in result.steps)
    assert result.steps[-1].program.outputs == result.program.outputs
    assert "kept" not in result.explain()
    for other in result.alternatives(3):
        assert (100, 5) in [tensor.shape for tensor in tensors(*other.program.outputs) if isinstance(tensor, Build)]


def test_it_may_read_and_be_read_by_steps_and_gathers() -> None:
    def function(a: Any, b: Any, k: Any) -> Any:
        y = (a @ b)[k]
        order = np.sort(y, axis=1)
        z = order * 1.5 - y
        return z.argmax(1), order, np.cumsum(z.argmin(1))

    specs = (*MATRICES, spec((30,), "int64"))
    compiled = eqsat.jit(function)
    rng = np.random.default_rng(3)
    arrays = rng.normal(size=(100, 8)).astype("f4"), rng.normal(size=(8, 5)).astype("f4"), rng.integers(-100, 100, 30)
    for found, expected in zip(compiled(*arrays), function(*arrays), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert len(optimize(function, *specs).steps) > 0
    with pytest.raises(IndexError):
        compiled(*arrays[:2], np.full(30, 100))


def test_sizes_may_be_open() -> None:
    n = eqsat.dim("n", 1, 4000)
    result = optimize(nearest, spec((n, 8), "float32"), MATRICES[1])
    rng = np.random.default_rng(4)
    for count in (1, 7, 100):
        points, centres = rng.normal(size=(count, 8)).astype("f4"), rng.normal(size=(8, 5)).astype("f4")
        np.testing.assert_array_equal(result.compile()(points, centres), nearest(points, centres))
