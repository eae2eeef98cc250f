"""Every function of codegen.math with the arguments that its tests and measurements use, and how its error is measured."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from eqsat.codegen import Routine
from eqsat.codegen.folds.accumulator import Numerics
from eqsat.ir.ops import SCALAR_OPS
from tests.codegen.nests import call, compiled, elementwise

Array = np.ndarray[Any, Any]
Ranges = tuple[tuple[float, float], ...]

SIZE = 1 << 16
POSITIVE: Ranges = ((0.1, 10), (0.6, 1.6), (0, 1e-300), (0, 1e-38), (0, 1e30))
ANGLES: Ranges = ((-10, 10), (-1e4, 1e4), (-(2.0**17), 2.0**17), (-(2.0**30), 2.0**30), (-1e30, 1e30), (0.7, 0.9))
# ranges of each argument, in step with each other: the first as it is used most, then those that are hard
FUNCTIONS: dict[str, tuple[Ranges, ...]] = {
    "exp": (((-10, 10), (-746, 710), (-104, 89), (-1, 1)),),
    "exp2": (((-10, 10), (-1075, 1024), (-150, 128), (-1, 1)),),
    "expm1": (((-5, 5), (-40, 710), (-1, 1), (0.3, 0.5), (-0.5, -0.3), (-1e-3, 1e-3)),),
    "log": (POSITIVE,),
    "log2": (POSITIVE,),
    "log10": (POSITIVE,),
    "log1p": (((-0.9, 10), (-0.4, 0.5), (-1e-3, 1e-3), (-1, -0.99), (0, 1e30)),),
    "sin": (ANGLES,),
    "cos": (ANGLES,),
    "tan": (ANGLES,),
    "arcsin": (((-1, 1), (0.49, 0.6), (0.999, 1), (-1e-3, 1e-3)),),
    "arccos": (((-1, 1), (0.49, 0.7), (-0.7, -0.49), (0.999, 1)),),
    "arctan": (((-10, 10), (-1, 1), (0.9, 1.3), (-1e9, 1e9)),),
    "arctan2": (((-10, 10), (-1, 1), (-1e30, 1e30), (0.9, 1.1)), ((-10, 10), (-1e3, 1e3), (-1e30, 1e30), (0.9, 1.1))),
    "sinh": (((-5, 5), (-711, 711), (-89.5, 89.5), (0.9, 1.7), (-1, 1)),),
    "cosh": (((-5, 5), (-711, 711), (-89.5, 89.5), (-1, 1)),),
    "tanh": (((-5, 5), (-1, 1), (0.5, 0.7), (-20, 20)),),
    "arcsinh": (((-10, 10), (-1, 1), (0.4, 1.3), (-1e30, 1e30)),),
    "arccosh": (((1, 10), (1, 1.1), (1, 1e30)),),
    "arctanh": (((-1, 1), (-0.5, 0.5), (0.999, 1), (-1e-3, 1e-3)),),
    "erf": (((-3, 3), (-1, 1), (0.9, 1.1), (-6, 6)),),
    "power": (
        ((0, 10), (0, 2), (0.9, 1.1), (0, 1e30), (0, 1e-300), (0, 1e-38), (-10, 10)),
        ((-10, 10), (-100, 100), (-5000, 5000), (-3, 3), (-1, 1), (-1, 1), (-3, 3)),
    ),
    "cbrt": (((-10, 10), (1, 8), (0, 1e-310), (0, 1e-40), (-1e30, 1e30)),),
    "hypot": (((-10, 10), (0, 1e-310), (0, 1e300), (1, 2)), ((-10, 10), (0, 1e-310), (0, 1e300), (0, 1))),
}


@functools.cache
def routine(name: str, dtype: str, size: int = SIZE, numerics: Numerics = "default") -> Routine:
    """Machine code of one loop over arrays of `size` elements."""
    dtypes = (dtype,) * len(FUNCTIONS[name])
    return compiled([elementwise(lambda *args: call(name, *args), dtypes, size)], numerics).routine("elementwise")


def reference(name: str, arrays: tuple[Array, ...]) -> Array:
    """More digits than the arrays have: float64 for float32, NumPy's long double (64 bits on x86) for float64."""
    with np.errstate(all="ignore"):
        wide = [x.astype(np.float64 if x.dtype == np.float32 else np.longdouble) for x in arrays]
        if name == "erf" and wide[0].dtype == np.longdouble:
            return np.array([exact_erf(x) for x in arrays[0].tolist()], np.longdouble)
        return np.asarray(SCALAR_OPS[name].meaning(*wide))


