"""Loops beside each other that read the same elements are one; others, and those that need each other's results, stay apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.index import Index, Var
from eqsat.ir.loops import For, Let, Load, Stmt, Store, Temp, statements
from eqsat.ir.tensor import Call, Literal, Scalar
from eqsat.lowering.sharing.alongside import MOST_STORES, alongside

J, K = Var("j", 0, 63), Var("k", 0, 63)


def load(index: Index, buffer: str = "x") -> Scalar:
    return Load(buffer, index, "float32")


def loop(variable: Var, *body: Stmt) -> For:
    return For(variable, "parallel", body)


def store(index: Index, value: Scalar, buffer: str = "out", combine: Any = None) -> Store:
    return Store(buffer, index, value, combine)


def loops(body: tuple[Stmt, ...]) -> int:
    return sum(isinstance(stmt, For) for stmt in statements(body))


def test_even_and_odd_elements_are_read_once() -> None:
    both = alongside((loop(J, store(J + 0, load(J * 2))), loop(K, store(K + 64, load(K * 2 + 1)))))
    assert both == (loop(J, store(J + 0, load(J * 2)), store(J + 64, load(J * 2 + 1))),)


def test_loops_in_loops_are_joined_where_the_inner_ones_are() -> None:
    row, line = Var("row", 0, 7), Var("line", 0, 7)
    one = loop(row, loop(J, store(row * 64 + J, load(row * 128 + J * 2))))
    other = loop(line, loop(K, store(line * 64 + K + 512, load(line * 128 + K * 2 + 1))))
    assert loops(alongside((one, other))) == 2
    apart = loop(line, loop(K, store(line * 64 + K + 512, load(line * 64 + K + 4096))))
    assert loops(alongside((one, apart))) == 4


@pytest.mark.parametrize(
    ("second", "value"),
    [
        (Var("k", 0, 62), lambda k: load(k * 2 + 1)),  # another range
        (K, lambda k: load(k * 2 + 2)),  # elements of the next step
        (K, lambda k: load(k + 1)),  # neighbours
        (K, lambda k: load(k * 2, "y")),  # another array
        (K, lambda k: load(k * 3)),  # nearer and farther
    ],
)
def test_what_reads_nothing_in_common_stays_apart(second: Var, value: Callable[[Var], Scalar]) -> None:
    body = (loop(J, store(J + 0, load(J * 2 if second.hi == 63 else J + 0))), loop(second, store(second + 64, value(second))))
    assert alongside(body) == body


def test_what_is_stored_is_not_loaded_and_not_added_to() -> None:
    body = (loop(J, store(J + 0, load(J * 2))), loop(K, store(K + 64, load(K * 2, "out"))))
    assert alongside(body) == body
    body = (loop(J, store(J + 0, load(J * 2))), loop(K, store(K + 0, load(K * 2), combine="sum")))
    assert alongside(body) == body


def test_a_loop_is_behind_the_values_that_it_needs() -> None:
    between = Let("t", load(Var("i", 0, 3) + 0, "w"))
    body = (
        loop(J, store(J + 0, load(J * 2))),
        between,
        loop(K, store(K + 64, Call("add", (load(K * 2), Temp("t", "float32")), "float32"))),
    )
    first, second = alongside(body)
    assert first is between
    assert loops((second,)) == 1


def test_one_loop_stores_so_much_and_no_more() -> None:
    variables = [Var(f"j{k}", 0, 63) for k in range(MOST_STORES + 1)]
    values = [Call("add", (load(v + 0), Literal(float(k), "float32")), "float32") for k, v in enumerate(variables)]
    body = tuple(loop(v, store(v + 64 * k, value)) for k, (v, value) in enumerate(zip(variables, values, strict=True)))
    assert loops(alongside(body)) == 2


PROGRAMS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda xp, x: xp.concatenate([x[:, ::2], x[:, 1::2]], 1),
    lambda xp, x: xp.concatenate([x[:, ::3], x[:, 1::3], x[:, 2::3]], 1),
    lambda xp, x: xp.concatenate([x[:, ::2] + x[:, 1::2], x[:, ::2] - x[:, 1::2]], 1),
    lambda xp, x: xp.stack([x[::2, ::2] + x[1::2, 1::2], x[1::2, ::2] * x[::2, 1::2]]),
    lambda xp, x: xp.concatenate([x * 2, x + 1, -x], 0),
    lambda xp, x: xp.concatenate([x[:-1] - x[1:], x[:1], x[1:] + x[:-1]], 0),
)


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_are_numpys(program: Callable[[Any, Any], Any]) -> None:
    x = np.random.default_rng(5).standard_normal((24, 66)).astype(np.float32)
    np.testing.assert_allclose(np.asarray(eqsat.jit(lambda x: program(enp, x))(x)), program(np, x), rtol=1e-6, atol=1e-6)


def test_even_and_odd_columns_are_one_loop() -> None:
    x = np.zeros((24, 66), np.float32)
    (kernel,) = eqsat.optimize(lambda x: PROGRAMS[2](enp, x), x).loops
    assert loops(kernel.body) == 2
