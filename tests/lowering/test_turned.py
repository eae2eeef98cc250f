"""Transposes in blocks: the same values as the build, whatever extents, strides and dtypes, by the interpreter and as machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.codegen import compile_kernels
from eqsat.codegen.builder import Registers
from eqsat.codegen.llvm.machine import assembly_text
from eqsat.ir.index import Index
from eqsat.ir.loops import For, Kernel, Load, Store, statements
from eqsat.ir.loops_check import check_kernel
from eqsat.ir.tensor import Build, Call, Input, Read, Scalar, axes
from eqsat.lowering import hoist, type_indices
from eqsat.lowering.movements.turned import LEAST
from tests.codegen.modules import emit_module
from tests.effort import examples, some
from tests.lowering.builds import check_offered, inputs_of, offered, reference, run

DTYPES = ("int8", "uint16", "int32", "float32", "int64", "float64")


def read(name: str, shape: tuple[int, ...], *indices: Index, dtype: str = "float32") -> Read:
    return Read(Input(name, shape, dtype), indices)


def transpose(m: int, n: int, dtype: str = "float32") -> Build:
    i, j = axes((m, n))
    return Build((m, n), read("a", (n, m), j, i, dtype=dtype))


def turned_back(m: int, n: int) -> Build:
    """A quarter turn: rows go backwards in memory."""
    i, j = axes((m, n))
    return Build((m, n), read("a", (n, m), j, m - 1 - i))


def both_ways(m: int, n: int, dtype: str = "float32") -> Build:
    """a.T * a.T[::-1] + b."""
    i, j = axes((m, n))
    product = Call("multiply", (read("a", (n, m), j, i, dtype=dtype), read("a", (n, m), j, m - 1 - i, dtype=dtype)), dtype)
    return Build((m, n), Call("add", (product, read("b", (m, n), i, j, dtype=dtype)), dtype))


def channels_last(b: int, c: int, h: int, w: int) -> Build:
    k, y, x, f = axes((b, h, w, c))
    return Build((b, h, w, c), Call("maximum", (read("a", (b, c, h, w), k, f, y, x), read("d", (c,), f)), "float32"))


CASES = {
    "one square": transpose(16, 16),
    "a wide block": transpose(16, 64),
    "both left over": transpose(37, 83),
    "few rows": transpose(9, 70),
    "few columns": transpose(70, 9),
    **{dtype: transpose(35, 45, dtype) for dtype in (*DTYPES, "bool", "float16", "complex64")},
    "backwards": turned_back(20, 31),
    "both ways": both_ways(33, 21),
    "both ways in bytes": both_ways(33, 70, "int8"),
    "channels last": channels_last(2, 9, 3, 19),
}


def in_blocks(build: Build) -> list[Kernel]:
    """The candidates in which two tile loops turn what is read."""
    return offered(build, "turned")


def check(kernel: Kernel, build: Build) -> None:
    (expected,) = reference(build)
    for form in (kernel, hoist(kernel)):
        check_kernel(form)
        np.testing.assert_array_equal(run(form, build)[0], expected)
    routine = compile_kernels([type_indices(hoist(kernel))]).routine("k")
    values = {t.name: array.ravel() for t, array in inputs_of(build).items()}
    out = np.full(build.size, 77).astype(build.dtype)
    routine([*(values[b.name] for b in kernel.buffers[:-1]), out])
    np.testing.assert_array_equal(out.reshape(build.shape), expected)


@pytest.mark.parametrize("name", CASES)
def test_blocks_hold_what_the_build_does(name: str) -> None:
    build = CASES[name]
    found = in_blocks(build)
    ways = 2 if name == "channels last" else 1  # its loops are turned as they are, and merged
    assert len(found) == (ways if build.dtype != "complex64" else 0)
    for kernel in found:
        check(kernel, build)


@settings(max_examples=examples(8, least=3), deadline=None, derandomize=True)
@given(st.integers(LEAST, 90), st.integers(LEAST, 90), st.sampled_from(DTYPES), st.sampled_from([transpose, both_ways]))
def test_any_extents_and_dtype(m: int, n: int, dtype: str, form: object) -> None:
    build = (transpose if form is transpose else both_ways)(m, n, dtype)
    (kernel,) = in_blocks(build)
    check(kernel, build)


def test_squares_are_turned_in_registers() -> None:
    """No element is loaded by itself where a block has whole squares, on machines of any registers."""
    (kernel,) = in_blocks(transpose(64, 64))
    for registers in (Registers(64, 24), Registers(32, 12), Registers(16, 12)):
        text = emit_module([type_indices(hoist(kernel))], "default", registers=registers)
        assert "shufflevector" in text
        assert "load float" not in text


def test_shuffles_stay_shuffles() -> None:
    (kernel,) = in_blocks(transpose(64, 64))
    assert "gather" not in assembly_text(emit_module([type_indices(hoist(kernel))], "default"))


def test_nothing_is_turned_where_loads_follow_the_stores_or_a_loop_is_short() -> None:
    i, j = axes((20, 20))
    alike: Scalar = Call("add", (read("a", (20, 20), i, j), read("b", (20,), i)), "float32")
    assert not in_blocks(Build((20, 20), alike))
    assert not in_blocks(transpose(LEAST - 1, 40))
    assert not in_blocks(transpose(40, LEAST - 1))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: enp.tanh(x.T),
        lambda x: enp.where(x.T > 0.5, x.T, 0),
        lambda x: enp.floor(x.T * 3) + x,
        lambda x: enp.exp(x) + enp.exp(x.T),
    ],
)
def test_functions_of_what_is_turned_are_loops_along_memory(function: Callable[..., Any]) -> None:
    """Tiles have vectors of few operations only: what LLVM knows the vectors of stands in loops of its own."""
    x = np.random.default_rng(3).random((600, 600), dtype=np.float32)
    result = eqsat.optimize(function, x)
    np.testing.assert_allclose(result(x), np.asarray(function(enp.asarray(x))), rtol=1e-6)
    (kernel,) = result.loops
    loops = [loop for loop in statements(kernel.body) if isinstance(loop, For)]
    in_tiles = [stmt.value for loop in loops if loop.kind == "tile" for stmt in loop.body if isinstance(stmt, Store)]
    assert in_tiles
    assert all(isinstance(value, Load) for value in in_tiles)


def of_two(m: int, n: int, dtype: str = "float32") -> Build:
    """where(a.T < b.T, a.T, c) with a c for each column."""
    i, j = axes((m, n))
    a, b, c = read("a", (n, m), j, i, dtype=dtype), read("b", (n, m), j, i, dtype=dtype), read("c", (n,), j, dtype=dtype)
    return Build((m, n), Call("where", (Call("less", (a, b), "bool"), a, c), dtype))


@pytest.mark.parametrize(
    ("m", "n", "dtype"),
    some([(*shape, dtype) for shape in [(16, 16), (37, 13), (9, 70), (70, 9)] for dtype in ["int8", "int16", "float32", "float64"]]),
)
def test_what_is_computed_is_turned(m: int, n: int, dtype: str) -> None:
    for build in (of_two(m, n, dtype), Build((m, n), Call("negative", (turned_back(m, n).body,), "float32"))):
        check_offered(build, "results_turned")


def test_results_are_turned_where_all_is_read_along_them() -> None:
    i, j = axes((20, 20))
    across, along = read("a", (20, 20), j, i), read("b", (20, 20), i, j)
    assert not offered(transpose(20, 20), "results_turned")  # nothing is computed
    assert not offered(Build((20, 20), Call("add", (across, along), "float32")), "results_turned")
    assert not offered(Build((20, 20), Call("less", (across, across), "bool")), "results_turned")


def test_of_several_arrays_results_are_turned() -> None:
    """Once instead of once for each: where(a > b, a - b, 0).T of 13 rows takes 184 us a million, with both turned and computed on 525."""
    (kernel,) = eqsat.optimize(lambda a, b: enp.where(a > b, a - b, 0).T, *[eqsat.spec((13, 70_000), "float32")] * 2).loops
    assert sum(isinstance(loop, For) and loop.kind == "tile" for loop in statements(kernel.body)) == 2  # one square


@pytest.mark.parametrize("dtype", ["bool", "float16", "uint8", "int16"])
@pytest.mark.parametrize(("shape", "order"), [((37, 70), (1, 0)), ((3, 40, 50), (2, 0, 1)), ((5, 33, 17), (0, 2, 1)), ((64, 64), (1, 0))])
def test_elements_that_are_only_moved_are_moved_in_squares(dtype: str, shape: tuple[int, ...], order: tuple[int, ...]) -> None:
    """Truth values and halves as integers of their size: 1,000 x 1,000 truth values 565 us -> 65, halves 640 -> 77."""
    x = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)

    def moved(xp: Any, x: Any) -> Any:
        turned = xp.transpose(x, order)
        return turned, xp.flip(turned, 0), xp.transpose(xp.roll(x, 3, 0), order)[1:], xp.pad(turned, 1)

    for found, expected in zip(eqsat.optimize(lambda x: moved(enp, x), x)(x), moved(np, x), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_squares_of_bytes_are_no_larger_than_those_of_floats() -> None:
    """LLVM took six seconds for 64 vectors of 64 bytes that it keeps in registers."""
    (kernel,) = eqsat.optimize(lambda x: x.T * 2 + 1, eqsat.spec((300, 300), "uint8")).loops
    assert max(loop.variable.extent for loop in statements(kernel.body) if isinstance(loop, For) and loop.kind == "tile") == 16
