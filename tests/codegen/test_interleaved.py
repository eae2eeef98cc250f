"""Vectors that a loop computes side by side: how many, and that what is computed does not depend on it."""

from __future__ import annotations

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.codegen import kernel_code
from eqsat.codegen.builder import Registers
from eqsat.codegen.folds.interleaved import longest_row, side_by_side
from eqsat.codegen.llvm.machine import host, optimized_text
from eqsat.ir.tensor import Scalar
from eqsat.lowering import type_indices
from tests.codegen.modules import emit_module
from tests.codegen.nests import call, elementwise, rows, run

WIDE, NARROW = Registers(64, 28), Registers(32, 12)
COUNT = '"llvm.loop.interleave.count", i32 4'


def product(x: Scalar) -> Scalar:
    """tanh(x) * exp(x)."""
    return call("multiply", call("tanh", x), call("exp", x))


def emitted(size: int, dtype: str = "float32") -> str:
    return emit_module([type_indices(elementwise(product, (dtype,), size))], "default", host().abilities, NARROW)


def body(row: int, beside: int = 0, loads: int = 3) -> list[str]:
    """Instructions in a row, and others beside them."""
    lines = [f"  %v{k} = fadd float %v{k - 1}, %a" for k in range(row)]
    return lines + [f"  %w{k} = {'load float, ptr %p' if k < loads else 'fneg float %a'}" for k in range(beside)]


def test_the_longest_row_is_that_of_what_needs_each_other() -> None:
    assert longest_row(body(7, 20)) == 7
    assert longest_row(["  %a = load float, ptr %p", "  %b = fneg float %a", "  store float %b, ptr %q"]) == 2
    assert longest_row([]) == 0


@pytest.mark.parametrize(
    ("row", "beside", "count"),
    [
        (3, 0, 1),
        (16, 0, 1),
        (17, 0, 4),
        (15, 16, 1),  # waits little
        (20, 20, 4),
        (20, 60, 1),  # enough beside what waits, and to be loaded
        (30, 200, 4),
        (250, 0, 4),
        (400, 0, 2),
        (2000, 0, 1),
    ],
)
def test_bodies_that_wait_are_computed_side_by_side(row: int, beside: int, count: int) -> None:
    assert side_by_side(body(row, beside), 1 << 20, 4, NARROW) == count


@pytest.mark.parametrize(
    ("extent", "registers", "count"),
    [
        (32, NARROW, 4),
        (35, NARROW, 4),
        (28, NARROW, 1),
        (48, NARROW, 2),
        (100, NARROW, 4),
        (127, NARROW, 2),
        (48, WIDE, 1),
        (1000, WIDE, 4),
    ],
)
def test_short_loops_are_left_no_rest_that_fills_vectors(extent: int, registers: Registers, count: int) -> None:
    assert side_by_side(body(50), extent, 4, registers) == count


def test_what_loads_little_waits_even_if_there_is_more_beside() -> None:
    assert [side_by_side(body(20, 60, loads), 1 << 20, 4, NARROW) for loads in (2, 3)] == [4, 1]


def test_wider_elements_make_more_vectors_of_a_loop() -> None:
    assert [side_by_side(body(50), 24, size, NARROW) for size in (4, 8)] == [1, 2]


def test_the_note_stands_on_loops_of_long_bodies_only() -> None:
    assert COUNT in emitted(1 << 12)
    assert COUNT not in emit_module([type_indices(elementwise(lambda x: call("add", x, x), ("float32",), 1 << 12))], "default")
    assert COUNT not in emit_module([type_indices(rows("sum", (8, 2048), "float32"))], "default")


def test_searches_wait_for_each_element_that_they_look_at() -> None:
    specs = eqsat.spec((500,), "float32"), eqsat.spec((4096,), "float32")
    assert COUNT in eqsat.optimize(lambda a, v: enp.searchsorted(a, v), *specs).llvm_ir


def test_the_loop_over_vectors_has_several_of_them() -> None:
    text = optimized_text(emitted(1 << 12))
    body = text[text.index("vector.body:") :]
    assert body[: body.index("br i1")].count("load <") == 4


@pytest.mark.parametrize("size", [1, 7, 31, 32, 33, 63, 64, 65, 100, 127, 129, 1000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_do_not_depend_on_how_many_are_side_by_side(size: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = elementwise(product, (dtype,), size)
    values = np.linspace(-5, 5, size).astype(dtype)
    found = run(kernel, values)
    monkeypatch.setattr(kernel_code, "side_by_side", lambda *_: 1)
    np.testing.assert_array_equal(found, run(kernel, values))
