"""Running sums with what they are of and what is made of them, row by row in one kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.index import Index, Var
from eqsat.ir.loops import Buffer, For, Kernel, Load, Store
from eqsat.ir.loops_check import check_kernel
from eqsat.ir.loops_evaluate import run_kernel
from eqsat.lowering.joining.row_by_row import row_by_row

ROWS, COLUMNS = 60, 130
Function = Callable[[Any, Any], Any]
# numbers of kernels beside functions of rows
PROGRAMS: dict[str, tuple[Function, int]] = {
    "from behind": (lambda np, x: np.flip(np.cumsum(np.flip(x, 1), axis=1), 1), 1),
    "means of windows": (lambda np, x: (lambda c: (c[:, 16:] - c[:, :-16]) / 16)(np.cumsum(x, axis=1)), 1),
    "below the greatest": (lambda np, x: (lambda m: (m - x) / m)(np.maximum.accumulate(x * x + 1, axis=1)), 1),
    "two scans": (lambda np, x: (lambda c: np.maximum.accumulate(c, axis=1) - c)(np.cumsum(x, axis=1)), 1),
    "parts of all": (lambda np, x: (lambda c: c / c[:, -1:])(np.cumsum(np.exp(x), axis=1)), 1),
    "a fold of the sums": (lambda np, x: np.max(np.cumsum(x, axis=1), axis=1), 1),
    "with what is first": (lambda np, x: np.exp(np.cumulative_sum(x, axis=1, include_initial=True)), 1),
    "rows of a batch": (lambda np, x: np.cumsum(x.reshape(ROWS // 4, 4, COLUMNS) * 2, axis=2) + 1, 1),
    "two results": (lambda np, x: (lambda c: (c, np.exp(c)))(np.cumsum(x, axis=1)), 2),
    "across rows": (lambda np, x: np.cumsum(x, axis=1)[::-1] * 2, 2),
    "of other rows": (lambda np, x: np.cumsum(x, axis=1)[1:] - np.cumsum(x, axis=1)[:-1], 2),
    "sorted": (lambda np, x: np.sort(np.cumsum(x, axis=1), axis=1) + 1, 2),
}


# what complex numbers have no order for
ORDERED = ("below the greatest", "two scans", "a fold of the sums", "sorted")


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = eqsat.num_threads()
    eqsat.set_num_threads(request.param)
    yield
    eqsat.set_num_threads(before)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_row_by_row_is_what_numpy_computes(name: str, dtype: str) -> None:
    function, kernels = PROGRAMS[name]
    ordered = dtype != "complex64" or name not in ORDERED
    x = (np.random.default_rng(3).random((ROWS, COLUMNS)) * 4 - 2).astype(dtype if ordered else "float32")
    result = eqsat.optimize(lambda x: function(enp, x), x)
    assert dtype != "float32" or len(result.nests) == kernels
    made, expected = (each if isinstance(each, tuple) else (each,) for each in (result.compile()(x), function(np, x)))
    for one, other in zip(made, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=2e-5, atol=1e-5)
        assert np.asarray(one).dtype == other.dtype


def over_rows(name: str, read: Buffer, written: Buffer, place: Callable[[Index, Index], Index], columns: int = 5) -> Kernel:
    """for row < 8: for k < columns: written[row * columns + k] = read[place(row, k)]"""
    row, k = Var("row", 0, 7), Var("k", 0, columns - 1)
    store = Store(written.name, row * columns + k, Load(read.name, place(row, k), read.dtype))
    return Kernel(name, (read, written), (For(row, "parallel", (For(k, "parallel", (store,)),)),))


def flat(read: Buffer, written: Buffer) -> Kernel:
    """for k < 40: written[k] = read[39 - k]"""
    k = Var("k", 0, 39)
    return Kernel("flat", (read, written), (For(k, "parallel", (Store(written.name, k, Load(read.name, 39 - k, read.dtype)),)),))


X, T, OUT = Buffer("x", "int64", 40, "in"), Buffer("t", "int64", 40, "out"), Buffer("out", "int64", 40, "out")
BETWEEN = replace(T, role="in")
PLACES: dict[str, tuple[Callable[[Index, Index], Index], bool]] = {
    "the same place": (lambda row, k: row * 5 + k, True),
    "from behind": (lambda row, k: row * 5 + 4 - k, True),
    "in twos": (lambda row, k: row * 5 + k // 2, True),
    "the row before": (lambda row, k: (row + 7) % 8 * 5 + k, False),
    "one further": (lambda row, k: (row * 5 + k + 1) % 40, False),
    "down a column": (lambda row, k: k * 8 + row, False),
}


@pytest.mark.parametrize("name", PLACES)
def test_rows_are_of_one_kernel_where_none_reads_another(name: str) -> None:
    place, within = PLACES[name]
    first, second = flat(X, T), over_rows("second", BETWEEN, OUT, place)
    joined = row_by_row((first, second), {"t"}, 8)
    assert (joined is not None) == within
    if joined is not None:
        check_kernel(joined)
        (scratch,) = joined.scratch
        assert (scratch.name, scratch.size) == ("t", 5)
        x = np.arange(40) * 3 + 1
        apart, made, t = np.zeros(40, "int64"), np.zeros(40, "int64"), np.zeros(40, "int64")
        run_kernel(first, [x, t])
        run_kernel(second, [t, apart])
        run_kernel(joined, [x, made])
        np.testing.assert_array_equal(made, apart)


def test_rows_that_do_not_divide_a_loop_are_not_of_one_kernel() -> None:
    assert row_by_row((flat(X, T), over_rows("second", BETWEEN, OUT, lambda row, k: row * 5 + k)), {"t"}, 7) is None
