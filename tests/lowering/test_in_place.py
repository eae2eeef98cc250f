"""Kernels that write over what they read: only where every element is read before it is written, in whatever order iterations run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings

import eqsat
import eqsat.numpy as enp
from eqsat.ir.index import Const, Index, Var, substitute
from eqsat.ir.loops import Buffer, Fold, For, Kernel, Let, Load, Pick, Stmt, Store, Temp, map_indices, statements
from eqsat.ir.loops_check import check_kernel
from eqsat.ir.loops_evaluate import run_kernel
from eqsat.ir.tensor import Build, Call, Input, Literal, Position, Read, Scalar, axes
from eqsat.lowering import in_place
from tests.effort import examples
from tests.lowering.builds import builds, inputs_of, lowered, reference

Array = np.ndarray[Any, Any]
ROW, J, R = Var("i", 0, 3), Var("j", 0, 5), Var("r", 0, 5)
SIZE = 24
HERE = ROW * 6 + J


def load(index: Index) -> Load:
    return Load("x", index, "int64")


def plus_one(value: Scalar) -> Call:
    return Call("add", (value, Literal(1, "int64")), "int64")


def kernel(*body: Stmt, out: str = "int64") -> Kernel:
    return Kernel("k", (Buffer("x", "int64", SIZE, "in"), Buffer("out", out, SIZE, "out")), body)


def both_loops(*body: Stmt) -> Kernel:
    return kernel(For(ROW, "parallel", (For(J, "parallel", body),)))


def rows(index: Index, store: Index = HERE) -> Kernel:
    """out[store] = x[store] + sum of x[index] over r, folded once a row."""
    fold = Fold("s", "sum", "int64", R, (), load(index))
    value = Call("add", (load(store), Temp("s", "int64")), "int64")
    return kernel(For(ROW, "parallel", (fold, For(J, "parallel", (Store("out", store, value),)))))


SAFE: dict[str, Kernel] = {
    "each element by itself": both_loops(Store("out", HERE, plus_one(load(HERE)))),
    "whole rows before the row is written": rows(ROW * 6 + R),
    "whole rows, backwards": rows(ROW * 6 + (5 - R)),
    "rows written backwards": rows((3 - ROW) * 6 + R, (3 - ROW) * 6 + J),
}
UNSAFE: dict[str, Kernel] = {
    "the next element": both_loops(Store("out", HERE, load((HERE + 1) % 24))),
    "backwards": both_loops(Store("out", HERE, load(23 - HERE))),
    "transposed": both_loops(Store("out", ROW + J * 4, load(HERE))),
    "columns": rows(R * 4 + ROW),
    "the row above": rows((ROW + 1) % 4 * 6 + R),
    "a part of the next row": rows((ROW * 6 + R + 1) % 24),
    "one more than the row": rows(ROW * 5 + R),
    "one element for all": both_loops(Store("out", HERE, load(ROW * 0))),
    "picked": both_loops(Store("out", HERE, Pick("x", (SIZE,), (Position(23 - HERE, "int64"),), "int64"))),
    "an element written twice": both_loops(Store("out", ROW * 4 + J, load(ROW * 4 + J))),
    "added to what is there": both_loops(Store("out", HERE, load(HERE), "sum")),
    "after the store": both_loops(Store("out", HERE, Literal(1, "int64")), Store("out", HERE, load(HERE))),
    "a whole row inside the loop that writes it": both_loops(
        Fold("s", "sum", "int64", R, (), load(ROW * 6 + R)),
        Store("out", HERE, Temp("s", "int64")),
    ),
}


@pytest.mark.parametrize("name", SAFE)
def test_where_elements_are_read_before_they_are_written(name: str) -> None:
    x = np.arange(SIZE) ** 2
    expected = np.zeros(SIZE, np.int64)
    run_kernel(SAFE[name], [x, expected])
    found = in_place(SAFE[name], "x", "out")
    assert found is not None
    assert results_in_place(found, {}, x) == [expected.tolist()] * 2


@pytest.mark.parametrize("name", UNSAFE)
def test_where_one_might_be_read_after_it_is_written(name: str) -> None:
    assert in_place(UNSAFE[name], "x", "out") is None


def test_other_sizes_and_types_stay_apart() -> None:
    number = Store("out", HERE, Call("astype", (load(HERE),), "float64"))
    assert in_place(kernel(For(ROW, "parallel", (For(J, "parallel", (number,)),)), out="float64"), "x", "out") is None
    short = Kernel(
        "k", (Buffer("x", "int64", 1, "in"), Buffer("out", "int64", SIZE, "out")), both_loops(Store("out", HERE, load(HERE * 0))).body
    )
    assert in_place(short, "x", "out") is None


@settings(max_examples=examples(300), deadline=None)
@given(builds())
def test_random_kernels_in_place(build: Build) -> None:
    more = Build(build.shape, Call("add", (build.body, Read(Input("extra", build.shape, build.dtype), axes(build.shape))), build.dtype))
    for one in (build, more):
        arrays = {tensor.name: array.ravel() for tensor, array in inputs_of(one).items()}
        for nest in lowered(one):
            for name in [buffer.name for buffer in nest.buffers if buffer.role == "in"]:
                found = in_place(nest, name, "out")
                event("in place" if found is not None else "apart")
                if found is not None:
                    check_kernel(found)
                    assert results_in_place(found, arrays, arrays[name]) == [reference(one)[0].ravel().tolist()] * 2


def results_in_place(nest: Kernel, arrays: dict[str, Array], start: Array) -> list[list[Any]]:
    """What is in the memory afterwards: loops run forwards, and all of them backwards."""
    found = []
    for one in (nest, backwards(nest)):
        memory = start.copy()
        run_kernel(one, [*(arrays[buffer.name] for buffer in one.buffers[:-1]), memory])
        found.append(memory.tolist())
    return found


def backwards(nest: Kernel) -> Kernel:
    around = {
        stmt.variable: stmt.variable.lo + stmt.variable.hi - stmt.variable for stmt in statements(nest.body) if isinstance(stmt, For | Fold)
    }
    return map_indices(nest, lambda term: substitute(term, around))


def test_what_stands_before_a_loop_that_threads_share_is_not_written_in_it() -> None:
    """Every thread reads it, when others are in the loop already."""
    last, body = Let("t", load(Const(SIZE - 1))), Store("out", HERE, Call("multiply", (load(HERE), Temp("t", "int64")), "int64"))
    nest = For(ROW, "parallel", (For(J, "parallel", (body,)),))
    assert in_place(kernel(last, nest), "x", "out") is None
    assert in_place(kernel(For(ROW, "parallel", (Let("t", load(ROW * 6 + 5)), For(J, "parallel", (body,))))), "x", "out") is not None
    total = Fold("t", "sum", "int64", R, (), load(R))
    assert in_place(kernel(total, nest), "x", "out") is None
    assert in_place(kernel(last, For(ROW, "serial", (For(J, "serial", (body,)),))), "x", "out") is not None


def test_threads_divide_by_the_last_of_running_sums() -> None:
    before, x = eqsat.num_threads(), np.random.default_rng(0).random(200_000)
    function = eqsat.jit(lambda x: enp.cumsum(x) / enp.cumsum(x)[-1])
    eqsat.set_num_threads(2)
    try:
        for _ in range(20):
            np.testing.assert_allclose(function(x), np.cumsum(x) / np.cumsum(x)[-1], rtol=1e-9)
    finally:
        eqsat.set_num_threads(before)
