"""Rows in blocks: what is computed so many rows at a time equals NumPy for every number of rows, and is no other program than it may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.running.packing import pack, unpack
from eqsat.running.row_blocks import ROWS, in_blocks
from eqsat.running.sized_plan import PlanInBlocks, SizedPlan, plan_of

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
    assert [count for count, _ in plan.blueprint.blocks] == list(ROWS)
    for count in [*range(1, 90), 127, 128, 129, 191, 200, 399, 400]:
        x, bias = rows(count)
        found, places = plan(x, bias)
        expected, best = network(x, bias)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(places, np.argmax(found, axis=1))
        assert (found.shape, places.shape, places.dtype) == (expected.shape, best.shape, best.dtype)


def test_blocks_are_taken_where_there_are_rows_enough() -> None:
    plan = plan_for(network, (N, 48), (48,))
    assert not isinstance(plan._for(rows(ROWS[-1] - 1)), PlanInBlocks)
    many = plan._for(rows(150))
    assert isinstance(many, PlanInBlocks)
    assert [(begin, count) for begin, count, _ in many._blocks] == [(0, 64), (64, 64), (128, 8), (136, 8), (142, 8)]
    most = plan._for(rows(100))
    assert isinstance(most, PlanInBlocks)
    assert [(begin, count) for begin, count, _ in most._blocks] == [(0, 64), (36, 64)]


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


OTHERS: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {
    "rows of one product are columns of another": (lambda x: x @ x.T, [(N, 48)]),
    "sums of rows": (lambda x: x.T @ x, [(N, 48)]),
    "all rows in each": (lambda x: x - x.mean(axis=0), [(N, 48)]),
    "rows beside each other": (lambda x: x[1:] @ FIRST, [(eqsat.dim("n", 2, 400), 48)]),
    "rows in reverse": (lambda x: x[::-1] @ FIRST, [(N, 48)]),
    "rows at the end": (lambda x: FIRST @ x, [(48, N)]),
    "rows by number": (lambda x: x * enp.arange(x.shape[0])[:, None], [(N, 48)]),
    "rows by value": (lambda x: x[enp.argsort(x[:, 0])], [(N, 48)]),
    "two sizes": (lambda x, y: x @ y, [(N, 48), (48, eqsat.dim("m", 1, 9))]),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_is_not_made_of_rows_stays_whole(what: str) -> None:
    function, shapes = OTHERS[what]
    assert not list(in_blocks(eqsat.trace(function, *(eqsat.spec(shape, "float32") for shape in shapes))))


def test_what_has_no_tiles_stays_whole() -> None:
    assert not plan_for(lambda x: enp.exp(x - x.max(axis=1, keepdims=True)), (N, 48)).blueprint.blocks
    assert list(in_blocks(eqsat.trace(lambda x: x * 2, eqsat.spec((N, 48), "float32"))))
