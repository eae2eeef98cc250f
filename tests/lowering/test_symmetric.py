"""Symmetric products of which half is computed: the same values, and only where a product is symmetric."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.evaluate import evaluate_tensor
from eqsat.ir.index import Index
from eqsat.ir.tensor import Build, Call, Input, Literal, Read, Reduce, Scalar, axes, axis, reduction
from eqsat.lowering.products import symmetric
from eqsat.lowering.products.symmetric import in_triangle
from tests.effort import some
from tests.lowering.builds import inputs_of, reference

Array = np.ndarray[Any, np.dtype[Any]]
PROGRAMS: dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]] = {
    "columns": ((100, 256), lambda a: a.T @ a),
    "rows": ((300, 100), lambda a: a @ a.T),
    "scaled and shifted": ((300, 100), lambda a: (a * 2) @ (a * 2).T / 7 + np.arange(300, dtype="float32")),
    "covariance": ((100, 256), lambda a: (a - a.mean(axis=0)).T @ (a - a.mean(axis=0)) / 99),
    "squared distances": ((192, 80), lambda a: (a * a).sum(axis=1)[:, None] + (a * a).sum(axis=1) - 2 * a @ a.T),
    "a batch": ((2, 256, 100), lambda a: a @ np.swapaxes(a, -1, -2)),
    "strips that rows do not fill": ((100, 300), lambda a: a.T @ a),
    "einsum": ((100, 260), lambda a: enp.einsum("ki,kj->ij", a, a)),
}
K = reduction(0, 6)
ROW, COLUMN = axis(0, 12), axis(1, 12)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strips of few rows are large enough: two, three, and five, which do not divide their number."""
    for name, value in {"LINES": (16, 24, 40), "LEAST_TERMS": 2}.items():
        monkeypatch.setattr(symmetric, name, value)


def total(left: Scalar, right: Scalar) -> Scalar:
    return Reduce("sum", K, Call("multiply", (left, right), left.dtype))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("transposed", [False, True])
def test_blocks_hold_what_the_sum_does(transposed: bool) -> None:
    x = Input("x", (6, 12) if transposed else (12, 6), "int64")

    def read(row: Index) -> Scalar:
        return Read(x, (K, row) if transposed else (row, K))

    build = Build((12, 12), Call("negative", (total(read(ROW), read(COLUMN)),), "int64"))
    ways = list(in_triangle(build))
    assert [stages[0][0].shape for stages, _ in ways] == [(6, 6, 2), (4, 6, 3), (3, 6, 5)]
    for ((packed,), (made,)), whole in ways:
        rows = packed.shape[0] * packed.shape[-1]
        assert 2 * made.size <= rows * (rows + 2 * packed.shape[-1])
        np.testing.assert_array_equal(evaluate_tensor(whole, inputs_of(build)), reference(build)[0])


@pytest.mark.usefixtures("small")
def test_too_few_strips_are_not_worth_it() -> None:
    x = Input("x", (4, 6), "int64")
    row, column = axes((4, 4))
    ways = list(in_triangle(Build((4, 4), total(Read(x, (row, K)), Read(x, (column, K))))))
    assert not ways


@pytest.mark.usefixtures("small")
def test_what_is_not_symmetric_is_computed_whole() -> None:
    x, y = Input("x", (12, 6), "int64"), Input("y", (12, 6), "int64")
    row, column = Read(x, (ROW, K)), Read(x, (COLUMN, K))
    assert list(in_triangle(Build((12, 12), total(row, column))))
    assert list(in_triangle(Build((12, 12), total(column, row))))
    other = Read(y, (COLUMN, K))
    backward = Read(x, (COLUMN, 5 - K))
    both = Call("add", (row, column), "int64")
    ones = Literal(1, "int64")
    for left, right in ((row, other), (row, backward), (both, both), (row, row), (row, Call("multiply", (column, ones), "int64"))):
        assert not list(in_triangle(Build((12, 12), total(left, right))))
    assert not list(in_triangle(Build((12, 12), Reduce("prod", K, Call("multiply", (row, column), "int64")))))
    assert not list(in_triangle(Build((12, 11), total(row, Read(x, (axis(1, 11), K))))))


@pytest.mark.parametrize(("name", "dtype"), some(itertools.product(PROGRAMS, ["float32", "float64"])))
def test_programs_equal_numpy(name: str, dtype: str) -> None:
    shape, function = PROGRAMS[name]
    a = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    np.testing.assert_allclose(eqsat.jit(function)(a), function(a), rtol=tolerance, atol=tolerance * 10)


def test_a_large_product_is_computed_by_half_and_is_symmetric_to_the_last_bit() -> None:
    a = np.random.default_rng(0).standard_normal((500, 512)).astype("float32")
    result = eqsat.optimize(lambda a: a.T @ a, a)
    assert len(result.nests) == 3
    found = result(a)
    np.testing.assert_array_equal(found, found.T)
    assert len(eqsat.optimize(lambda a: a.T @ a, a, options=eqsat.Options(numerics="exact")).nests) == 1
