"""Windows that step along lines, folded line by line: the values of the interpreter, whatever the lines, the windows and what is around."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.index import Index, apply
from eqsat.ir.tensor import Build, Call, Input, Literal, Position, Read, Reduce, Scalar, axes, reduction
from eqsat.lowering.folds import pooled as module
from eqsat.lowering.folds.pooled import ELEMENTS
from tests.effort import some
from tests.lowering.builds import check_offered, offered, reference, run

Function = Callable[..., Any]


def windows(
    rows: int,
    count: int,
    step: int,
    reach: int,
    op: str = "max",
    dtype: str = "float32",
    of: Function = lambda element: element,
    name: str = "x",
) -> Build:
    """Layers of rows of windows of `reach` by `reach`, `step` from each other both ways, folded."""
    x = Input(name, (2, (rows - 1) * step + reach, (count - 1) * step + reach), dtype)
    layer, i, j = axes((2, rows, count))
    r0, r1 = reduction(0, reach), reduction(1, reach)
    element = of(Read(x, (layer, i * step + r0, j * step + r1)))
    return Build((2, rows, count), Reduce(op, r0, Reduce(op, r1, element)))


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short lines are divided, and few of them are a block."""
    monkeypatch.setattr(module, "ELEMENTS", 24)


SIZES = list(itertools.product([(1, 4), (5, 7), (4, 16)], [(2, 2), (2, 3), (3, 3), (3, 2), (4, 4), (2, 5)]))


@pytest.mark.parametrize(("dtype", "size"), some(itertools.product(["float32", "float64", "int64", "uint8", "int32"], SIZES), 11))
def test_windows_equal_the_interpreter(dtype: str, size: tuple[tuple[int, int], tuple[int, int]]) -> None:
    (rows, count), (step, reach) = size
    for op in ("max", "min", "sum") if dtype != "uint8" else ("max", "min"):
        check_offered(windows(rows, count, step, reach, op, dtype), "pooled")


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(("step", "reach"), [(2, 2), (2, 3), (4, 4)])
@pytest.mark.parametrize(("rows", "count"), [(1, 13), (5, 7), (7, 3)])
def test_lines_are_divided(rows: int, count: int, step: int, reach: int) -> None:
    """The last part of lines, and the last block of them, end where the axis ends."""
    check_offered(windows(rows, count, step, reach), "pooled")


