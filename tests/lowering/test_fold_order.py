"""Folds along several axes in the order of memory: which are put in it, and that the values stay."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat import Options
from eqsat.ir.evaluate import evaluate_tensor
from eqsat.ir.index import Index
from eqsat.ir.loops import Fold, statements
from eqsat.ir.tensor import Build, Call, Input, Read, Reduce, Scalar, axes, reduction, scalars
from eqsat.lowering.ranges.fold_order import in_memory_order
from tests.effort import examples

SHAPE = (4, 5, 6)


def folded(order: tuple[int, ...], op: str = "sum", dtype: str = "int64", others: tuple[int, ...] | None = None) -> Build:
    """All of an array, with its axes in an order; times it in another order."""
    shape = tuple(SHAPE[k] for k in order)
    loops = [reduction(level, n) for level, n in enumerate(shape)]

    def place(axis_order: tuple[int, ...]) -> tuple[Index, ...]:
        return tuple(loops[axis_order.index(k)] for k in range(3))

    body: Scalar = Read(Input("x", SHAPE, dtype), place(order))
    if others is not None:
        body = Call("multiply", (body, Read(Input("y", tuple(shape[others.index(k)] for k in range(3)), dtype), place(others))), dtype)
    for variable in reversed(loops):
        body = Reduce(op, variable, body)
    return Build((), body)


def order_of(build: Build) -> list[int]:
    return [fold.variable.extent for fold in reversed(list(scalars(build.body))) if isinstance(fold, Reduce)]


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("op", ["sum", "max"])
def test_any_order_becomes_that_of_memory(order: tuple[int, ...], op: str) -> None:
    build = folded(order, op)
    found = in_memory_order(build)
    assert order_of(found) == list(SHAPE)
    assert [fold.variable.name for fold in reversed(list(scalars(found.body))) if isinstance(fold, Reduce)] == ["r0", "r1", "r2"]
    x = {Input("x", SHAPE, "int64"): np.random.default_rng(0).integers(-9, 10, SHAPE)}
    np.testing.assert_array_equal(evaluate_tensor(found, x), evaluate_tensor(build, x))


def test_what_stays() -> None:
    as_it_is = folded((0, 1, 2))
    assert in_memory_order(as_it_is) is as_it_is
    floats = folded((2, 1, 0), dtype="float32")
    assert in_memory_order(floats, reorder=False) is floats
    assert order_of(in_memory_order(floats)) == list(SHAPE)
    greatest = folded((2, 1, 0), "max", "float32")
    assert order_of(in_memory_order(greatest, reorder=False)) == list(SHAPE)
    disagreeing = folded((2, 1, 0), others=(0, 1, 2))
    assert in_memory_order(disagreeing) is disagreeing
    # rows that are no fold's stay where they are
    (i,), r = axes((4,)), reduction(0, 5)
    row = Build((4,), Reduce("sum", r, Read(Input("x", (5, 4), "int64"), (r, i))))
    assert in_memory_order(row) is row


@settings(max_examples=examples(40), deadline=None)
@given(st.permutations(range(4)), st.sets(st.integers(0, 3), min_size=2), st.sampled_from(["sum", "max", "mean", "std", "any"]))
def test_folds_of_any_transpose_equal_numpy(order: list[int], folds: set[int], name: str) -> None:
    x = np.random.default_rng(len(folds)).integers(-9, 10, (3, 8, 5, 7)).astype(np.float64)

    def program(xp: Any, x: Any) -> Any:
        y = xp.transpose(x, tuple(order))
        return getattr(xp, name)(y > 8 if name == "any" else y, axis=tuple(sorted(folds)))

    for numerics in ("exact", "default"):
        found = eqsat.jit(lambda x: program(enp, x), options=Options(numerics=numerics))(x)
        np.testing.assert_allclose(found, program(np, x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["sum", "max", "std"])
def test_all_of_a_transpose_is_read_as_it_lies(name: str) -> None:
    result = eqsat.optimize(lambda x: getattr(enp, name)(x.T), eqsat.spec((600, 700), "float32"))
    folds = [stmt for kernel in result.loops for stmt in statements(kernel.body) if isinstance(stmt, Fold)]
    assert not any("* 700" in str(fold) for fold in folds)
    assert all(kernel.buffers[-1].size < 1000 for kernel in result.loops)  # nothing is transposed


@pytest.mark.parametrize("loops", ["b,adb", "d,adb", "a,adb", "db,adb"])
def test_what_does_not_vary_with_a_fold_agrees_with_any_order(loops: str) -> None:
    sizes = {"a": 4, "d": 30, "b": 20}
    one, other = loops.split(",")
    inputs = [Input(name, tuple(sizes[v] for v in part), "int64") for name, part in (("v", one), ("x", other))]
    order = [*one, *(v for v in other if v not in one)]  # as einsum folds them
    folds = {v: reduction(k, sizes[v]) for k, v in enumerate(order)}
    reads = [Read(array, tuple(folds[v] for v in part)) for array, part in zip(inputs, (one, other), strict=True)]
    body: Scalar = Call("multiply", (reads[0], reads[1]), "int64")
    for v in reversed(order):
        body = Reduce("sum", folds[v], body)
    build = in_memory_order(Build((), body))
    assert order_of(build) == [4, 30, 20]
    arrays = {array: np.random.default_rng(5).integers(-9, 9, array.shape) for array in inputs}
    np.testing.assert_array_equal(evaluate_tensor(build, arrays), np.sum(np.einsum(f"{loops}->adb", *arrays.values())))
