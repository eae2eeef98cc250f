"""Running sums and products as loops: what NumPy gives, by the interpreter and as machine code, in vectors or one by one."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import prod
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.codegen import compile_kernels, parallel_extent
from eqsat.codegen.builder import Registers
from eqsat.codegen.llvm.machine import assembly_text
from eqsat.ir.loops import Buffer, Kernel
from eqsat.ir.loops_check import check_kernel
from eqsat.ir.loops_evaluate import run_kernel
from eqsat.lowering import hoist, scan as scan_module, type_indices
from eqsat.lowering.scan import STRIP, scan
from tests.codegen.modules import emit_module
from tests.effort import examples, some

Array = np.ndarray[Any, Any]
ANY: Any = np
DTYPES = ("int8", "uint32", "int64", "float32", "float64")
FUNCTIONS = {"sum": ANY.cumulative_sum, "prod": ANY.cumulative_prod}


def kernel_of(op: str, shape: tuple[int, ...], axis: int, initial: bool, given: str, made: str) -> Kernel:
    size = prod(shape) // shape[axis] * (shape[axis] + initial)
    found = scan(op, shape, axis, initial, Buffer("x", given, prod(shape), "in"), Buffer("out", made, size, "out"), "k")
    check_kernel(found)
    check_kernel(hoist(found))
    return found


def interpreted(kernel: Kernel, x: Array) -> Array:
    out = np.full(kernel.buffers[1].size, 77).astype(kernel.buffers[1].dtype)
    run_kernel(kernel, [x.ravel(), out])
    return out


def machine(kernel: Kernel, x: Array, numerics: Literal["exact", "default", "fast"] = "default") -> Array:
    out = np.full(kernel.buffers[1].size, 77).astype(kernel.buffers[1].dtype)
    compile_kernels([type_indices(hoist(kernel))], numerics).routine("k")([x.ravel(), out])
    return out


@settings(max_examples=examples(80), deadline=None, derandomize=True)
@given(
    st.sampled_from(["sum", "prod"]),
    st.lists(st.sampled_from([1, 2, 3, 5, 16, 17, 40]), min_size=1, max_size=3),
    st.integers(0, 2),
    st.booleans(),
    st.sampled_from(DTYPES),
    st.sampled_from(DTYPES),
)
def test_scans_are_numpys(op: str, shape: list[int], axis: int, initial: bool, given_dtype: str, made: str) -> None:
    """Small integers in every dtype: all sums and products below 2^24 are exact in any order; integers wrap."""
    along = axis % len(shape)
    x = np.random.default_rng(0).choice([-1, 1, 1, 2] if op == "prod" else [-3, 0, 1, 9], shape).astype(given_dtype)
    if op == "prod":
        x[np.cumsum(np.abs(x.astype(np.int64)) > 1, axis=along) > 12] = 1
    with np.errstate(over="ignore"):
        expected = FUNCTIONS[op](x, axis=along, dtype=made, include_initial=initial).ravel()
    kernel = kernel_of(op, tuple(shape), along, initial, given_dtype, made)
    np.testing.assert_array_equal(interpreted(kernel, x), expected)
    np.testing.assert_array_equal(machine(kernel, x), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [2, 15, 16, 17, 31, 33, 1000])
def test_exact_scans_are_numpys_bit_by_bit_and_others_as_close(dtype: str, length: int) -> None:
    x = np.random.default_rng(length).standard_normal((3, length)).astype(dtype)
    kernel = kernel_of("sum", x.shape, 1, False, dtype, dtype)
    np.testing.assert_array_equal(machine(kernel, x, "exact"), np.cumsum(x, axis=1).ravel())
    right = np.cumsum(x.astype(np.longdouble), axis=1).ravel()
    scale = np.finfo(dtype).eps * np.abs(x).sum()
    assert np.max(np.abs(machine(kernel, x) - right)) <= scale
    assert np.max(np.abs(machine(kernel, x) - right)) <= 3 * np.max(np.abs(np.cumsum(x, axis=1).ravel() - right)) + np.finfo(dtype).eps


def test_special_values_and_the_sign_of_zero() -> None:
    x = np.full(50, -0.0, "float32")
    kernel = kernel_of("sum", (50,), 0, False, "float32", "float32")
    assert np.signbit(machine(kernel, x)).all()
    x[20], x[30], x[40] = np.inf, 1.0, -np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(machine(kernel, x), np.cumsum(x))


@pytest.mark.parametrize(
    ("op", "dtype", "numerics"), some(itertools.product(["max", "min"], [*DTYPES, "uint8", "int16"], ["exact", "default"]))
)
def test_running_extrema_are_numpys(op: str, dtype: str, numerics: Any) -> None:
    """In vectors, whose lanes are in any order; NaN stays from where it is on."""
    function = np.maximum.accumulate if op == "max" else np.minimum.accumulate
    for shape, axis in (((3, 100), 1), ((5, 3, 64), 2), ((40, 9), 0), ((1, 5), 1), ((2, 67), 1)):
        x = np.random.default_rng(7).integers(0 if dtype.startswith("u") else -100, 100, shape).astype(dtype)
        if dtype.startswith("float"):
            x.ravel()[[1, -3]] = np.inf, -np.inf
            x[-1, ..., 2] = np.nan
        kernel = kernel_of(op, shape, axis, False, dtype, dtype)
        np.testing.assert_array_equal(machine(kernel, x, numerics), function(x, axis=axis).ravel())
        np.testing.assert_array_equal(interpreted(kernel, x), function(x, axis=axis).ravel())


@pytest.mark.parametrize(("op", "given", "made"), [("max", "float32", "float32"), ("sum", "int64", "int64"), ("sum", "uint8", "int64")])
def test_what_is_the_same_in_any_order_is_in_vectors_at_every_level(op: str, given: str, made: str) -> None:
    kernel = kernel_of(op, (4, 100), 1, False, given, made)
    assert "shufflevector" in emit_module([type_indices(hoist(kernel))], "exact")
    x = np.random.default_rng(7).integers(0, 200, (4, 100)).astype(given)
    expected = np.maximum.accumulate(x, axis=1) if op == "max" else np.cumsum(x, axis=1, dtype=made)
    np.testing.assert_array_equal(machine(kernel, x, "exact"), expected.ravel())


def test_many_lanes_are_run_in_strips() -> None:
    x = np.random.default_rng(0).integers(0, 9, (3, 2 * STRIP)).astype("float32")
    kernel = kernel_of("sum", x.shape, 0, False, "float32", "float32")
    assert "strip" in str(kernel)
    np.testing.assert_array_equal(machine(kernel, x), np.cumsum(x, axis=0).ravel())
    np.testing.assert_array_equal(interpreted(kernel, x), np.cumsum(x, axis=0).ravel())


@pytest.mark.parametrize("shape", [(5, 16), (3, 5, 16), (4, 5, 16), (3, 5, 24), (1, 5, 26), (9, 5, 16)])
def test_strips_of_few_rows_are_shared_evenly(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan_module, "LEAST_STRIP", 4)
    x = np.random.default_rng(0).integers(0, 9, shape).astype("float32")
    kernel = kernel_of("sum", shape, len(shape) - 2, False, "float32", "float32")
    extent = parallel_extent(kernel) or 0
    assert extent % 2 == 0 or extent > 8
    np.testing.assert_array_equal(machine(kernel, x), np.cumsum(x, axis=-2).ravel())
    np.testing.assert_array_equal(interpreted(kernel, x), np.cumsum(x, axis=-2).ravel())


def test_sums_of_a_row_are_added_up_within_vectors() -> None:
    kernel = kernel_of("sum", (4, 100), 1, False, "float32", "float32")
    for registers, lanes in ((Registers(64, 24), 16), (Registers(32, 12), 8), (Registers(16, 12), 4)):
        text = emit_module([type_indices(hoist(kernel))], "default", registers=registers)
        assert text.count("shufflevector") == lanes.bit_length() + 1  # log2(lanes) shifts; the sum before, and each next, in all lanes
        assert assembly_text(text)
    assert "shufflevector" not in emit_module([type_indices(hoist(kernel))], "exact")


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("dtype", ["bool", "float16", "complex64", "complex128"])
@pytest.mark.parametrize(("shape", "axis"), [((3, 50), 1), ((50, 33), 0), ((4, 1, 9), 2)])
def test_truth_values_halves_and_complex_numbers_run_step_by_step(name: str, dtype: str, shape: tuple[int, ...], axis: int) -> None:
    """Halves are rounded at every step."""
    rng = np.random.default_rng(0)
    x = (rng.integers(-9, 9, shape) + (rng.integers(-9, 9, shape) * 1j if "complex" in dtype else 0)).astype(dtype)
    x = x if dtype == "bool" else (x / 7).astype(dtype)
    x.flat[7] = 0 if dtype == "bool" or name == "multiply" else np.nan
    function = getattr(np, name)
    found = eqsat.optimize(lambda v: function.accumulate(v, axis=axis), x)
    with np.errstate(all="ignore"):
        exact = dtype in ("bool", "float16") or name != "multiply"  # products of complex numbers are rounded fewer times
        rtol = 0 if exact else 1e-4 if dtype == "complex64" else 1e-12
        np.testing.assert_allclose(np.asarray(found(x)), function.accumulate(x, axis=axis), rtol=rtol)
    assert bool(found.loops) == (axis == 0 or name in ("add", "multiply") or dtype == "bool")


def test_steps_around_long_rows_stay_a_loop() -> None:
    """LLVM wrote out 16 steps of 1,000 sums each, and took five seconds for it."""
    text = eqsat.optimize(lambda x: np.cumsum(x, axis=0), eqsat.spec((16, 1000), "float32")).llvm_ir
    assert text.count("llvm.loop.unroll.disable") == 1


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(5, 6, 7), (40, 3, 8), (64, 65, 4)])
def test_running_folds_that_begin_with_what_an_empty_one_has_equal_numpy(shape: tuple[int, ...], axis: int) -> None:
    """What they are of, and what is made of them, may be computed with them where they do not."""
    x = np.random.default_rng(axis).uniform(0.9, 1.1, shape)
    before: list[Callable[[Any, Any], Any]] = [lambda xp, v: v, lambda xp, v: v * 2 + 1, lambda xp, v: xp.flip(v, axis)]
    behind: list[Callable[[Any, Any], Any]] = [*before, lambda xp, v: xp.sum(v, axis=axis), lambda xp, v: v[1:]]
    for one, other, name, initial in some(itertools.product(before, behind, ("cumulative_sum", "cumulative_prod"), (True, False))):

        def program(xp: Any, x: Any, one: Any = one, other: Any = other, name: str = name, initial: bool = initial) -> Any:
            return other(xp, getattr(xp, name)(one(xp, x), axis=axis, include_initial=initial))

        np.testing.assert_allclose(eqsat.jit(lambda x, program=program: program(enp, x))(x), program(np, x), rtol=1e-9)


def test_a_step_that_nothing_reads_is_not_run() -> None:
    """The imaginary part of integers is zero, whatever they are."""
    x = np.ones((4, 6), bool)
    result = eqsat.optimize(lambda x: enp.imag(enp.cumsum(x, 0) * 2), x)
    assert len(result.loops) == 1
    assert float(result.cost) <= float(result.original_cost)
    np.testing.assert_array_equal(result(x), np.zeros((4, 6), int))
