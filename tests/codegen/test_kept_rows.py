"""Rows that serial loops add up in registers: which they are, and that what they hold is what memory would."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

from eqsat.codegen import compile_kernels
from eqsat.codegen.folds.accumulator import Numerics
from eqsat.codegen.folds.kept_rows import kept_row
from eqsat.ir.index import Const, Index, Var
from eqsat.ir.loops import Bind, Buffer, For, Kernel, Let, Load, Stmt, Store, Temp
from eqsat.ir.tensor import Call, Scalar, as_dtype
from eqsat.lowering import type_indices
from tests.codegen.modules import emit_module
from tests.effort import some

ROWS, COLUMNS = Var("r", 0, 8), Var("j", 0, 11)
RNG = np.random.default_rng(0)


def added_up(rows: int, columns: int, dtype: str, combine: str | None = "sum", outer: int = 1, result: str | None = None) -> Kernel:
    """out[j] = combine(out[j], x[q, r, j]) for all q and r, in the dtype of the result."""
    r, j, q = Var("r", 0, rows - 1), Var("j", 0, columns - 1), Var("q", 0, outer - 1)
    result = result or dtype
    start: Index = q * (rows * columns) + r * columns if outer > 1 else r * columns
    place = Var("b", 0, outer * rows * columns)
    store = Store("out", j, as_dtype(Load("x", place + j, dtype), result), combine)
    loops = For(r, "serial", (Bind(place, start), For(j, "parallel", (store,))))
    body = For(q, "serial", (loops,)) if outer > 1 else loops
    return Kernel("k", (Buffer("x", dtype, outer * rows * columns, "in"), Buffer("out", result, columns, "out")), (body,))


def serial(
    value: Scalar, place: Index = COLUMNS, before: tuple[Stmt, ...] = (), columns: Var = COLUMNS, combine: str | None = "sum"
) -> For:
    return For(ROWS, "serial", (*before, For(columns, "parallel", (Store("out", place, value, combine),))))


def x(index: Index) -> Load:
    return Load("x", index, "float32")


@pytest.mark.parametrize(
    ("loop", "kept"),
    [
        (serial(x(ROWS * 12 + COLUMNS)), True),
        (serial(Call("multiply", (Temp("t", "float32"), x(COLUMNS)), "float32"), before=(Let("t", x(ROWS)),)), True),
        (serial(x(ROWS * 12 + COLUMNS), combine=None), False),  # nothing is added up
        (serial(x(ROWS * 12 + COLUMNS), combine="prod"), False),
        (serial(x(ROWS * 12 + COLUMNS), place=ROWS * 12 + COLUMNS), False),  # another row every time
        (serial(x(ROWS * 12 + COLUMNS), place=COLUMNS * 2), False),  # no row
        (serial(x(ROWS + COLUMNS * 9)), False),  # across memory
        (serial(Load("out", COLUMNS, "float32")), False),  # reads what it stores
        (serial(Call("exp", (x(COLUMNS),), "float32")), False),  # has no code for vectors
        (serial(x(ROWS * 12 + COLUMNS), columns=Var("j", 0, 2)), False),  # left to LLVM
        (serial(x(ROWS * 512 + Var("j", 0, 447)), place=Var("j", 0, 447), columns=Var("j", 0, 447)), True),
        (
            serial(x(ROWS * 512 + Var("j", 0, 448)), place=Var("j", 0, 448), columns=Var("j", 0, 448)),
            False,
        ),  # more than there are registers
        (serial(x(ROWS * 512 + Var("j", 0, 111)), Var("j", 0, 111), (), Var("j", 0, 111), "max"), True),
        (serial(x(ROWS * 512 + Var("j", 0, 112)), Var("j", 0, 112), (), Var("j", 0, 112), "max"), False),  # more than masks
        (For(COLUMNS, "parallel", (Store("out", COLUMNS, x(COLUMNS), "sum"),)), False),
    ],
)
def test_which_rows_are_kept(loop: For, kept: bool) -> None:
    assert (kept_row(loop, 64, 28) is not None) == kept


@pytest.mark.parametrize(
    ("dtype", "result", "rows", "columns", "numerics"),
    some(
        (
            (*dtypes, *others)
            for dtypes in [("float32", "float32"), ("float32", "float64"), ("float64", "float64"), ("int32", "int32")]
            for others in itertools.product([1, 9, 34], [5, 16, 31, 100], ["exact", "default"])
        ),
        5,
    ),
)
def test_what_is_added_up_equals_numpy(rows: int, columns: int, dtype: str, result: str, numerics: Numerics) -> None:
    for combine, outer in (("sum", 1), ("sum", 3), ("max", 1)):
        values = RNG.integers(-50, 50, (outer * rows, columns)).astype(dtype)
        before = RNG.integers(-50, 50, columns).astype(result)
        whole = np.concatenate([before[None], values.astype(result)])
        fold: Any = {"sum": np.sum, "max": np.max}[combine]
        kernel = added_up(rows, columns, dtype, combine, outer, result)
        found = before.copy()
        compile_kernels([type_indices(kernel)], numerics).routine("k")([values.reshape(-1), found])
        np.testing.assert_array_equal(found, fold(whole, axis=0))


@pytest.mark.parametrize("combine", ["max", "min"])
def test_one_nan_is_enough(combine: str) -> None:
    for place in range(40):
        values = RNG.standard_normal((40, 9)).astype("f4")
        values[place, place % 9] = np.nan
        found = np.zeros(9, "f4")
        compile_kernels([type_indices(added_up(40, 9, "float32", combine))], "default").routine("k")([values.reshape(-1), found])
        assert np.isnan(found).nonzero()[0].tolist() == [place % 9]


def test_exact_sums_are_added_one_by_one() -> None:
    values = (RNG.standard_normal((99, 13)) * 10.0 ** RNG.integers(-6, 6, (99, 13))).astype("f4")
    found, expected = np.zeros(13, "f4"), np.zeros(13, "f4")
    compile_kernels([type_indices(added_up(99, 13, "float32"))], "exact").routine("k")([values.reshape(-1), found])
    for row in values:
        expected += row
    np.testing.assert_array_equal(found, expected)


def test_the_row_is_in_registers() -> None:
    text = emit_module([type_indices(added_up(64, 20, "float32"))], "default")
    assert re.search(r"phi <16 x float>", text)
    loop = text[text.index("phi <16 x float>") :]
    assert loop.index("store <16 x float>") > loop.index("br i1")  # behind the loop


def test_a_row_at_a_constant_place_is_kept() -> None:
    assert kept_row(serial(x(ROWS * 12 + COLUMNS), place=COLUMNS + Const(5)), 64, 28) is not None


@pytest.mark.parametrize("numerics", ["exact", "default"])
def test_a_place_that_is_named_in_the_innermost_loop_is_known_before_it(numerics: Numerics) -> None:
    r, j, named = Var("r", 0, 8), Var("j", 0, 19), Var("b", 5, 24)
    inner = For(j, "parallel", (Bind(named, j + 5), Store("out", named + 3, Load("x", r * 20 + named - 5, "float32"), "sum")))
    buffers = (Buffer("x", "float32", 180, "in"), Buffer("out", "float32", 28, "out"))
    loops = For(r, "serial", (inner,))
    assert kept_row(loops, 64, 28) is not None
    values, found = RNG.integers(-9, 10, (9, 20)).astype("f4"), np.zeros(28, "f4")
    compile_kernels([type_indices(Kernel("k", buffers, (loops,)))], numerics).routine("k")([values.reshape(-1), found])
    np.testing.assert_array_equal(found, np.concatenate([np.zeros(8), values.sum(axis=0)]))