def exact_erf(x: float) -> np.longdouble:
    """The error function by its series in 256-bit fixed point."""
    if not abs(x) < 7:
        return np.longdouble(math.erf(x))
    if abs(x) < 1e-30:
        return np.longdouble(x) * np.longdouble("1.12837916709551257390")
    one, (above, below) = 1 << 256, abs(x).as_integer_ratio()
    ratio = above * one // below
    square, power, total, n = ratio * ratio >> 256, ratio, 0, 0
    while power >> 1:
        total += (power if n % 2 == 0 else -power) // (2 * n + 1)
        n += 1
        power = (power * square >> 256) // n
    # 2 / sqrt(pi), of which 1.128...^2 = 4 / pi
    scaled = 2 * total * one // math.isqrt(_pi(256) << 256)
    high = float(scaled >> 128) * 2.0**-128
    low = float((scaled - int(high * 2.0**128 * 2.0**128)) >> 100) * 2.0**-156
    return np.longdouble(math.copysign(1, x)) * (np.longdouble(high) + np.longdouble(low))


@functools.cache
def _pi(bits: int) -> int:
    """pi * 2^bits (J. Machin, 1706)."""

    def arctan_of_inverse(n: int) -> int:
        total, term, k = 0, (1 << bits + 32) // n, 0
        while term:
            total += (term if k % 2 == 0 else -term) // (2 * k + 1)
            term, k = term // (n * n), k + 1
        return total

    return 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239)) >> 32


def ulps(found: Array, exact: Array, dtype: str) -> Array:
    """The error in units of the last place of the format at the exact value, which has more digits."""
    info = np.finfo(dtype)
    exponent = np.frexp(np.maximum(np.abs(exact), exact.dtype.type(info.smallest_normal)))[1] - 1
    error: Array = np.abs(found.astype(exact.dtype) - exact) / np.ldexp(exact.dtype.type(1), exponent - info.nmant)
    return error


def worst(name: str, chunks: Iterator[tuple[Array, ...]], code: Routine) -> float:
    """The largest error in ulp; infinities and NaN must agree exactly, and so must the signs of zeros."""
    result = 0.0
    for arrays in chunks:
        found = np.empty_like(arrays[0])
        code([*arrays, found])
        exact = reference(name, arrays)
        with np.errstate(all="ignore"):
            rounded = exact.astype(found.dtype)
        finite = np.isfinite(rounded)
        np.testing.assert_array_equal(found[~finite], rounded[~finite], err_msg=name)
        zero = exact == 0
        np.testing.assert_array_equal(found[zero], 0, err_msg=name)
        np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(exact[zero]), err_msg=name)
        result = max(result, float(ulps(found[finite], exact[finite], found.dtype.name).max(initial=0)))
    return result


def patterns(dtype: str, count: int, arity: int = 1, size: int = SIZE) -> Iterator[tuple[Array, ...]]:
    """Numbers of every sign and exponent, NaN and infinities among them: evenly spaced bit patterns, shuffled for a second argument."""
    bits = np.dtype(f"uint{8 * np.dtype(dtype).itemsize}")
    step = (1 << (8 * bits.itemsize)) // (count * size)
    rng = np.random.default_rng(3)
    for k in range(count):
        first = np.uint64(k * size * step + 12345 % step)
        x = (first + np.arange(size, dtype=np.uint64) * np.uint64(step)).astype(bits).view(dtype)
        more = rng.integers(0, 1 << 63, (arity - 1, size), np.uint64) * np.uint64(2)
        yield x, *((column >> np.uint64(64 - 8 * bits.itemsize)).astype(bits).view(dtype) for column in more)


def uniform(dtype: str, ranges: tuple[Ranges, ...], size: int = SIZE) -> Iterator[tuple[Array, ...]]:
    """Points of the ranges, which end where the dtype does."""
    rng, most = np.random.default_rng(7), float(np.finfo(dtype).max)
    for ends in zip(*ranges, strict=True):
        yield tuple(rng.uniform(max(low, -most), min(high, most), size).astype(dtype) for low, high in ends)
