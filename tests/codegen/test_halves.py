"""Conversions of half-precision numbers where the processor has no instruction for them."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat.codegen.llvm.machine import host, library, object_code
from tests.effort import some

Array = np.ndarray[Any, Any]

# every half, what lies between two of them, and the ties
HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def singles() -> Array:
    finite = np.sort(HALVES[np.isfinite(HALVES)].astype(np.float32))
    ties = (finite[1:] + finite[:-1]) / 2
    near = [np.nextafter(ties, np.float32(side)) for side in (-np.inf, np.inf)]
    special = np.array([np.nan, np.inf, -np.inf, 65519.99, 65520, 65536, 1e10, -1e10, 2.0**-25, 2.0**-26, 1e-40, -0.0], np.float32)
    return np.concatenate([finite, ties, *near, special])


def doubles() -> Array:
    wide = singles().astype(np.float64)
    return np.concatenate([wide, *(np.nextafter(wide, side) for side in (-np.inf, np.inf)), [1e300, -1e300, 1e-300, 5e-324]])


def through(name: str, source: str, target: str, values: Array, result: Array) -> Array:
    """One of the functions of `codegen.halves` on every value."""
    text = f"""declare {target} @{name}({source})
define void @apply(ptr %from, ptr %to) {{
  %a = load {source}, ptr %from
  %b = call {target} @{name}({source} %a)
  store {target} %b, ptr %to
  ret void
}}"""
    address = library(object_code(text), ("apply",)).address("apply")
    apply = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)
    for k in range(len(values)):
        apply(values.ctypes.data + k * values.itemsize, result.ctypes.data + k * result.itemsize)
    return result


def assert_same(found: Array, expected: Array) -> None:
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found)[~np.isnan(found)], np.signbit(expected)[~np.isnan(expected)])


def test_every_half_is_its_float() -> None:
    assert_same(through("__extendhfsf2", "half", "float", HALVES, np.empty(len(HALVES), np.float32)), HALVES.astype(np.float32))


@pytest.mark.filterwarnings("ignore:overflow")
def test_floats_are_rounded_to_halves_as_numpy_does() -> None:
    values = singles()
    assert_same(through("__truncsfhf2", "float", "half", values, np.empty(len(values), np.float16)), values.astype(np.float16))


@pytest.mark.filterwarnings("ignore:overflow")
def test_doubles_are_rounded_once() -> None:
    values = np.array(some(doubles()))
    assert_same(through("__truncdfhf2", "double", "half", values, np.empty(len(values), np.float16)), values.astype(np.float16))


def test_floats_are_rounded_to_the_upper_halves_of_their_bits() -> None:
    rng = np.random.default_rng(4)
    bits = np.concatenate(
        [rng.integers(0, 1 << 32, 20_000), (np.arange(1 << 16) << 16) + 0x8000, [0x7F800001, 0x7F7FFFFF, 0x7FFFFFFF]]
    ).astype(np.uint32)
    found = through("__truncsfbf2", "float", "bfloat", bits.view(np.float32), np.empty(len(bits), np.uint16)).astype(np.uint32)
    expected = np.where(np.isnan(bits.view(np.float32)), bits >> 16 | 64, (bits.astype(np.int64) + 0x7FFF + (bits >> 16 & 1)) >> 16)
    np.testing.assert_array_equal(found, expected)


def test_signs_of_what_was_rounded_twice() -> None:
    x = np.array([-3.0, -0.0, 0.0, 1e-9, 2.5])
    for function in (np.sign, lambda h: np.copysign(np.float16(2), h)):
        expected = function(x.astype(np.float32).astype(np.float16))
        found = eqsat.jit(lambda x, function=function: function(x.astype(np.float32).astype(np.float16)))(x)
        assert_same(found, expected)


@pytest.mark.parametrize("numerics", ["exact", "default"])
def test_signs_of_sums_of_halves(numerics: Any) -> None:
    x = (np.arange(24).reshape(6, 4) % 7 - 3).astype(np.float16)
    found = eqsat.jit(lambda x: np.sign(x.sum(axis=0)), options=eqsat.Options(numerics=numerics))(x)
    assert_same(found, np.sign(x.sum(axis=0)))


WORKER = """
import numpy as np, eqsat
halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
x = halves[np.isfinite(halves)]
np.testing.assert_array_equal(eqsat.jit(lambda x: x.astype(np.float32))(halves), halves.astype(np.float32))
functions = [lambda x: x * np.float16(0.7) + x, lambda x: np.sqrt(abs(x)), lambda x: np.floor(x / 3), lambda x: np.sign(x)]
for function in (*functions, lambda x: x.max()):
    np.testing.assert_array_equal(eqsat.jit(function)(x), function(x))
wide = x.astype(np.float64) * 1.0001
for function in (lambda x: x.astype(np.float16), lambda x: np.copysign(np.float16(1), x.astype(np.float32).astype(np.float16))):
    np.testing.assert_array_equal(eqsat.jit(function)(wide), function(wide))
print("done")
"""


@pytest.mark.skipif("x86_64" not in host().triple, reason="the host is no x86-64")
def test_processors_without_conversions_compute_the_same() -> None:
    environment = {**os.environ, "EQSAT_CPU": "nehalem"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WORKER],
        env=environment,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert done.stdout.split() == ["done"], done.stderr
