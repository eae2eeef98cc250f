"""fmod, remainder and floor_divide of floats are NumPy's to the last bit, in loops that vectorize."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.codegen.llvm.machine import host, optimized_text
from eqsat.ir.tensor import Literal
from eqsat.lowering import type_indices
from tests.codegen.modules import emit_module
from tests.codegen.nests import call, elementwise
from tests.effort import some

NAMES = ("fmod", "remainder", "floor_divide")
DTYPES = ("float16", "float32", "float64")


def _is_same(name: str, x: Any, y: Any) -> None:
    found = eqsat.jit(lambda a, b: getattr(enp, name)(a, b))(x, y)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x, y)
    np.testing.assert_array_equal(found, expected)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(expected)[number])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_every_pattern_of_bits(name: str, dtype: str) -> None:
    random, patterns = np.random.default_rng(0), np.dtype(f"uint{8 * np.dtype(dtype).itemsize}")
    x, y = (random.integers(0, np.iinfo(patterns).max, 20_001, patterns, endpoint=True).view(dtype) for _ in range(2))
    _is_same(name, x, y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_special_values(name: str, dtype: str) -> None:
    info = np.finfo(dtype)
    sizes = (0.0, float(info.smallest_subnormal), float(info.smallest_normal), 0.5, 1.0, 3.0, float(info.max), np.inf)
    values = [sign * size for size in sizes for sign in (1, -1)] + [np.nan]
    x, y = np.array(list(itertools.product(values, repeat=2)), dtype).T
    _is_same(name, x.copy(), y.copy())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_multiples_and_their_neighbours_up_to_quotients_that_are_rounded(name: str, dtype: str) -> None:
    random, bits = np.random.default_rng(1), np.finfo(dtype).nmant + 1
    y = (random.random(9_000) * 10 - 5).astype(dtype)
    n = np.floor(2 ** random.uniform(0, bits + 2, y.size)) * random.choice([-1, 1], y.size)
    with np.errstate(over="ignore"):
        x = (y.astype("float64") * n).astype(dtype)
    for moved in (x, np.nextafter(x, np.zeros_like(x)), np.nextafter(x, np.full_like(x, np.inf))):
        _is_same(name, moved, y)
    _is_same(name, np.nextafter(y, np.zeros_like(y)), y)


# powers of two, of few digits, of all, and near where there is no code of their own
KNOWN = (0.25, 1.0, 4.0, 3.0, 360.0, 2 * np.pi, 0.1, 1e-3, 255.0, 2.0**40, 3e-18, 1e30, -3.0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("by", some(KNOWN, 4))
def test_remainders_by_a_known_number(by: float, dtype: str) -> None:
    random, bits = np.random.default_rng(2), np.finfo(dtype).nmant + 1
    with np.errstate(over="ignore"):
        y = np.asarray(by, dtype)
    patterns = random.integers(0, 2**16 - 1, 40_000 * (np.dtype(dtype).itemsize // 2), "uint16", endpoint=True).view(dtype)
    n = np.floor(2 ** random.uniform(0, bits + 2, 9_000)) * random.choice([-1, 1], 9_000)
    with np.errstate(all="ignore"):
        x = (y.astype("float64") * n).astype(dtype)
        near = [
            x,
            np.nextafter(x, np.zeros_like(x)),
            np.nextafter(x, np.full_like(x, np.inf)),
            (y * random.normal(size=9_000)).astype(dtype),
        ]
        few = (y.astype("float64") * random.integers(-40, 40, 9_000) * (1 + random.integers(-2, 3, 9_000) * 2.0**-bits)).astype(dtype)
    info = np.finfo(dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, info.smallest_subnormal, -info.smallest_subnormal, info.max, -info.max], dtype)
    x = np.concatenate([patterns, *near, few, special])
    for numerics in ("exact", "default"):
        found = eqsat.jit(lambda a: a % by, options=eqsat.Options(numerics=numerics))(x)
        with np.errstate(all="ignore"):
            expected = x % by
        np.testing.assert_array_equal(found, expected)
        number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(expected)[number])


@pytest.mark.parametrize("by", [1.0, 3.0, 0.3])
def test_remainders_by_a_known_number_vectorize(by: float) -> None:
    kernel = elementwise(lambda a: call("remainder", a, Literal(by, "float32")), ("float32",), 1 << 12)
    text = optimized_text(emit_module([type_indices(kernel)], "default", host().abilities))
    assert re.search(r"call <\d+ x float> @llvm\.floor", text)
    assert not re.search(r"<\d+ x \w+> @rare", text.split("define void @elementwise(")[1].split("\n}\n")[0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_loops_vectorize(name: str, dtype: str) -> None:
    kernel = elementwise(lambda a, b: call(name, a, b), (dtype, dtype), 1 << 12)
    text = optimized_text(emit_module([type_indices(kernel)], "default", host().abilities))
    assert re.search(r"call <\d+ x (float|double)> @llvm\.trunc", text)
    assert not re.search(r"<\d+ x \w+> @rare", text.split("define void @elementwise(")[1].split("\n}\n")[0])
