"""The reference interpreter against NumPy and Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from eqsat.ir.errors import BoundsError, UsageError
from eqsat.ir.evaluate import evaluate, evaluate_index, evaluate_tensor
from eqsat.ir.index import Index, apply, maximum, minimum, var, variables, where
from eqsat.ir.tensor import (
    Arg,
    Build,
    Call,
    Constant,
    Gather,
    Generic,
    Input,
    Literal,
    Position,
    Program,
    Read,
    Reduce,
    Scalar,
    axes,
    axis,
    reduction,
)

X = Input("x", (3, 4), "float32")
ARRAY = np.arange(12, dtype=np.float32).reshape(3, 4) / 8
I0, I1, R = axis(0, 3), axis(1, 4), reduction(0, 4)

A, B = var("a", -7, 7), var("b", -7, 7)


def indices() -> st.SearchStrategy[Index]:
    leaves = st.one_of(st.sampled_from([A, B]), st.integers(-5, 5).map(lambda value: apply("add", value, 0)))

    def extend(inner: st.SearchStrategy[Index]) -> st.SearchStrategy[Index]:
        return st.one_of(
            st.tuples(st.sampled_from(["add", "sub", "mul", "min", "max", "bitand", "bitor", "bitxor"]), inner, inner).map(
                lambda parts: apply(*parts)
            ),
            st.tuples(st.sampled_from(["floordiv", "mod"]), inner, st.sampled_from([-3, 2, 5])).map(lambda parts: apply(*parts)),
            st.tuples(inner, inner, inner, inner).map(lambda p: where(p[0] < p[1], abs(p[2]), -p[3])),
        )

    return st.recursive(leaves, extend, max_leaves=8)


@given(indices())
def test_an_index_on_grids_is_python_at_every_point(term: Index) -> None:
    low, high = term.bounds
    a, b = np.meshgrid(np.arange(-7, 8, 2), np.arange(-7, 8, 3), indexing="ij")
    grid = np.broadcast_to(evaluate_index(term, {A: a, B: b}), a.shape)
    names: dict[str, Any] = {"where": lambda c, x, y: x if c else y, "min": min, "max": max, "abs": abs}
    for x, y, found in zip(a.ravel(), b.ravel(), grid.ravel(), strict=True):
        expected = eval(str(term), names, {"a": int(x), "b": int(y)})
        assert evaluate_index(term, {A: int(x), B: int(y)}) == expected == found
        assert low <= found <= high


def test_division_and_remainder_are_floored() -> None:
    assert evaluate_index(A // 2, {A: -7}) == -4
    assert evaluate_index(A % -3, {A: 7}) == -2
    assert evaluate_index(minimum(A, 3) + maximum(A, 3), {A: np.array([-1, 5])}).tolist() == [2, 8]


def test_a_variable_without_a_value_is_named() -> None:
    with pytest.raises(UsageError, match="no value for the variable b"):
        evaluate_index(A + B, {A: 1})
    assert variables(A + B) == (A, B)


def value_of(tensor: Any) -> np.ndarray[Any, Any]:
    return evaluate_tensor(tensor, {X: ARRAY})


def test_reading_a_reversed_view_equals_numpy() -> None:
    assert np.array_equal(value_of(Build((3, 4), Read(X, (2 - I0, 3 - I1)))), ARRAY[::-1, ::-1])


def test_a_fold_keeps_the_dtype_of_its_body() -> None:
    total = value_of(Build((3,), Reduce("sum", R, Read(X, (I0, R)))))
    assert total.dtype == np.float32
    assert np.array_equal(total, ARRAY.sum(axis=1))
    big = np.full((3, 4), 2**24, np.float32) + np.array([0, 1, 0, 1], np.float32)
    assert evaluate_tensor(Build((3,), Reduce("sum", R, Read(X, (I0, R)))), {X: big})[0] == big[0].sum(dtype=np.float32)
    ones = Build((2,), Reduce("sum", reduction(0, 2), Literal(2**30, "int32")))
    assert value_of(ones).tolist() == [-(2**31)] * 2


def test_nested_folds_and_a_body_without_their_variable_equal_numpy() -> None:
    r, s = reduction(0, 3), reduction(1, 4)
    assert np.isclose(value_of(Build((), Reduce("sum", r, Reduce("max", s, Read(X, (r, s)))))), ARRAY.max(axis=1).sum())
    assert np.array_equal(value_of(Build((3,), Reduce("sum", R, Read(X, (I0, I0))))), 4 * ARRAY.diagonal())


def test_a_generic_means_its_build() -> None:
    square = Call("multiply", (Arg(0, "float32"), Arg(0, "float32")), "float32")
    generic = Generic((("reduction", 3), ("parallel", 4)), ((reduction(0, 3), axis(0, 4)),), (X,), square, "sum")
    assert np.allclose(value_of(generic), (ARRAY * ARRAY).sum(axis=0))


def test_a_position_is_its_index_in_its_dtype() -> None:
    flat, diagonal = Position(I0 * 4 - I1, "int32"), Position(apply("eq", I0, I1), "bool")
    rows, columns = np.indices((3, 4))
    for position, expected in ((flat, rows * 4 - columns), (diagonal, rows == columns)):
        found = value_of(Build((3, 4), position))
        assert found.dtype == position.dtype
        assert np.array_equal(found, expected)
    assert value_of(Build((2,), Position(apply("add", 2**40, 0), "int64"))).tolist() == [2**40] * 2
    masked = Call("where", (diagonal, Read(X, (I0, I1)), Literal(0.0, "float32")), "float32")
    assert np.array_equal(value_of(Build((3, 4), masked)), ARRAY * np.eye(3, 4, dtype=np.float32))


def test_positions_in_folds_and_blocks_are_those_of_the_iteration() -> None:
    assert value_of(Build((3,), Reduce("sum", R, Position(I0 * R, "int64")))).tolist() == [0, 6, 12]
    block = Call("multiply", (Arg(0, "float32"), Call("astype", (Position(R, "int64"),), "float32")), "float32")
    weighted = Generic((("parallel", 3), ("reduction", 4)), ((I0, R),), (X,), block, "sum")
    assert np.allclose(value_of(weighted), (ARRAY * np.arange(4)).sum(axis=1))


PLACES = np.array([-(2**63), -1, 0, 2, 3, 2**63 - 1])
CLIPPED = [0, 0, 0, 2, 2, 2]
P = Input("p", (6,), "int64")


def test_a_gather_clips_every_place_to_its_dimension() -> None:
    place = Read(P, (axis(0, 6),))
    rows = Build((6, 4), Gather(X, (place, Position(I1, "int64"))))
    assert np.array_equal(evaluate_tensor(rows, {X: ARRAY, P: PLACES}), ARRAY[CLIPPED])
    both = Build((6,), Gather(X, (place, place)))
    assert np.array_equal(evaluate_tensor(both, {X: ARRAY, P: PLACES}), ARRAY[CLIPPED, [0, 0, 0, 2, 3, 3]])
    at_both_ends = Build((), Gather(X, (Literal(-1, "int64"), Literal(4, "int64"))))
    assert value_of(at_both_ends) == ARRAY[0, 3]


def test_gathers_within_folds_and_gathers_equal_numpy() -> None:
    inner = Gather(P, (Read(P, (axis(0, 6),)),))
    assert evaluate_tensor(Build((6,), inner), {P: PLACES}).tolist() == PLACES[np.clip(PLACES, 0, 5)].tolist()
    total = Reduce("sum", R, Gather(X, (Read(P, (axis(0, 6),)), Position(3 - R, "int64"))))
    assert np.allclose(evaluate_tensor(Build((6,), total), {X: ARRAY, P: PLACES}), ARRAY[CLIPPED].sum(axis=1))
    scaled = Build((3, 4), Call("negative", (Read(X, (I0, I1)),), "float32"))
    of_computed = Build((6,), Gather(scaled, (Read(P, (axis(0, 6),)), Literal(1, "int64"))))
    assert np.array_equal(evaluate_tensor(of_computed, {X: ARRAY, P: PLACES}), -ARRAY[CLIPPED, 1])


def test_a_call_without_variables_fills_the_shape() -> None:
    assert value_of(Build((2, 2), Literal(True, "bool"))).tolist() == [[True, True], [True, True]]
    assert value_of(Build((), Literal(2.5, "float32"))).dtype == np.float32


def test_shared_work_is_evaluated_once() -> None:
    body: Scalar = Read(X, (I0, I1))
    for _ in range(100):
        body = Call("maximum", (body, body), "float32")
    tensor: Build = Build((3, 4), body)
    for _ in range(100):
        read = Read(tensor, axes((3, 4)))
        tensor = Build((3, 4), Call("minimum", (read, read), "float32"))
    assert np.array_equal(value_of(tensor), ARRAY)


def test_outputs_come_in_order_and_constants_hold_their_data() -> None:
    constant = Constant(np.array([1, 2]))
    first, second = evaluate(Program((X,), (constant, X)), [ARRAY])
    assert first.tolist() == [1, 2]
    assert np.array_equal(second, ARRAY)


def test_a_read_out_of_range_is_reported_and_never_wraps() -> None:
    with pytest.raises(BoundsError, match=r"i0 - 1 = -1\.\.1, expected 0\.\.2"):
        value_of(Build((3,), Read(X, (I0 - 1, I0))))


@pytest.mark.parametrize(
    ("arrays", "words"),
    [([], "found 0 arrays, expected 1"), ([ARRAY[:2]], r"float32\[2, 4\], expected float32\[3, 4\]"), ([ARRAY.astype(int)], "int64")],
)
def test_arrays_must_fit_the_inputs(arrays: list[np.ndarray[Any, Any]], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        evaluate(Program((X,), (X,)), arrays)


def test_an_input_without_an_array_is_named() -> None:
    with pytest.raises(UsageError, match="no array for the input x"):
        evaluate_tensor(X, {})
