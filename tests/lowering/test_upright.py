"""Short rows side by side: the same values as the build, whatever extents and dtypes, and where there is nothing to turn, no such way."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.index import Const, Index, Var
from eqsat.ir.loops import For, statements, values_of
from eqsat.ir.tensor import Build, Call, Input, Literal, Position, Read, Reduce, Scalar, axes, reduction, scalars
from eqsat.lowering.folds.upright import LONGEST_UPRIGHT, UPRIGHT_ROWS
from tests.effort import some
from tests.lowering.builds import check_offered, offered

RNG = np.random.default_rng(8)


def folded(rows: int, columns: int, op: str = "sum", dtype: str = "float32") -> Build:
    """The fold of every row."""
    (i,), k = axes((rows,)), reduction(0, columns)
    return Build((rows,), Reduce(op, k, Read(Input("a", (rows, columns), dtype), (i, k))))


def less_its_first(rows: int, columns: int, some: int) -> Build:
    """The sum of the first elements of rows, less each of their elements."""
    shape = (rows, columns)
    (i, j), k, a = axes(shape), reduction(0, some), Input("a", shape, "float32")
    return Build(shape, Call("subtract", (Reduce("sum", k, Read(a, (i, k))), Read(a, (i, j))), "float32"))


def first_of_greatest(rows: int, columns: int) -> Build:
    """Where the greatest of every row stands first."""
    (i,), k, m = axes((rows,)), reduction(0, columns), reduction(1, columns)
    a = Input("a", (rows, columns), "float32")
    greatest = Reduce("max", m, Read(a, (i, m)))
    place = Call("where", (Call("equal", (Read(a, (i, k)), greatest), "bool"), Position(k, "int64"), Literal(columns, "int64")), "int64")
    return Build((rows,), Reduce("min", k, place))


def less_its_greatest(batch: int, rows: int, columns: int, dtype: str = "float32") -> Build:
    """Rows of a batch, each less its greatest, times another array."""
    shape = (batch, rows, columns)
    (b, i, j), k = axes(shape), reduction(0, columns)
    a, w = Input("a", shape, dtype), Input("w", (columns,), dtype)
    below: Scalar = Call("subtract", (Read(a, (b, i, j)), Reduce("max", k, Read(a, (b, i, k)))), dtype)
    return Build(shape, Call("multiply", (below, Read(w, (j,))), dtype))


def needed_twice(rows: int, columns: int, dtype: str = "float32") -> Build:
    """Halves of rows rounded down, each less their sum and times the greatest of them rounded up."""
    (i, j), k, m = axes((rows, columns)), reduction(0, columns), reduction(1, columns)
    a = Input("a", (rows, columns), dtype)

    def half(at: Index) -> Scalar:
        return Call("floor", (Call("multiply", (Read(a, (i, at)), Literal(0.5, dtype)), dtype),), dtype)

    def less(at: Index, variable: Var) -> Scalar:
        return Call("ceil", (Call("subtract", (half(at), Reduce("max", variable, half(variable))), dtype),), dtype)

    total = Reduce("sum", k, less(k, m))
    return Build((rows, columns), Call("multiply", (Call("add", (less(j, k), total), dtype), Reduce("max", k, half(k))), dtype))


def within_a_fold(rows: int, columns: int, terms: int) -> Build:
    """The sum over many terms of the span, along a row, of a function of its elements and the term."""
    (i,), r, k = axes((rows,)), reduction(0, terms), reduction(1, columns)
    a, w = Input("a", (rows, columns), "float64"), Input("w", (terms,), "float64")
    floor = Call("floor", (Call("multiply", (Read(a, (i, k)), Read(w, (r,))), "float64"),), "float64")
    span = Call("subtract", (Reduce("max", k, floor), Reduce("min", k, floor)), "float64")
    return Build((rows,), Reduce("sum", r, span))


def products(rows: int, columns: int) -> Build:
    """Sums of products of two arrays, the other one read backwards from row to row."""
    (i,), k = axes((rows,)), reduction(0, columns)
    a, b = Input("a", (rows, columns), "float64"), Input("b", (rows, columns + 3), "float64")
    return Build((rows,), Reduce("sum", k, Call("multiply", (Read(a, (i, k)), Read(b, (rows - 1 - i, k + 2))), "float64")))


def records(rows: int, columns: int, fields: tuple[int, ...], dtype: str = "float32", page: int = 1) -> Build:
    """Products of fields of records, each with the one before, added up; of the second of some pages, which may be the only one."""
    (i,) = axes((rows,))
    a = Input("a", (page + 1, rows, columns), dtype)
    read = [Read(a, (Const(page), i, Const(k))) for k in fields]
    total: Scalar = read[0]
    for one, other in pairwise(read):
        total = Call("add", (total, Call("multiply", (one, other), dtype)), dtype)
    return Build((rows,), total)


CASES = {
    "records": records(40, 9, (0, 4, 8, 5, 7)),
    "records, in whole blocks": records(48, 16, tuple(range(16))),
    "records, some of many fields": records(37, 70, (20, 31, 44, 22)),
    "records of doubles": records(33, 10, (1, 9, 3, 5), "float64"),
    "records of bytes": records(50, 12, (11, 0, 6, 5), "uint8", 0),
    "one block": folded(UPRIGHT_ROWS, 10),
    "whole blocks": folded(3 * UPRIGHT_ROWS, 12),
    "a rest": folded(2 * UPRIGHT_ROWS + 5, 7),
    "two columns": folded(40, 2),
    "a line": folded(40, 16, "max"),
    "more than a line": folded(35, 33, "max"),
    "as long as may be": folded(20, LONGEST_UPRIGHT, "min"),
    "bytes": folded(50, 9, "max", "uint8"),
    "doubles": folded(50, 9, "prod", "float64"),
    "integers": folded(50, 11, "sum", "int64"),
    "places": first_of_greatest(37, 10),
    "places in long rows": first_of_greatest(37, 40),
    "two arrays": products(45, 6),
    "rows of results": less_its_greatest(1, 37, 10),
    "a batch": less_its_greatest(3, 33, 5),
    "a function for two loops": needed_twice(37, 10),
    "a function for two loops along long rows": needed_twice(21, 40),
    "a function for two loops within a long fold": within_a_fold(37, 3, LONGEST_UPRIGHT + 1),
    "a function for two loops within a short fold": within_a_fold(37, 3, 12),
    "a function for two loops, of doubles": needed_twice(16, 3, "float64"),
    "a batch of doubles": less_its_greatest(2, 20, 30, "float64"),
    "the first of a row": less_its_first(37, 10, 2),
}
OTHERS = {
    "too few rows": folded(UPRIGHT_ROWS - 1, 10),
    "long rows": folded(40, LONGEST_UPRIGHT + 1),
    "truth values": folded(40, 10, "max", "bool"),
    "complex numbers": folded(40, 10, "sum", "complex64"),
    "what is carried in another dtype": folded(40, 10, "sum", "float16"),
    "records of few fields": records(40, 9, (0, 8, 4)),
    "short records": records(40, 7, (0, 6, 3, 4)),
    "fields far apart": records(40, 70, (0, 65, 3, 4)),
    "few records": records(UPRIGHT_ROWS - 1, 9, (0, 4, 8, 5, 7)),
    "no fold": Build((40, 10), Read(Input("a", (40, 10), "float32"), axes((40, 10)))),
    "columns": Build((40,), Reduce("sum", reduction(0, 10), Read(Input("a", (10, 40), "float32"), (reduction(0, 10), *axes((40,)))))),
}


@pytest.mark.parametrize("name", some(CASES, 2))
def test_the_values_are_those_of_the_build(name: str) -> None:
    check_offered(CASES[name], "upright")


@pytest.mark.parametrize("name", OTHERS)
def test_nothing_else_is_turned(name: str) -> None:
    assert offered(OTHERS[name], "upright") == []


def softmax(a: Any) -> Any:
    e = np.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


PROGRAMS: dict[str, Callable[..., Any]] = {
    "softmax": softmax,
    "logsumexp": lambda a: np.log(np.exp(a - a.max(axis=1, keepdims=True)).sum(axis=1)),
    "normalized": lambda a: (a - a.mean(axis=1, keepdims=True)) / np.sqrt(a.var(axis=1, keepdims=True) + 1),
    "deviation": lambda a: a.std(axis=1),
    "length": lambda a: np.sqrt((a * a).sum(axis=1)),
    "place": lambda a: a.argmax(axis=1),
    "range": lambda a: a.max(axis=1) - a.min(axis=1),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("shape", some([(16, 2), (1000, 3), (333, 10), (1000, 16), (90, 30), (64, 63), (40, 64)], 4))
def test_programs_equal_numpy(name: str, shape: tuple[int, int]) -> None:
    a = RNG.integers(-4, 5, shape).astype(np.float32)
    found = eqsat.optimize(PROGRAMS[name], a)(a)
    np.testing.assert_allclose(found, PROGRAMS[name](a), rtol=1e-5, atol=1e-6)


def test_nan_and_infinity_stay_in_their_row() -> None:
    a = RNG.uniform(1, 2, (50, 10)).astype(np.float32)
    a[7, 3], a[20, 9], a[21] = np.nan, np.inf, -np.inf
    functions: list[Callable[..., Any]] = [lambda a: a.max(axis=1), lambda a: a.argmax(axis=1), lambda a: a.sum(axis=1)]
    for function in functions:
        np.testing.assert_allclose(eqsat.optimize(function, a)(a), function(a), rtol=1e-5)


@pytest.mark.parametrize(("columns", "calls"), [(10, 1), (40, 1)])
def test_a_function_that_two_loops_need_is_computed_once(columns: int, calls: int) -> None:
    (kernel,) = offered(needed_twice(64, columns), "upright")
    values = values_of(statements(kernel.body))
    assert sum(isinstance(term, Call) and term.op == "ceil" for value in values for term in scalars(value)) == calls


def test_it_is_chosen_for_many_short_rows() -> None:
    def tiles(name: str, shape: tuple[int, int]) -> bool:
        loops = eqsat.optimize(PROGRAMS[name], eqsat.spec(shape, "float32")).loops
        return any(isinstance(stmt, For) and stmt.kind == "tile" for kernel in loops for stmt in statements(kernel.body))

    assert all(tiles(name, (10_000, 10)) for name in ("softmax", "logsumexp", "place", "deviation", "normalized"))
    assert not tiles("range", (64, 4096))


def less_the_greatest_of_three(np: Any, x: Any) -> Any:
    """What is among the greatest three of a row, less the greatest; elsewhere minus infinity."""
    chosen = np.where(x >= np.sort(x, axis=-1)[..., -3:-2], x, -np.inf)
    return chosen - np.max(chosen, axis=-1, keepdims=True)


@pytest.mark.parametrize("shape", some([(64, 12), (32, 12), (64, 16), (17, 9), (128, 40)], 2))
def test_values_of_rows_are_one_loop_whatever_many_there_are(shape: tuple[int, int]) -> None:
    """Each in a loop of its own took LLVM ten seconds, or failed an assertion in it."""
    x = RNG.standard_normal(shape).astype("float32")
    result = eqsat.optimize(lambda x: less_the_greatest_of_three(enp, x), x)
    (kernel,) = result.loops
    assert len(kernel.scratch) < 12
    np.testing.assert_array_equal(result.compile()(x), less_the_greatest_of_three(np, x))


@pytest.mark.parametrize(("rows", "columns", "blocks_outside"), [((40, 200), 8, True), ((900, 800), 5, False), ((12, 100), 8, False)])
def test_a_block_of_rows_is_turned_once_for_all_that_read_it(rows: tuple[int, int], columns: int, blocks_outside: bool) -> None:
    """Unless the result is large and takes longer to write here and there than to compute, or there are few blocks for threads."""

    def distances(xp: Any, a: Any, b: Any) -> Any:
        return xp.max(xp.abs(a[:, None, :] - b[None, :, :]), axis=2)

    specs = [eqsat.spec((count, columns), "float32") for count in rows]
    (build,) = eqsat.optimize(lambda a, b: distances(enp, a, b), *specs).program.outputs
    assert isinstance(build, Build)
    for kernel in offered(build, "upright"):
        (outermost,) = kernel.body
        assert isinstance(outermost, For)
        assert outermost.variable.name.endswith("_block") is blocks_outside
    a, b = (RNG.standard_normal((count, columns)).astype(np.float32) for count in rows)
    np.testing.assert_allclose(eqsat.optimize(lambda a, b: distances(enp, a, b), a, b)(a, b), distances(np, a, b), rtol=1e-6)