def test_long_lines_are_divided() -> None:
    check_offered(windows(2, ELEMENTS // 2 + 3, 2, 2), "pooled")


def test_functions_of_elements_and_of_folds() -> None:
    square = windows(4, 6, 2, 2, "sum", "int64", lambda element: Call("multiply", (element, element), "int64"))
    mean = Call("floor_divide", (square.body, Literal(4, "int64")), "int64")
    other = windows(4, 6, 2, 3, "max", "int64", name="y")
    check_offered(Build(square.shape, Call("subtract", (mean, other.body), "int64")), "pooled")


def test_conditions_along_lines() -> None:
    """What is around an image, as a condition on the place in a line and on the line."""
    x = Input("x", (8, 10), "float32")
    i, j = axes((4, 5))
    r0, r1 = reduction(0, 3), reduction(1, 3)
    row, column = i * 2 + r0 - 1, j * 2 + r1 - 1

    def within(index: Index, extent: int) -> Index:
        return apply("min", apply("max", index, 0), extent - 1)

    inside: Scalar = Position(apply("and", row >= 0, column >= 0), "bool")
    element = Call("where", (inside, Read(x, (within(row, 8), within(column, 10))), Literal(-99.0, "float32")), "float32")
    check_offered(Build((4, 5), Reduce("max", r0, Reduce("max", r1, element))), "pooled")
    i, j = axes((3, 4))
    plain = Read(x, (i * 2 + r0, j * 2 + r1))
    edge: Scalar = Position(apply("and", i * 2 + r0 >= 1, j * 2 + r1 >= 1), "bool")
    check_offered(
        Build((3, 4), Reduce("max", r0, Reduce("max", r1, Call("where", (edge, plain, Literal(-99.0, "float32")), "float32")))), "pooled"
    )


@pytest.mark.parametrize("step", [2, 3])
@pytest.mark.parametrize("reach", [2, 3, 5])
@pytest.mark.parametrize("shape", [(2, 7, 9), (1, 12, 31), (3, 4, 40)])
def test_windows_of_a_padded_array_read_it_once(shape: tuple[int, ...], reach: int, step: int) -> None:
    """What is around it is no array of its own, but for long windows of arrays so small that making it costs less."""
    x = np.random.default_rng(0).normal(size=shape).astype("float32")

    def largest(x: Any) -> Any:
        padded = enp.pad(x, ((0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
        return enp.lib.stride_tricks.sliding_window_view(padded, (reach, reach), axis=(1, 2))[:, ::step, ::step].max((3, 4))

    expected = np.pad(x, ((0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    expected = np.lib.stride_tricks.sliding_window_view(expected, (reach, reach), axis=(1, 2))[:, ::step, ::step].max((3, 4))
    found = eqsat.optimize(largest, x)
    assert np.array_equal(found(x), expected)
    assert reach == 5 or len([buffer for loops in found.loops for buffer in loops.buffers if buffer.role == "in"]) == 1


@pytest.mark.parametrize("shape", [(9, 12), (17, 26), (24, 64)])
@pytest.mark.parametrize(("reach", "step"), [(3, 2), (5, 2), (4, 3)])
def test_windows_in_one_fold_divide_within_clamps(reach: int, step: int, shape: tuple[int, int]) -> None:
    """Rows of a window are quotients of its number there, inside of what repeats edges: none is left when a place goes along a line."""
    x = np.random.default_rng(0).integers(-9, 10, shape).astype("float32")

    def stacked(xp: Any, x: Any) -> Any:
        p = xp.pad(x, ((1, 1), (1, 1)), mode="edge")
        n, m = ((extent - reach) // step * step + 1 for extent in p.shape)
        return xp.stack([p[i : i + n : step, j : j + m : step] for i in range(reach) for j in range(reach)]).max(axis=0)

    def flat(xp: Any, x: Any) -> Any:
        p = xp.pad(x, ((1, 1), (1, 1)), mode="edge")
        windows = xp.lib.stride_tricks.sliding_window_view(p, (reach, reach))[::step, ::step]
        return windows.reshape(*windows.shape[:2], reach * reach).sum(2)

    for function in (stacked, flat):
        assert np.array_equal(eqsat.jit(partial(function, enp))(x), function(np, x))


def test_conditions_that_are_not_linear_are_left() -> None:
    x = Input("x", (9, 64), "int32")
    i, j = axes((4, 20))
    r0, r1 = reduction(0, 2), reduction(1, 3)
    for condition in (apply("le", apply("mul", j, j), 50), apply("lt", (j * 2 + r1) % 50, 40), apply("eq", j % 2, 0)):
        element = Call("where", (Position(condition, "bool"), Read(x, (i * 2 + r0, j * 2 + r1)), Literal(-9, "int32")), "int32")
        build = Build((4, 20), Reduce("max", r0, Reduce("max", r1, element)))
        for kernel in offered(build, "pooled"):
            assert np.array_equal(run(kernel, build)[0], reference(build)[0])


@pytest.mark.parametrize("seed", range(6))
def test_random_conditions_of_windows_equal_the_interpreter(seed: int) -> None:
    """Comparisons of any multiples of window and place in it: as conditions on the place in a line, where they are such."""
    random = np.random.default_rng(seed)
    x = Input("x", (9, 30), "int32")
    for _ in range(12):
        step, reach, count = (int(random.integers(low, high)) for low, high in ((2, 5), (2, 5), (3, 8)))
        i, j = axes((4, count))
        r0, r1 = reduction(0, 2), reduction(1, reach)
        some_sum = j * int(random.integers(-3, 4)) + r1 * int(random.integers(-2, 3)) + int(random.integers(-9, 10))
        condition = apply(str(random.choice(["lt", "ge", "le", "gt", "eq", "ne"])), some_sum, 0)
        element = Call(
            "where", (Position(condition, "bool"), Read(x, (i * 2 + r0, apply("min", j * step + r1, 29))), Literal(-9, "int32")), "int32"
        )
        build = Build((4, count), Reduce("max", r0, Reduce("max", r1, element)))
        for kernel in offered(build, "pooled"):
            assert np.array_equal(run(kernel, build)[0], reference(build)[0])


def test_folds_of_windows_stay_where_they_are() -> None:
    """What another fold is of has a value for each of its terms."""
    x = Input("x", (4, 9, 12), "int64")
    i, j = axes((4, 6))
    layer, r0, r1 = reduction(0, 4), reduction(1, 2), reduction(2, 2)
    window = Reduce("sum", r0, Reduce("sum", r1, Read(x, (layer, i * 2 + r0, j * 2 + r1))))
    several = Reduce("max", layer, Call("multiply", (window, window), "int64"))
    assert not offered(Build((4, 6), several), "pooled")


def test_divisions_that_come_out_within_windows() -> None:
    """Halves of places in a window, which are whole there, and not along a line."""
    x = Input("x", (8, 4), "int64")
    (i,), r0 = axes((4,)), reduction(0, 4)
    check_offered(Build((4,), Reduce("sum", r0, Read(x, ((i * 4 + r0) // 2, (r0 * 4 + i) // 4)))), "pooled")


def test_not_offered() -> None:
    assert not offered(windows(4, 5, 1, 3), "pooled")  # lines are read as they lie
    assert not offered(windows(4, 5, 9, 9), "pooled")  # too far apart
    x, w = Input("x", (8, 8), "float32"), Input("w", (2, 2), "float32")
    i, j = axes((4, 4))
    r0, r1 = reduction(0, 2), reduction(1, 2)
    weighed = Call("multiply", (Read(x, (i * 2 + r0, j * 2 + r1)), Read(w, (r0, r1))), "float32")
    assert not offered(Build((4, 4), Reduce("sum", r0, Reduce("sum", r1, weighed))), "pooled")  # another weight for each place of a window
    assert not offered(Build((4, 4), Reduce("sum", r1, Read(x, (i, j * 2 + r1)))), "pooled")  # one line


@pytest.mark.parametrize("extent", [24, 56, 57, 130])
def test_pooling_equals_numpy(extent: int) -> None:
    x = np.random.default_rng(extent).integers(-50, 50, (3, extent, extent)).astype(np.float32)
    x[0, 3, 5] = np.nan
    count = extent // 2
    tall = x[:, : 2 * count, : 2 * count].reshape(3, count, 2, count, 2)
    pool = eqsat.jit(lambda x: x[:, : 2 * count, : 2 * count].reshape(3, count, 2, count, 2).max(axis=(2, 4)))
    np.testing.assert_array_equal(pool(x), tall.max(axis=(2, 4)))
    mean = eqsat.jit(lambda x: x[:, : 2 * count, : 2 * count].reshape(3, count, 2, count, 2).mean(axis=(2, 4)))
    np.testing.assert_array_equal(mean(x), tall.mean(axis=(2, 4)))
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    view = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))[:, ::2, ::2]
    np.testing.assert_array_equal(eqsat.jit(lambda x: enp.maxpool2d(x[None], 3, 2, 1))(x)[0], view.max(axis=(3, 4)))
