"""Products that conditions choose among, computed first: the same values, and nothing computed that no element needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import eqsat
from eqsat.ir.evaluate import evaluate_tensor
from eqsat.ir.index import Index, apply
from eqsat.ir.tensor import Build, Call, Input, Literal, Position, Read, Reduce, Scalar, axes, reduction
from eqsat.lowering.products.branches_first import LEAST_TERMS, branches_first
from tests.lowering.builds import inputs_of, reference

TERMS, ROWS, COLUMNS = LEAST_TERMS, 5, 6
K = reduction(0, TERMS)


def total(left: str, right: str, i: Index, j: Index, rows: int = ROWS, columns: int = COLUMNS) -> Reduce:
    a, b = Read(Input(left, (rows, TERMS), "int64"), (i, K)), Read(Input(right, (TERMS, columns), "int64"), (K, j))
    return Reduce("sum", K, Call("multiply", (a, b), "int64"))


def where(condition: Index, one: Scalar, other: Scalar) -> Call:
    return Call("where", (Position(condition, "bool"), one, other), "int64")


def joined(axis: int, first: int, second: int) -> Build:
    """One product behind another."""
    shape = (first + second, COLUMNS) if axis == 0 else (ROWS, first + second)
    i: Index
    j: Index
    i, j = axes(shape)
    v = (i, j)[axis]
    begin = apply("min", v, first - 1)
    first_i, first_j = (begin, j) if axis == 0 else (i, begin)
    one = total("a", "b", first_i, first_j, first if axis == 0 else ROWS, COLUMNS if axis == 0 else first)
    behind = apply("max", v, first) - first
    i, j = (behind, j) if axis == 0 else (i, behind)
    other = total("c", "d", i, j, second if axis == 0 else ROWS, COLUMNS if axis == 0 else second)
    return Build(shape, where(apply("lt", v, first), one, Call("negative", (other,), "int64")))


def stacked(axis: int) -> Build:
    """Two products of the same, with one function of both."""
    shape = tuple(np.insert((ROWS, COLUMNS), axis, 2).tolist())
    every = axes(shape)
    i, j = (v for k, v in enumerate(every) if k != axis)
    chosen = where(apply("eq", every[axis], 0), total("a", "b", i, j), total("a", "c", i, j))
    return Build(shape, Call("maximum", (chosen, Literal(0, "int64")), "int64"))


@pytest.mark.parametrize("axis", range(3))
def test_what_is_stacked_is_computed_once(axis: int) -> None:
    build = stacked(axis)
    found = branches_first(build)
    assert found is not None
    stages, whole = found
    assert [[made.shape for made in stage] for stage in stages] == [[(ROWS, COLUMNS)]] * 2
    np.testing.assert_array_equal(evaluate_tensor(whole, inputs_of(build)), reference(build)[0])


@given(st.integers(0, 1), st.integers(1, 5), st.integers(1, 5))
def test_what_is_joined_is_computed_where_it_is(axis: int, first: int, second: int) -> None:
    build = joined(axis, first, second)
    found = branches_first(build)
    assert found is not None
    stages, whole = found
    assert sorted(made.shape[axis] for (made,) in stages) == sorted((first, second))
    np.testing.assert_array_equal(evaluate_tensor(whole, inputs_of(build)), reference(build)[0])


def test_padding_is_not_computed() -> None:
    i, j = axes((ROWS + 3, COLUMNS))
    inside = apply("and", apply("ge", i, 2), apply("lt", i, ROWS + 2))
    build = Build(
        (ROWS + 3, COLUMNS), where(inside, total("a", "b", apply("min", apply("max", i - 2, 0), ROWS - 1), j), Literal(7, "int64"))
    )
    found = branches_first(build)
    assert found is not None
    (((made,),), whole) = found
    assert made.shape == (ROWS, COLUMNS)
    np.testing.assert_array_equal(evaluate_tensor(whole, inputs_of(build)), reference(build)[0])


def test_what_tiles_hold_and_short_folds_stay() -> None:
    i, j = axes((ROWS, COLUMNS))
    below = apply("ge", i, j)
    assert branches_first(Build((ROWS, COLUMNS), total("a", "b", i, j))) is None
    assert branches_first(Build((ROWS, COLUMNS), where(below, total("a", "b", i, j), Literal(0, "int64")))) is None
    short = Reduce("sum", reduction(0, 2), Read(Input("a", (ROWS, 2), "int64"), (i, reduction(0, 2))))
    assert branches_first(Build((ROWS, COLUMNS), where(below, short, short))) is None


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_stacked_products_are_products_in_tiles(axis: int) -> None:
    def program(a: Any, b: Any, c: Any) -> Any:
        return np.stack([a @ b, a @ c], axis)

    result = eqsat.optimize(program, *[eqsat.spec((128, 128), "float32")] * 3)
    assert len(result.loops) == (1, 2, 3)[axis]  # the fewest where they can be made in the rows of the result
    assert sum(str(kernel).count(" tile:") for kernel in result.loops) == 4
    arrays = [np.random.default_rng(k).standard_normal((128, 128), "float32") for k in range(3)]
    np.testing.assert_allclose(result(*arrays), program(*arrays), rtol=1e-4, atol=1e-4)
