"""What short rows share is repeated along them: the same values as the build, and where rows are long or share nothing, no such way."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.ir.index import Index
from eqsat.ir.tensor import Build, Call, Input, Literal, Read, Reduce, Scalar, axes, reduction
from eqsat.lowering.sharing.repeated import LONGEST, ROWS, SHORTEST
from tests.effort import examples, some
from tests.lowering.builds import check_offered, offered

Shape = tuple[int, ...]


def magnitude(x: Scalar) -> Scalar:
    """A function whose values are exact where those of x are integers."""
    return Call("sqrt", (Call("multiply", (x, x), x.dtype),), x.dtype)


def build(shape: Shape, dtype: str, *shared: Scalar) -> Build:
    """A function of elements, less what is shared, each term after the other."""
    body = magnitude(Read(Input("a", shape, dtype), axes(shape)))
    for term in shared:
        body = Call("subtract", (body, term), dtype)
    return Build(shape, body)


def of_rows(shape: Shape, dtype: str) -> Scalar:
    return Read(Input("s", shape[:-1], dtype), axes(shape)[:-1])


def of_columns(shape: Shape, dtype: str) -> Scalar:
    return Read(Input("w", shape[-1:], dtype), axes(shape)[-1:])


def of_a_row(shape: Shape, dtype: str) -> Scalar:
    r = reduction(0, shape[-1])
    return Reduce("max", r, Read(Input("a", shape, dtype), (*axes(shape)[:-1], r)))


def turned(shape: Shape, dtype: str) -> Scalar:
    return Read(Input("t", shape[::-1], dtype), axes(shape)[::-1])


def chosen(shape: Shape, dtype: str) -> Scalar:
    positive = Call("greater", (of_rows(shape, dtype), Literal(0.0, dtype)), "bool")
    return Call("where", (positive, of_rows(shape, dtype), magnitude(Read(Input("a", shape, dtype), axes(shape)))), dtype)


SHAPES: tuple[Shape, ...] = ((16, 5), (100, 5), (97, 7), (3, 40, 6), (2, 3, 33, 9), (200, 17), (35, 48), (16, 47), (1000, 12))


@pytest.mark.parametrize(
    ("shape", "dtype", "shared"),
    some(itertools.product(SHAPES, ["float32", "float64"], [of_rows, of_columns, of_a_row, turned, chosen]), 7),
)
def test_the_values_are_those_of_the_build(shape: Shape, dtype: str, shared: Callable[[Shape, str], Scalar]) -> None:
    if shape[-1] * np.dtype(dtype).itemsize % 64:
        check_offered(build(shape, dtype, shared(shape, dtype)), "repeated")


def test_several_terms_are_repeated() -> None:
    shape = (50, 11)
    check_offered(build(shape, "float32", of_rows(shape, "float32"), of_columns(shape, "float32"), of_a_row(shape, "float32")), "repeated")
    four = (of_rows(shape, "float32"), of_columns(shape, "float32"), of_a_row(shape, "float32"), turned(shape, "float32"))
    assert not offered(build(shape, "float32", *four), "repeated")


@pytest.mark.parametrize(
    "shape", [(100, SHORTEST - 1), (100, LONGEST + 1), (ROWS - 1, 7), (100, 16), (100, 32)], ids=["few", "many", "rows", "one", "two"]
)
def test_rows_that_are_long_few_or_whole_vectors_stay(shape: Shape) -> None:
    assert not offered(build(shape, "float32", of_rows(shape, "float32")), "repeated")


def test_what_needs_no_function_stays() -> None:
    """Writing what rows share would take as long as that."""
    shape = (100, 7)
    a = Read(Input("a", shape, "float32"), axes(shape))
    for op in ("subtract", "multiply", "divide"):
        assert not offered(Build(shape, Call(op, (a, of_rows(shape, "float32")), "float32")), "repeated")
    assert not offered(build(shape, "float32"), "repeated")


def test_what_folds_are_of_is_not_repeated_outside_of_them() -> None:
    """A fold over products of rows and a table is computed for each element, and what stands around it in one loop."""
    shape = (50, 7)
    (i, j), r = axes(shape), reduction(0, 3)
    y, w = Read(Input("y", (3, 50, 7), "float32"), (r, i, j)), Read(Input("w", (50, 3), "float32"), (i, r))
    check_offered(build(shape, "float32", Reduce("sum", r, Call("multiply", (y, w), "float32"))), "repeated")


def test_places_that_are_given_as_rows_are_taken() -> None:
    """Several results of which none loads anything."""
    x, places = np.arange(2.0 * 20 * 7).reshape(2, 20, 7), np.zeros(40, "int64")
    found = eqsat.jit(lambda x, places: enp.roll(x, (1, 1), axis=(1, 2))[places])(x, places)
    np.testing.assert_array_equal(found, np.roll(x, (1, 1), axis=(1, 2))[places])


def test_elements_apart_in_memory_stay() -> None:
    shape = (100, 7)
    i, j = axes(shape)
    places: tuple[tuple[Index, Index], ...] = ((i, 2 * j), (i * 2, j), (i, 12 - j))
    for place in places:
        apart = magnitude(Read(Input("a", (200, 13), "float32"), place))
        assert not offered(Build(shape, Call("subtract", (apart, of_rows(shape, "float32")), "float32")), "repeated")


FUNCTIONS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "scaled": lambda np, x, s, w: np.exp(x * s[..., None]),
    "shifted both ways": lambda np, x, s, w: np.tanh(x + s[..., None] - w),
    "chosen": lambda np, x, s, w: np.where(s[..., None] > 0, np.exp(x), w),
    "less its greatest": lambda np, x, s, w: np.exp(x - np.max(x, axis=-1, keepdims=True)),
    "a quotient": lambda np, x, s, w: s[..., None] / (1 + np.abs(x)),
    "rooted": lambda np, x, s, w: np.sqrt(np.abs(x)) * s[..., None] + w,
    "two results": lambda np, x, s, w: (np.sin(x) + s[..., None], np.sin(x) * w),
    "in place": lambda np, x, s, w: np.log1p(np.abs(np.exp(x - s[..., None]).sum(axis=-1, keepdims=True) * x)) + s[..., None],
}


@settings(max_examples=examples(40), deadline=None, derandomize=True, database=None)
@given(
    st.sampled_from(sorted(FUNCTIONS)),
    st.sampled_from(["float32", "float64", "int16"]),
    st.lists(st.integers(1, 60), min_size=1, max_size=2),
    st.integers(SHORTEST, LONGEST),
    st.sampled_from(["default", "exact", "fast"]),
)
def test_functions_of_short_rows_are_those_of_numpy(name: str, dtype: str, outer: list[int], extent: int, numerics: Any) -> None:
    rng, function = np.random.default_rng(extent), FUNCTIONS[name]
    x, s, w = (rng.uniform(-2, 2, shape).astype(dtype) for shape in ((*outer, extent), tuple(outer), (extent,)))
    found = eqsat.optimize(lambda *a: function(enp, *a), x, s, w, options=eqsat.Options(numerics=numerics))(x, s, w)
    expected = function(np, x, s, w)
    for one, other in zip(*((value if isinstance(value, tuple) else (value,)) for value in (found, expected)), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-5 if one.dtype == np.float32 else 1e-12, atol=1e-6 if one.dtype == np.float32 else 0)


def test_functions_of_short_rows_are_computed_so() -> None:
    result = eqsat.optimize(lambda x, s: enp.tanh(x + s[:, None]), eqsat.spec((40_000, 6), "float32"), eqsat.spec((40_000,), "float32"))
    assert [buffer.role for buffer in result.loops[0].scratch] == ["scratch"]
