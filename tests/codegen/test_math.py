from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from eqsat.codegen import Routine, compile_kernels, object_code
from eqsat.codegen.emit import emit_module
from eqsat.codegen.fold import Numerics
from eqsat.lowering import type_indices
from tests.codegen.nests import Array, call, compiled, elementwise

SIZE = 1 << 18
FUNCTIONS = ("exp", "log", "tanh")
MODES: tuple[Numerics, ...] = ("exact", "default", "fast")


def routine(name: str, dtype: str, numerics: Numerics = "default") -> Routine:
    return compiled([elementwise(lambda x: call(name, x), (dtype,), SIZE)], numerics).routine("elementwise")


def portable(name: str, dtype: str) -> Routine:
    """The code for hosts that do not scale by powers of two in one instruction."""
    kernel = elementwise(lambda x: call(name, x), (dtype,), SIZE)
    text = emit_module([type_indices(kernel)], "default", scales=False)
    assert "ldexp" not in text
    return compile_kernels([type_indices(kernel)], make_object=lambda _: object_code(text)).routine("elementwise")


def ulps(found: Array, reference: Array, dtype: str) -> Array:
    """The error in units of the last place of the format at the reference, which is more precise."""
    info = np.finfo(dtype)
    exponent = np.frexp(np.maximum(np.abs(reference), reference.dtype.type(info.smallest_normal)))[1] - 1
    error: Array = np.abs(found.astype(reference.dtype) - reference) / np.ldexp(reference.dtype.type(1), exponent - info.nmant)
    return error


def worst(name: str, dtype: str, chunks: Iterator[Array], code: Routine) -> float:
    """The largest error in ulp; infinities and NaN must agree exactly."""
    result = 0.0
    for x in chunks:
        found = np.empty_like(x)
        code([x, found])
        with np.errstate(all="ignore"):
            reference = getattr(np, name)(x.astype(np.float64 if dtype == "float32" else np.longdouble))
            rounded = reference.astype(dtype)
        finite = np.isfinite(rounded)
        np.testing.assert_array_equal(found[~finite], rounded[~finite])
        result = max(result, float(ulps(found[finite], reference[finite], dtype).max(initial=0)))
    return result


def patterns(dtype: str, count: int) -> Iterator[Array]:
    """Numbers of every sign and exponent, NaN and infinities among them: evenly spaced bit patterns."""
    bits = np.dtype(f"uint{8 * np.dtype(dtype).itemsize}")
    step = (1 << (8 * bits.itemsize)) // (count * SIZE)
    for k in range(count):
        first = np.uint64(k * SIZE * step + 12345 % step)
        yield (first + np.arange(SIZE, dtype=np.uint64) * np.uint64(step)).astype(bits).view(dtype)


def uniform(dtype: str, ranges: list[tuple[float, float]]) -> Iterator[Array]:
    rng = np.random.default_rng(7)
    for low, high in ranges:
        yield rng.uniform(low, high, SIZE).astype(dtype)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32_is_within_2_ulp_on_two_million_points_of_every_exponent(name: str) -> None:
    assert worst(name, "float32", patterns("float32", 8), routine(name, "float32")) < 2


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float64_is_within_2_ulp(name: str) -> None:
    if np.finfo(np.longdouble).nmant < 60:
        pytest.skip("long double is no wider than double here")
    ranges = [(-746.0, 710.0), (-20.0, 20.0), (-1.0, 1.0), (0.5, 2.0), (0.0, 1e-300)]
    assert worst(name, "float64", patterns("float64", 2), routine(name, "float64")) < 2
    assert worst(name, "float64", uniform("float64", ranges), routine(name, "float64")) < 2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("numerics", MODES)
def test_no_mode_loosens_the_error(name: str, dtype: str, numerics: Numerics) -> None:
    if dtype == "float64" and np.finfo(np.longdouble).nmant < 60:
        pytest.skip("long double is no wider than double here")
    assert worst(name, dtype, uniform(dtype, [(-90.0, 90.0), (0.0, 3.0)]), routine(name, dtype, numerics)) < 2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exp_without_a_scaling_instruction_is_within_2_ulp_down_to_the_last_denormal(dtype: str) -> None:
    ends = {"float32": [(-105.0, -86.0), (-90.0, 90.0)], "float64": [(-747.0, -707.0), (-746.0, 711.0)]}[dtype]
    if dtype == "float64" and np.finfo(np.longdouble).nmant < 60:
        pytest.skip("long double is no wider than double here")
    assert worst("exp", dtype, uniform(dtype, ends), portable("exp", dtype)) < 2
    assert worst("exp", dtype, patterns(dtype, 2), portable("exp", dtype)) < 2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("numerics", MODES)
def test_special_values_are_those_of_numpy(dtype: str, numerics: Numerics) -> None:
    info = np.finfo(dtype)
    tiny, denormal = float(info.smallest_normal), float(info.smallest_subnormal)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, denormal, -denormal, tiny / 3, tiny, -tiny, float(info.max), -float(info.max), -1.0, 1.0]
    special += [88.7, 88.8, -87.4, -103.9, -104.1, 709.7, 709.8, -708.5, -745.1, -745.2, 9.1, -9.1, 19.1, 40.0, 0.625, -0.625]
    x = np.zeros(SIZE, dtype)
    x[: len(special)] = special
    for name in FUNCTIONS:
        found = np.empty_like(x)
        routine(name, dtype, numerics)([x, found])
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(x.astype(np.longdouble)).astype(dtype)
        np.testing.assert_allclose(found, expected, rtol=2 * float(info.eps), atol=2 * denormal, err_msg=name)
        np.testing.assert_array_equal(np.signbit(found[expected == 0]), np.signbit(expected[expected == 0]), err_msg=name)
        exact = ~np.isfinite(expected) | np.isin(expected, [0, 1, -1])
        np.testing.assert_array_equal(found[exact], expected[exact], err_msg=name)
