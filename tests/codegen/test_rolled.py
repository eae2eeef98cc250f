"""Short loops that stay loops: which they are, and that what they compute does not depend on it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.codegen.builder import Abilities, Registers
from eqsat.codegen.folds.rolled import (
    WRITTEN_HERE,
    across_rows,
    in_whole_vectors,
    leaves_much,
    may_be_done_again,
    rolled_loops,
    vectors_of_fold,
)
from eqsat.codegen.llvm.machine import Machine, host
from eqsat.ir.index import Const, Index, Var
from eqsat.ir.loops import Bind, Buffer, Fold, For, Kernel, Let, Load, Pick, Store, Temp, statements
from eqsat.ir.tensor import Call, Literal, Position, Scalar
from eqsat.lowering import type_indices
from tests.codegen.modules import emit_module
from tests.codegen.nests import run
from tests.effort import some

Array = np.ndarray[Any, Any]


def moved(extent: int, line: int, step: int = 1, dtype: str = "float32", rows: int = 64) -> Kernel:
    """out[rows, extent] = x + 1, where rows of x are `line` and their elements `step` apart, backwards where that is negative."""
    row, column, start = Var("i", 0, rows - 1), Var("j", 0, extent - 1), Var("b", 0, rows * line)
    first = (extent - 1) * max(-step, 0)
    value = Call("add", (Load("x", start + column * step + first, dtype), Literal(1, dtype)), dtype)
    body = For(column, "parallel", (Store("out", row * extent + column, value),))
    size = (rows - 1) * line + (extent - 1) * abs(step) + 1
    buffers = Buffer("x", dtype, size, "in"), Buffer("out", dtype, rows * extent, "out")
    return Kernel("moved", buffers, (For(row, "parallel", (Bind(start, row * line), body)),))


def multiplied(extent: int, dtype: str) -> Kernel:
    """Rows of x times w, plus 1."""
    row, column = Var("i", 0, 63), Var("j", 0, extent - 1)
    product = Call("multiply", (Load("x", row * 512 + column, dtype), Load("w", column, dtype)), dtype)
    body = For(column, "parallel", (Store("out", row * extent + column, Call("add", (product, Literal(1, dtype)), dtype)),))
    buffers = Buffer("x", dtype, 64 * 512, "in"), Buffer("w", dtype, extent, "in"), Buffer("out", dtype, 64 * extent, "out")
    return Kernel("multiplied", buffers, (For(row, "parallel", (body,)),))


def products(terms: int, columns: int, dtype: str = "float64") -> Kernel:
    """Rows of a few terms by a small matrix."""
    row, column, term = Var("i", 0, 63), Var("j", 0, columns - 1), Var("r", 0, terms - 1)
    factors = Load("x", row * terms + term, dtype), Load("w", term * columns + column, dtype)
    fold = Fold("t", "sum", dtype, term, (), Call("multiply", factors, dtype))
    body = For(column, "parallel", (fold, Store("out", row * columns + column, Temp("t", dtype))))
    buffers = Buffer("x", dtype, 64 * terms, "in"), Buffer("w", dtype, terms * columns, "in"), Buffer("out", dtype, 64 * columns, "out")
    return Kernel("products", buffers, (For(row, "parallel", (body,)),))


def chosen(extent: int, row_within: bool = False, dtype: str = "float32") -> Kernel:
    """out[rows, extent] = x[places[i]] + 1; or of row places[j]."""
    row, column, element = Var("i", 0, 63), Var("j", 0, extent - 1), Let("t", Load("places", Var("i", 0, 63), "int64"))
    place: Scalar = Load("places", column, "int64") if row_within else Temp("t", "int64")
    picked = Pick("x", (99, extent), (place, Position(column, "int64")), dtype)
    body = For(column, "parallel", (Store("out", row * extent + column, Call("add", (picked, Literal(1, dtype)), dtype)),))
    buffers = Buffer("places", "int64", 64, "in"), Buffer("x", dtype, 99 * extent, "in"), Buffer("out", dtype, 64 * extent, "out")
    return Kernel("chosen", buffers, (For(row, "parallel", (element, body)),))


def summed(extent: int, line: int, rows: int = 64, dtype: str = "float32") -> Kernel:
    """Sums of rows that are `line` elements apart."""
    row, column = Var("i", 0, rows - 1), Var("r", 0, extent - 1)
    fold = Fold("t", "sum", dtype, column, (), Load("x", row * line + column, dtype))
    buffers = Buffer("x", dtype, (rows - 1) * line + extent, "in"), Buffer("out", dtype, rows, "out")
    return Kernel("summed", buffers, (For(row, "parallel", (fold, Store("out", row, Temp("t", dtype)))),))


@pytest.mark.parametrize(
    ("kernel", "stays"),
    [
        (moved(8, 512), True),
        (moved(3, 512), True),
        (moved(2, 512), False),  # fills no vector
        (moved(33, 512), True),
        (moved(49, 512), True),  # images of 7 x 7: 84 us of 100,000 elements times one for each, 9 us where it stays
        (moved(51, 512), False),  # is not written out anyway
        (chosen(16), True),  # rows that are gathered are never neighbours
        (chosen(5), True),
        (chosen(64), True),
        (chosen(4), False),  # four gathers of as many rows are no more
        (chosen(80), False),
        (chosen(16, row_within=True), False),  # another row with every element
        (products(5, 10), True),  # 14 ms of 344,100 rows, 6.3 where it stays
        (products(3, 5, "float32"), True),
        (products(4, 4), False),
        (products(120, 10), False),  # the fold is a loop
        (multiplied(20, "uint8"), True),  # no instruction multiplies bytes
        (multiplied(37, "uint8"), True),
        (multiplied(38, "uint8"), False),
        (multiplied(20, "int16"), False),
        (moved(4, 4), False),  # neighbours, sorted in registers
        (moved(5, 5), True),
        (moved(4, 4, rows=8), True),  # too few lines to sort
        (moved(8, 512, step=2), False),  # across memory
        (moved(8, 8, step=-1), True),
        (moved(32, 32, step=-1), True),
        (moved(4, 4, step=-1), False),  # neighbours
        (moved(8, 512, dtype="uint8"), True),
        (moved(4, 512, dtype="uint8"), False),
        (moved(20, 512, dtype="int16"), False),
        (moved(2, 512, dtype="float64"), False),
        (summed(8, 8), False),
        (summed(8, 8, dtype="float64"), True),  # a line of the cache each
        (summed(7, 7, dtype="float64"), False),
        (summed(9, 9), True),
        (summed(8, 100), True),
        (summed(76, 76), True),
        (summed(128, 128), False),
    ],
)
def test_which_loops_stay(kernel: Kernel, stays: bool) -> None:
    found = rolled_loops(kernel)
    assert len(found) == stays
    text = emit_module([type_indices(kernel)], "default", Abilities(masks=True))
    assert bool(re.search(r"llvm\.loop\.unroll\.disable", text)) == stays


@pytest.mark.parametrize(("extent", "stored"), [(3, ["<2 x float>"] * 2), (12, ["<8 x float>"] * 2), (16, ["float"])])
def test_without_masks_the_last_vector_of_a_short_loop_ends_with_it(extent: int, stored: list[str]) -> None:
    text = emit_module([type_indices(moved(extent, 512))], "default", Abilities(masks=False), Registers(32, 12))
    assert re.findall(r"store (<\d+ x float>|float) %", text) == stored
    assert ("loop.unroll.disable" in text) == (extent == 16)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("extent", [3, 5, 7, 9, 12, 15, 33])
def test_short_loops_equal_numpy_with_and_without_masks(extent: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = (np.arange(64 * 512) % 251).astype(dtype)
    expected = np.lib.stride_tricks.sliding_window_view(x, extent)[::512][:64] + 1
    for masks in (True, False):
        monkeypatch.setattr(Machine, "abilities", host().abilities._replace(masks=masks))
        kernel = moved(extent, 512, dtype=dtype)
        np.testing.assert_array_equal(run(kernel, x[: kernel.buffers[0].size]), expected.astype(dtype).ravel())


def compared(extent: int, function: bool = False) -> Kernel:
    """out[rows, extent] = whether x is below its column, as a number; or e^-x there."""
    row, column = Var("i", 0, 63), Var("j", 0, extent - 1)
    x = Load("x", row * 64 + column, "float32")
    below = Call("less", (x, Call("astype", (Position(column, "int32"),), "float32")), "bool")
    power = Call("exp", (Call("negative", (x,), "float32"),), "float32")
    value = Call("where", (below, power, Literal(1.0, "float32")), "float32") if function else Call("astype", (below,), "float32")
    body = For(column, "parallel", (Store("out", row * extent + column, value),))
    buffers = Buffer("x", "float32", 64 * 64, "in"), Buffer("out", "float32", 64 * extent, "out")
    return Kernel("compared", buffers, (For(row, "parallel", (body,)),))


@pytest.mark.parametrize(
    ("kernel", "ranges"),
    [
        (compared(10), [(0, 8), (2, 10)]),
        (compared(31), [(0, 24), (23, 31)]),
        (compared(16), [(0, 16)]),
        (compared(5), [(0, 4), (1, 5)]),
        (compared(5, function=True), [(0, 5)]),
        (compared(10, function=True), [(0, 8), (2, 10)]),
    ],
)
def test_what_is_left_of_a_short_loop_is_done_with_what_is_before_it(kernel: Kernel, ranges: list[tuple[int, int]]) -> None:
    (loop,) = (stmt for stmt in statements(kernel.body) if isinstance(stmt, For) and stmt.variable.name == "j")
    assert in_whole_vectors(loop, 32) == ranges
    text = emit_module([type_indices(kernel)], "default", Abilities(masks=False), Registers(32, 12))
    assert text.count("loop.unroll.disable") == len(ranges)


@pytest.mark.parametrize(("extent", "function", "left"), [(30, True, True), (32, True, False), (9, True, False), (17, False, False)])
def test_functions_of_what_fills_no_vector_are_computed_in_one(extent: int, function: bool, left: bool) -> None:
    (loop,) = (stmt for stmt in statements(compared(extent, function).body) if isinstance(stmt, For) and stmt.variable.name == "j")
    assert leaves_much(loop, 64) == left
    assert may_be_done_again(loop)
    text = emit_module([type_indices(compared(extent, function))], "default", Abilities(masks=True))
    assert len(re.findall(r"^loop[0-9.]*:", text, re.MULTILINE)) == 2 + left


@pytest.mark.parametrize(
    ("extent", "operations", "much"),
    [
        (28, 6, True),
        (30, 6, True),
        (28, 2, True),
        (32, 6, False),
        (17, 6, False),
        (25, 6, False),
        (27, 6, True),
        (12, 6, False),
        (60, 40, True),
        (92, 6, True),
        (92, 40, False),
        (2060, 6, False),
    ],
)
def test_the_end_of_short_loops_is_a_vector(extent: int, operations: int, much: bool) -> None:
    column = Var("j", 0, extent - 1)
    value: Scalar = Load("x", column, "float32")
    for tap in range(1, operations + 1):
        value = Call("add", (value, Load("x", column + tap, "float32")), "float32")
    assert leaves_much(For(column, "parallel", (Store("out", column, value),)), 64) == much


def test_what_is_read_where_it_is_written_is_not_done_again() -> None:
    (outer,) = compared(30, function=True).body
    assert isinstance(outer, For)
    (loop,) = outer.body
    assert isinstance(loop, For)
    (store,) = loop.body
    assert isinstance(store, Store)
    assert not may_be_done_again(replace(loop, body=(replace(store, buffer="x"),)))
    assert not may_be_done_again(replace(loop, kind="serial"))
    assert not may_be_done_again(outer)


def test_what_is_added_to_is_added_to_once() -> None:
    row, column = Var("i", 0, 63), Var("j", 0, 9)
    store = Store("out", column, Load("x", row * 512 + column, "float32"), "sum")
    assert in_whole_vectors(For(column, "parallel", (store,)), 32) == [(0, 10)]


@pytest.mark.parametrize("function", [False, True])
@pytest.mark.parametrize("extent", [3, 5, 7, 9, 10, 15, 16, 31])
def test_comparisons_and_functions_in_short_loops_equal_numpy(extent: int, function: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(extent).uniform(-1, extent, (64, 64)).astype("float32")
    row = x[:, :extent]
    below = row < np.arange(extent, dtype="float32")
    for masks in (True, False):
        monkeypatch.setattr(Machine, "abilities", host().abilities._replace(masks=masks))
        found = run(compared(extent, function), x.ravel()).reshape(64, extent)
        np.testing.assert_allclose(found, np.where(below, np.exp(-row), 1) if function else below, rtol=3e-7)


def test_a_loop_around_others_does_not_stay_for_its_own_sake() -> None:
    inner, outer, row = Var("k", 0, 63), Var("j", 0, 7), Var("i", 0, 63)
    store = Store("out", (row * 8 + outer) * 64 + inner, Load("x", (outer * 64 + row) * 64 + inner, "float32"))
    loops = For(row, "parallel", (For(outer, "parallel", (For(inner, "parallel", (store,)),)),))
    assert not rolled_loops(Kernel("k", (Buffer("x", "float32", 1 << 15, "in"), Buffer("out", "float32", 1 << 15, "out")), (loops,)))


@pytest.mark.parametrize(("extent", "count"), [(8, 1), (16, 1), (32, 2), (48, 1), (64, 4), (76, 1)])
def test_vectors_of_a_fold_leave_no_rest(extent: int, count: int) -> None:
    assert vectors_of_fold("float32", extent, Registers(64, 28).bytes) == count


@pytest.mark.parametrize(("extent", "dtype"), some(itertools.product([3, 8, 12, 33], ["float32", "float64", "uint8"]), 2))
def test_short_rows_and_blocks_equal_numpy(extent: int, dtype: str) -> None:
    x = (np.arange(20 * extent * 3 * extent) % 23).astype(dtype).reshape(20, extent, 3, extent)
    w = (np.arange(extent) % 5 + 1).astype(dtype)

    def program(xp: Any, x: Any, w: Any) -> Any:
        turned = xp.transpose(x, (0, 2, 1, 3))
        return turned + w, xp.sum(turned * w, axis=3, dtype=dtype), xp.max(turned, axis=3), xp.sum(x, axis=(1, 3), dtype=dtype)

    optimized = eqsat.optimize(lambda x, w: program(enp, x, w), x, w, options=eqsat.Options(cache=False))
    for found, expected in zip(optimized(x, w), program(np, x, w), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_the_head_of_a_block_may_begin_anywhere() -> None:
    """Indices that begin with a constant."""
    start: Index = Const(3)
    row, column = Var("i", 0, 63), Var("j", 0, 7)
    store = Store("out", row * 8 + column, Load("x", row * 100 + start + column, "float32"))
    kernel = Kernel(
        "k",
        (Buffer("x", "float32", 6400, "in"), Buffer("out", "float32", 512, "out")),
        (For(row, "parallel", (For(column, "parallel", (store,)),)),),
    )
    assert rolled_loops(kernel)


@pytest.mark.parametrize("extent", [2, 4, 5])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, c: enp.where(c > 0, x, x * 2),
        lambda x, c: enp.maximum(c, x),
        lambda x, c: (x > c) & (c > 0),
        lambda x, c: x // (abs(c) + 1),
    ],
)
def test_choices_that_few_iterations_share_are_no_branches(extent: int, function: Any) -> None:
    """LLVM would choose between two loops for every row: 306 us of 300,000 elements, 32 without."""
    rng = np.random.default_rng(extent)
    x, c = rng.standard_normal((500, extent)), rng.standard_normal((500, 1))
    c[7], x[8, 1] = np.nan, np.nan
    result = eqsat.optimize(function, x, c)
    np.testing.assert_array_equal(result(x, c), np.asarray(function(enp.asarray(x), enp.asarray(c))))
    body = result.llvm_ir.split("define")[1]
    if result.loops[0].scratch:  # what rows share is repeated along them
        assert extent > WRITTEN_HERE
        assert "//" in str(result.program)
    else:
        in_blocks = "tile" in str(result.loops[0])  # rows of numbers are put together from vectors
        assert body.count("phi ") == (1 if extent <= WRITTEN_HERE or in_blocks else 2)  # counters of loops


def softmax_of_columns(x: Any) -> Any:
    e = np.exp(x - x.max(axis=0))
    return e / e.sum(axis=0)


ACROSS_ROWS: dict[str, Callable[[Any], Any]] = {
    "softmax": softmax_of_columns,
    "less the least": lambda x: np.exp2(x - x.min(axis=0)),
    "a middle axis": lambda x: np.tanh(np.stack([x, x * 2]) - np.stack([x, x * 2]).max(axis=1, keepdims=True)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows", [2, 4, 6, 8, 12, 16, 18])
@pytest.mark.parametrize("name", ACROSS_ROWS)
def test_functions_across_rows_are_those_of_numpy(name: str, rows: int, dtype: str) -> None:
    x = np.random.default_rng(rows).standard_normal((rows, 83)).astype(dtype)
    x[rows // 2, 3:9] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30]
    for numerics in ("exact", "default"):
        found = eqsat.optimize(ACROSS_ROWS[name], x, options=eqsat.Options(numerics=numerics))(x)
        np.testing.assert_allclose(found, ACROSS_ROWS[name](x), rtol=1e-6 if dtype == "float32" else 1e-14, atol=1e-37)


@pytest.mark.parametrize(("rows", "written"), [(1, 0), (7, 2), (16, 2), (17, 0)])
def test_few_functions_and_extrema_across_rows_are_written_out(rows: int, written: int) -> None:
    """The extremum, which LLVM cannot make vectors of as a loop, and the functions of its elements."""
    x, row, term = Buffer("x", "float32", 900 * rows, "in"), Var("i", 0, rows - 1), Var("r", 0, rows - 1)
    column = Var("j", 0, 899)
    greatest = Fold("t", "max", "float32", term, (), Load("x", column + term * 900, "float32"))
    element = Call("subtract", (Load("x", column + row * 900, "float32"), Temp("t", "float32")), "float32")
    each = For(row, "parallel", (Store("out", column + row * 900, Call("exp", (element,), "float32")),))
    kernel = Kernel("k", (x, Buffer("out", "float32", 900 * rows, "out")), (For(column, "parallel", (greatest, each)),))
    assert len(across_rows(kernel)) == written
