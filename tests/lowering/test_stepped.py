"""Loops that step over elements: picked out of vectors, the values of NumPy, and nothing read behind the array."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.codegen import compile_kernels
from eqsat.codegen.builder import Registers
from eqsat.codegen.llvm.machine import assembly_text
from eqsat.ir.index import apply
from eqsat.ir.loops import For, Kernel, statements
from eqsat.ir.loops_check import check_kernel
from eqsat.ir.tensor import Build, Call, Input, Literal, Position, Read, Reduce, Scalar, axes, reduction
from eqsat.lowering import hoist, type_indices
from eqsat.lowering.movements.stepped import FEWEST, MOST, MOST_PICKED
from tests.codegen.modules import emit_module
from tests.effort import some
from tests.lowering.builds import check_offered, inputs_of, offered, reference, run

Array = np.ndarray[Any, Any]


def window(extent: int, step: int, reach: int, op: str = "maximum", dtype: str = "float32") -> Build:
    """Rows of `extent`: an operation over `reach` neighbours of every `step`-th element; the last one read ends the array."""
    x = Input("x", (3, (extent - 1) * step + reach), dtype)
    i, j = axes((3, extent))
    elements: list[Scalar] = [Read(x, (i, j * step + k)) for k in range(reach)]
    return Build((3, extent), functools.reduce(lambda a, b: Call(op, (a, b), dtype), elements[1:], elements[0]))


def in_steps(build: Build) -> list[Kernel]:
    found = [k for k in offered(build, "stepped") if any(isinstance(s, For) and s.kind == "tile" for s in statements(k.body))]
    for kernel in found:
        check_kernel(kernel)
    return found


@pytest.mark.parametrize(("extent", "step", "dtype"), some(itertools.product([4, 7, 16, 17, 33, 41], [2, 3, 4], ["float32", "uint8"]), 5))
def test_windows_equal_the_interpreter(extent: int, step: int, dtype: str) -> None:
    for reach, op in ((1, "add"), (3, "maximum"), (step, "subtract")):
        build = window(extent, step, reach, op, dtype)
        kernels = in_steps(build)
        assert kernels
        for kernel in kernels:
            if extent < 10:
                np.testing.assert_array_equal(run(kernel, build)[0], reference(build)[0])
            np.testing.assert_array_equal(machine(kernel, build), reference(build)[0])


def machine(kernel: Kernel, build: Build) -> Array:
    """What the compiled kernel writes; behind what it reads stands what would show."""
    routine = compile_kernels([type_indices(hoist(kernel))], "default").routine(kernel.name)
    (array,) = inputs_of(build).values()
    out = np.zeros(build.size, build.dtype)
    routine([array.ravel(), out])
    return out.reshape(build.shape)


@pytest.mark.parametrize("step", [2, 3, 4])
@pytest.mark.parametrize("width", [4, 8, 16])
def test_no_load_goes_behind_the_last_element(step: int, width: int) -> None:
    """Of a row of its own: the addresses that the code adds to the first element, with the width of the vectors."""
    kernel = hoist(in_steps(window(width, step, 1))[0])
    text = emit_module([type_indices(kernel)], "default", registers=Registers(4 * width, 28))
    body = text.split("define")[1]
    offsets = [int(line.split("i64 ")[-1]) for line in body.splitlines() if "getelementptr inbounds float" in line and ", i64 " in line]
    assert f"load <{width} x float>" in body
    assert max(offsets) + width == (width - 1) * step + 1


@pytest.mark.parametrize("registers", [Registers(64, 24), Registers(32, 12), Registers(16, 12)])
def test_every_width_of_registers_is_legal_code(registers: Registers) -> None:
    for kernel in in_steps(window(33, 3, 2)):
        assert assembly_text(emit_module([type_indices(hoist(kernel))], "default", registers=registers))


def test_what_does_not_step_has_no_tile() -> None:
    r = reduction(0, 3)
    i, j = axes((3, 16))
    x = Input("x", (3, 64), "float32")
    assert not in_steps(window(16, 1, 3))
    assert not in_steps(window(16, 5, 1))
    assert not in_steps(window(FEWEST - 1, 2, 1))
    assert not in_steps(window(MOST + 1, 2, 1))
    assert not in_steps(Build((3, 16), Reduce("max", r, Read(Input("y", (3, 40, 3), "float32"), (i, j * 2, r)))))
    assert not in_steps(Build((3, 16), Call("add", (Read(x, (i, j * 2)), Read(x, (i, 63 - j * 2))), "float32")))


@pytest.mark.parametrize(("extent", "step"), some(itertools.product([4, 24, 32, 130, 300], [2, 3, 5, 9, -2]), 4))
def test_what_functions_step_over_is_picked_first(extent: int, step: int) -> None:
    i, j = axes((11, extent))
    x, scale = Input("x", (11, extent * abs(step)), "float32"), Read(Input("s", (11,), "float32"), (i,))
    picked = Read(x, (i, j * step if step > 0 else (extent - 1 - j) * -step))
    build = Build((11, extent), Call("where", (Call("less", (picked, scale), "bool"), picked, scale), "float32"))
    check_offered(build, "stepped")


def test_few_loads_are_picked_first() -> None:
    for reach in (MOST_PICKED, MOST_PICKED + 1):
        build = window(16, MOST_PICKED + 1, reach)
        assert bool(offered(Build(build.shape, Call("exp", (build.body,), "float32")), "stepped")) == (reach <= MOST_PICKED)


def test_functions_of_short_rows_with_steps_are_vectors() -> None:
    """LLVM does the last 16 of 32 one by one, and all of them where it steps over five: 23 and 38 us of 17,000, now 5 and 6."""
    for step in (2, 5):
        (kernel,) = eqsat.optimize(
            lambda a, step=step: enp.exp(a[:, : 32 * step : step]), eqsat.spec((531, 32 * step + 3), "float32")
        ).loops
        assert kernel.scratch


POOLS: dict[str, Callable[[Any, Any], Any]] = {
    "greatest of 3 x 3, every second": lambda xp, x: functools.reduce(xp.maximum, _windows(x, 2)),
    "sum of 3 x 3, every third": lambda xp, x: functools.reduce(xp.add, _windows(x, 3)),
    "greatest of 3 x 3, every second, padded": lambda xp, x: functools.reduce(xp.maximum, _windows(_padded(xp, x), 2)),
    "sum of 3 x 3, every third, padded": lambda xp, x: functools.reduce(xp.add, _windows(_padded(xp, x), 3)),
    "every second": lambda xp, x: x[:, ::2, ::2] * 2,
    "square roots of every fourth": lambda xp, x: xp.sqrt(abs(x[:, :, 1::4])) / 2,
}


def _padded(xp: Any, x: Any) -> Any:
    return xp.pad(x, ((0, 0), (1, 1), (1, 1)), constant_values=-2)


def _windows(x: Any, step: int) -> list[Any]:
    high, wide = x.shape[1:]
    return [x[:, i : high - 2 + i : step, j : wide - 2 + j : step] for i in range(3) for j in range(3)]


@pytest.mark.parametrize(("side", "name"), some(itertools.product([9, 17, 33, 50, 65], POOLS)))
def test_pools_equal_numpy(name: str, side: int) -> None:
    x = np.random.default_rng(side).integers(-9, 9, (2, side, side)).astype("float32")
    x[0, 4, 4] = np.nan
    np.testing.assert_array_equal(eqsat.optimize(lambda x: POOLS[name](enp, x), x)(x), POOLS[name](np, x))


def test_pools_of_padded_arrays_pick_elements_in_pieces() -> None:
    """Within a piece the loop is a tile, as that of an array without padding."""
    x = np.zeros((3, 65, 65), "float32")
    loops = eqsat.optimize(lambda x: POOLS["greatest of 3 x 3, every second, padded"](enp, x), x).loops
    assert "tile" in str(loops[0])
    assert "where" not in str(loops[0])


@pytest.mark.parametrize("step", [2, 3, 4])
@pytest.mark.parametrize("extent", [7, 16, 33])
def test_pieces_that_step_equal_the_interpreter(extent: int, step: int) -> None:
    x = Input("x", (6, extent * step), "int32")
    i, j = axes((6, extent))
    inside = Position(apply("ge", j * step, 2), "bool")
    behind = Read(x, (i, apply("max", j * step - 2, 0)))
    body = Call("add", (Call("where", (inside, behind, Literal(5, "int32")), "int32"), Read(x, (i, j * step))), "int32")
    check_offered(Build((6, extent), body), "picked")
