"""Functions of elements against NumPy's: dtypes and values on every special value, interpreted and compiled."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import eqsat
import eqsat.numpy as enp
from eqsat.ir.dtypes import DTYPES as ALL_DTYPES, INTEGERS, integer_range, is_complex, is_float
from eqsat.ir.errors import DTypeError, UnsupportedError, UsageError
from eqsat.options import Options
from eqsat.specs import spec
from eqsat.tracing import trace
from tests.effort import examples, some
from tests.eqsat.tracing_cases import Array, traced

Function = Callable[..., Any]
# bfloat16 is a guest of NumPy's, not of all its functions
DTYPES = [dtype for dtype in ALL_DTYPES if dtype != "bfloat16" and not is_complex(dtype)]

UNARY_NAMES = (
    *("sign", "signbit", "fabs", "floor", "ceil", "trunc", "fix", "rint", "round", "isnan", "isinf", "isfinite", "reciprocal", "square"),
    *("nan_to_num", "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos"),
    *("arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "sinc", "deg2rad", "rad2deg", "degrees", "radians", "erf"),
    *("asin", "acos", "atan", "asinh", "acosh", "atanh"),
)
BINARY_NAMES = (
    *("copysign", "nextafter", "fmod", "hypot", "arctan2", "atan2", "logaddexp", "logaddexp2", "heaviside", "fmax", "fmin"),
    *("logical_xor", "isclose"),
)
UNARY: dict[str, Function] = {
    **{name: getattr(enp, name) for name in UNARY_NAMES},
    "round to tenths": lambda x: np.round(x, 1),
    "round to tens": lambda x: np.where(x < 100, x.round(-1), 0),
    "around": lambda x: np.around(x, decimals=2),
    "nan_to_num with values": lambda x: np.nan_to_num(x, nan=7, posinf=5, neginf=-3),
    "clip to numbers": lambda x: np.clip(x, -2, 3),
    "clip from below": lambda x: x.clip(2),
    "clip from above": lambda x: np.clip(x, None, 2.5),
    "clip by keywords": lambda x: np.clip(x, min=-1, max=1),
    "clip between swapped bounds": lambda x: np.clip(x, 5, 1),
    "clip to what no int32 holds": lambda x: np.clip(x, -(2**70), 2**70),
    "isclose to a number": lambda x: np.isclose(x, 2),
    "allclose": lambda x: np.allclose(x, x + 1e-9),
    "allclose but for NaN": lambda x: np.allclose(x, x, equal_nan=True),
    **{f"to the power {k}": lambda x, k=k: np.power(x, k) for k in (0, 1, 2, 3, 4, 5, 6, 7, 2.0, -1.0, -2.0, -3.0, 0.5, -0.5, 2.5, -0.25)},
    "squared": lambda x: x**2,
    "rooted": lambda x: x**0.5,
    "the power of two": lambda x: np.power(2.0, x),
    "float_power": lambda x: np.float_power(x, 3),
    "divmod": lambda x: sum(divmod(x, 3)),
    "divmod of a number": lambda x: np.add(*np.divmod(7, x)),
}
BINARY: dict[str, Function] = {
    **{name: getattr(enp, name) for name in BINARY_NAMES},
    "isclose with NaN": lambda x, y: np.isclose(x, y, rtol=0.1, equal_nan=True),
    "clip": lambda x, y: np.clip(x, y, y + 1),
    "float_power": np.float_power,
}


def values(dtype: str) -> Array:
    if dtype == "bool":
        return np.array([False, True])
    if not is_float(dtype):
        low, high = integer_range(dtype)
        some = [0, 1, -1, 2, -2, 3, 5, -7, 10, 15, -25, 31, 100, 1 << 20, low, high, low + 1]
        return np.array([value for value in some if low <= value <= high], dtype)
    real = np.finfo(dtype)
    ends = [float(end) for end in (real.max, real.smallest_normal, real.smallest_subnormal, real.eps, np.inf)]
    reals = [
        0.0,
        0.1,
        0.25,
        0.5,
        0.75,
        1.0,
        1.5,
        2.0,
        2.5,
        3.0,
        7.25,
        15.0,
        20.5,
        36.0,
        87.5,
        89.0,
        104.0,
        709.0,
        710.5,
        745.5,
        1e5,
        3.3e7,
        1e22,
    ]
    with np.errstate(all="ignore"):
        return np.array([sign * value for value in (*ends, *reals) for sign in (1, -1)] + [np.nan]).astype(dtype)


def pairs(dtype: str) -> tuple[Array, Array]:
    left, right = np.meshgrid(values(dtype), values(dtype), indexing="ij")
    return np.ascontiguousarray(left.ravel()), np.ascontiguousarray(right.ravel())


def expected(name: str, arrays: tuple[Array, ...]) -> Array | None:
    """What NumPy gives, None where it refuses or gives a dtype that eqsat lacks."""
    function = UNARY[name] if len(arrays) == 1 else BINARY[name]
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(function(*arrays))
    except (TypeError, ValueError, OverflowError):
        return None
    return found if found.dtype.name in DTYPES else None


def assert_equal(found: Array, reference: Array, name: str) -> None:
    """Equal but for 4 ulp (NumPy is not exact itself; where logaddexp cancels, of one), signs of zeros and NaN included."""
    assert (found.dtype, found.shape) == (reference.dtype, reference.shape), name
    if not is_float(reference.dtype.name):
        np.testing.assert_array_equal(found, reference, err_msg=name)
        return
    info = np.finfo(reference.dtype)
    least = info.eps if name.startswith("logaddexp") else info.smallest_subnormal
    np.testing.assert_allclose(found, reference, rtol=4 * float(info.eps), atol=2 * float(least), err_msg=name)
    zero = (reference == 0) & (found == 0)
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(reference[zero]), err_msg=name)


# zeros of either sign where NumPy's own choice between equal ones depends on its vector code, or of float16 on its version
EITHER_ZERO = ("fmax", "fmin", "clip", "round", "nextafter")


def check_all(functions: Mapping[str, Function], arrays: tuple[Array, ...], numerics: Any) -> None:
    """All functions in one program, compiled; those that NumPy refuses are refused."""
    wanted = {name: expected(name, arrays) for name in functions}
    legal = {name: reference for name, reference in wanted.items() if reference is not None}
    program = trace(lambda *xs: tuple(functions[name](*xs) for name in legal), *arrays)
    results = eqsat.optimize(program, options=Options(numerics=numerics))(*arrays)
    for found, (name, reference) in zip(results, legal.items(), strict=True):
        if name.startswith(EITHER_ZERO):
            found, reference = np.where(found == 0, 0, found), np.where(reference == 0, 0, reference)
        assert_equal(np.asarray(found), np.asarray(reference), name)


@pytest.mark.parametrize(("dtype", "numerics"), some(itertools.product(DTYPES, ["exact", "default"])))
def test_compiled_functions_of_one_array_equal_numpy(dtype: str, numerics: str) -> None:
    check_all(UNARY, (values(dtype),), numerics)


@pytest.mark.parametrize("dtype", DTYPES)
def test_compiled_functions_of_two_arrays_equal_numpy(dtype: str) -> None:
    check_all(BINARY, pairs(dtype), "default")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_the_traced_program_means_what_numpy_does(name: str, dtype: str) -> None:
    function = UNARY[name] if name in UNARY else BINARY[name]
    arrays = (values(dtype),) if name in UNARY else pairs(dtype)
    reference = expected(name, arrays)
    if reference is None:
        with pytest.raises((DTypeError, UsageError)):
            trace(function, *arrays)
        return
    with np.errstate(all="ignore"):
        found = np.asarray(traced(function, arrays))
    if name.startswith(EITHER_ZERO):
        found, reference = np.where(found == 0, 0, found), np.where(reference == 0, 0, reference)
    assert_equal(found, reference, name)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_powers_wrap_and_negative_ones_are_truncated_reciprocals(dtype: str) -> None:
    low, high = integer_range(dtype)
    bases = [0, 1, -1, 2, -2, 3, -7, 10, 12345, low, high]
    exponents = [0, 1, 2, 3, 5, 15, 31, 32, 62, 63, 64, 1000, high, -1, -2, -63, low]
    columns = ([value for value in some if low <= value <= high] for some in (bases, exponents))
    x, y = (np.ascontiguousarray(column.ravel()).astype(dtype) for column in np.meshgrid(*columns))
    found = eqsat.jit(lambda x, y: x**y)(x, y)
    assert found.dtype == dtype
    modulus = high - low + 1
    for base, exponent, result in zip(x.tolist(), y.tolist(), found.tolist(), strict=True):
        inverse = {1: 1, -1: -1 if exponent % 2 else 1}.get(base, 0)
        exact = pow(base, exponent, modulus) if exponent >= 0 else inverse
        assert (result - exact) % modulus == 0, f"{base} ** {exponent}"


@pytest.mark.parametrize("dtype", [dtype for dtype in ALL_DTYPES if is_complex(dtype)])
@pytest.mark.parametrize("name", ["floor", "arctan2", "hypot", "heaviside", "logaddexp"])
def test_functions_that_numpy_lacks_of_complex_numbers_are_refused(name: str, dtype: str) -> None:
    x = np.array([1 + 2j, -0.5j, 3], dtype)
    arguments = (x,) * (name != "floor")
    with pytest.raises((DTypeError, UnsupportedError)):
        trace(lambda a: getattr(np, name)(a, *arguments), x)


@pytest.mark.parametrize("numbers", [(2, 0.5), (3, True), (2.5, -2.0)])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("name", ["power", "arctan2", "hypot", "copysign", "fmod", "fmax", "logaddexp", "float_power", "isclose"])
def test_numbers_are_weak_operands(name: str, dtype: str, numbers: tuple[Any, Any]) -> None:
    function, array = getattr(np, name), np.array([1, 2, 3, 5], dtype)

    def both(x: Any) -> Any:
        return function(x, numbers[0]), function(numbers[1], x)

    for found, reference in zip(traced(both, [array]), both(array), strict=True):
        assert_equal(np.asarray(found), np.asarray(reference), name)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: x**-1, "int64 to the negative power -1"),
        (lambda x: np.power(x, np.int32(-2)), "int64 to the negative power -2"),
        (lambda x: x ** np.array([1, -3, 2]), "int64 to the negative power -3"),
    ],
)
def test_a_negative_power_of_integers_that_is_known_is_refused(function: Function, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        trace(function, spec((3,), "int64"))


@pytest.mark.parametrize("shape", [(0,), (1,), (), (3, 0, 2), (1, 1)])
def test_arrays_of_no_and_of_one_element(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 0.75, np.float32)

    @eqsat.jit
    def several(a: Any) -> Any:
        return np.sin(a), np.clip(a, 0, a), np.power(a, a), np.round(a, 2), np.isclose(a, a), np.allclose(a, a), np.divmod(a, 2)[1]

    reference = (np.sin(x), np.clip(x, 0, x), np.power(x, x), np.round(x, 2), np.isclose(x, x), np.allclose(x, x), np.divmod(x, 2)[1])
    for found, wanted in zip(several(x), reference, strict=True):
        assert_equal(np.asarray(found), np.asarray(wanted), "of few elements")


FLOATS = hnp.arrays(np.float64, 64, elements=st.floats(width=64))
SINGLES = hnp.arrays(np.float32, 64, elements=st.floats(width=32))
compiled_power = eqsat.jit(lambda x, y: x**y)
compiled_pair = eqsat.jit(lambda x, y: (np.hypot(x, y), np.arctan2(x, y), np.fmod(x, y), np.nextafter(x, y), np.copysign(x, y)))


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_random_floats_of_every_kind(kind: str) -> None:
    arrays = SINGLES if kind == "float32" else FLOATS

    @settings(max_examples=examples(150), deadline=None, derandomize=True)
    @given(arrays, arrays)
    def check(x: Array, y: Array) -> None:
        with np.errstate(all="ignore"):
            wanted = (np.power(x, y), np.hypot(x, y), np.arctan2(x, y), np.fmod(x, y), np.nextafter(x, y), np.copysign(x, y))
        for found, reference in zip((compiled_power(x, y), *compiled_pair(x, y)), wanted, strict=True):
            assert_equal(np.asarray(found), reference, kind)

    check()
