"""Sizes in blocks: what is computed so many rows at a time equals NumPy for every number of rows, whatever the rows are axes of."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.loops import Load, Store, statements, values_of
from eqsat.ir.loops_evaluate import run_kernel
from eqsat.ir.tensor import Build, Tensor, scalars, tensors
from eqsat.kernels.picking import ROWS
from eqsat.lowering import hoist
from eqsat.lowering.candidates import candidates
from eqsat.running.packing import pack, unpack
from eqsat.running.sized_plan import SizedPlan, plan_of

Array = np.ndarray[Any, Any]
N = eqsat.dim("n", 1, 400)
RNG = np.random.default_rng(0)
FIRST, SECOND = (RNG.uniform(-1, 1, (48, 48)).astype("float32") for _ in range(2))


def network(x: Any, bias: Any) -> Any:
    scores = enp.maximum(x @ FIRST + bias, 0.0) @ SECOND
    return scores, enp.argmax(scores, axis=1)


def plan_for(function: Callable[..., Any], *shapes: tuple[Any, ...]) -> SizedPlan:
    plan = eqsat.optimize(function, *(eqsat.spec(shape, "float32") for shape in shapes)).compile()
    assert isinstance(plan, SizedPlan)
    return plan


def rows(count: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(count)
    return rng.uniform(-1, 1, (count, 48)).astype("float32"), rng.uniform(-1, 1, 48).astype("float32")


def test_every_number_of_rows() -> None:
    plan = plan_for(network, (N, 48), (48,))
    assert any(kernel.in_rows for kernel in plan.kernels)
    for count in [*range(1, 90), 127, 128, 129, 191, 200, 399, 400]:
        x, bias = rows(count)
        found, places = plan(x, bias)
        expected, best = network(x, bias)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(places, np.argmax(found, axis=1))
        assert (found.shape, places.shape, places.dtype) == (expected.shape, best.shape, best.dtype)


def test_blocks_are_taken_where_there_are_rows_enough() -> None:
    """Of more rows only where they are faster than those of fewer; of a size that leaves too much of a block over, fewer."""
    result = eqsat.optimize(lambda x: x @ FIRST, eqsat.spec((N, 48), "float32"))
    plan = result.compile()
    assert isinstance(plan, SizedPlan)
    (kernel,) = plan.kernels
    assert [one.name for one in result.loops_in_rows] == [one.name for one in kernel.in_rows]
    assert [one.rows for one in kernel.in_rows] == sorted({one.rows for one in kernel.in_rows} & set(ROWS))
    assert all(more.gain > fewer.gain > 1 for fewer, more in pairwise(kernel.in_rows))
    (wide,) = [one for one in kernel.in_rows if one.rows == 8]
    taken = {count: plan._for(rows(count)[:1]).kernels[0] for count in (7, 8, 20, 400)}
    assert wide.name not in taken[7].name
    assert (taken[8].name, taken[8].parallel_extent) == (wide.name, 1)
    assert (taken[20].name, taken[20].parallel_extent) == (wide.name, 3)
    assert taken[400].name in {one.name for one in kernel.in_rows}


def test_out_is_written_and_nothing_behind_it() -> None:
    plan = plan_for(lambda x: x @ FIRST, (N, 48))
    for count in (9, 70, 100):
        x, _ = rows(count)
        memory = np.full((count + 3, 48), 7.0, "float32")
        assert plan(x, out=memory[:count]).base is memory
        np.testing.assert_allclose(memory[:count], x @ FIRST, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(memory[count:], 7.0)


def test_out_may_be_what_is_read() -> None:
    plan = plan_for(lambda x: x @ FIRST, (N, 48))
    memory = np.zeros((110, 48), "float32")
    x, _ = rows(100)
    memory[:100] = x
    plan(memory[:100], out=memory[10:])
    np.testing.assert_allclose(memory[10:], x @ FIRST, rtol=1e-4, atol=1e-4)


def test_rows_that_are_not_contiguous_and_values_that_are_not_finite() -> None:
    plan = plan_for(network, (N, 48), (48,))
    x, bias = rows(300)
    np.testing.assert_allclose(plan(x[::2], bias)[0], network(x[::2], bias)[0], rtol=1e-4, atol=1e-4)
    x[5, 0], x[200, 3] = np.nan, np.inf
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(np.isnan(plan(x, bias)[0]), np.isnan(network(x, bias)[0]))


def test_plans_with_blocks_are_bytes_and_back() -> None:
    plan = plan_for(network, (N, 48), (48,))
    again = plan_of(unpack(pack(plan.blueprint, ()), ()))
    x, bias = rows(77)
    np.testing.assert_array_equal(again(x, bias)[0], plan(x, bias)[0])


M = eqsat.dim("m", 1, 90)
OTHERS: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {
    "rows of one product are columns of another": (lambda x: x @ x.T, [(N, 48)]),
    "sums of rows": (lambda x: x.T @ x, [(N, 48)]),
    "all rows in each": (lambda x: x - x.mean(axis=0), [(N, 48)]),
    "rows beside each other": (lambda x: x[1:] @ FIRST, [(eqsat.dim("n", 2, 400), 48)]),
    "rows in reverse": (lambda x: x[::-1] @ FIRST, [(N, 48)]),
    "rows at the end": (lambda x: FIRST @ x, [(48, N)]),
    "rows by number": (lambda x: x * enp.arange(x.shape[0])[:, None], [(N, 48)]),
    "rows by value": (lambda x: x[np.argsort(x[:, 0])], [(N, 48)]),
    "two sizes": (lambda x, y: x @ y, [(N, 48), (48, M)]),
    "transposed": (lambda x: x.T + np.float32(1), [(N, M)]),
    "short rows": (lambda x: np.exp(x - x.max(axis=1, keepdims=True)), [(N, 10)]),
    "images": (lambda x: np.transpose(x, (0, 2, 3, 1)) * np.float32(2), [(N, 16, 6, 6)]),
    "frames": (lambda x: np.pad(x, ((0, 0), (1, 2))) * np.float32(2), [(N, 48)]),
    "rolled": (lambda x: np.roll(x, 3, axis=1) * np.float32(2), [(N, 48)]),
    "rolled along the rows": (lambda x: np.roll(x, 3, axis=0) * np.float32(2), [(eqsat.dim("n", 4, 400), 48)]),
    "joined": (lambda x, y: np.concatenate([x, y], axis=1) * np.float32(2), [(N, 48), (N, M)]),
    "joined along the rows": (lambda x, y: np.concatenate([x, y]) * np.float32(2), [(N, 48), (M, 48)]),
    "running sums": (lambda x: np.cumsum(x, axis=1), [(N, 48)]),
    "running sums in the middle": (lambda x: np.cumsum(x, axis=2) * np.float32(0.5), [(N, 3, 5, 7)]),
    "running sums along the rows": (lambda x: np.cumsum(x, axis=0), [(N, 6)]),
    "running sums of what has no size": (lambda x, y: x + np.cumsum(y, axis=0)[3], [(N, 6), (9, 6)]),
    "standardized": (lambda x: (x - x.mean(axis=0)) / (x.std(axis=0) + np.float32(0.1)), [(N, 96)]),
    "standardized channels": (lambda x: x - x.mean(axis=(0, 2), keepdims=True), [(N, 5, 40)]),
    "in place": (lambda x: np.tanh(np.roll(x @ FIRST, 1, axis=1)) * np.float32(2), [(N, 48)]),
}


def actual(extent: Any, count: int) -> int:
    return extent if isinstance(extent, int) else min(max(count if extent.name == "n" else count // 2 + 1, extent.lo), extent.hi)


@pytest.mark.parametrize("what", OTHERS)
def test_whatever_rows_are_axes_of(what: str) -> None:
    """Compiled, for numbers of rows that blocks leave something of, at one thread and two."""
    function, shapes = OTHERS[what]
    plan = plan_for(function, *shapes)
    for threads in (1, 2):
        eqsat.set_num_threads(threads)
        for count in (1, 3, 7, 8, 9, 15, 63, 64, 65, 100, 127, 191, 400):
            rng = np.random.default_rng(count)
            given = [rng.uniform(-1, 1, [actual(extent, count) for extent in shape]).astype("float32") for shape in shapes]
            np.testing.assert_allclose(plan(*given), np.asarray(function(*given)), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("shape", "dtype"), [((24, 100, N), "float32"), ((24, 100, N), "int64"), ((N, 100), "complex64")])
def test_blocks_that_overlap_add_nothing_to_results_in_their_place(shape: tuple[Any, ...], dtype: str) -> None:
    """Two threads may compute the last two blocks at the same time: what one added to was added to by the other one, too."""
    weights = np.ones((100, 70), "complex64")
    result = eqsat.optimize((lambda x: x @ weights) if dtype == "complex64" else (lambda x: x.sum(axis=1)), eqsat.spec(shape, dtype))
    for kernel in (kernel for kernel in result.loops_in_rows if kernel.blocks[0].rows > 1):
        written = {buffer.name for buffer in kernel.outputs}
        assert not any(isinstance(stmt, Store) and stmt.buffer in written and stmt.combine for stmt in statements(kernel.body))
        assert written.isdisjoint(term.buffer for term in scalars(*values_of(statements(kernel.body))) if isinstance(term, Load))
    plan = result.compile()
    eqsat.set_num_threads(2)
    for count in (11, 100):
        given = np.ones([count if extent is N else extent for extent in shape], dtype)
        for _ in range(300):
            assert (plan(given) == 100).all()


@pytest.mark.parametrize("what", ["transposed", "short rows", "frames", "rolled", "joined"])
def test_every_loop_nest_in_blocks(what: str) -> None:
    """Of every schedule, whichever is chosen: by the interpreter, which looks at every place."""
    function, shapes = OTHERS[what]
    small = [tuple(extent if isinstance(extent, int) else eqsat.dim(extent.name, 1, 40) for extent in shape) for shape in shapes]
    program = eqsat.optimize(function, *(eqsat.spec(shape, "float32") for shape in small)).parts.around
    (build,) = (tensor for tensor in tensors(*program.outputs) if isinstance(tensor, Build))
    names: dict[Tensor, str] = {tensor: tensor.name for tensor in program.inputs} | {build: "out"}
    given = {
        name: 11 + 8 * k for k, name in enumerate(dict.fromkeys(n for size in program.sizes for _, terms in size.terms for n in terms))
    }
    known = {size.marker: sum(k * prod(given[name] for name in names) for k, names in size.terms) for size in program.sizes}
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(-1, 1, [known.get(extent, extent) for extent in tensor.shape]).astype("float32") for tensor in program.inputs]
    by_name = {tensor.name: array.reshape(-1) for tensor, array in zip(program.inputs, arrays, strict=True)}
    expected = function(*arrays)
    kernels = [kernel for count in ROWS[:2] for kernel in candidates((build,), "kernel", names, program.sizes, rows=count)]
    assert kernels
    for kernel in kernels:
        assert kernel.blocks
        out = np.zeros(expected.size, expected.dtype)
        run_kernel(hoist(kernel), [*(by_name[buffer.name] for buffer in kernel.buffers[:-1]), out], list(known.values()))
        np.testing.assert_allclose(out.reshape(expected.shape), expected, rtol=1e-5, atol=1e-6)
