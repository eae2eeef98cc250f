"""Elements at computed places of small tables are chosen from registers: the values are NumPy's, and nothing behind a table is read."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.codegen.llvm.machine import assembly_text, host, machine_of
from eqsat.ir.small_tables import MOST, is_small_table
from eqsat.lowering import type_indices
from tests.codegen.modules import emit_module

Array = np.ndarray[Any, Any]
DTYPES = ("uint8", "int8", "bool", "uint16", "int16", "float16", "int32", "float32", "int64", "float64", "complex64")
COUNTS = (1, 3, 16, 17, 64, 100, 256, 257, 512)
PLACES = ("int64", "uint8", "int16")
PAGE = mmap.PAGESIZE


def table(count: int, dtype: str) -> Array:
    return np.random.default_rng(count).integers(0, 2 if dtype == "bool" else 120, count).astype(dtype)


def places(shape: tuple[int, ...], count: int, dtype: str) -> Array:
    """Some from the end, where the dtype has numbers below zero."""
    least = -count if dtype != "uint8" else 0
    return np.random.default_rng(count).integers(max(least, -(2**15)), min(count, 256 if dtype == "uint8" else 2**15), shape).astype(dtype)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("at", PLACES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_are_numpys(dtype: str, at: str, count: int) -> None:
    values = table(count, dtype)
    for length in (5, 1000):
        chosen = places((length,), count, at)
        np.testing.assert_array_equal(eqsat.optimize(lambda t, i: enp.take(t, i), values, chosen)(values, chosen), values[chosen])


@pytest.mark.parametrize("length", [1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 63, 64, 65, 129])
def test_loops_of_any_length(length: int) -> None:
    values, chosen = table(100, "uint8"), places((length,), 100, "uint8")
    np.testing.assert_array_equal(eqsat.optimize(lambda t, i: t[i], values, chosen)(values, chosen), values[chosen])


def test_elements_are_computed_with() -> None:
    weights, bias, kinds = table(10, "float32"), table(7, "float64"), places((40, 33), 7, "int64")

    def function(xp: Any, w: Any, b: Any, k: Any) -> Any:
        return xp.sqrt(xp.take(w, k)) * 2 + xp.take(b, k), xp.sum(xp.take(w, k), axis=1), xp.where(k > 2, xp.take(w, k), 0)

    found = eqsat.optimize(lambda *args: function(enp, *args), weights, bias, kinds)(weights, bias, kinds)
    for one, expected in zip(found, function(np, weights, bias, kinds), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-6)


def test_tables_of_several_axes_and_tables_of_tables() -> None:
    values, first, second = table(60, "float32").reshape(4, 15), places((500,), 4, "int32"), places((500,), 15, "uint8")
    np.testing.assert_array_equal(
        eqsat.optimize(lambda t, i, j: t[i, j], values, first, second)(values, first, second), values[first, second]
    )
    one, other, chosen = table(256, "uint8"), table(256, "uint8"), places((999,), 256, "uint8")
    np.testing.assert_array_equal(eqsat.optimize(lambda s, t, i: t[s[i]], one, other, chosen)(one, other, chosen), other[one[chosen]])


def test_a_table_that_the_kernel_makes_itself() -> None:
    """Only what nobody writes while a kernel runs is read past what LLVM knows of it."""
    values, chosen = table(16, "float32"), places((300,), 16, "int64")

    def function(xp: Any, t: Any, i: Any) -> Any:
        t = xp.cumsum(t * 2)
        return xp.take(t, i) + xp.take(xp.cumsum(t), i)

    np.testing.assert_allclose(
        eqsat.optimize(lambda t, i: function(enp, t, i), values, chosen)(values, chosen), function(np, values, chosen)
    )


@pytest.mark.parametrize("columns", [2, 5, 8, 24, 31, 64, 130])
@pytest.mark.parametrize("at", PLACES)
@pytest.mark.parametrize("dtype", ["uint8", "bool", "float32", "float64"])
def test_a_row_is_a_table_for_its_elements(dtype: str, at: str, columns: int) -> None:
    values = table(33 * columns, dtype).reshape(33, columns)
    for count in (columns, 70):
        same, own = places((count,), columns, at), places((33, count), columns, at)
        result = eqsat.optimize(lambda x, i, j: (x[:, i], enp.take_along_axis(x, j, axis=1)), values, same, own)
        found = result(values, same, own)
        np.testing.assert_array_equal(found[0], values[:, same])
        np.testing.assert_array_equal(found[1], np.take_along_axis(values, own, axis=1))


def test_rows_that_elements_choose_and_planes() -> None:
    values, rows, columns = table(40 * 64, "float32").reshape(40, 64), places((50,), 40, "int32"), places((50, 64), 64, "int32")
    found = eqsat.optimize(lambda x, i, j: x[i[:, None], j], values, rows, columns)(values, rows, columns)
    np.testing.assert_array_equal(found, values[rows[:, None], columns])
    planes, first, second = values.reshape(10, 4, 64), places((77,), 4, "int64"), places((77,), 64, "int64")
    found = eqsat.optimize(lambda x, i, j: x[:, i, j], planes, first, second)(planes, first, second)
    np.testing.assert_array_equal(found, planes[:, first, second])


@pytest.fixture
def page() -> Iterator[Array]:
    """A page of memory behind which nothing may be read."""
    memory = mmap.mmap(-1, 2 * PAGE)
    buffer = (ctypes.c_char * (2 * PAGE)).from_buffer(memory)
    libc = ctypes.CDLL(None, use_errno=True)
    behind = ctypes.c_void_p(ctypes.addressof(buffer) + PAGE)
    assert libc.mprotect(behind, PAGE, 0) == 0
    yield np.frombuffer(memory, np.uint8, PAGE)
    assert libc.mprotect(behind, PAGE, 3) == 0


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mprotect"), reason="the system has no mprotect")
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
def test_nothing_behind_a_table_is_read(page: Array, dtype: str) -> None:
    for count in (2, 9, 17, 32, 33, 100, 250):
        values = page[PAGE - count * np.dtype(dtype).itemsize :].view(dtype)
        values[:] = table(count, dtype)
        chosen = places((777,), count, "int64")
        np.testing.assert_array_equal(eqsat.optimize(lambda t, i: enp.take(t, i), values, chosen)(values, chosen), values[chosen])
        rows = page[PAGE - 2 * values.nbytes :].view(dtype).reshape(2, count)
        np.testing.assert_array_equal(eqsat.optimize(lambda t, i: t[:, i], rows, chosen)(rows, chosen), rows[:, chosen])


def loops(dtype: str, count: int) -> Any:
    specs = eqsat.spec((count,), dtype), eqsat.spec((10_000,), "uint8")
    return [type_indices(kernel) for kernel in eqsat.optimize(lambda t, i: enp.take(t, i), *specs).loops]


@pytest.mark.parametrize(
    ("dtype", "count", "instruction"),
    [("uint8", 256, "vpermi2b|vpermt2b"), ("int16", 32, "vpermw"), ("float32", 32, "vpermi2|vpermt2"), ("float64", 8, "vpermpd|vpermq")],
)
def test_machines_that_choose_do(dtype: str, count: int, instruction: str) -> None:
    if "x86_64" not in host().triple:
        pytest.skip("the host is no x86-64, whose triple is that of the machine")
    machine = machine_of(host().triple, "icelake-server")
    code = assembly_text(emit_module(loops(dtype, count), "default", machine.abilities, machine.registers), machine)
    assert any(one in code for one in instruction.split("|"))


@pytest.mark.parametrize("cpu", ["haswell", "skylake-avx512"])
def test_others_load_what_they_cannot_choose(cpu: str) -> None:
    machine = machine_of("x86_64-unknown-linux-gnu", cpu)
    for dtype, count in (("uint8", 256), ("float32", 16)):
        text = emit_module(loops(dtype, count), "default", machine.abilities, machine.registers)
        assert ("@table." in text) == (cpu == "skylake-avx512" and dtype == "float32")
        assembly_text(text, machine)


def test_what_is_small() -> None:
    assert all(is_small_table(dtype, (MOST[size],)) for dtype, size in (("uint8", 1), ("float32", 4), ("float64", 8)))
    assert not any(is_small_table(dtype, (MOST[size] + 1,)) for dtype, size in (("uint8", 1), ("float32", 4), ("float64", 8)))
    assert not is_small_table("float32", (1,))
    assert not is_small_table("complex64", (4,))


# functions of bytes ------------------------------------------------------------------------------------------------------
BYTES = np.random.default_rng(5).integers(0, 256, (60, 71)).astype("uint8")
FUNCTIONS: dict[str, Any] = {
    "gamma": lambda xp, x: ((x.astype("float32") / 255) ** 0.45 * 255 + 0.5).astype("uint8"),
    "linear light": lambda xp, x: xp.where(x > 10, ((x.astype("float32") / 255 + 0.055) / 1.055) ** 2.4, x.astype("float32") / 3294.6),
    "contrast": lambda xp, x: xp.clip((x.astype("float32") - 128) * 1.3 + 128, 0, 255).astype("uint8"),
    "digits": lambda xp, x: (x // 7 * 3 + x % 7) ^ (x >> 2),
    "kinds": lambda xp, x: ((x >= 48) & (x < 58)) | (x == 46),
    "wide": lambda xp, x: xp.exp(x.astype("float64") * -0.01) * 3 - 1,
    "sums": lambda xp, x: xp.sum(xp.sqrt(x.astype("float64")) * 0.1 + 2, axis=1),
    "two places": lambda xp, x: xp.sqrt(x[1:].astype("float32") / 255) - xp.sqrt(x[:-1].astype("float32") / 255),
}


@pytest.mark.parametrize("numerics", ["exact", "default", "fast"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_bytes_are_numpys(name: str, numerics: eqsat.Numerics) -> None:
    function = FUNCTIONS[name]
    every = np.concatenate([np.arange(256).astype("uint8").reshape(-1, 64), np.tile(BYTES[:, :64], (2, 1))])
    found = eqsat.optimize(lambda x: function(enp, x), every, options=eqsat.Options(numerics=numerics))(every)
    expected = function(np, every)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=0 if found.dtype.kind in "bui" else 1e-5, atol=1e-6)


def test_bytes_of_bytes_are_chosen_from_a_table_that_is_made_once() -> None:
    result = eqsat.optimize(lambda x: FUNCTIONS["gamma"](enp, x), eqsat.spec((1000, 1000), "uint8"))
    assert [nest.once for nest in result.nests] == [True, False]
    assert "function-of-a-table" in result.explain()


def test_machines_that_choose_no_bytes_compute_what_is_cheap() -> None:
    older = eqsat.Options(target=replace(eqsat.DEFAULT_TARGET, chosen_bytes=2))
    for name, nests in (("contrast", 1), ("gamma", 2)):
        result = eqsat.optimize(lambda x, name=name: FUNCTIONS[name](enp, x), eqsat.spec((300, 300), "uint8"), options=older)
        assert len(result.nests) == nests


def test_few_bytes_are_computed() -> None:
    assert len(eqsat.optimize(lambda x: FUNCTIONS["gamma"](enp, x), eqsat.spec((10, 10), "uint8")).nests) == 1
