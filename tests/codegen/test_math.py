"""Functions of codegen.math: their errors in ulp, special values, and that loops of them vectorize."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from eqsat.codegen import Routine, compile_kernels, object_code
from eqsat.codegen.folds.accumulator import Numerics
from eqsat.codegen.llvm.machine import assembly_text, host, machine_of, optimized_text
from eqsat.codegen.math import FUNCTIONS as CODE
from eqsat.lowering import type_indices
from tests.codegen.functions import ANGLES, FUNCTIONS, SIZE, Array, exact_erf, patterns, reference, routine, uniform, worst
from tests.codegen.modules import emit_module
from tests.codegen.nests import call, elementwise
from tests.effort import THOROUGH, some

MODES: tuple[Numerics, ...] = ("exact", "default", "fast")
ONE_ARGUMENT = [name for name, ranges in FUNCTIONS.items() if len(ranges) == 1]
needs_long_double = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="long double is no wider than double here")
BOTH = ["float32", pytest.param("float64", marks=needs_long_double)]
POINTS = SIZE if THOROUGH else SIZE // 8
# what takes Python a while to know exactly
SMALL = {"erf": 1 << 11}


def module(name: str, dtype: str) -> str:
    kernel = elementwise(lambda *args: call(name, *args), (dtype,) * len(FUNCTIONS[name]), SIZE)
    return emit_module([type_indices(kernel)], "default", host().abilities)


def portable(name: str, dtype: str, size: int = SIZE) -> Routine:
    """The code for hosts that neither take floats apart in single instructions nor round a * b + c once unless they must."""
    kernel = elementwise(lambda *args: call(name, *args), (dtype,) * len(FUNCTIONS[name]), size)
    text = emit_module([type_indices(kernel)], "default")
    names = itertools.count()

    def twice(found: re.Match[str]) -> str:
        result, type, a, b, c = found.groups()
        product = f"%product{next(names)}"
        return f"  {product} = fmul {type} {a}, {b}\n  {result} = fadd {type} {product}, {c}"

    text = re.sub(r"  (%\w+) = call (float|double) @llvm\.fmuladd\.f\d+\(\2 (\S+), \2 (\S+), \2 (\S+)\)", twice, text)
    assert "native." not in text
    assert not re.search(r"call \w+ @llvm\.fmuladd", text)
    return compile_kernels([type_indices(kernel)], make_object=lambda _: object_code(text)).routine("elementwise")


def size_of(name: str, dtype: str) -> int:
    return SMALL.get(name, POINTS) if dtype == "float64" else POINTS


def test_every_function_has_ranges_to_be_tested_on() -> None:
    assert set(FUNCTIONS) == set(CODE)


@pytest.mark.parametrize("dtype", BOTH)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_error_is_below_2_ulp_where_functions_are_used_and_where_they_are_hard(name: str, dtype: str) -> None:
    size = size_of(name, dtype)
    assert worst(name, uniform(dtype, FUNCTIONS[name], size), routine(name, dtype, size)) < 2


@pytest.mark.parametrize("dtype", BOTH)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_error_is_below_2_ulp_on_patterns_of_every_sign_and_exponent(name: str, dtype: str) -> None:
    size = size_of(name, dtype)
    assert worst(name, patterns(dtype, 8, len(FUNCTIONS[name]), size), routine(name, dtype, size)) < 2


@pytest.mark.fuzz
@pytest.mark.parametrize("name", ONE_ARGUMENT)
def test_the_error_is_below_2_ulp_on_every_float32(name: str) -> None:
    size = 1 << 20
    assert worst(name, patterns("float32", (1 << 32) // size, 1, size), routine(name, "float32", size)) < 2


@pytest.mark.parametrize("dtype", BOTH)
@pytest.mark.parametrize("name", some(FUNCTIONS))
@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_no_mode_loosens_the_error(name: str, dtype: str, numerics: Numerics) -> None:
    size = size_of(name, dtype) // 8
    assert worst(name, uniform(dtype, FUNCTIONS[name], size), routine(name, dtype, size, numerics)) < 2


@pytest.mark.parametrize("dtype", BOTH)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_other_hosts_are_within_2_ulp_too(name: str, dtype: str) -> None:
    size = size_of(name, dtype)
    code = portable(name, dtype, size)
    assert worst(name, uniform(dtype, FUNCTIONS[name], size), code) < 2
    assert worst(name, patterns(dtype, 2, len(FUNCTIONS[name]), size), code) < 2


@pytest.mark.parametrize("dtype", BOTH)
@pytest.mark.parametrize("name", ["exp", "exp2", "sinh", "cosh"])
def test_results_are_right_down_to_the_last_denormal(name: str, dtype: str) -> None:
    ends = {"float32": ((-151.0, -86.0),), "float64": ((-1076.0, -707.0),)}[dtype]
    for code in (portable(name, dtype), routine(name, dtype)):
        assert worst(name, uniform(dtype, (ends,)), code) < 2


def special(dtype: str) -> list[float]:
    info = np.finfo(dtype)
    tiny, denormal = float(info.smallest_normal), float(info.smallest_subnormal)
    sizes = [0.0, denormal, tiny / 3, tiny, float(info.eps), 0.25, 1 / 3, 0.5, 0.625, 1.0, 1.5, 2.0, 3.0, 4.0, 9.1, 19.1, 40.0]
    sizes += [88.7, 88.8, 87.4, 103.9, 104.1, 127.5, 149.5, 709.7, 709.8, 708.5, 745.1, 745.2, 2.0**17, 2.0**30, 1e22]
    sizes += [float(info.max), np.inf]
    return [sign * size for size in sizes for sign in (1, -1)] + [np.nan]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("numerics", MODES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values_are_those_of_numpy(name: str, dtype: str, numerics: Numerics) -> None:
    info, arity = np.finfo(dtype), len(FUNCTIONS[name])
    points = np.array(list(itertools.product(special(dtype), repeat=arity)), dtype).T
    arrays = tuple(np.resize(column, 1 << 13) for column in points)
    found = np.empty_like(arrays[0])
    routine(name, dtype, 1 << 13, numerics)([*arrays, found])
    with np.errstate(all="ignore"):
        expected = reference(name, arrays).astype(dtype)
    np.testing.assert_allclose(found, expected, rtol=2 * float(info.eps), atol=2 * float(info.smallest_subnormal))
    np.testing.assert_array_equal(np.signbit(found[expected == 0]), np.signbit(expected[expected == 0]))
    exact = ~np.isfinite(expected) | np.isin(expected, [0, 1, -1])
    np.testing.assert_array_equal(found[exact], expected[exact])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_loops_vectorize_and_call_nothing_but_for_huge_angles(name: str, dtype: str) -> None:
    text = optimized_text(module(name, dtype))
    kernel = text[text.index("define void @elementwise(") :].split("\n}\n")[0]
    assert re.search(r"= (tail )?call <\d+ x (float|double)> @llvm\.(fmuladd|fma|sqrt)", kernel)
    called = set(re.findall(r"call [^@]*@([\w.]+)\(", kernel))
    assert not {function for function in called if not function.startswith(("llvm.", "rare."))}
    assert not re.search(r"call [^@]*<\d+ x \w+> @rare", kernel)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_one_huge_angle_among_small_ones_and_many_of_them(name: str) -> None:
    for dtype, ranges in itertools.product(("float32", "float64"), ANGLES):
        low, high = ranges
        x: Array = np.linspace(low, high, 1 << 13).astype(dtype)
        x[17::1001] = 3e22
        found = np.empty_like(x)
        routine(name, dtype, 1 << 13)([x, found])
        np.testing.assert_allclose(found, reference(name, (x,)).astype(dtype), rtol=2 * float(np.finfo(dtype).eps))


def test_the_reference_for_erf_is_exact() -> None:
    """Digits of a table: M. Abramowitz and I. Stegun, Handbook of Mathematical Functions (1964), 7.1."""
    for x, digits in ((0.5, "0.5204998778130465377"), (1.0, "0.8427007929497148693"), (2.0, "0.9953222650189527342")):
        assert abs(exact_erf(x) - np.longdouble(digits)) < 1e-18


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", some(["log2", "log1p", "cbrt", "tanh", "power"], 2))
def test_single_numbers_get_what_vectors_get(name: str, dtype: str) -> None:
    """Loops of every length to two vectors and more: LLVM leaves what no vector holds to code of its own."""
    arrays = [np.ascontiguousarray(column[:70]) for column in next(iter(uniform(dtype, FUNCTIONS[name], 1 << 12)))]
    all: Array = np.empty_like(arrays[0])
    routine(name, dtype, 70)([*arrays, all])
    for size in (1, 2, 3, 7, 15, 16, 17, 31, 33, 39):
        found = np.empty(size, dtype)
        routine(name, dtype, size)([*(np.ascontiguousarray(column[:size]) for column in arrays), found])
        np.testing.assert_array_equal(found, all[:size])


SINGLE = {"log": ("vgetmantps", "vgetexpps"), "exp": ("vscalefps",), "power": ("vperm(ps|d)", "vrndscaleps"), "tanh": ("vrcp14ps",)}


@pytest.mark.parametrize(("name", "instructions"), SINGLE.items())
def test_vectors_are_taken_apart_in_single_instructions_where_the_machine_has_them(name: str, instructions: tuple[str, ...]) -> None:
    machine = machine_of("x86_64-unknown-linux-gnu", "skylake-avx512")
    kernel = elementwise(lambda *args: call(name, *args), ("float32",) * len(FUNCTIONS[name]), SIZE)
    code = assembly_text(emit_module([type_indices(kernel)], "default", machine.abilities), machine)
    for instruction in instructions:
        assert re.search(rf"{instruction}\s.*zmm", code), instruction
    assert "native." not in code
